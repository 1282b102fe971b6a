//! FQ, fair queueing: packets leave in the order in which they would end if the link served all flows bit by bit in turn.
//!
//! Sources: Nagle 1987 (RFC 970: a queue for every source); Demers, Keshav and Shenker 1989 (by bits: a packet's finish
//! number is the larger of its flow's last one and the round number, plus its length; the smallest goes first), known
//! since as weighted fair queueing with equal weights. The round number is kept exactly, as its authors define it: it
//! grows with the rate over the number of flows that the bit-by-bit server would be serving. Without room the longest
//! queue loses its last packet.
//!
//! Departures: no preference for flows that have been silent (their delta is 0). A dropped packet takes its finish
//! number with it, and the bit-by-bit server is never ahead of a link that has become slower. The sources, with one
//! rate and room for all, do not cover these cases.
//!
//! Flows take the turns of Linux's `fq` with `variant = "linux"`, packet for packet as in its most urgent band. There is no other band
//! here: in Linux a flow begins in the list of that band, whatever its own, and can so come later than other new flows. Pacing is TCP's
//! (`tcp.pacing`).

mod rounds;
mod turns;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ackclock_declare::{About, declare, words};
use ackclock_units::{Bandwidth, SimTime};

use self::rounds::{Rounds, Virtual};
use self::turns::Turns;
use super::limit::{QueueLimit, of_link};
use super::longest::Longest;
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

words! {
    /// The order in which packets leave.
    #[derive(Default)]
    pub enum FqVariant {
        /// The order in which a link that serves all flows bit by bit would finish them.
        #[default]
        "by_bits" = ByBits,
        /// The turns of Linux's `fq`.
        "linux" = Linux,
    }
}

declare! {
    /// The parameters of [`Fq`].
    #[derive(Copy, Eq)]
    pub struct FqConfig {
        /// Largest backlog, all flows together.
        limit: QueueLimit = of_link(),
        /// Order of finish numbers, or the turns of Linux's `fq`: by octets, new flows first, behind up to eight packets in
        /// order of arrival; without room, or with 100 packets of its flow, an arriving packet is dropped.
        variant: FqVariant = FqVariant::ByBits,
    }
    check super::review;
}

impl Parameters for FqConfig {
    const ABOUT: About = About {
        name: "fq",
        aliases: &[],
        summary: "fair queueing: packets leave in the order in which a link that serves all flows bit by bit would finish them",
        source: "Nagle 1987 (RFC 970); Demers, Keshav and Shenker 1989",
        departures: "equal weights, delta = 0; without room the longest queue loses a packet; Linux's turns with variant = \"linux\", where TCP does the pacing",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// Fair queueing: packets leave in the order of their finish numbers. Source and departures: [`mod@crate::queue::fq`].
#[derive(Clone, Debug)]
pub struct Fq {
    /// The turns of Linux's `fq`, if it takes those.
    turns: Option<Box<Turns>>,
    rounds: Rounds,
    /// The queues, by endpoint.
    flows: Vec<FlowQueue>,
    /// The first packet of each flow by its finish number; ties by arrival. Entries of packets that are no longer first
    /// are outdated.
    firsts: BinaryHeap<Reverse<(Virtual, u64, u32)>>,
    arrivals: u64,
    longest: Longest,
    room: Room,
    packets: usize,
    octets: u64,
    tally: Tally,
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    packets: VecDeque<Numbered>,
    octets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Numbered {
    finish: Virtual,
    arrival: u64,
    queued: Queued,
}

impl Fq {
    /// An empty queue with these parameters.
    pub fn new(config: &FqConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            turns: (config.variant == FqVariant::Linux).then(|| Box::new(Turns::new())),
            rounds: Rounds::default(),
            flows: Vec::new(),
            firsts: BinaryHeap::new(),
            arrivals: 0,
            longest: Longest::default(),
            room: Room::new(config.limit),
            packets: 0,
            octets: 0,
            tally: Tally::default(),
        }
    }

    /// Drops the last packet of the longest queue, in octets.
    fn steal(&mut self) {
        let flows = &self.flows;
        let Some(key) = self.longest.find(flows.len(), |flow| flows[flow as usize].octets) else { return };
        let flow = key as usize;
        if let Some(last) = self.flows[flow].packets.pop_back() {
            self.rounds.on_dropped(flow, last.finish, last.queued.octets);
            self.on_removed(flow, last.queued.octets);
            self.longest.on_taken(key, self.flows[flow].octets);
            self.tally.drop(&last.queued.packet);
        }
    }

    fn on_removed(&mut self, flow: usize, octets: u64) {
        self.flows[flow].octets -= octets;
        self.packets -= 1;
        self.octets -= octets;
        if self.packets == 0 {
            self.longest.on_empty();
        }
    }
}

impl QueueDiscipline for Fq {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        if let Some(turns) = &mut self.turns {
            if self.room.takes(turns.packets, turns.octets, arrival.octets) && turns.enqueue(now, arrival) {
                self.packets += 1;
                self.octets += arrival.octets;
            } else {
                self.tally.drop(&arrival.packet);
            }
            return;
        }
        let flow = arrival.packet.to.index();
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, FlowQueue::default());
        }
        self.arrivals += 1;
        let finish = self.rounds.on_arrival(now, flow, arrival.octets);
        let queue = &mut self.flows[flow];
        if queue.packets.is_empty() {
            self.firsts.push(Reverse((finish, self.arrivals, flow as u32)));
        }
        queue.packets.push_back(Numbered { finish, arrival: self.arrivals, queued: arrival });
        queue.octets += arrival.octets;
        self.longest.on_growth(arrival.packet.to.number(), queue.octets);
        self.packets += 1;
        self.octets += arrival.octets;
        while !self.room.holds(self.packets, self.octets, arrival.octets) && self.packets > 0 {
            self.steal();
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        if let Some(turns) = &mut self.turns {
            let first = turns.dequeue(now)?;
            self.packets -= 1;
            self.octets -= first.octets;
            return Some(first);
        }
        loop {
            let Reverse((_, arrival, flow)) = self.firsts.pop()?;
            let flow = flow as usize;
            let Some(first) = self.flows[flow].packets.pop_front_if(|first| first.arrival == arrival) else { continue };
            self.rounds.on_taken(now, first.queued.octets);
            self.on_removed(flow, first.queued.octets);
            if let Some(next) = self.flows[flow].packets.front() {
                self.firsts.push(Reverse((next.finish, next.arrival, flow as u32)));
            }
            return Some(first.queued);
        }
    }

    fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        self.rounds.set_rate(now, rate);
        self.room.set_rate(rate);
    }

    crate::accounts!(packets, octets);

    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }
}

#[cfg(test)]
mod tests;
