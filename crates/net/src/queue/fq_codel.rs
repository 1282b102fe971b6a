//! FQ-CoDel (RFC 8290): flows hashed into queues that take turns by octets, new flows first, each queue under a CoDel
//! of its own. Beyond the limit, the fattest queue loses packets at its head, up to half of its octets at once.
//!
//! Packet for packet as Linux with `variant = "linux"` and `inverse_sqrt = "newton"`.
//!
//! **Departures**: the memory limit counts octets of packets, not of a kernel's buffers; CoDel's rule not to reduce a
//! backlog of one packet looks at the flow's own queue (as ns-3 does; Linux looks at all queues together); losses of
//! the fattest queue leave its CoDel's count of drops as it was, which the RFC does not specify and Linux raises.

use ackclock_declare::{About, declare, default, words};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::codel::{CodelControl, CodelParameters};
use super::flow_hash::{Perturbation, bucket};
use super::flow_queues::{Backlog, FlowQueues};
use super::flow_schedule::{FlowSchedule, OCTET, Waits};
use super::limit::{LARGEST_PACKET, MAX_FLOW_QUEUES, QueueLimit, quantum};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

words! {
    /// The reading of FQ-CoDel where Linux has its own.
    #[derive(Default)]
    pub enum FqCodelVariant {
        /// CoDel sees the backlog of its own queue, losses without room leave its count, and a new flow that is found
        /// empty always waits a round among the old ones.
        #[default]
        "rfc8290" = Rfc8290,
        /// CoDel sees the backlog of all queues, losses without room raise its count, and a new flow that is found
        /// empty waits only if there are old ones.
        "linux" = Linux,
    }
}

declare! {
    /// The parameters of [`FqCodel`].
    #[derive(Copy, Eq)]
    pub struct FqCodelConfig {
        /// Largest backlog of all queues; beyond it the fattest loses packets.
        limit: QueueLimit = default(QueueLimit::Packets(10_240)).source("RFC 8290 section 5.2"),
        /// Largest backlog of all queues, in octets.
        memory_limit: Bytes = default(Bytes(32 << 20)).at_least(LARGEST_PACKET).source("Linux"),
        /// Number of queues for the hash of flows.
        flows: u32 = default(1_024).at_least(1).at_most(MAX_FLOW_QUEUES).unit("queues").source("RFC 8290 section 5.2"),
        /// Octets that a queue may send in a round; a full Ethernet frame by default.
        quantum: Bytes = quantum(Bytes(1_514)).source("RFC 8290 section 5.2"),
        /// Largest number of packets that the fattest queue loses at once, up to half of its octets.
        drop_batch: u32 = default(64).at_least(1).unit("packets").source("Linux"),
        /// Reading of the RFC, or the one of Linux: the backlog that CoDel sees, its count after losses without room, and
        /// the place of a new flow that is found empty.
        variant: FqCodelVariant = FqCodelVariant::Rfc8290,
    }
    within {
        /// Control law of each queue.
        control: CodelParameters = CodelParameters::default(),
    }
    check super::review;
}

impl Parameters for FqCodelConfig {
    const ABOUT: About = About {
        name: "fq_codel",
        aliases: &[],
        summary: "FQ-CoDel: flows take turns by octets, sparse ones first, each under CoDel",
        source: "RFC 8290",
        departures: "memory_limit counts octets of packets; CoDel's last packet is that of the flow's own queue; losses of the fattest queue do not raise its CoDel's count; unlike in Linux, unless variant = \"linux\"",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// FQ-CoDel (RFC 8290): flow queues in turn, each under CoDel. Source and departures: [`mod@crate::queue::fq_codel`].
#[derive(Clone, Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    room: Room,
    perturbation: Perturbation,
    queues: FlowQueues,
    schedule: FlowSchedule,
    controls: Vec<CodelControl>,
    tally: Tally,
    new_flows: u64,
    /// The queue that sent last, for inspection.
    last: u32,
}

impl FqCodel {
    /// A discipline of empty queues. The hash is perturbed by the stream's first number.
    pub fn new(config: &FqCodelConfig, place: &QueuePlace<'_>) -> Self {
        let mut random = place.random();
        let waits = match config.variant {
            FqCodelVariant::Rfc8290 => Waits::Always,
            FqCodelVariant::Linux => Waits::BehindOthers,
        };
        Self {
            config: *config,
            room: Room::new(config.limit),
            perturbation: Perturbation::draw(&mut random),
            queues: FlowQueues::new(config.flows),
            schedule: FlowSchedule::new(config.flows, waits),
            controls: vec![CodelControl::default(); config.flows as usize],
            tally: Tally::default(),
            new_flows: 0,
            last: 0,
        }
    }

