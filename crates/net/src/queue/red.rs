//! RED, Random Early Detection: drops or marks with a probability that grows with the average queue.
//!
//! Sources: Floyd and Jacobson 1993 (the gateway, in packets or in octets); Floyd 2000 (gentle); Floyd, Gummadi and
//! Shenker 2001 (Adaptive RED: `max_p`, and the weight from the link's rate); RFC 3168 section 7 (packets are marked
//! below the upper threshold and dropped above it).
//!
//! Departures: in octets a packet's probability is scaled by its size over the mean size, as ns-2 does, where the paper
//! takes the largest size. The number of packets between two marks is uniform on 1, 2, ..., 1/`p_b`, as section 7 of
//! the paper derives it; the pseudo-code of its figure 2 counts one packet more. Adaptive RED has no timer: updates
//! that fell due are made at the next arrival, with the average as it was at their time. The packet that ends an idle time is a
//! sample of the average, too, as in ns-2; in figure 2 of the paper and in Linux it is not.
//!
//! While the link is not idle, the average is Linux's up to an octet. Linux has no `gentle`, takes its weight from a burst, lets the
//! average fall over idle time by a coarse table, never marks the first packet above the lower threshold, and, unless it is told
//! `harddrop`, marks beyond the upper one.

mod adaptive;

use ackclock_declare::{About, Review, declare, default, unset};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime, math};

use self::adaptive::Adaptive;
use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};
use crate::rng::RandomStream;

