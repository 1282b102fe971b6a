//! Queue disciplines beside Linux's: the same packets at the same nanoseconds in, the same packets out, dropped or marked.
//!
//! The files in `linux_queues` were recorded on a kernel in virtual time by `python -m studies.linux.queue_recordings`. Each row has a
//! packet: its arrival, its flow, its octets and its ECN field, then the time and the ECN field with which it left, if it did. The
//! discipline here gets the arrivals, and is asked for a packet whenever Linux's was. Recordings of `netem` are held beside a link.
//! `ACKCLOCK_QUEUE_RECORDINGS` names a folder of other recordings to check.

use std::fs;
use std::path::{Path, PathBuf};

use ackclock_declare::{Context, Json};
use ackclock_net::queue::{Queue, QueueDiscipline, QueuePlace, Queued, queues};
use ackclock_net::{
    ConnectionIndex, Datagram, DropTailConfig, EndpointId, Link, LinkConfig, NodeId, Packet, Payload, QueueConfig,
    QueueLimit,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::Ecn;

/// Octets of the header of Ethernet.
const FRAMING: u32 = 14;
/// Octets of the headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// The most by which the kernel's timers are late: its clock has steps of 256 ns.
const LATE: SimDuration = SimDuration::from_micros(1);
/// A rate so high that it holds nothing back.
const NO_LINK: Bandwidth = Bandwidth(1_000_000_000_000);

/// A recorded packet.
#[derive(Clone, Copy)]
struct Row {
    came: SimTime,
    flow: usize,
    octets: u32,
    ecn: Ecn,
    left: Option<(SimTime, Ecn)>,
}

/// A recording: a discipline's parameters as a scenario has them, the rate of its link, and its packets.
struct Recording {
    parameters: Json,
    link: Option<Bandwidth>,
    rows: Vec<Row>,
}

fn ecn(field: &str) -> Ecn {
    match field {
        "0" => Ecn::NotEct,
        "1" => Ecn::Ect1,
        "2" => Ecn::Ect0,
        "3" => Ecn::Ce,
        other => panic!("{other}: not an ECN field"),
    }
}

fn row(line: &str, base: u64) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let time = |text: &str| {
        let ns: i64 = text.parse().expect("a time is a number of nanoseconds");
        SimTime(base.checked_add_signed(ns).expect("the base is later than any packet is early"))
    };
    Row {
        came: time(fields[0]),
        flow: fields[1].parse().expect("a flow is a number"),
        octets: fields[2].parse().expect("octets are a number"),
        ecn: ecn(fields[3]),
        left: (!fields[4].is_empty()).then(|| (time(fields[4]), ecn(fields[5]))),
    }
}

impl Recording {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("the recording can be read");
        let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        let parameters = comments[1].parse().expect("parameters are JSON");
        let link = comments[2].strip_prefix("a link of ").map(|rate| rate.parse().expect("a rate has a unit"));
        let rows = text.lines().skip(comments.len() + 1).map(|line| row(line, 1 << 20)).collect();
        Self { parameters, link, rows }
    }

    fn queue(&self) -> Queue {
        let mut table = self.parameters.as_object().expect("parameters are a table").clone();
        let kind = table.remove("kind").expect("parameters have a kind");
        let part = queues().find(kind.as_str().expect("a kind is a text")).expect("the kind is known");
        let reading = part.read(&table, &Context::default());
        assert!(reading.mistakes.is_empty(), "{:?}", reading.mistakes);
        let place = QueuePlace { link: "recorded", seed: 1 };
        Queue::new(&reading.config, &place, self.link.unwrap_or(NO_LINK))
    }
}

/// The simulator's discipline behind a link, in the course of a recording.
struct Replay {
    queue: Queue,
    link: Option<Bandwidth>,
    now: SimTime,
    /// The time at which the last bit of the last packet has left.
    free_at: SimTime,
    /// True if the discipline has been asked for a packet since the link is free.
    has_asked: bool,
}

impl Replay {
    fn new(recording: &Recording) -> Self {
        let (queue, link) = (recording.queue(), recording.link);
        Self { queue, link, now: SimTime::ZERO, free_at: SimTime::ZERO, has_asked: true }
    }

    fn arrive(&mut self, number: usize, row: Row) -> Result<(), String> {
        self.idle_until(row.came)?;
        let payload = row.octets - FRAMING - HEADERS;
        let datagram = Datagram { number: number as u32, sent: row.came, payload, ecn: row.ecn };
        let packet = Packet::udp(datagram, EndpointId::acceptor(ConnectionIndex::new(row.flow)));
        self.queue.enqueue(row.came, Queued { packet, octets: u64::from(row.octets), since: row.came });
        self.now = row.came;
        Ok(())
    }