    fn is_over(&self, newest: u64) -> bool {
        let octets = self.queues.octets();
        !self.room.holds(self.queues.len(), octets, newest) || octets > self.config.memory_limit.0
    }

    /// Drops several packets of the fattest queue at once, as finding it is expensive (RFC 8290 section 4.1).
    fn drop_from_fattest(&mut self) {
        let fattest = self.queues.fattest();
        let octets = self.queues.octets_of(fattest);
        let enough = octets - octets / 2;
        let mut dropped = 0;
        while dropped < self.config.drop_batch {
            let Some(head) = self.queues.pop(fattest) else { break };
            dropped += 1;
            self.tally.drop(&head.packet);
            if self.queues.octets_of(fattest) <= enough {
                break;
            }
        }
        if self.config.variant == FqCodelVariant::Linux {
            self.controls[fattest as usize].on_overflow(dropped);
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        let queue = bucket(&arrival.packet, self.perturbation, self.config.flows);
        let octets = arrival.octets;
        self.queues.push(queue, arrival);
        self.new_flows += u64::from(self.schedule.activate(queue, self.config.quantum.0 * OCTET));
        while self.is_over(octets) {
            self.drop_from_fattest();
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let backlog = match self.config.variant {
            FqCodelVariant::Rfc8290 => Backlog::Own,
            FqCodelVariant::Linux => Backlog::All,
        };
        loop {
            let flow = self.schedule.turn(|_| self.config.quantum.0 * OCTET)?;
            let control = &mut self.controls[flow as usize];
            let mut queue = self.queues.queue(flow, backlog);
            let packet = control.dequeue(now, &self.config.control, &mut self.tally, &mut queue);
            if let Some(packet) = packet {
                self.schedule.charge(flow, packet.octets);
                self.last = flow;
                self.schedule.upcoming().inspect(|next| self.queues.fetch(*next));
                return Some(packet);
            }
            self.schedule.on_empty(flow);
        }
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(queues, room);

    fn inspect(&self, _now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        self.controls[self.last as usize].inspect(record);
        record("new_flows", self.new_flows as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{PLACE, arrival, drain};
    use ackclock_units::{Bandwidth, SimDuration};

    fn fq_codel(config: FqCodelConfig) -> FqCodel {
        FqCodel::new(&config, &PLACE)
    }

    fn fill(queue: &mut FqCodel, flow: u32, octets: u32, packets: usize) {
        for _ in 0..packets {
            queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, flow, octets));
        }
    }

    #[test]
    fn a_sparse_flow_waits_for_the_packet_in_service_only() {
        // Eight bulk flows with 100 packets each; all have had a turn, so all are old. A packet of a ninth arrives: it is
        // next, though 800 were before it.
        let mut queue = fq_codel(FqCodelConfig::default());
        for flow in 0..8 {
            fill(&mut queue, flow, 1500, 100);
        }
        for _ in 0..32 {
            queue.dequeue(SimTime(1)).expect("800 packets wait");
        }
        queue.enqueue(SimTime(2), arrival(SimTime(2), 100, 100));
        assert_eq!(queue.dequeue(SimTime(3)).map(|packet| packet.packet.connection().index()), Some(100));
    }

    #[test]
    fn a_flow_that_sends_again_at_once_does_not_starve_the_old_ones() {
        let mut queue = fq_codel(FqCodelConfig::default());
        fill(&mut queue, 0, 1500, 100);
        let mut served = 0;
        for _ in 0..50 {
            queue.enqueue(SimTime(1), arrival(SimTime(1), 100, 1500)); // always one, the moment the last has left
            while queue.dequeue(SimTime(2)).map(|packet| packet.packet.connection().index()) != Some(100) {
                served += 1;
            }
        }
        // by octets each gets a half; the quantum exceeds a packet by 14 octets, so every 107th round has one more
        assert!((48..=52).contains(&served), "{served}");
    }

    #[test]
    fn octets_are_shared_whatever_the_packets() {
        let mut queue = fq_codel(FqCodelConfig::default());
        fill(&mut queue, 0, 1500, 200);
        fill(&mut queue, 1, 300, 1000);
        let mut sent = [0_u64; 2];
        for _ in 0..600 {
            let packet = queue.dequeue(SimTime(1)).expect("many wait");
            sent[packet.packet.connection().index()] += packet.octets;
        }
        // DRR: within a quantum and a packet of each other
        assert!(sent[0].abs_diff(sent[1]) <= 1514 + 1500, "{sent:?}");
    }

    #[test]
    fn the_fattest_queue_pays_for_the_limit_at_its_head() {
        let mut queue = fq_codel(FqCodelConfig { limit: QueueLimit::Packets(100), ..FqCodelConfig::default() });
        fill(&mut queue, 0, 1500, 80);
        fill(&mut queue, 1, 1500, 20);
        queue.enqueue(SimTime(5), arrival(SimTime(5), 1, 1500));
        // the 101st is one too many: flow 0 has 80 packets and loses 40 of them, half of its octets
        assert_eq!((queue.counters().drops, queue.len()), (40, 61));
        assert_eq!(drain(&mut queue, SimTime(6), Bandwidth(1 << 40)).len(), 61);
    }

    #[test]
    fn no_more_than_a_batch_is_dropped_at_once() {
        let mut queue = fq_codel(FqCodelConfig { limit: QueueLimit::Packets(1000), ..FqCodelConfig::default() });
        fill(&mut queue, 0, 1500, 1001);
        assert_eq!(queue.counters().drops, 64); // half would be 500
    }

    #[test]
    fn memory_is_limited_in_octets() {
        let mut queue = fq_codel(FqCodelConfig { memory_limit: Bytes(15_000), ..FqCodelConfig::default() });
        fill(&mut queue, 0, 1500, 10);
        assert_eq!(queue.counters().drops, 0);
        fill(&mut queue, 0, 1500, 1); // 16 500 octets; half are 8250, so that six packets (7500 left) go
        assert_eq!((queue.counters().drops, queue.len()), (6, 5));
    }

    #[test]
    fn each_queue_has_a_control_law_of_its_own() {
        // Flow 0 has been above target for long and loses packets; flow 1 sends one every 10 ms, which is the next to
        // leave. At 12 Mbit/s a packet takes 1 ms.
        let mut queue = fq_codel(FqCodelConfig::default());
        fill(&mut queue, 0, 1500, 1000);
        let mut now = SimTime::ZERO;
        let mut sparse = 0;
        for round in 0..400 {
            if round % 10 == 5 {
                queue.enqueue(now, arrival(now, 1, 1500));
            }
            let packet = queue.dequeue(now).expect("flow 0 has many");
            if packet.packet.connection().index() == 1 {
                sparse += 1;
                assert_eq!(packet.since, now);
            }
            now += SimDuration::from_millis(1);
        }
        assert_eq!(sparse, 40);
        assert!(queue.counters().drops > 0);
    }
}
