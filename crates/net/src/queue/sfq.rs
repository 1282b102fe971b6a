//! SFQ, stochastic fairness queueing: flows are thrown into a fixed number of queues by a hash, and those served in turn.
//!
//! Source: McKenney 1990: a hash with a perturbation that changes from time to time, so that flows which collide do not
//! do so for ever; without room the longest queue loses its last packet. Defaults as Linux's `sfq`.
//!
//! Departures: turns are by octets, as Linux has it, and not by packets: a queue's turn ends once it has sent its quantum,
//! and what it has sent beyond that counts in its next turn. When the perturbation changes, waiting packets are put into
//! their new queues in order of arrival, so that none is reordered. A single queue has no limit; Linux's `depth` is 127
//! packets.

use ackclock_declare::{About, Review, declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::flow_hash::{Perturbation, bucket};
use super::limit::{QueueLimit, quantum};
use super::round_robin::{RoundRobin, Rule};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};
use crate::rng::RandomStream;

declare! {
    /// The parameters of [`Sfq`].
    #[derive(Copy, Eq)]
    pub struct SfqConfig {
        /// Number of queues for the hash of flows.
        buckets: u32 = default(1_024).at_least(1).at_most(65_536).unit("queues").source("Linux"),
        /// Octets that a queue may send in a turn.
        quantum: Bytes = quantum(Bytes(1_514)).source("Linux"),
        /// Interval between changes of the hash; zero disables them.
        perturb: SimDuration = SimDuration::ZERO,
        /// Largest backlog, all queues together.
        limit: QueueLimit = default(QueueLimit::Packets(127)).source("Linux"),
    }
    check super::review;
}

impl Parameters for SfqConfig {
    const ABOUT: About = About {
        name: "sfq",
        aliases: &[],
        summary: "stochastic fairness queueing: flows hashed into queues that are served in turn; without room the longest loses a packet",
        source: "McKenney 1990; defaults and turns by octets as Linux's sfq",
        departures: "turns are by octets, not by packets; a change of the hash reorders nothing; a single queue has no limit, where Linux's depth is 127 packets",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        if !self.perturb.is_zero() && self.perturb < MIN_PERIOD {
            review.report(
                "perturb",
                format!("must be 0 s or at least {MIN_PERIOD}"),
                "use \"10 s\", or \"0 s\" for never",
            );
        }
    }
}

/// The least interval between changes of the hash: missed ones are made up by arithmetic, and more frequent ones are
/// useless.
const MIN_PERIOD: SimDuration = SimDuration::from_millis(1);

/// Stochastic fairness queueing: flows hashed into queues that take turns. Source and departures:
/// [`mod@crate::queue::sfq`].
#[derive(Clone, Debug)]
pub struct Sfq {
    buckets: u32,
    queues: RoundRobin,
    random: RandomStream,
    perturbation: Perturbation,
    period: SimDuration,
    /// The time of the next change of the perturbation.
    changes: SimTime,
    room: Room,
    tally: Tally,
}

impl Sfq {
    /// A discipline of empty queues with these parameters.
    pub fn new(config: &SfqConfig, place: &QueuePlace<'_>) -> Self {
        let mut random = place.random();
        Self {
            buckets: config.buckets,
            queues: RoundRobin::new(config.quantum.0, Rule::Surplus),
            perturbation: Perturbation::draw(&mut random),
            random,
            period: config.perturb,
            changes: if config.perturb.is_zero() { SimTime::NEVER } else { SimTime(config.perturb.0) },
            room: Room::new(config.limit),
            tally: Tally::default(),
        }
    }

    /// Changes the perturbation if its time has come.
    fn perturb(&mut self, now: SimTime) {
        if now < self.changes {
            return;
        }
        let missed = now.saturating_since(self.changes).0 / self.period.0;
        self.changes += SimDuration((missed + 1) * self.period.0);
        self.perturbation = Perturbation::draw(&mut self.random);
        for queued in self.queues.drain() {
            self.put(queued);
        }
    }

    fn put(&mut self, queued: Queued) {
        let key = bucket(&queued.packet, self.perturbation, self.buckets);
        self.queues.push(key, queued);
    }
}

