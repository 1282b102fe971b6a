//! Conversion of an IPv4 packet's bytes for links and queues, and of marks back into the bytes.
//!
//! Sources: RFC 791, RFC 768; RFC 1624 for the checksum of a header of which one word changes. Departure: IPv4 only, without fragments
//! and options of IP, which this program's own hosts do not send.

use std::net::Ipv4Addr;

pub use ackclock_env::FIRST_KERNEL_PORT as FIRST_PORT;
use ackclock_net::{ConnectionIndex, Datagram, EndpointId, Packet, UDP_HEADER};
use ackclock_units::SimTime;
use ackclock_wire::{Ecn, parse};

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const IPV4_HEADER: usize = 20;

/// Side of the network at which a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Side of the hosts that open connections, and send datagrams.
    Openers,
    /// Side of the hosts that accept and receive them.
    Acceptors,
}

impl Side {
    /// Both, in the order of their places in lists.
    pub const BOTH: [Self; 2] = [Self::Openers, Self::Acceptors];

    /// Side at which packets to this end leave the network.
    pub fn of(end: EndpointId) -> Self {
        if end == EndpointId::opener(end.connection()) { Self::Openers } else { Self::Acceptors }
    }

    /// Its place in a list of both.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Reads what a host on this side has sent; `None` if it is nothing of ours.
pub(super) fn read(octets: &[u8], side: Side, now: SimTime) -> Option<Packet> {
    match *octets.get(9)? {
        PROTOCOL_TCP => {
            let (addresses, segment) = parse(octets).ok()?;
            let to = end(addresses.source.port(), addresses.destination.port(), side)?;
            Some(sized(Packet::tcp(segment, to), octets))
        }
        PROTOCOL_UDP if octets[0] == 0x45 && octets.len() >= IPV4_HEADER + UDP_HEADER as usize => {
            let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
            let to = end(word(IPV4_HEADER), word(IPV4_HEADER + 2), side)?;
            let payload = (octets.len() - IPV4_HEADER) as u32 - UDP_HEADER;
            let datagram = Datagram { number: 0, sent: now, payload, ecn: Ecn::of_bits(octets[1]) };
            Some(sized(Packet::udp(datagram, to), octets))
        }
        _ => None,
    }
}

/// The opener's port of a packet that [`read`] has read, which goes to this side.
pub(super) fn opener_port(octets: &[u8], to: Side) -> u16 {
    let at = match to {
        Side::Acceptors => IPV4_HEADER,
        Side::Openers => IPV4_HEADER + 2,
    };
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

/// The addresses and ports of an IPv4 packet, and its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Conversation {
    protocol: u8,
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
}

impl Conversation {
    /// Conversation of a packet; `None` if it is not IPv4. Protocols other than TCP and UDP have no ports here.
    pub(super) fn of(octets: &[u8]) -> Option<Self> {
        if octets.len() < IPV4_HEADER || octets[0] >> 4 != 4 {
            return None;
        }
        let word = |at: usize| octets.get(at..at + 2).map_or(0, |word| u16::from_be_bytes([word[0], word[1]]));
        let address = |at: usize| Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]);
        let header = usize::from(octets[0] & 15) * 4;
        let ports =
            if matches!(octets[9], PROTOCOL_TCP | PROTOCOL_UDP) { (word(header), word(header + 2)) } else { (0, 0) };
        Some(Self { protocol: octets[9], from: (address(12), ports.0), to: (address(16), ports.1) })
    }

    /// Conversation of the packets that answer.
    pub(super) fn reversed(self) -> Self {
        Self { from: self.to, to: self.from, ..self }
    }

    /// Destination of its packets.
    pub(super) fn to(&self) -> Ipv4Addr {
        self.to.0
    }
}

/// Any IPv4 packet, for this end, in the form for links and queues.
pub(super) fn read_any(octets: &[u8], to: EndpointId, now: SimTime) -> Packet {
    if octets[9] == PROTOCOL_TCP
        && let Ok((_, segment)) = parse(octets)
    {
        return sized(Packet::tcp(segment, to), octets);
    }
    let payload = (octets.len() - IPV4_HEADER) as u32;
    sized(Packet::udp(Datagram { number: 0, sent: now, payload, ecn: Ecn::of_bits(octets[1]) }, to), octets)
}

