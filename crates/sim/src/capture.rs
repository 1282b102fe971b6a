//! The packets that a link or a host recorded, as a pcapng file of their headers.
//!
//! The simulation has no addresses, so the file assigns some: flow `i` runs from `10.x.y.z` port `40000 + i mod 20000`
//! to an address in `172.16.0.0/12` and the flow's port there, where both addresses count up with `i` from 10.0.0.1 and
//! 172.16.0.1. In the file, time zero of the run is the Unix epoch. The IP identification counts the packets that an
//! end of a connection has sent, and is the same in every file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};

use ackclock_net::{Direction, Packet};
use ackclock_units::SimTime;
use ackclock_wire::Addresses;
use ackclock_wire::pcapng::PcapngWriter;

use crate::captures::Face;
use crate::recording::{CapturedPacket, Recording};

const OPENERS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const OPENER_HOSTS: u32 = 1 << 24;
const ACCEPTORS: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 0);
const ACCEPTOR_HOSTS: u32 = 1 << 20;
const FIRST_OPENER_PORT: u16 = 40_000;
const OPENER_PORTS: u32 = 20_000;

/// The default port of an acceptor.
pub const DEFAULT_PORT: u16 = 5_001;

/// Packets recorded at one place, for a pcapng file: on a link's wire, both ways, or at the host of a flow's sender.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Name of the link, or `flow` and the flow's name.
    pub name: String,
    /// Name of each interface: of the link and its reverse direction, or of the host.
    pub interfaces: Vec<String>,
    /// Packets recorded at each interface.
    recordings: Vec<(u32, Recording)>,
}

impl Capture {
    pub(crate) fn new(name: String, interface: String) -> Self {
        Self { name, interfaces: vec![interface], recordings: Vec::new() }
    }

    pub(crate) fn add(&mut self, interface: u32, recording: Recording) {
        self.recordings.push((interface, recording));
    }

    pub(crate) fn add_interface(&mut self, name: &str, recording: Recording) {
        self.add(self.interfaces.len() as u32, recording);
        self.interfaces.push(name.to_owned());
    }

    /// Captured packets in the order of time. An item is an error if data moved to a temporary file cannot be read, or
    /// if a segment was too long for an IPv4 packet.
    pub fn packets(&self) -> impl Iterator<Item = io::Result<CapturedPacket>> + '_ {
        let mut sources: Vec<_> =
            self.recordings.iter().map(|(interface, recording)| recording.packets(*interface).peekable()).collect();
        let mut firsts = BinaryHeap::new();
        for (number, source) in sources.iter_mut().enumerate() {
            firsts.extend(source.peek().map(|packet| Reverse((time(packet), number))));
        }
        std::iter::from_fn(move || {
            let Reverse((_, number)) = firsts.pop()?;
            let packet = sources[number].next();
            firsts.extend(sources[number].peek().map(|packet| Reverse((time(packet), number))));
            packet
        })
    }
}

/// An error comes first.
fn time(packet: &io::Result<CapturedPacket>) -> SimTime {
    packet.as_ref().map_or(SimTime::ZERO, |packet| packet.time)
}

/// Writes a capture to `out`, in a write for each packet, so buffer it. Fails when `out` does, or [`Capture::packets`].
pub fn write_pcapng(capture: &Capture, out: impl Write) -> io::Result<()> {
    let mut writer = PcapngWriter::new(out, &capture.interfaces)?;
    for packet in capture.packets() {
        let CapturedPacket { time, interface, len, headers } = packet?;
        writer.packet(interface, time, &headers, len)?;
    }
    writer.into_inner().flush()
}

/// Source and destination of a packet, as a capture shows them.
pub(crate) fn addresses(packet: &Packet, face: Face) -> Addresses {
    let host = face.flow.wrapping_add(1);
    let address = |network: Ipv4Addr, hosts| Ipv4Addr::from_bits(network.to_bits() + host % hosts);
    // Connections that have the same place in turn have ports of their own, for long enough.
    let generation = packet.generation.number() % OPENER_PORTS;
    let opener_port = FIRST_OPENER_PORT + ((face.flow % OPENER_PORTS + generation) % OPENER_PORTS) as u16;
    let opener = SocketAddrV4::new(address(OPENERS, OPENER_HOSTS), opener_port);
    let acceptor = SocketAddrV4::new(address(ACCEPTORS, ACCEPTOR_HOSTS), face.port);
    match packet.direction() {
        Direction::Forward => Addresses { source: opener, destination: acceptor },
        Direction::Backward => Addresses { source: acceptor, destination: opener },
    }
}

#[cfg(test)]
mod tests {
    use ackclock_net::{ConnectionIndex, Datagram, EndpointId, Payload};
    use ackclock_wire::{Ecn, Flags, Segment, parse};

