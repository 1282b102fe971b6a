//! The network of a scenario between the hosts of others: whatever programs send in namespaces that somebody made.
//!
//! A host is a namespace that stands at a node of the scenario. A packet travels from the node of the device that it was sent by to the node
//! of the host that has its destination address, along the shortest path, with the links and queues of [`Network`]. Every pair of
//! addresses and ports is a connection to queues that tell flows apart.
//!
//! Departures: IPv4 only; what is neither TCP nor UDP, and a segment that cannot be read, is to queues a datagram of its size, whose ECN
//! field counts. Flows and appliances of the scenario do nothing here; its discarders count packets of every conversation alike.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ackclock_net::{EndpointId, LinkId, NodeId, Router};
use ackclock_sim::{LinkSummary, SimulationConfig};
use ackclock_units::SimTime;
use serde::Serialize;

use super::conversations::Conversations;
use super::lateness::{Lateness, LatenessSummary};
use super::network::Network;
use super::pace::Pace;
use super::packet::{Conversation, read_any};
use super::pump::{TURN, thread_cpu};
use crate::clock::WallClock;
use crate::device::{Batch, Device};

/// A host: where it stands, and the device by which it is reached.
#[derive(Debug)]
pub struct Place {
    /// Its node in the scenario.
    pub node: NodeId,
    /// Its device, whose address is the host's.
    pub device: Device,
}

/// Moves packets between hosts in real time.
#[derive(Debug)]
pub struct Carrier {
    clock: WallClock,
    network: Network,
    places: Vec<Place>,
    batch: Batch,
    /// Number of the host with each address.
    hosts: HashMap<Ipv4Addr, usize>,
    /// Links from the first to the second of two hosts, by their numbers.
    paths: HashMap<(usize, usize), Arc<[LinkId]>>,
    conversations: Conversations,
    foreign: u64,
}

/// Result of carrying packets.
#[derive(Debug, Serialize)]
pub struct Carried {
    /// Links since the beginning of the measurement.
    pub links: Vec<LinkSummary>,
    /// Lateness of packets handed to hosts, microseconds.
    pub late_us: LatenessSummary,
    /// True if the emulator ran before all ordinary threads.
    pub real_time: bool,
    /// CPU time of the emulator, the kernel's work for receiving hosts included, seconds.
    pub cpu_s: f64,
    /// Duration of the run, seconds.
    pub wall_s: f64,
    /// Packets that hosts sent.
    pub packets_entered: u64,
    /// Packets that a device would not take.
    pub packets_refused: u64,
    /// Packets to addresses that no host has, or of another kind than IPv4.
    pub packets_foreign: u64,
    /// Different pairs of addresses and ports; one that paused while more than 16,000 others came counts again.
    pub conversations: u64,
}

/// Counts at the exits of the network.
#[derive(Debug, Default)]
struct Tally {
    lateness: Lateness,
    delivered: u64,
    refused: u64,
}

impl Carrier {
    /// Between these hosts, whose devices' largest packet is `mtu`; an error names two that have no path between them.
    pub fn new(clock: WallClock, config: &SimulationConfig, places: Vec<Place>, mtu: u16) -> io::Result<Self> {
        let mut router = Router::new(&config.network);
        let mut paths = HashMap::new();
        for (from, start) in places.iter().enumerate() {
            for (to, end) in places.iter().enumerate().filter(|(to, _)| *to != from) {
                let path = router.shortest_path(start.node, end.node).filter(|path| !path.is_empty());
                let (a, b) = (start.device.address(), end.device.address());
                let path = path.ok_or_else(|| io::Error::other(format!("{a} has no path to {b}")))?;
                paths.insert((from, to), path.into());
            }
        }
        let hosts = places.iter().enumerate().map(|(number, place)| (place.device.address(), number)).collect();
        let (network, batch) = (Network::without_routes(config), Batch::new(mtu));
        Ok(Self { clock, network, places, batch, hosts, paths, conversations: Conversations::default(), foreign: 0 })
    }

    /// Runs on the calling thread until `end`, or until `stop` is set.
    pub fn run(mut self, end: SimTime, stop: &AtomicBool) -> io::Result<Carried> {
        let mut pace = Pace::begin(self.clock);
        let before = thread_cpu()?;
        let mut tally = Tally::default();
        let mut are_ready = vec![true; self.places.len()];
        loop {
            let was_busy = self.take_in(&are_ready, &mut tally)?;
            let now = self.clock.now().min(end);
            self.run_until(now, &mut tally);
            if now >= end || stop.load(Ordering::Relaxed) {
                break;
            }
            let devices: Vec<BorrowedFd<'_>> = self.places.iter().map(|place| place.device.as_fd()).collect();
            pace.rest(was_busy, (now, self.network.next_delivery().min(end)), &devices, &mut are_ready)?;
        }
        let (cpu_s, wall_s) = (thread_cpu()?.saturating_sub(before).as_secs_f64(), self.clock.now().as_secs_f64());
        let packets_entered = self.network.entered();
        Ok(Carried {
            links: self.network.finish().0,
            late_us: tally.lateness.summary(tally.delivered),
            real_time: pace.is_real_time,
            cpu_s,
            wall_s,
            packets_entered,
            packets_refused: tally.refused,
            packets_foreign: self.foreign,
            conversations: self.conversations.met(),
        })
    }

    /// Takes what hosts have sent; true if there was anything.
    fn take_in(&mut self, are_ready: &[bool], tally: &mut Tally) -> io::Result<bool> {
        let mut was_busy = false;
        // Borrowed apart from the network that its packets enter.
        let mut batch = mem::take(&mut self.batch);
        for from in (0..self.places.len()).filter(|from| are_ready[*from]) {
            let mut taken = 0;
            while taken < TURN {
                let packets = self.places[from].device.receive(&mut batch)?;
                if packets == 0 {
                    break;
                }
                taken += packets;
                batch.packets().for_each(|octets| self.enter(octets, from, tally));
            }
            was_busy |= taken > 0;
        }
        self.batch = batch;
        Ok(was_busy)
    }

    fn enter(&mut self, octets: &[u8], from: usize, tally: &mut Tally) {
        let now = self.clock.now();
        let Some(to) = Conversation::of(octets).and_then(|conversation| self.end(conversation, from)) else {
            self.foreign += 1;
            return;
        };
        self.run_until(now, tally);
        self.network.enter(read_any(octets, to, now), octets);
    }

    /// The end that a packet from a host is for; the first packet of a conversation makes both.
    fn end(&mut self, conversation: Conversation, from: usize) -> Option<EndpointId> {
        if let Some(end) = self.conversations.find(&conversation) {
            return Some(end);
        }
        let to = *self.hosts.get(&conversation.to())?;
        let path = |from, to| self.paths.get(&(from, to)).cloned();
        let (to_opener, to_acceptor) = (path(to, from)?, path(from, to)?);
        let connect = || self.network.connect(to_opener, to_acceptor);
        Some(self.conversations.meet(conversation, (from, to), connect))
    }

    fn run_until(&mut self, now: SimTime, tally: &mut Tally) {
        let Self { network, places, conversations, clock, .. } = self;
        network.run_until(now, &mut |delivered| {
            tally.lateness.add(clock.now().saturating_since(delivered.due));
            tally.delivered += 1;
            if places[conversations.host(delivered.to)].device.send(delivered.octets).is_err() {
                tally.refused += 1;
            }
        });
    }
}