    fn depart(&mut self, number: usize, at: SimTime, field: Ecn) -> Result<(), String> {
        self.idle_until(at)?;
        let Some(ready) = self.queue.ready_at(self.now) else {
            return Err(format!("{at}: packet {number} left there, and none waits here"));
        };
        let due = ready.max(self.free_at).max(self.now);
        if at.max(due) - at.min(due) > LATE {
            return Err(format!("{at}: packet {number} left there; here the next may leave at {due}"));
        }
        let packet = self.queue.dequeue(at.max(due)).map(|queued| queued.packet);
        let found = packet.and_then(|packet| match packet.payload {
            Payload::Udp(datagram) => Some((datagram.number as usize, datagram.ecn)),
            _ => None,
        });
        if found != Some((number, field)) {
            return Err(format!("{at}: packet {number} left there with {field:?}, here {found:?}"));
        }
        let sending = self
            .link
            .zip(packet)
            .map(|(rate, packet)| rate.serialization_delay(Bytes(u64::from(packet.size + FRAMING))));
        (self.now, self.has_asked) = (at.max(due), sending.is_none());
        self.free_at = at + sending.unwrap_or(SimDuration::ZERO);
        Ok(())
    }

    /// Lets the link ask for a packet once, if it becomes free and none leaves.
    fn idle_until(&mut self, time: SimTime) -> Result<(), String> {
        if self.has_asked || time <= self.free_at + LATE {
            return Ok(());
        }
        self.has_asked = true;
        match self.queue.dequeue(self.free_at) {
            None => Ok(()),
            Some(_) => Err(format!("{}: a packet leaves here, and none left there", self.free_at)),
        }
    }
}

/// The first difference between a recording of `netem` and a link.
fn difference_of_link(recording: &Recording) -> Option<String> {
    let parameter = |name| recording.parameters.get(name).and_then(Json::as_str).expect("the parameter is a text");
    let ends = (NodeId::new(0), NodeId::new(1));
    let rate = parameter("rate").parse().expect("a rate has a unit");
    let delay = parameter("delay").parse().expect("a delay has a unit");
    let waiting = recording.parameters.get("packets").and_then(Json::as_u64).expect("a number of packets");
    let queue = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(waiting) });
    let config =
        LinkConfig { queue, framing: Bytes(FRAMING.into()), ..LinkConfig::plain("recorded", ends, rate, delay) };
    let mut link = Link::new(&config, 1);
    let mut clocked = link.clocked().expect("DropTail before a plain wire");
    recording.rows.iter().enumerate().find_map(|(number, row)| {
        let here = clocked.admit(row.came, row.octets - FRAMING).map(|passage| passage.arrival);
        let there = row.left.map(|(at, _)| at);
        let is_same = match (here, there) {
            (Some(here), Some(there)) => here.max(there) - here.min(there) <= LATE,
            _ => here == there,
        };
        (!is_same).then(|| format!("{}: packet {number} left at {there:?} there, at {here:?} here", row.came))
    })
}

/// The first difference between a recording and the simulator.
fn difference(recording: &Recording) -> Option<String> {
    if recording.parameters.get("kind").and_then(Json::as_str) == Some("link") {
        return difference_of_link(recording);
    }
    let mut events: Vec<(SimTime, bool, usize)> = Vec::new();
    for (number, row) in recording.rows.iter().enumerate() {
        events.push((row.came, false, number));
        events.extend(row.left.map(|(at, _)| (at, true, number)));
    }
    events.sort_unstable(); // who leaves at once came before
    let mut replay = Replay::new(recording);
    for (time, leaves, number) in events {
        let row = recording.rows[number];
        let done = match row.left {
            Some((_, field)) if leaves => replay.depart(number, time, field),
            _ => replay.arrive(number, row),
        };
        if let Err(difference) = done {
            return Some(difference);
        }
    }
    (replay.queue.len() > 0).then(|| format!("{} packets are left here, and none there", replay.queue.len()))
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of recordings can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}: has no recordings", folder.display());
    files
}

#[test]
fn packets_leave_as_from_linux() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux_queues");
    let folder = std::env::var_os("ACKCLOCK_QUEUE_RECORDINGS").map_or(own, PathBuf::from);
    let files = recordings(&folder);
    let different: Vec<String> = files
        .iter()
        .filter_map(|file| Some(format!("{}: {}", file.file_name()?.display(), difference(&Recording::read(file))?)))
        .collect();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), files.len(), different.join("\n"));
}
