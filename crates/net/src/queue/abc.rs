//! ABC's router: it marks leaving packets "accelerate" or "brake", so that its senders' rate a round trip later is the
//! link's.
//!
//! Source: Goyal et al., ABC: A Simple Explicit Congestion Controller for Wireless Networks, NSDI 2020, section 3.1 (equations 1
//! and 2, algorithm 1), and the authors' queue for Mahimahi (`cellular_packet_queue.cc`), from which the rates, the waiting and
//! the defaults are. The queue was read; the numbers of sections, equations and algorithm are from memory.
//!
//! The link's rate is mu, the rate of leaving packets cr, both over the last `span`, and the queue takes the time x
//! to drain. Then the target is `eta mu - mu / delta (x - dt)+`. A window that grows by a packet for an accelerate and
//! falls by one for a brake sends twice the accelerates, so that of the packets `f = min(target / (2 cr), 1)`
//! accelerate. A count of tokens, to which each packet adds f and of which an accelerate takes one, spreads them
//! evenly.
//!
//! A brake is CE, as in the authors' code; an accelerate is a packet left as it is, so that the first router of several
//! that brakes is heard. Departures: packets that allow no mark wait in the same queue, and are not counted, as in the
//! authors' code; the queue of their own that section 5.2 has for them is not modelled. The target has mu, as in the
//! paper, where the authors' queue has the rate of leaving packets.

use std::collections::VecDeque;

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bandwidth, SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::fifo::{Fifo, Head};
use super::limit::{MAX_TIME, QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`Abc`].
    #[derive(Copy)]
    pub struct AbcQueueConfig {
        /// Target utilization of the link, eta.
        utilization: f64 = default(0.98).above(0.0).at_most(1.0).source("the authors' queue"),
        /// Time in which a queue drains, delta; more than two thirds of the longest round trip.
        drain: SimDuration = default(SimDuration::from_millis(133)).above(SimDuration::ZERO).at_most(MAX_TIME).source("the authors' experiments, for 100 ms"),
        /// Queueing delay that does not cause brakes, dt; of the order of the interval between batches on a wireless
        /// link.
        delay_threshold: SimDuration = default(SimDuration::from_millis(50)).at_most(MAX_TIME).source("the authors' experiments"),
        /// Span over which the rates are measured.
        span: SimDuration = default(SimDuration::from_millis(20)).above(SimDuration::ZERO).at_most(MAX_TIME).source("the authors' queue"),
        /// Size of the token count: accelerates that may follow each other after a pause.
        tokens: f64 = default(5.0).at_least(1.0).at_most(1e6).unit("packets").source("the authors' queue"),
        /// Largest backlog of the queue.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for AbcQueueConfig {
    const ABOUT: About = About {
        name: "abc",
        aliases: &[],
        summary: "first in, first out; signals senders of ABC to accelerate or, with CE, to brake, by the link's rate and the queue",
        source: "Goyal et al., NSDI 2020, section 3.1; the authors' queue",
        departures: "packets that are not ECN-capable wait in the same queue, uncounted; a brake is CE",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// ABC's router. Source and departures: [`mod@crate::queue::abc`].
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcQueueConfig,
    room: Room,
    packets: Fifo,
    /// The link's rate mu, octets/s.
    rate: f64,
    /// The packets that left in the last `span`: times and octets.
    left: VecDeque<(SimTime, u64)>,
    left_octets: u64,
    tokens: f64,
    /// The fraction f of the packet that left last.
    fraction: f64,
    tally: Tally,
}

impl Abc {
    /// An empty queue with these parameters.
    pub fn new(config: &AbcQueueConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            config: *config,
            room: Room::new(config.limit),
            packets: Fifo::default(),
            rate: 0.0,
            left: VecDeque::new(),
            left_octets: 0,
            tokens: config.tokens,
            fraction: 1.0,
            tally: Tally::default(),
        }
    }

    /// Takes a leaving packet; returns cr, the rate of the last span with it, octets/s.
    fn on_leaving(&mut self, now: SimTime, octets: u64) -> f64 {
        while let Some((at, octets)) = self.left.front().copied()
            && now.saturating_since(at) >= self.config.span
        {
            self.left.pop_front();
            self.left_octets -= octets;
        }
        self.left.push_back((now, octets));
        self.left_octets += octets;
        self.left_octets as f64 / self.config.span.as_secs_f64()
    }

    /// The target rate tr, octets/s, for `waiting` octets, the leaving packet included.
    fn target(&self, waiting: u64) -> f64 {
        let AbcQueueConfig { utilization, drain, delay_threshold, .. } = self.config;
        if self.rate <= 0.0 {
            return 0.0;
        }
        let above = (waiting as f64 / self.rate - delay_threshold.as_secs_f64()).max(0.0);
        self.rate * (utilization - above / drain.as_secs_f64())
    }

    /// Marks the packet by algorithm 1.
    fn judge(&mut self, now: SimTime, leaving: &mut Queued) {
        let leaves_at = self.on_leaving(now, leaving.octets);
        self.fraction = (0.5 * self.target(self.packets.octets() + leaving.octets) / leaves_at).clamp(0.0, 1.0);
        self.tokens = (self.tokens + self.fraction).min(self.config.tokens);
        if leaving.packet.ecn() == Ecn::Ce {
            return;
        }
        if self.tokens > 1.0 {
            self.tokens -= 1.0;
        } else {
            self.tally.mark(&mut leaving.packet);
        }
    }
}

