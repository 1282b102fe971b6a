//! RED, Random Early Detection: drops or marks with a probability that grows with the average queue.
//!
//! Sources: Floyd and Jacobson 1993 (the gateway, in packets or in octets); Floyd 2000 (gentle); Floyd, Gummadi and
//! Shenker 2001 (Adaptive RED: `max_p`, and the weight from the link's rate); RFC 3168 section 7 (packets are marked
//! below the upper threshold and dropped above it).
//!
//! Departures: in octets a packet's probability is scaled by its size over the mean size, as ns-2 does, where the paper takes
//! the largest size. The number of packets between two marks is uniform on 1, 2, ..., 1/`p_b`, as section 7 of the paper derives
//! it; the pseudo-code of its figure 2 counts one packet more. Adaptive RED has no timer: updates that fell due are made
//! up for at the next arrival, with the average as it was.

mod adaptive;

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime, math};

use self::adaptive::Adaptive;
use super::{QueueCounters, QueueDiscipline, QueuePlace, Queued, Room};
use crate::config::QueueLimit;
use crate::rng::RandomStream;

/// Parameters of [`Red`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Below this average nothing is dropped.
    pub min_threshold: QueueLimit,
    /// From this average on everything is, unless gentle. In the unit of `min_threshold`, which decides whether the
    /// average is one of packets or of octets.
    pub max_threshold: QueueLimit,
    /// Probability as the average reaches `max_threshold`; of Adaptive RED at the beginning.
    pub max_p: f64,
    /// Weight of a sample in the average; `None` derives it from the link's rate, as Adaptive RED does.
    pub weight: Option<f64>,
    /// The probability grows on to 1 up to twice `max_threshold`.
    pub gentle: bool,
    /// `max_p` follows the average.
    pub adaptive: bool,
    /// Mark packets that allow it.
    pub ecn: bool,
    /// What a packet takes of the link on average: decides how fast the average falls while the link is idle, and in
    /// octets how much likelier a large packet is dropped.
    pub mean_packet: Bytes,
    /// How much may wait.
    pub limit: QueueLimit,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min_threshold: QueueLimit::Packets(5),
            max_threshold: QueueLimit::Packets(15),
            max_p: 0.1,
            weight: Some(0.002),
            gentle: true,
            adaptive: false,
            ecn: false,
            mean_packet: Bytes(1_500),
            limit: QueueLimit::Unlimited,
        }
    }
}

impl RedConfig {
    /// Adaptive RED's weight: the time constant of the average is that of a second's worth of packets in one.
    fn automatic_weight(&self, rate: Bandwidth) -> f64 {
        let packets_per_second = rate.0 as f64 / (8.0 * self.mean_packet.0 as f64);
        1.0 - math::exp(-1.0 / packets_per_second)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Red {
    min: f64,
    max: f64,
    in_octets: bool,
    weight: f64,
    gentle: bool,
    ecn: bool,
    mean_octets: f64,
    /// Time that an average packet takes.
    mean_service: SimDuration,
    max_p: f64,
    adaptive: Option<Adaptive>,
    average: f64,
    /// Packets that were neither dropped nor marked since the last one that was.
    count: u32,
    /// Probability before it is spread, at the last arrival.
    probability: f64,
    idle_since: Option<SimTime>,
    random: RandomStream,
    room: Room,
    packets: VecDeque<Queued>,
    octets: u64,
    counters: QueueCounters,
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// Marked, or dropped if it does not allow that.
    Early,
    Drop,
}

impl Red {
    /// An empty queue.
    pub fn new(config: &RedConfig, place: &QueuePlace<'_>) -> Self {
        let (min, max) = (amount(config.min_threshold), amount(config.max_threshold));
        Self {
            min,
            max,
            in_octets: matches!(config.min_threshold, QueueLimit::Bytes(_)),
            weight: config.weight.unwrap_or_else(|| config.automatic_weight(place.rate)),
            gentle: config.gentle,
            ecn: config.ecn,
            mean_octets: config.mean_packet.0 as f64,
            mean_service: place.rate.serialization_delay(config.mean_packet),
            max_p: config.max_p,
            adaptive: config.adaptive.then(|| Adaptive::new(min, max)),
            average: 0.0,
            count: 0,
            probability: 0.0,
            idle_since: Some(SimTime::ZERO),
            random: place.random(),
            room: Room::new(config.limit, place.rate),
            packets: VecDeque::new(),
            octets: 0,
            counters: QueueCounters::default(),
        }
    }

    /// A packet arrives: the average takes the queue that it finds, or the idle time before it.
    fn update_average(&mut self, now: SimTime) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.catch_up(now, self.average, &mut self.max_p);
        }
        if let Some(since) = self.idle_since.take() {
            // so many packets could have been sent, and would each have found nothing
            let missed = (now - since).0 as f64 / self.mean_service.0.max(1) as f64;
            self.average *= math::pow(1.0 - self.weight, missed);
        }
        let queue = if self.in_octets { self.octets as f64 } else { self.packets.len() as f64 };
        self.average += self.weight * (queue - self.average);
    }

    /// Probability of a drop or a mark by the average alone (`p_b`).
    fn base_probability(&self) -> f64 {
        if self.average < self.min {
            0.0
        } else if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.gentle && self.average < 2.0 * self.max {
            self.max_p + (1.0 - self.max_p) * (self.average - self.max) / self.max
        } else {
            1.0
        }
    }

    fn decide(&mut self, octets: u64) -> Verdict {
        self.probability = self.base_probability();
        if self.probability <= 0.0 {
            self.count = 0;
            return Verdict::Keep;
        }
        if self.probability >= 1.0 {
            self.count = 0;
            return Verdict::Drop;
        }
        let by_size = if self.in_octets { octets as f64 / self.mean_octets } else { 1.0 };
        let base = self.probability * by_size;
        let left = 1.0 - f64::from(self.count) * base;
        if left > base && !self.random.chance(base / left) {
            self.count += 1;
            return Verdict::Keep;
        }
        self.count = 0;
        Verdict::Early
    }
}

/// A threshold as a number, in its own unit.
fn amount(threshold: QueueLimit) -> f64 {
    match threshold {
        QueueLimit::Packets(count) => count as f64,
        QueueLimit::Bytes(bytes) => bytes.0 as f64,
        QueueLimit::Unlimited | QueueLimit::Time(_) => f64::INFINITY,
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, now: SimTime, mut arrival: Queued) {
        self.update_average(now);
        let goes_on = match self.decide(arrival.octets) {
            Verdict::Keep => true,
            Verdict::Early => self.ecn && self.counters.mark(&mut arrival.packet),
            Verdict::Drop => false,
        };
        if goes_on && self.room.takes(self.packets.len(), self.octets, arrival.octets) {
            self.octets += arrival.octets;
            self.packets.push_back(arrival);
        } else {
            self.counters.drops += 1;
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let Some(first) = self.packets.pop_front() else {
            self.idle_since.get_or_insert(now);
            return None;
        };
        self.octets -= first.octets;
        Some(first)
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn counters(&self) -> QueueCounters {
        self.counters
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("drop_probability", self.probability);
        record("average_packets", if self.in_octets { self.average / self.mean_octets } else { self.average });
        record("max_p", self.max_p);
    }
}

#[cfg(test)]
mod tests;
