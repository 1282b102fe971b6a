//! CAKE's core (Høiland-Jørgensen, Täht and Morton 2018): flow queues found by an 8-way set-associative hash, turns by
//! octets that are fair between hosts first, COBALT on each queue, a shaper, and a filter for ACKs.
//!
//! Verified against Linux's `sch_cake` at its egress: quantum, target, interval and memory by rate and round trip, the
//! tolerance of four packets at low rates, the order in which the ways of a set are tried, the charge of a flow. With a
//! shaper and between flows, packets leave as from Linux.
//!
//! **Departures**: one priority tin (`besteffort`); a host's share is divided to parts of an octet, where Linux dithers; a host's flows
//! count while they are scheduled, whether sparse or bulk; without a shaper the link's rate counts, which Linux does not
//! know; signals that fall due while a queue is empty are worked off at its next packet.

mod ack_filter;
mod cobalt;
mod hosts;
mod shaper;

use ackclock_declare::{About, Review, declare, default, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::flow_hash::{Perturbation, bucket};
use super::flow_queues::FlowQueues;
use super::flow_schedule::{FlowSchedule, OCTET, Waits};
use super::limit::{LARGEST_PACKET, MAX_FLOW_QUEUES, MAX_TIME, QueueLimit};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Tally};
use crate::ids::EndpointId;
use crate::packet::Packet;
use crate::rng::RandomStream;

pub use ack_filter::AckFilter;
use cobalt::{Cobalt, CobaltParameters};
use hosts::{HostLoads, HostPair};
pub use hosts::{HostTable, Isolation};
use shaper::Shaper;
pub use shaper::{CellFraming, ShaperConfig};

/// The queues of one set of the hash.
const WAYS: u32 = 8;

/// The octets of a full packet, for its sending time on a slow link.
const MTU: Bytes = Bytes(1514);

declare! {
    /// Parameters of [`Cake`]; the defaults are Linux's.
    #[derive(Copy, Eq)]
    pub struct CakeConfig {
        /// Entities between which the queue is fair first.
        isolation: Isolation = Isolation::Triple,
        /// Eagerness to drop superfluous ACKs.
        ack_filter: AckFilter = AckFilter::Off,
        /// Round trip that the control law assumes; its target is a twentieth.
        rtt: SimDuration = default(SimDuration::from_millis(100)).above(SimDuration::ZERO).at_most(MAX_TIME),
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = true,
        /// Largest backlog, in octets.
        memory_limit: Option<Bytes> = unset("4 x rate x rtt, at least 4 MiB").at_least(LARGEST_PACKET),
        /// Number of queues for the hash of flows.
        flows: u32 = default(1_024)
            .at_least(WAYS)
            .at_most(MAX_FLOW_QUEUES)
            .must_be("a multiple of 8", |flows: &u32| flows.is_multiple_of(WAYS)),
    }
    within {
        /// Parameters of the shaper.
        shaper: ShaperConfig = ShaperConfig::default(),
    }
    check super::review;
}

impl Parameters for CakeConfig {
    const ABOUT: About = About {
        name: "cake",
        aliases: &[],
        summary: "CAKE: fair between hosts, then flows; COBALT on each queue, a shaper, an ACK filter",
        source: "Høiland-Jørgensen, Täht and Morton 2018; Linux",
        departures: "one priority tin; a host's share is divided without dithering, to parts of an octet; a host's sparse flows count as its bulk flows do; without a shaper the link's rate sets the target",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        Vec::new()
    }

    fn review(&self, review: &mut Review<'_>) {
        review.needs(&["overhead", "minimum", "cells"], "bandwidth", self.shaper.rate.is_some());
    }
}

/// The state of a queue, besides its packets.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// The end that is its packets' destination; `None` before the first packet.
    tag: Option<EndpointId>,
    hosts: HostPair,
    cobalt: Cobalt,
}

/// CAKE's core: fair between hosts and their flows, with a shaper and a filter for ACKs. Source and departures:
/// [`mod@crate::queue::cake`].
#[derive(Clone, Debug)]
pub struct Cake {
    config: CakeConfig,
    control: CobaltParameters,
    memory_limit: u64,
    /// The credit of a flow for a turn, in fractions of an octet ([`OCTET`]).
    quantum: u64,
    /// The sending time of a full packet.
    mtu_time: SimDuration,
    perturbation: Perturbation,
    random: RandomStream,
    queues: FlowQueues,
    schedule: FlowSchedule,
    flows: Vec<Flow>,
    hosts: HostLoads,
    shaper: Shaper,
    tally: Tally,
    filtered: u64,
    /// The queue that sent last, for inspection.
    last: u32,
}

impl Cake {
    /// A discipline of empty queues. The hash is perturbed by the stream's first number; the others are BLUE's.
    pub fn new(config: &CakeConfig, place: &QueuePlace<'_>) -> Self {
        let mut random = place.random();
        let idle = Flow { tag: None, hosts: HostPair::default(), cobalt: Cobalt::default() };
        let mut cake = Self {
            config: *config,
            control: CobaltParameters { target: SimDuration::ZERO, interval: SimDuration::ZERO, ecn: config.ecn },
            memory_limit: 0,
            quantum: config.shaper.rate.map_or(MTU.0, |rate| (rate.0 / 8 / 4096).clamp(300, MTU.0)) * OCTET,
            mtu_time: SimDuration::ZERO,
            perturbation: Perturbation::draw(&mut random),
            random,
            queues: FlowQueues::new(config.flows),
            schedule: FlowSchedule::new(config.flows, Waits::Never),
            flows: vec![idle; config.flows as usize],
            hosts: HostLoads::new(config.isolation),
            shaper: Shaper::new(config.shaper),
            tally: Tally::default(),
            filtered: 0,
            last: 0,
        };
        if let Some(rate) = config.shaper.rate {
            cake.control_at(rate);
        }
        cake
    }