declare! {
    /// The parameters of [`Red`].
    #[derive(Copy)]
    pub struct RedConfig {
        /// Average below which nothing is dropped: packets, or an amount of data, a time at the link's rate or a
        /// fraction of the bdp. The latter three make the average one of octets.
        min_threshold: Option<QueueLimit> = unset("\"5 packets\"; if adaptive, half of what 5 ms bring, and no less"),
        /// Average at which the probability reaches `max_p`; in the unit of `min_threshold`.
        max_threshold: Option<QueueLimit> = unset("3 * min_threshold").source("Floyd 1997"),
        /// Probability at `max_threshold`; if adaptive, at the beginning.
        max_p: f64 = default(0.1).above(0.0).at_most(1.0),
        /// Weight of a sample in the average.
        weight: Option<f64> =
            unset("0.002; if adaptive, 1 - exp(-1/C), C packets/s").above(0.0).at_most(1.0),
        /// Let the probability grow on to 1 up to twice `max_threshold`.
        gentle: bool = true,
        /// Let `max_p` follow the average, every 0.5 s.
        adaptive: bool = false,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = false,
        /// Average size of a packet on the link. It decides how fast the average falls while the link is idle and, in
        /// octets, the drop probability by size.
        mean_packet: Bytes = default(Bytes(1_500)).at_least(Bytes(1)),
        /// Largest backlog of the queue.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for RedConfig {
    const ABOUT: About = About {
        name: "red",
        aliases: &[],
        summary: "Random Early Detection: drops or marks with a probability that grows with the average queue",
        source: "Floyd and Jacobson 1993; gentle: Floyd 2000; adaptive: Floyd, Gummadi and Shenker 2001; RFC 3168 section 7",
        departures: "gaps between drops are uniform on 1 ... 1/p_b as the paper derives them, not as its pseudo-code counts; marks become drops above the upper threshold (gentle: twice of it); the packet that ends an idle time is a sample, too, unlike in the paper and in Linux",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        if self.max_threshold.is_some() && self.min_threshold.is_none() {
            let remedy = "add min_threshold = \"5 packets\", as there is a max_threshold";
            review.report("min_threshold", "must be given with max_threshold", remedy);
        }
        let is_settled = review.context.settled_rate().is_some();
        if let Some(rate) = review.context.link.as_ref().map(|link| link.rate) {
            let (lower, upper) = self.thresholds(rate);
            // before the flows are known, a part of the bdp is as good as unlimited
            if is_settled || ![lower, upper].contains(&QueueLimit::Unlimited) {
                review_thresholds((lower, upper), review);
            }
        }
    }
}

/// The least lower threshold of Adaptive RED, in packets, and its target delay (Floyd, Gummadi and Shenker 2001,
/// section 4.3).
const ADAPTIVE_LEAST: f64 = 5.0;
const ADAPTIVE_TARGET_S: f64 = 0.005;

/// The lower threshold, in packets, and the upper over the lower (Floyd 1997).
const LOWER: u64 = 5;
const UPPER_OVER_LOWER: u64 = 3;

/// Weight of a sample (Floyd and Jacobson 1993, section 6).
const WEIGHT: f64 = 0.002;

impl RedConfig {
    fn packets_per_second(&self, rate: Bandwidth) -> f64 {
        rate.0 as f64 / (8.0 * self.mean_packet.0 as f64)
    }

    /// The lower and the upper threshold on a link of this rate.
    fn thresholds(&self, rate: Bandwidth) -> (QueueLimit, QueueLimit) {
        let adaptive = (ADAPTIVE_TARGET_S * self.packets_per_second(rate) / 2.0).max(ADAPTIVE_LEAST).round() as u64;
        let lower = self.min_threshold.unwrap_or(QueueLimit::Packets(if self.adaptive { adaptive } else { LOWER }));
        let upper = self.max_threshold.unwrap_or(lower.times(UPPER_OVER_LOWER));
        (lower.at_rate(rate), upper.at_rate(rate))
    }

    /// The weight of a sample: that of Adaptive RED gives the average a time constant of one second, in packets of
    /// average size.
    fn weight(&self, rate: Bandwidth) -> f64 {
        let automatic = || 1.0 - math::exp(-1.0 / self.packets_per_second(rate));
        self.weight.unwrap_or_else(|| if self.adaptive { automatic() } else { WEIGHT })
    }
}

fn review_thresholds(thresholds: (QueueLimit, QueueLimit), review: &mut Review<'_>) {
    let (lower, upper) = match thresholds {
        (QueueLimit::Packets(min), QueueLimit::Packets(max)) => (min, max),
        (QueueLimit::Bytes(min), QueueLimit::Bytes(max)) => (min.0, max.0),
        (QueueLimit::Unlimited, _) => {
            return review.report("min_threshold", "must be an amount", "use \"5 packets\" or \"7.5 kB\"");
        }
        (_, QueueLimit::Unlimited) => {
            return review.report("max_threshold", "must be an amount", "use \"15 packets\" or \"22.5 kB\"");
        }
        _ => {
            let remedy = "give both in packets, or both as an amount of data, a time or a part of the bdp";
            return review.report("max_threshold", "must be in the unit of min_threshold", remedy);
        }
    };
    if upper <= lower {
        review.report("max_threshold", "must be more than min_threshold", "use two to three times min_threshold");
    }
}

/// RED: drops or marks with a probability that grows with the average queue. Sources and departures:
/// [`mod@crate::queue::red`].
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    /// The thresholds and their derived values at the link's rate, in packets or octets.
    min: f64,
    max: f64,
    in_octets: bool,
    weight: f64,
    gentle: bool,
    ecn: bool,
    mean_octets: f64,
    /// The time of an average packet on the link.
    mean_service: SimDuration,
    max_p: f64,
    adaptive: Option<Adaptive>,
    /// The average as of the last arrival, or of `idle_since`.
    average: f64,
    /// Packets that were neither dropped nor marked since the last one that was.
    count: u32,
    idle_since: Option<SimTime>,
    random: RandomStream,
    room: Room,
    packets: Fifo,
    tally: Tally,
}

/// The fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// Marked, or dropped if it is not ECN-capable.
    Early,
    Drop,
}

