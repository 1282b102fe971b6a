//! DualPI2 (RFC 9332 appendix A): two queues, one for L4S packets (ECT(1) or CE) and one for the others, under one PI
//! controller of the longer of their delays. Its output p' is squared for classic packets and multiplied by `k` for L4S
//! packets, which balances the flow rates of the two kinds; L4S packets are also marked beyond a shallow threshold.
//!
//! The marks of the L4S queue saturate when p' reaches 1/k: from there on it loses packets as the classic queue does.
//!
//! A discipline has no timer: updates that were due are made at the next arrival or departure, with the delay as it was
//! at their time.
//!
//! **Departures**: the L4S queue marks from a step at 1 ms by default, as Linux does; the RFC's example is a ramp from
//! 0.8 to 1.2 ms, which `threshold` and `ramp` can express. Both queues lose or gain signals at departure only. Linux draws its
//! signals at random, and sends none while less than two packets' octets wait; its classic queue has a tenth of the link by default,
//! and its scheduler keeps its credit while one queue is empty.

use ackclock_declare::{About, Review, declare, default, words};
use ackclock_units::{Bandwidth, SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::fifo::{Fifo, Head};
use super::limit::{MAX_TIME, QueueLimit};
use super::pie::MIN_UPDATE;
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

words! {
    /// The queue that sends when both could.
    #[derive(Default)]
    pub enum DualScheduler {
        /// Weighted round robin by octets.
        #[default]
        "weighted" = Weighted,
        /// Time-shifted FIFO: the packet that has waited longest, where L4S packets count as if they had come earlier.
        "time_shifted" = TimeShifted,
    }
}

declare! {
    /// The parameters of [`DualPi2`].
    #[derive(Copy)]
    pub struct DualPi2Config {
        /// Largest backlog of both queues together.
        limit: QueueLimit = default(QueueLimit::Packets(10_000)),
        /// Target of the classic queueing delay.
        target: SimDuration = default(SimDuration::from_millis(15))
            .at_least(MIN_UPDATE)
            .at_most(MAX_TIME)
            .source("RFC 9332 appendix A.1"),
        /// Longest round trip with stable control; the gains follow from it.
        rtt_max: SimDuration = default(SimDuration::from_millis(100))
            .at_least(MIN_UPDATE)
            .at_most(MAX_TIME)
            .source("RFC 9332 appendix A.1"),
        /// Coupling k: L4S packets are marked with k p', classic ones with p' squared.
        coupling: f64 = default(2.0).at_least(1.0).at_most(100.0).source("RFC 9332 appendix A.1"),
        /// Queueing delay above which L4S packets are marked; with a ramp, its beginning.
        threshold: SimDuration = default(SimDuration::from_millis(1)).source("Linux"),
        /// Length of the ramp from no marks to all; zero is a step.
        ramp: SimDuration = SimDuration::ZERO,
        /// Number of waiting L4S packets, itself included, up to which a packet is not marked for its wait: on a slow
        /// link a single packet takes longer than the threshold.
        threshold_packets: u32 = default(1).unit("packets"),
        /// Scheduler that chooses the queue when both could send.
        scheduler: DualScheduler = DualScheduler::Weighted,
        /// Least share of the link for the classic queue (weighted); by default L4S gets 15 turns to one.
        classic_share: f64 = default(1.0 / 16.0).at_least(0.001).at_most(0.999).source("RFC 9332 appendix A.1"),
        /// Time by which L4S packets count as earlier (`time_shifted`); twice the classic target is this project's
        /// choice.
        shift: SimDuration = SimDuration::from_millis(30),
    }
    check super::review;
}

impl Parameters for DualPi2Config {
    const ABOUT: About = About {
        name: "dualpi2",
        aliases: &[],
        summary: "DualPI2: a queue for L4S (ECT(1), CE) and one for the others, under one controller, coupled by k",
        source: "RFC 9332",
        departures: "the L4S queue marks from a step at 1 ms, as Linux; the RFC's ramp is threshold 800 us, ramp 400 us",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        let is_weighted = self.scheduler == DualScheduler::Weighted;
        review.needs(&["shift"], "scheduler = \"time_shifted\"", !is_weighted);
        review.needs(&["classic_share"], "scheduler = \"weighted\"", is_weighted);
    }
}

impl DualPi2Config {
    /// The interval between updates: the target, unless a third of the longest round trip is shorter.
    pub fn t_update(&self) -> SimDuration {
        self.target.min(self.rtt_max / 3)
    }
}

/// The PI controller of both queues.
#[derive(Clone, Copy, Debug)]
struct Controller {
    /// The gain for the distance from the target, Hz.
    alpha: f64,
    /// The gain for the change of the delay, Hz.
    beta: f64,
    /// The target delay, seconds.
    target: f64,
    t_update: SimDuration,
    next_update: SimTime,
    /// The delay at the last update, seconds.
    old_delay: f64,
    /// The base probability p'.
    base: f64,
}

impl Controller {
    fn new(config: &DualPi2Config) -> Self {
        let (t_update, rtt_max) = (config.t_update(), config.rtt_max.as_secs_f64());
        Self {
            alpha: 0.1 * t_update.as_secs_f64() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            target: config.target.as_secs_f64(),
            t_update,
            next_update: SimTime::ZERO + t_update,
            old_delay: 0.0,
            base: 0.0,
        }
    }

    /// Makes the updates due by `now`; `oldest` is the arrival of the packet that has waited longest.
    fn catch_up(&mut self, now: SimTime, oldest: Option<SimTime>) {
        while self.next_update <= now {
            if oldest.is_none() && self.base == 0.0 && self.old_delay == 0.0 {
                let missed = (now - self.next_update).0 / self.t_update.0 + 1;
                self.next_update += self.t_update * missed;
                return;
            }
            self.update(oldest.map_or(0.0, |since| self.next_update.saturating_since(since).as_secs_f64()));
            self.next_update += self.t_update;
        }
    }

    /// The drop or mark probability of classic packets.
    fn p_classic(&self) -> f64 {
        self.base * self.base
    }

    /// The coupled mark probability of L4S packets; 1 is saturation.
    fn p_coupled(&self, coupling: f64) -> f64 {
        (coupling * self.base).min(1.0)
    }

    fn update(&mut self, delay: f64) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.old_delay);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

/// One of the two queues.
#[derive(Clone, Debug, Default)]
struct Side {
    queue: Fifo,
    /// The due fraction of a signal: signals come as evenly as their probability allows (the RFC's `recur`).
    due: f64,
}

impl Side {
    /// True if this packet signals congestion, at this probability.
    fn signals(&mut self, probability: f64) -> bool {
        self.due += probability;
        let signals = self.due > 1.0;
        if signals {
            self.due -= 1.0;
        }
        signals
    }
}

/// The fate of a departing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Send,
    Mark,
    Drop,
}

