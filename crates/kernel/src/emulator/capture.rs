//! The packets that links and hosts record, where a scenario asked, as pcapng files of their headers.
//!
//! A link, as in the simulator, records a packet when its first bit enters the wire, together with the link's reverse direction, and a host records
//! what leaves it and what comes to it. Time zero of the run is the Unix epoch. Departures: addresses, ports and options are those of the
//! kernel's sockets; a host's times are those at which the emulator had the packet, as late as it was.

use std::io;

use ackclock_net::{LinkConfig, LinkId};
use ackclock_sim::SimulationConfig;
use ackclock_units::SimTime;
use ackclock_wire::pcapng::PcapngWriter;

const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A finished capture file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// The link's name, or `flow` and the flow's.
    pub name: String,
    /// Content of the file.
    pub octets: Vec<u8>,
}

/// Packets recorded at one place.
#[derive(Clone, Debug)]
struct Capture {
    name: String,
    interfaces: Vec<String>,
    records: Vec<Record>,
    headers: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    time: SimTime,
    interface: u32,
    /// Length on the wire, octets.
    len: u32,
    /// Offset of its headers.
    from: usize,
    to: usize,
}

impl Capture {
    fn new(name: String, interface: String) -> Self {
        Self { name, interfaces: vec![interface], records: Vec::new(), headers: Vec::new() }
    }

    fn record(&mut self, interface: u32, time: SimTime, octets: &[u8]) {
        let from = self.headers.len();
        self.headers.extend_from_slice(headers(octets));
        let to = self.headers.len();
        self.records.push(Record { time, interface, len: octets.len() as u32, from, to });
    }

    /// Writes the records in the order of time.
    fn into_file(mut self) -> io::Result<CaptureFile> {
        self.records.sort_by_key(|record| record.time);
        let mut writer = PcapngWriter::new(Vec::new(), &self.interfaces)?;
        for Record { time, interface, len, from, to } in self.records {
            writer.packet(interface, time, &self.headers[from..to], len)?;
        }
        Ok(CaptureFile { name: self.name, octets: writer.into_inner() })
    }
}

/// The headers of an IPv4 packet with TCP or UDP; all of any other.
fn headers(octets: &[u8]) -> &[u8] {
    let transport = match octets.get(9) {
        Some(6) => octets.get(IPV4_HEADER + 12).map_or(0, |offset| usize::from(offset >> 4) * 4),
        Some(17) => UDP_HEADER,
        _ => octets.len(),
    };
    &octets[..octets.len().min(IPV4_HEADER + transport)]
}

/// Captures of links.
#[derive(Debug, Default)]
pub(super) struct LinkCaptures {
    captures: Vec<Capture>,
    /// Capture of each link, and its interface there. Empty if no link is recorded.
    places: Vec<Option<(usize, u32)>>,
}

impl LinkCaptures {
    pub(super) fn new(links: &[LinkConfig]) -> Self {
        let mut new = Self::default();
        if links.iter().any(|link| link.capture) {
            for link in links {
                new.add(link);
            }
        }
        new
    }

    fn add(&mut self, link: &LinkConfig) {
        let forth = link.way_back_of.and_then(|forth| self.places.get(forth.index()).copied().flatten());
        let place = link.capture.then(|| {
            if let Some((number, _)) = forth {
                let interfaces = &mut self.captures[number].interfaces;
                interfaces.push(link.name.clone());
                return (number, interfaces.len() as u32 - 1);
            }
            self.captures.push(Capture::new(link.name.clone(), link.name.clone()));
            (self.captures.len() - 1, 0)
        });
        self.places.push(place);
    }

    /// Whether a link is recorded.
    pub(super) fn are_wanted(&self, link: LinkId) -> bool {
        self.places.get(link.index()).is_some_and(Option::is_some)
    }

    /// The first bit of a packet enters the wire of a link.
    pub(super) fn record(&mut self, link: LinkId, time: SimTime, octets: &[u8]) {
        if let Some((number, interface)) = self.places[link.index()] {
            self.captures[number].record(interface, time, octets);
        }
    }

    /// Files at the end of a run: a packet that still waits has been recorded with the time at which it would have
    /// left.
    pub(super) fn finish(mut self, end: SimTime) -> io::Result<Vec<CaptureFile>> {
        for capture in &mut self.captures {
            capture.records.retain(|record| record.time <= end);
        }
        self.captures.into_iter().map(Capture::into_file).collect()
    }
}

/// Captures at the hosts of flows' senders.
#[derive(Debug)]
pub(super) struct HostCaptures {
    /// Captures by number of connection; short flows, which come behind, have none.
    captures: Vec<Option<Capture>>,
}

impl HostCaptures {
    pub(super) fn new(config: &SimulationConfig) -> Self {
        let flows = config.flows.iter().map(|flow| (flow.capture, &flow.name, flow.from));
        let datagrams = config.traffic.datagrams.iter().map(|flow| (flow.capture, &flow.name, flow.from));
        let capture = |(is_wanted, name, host): (bool, &String, _)| {
            let host = || config.network.node(host).name.clone();
            is_wanted.then(|| Capture::new(format!("flow {name}"), host()))
        };
        Self { captures: flows.chain(datagrams).map(capture).collect() }
    }

    /// The host of this connection's opener has sent a packet, or is handed one.
    pub(super) fn record(&mut self, connection: usize, time: SimTime, octets: &[u8]) {
        if let Some(Some(capture)) = self.captures.get_mut(connection) {
            capture.record(0, time, octets);
        }
    }

    pub(super) fn finish(self) -> io::Result<Vec<CaptureFile>> {
        self.captures.into_iter().flatten().map(Capture::into_file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_where_the_payload_begins() {
        let mut tcp = vec![0_u8; 1_500];
        (tcp[0], tcp[9], tcp[32]) = (0x45, 6, 8 << 4);
        assert_eq!(headers(&tcp).len(), 52, "20 octets of IPv4 and eight words of TCP");
        let mut udp = vec![0_u8; 100];
        (udp[0], udp[9]) = (0x45, 17);
        assert_eq!(headers(&udp).len(), 28);
        assert_eq!((headers(&tcp[..30]).len(), headers(&udp[..5]).len()), (20, 5), "what is cut is kept as it is");
    }

    #[test]
    fn a_file_is_in_the_order_of_time_whatever_the_order_of_records() {
        let mut capture = Capture::new("l".to_owned(), "l".to_owned());
        let mut packet = vec![0_u8; 28];
        (packet[0], packet[9]) = (0x45, 17);
        for (time, mark) in [(30, 3), (10, 1), (20, 2)] {
            packet[5] = mark;
            capture.record(0, SimTime(time), &packet);
        }
        let (empty, file) = (Capture::new("l".to_owned(), "l".to_owned()).into_file(), capture.into_file());
        let begins = empty.expect("to memory").octets.len();
        // A block: 28 octets of header, the packet's 28, 4 of length again; the time's lower half comes 16 octets in.
        let octets = file.expect("to memory").octets;
        let told: Vec<(u8, u8)> = octets[begins..].chunks(60).map(|block| (block[16], block[28 + 5])).collect();
        assert_eq!(told, [(10, 1), (20, 2), (30, 3)]);
    }
}