impl Red {
    /// An empty queue with these parameters.
    pub fn new(config: &RedConfig, place: &QueuePlace<'_>) -> Self {
        Self {
            config: *config,
            min: 0.0,
            max: 0.0,
            in_octets: false,
            weight: 0.0,
            gentle: config.gentle,
            ecn: config.ecn,
            mean_octets: config.mean_packet.0 as f64,
            mean_service: SimDuration::ZERO,
            max_p: config.max_p,
            adaptive: config.adaptive.then(Adaptive::default),
            average: 0.0,
            count: 0,
            idle_since: Some(SimTime::ZERO),
            random: place.random(),
            room: Room::new(config.limit),
            packets: Fifo::default(),
            tally: Tally::default(),
        }
    }

    /// Updates the average at an arrival, by the queue that it finds or the idle time before it.
    fn update_average(&mut self, now: SimTime) {
        self.catch_up(now);
        self.idle_since = None;
        let queue = if self.in_octets { self.packets.octets() as f64 } else { self.packets.len() as f64 };
        self.average += self.weight * (queue - self.average);
    }

    /// Makes the updates of `max_p` that have fallen due; the average includes the idle time up to `now`.
    fn catch_up(&mut self, now: SimTime) {
        self.max_p = self.max_p_at(now);
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.pass(now);
        }
        self.average = self.average_at(now);
        self.idle_since = self.idle_since.map(|_| now);
    }

    /// The average with the idle time up to `now`.
    fn average_at(&self, now: SimTime) -> f64 {
        let Some(since) = self.idle_since else { return self.average };
        // so many packets could have been sent, and would each have found nothing
        let missed = now.saturating_since(since).0 as f64 / self.mean_service.0.max(1) as f64;
        self.average * math::pow(1.0 - self.weight, missed)
    }

    /// `max_p` with the updates that have fallen due.
    fn max_p_at(&self, now: SimTime) -> f64 {
        let update = |adaptive: &Adaptive| adaptive.at(now, self.max_p, |due| self.average_at(due));
        self.adaptive.as_ref().map_or(self.max_p, update)
    }

    /// Probability of a drop or a mark by the average alone (`p_b`).
    fn base_probability(&self, average: f64, max_p: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle && average < 2.0 * self.max {
            max_p + (1.0 - max_p) * (average - self.max) / self.max
        } else {
            1.0
        }
    }

    fn decide(&mut self, octets: u64) -> Verdict {
        let probability = self.base_probability(self.average, self.max_p);
        if probability <= 0.0 {
            self.count = 0;
            return Verdict::Keep;
        }
        if probability >= 1.0 {
            self.count = 0;
            return Verdict::Drop;
        }
        let by_size = if self.in_octets { octets as f64 / self.mean_octets } else { 1.0 };
        let base = probability * by_size;
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
            Verdict::Early => self.ecn && self.tally.mark(&mut arrival.packet),
            Verdict::Drop => false,
        };
        if goes_on && self.room.takes(self.packets.len(), self.packets.octets(), arrival.octets) {
            self.packets.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let first = self.packets.pop();
        if first.is_none() {
            self.idle_since.get_or_insert(now);
        }
        first
    }

    fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        self.catch_up(now); // the idle time before was at the rate before
        let (lower, upper) = self.config.thresholds(rate);
        (self.min, self.max) = (amount(lower), amount(upper));
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.aim_between(self.min, self.max);
        }
        self.in_octets = matches!(lower, QueueLimit::Bytes(_));
        self.weight = self.config.weight(rate);
        self.mean_service = rate.serialization_delay(self.config.mean_packet);
        self.room.set_rate(rate);
    }

    crate::accounts!(packets, room);

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        let (average, max_p) = (self.average_at(now), self.max_p_at(now));
        record("drop_probability", self.base_probability(average, max_p));
        record("average_packets", if self.in_octets { average / self.mean_octets } else { average });
        record("max_p", max_p);
    }
}

#[cfg(test)]
mod tests;