/// DualPI2 (RFC 9332): coupled queues for L4S and for classic packets. Source and departures:
/// [`mod@crate::queue::dualpi2`].
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    room: Room,
    controller: Controller,
    l4s: Side,
    classic: Side,
    /// The octets that the classic queue is owed.
    credit: f64,
    tally: Tally,
    l4s_sojourn: SimDuration,
}

impl DualPi2 {
    /// Two empty queues with these parameters.
    pub fn new(config: &DualPi2Config, _place: &QueuePlace<'_>) -> Self {
        Self {
            config: *config,
            room: Room::new(config.limit),
            controller: Controller::new(config),
            l4s: Side::default(),
            classic: Side::default(),
            credit: 0.0,
            tally: Tally::default(),
            l4s_sojourn: SimDuration::ZERO,
        }
    }

    /// The arrival of the packet that has waited longest.
    fn oldest(&self) -> Option<SimTime> {
        match (self.l4s.queue.head_since(), self.classic.queue.head_since()) {
            (Some(l4s), Some(classic)) => Some(l4s.min(classic)),
            (l4s, classic) => l4s.or(classic),
        }
    }

    fn catch_up(&mut self, now: SimTime) {
        let oldest = self.oldest();
        self.controller.catch_up(now, oldest);
    }

    /// The probability beyond which the classic queue also drops ECN-capable packets: there the L4S queue's marks
    /// saturate.
    fn p_classic_max(&self) -> f64 {
        (1.0 / (self.config.coupling * self.config.coupling)).min(1.0)
    }