/// A host may lay its options out otherwise than the simulator does.
fn sized(packet: Packet, octets: &[u8]) -> Packet {
    Packet { size: octets.len() as u32, ..packet }
}

/// The end that a packet from this side is for.
fn end(source: u16, destination: u16, side: Side) -> Option<EndpointId> {
    let connection = |port: u16| Some(ConnectionIndex::new(usize::from(port.checked_sub(FIRST_PORT)?)));
    match side {
        Side::Openers => connection(destination).map(EndpointId::acceptor),
        Side::Acceptors => connection(source).map(EndpointId::opener),
    }
}

/// Writes the ECN field into the IP header, and mends its checksum.
pub(super) fn write_ecn(octets: &mut [u8], ecn: Ecn) {
    let old = u16::from_be_bytes([octets[0], octets[1]]);
    let new = old & !3 | ecn as u16;
    if new == old {
        return;
    }
    octets[1] = new as u8;
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
    let checksum = u16::from_be_bytes([octets[10], octets[11]]);
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let mended = !(((folded & 0xffff) + (folded >> 16)) as u16);
    octets[10..12].copy_from_slice(&mended.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header whose checksum is that of the well-known worked example, 0xb861.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8,
        0x00, 0xc7,
    ];

    fn sum(header: &[u8]) -> u32 {
        let sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_mark_leaves_the_header_with_a_right_checksum() {
        assert_eq!(sum(&HEADER), 0xffff, "RFC 1071: a right header sums to all ones");
        for before in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let mut header = HEADER;
            write_ecn(&mut header, before);
            assert_eq!((Ecn::of_bits(header[1]), sum(&header)), (before, 0xffff));
            write_ecn(&mut header, Ecn::Ce);
            assert_eq!((header[1], sum(&header)), (3, 0xffff), "after {before:?}");
        }
    }

    #[test]
    fn a_datagram_belongs_to_the_connection_of_its_port() {
        let mut octets = HEADER.to_vec();
        octets.extend([0x9c, 0x40, 0x10, 0x03, 0x00, 0x5f, 0, 0]); // from 40000 to 4099
        octets.resize(0x73, 0);
        octets[1] = 2;
        let packet = read(&octets, Side::Openers, SimTime(5)).expect("ours");
        assert_eq!(packet.to, EndpointId::acceptor(ConnectionIndex::new(3)));
        assert_eq!((packet.size, packet.ecn(), packet.has_data()), (115, Ecn::Ect0, true));
        assert!(read(&octets, Side::Acceptors, SimTime(5)).is_some_and(|packet| packet.connection().index() == 35_904));
    }

    #[test]
    fn a_conversation_is_known_from_both_ends() {
        let mut there = HEADER.to_vec();
        there.extend([0x9c, 0x40, 0x10, 0x03, 0x00, 0x5f, 0, 0]); // from 40000 to 4099
        let mut back = there.clone();
        back[12..16].copy_from_slice(&HEADER[16..20]);
        back[16..20].copy_from_slice(&HEADER[12..16]);
        back[20..24].copy_from_slice(&[0x10, 0x03, 0x9c, 0x40]);
        let (there, back) = (Conversation::of(&there).unwrap(), Conversation::of(&back).unwrap());
        assert_eq!((there.to(), back), (Ipv4Addr::new(192, 168, 0, 199), there.reversed()));
        assert_ne!(there, back);
    }

    #[test]
    fn a_packet_of_any_kind_has_its_size_and_its_mark() {
        let mut icmp = HEADER.to_vec();
        (icmp[9], icmp[1]) = (1, 3);
        icmp.resize(84, 0);
        let to = EndpointId::acceptor(ConnectionIndex::new(0));
        let packet = read_any(&icmp, to, SimTime::ZERO);
        assert_eq!((packet.size, packet.ecn(), packet.to), (84, Ecn::Ce, to));
    }

    #[test]
    fn what_is_cut_or_of_another_kind_is_nothing_of_ours() {
        for len in 0..HEADER.len() + 8 {
            let mut octets = HEADER.to_vec();
            octets.resize(HEADER.len() + 8, 0);
            assert!(read(&octets[..len], Side::Openers, SimTime::ZERO).is_none(), "{len}");
        }
        let mut icmp = HEADER.to_vec();
        icmp[9] = 1;
        assert!(read(&icmp, Side::Openers, SimTime::ZERO).is_none());
    }
}