impl QueueDiscipline for Abc {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if !self.room.takes(self.packets.len(), self.packets.octets(), arrival.octets) {
            self.tally.drop(&arrival.packet);
            return;
        }
        self.packets.push(arrival);
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let mut first = self.packets.pop()?;
        if first.packet.ecn() != Ecn::NotEct {
            self.judge(now, &mut first);
        }
        Some(first)
    }

    fn rate_span(&self) -> Option<SimDuration> {
        Some(self.config.span)
    }

    fn on_rate(&mut self, octets_per_second: f64) {
        self.rate = octets_per_second;
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
        self.rate = rate.0 as f64 / 8.0; // until it is measured
    }

    crate::accounts!(packets);

    fn inspect(&self, _now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        record("accelerate_fraction", self.fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueCounters;
    use crate::queue::testing::{PLACE, RATE, at_rate};

    const MS: u64 = 1_000_000;

    /// A queue of a link of 12 Mbit/s: a packet of 1500 octets takes a millisecond.
    fn abc(utilization: f64) -> Abc {
        let config = AbcQueueConfig { utilization, limit: QueueLimit::Packets(1_000), ..AbcQueueConfig::default() };
        at_rate(Abc::new(&config, &PLACE), RATE)
    }

    fn arrive(queue: &mut Abc, packets: u32, ecn: Ecn) {
        for _ in 0..packets {
            let mut packet = crate::packet::Packet { size: 1_500, ..Default::default() };
            packet.set_ecn(ecn);
            queue.enqueue(SimTime::ZERO, Queued { packet, octets: 1_500, since: SimTime::ZERO });
        }
    }

    /// Lets packets leave, `gap_ms` apart, while `waiting` stay; returns the number of brakes.
    fn brakes(queue: &mut Abc, packets: u32, gap_ms: u64, waiting: u32) -> usize {
        arrive(queue, waiting, Ecn::Ect0);
        let leaving = (0..packets).map(|number| {
            arrive(queue, 1, Ecn::Ect0);
            queue.dequeue(SimTime(u64::from(number) * gap_ms * MS)).expect("one waits").packet.ecn() == Ecn::Ce
        });
        leaving.filter(|is_brake| *is_brake).count()
    }

    #[test]
    fn a_busy_link_brakes_half_and_what_it_is_to_leave_free() {
        // cr = mu: f = 0.98 / 2, of 980 packets 480.2. In the first span cr counts k packets: 9 of the first 9 accelerate, and 9.8 / k
        // of each of the 11 after, 7.5. The five tokens of the beginning give another four, of which one at most is left: 500 of 1000.
        let mut queue = abc(0.98);
        let braked = brakes(&mut queue, 1_000, 1, 0);
        assert!((queue.fraction - 0.49).abs() < 1e-9);
        assert!((498..=502).contains(&braked), "{braked}");
    }

    #[test]
    fn a_link_that_is_half_idle_accelerates_twice_as_many() {
        // cr = mu / 2: f = 0.98, so that two in a hundred brake
        let mut queue = abc(0.98);
        let braked = brakes(&mut queue, 500, 2, 0);
        assert!((queue.fraction - 0.98).abs() < 1e-9, "{}", queue.fraction);
        assert!(braked <= 10, "{braked}");
    }

    #[test]
    fn waiting_above_the_threshold_is_drained_within_delta() {
        // 116.5 packets take 116.5 ms, 66.5 above the threshold, half of delta: the target is 0.98 - 0.5 of mu
        let queue = abc(0.98);
        assert!((queue.target(116 * 1_500 + 750) / 1.5e6 - 0.48).abs() < 1e-9);
        assert!((queue.target(50 * 1_500) / 1.5e6 - 0.98).abs() < 1e-9);
        // twice delta above: all brake
        let mut queue = abc(0.98);
        brakes(&mut queue, 10, 1, 316);
        assert!(queue.fraction.abs() < 1e-9, "{}", queue.fraction);
    }

    #[test]
    fn what_a_router_before_has_braked_stays_braked_and_takes_no_token() {
        let mut queue = abc(1.0);
        arrive(&mut queue, 1, Ecn::Ce);
        let tokens = queue.tokens;
        assert_eq!(queue.dequeue(SimTime::ZERO).expect("one waits").packet.ecn(), Ecn::Ce);
        assert!((queue.tokens - tokens).abs() < 1e-9 && queue.counters().marks == 0);
    }

    #[test]
    fn what_allows_no_mark_is_neither_marked_nor_counted() {
        let mut queue = abc(0.5);
        arrive(&mut queue, 40, Ecn::NotEct);
        for ms in 0..40 {
            let left = queue.dequeue(SimTime(ms * MS)).expect("one waits");
            assert_eq!(left.packet.ecn(), Ecn::NotEct);
        }
        assert_eq!((queue.left.len(), queue.counters()), (0, QueueCounters::default()));
    }
}