    /// The mark probability by the L4S queue's own delay.
    fn p_native(&self, sojourn: SimDuration, waiting: usize) -> f64 {
        let DualPi2Config { threshold, ramp, threshold_packets, .. } = self.config;
        if waiting <= threshold_packets as usize || sojourn <= threshold {
            0.0
        } else if sojourn >= threshold + ramp {
            1.0
        } else {
            (sojourn - threshold).as_secs_f64() / ramp.as_secs_f64()
        }
    }

    fn is_l4s_next(&self) -> bool {
        let (Some(l4s), Some(classic)) = (self.l4s.queue.head_since(), self.classic.queue.head_since()) else {
            return self.l4s.queue.len() > 0;
        };
        match self.config.scheduler {
            DualScheduler::Weighted => self.credit <= 0.0,
            DualScheduler::TimeShifted => l4s <= classic + self.config.shift,
        }
    }

    /// Settles the credit: while both wait, the classic queue is owed its share of the sent octets; a queue that was
    /// alone owes nothing.
    fn settle(&mut self, is_l4s: bool, octets: u64) {
        let DualPi2Config { scheduler: DualScheduler::Weighted, classic_share, .. } = self.config else { return };
        let other = if is_l4s { &self.classic } else { &self.l4s };
        let sent = if is_l4s { classic_share } else { classic_share - 1.0 };
        self.credit = if other.queue.len() == 0 { 0.0 } else { self.credit + octets as f64 * sent };
    }

    fn l4s_fate(&mut self, sojourn: SimDuration, waiting: usize) -> Fate {
        let (coupled, classic) = (self.controller.p_coupled(self.config.coupling), self.controller.p_classic());
        if coupled < 1.0 {
            let probability = coupled.max(self.p_native(sojourn, waiting));
            return if self.l4s.signals(probability) { Fate::Mark } else { Fate::Send };
        }
        if self.l4s.signals(classic) {
            Fate::Drop
        } else if self.l4s.signals(coupled) {
            Fate::Mark
        } else {
            Fate::Send
        }
    }

    fn classic_fate(&mut self, ecn: Ecn) -> Fate {
        let probability = self.controller.p_classic();
        if !self.classic.signals(probability) {
            Fate::Send
        } else if ecn == Ecn::NotEct || probability >= self.p_classic_max() {
            Fate::Drop
        } else {
            Fate::Mark
        }
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        self.catch_up(now);
        if !self.room.takes(self.len(), self.octets(), arrival.octets) {
            self.tally.drop(&arrival.packet);
            return;
        }
        let is_l4s = matches!(arrival.packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        let side = if is_l4s { &mut self.l4s } else { &mut self.classic };
        side.queue.push(arrival);
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        self.catch_up(now);
        loop {
            let is_l4s = self.is_l4s_next();
            let side = if is_l4s { &mut self.l4s } else { &mut self.classic };
            let waiting = side.queue.len();
            let mut packet = side.queue.pop()?;
            let sojourn = now - packet.since;
            let fate = if is_l4s {
                self.l4s_sojourn = sojourn;
                self.l4s_fate(sojourn, waiting)
            } else {
                self.classic_fate(packet.packet.ecn())
            };
            if fate == Fate::Drop {
                self.tally.drop(&packet.packet);
                continue;
            }
            if fate == Fate::Mark && packet.packet.ecn() != Ecn::Ce {
                self.tally.mark(&mut packet.packet);
            }
            self.settle(is_l4s, packet.octets);
            return Some(packet);
        }
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    fn len(&self) -> usize {
        self.l4s.queue.len() + self.classic.queue.len()
    }

    fn octets(&self) -> u64 {
        self.l4s.queue.octets() + self.classic.queue.octets()
    }

    crate::accounts!();

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        let mut controller = self.controller;
        controller.catch_up(now, self.oldest());
        record("drop_probability", controller.p_classic());
        record("mark_probability", controller.p_coupled(self.config.coupling));
        record("queue_delay", controller.old_delay);
        record("l4s_queue_delay", self.l4s_sojourn.as_secs_f64());
    }
}

#[cfg(test)]
mod coexistence;
#[cfg(test)]
mod tests;