    use super::*;
    use crate::recording::Recorder;
    use Direction::{Backward, Forward};

    fn face(flow: u32) -> Face {
        Face { flow, port: DEFAULT_PORT }
    }

    fn end(direction: Direction) -> EndpointId {
        let opener = EndpointId::opener(ConnectionIndex::new(0));
        if direction == Forward { opener.peer() } else { opener }
    }

    fn packet(direction: Direction) -> Packet {
        Packet::tcp(Segment { flags: Flags::ACK, payload: 1_000, ..Segment::default() }, end(direction))
    }

    /// A capture with all packets at one time.
    fn capture(packets: &[Packet]) -> Capture {
        let mut recording = Recording::default();
        for packet in packets {
            Recorder::default().record(&mut recording, SimTime(5), packet, addresses(packet, face(3)));
        }
        let mut capture = Capture::new("l".to_owned(), "l".to_owned());
        capture.add(0, recording);
        capture
    }

    #[test]
    fn flows_and_directions_have_addresses_of_their_own() {
        let text = |face, direction| {
            let Addresses { source, destination } = addresses(&packet(direction), face);
            format!("{source} {destination}")
        };
        assert_eq!(text(face(0), Forward), "10.0.0.1:40000 172.16.0.1:5001");
        assert_eq!(text(face(0), Backward), "172.16.0.1:5001 10.0.0.1:40000");
        assert_eq!(text(face(299), Forward), "10.0.1.44:40299 172.16.1.44:5001"); // 300 = 1 * 256 + 44
        assert_eq!(text(face(20_000), Forward), "10.0.78.33:40000 172.16.78.33:5001"); // 20,001 = 78 * 256 + 33
        assert_eq!(text(face(u32::MAX), Forward), "10.0.0.0:47295 172.16.0.0:5001"); // (2^32 - 1) mod 20,000 = 7,295
        assert_eq!(text(Face { port: 80, ..face(1) }, Forward), "10.0.0.2:40001 172.16.0.2:80");
        assert_eq!(text(Face { port: 80, ..face(1) }, Backward), "172.16.0.2:80 10.0.0.2:40001");
    }

    #[test]
    fn the_file_has_a_block_for_each_packet_with_its_headers() {
        let (mut empty, mut file) = (Vec::new(), Vec::new());
        write_pcapng(&capture(&[]), &mut empty).unwrap();
        let second = Packet { identification: 0x0102, ..packet(Forward) };
        write_pcapng(&capture(&[packet(Forward), second, packet(Backward)]), &mut file).unwrap();
        // A block: 28 octets of header, 20 + 20 octets of IPv4 and TCP, 4 octets of length again.
        let blocks: Vec<&[u8]> = file[empty.len()..].chunks(72).collect();
        let identifications: Vec<&[u8]> = blocks.iter().map(|block| &block[28 + 4..28 + 6]).collect();
        assert_eq!(identifications, [[0, 0], [1, 2], [0, 0]]);
        for (block, direction) in blocks.iter().zip([Forward, Forward, Backward]) {
            assert_eq!(block[24..28], 1_040_u32.to_le_bytes()); // length on the wire: 20 + 20 + 1000
            let expected = packet(direction);
            assert_eq!(
                parse(&block[28..68]).map(|(at, segment)| (at, Payload::Tcp(segment))),
                Ok((addresses(&expected, face(3)), expected.payload))
            );
        }
    }

    #[test]
    fn a_datagram_has_a_udp_header() {
        let (mut empty, mut file) = (Vec::new(), Vec::new());
        write_pcapng(&capture(&[]), &mut empty).unwrap();
        let datagram = Datagram { number: 0, sent: SimTime::ZERO, payload: 1_000, ecn: Ecn::NotEct };
        write_pcapng(&capture(&[Packet::udp(datagram, end(Forward))]), &mut file).unwrap();
        let block = &file[empty.len()..];
        assert_eq!(block[24..28], 1_028_u32.to_le_bytes()); // 20 + 8 + 1000
        let header = &block[28..56];
        assert_eq!((header[9], &header[20..26]), (17, &[0x9c, 0x43, 0x13, 0x89, 0x03, 0xf0][..]));
        // ports 40,003 and 5,001; 1,008 octets of UDP
    }

    #[test]
    fn a_segment_beyond_ipv4_is_an_error() {
        let segment = Segment { payload: 70_000, ..Segment::default() };
        let error = write_pcapng(&capture(&[Packet::tcp(segment, end(Forward))]), Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a packet of 70040 bytes does not fit the 16-bit length of IPv4; use an mss of at most 65455 bytes"
        );
    }
}