impl QueueDiscipline for Sfq {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        self.perturb(now);
        self.put(arrival);
        while !self.room.holds(self.queues.len(), self.queues.octets(), arrival.octets)
            && let Some(dropped) = self.queues.steal()
        {
            self.tally.drop(&dropped.packet);
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        self.queues.pop()
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(queues, room);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HopIndex;
    use crate::packet::Packet;
    use crate::queue::testing::receiver;

    const PLACE: QueuePlace<'_> = QueuePlace { link: "test", seed: 1 };

    fn packet(flow: u32, number: u32, now: SimTime) -> Queued {
        let packet = Packet { to: receiver(flow), hop: HopIndex::new(number as usize), ..Packet::default() };
        Queued { packet, octets: 1_500, since: now }
    }

    #[test]
    fn flows_that_do_not_collide_get_equal_shares() {
        let config = SfqConfig { limit: QueueLimit::Unlimited, ..SfqConfig::default() };
        let mut sfq = Sfq::new(&config, &PLACE);
        let flows: Vec<u32> = (0..20).collect();
        let places: std::collections::BTreeSet<u32> = flows
            .iter()
            .map(|flow| bucket(&packet(*flow, 0, SimTime::ZERO).packet, sfq.perturbation, sfq.buckets))
            .collect();
        assert_eq!(places.len(), flows.len(), "the seed should let no two of them collide");
        // flow i sends 100 + 10 i packets; while all are backlogged each gets a twentieth
        for number in 0..300 {
            for &flow in flows.iter().filter(|flow| number < 100 + 10 * **flow) {
                sfq.enqueue(SimTime::ZERO, packet(flow, number, SimTime::ZERO));
            }
        }
        let mut sent = [0; 20];
        for _ in 0..20 * 90 {
            sent[sfq.dequeue(SimTime::ZERO).expect("backlogged").packet.connection().index()] += 1;
        }
        assert!(sent.iter().all(|count| (89..=91).contains(count)), "{sent:?}");
    }

    #[test]
    fn collisions_are_as_rare_as_chance_has_it() {
        // McKenney 1990: a flow shares its queue with one of n - 1 others with probability 1 - (1 - 1/m)^(n-1); for 20
        // flows in 128 queues 1 - (127/128)^19 = 0.1385. Over 400 seeds: standard error below 0.011.
        let config = SfqConfig { buckets: 128, ..SfqConfig::default() };
        let shares = |seed| {
            let sfq = Sfq::new(&config, &QueuePlace { seed, ..PLACE });
            let place = |flow| bucket(&packet(flow, 0, SimTime::ZERO).packet, sfq.perturbation, 128);
            u32::from((1..20).any(|flow| place(flow) == place(0)))
        };
        let share = f64::from((0..400).map(shares).sum::<u32>()) / 400.0;
        assert!((share - 0.1385).abs() < 0.055, "{share}"); // three standard deviations of a coin: sqrt(p(1-p)/400) = 0.0173
    }

    #[test]
    fn a_new_perturbation_reorders_no_flow() {
        let config = SfqConfig {
            buckets: 2,
            perturb: SimDuration::from_secs(10),
            limit: QueueLimit::Unlimited,
            ..SfqConfig::default()
        };
        let mut sfq = Sfq::new(&config, &PLACE);
        let before = sfq.perturbation;
        for number in 0..40 {
            sfq.enqueue(SimTime(u64::from(number)), packet(number % 4, number, SimTime(u64::from(number))));
        }
        assert_eq!(sfq.perturbation, before);
        sfq.enqueue(SimTime(35_000_000_000), packet(0, 40, SimTime(35_000_000_000)));
        assert_ne!(sfq.perturbation, before);
        assert_eq!(sfq.changes, SimTime(40_000_000_000));
        let mut last = [0; 4];
        while let Some(queued) = sfq.dequeue(SimTime(35_000_000_000)) {
            let (flow, number) = (queued.packet.connection().index(), queued.packet.hop.index() + 1);
            assert!(number > last[flow], "flow {flow}: {number} after {}", last[flow]);
            last[flow] = number;
        }
        assert_eq!(last, [41, 38, 39, 40]);
    }

    #[test]
    fn a_full_queue_takes_from_the_longest() {
        let mut sfq = Sfq::new(&SfqConfig::default(), &PLACE);
        for number in 0..200 {
            sfq.enqueue(SimTime::ZERO, packet(0, number, SimTime::ZERO));
        }
        assert_eq!((sfq.len(), sfq.counters().drops), (127, 73));
        sfq.enqueue(SimTime::ZERO, packet(1, 0, SimTime::ZERO));
        let others =
            std::iter::from_fn(|| sfq.dequeue(SimTime::ZERO)).filter(|q| q.packet.connection().index() == 1).count();
        assert_eq!(others, 1);
    }
}
