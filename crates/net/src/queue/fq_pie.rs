//! FQ-PIE (draft-tahiliani-tsvwg-fq-pie): the flow queues and turns of FQ-CoDel, each queue under a PIE of its own. A
//! packet without room is dropped, whatever its flow, since PIE decides at arrival.
//!
//! Verified against the draft (revision 02), section by section: the choice of a packet's queue, PIE at arrival only,
//! the delay of the packet that left last, immediate drops above the limit, turns and their new flows, marks as in RFC
//! 8033 section 5.1. The draft leaves sizes open; they are Linux's.
//!
//! **Departures**: marks are on by default, as for the other disciplines here; the draft allows them, Linux has them off.
//! A new flow that is found empty always waits a round among the old ones; in Linux it does only if there are any.

use ackclock_declare::{About, Review, declare, default};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::flow_hash::{Perturbation, bucket};
use super::flow_queues::FlowQueues;
use super::flow_schedule::{FlowSchedule, OCTET, Waits};
use super::limit::{LARGEST_PACKET, MAX_FLOW_QUEUES, QueueLimit, quantum};
use super::pie::{PieControl, PieParameters, Verdict};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};
use crate::rng::RandomStream;

declare! {
    /// The parameters of [`FqPie`].
    #[derive(Copy)]
    pub struct FqPieConfig {
        /// Largest backlog of all queues; beyond it arriving packets are dropped.
        limit: QueueLimit = default(QueueLimit::Packets(10_240)).source("Linux"),
        /// Largest backlog of all queues, in octets.
        memory_limit: Bytes = default(Bytes(32 << 20)).at_least(LARGEST_PACKET).source("Linux"),
        /// Number of queues for the hash of flows.
        flows: u32 = default(1_024).at_least(1).at_most(MAX_FLOW_QUEUES).unit("queues").source("Linux"),
        /// Octets that a queue may send in a round; a full Ethernet frame by default.
        quantum: Bytes = quantum(Bytes(1_514)).source("Linux"),
    }
    within {
        /// Parameters of each queue's controller.
        control: PieParameters = PieParameters::default(),
    }
    check super::review;
}

impl Parameters for FqPieConfig {
    const ABOUT: About = About {
        name: "fq_pie",
        aliases: &[],
        summary: "FQ-PIE: flows take turns by octets, sparse ones first, each under PIE",
        source: "draft-tahiliani-tsvwg-fq-pie",
        departures: "as pie; marks are on by default, which the draft leaves open",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        self.control.review(review);
    }
}

/// FQ-PIE: flow queues in turn, each under PIE. Source and departures: [`mod@crate::queue::fq_pie`].
#[derive(Clone, Debug)]
pub struct FqPie {
    config: FqPieConfig,
    room: Room,
    perturbation: Perturbation,
    random: RandomStream,
    queues: FlowQueues,
    schedule: FlowSchedule,
    controls: Vec<PieControl>,
    tally: Tally,
    /// The queue that sent last, for inspection.
    last: u32,
}

impl FqPie {
    /// A discipline of empty queues. The hash is perturbed by the stream's first number; the others decide on drops.
    pub fn new(config: &FqPieConfig, place: &QueuePlace<'_>) -> Self {
        let mut random = place.random();
        Self {
            config: *config,
            room: Room::new(config.limit),
            perturbation: Perturbation::draw(&mut random),
            random,
            queues: FlowQueues::new(config.flows),
            schedule: FlowSchedule::new(config.flows, Waits::Always),
            controls: vec![PieControl::new(&config.control); config.flows as usize],
            tally: Tally::default(),
            last: 0,
        }
    }

    /// True if the packet stays, marked or not.
    fn admit(&mut self, now: SimTime, queue: u32, arrival: &mut Queued) -> bool {
        let has_room = self.room.takes(self.queues.len(), self.queues.octets(), arrival.octets)
            && self.queues.octets() + arrival.octets <= self.config.memory_limit.0;
        let (control, waiting) = (&mut self.controls[queue as usize], self.queues.octets_of(queue));
        control.catch_up(now, &self.config.control, waiting);
        if !has_room {
            control.on_full();
            return false;
        }
        match control.judge(now, &self.config.control, waiting, arrival.octets, &mut self.random) {
            Verdict::Keep => true,
            Verdict::Signal => control.marks(&self.config.control) && self.tally.mark(&mut arrival.packet),
        }
    }
}

impl QueueDiscipline for FqPie {
    fn enqueue(&mut self, now: SimTime, mut arrival: Queued) {
        let queue = bucket(&arrival.packet, self.perturbation, self.config.flows);
        if !self.admit(now, queue, &mut arrival) {
            self.tally.drop(&arrival.packet);
            return;
        }
        self.queues.push(queue, arrival);
        self.schedule.activate(queue, self.config.quantum.0 * OCTET);
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        loop {
            let flow = self.schedule.turn(|_| self.config.quantum.0 * OCTET)?;
            let control = &mut self.controls[flow as usize];
            control.catch_up(now, &self.config.control, self.queues.octets_of(flow));
            if let Some(packet) = self.queues.pop(flow) {
                control.on_departure(now, &packet, self.queues.octets_of(flow));
                self.schedule.charge(flow, packet.octets);
                self.last = flow;
                return Some(packet);
            }
            self.schedule.on_empty(flow);
        }
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(queues, room);

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        let waiting = self.queues.octets_of(self.last);
        self.controls[self.last as usize].inspect(now, &self.config.control, waiting, record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::{PLACE, arrival};
    use ackclock_units::SimDuration;

    #[test]
    fn who_fills_the_queue_is_dropped_and_who_does_not_is_not() {
        // A link of 12 Mbit/s, a packet a ms. Flow 0 sends two packets each ms, flow 1 one in ten.
        let mut queue = FqPie::new(&FqPieConfig::default(), &PLACE);
        let (mut now, mut served) = (SimTime::ZERO, [0; 2]);
        for round in 0..5_000 {
            for _ in 0..2 {
                queue.enqueue(now, arrival(now, 0, 1500));
            }
            if round % 10 == 5 {
                queue.enqueue(now, arrival(now, 1, 1500));
            }
            let packet = queue.dequeue(now).expect("flow 0 sends too much");
            served[packet.packet.connection().index()] += 1;
            now += SimDuration::from_millis(1);
        }
        assert_eq!(served, [4_500, 500]); // every packet of flow 1
        // Of flow 0's 10 000 packets 4500 left and about 15 wait: the others were dropped, more than half.
        let dropped = queue.counters().drops;
        assert_eq!(dropped + 4_500 + queue.len() as u64, 10_000);
        assert!(dropped > 5_000);
    }

    #[test]
    fn the_limit_drops_what_arrives() {
        let mut queue = FqPie::new(&FqPieConfig { limit: QueueLimit::Packets(10), ..FqPieConfig::default() }, &PLACE);
        for _ in 0..10 {
            queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
        }
        queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 1, 1500));
        assert_eq!((queue.len(), queue.counters().drops), (10, 1));
    }
}
