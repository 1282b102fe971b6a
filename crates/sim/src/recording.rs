//! Packets in the order of time, as in a capture file: their times, lengths on the wire and headers.
//!
//! Recordings stay in memory up to [`HELD`] octets for a whole simulation. Then they move to a nameless file in the
//! system's folder for temporary files, which disappears with its last reader. Without room on the disk they stay in
//! memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_net::{Packet, Payload};
use ackclock_units::SimTime;
use ackclock_wire::{Addresses, TooLong, emit, emit_datagram};

/// Octets held in memory before they are moved to a temporary file.
const HELD: usize = 64 << 20;

/// Octets of an IPv4 header; the ports follow.
const IPV4_HEADER: usize = 20;

/// Octets of a record before its headers: the time, the packet's length, the length of the headers.
const PREFIX: usize = 8 + 4 + 2;

/// One packet on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Time at which its first bit entered the wire; for an arrival at a host, the time of its last bit.
    pub time: SimTime,
    /// Index of the capture's interface.
    pub interface: u32,
    /// Octets of the IP packet.
    pub len: u32,
    /// Its IP header and the headers behind it, without the payload.
    pub headers: Vec<u8>,
}

impl CapturedPacket {
    /// Source and destination of the packet.
    pub fn addresses(&self) -> Addresses {
        let octets = |at: usize| -> [u8; 4] { std::array::from_fn(|index| self.headers[at + index]) };
        let [source_high, source_low, destination_high, destination_low] = octets(IPV4_HEADER);
        let end = |at, port| SocketAddrV4::new(Ipv4Addr::from(octets(at)), u16::from_be_bytes(port));
        Addresses {
            source: end(12, [source_high, source_low]),
            destination: end(16, [destination_high, destination_low]),
        }
    }
}

/// Packets that one observer saw, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Parts older than those in memory.
    stored: Vec<Stored>,
    recent: Vec<u8>,
    latest: SimTime,
    /// A packet that does not fit into a record.
    too_long: Option<TooLong>,
}

/// A part of a recording in a file.
#[derive(Clone, Debug)]
struct Stored {
    file: Arc<Mutex<File>>,
    start: u64,
    len: usize,
}

/// A recorder of packets, which counts the memory of recordings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    held: usize,
    file: Option<Arc<Mutex<File>>>,
    /// True if there is no room on the disk: recordings stay in memory.
    is_without_disk: bool,
}

impl Recorder {
    /// Appends a packet that is not earlier than the last, with these addresses.
    pub(crate) fn record(&mut self, recording: &mut Recording, time: SimTime, packet: &Packet, addresses: Addresses) {
        debug_assert!(recording.latest <= time, "{time:?} after {:?}", recording.latest);
        recording.latest = time;
        let out = &mut recording.recent;
        let start = out.len();
        out.extend(time.0.to_le_bytes());
        out.extend(packet.size.to_le_bytes());
        out.extend([0; 2]);
        let written = match &packet.payload {
            Payload::Tcp(segment) => emit(segment, addresses, packet.identification, out),
            Payload::Quic(quic) => emit_datagram((quic.len.into(), quic.ecn), addresses, packet.identification, out),
            Payload::Udp(datagram) => {
                emit_datagram((datagram.payload, datagram.ecn), addresses, packet.identification, out)
            }
        };
        if let Err(error) = written {
            out.truncate(start);
            recording.too_long = Some(error);
            return;
        }
        let headers = (out.len() - start - PREFIX) as u16;
        out[start + PREFIX - 2..start + PREFIX].copy_from_slice(&headers.to_le_bytes());
        self.held += out.len() - start;
    }

    /// True if recordings are to move to the disk.
    pub(crate) fn is_full(&self) -> bool {
        self.held > HELD && !self.is_without_disk
    }

    /// Moves all recordings in memory to the disk.
    pub(crate) fn relieve<'a>(&mut self, recordings: impl Iterator<Item = &'a mut Recording>) {
        self.is_without_disk = recordings.into_iter().try_for_each(|recording| self.store(recording)).is_err();
        self.held = 0;
    }

    fn store(&mut self, recording: &mut Recording) -> io::Result<()> {
        if recording.recent.is_empty() {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(Arc::new(Mutex::new(tempfile::tempfile()?))),
        };
        let mut end = file.lock().unwrap_or_else(PoisonError::into_inner);
        let start = end.seek(SeekFrom::End(0))?;
        end.write_all(&recording.recent)?;
        let len = recording.recent.len();
        recording.stored.push(Stored { file: Arc::clone(file), start, len });
        recording.recent = Vec::new();
        Ok(())
    }
}

impl Recording {
    /// Recorded packets, with the number of an interface. An item is an error if the disk cannot be read, and the last
    /// one is if a packet was too long.
    pub(crate) fn packets(&self, interface: u32) -> impl Iterator<Item = io::Result<CapturedPacket>> + '_ {
        let stored = self.stored.iter().map(|part| part.read().map(Cow::Owned));
        let parts = stored.chain([Ok(Cow::Borrowed(&self.recent[..]))]);
        let too_long = self.too_long.map(|error| Err(io::Error::new(io::ErrorKind::InvalidInput, error)));
        parts.flat_map(move |part| Records { part, at: 0, interface }).chain(too_long)
    }
}