    /// Sets target, interval and memory by the rate at which packets leave.
    fn control_at(&mut self, rate: Bandwidth) {
        let CakeConfig { rtt, memory_limit, .. } = self.config;
        self.mtu_time = rate.serialization_delay(MTU);
        // At a low rate a good queue is one of a packet and a half.
        self.control.target = (rtt / 20).max(self.mtu_time * 3 / 2);
        self.control.interval = (rtt + self.control.target - rtt / 20).max(self.control.target * 2);
        self.memory_limit = memory_limit.unwrap_or(Bytes((4 * rate.bytes_in(rtt).0).max(4 << 20))).0;
    }

    /// The queue of a packet: its own, in the set of its hash; else an idle one of that set; else the one of the hash,
    /// which takes the flow over.
    fn place(&self, packet: &Packet) -> u32 {
        let direct = bucket(packet, self.perturbation, self.config.flows);
        let (set, way) = (direct / WAYS * WAYS, direct % WAYS);
        let ways = (0..WAYS).map(|next| set + (way + next) % WAYS);
        let own = ways.clone().find(|queue| self.flows[*queue as usize].tag == Some(packet.to));
        own.or_else(|| ways.clone().find(|queue| self.schedule.is_idle(*queue))).unwrap_or(direct)
    }

    fn filter_ack(&mut self, queue: u32, arrival: &Packet) {
        if self.config.ack_filter == AckFilter::Off {
            return;
        }
        let found = ack_filter::superfluous(self.config.ack_filter, arrival, self.queues.waiting(queue));
        if let Some(position) = found {
            let filtered = self.queues.remove(queue, position);
            self.filtered += 1;
            self.tally.drop(&filtered.packet);
        }
    }

    fn drop_from_fattest(&mut self, now: SimTime) {
        let fattest = self.queues.fattest();
        self.flows[fattest as usize].cobalt.on_overflow(now, &self.control);
        if let Some(dropped) = self.queues.pop(fattest) {
            self.tally.drop(&dropped.packet);
        }
    }

    /// The next packet of a queue that COBALT does not drop.
    fn next_of(&mut self, now: SimTime, flow: u32) -> Option<Queued> {
        let tolerated = self.mtu_time * 4;
        loop {
            let mut packet = self.queues.pop(flow)?;
            let cobalt = &mut self.flows[flow as usize].cobalt;
            let drops = cobalt.drops(now, &mut packet, &self.control, tolerated, &mut self.random, &mut self.tally);
            if !drops || self.queues.packets_of(flow) == 0 {
                return Some(packet); // the last packet stays: with it would go the sender's only signal
            }
            self.tally.drop(&packet.packet);
        }
    }

    fn on_empty(&mut self, now: SimTime, flow: u32) {
        self.flows[flow as usize].cobalt.on_empty(now, &self.control);
        if self.schedule.on_empty(flow) {
            self.hosts.on_idle(self.flows[flow as usize].hosts);
        }
    }
}

impl QueueDiscipline for Cake {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        let queue = self.place(&arrival.packet);
        let flow = &mut self.flows[queue as usize];
        let (is_idle, is_other) = (self.schedule.is_idle(queue), flow.tag != Some(arrival.packet.to));
        if is_other && !is_idle {
            self.hosts.on_idle(flow.hosts); // flows have collided: the queue is counted with the newcomer's hosts
        }
        if is_other || is_idle {
            flow.hosts = self.hosts.pair(&arrival.packet);
            self.hosts.on_busy(flow.hosts);
        }
        let hosts = flow.hosts;
        if is_idle {
            self.schedule.activate(queue, self.quantum / self.hosts.sharing(hosts));
        }
        self.flows[queue as usize].tag = Some(arrival.packet.to);
        self.filter_ack(queue, &arrival.packet);
        self.queues.push(queue, arrival);
        while self.queues.octets() > self.memory_limit {
            self.drop_from_fattest(now);
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        if self.queues.len() == 0 || self.shaper.ready_at(now) > now {
            return None; // an empty flow keeps its place until there is something to choose
        }
        loop {
            let (flows, hosts, quantum) = (&self.flows, &self.hosts, self.quantum);
            let flow = self.schedule.turn(|flow| quantum / hosts.sharing(flows[flow as usize].hosts))?;
            if let Some(packet) = self.next_of(now, flow) {
                self.schedule.charge(flow, packet.octets);
                self.shaper.on_departure(now, packet.packet.size());
                self.last = flow;
                return Some(packet);
            }
            self.on_empty(now, flow);
        }
    }

    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        (self.queues.len() > 0).then(|| self.shaper.ready_at(now))
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        if self.config.shaper.rate.is_none() {
            self.control_at(rate);
        }
    }

    fn set_hosts(&mut self, hosts: &HostTable) {
        self.hosts.set_table(hosts);
    }

    crate::accounts!(queues);

    fn inspect(&self, _now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        self.flows[self.last as usize].cobalt.inspect(record);
        record("acks_filtered", self.filtered as f64);
    }
}

#[cfg(test)]
mod tests;