impl Stored {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut octets = vec![0; self.len];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start))?;
        file.read_exact(&mut octets)?;
        Ok(octets)
    }
}

/// The records of a part of a recording; an error replaces all of them.
struct Records<'a> {
    part: io::Result<Cow<'a, [u8]>>,
    at: usize,
    interface: u32,
}

impl Iterator for Records<'_> {
    type Item = io::Result<CapturedPacket>;

    fn next(&mut self) -> Option<Self::Item> {
        let octets = match &mut self.part {
            Ok(octets) => octets.get(self.at..).filter(|left| !left.is_empty())?,
            Err(_) => return Some(Err(std::mem::replace(&mut self.part, Ok(Cow::default())).expect_err("it is one"))),
        };
        let (time, rest) = octets.split_first_chunk().expect("a record has a time");
        let (len, rest) = rest.split_first_chunk().expect("a record has the packet's length");
        let (size, rest) = rest.split_first_chunk().expect("a record has the length of its headers");
        let headers = rest[..usize::from(u16::from_le_bytes(*size))].to_vec();
        self.at += PREFIX + headers.len();
        let (time, len) = (SimTime(u64::from_le_bytes(*time)), u32::from_le_bytes(*len));
        Some(Ok(CapturedPacket { time, interface: self.interface, len, headers }))
    }
}

#[cfg(test)]
mod tests {
    use ackclock_net::{ConnectionIndex, EndpointId};
    use ackclock_wire::Segment;

    use super::*;

    const OPENER: &str = "10.0.0.1:40000";
    const ACCEPTOR: &str = "172.16.0.1:5001";

    fn record(recorder: &mut Recorder, recording: &mut Recording, times: std::ops::Range<u64>) {
        let address = |text: &str| text.parse().expect("an address");
        let addresses = Addresses { source: address(OPENER), destination: address(ACCEPTOR) };
        let packet = Packet::tcp(
            Segment { payload: 1_000, ..Segment::default() },
            EndpointId::acceptor(ConnectionIndex::new(0)),
        );
        for time in times {
            recorder.record(recording, SimTime(time), &packet, addresses);
        }
    }

    fn times(recording: &Recording) -> Vec<u64> {
        recording.packets(0).map(|packet| packet.expect("the disk is there").time.0).collect()
    }

    #[test]
    fn what_has_moved_to_the_disk_is_read_as_if_it_had_not() {
        let (mut recorder, mut plain, mut moved) = (Recorder::default(), Recording::default(), Recording::default());
        record(&mut recorder, &mut plain, 0..300);
        for part in [0..100, 100..200, 200..300] {
            record(&mut recorder, &mut moved, part);
            if moved.stored.len() < 2 {
                recorder.relieve([&mut moved].into_iter());
                assert!(moved.recent.is_empty());
            }
        }
        assert_eq!((moved.stored.len(), recorder.held), (2, 100 * 54)); // 14 + 20 + 20 octets each
        let read =
            |recording: &Recording| recording.packets(1).collect::<io::Result<Vec<_>>>().expect("the disk is there");
        assert_eq!(read(&moved), read(&plain));
        let packet = &read(&plain)[7];
        assert_eq!(packet.len, 1_040); // 20 + 20 + 1000
        assert_eq!(
            (packet.addresses().source.to_string(), packet.addresses().destination.to_string()),
            (OPENER.into(), ACCEPTOR.into())
        );
    }

    #[test]
    fn clones_that_share_a_file_keep_their_own() {
        let (mut recorder, mut recording) = (Recorder::default(), Recording::default());
        record(&mut recorder, &mut recording, 0..10);
        recorder.relieve([&mut recording].into_iter());
        let (mut others, mut other) = (recorder.clone(), recording.clone());
        record(&mut recorder, &mut recording, 10..20);
        record(&mut others, &mut other, 30..40);
        recorder.relieve([&mut recording].into_iter());
        others.relieve([&mut other].into_iter());
        assert_eq!(times(&recording), (0..20).collect::<Vec<_>>());
        assert_eq!(times(&other), (0..10).chain(30..40).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_disk_all_stays_in_memory() {
        let (mut recorder, mut recording) = (Recorder::default(), Recording::default());
        let read_only = File::open("/dev/null").expect("it is there");
        recorder.file = Some(Arc::new(Mutex::new(read_only)));
        record(&mut recorder, &mut recording, 0..5);
        recorder.relieve([&mut recording].into_iter());
        record(&mut recorder, &mut recording, 5..7);
        recorder.held = HELD + 1;
        assert!(!recorder.is_full());
        assert_eq!(times(&recording), (0..7).collect::<Vec<_>>());
    }
}
