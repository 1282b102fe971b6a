//! PIE (RFC 8033): each arriving packet is dropped, or marked, with a probability that a PI controller moves every
//! `t_update` by the distance of the queueing delay from `target` and by its change. With all of the RFC's section 4
//! and 5: gains that depend on the probability, a burst allowance, delay from the departure rate or from timestamps,
//! marking up to a threshold, derandomised drops, a cap on the increase, and activation by length.
//!
//! A discipline has no timer: updates that were due are made at the next arrival or departure. The result is the same,
//! since the queue did not change in between.
//!
//! Verified against the RFC's section 4 as ns-3, FreeBSD and Linux read it: target and update interval 15 ms, gains 0.125
//! and 1.25 Hz, the table of divisors, the cap of 2 %, the decay by 0.98, 150 ms of burst, 16 KiB a measurement weighed
//! 1/4, marks below 10 %, 0.85 and 8.5 of accumulated probability, which any drop sets back, at a full queue too.
//!
//! **Departures**: the probability decays after two updates without delay (section 4.2), not, as the pseudocode of the
//! RFC's appendix has it, below half the target. A measured departure counts the octets that left, where the pseudocode
//! assumes 16 KiB. Linux's steeper increase above 250 ms of delay is not in the RFC, and not here; nor is its first update
//! half a second after the queue is made, nor its burst allowance, which shrinks by the time between departures, nor its decay by a
//! 64th.

use ackclock_declare::{About, Review, declare, default, unset, words};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{MAX_TIME, QueueLimit};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};
use crate::rng::RandomStream;

words! {
    /// The source of the delay that PIE controls.
    #[derive(Default)]
    pub enum DelayEstimate {
        /// The wait of the last packet that left (RFC 8033 section 4.3; Linux's default).
        #[default]
        "timestamps" = Timestamps,
        /// Octets waiting over the departure rate, which is measured over 16 KiB at a time (section 5.2).
        "departure_rate" = DepartureRate,
    }
}

/// The least interval between updates: overdue ones are made one by one.
pub(super) const MIN_UPDATE: SimDuration = SimDuration::from_micros(100);

const MAX_GAIN: f64 = 1e6;

declare! {
    /// Parameters of the controller.
    #[derive(Copy)]
    pub struct PieParameters {
        /// Target of the queueing delay.
        target: SimDuration = default(SimDuration::from_millis(15))
            .above(SimDuration::ZERO)
            .at_most(MAX_TIME)
            .source("RFC 8033 section 4"),
        /// Interval between updates of the drop probability.
        t_update: SimDuration = default(SimDuration::from_millis(15))
            .at_least(MIN_UPDATE)
            .at_most(MAX_TIME)
            .source("RFC 8033 section 4"),
        /// Gain for the distance from the target; the RFC's table divides it at small probabilities.
        alpha: f64 = default(0.125).at_least(0.0).at_most(MAX_GAIN).unit("Hz").source("RFC 8033 section 4"),
        /// Gain for the change since the last update.
        beta: f64 = default(1.25).at_least(0.0).at_most(MAX_GAIN).unit("Hz").source("RFC 8033 section 4"),
        /// Time for which a queue may build up before drops begin.
        max_burst: SimDuration = default(SimDuration::from_millis(150)).source("RFC 8033 section 4"),
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = true,
        /// Drop probability from which on ECN-capable packets are dropped too.
        mark_threshold: f64 = default(0.1).at_least(0.0).at_most(1.0).source("RFC 8033 section 5.1"),
        /// Source of the delay: the wait of the last packet, or queue length over departure rate.
        delay: DelayEstimate = DelayEstimate::Timestamps,
        /// Spread drops evenly over packets (derandomisation).
        derandomize: bool = default(true).source("RFC 8033 section 5.4"),
        /// Drop small packets less, by their size over `mean_packet`.
        byte_mode: bool = false,
        /// Size that counts as a packet: a queue of no more than two drops nothing. Linux takes the MTU.
        mean_packet: Bytes = default(Bytes(1_500)).at_least(Bytes(1)),
        /// Waiting octets from which the controller is active; the RFC suggests a third of the limit.
        activation: Option<Bytes> = unset("none").source("RFC 8033 section 5.3"),
    }
}

declare! {
    /// Parameters of a PIE queue.
    #[derive(Copy)]
    pub struct PieConfig {
        /// Largest backlog of the queue.
        limit: QueueLimit = default(QueueLimit::Packets(1_000)).source("Linux"),
    }
    within {
        /// Parameters of the controller.
        control: PieParameters = PieParameters::default(),
    }
    check super::review;
}

impl PieParameters {
    pub(super) fn review(&self, review: &mut Review<'_>) {
        review.needs(&["mark_threshold"], "ecn = true", self.ecn);
    }
}

impl Parameters for PieConfig {
    const ABOUT: About = About {
        name: "pie",
        aliases: &[],
        summary: "PIE: drops at arrival with a probability that a PI controller moves by the delay",
        source: "RFC 8033",
        departures: "the probability decays after two updates without delay (section 4.2), not below half the target (appendix); a measured departure rate counts the octets that left",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        self.control.review(review);
    }
}

/// The fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    Signal,
}

/// Octets over which the departure rate is measured (RFC 8033 section 5.2).
const DQ_THRESHOLD: u64 = 1 << 14;

/// Weight of a new measurement of the departure rate: [`DQ_THRESHOLD`] over 2^16.
const DQ_WEIGHT: f64 = 0.25;

/// The controller of one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieControl {
    probability: f64,
    /// The sum of the drop probabilities of packets kept since the last drop.
    accumulated: f64,
    burst_allowance: SimDuration,
    /// The delay at the last update, in seconds.
    old_delay: f64,
    /// The wait of the last packet that left, in seconds; zero when the queue is empty.
    sojourn: f64,
    next_update: SimTime,
    rate: DepartureRate,
    active: bool,
}

/// The average time in which 16 KiB leave.
#[derive(Clone, Copy, Debug, Default)]
struct DepartureRate {
    since: Option<SimTime>,
    departed: u64,
    average: Option<f64>,
}

impl DepartureRate {
    fn on_departure(&mut self, now: SimTime, octets: u64, waiting: u64) {
        if self.since.is_none() && waiting + octets >= DQ_THRESHOLD {
            (self.since, self.departed) = (Some(now), 0);
            return; // what leaves now was sent before the measurement
        }
        let Some(since) = self.since else { return };
        self.departed += octets;
        if self.departed >= DQ_THRESHOLD {
            let took = (now - since).as_secs_f64() * DQ_THRESHOLD as f64 / self.departed as f64;
            self.average = Some(self.average.map_or(took, |old| took * DQ_WEIGHT + old * (1.0 - DQ_WEIGHT)));
            self.since = None;
        }
    }
}

impl PieControl {
    pub(super) fn new(parameters: &PieParameters) -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance: parameters.max_burst,
            old_delay: 0.0,
            sojourn: 0.0,
            next_update: SimTime::ZERO + parameters.t_update,
            rate: DepartureRate::default(),
            active: parameters.activation.is_none(),
        }
    }

    /// Makes the updates that were due while nothing happened, with `waiting` octets in the queue.
    pub(super) fn catch_up(&mut self, now: SimTime, parameters: &PieParameters, waiting: u64) {
        while self.next_update <= now {
            if self.is_at_rest(parameters, waiting) {
                let missed = (now - self.next_update).0 / parameters.t_update.0 + 1;
                self.next_update += parameters.t_update * missed;
                return;
            }
            self.update(parameters, waiting);
            self.next_update += parameters.t_update;
        }
    }

    /// True if an update changes nothing.
    fn is_at_rest(&self, parameters: &PieParameters, waiting: u64) -> bool {
        let quiet = self.probability == 0.0 && self.old_delay == 0.0 && self.delay(parameters, waiting) == 0.0;
        !self.active || (quiet && self.burst_allowance == parameters.max_burst && parameters.activation.is_none())
    }

    fn delay(&self, parameters: &PieParameters, waiting: u64) -> f64 {
        match parameters.delay {
            DelayEstimate::Timestamps => self.sojourn,
            DelayEstimate::DepartureRate => {
                self.rate.average.map_or(0.0, |average| waiting as f64 * average / DQ_THRESHOLD as f64)
            }
        }
    }

    /// Updates the probability (RFC 8033 sections 4.2, 4.4 and 5.5).
    fn update(&mut self, parameters: &PieParameters, waiting: u64) {
        let delay = self.delay(parameters, waiting);
        let target = parameters.target.as_secs_f64();
        let step = parameters.alpha * (delay - target) + parameters.beta * (delay - self.old_delay);
        let step = step / auto_tuning(self.probability);
        let step = if self.probability >= 0.1 { step.min(0.02) } else { step };
        let mut probability = self.probability + step;
        if delay == 0.0 && self.old_delay == 0.0 {
            probability *= 0.98;
        }
        self.probability = probability.clamp(0.0, 1.0);
        self.burst_allowance = SimDuration(self.burst_allowance.0.saturating_sub(parameters.t_update.0));
        let quiet = delay < target / 2.0 && self.old_delay < target / 2.0;
        if self.probability == 0.0 && quiet {
            self.burst_allowance = parameters.max_burst;
            let empty = delay == 0.0 && self.old_delay == 0.0;
            self.active &= !(empty && parameters.activation.is_some());
        }
        self.old_delay = delay;
    }

    /// Decides whether an arriving packet of `octets` signals congestion, at a queue of `waiting` octets.
    pub(super) fn judge(
        &mut self,
        now: SimTime,
        parameters: &PieParameters,
        waiting: u64,
        octets: u64,
        random: &mut RandomStream,
    ) -> Verdict {
        self.activate(now, parameters, waiting);
        let early = self.active && self.burst_allowance.is_zero() && self.signals(parameters, waiting, octets, random);
        if early { Verdict::Signal } else { Verdict::Keep }
    }

    fn activate(&mut self, now: SimTime, parameters: &PieParameters, waiting: u64) {
        if !self.active && parameters.activation.is_some_and(|octets| waiting >= octets.0) {
            *self = Self { next_update: now + parameters.t_update, active: true, ..Self::new(parameters) };
        }
    }

    fn signals(&mut self, parameters: &PieParameters, waiting: u64, octets: u64, random: &mut RandomStream) -> bool {
        let uncongested = self.old_delay < parameters.target.as_secs_f64() / 2.0 && self.probability < 0.2;
        if uncongested || waiting <= 2 * parameters.mean_packet.0 {
            return false;
        }
        let size = octets as f64 / parameters.mean_packet.0 as f64;
        let probability = if parameters.byte_mode { self.probability * size.min(1.0) } else { self.probability };
        if !parameters.derandomize {
            return random.chance(probability);
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + probability };
        let signals = self.accumulated >= 0.85 && (self.accumulated >= 8.5 || random.chance(probability));
        if signals {
            self.accumulated = 0.0;
        }
        signals
    }

    /// Takes note of a drop without room.
    pub(super) fn on_full(&mut self) {
        self.accumulated = 0.0;
    }

    /// Takes a departure, which leaves `waiting` octets in the queue.
    pub(super) fn on_departure(&mut self, now: SimTime, packet: &Queued, waiting: u64) {
        self.sojourn = if waiting == 0 { 0.0 } else { (now - packet.since).as_secs_f64() };
        self.rate.on_departure(now, packet.octets, waiting);
    }

    /// True if congestion may be signalled by a mark (RFC 8033 section 5.1).
    pub(super) fn marks(&self, parameters: &PieParameters) -> bool {
        parameters.ecn && self.probability < parameters.mark_threshold
    }

    /// Reports the state for inspection, with the updates due by `now`.
    pub(super) fn inspect(
        mut self,
        now: SimTime,
        parameters: &PieParameters,
        waiting: u64,
        record: &mut dyn FnMut(&'static str, f64),
    ) {
        self.catch_up(now, parameters, waiting);
        record("drop_probability", self.probability);
        record("queue_delay", self.old_delay);
        record("burst_allowance", self.burst_allowance.as_secs_f64());
    }
}

/// The divisor of the step at a probability: the table of RFC 8033 section 4.2.
fn auto_tuning(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// PIE (RFC 8033): drops or marks at arrival by a PI controller of the delay. Source and departures:
/// [`mod@crate::queue::pie`].
#[derive(Clone, Debug)]
pub struct Pie {
    room: Room,
    parameters: PieParameters,
    queue: Fifo,
    control: PieControl,
    random: RandomStream,
    tally: Tally,
}

impl Pie {
    /// An empty queue with these parameters.
    pub fn new(config: &PieConfig, place: &QueuePlace<'_>) -> Self {
        Self {
            room: Room::new(config.limit),
            parameters: config.control,
            queue: Fifo::default(),
            control: PieControl::new(&config.control),
            random: place.random(),
            tally: Tally::default(),
        }
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(&mut self, now: SimTime, mut arrival: Queued) {
        let waiting = self.queue.octets();
        self.control.catch_up(now, &self.parameters, waiting);
        if !self.room.takes(self.queue.len(), waiting, arrival.octets) {
            self.control.on_full();
            self.tally.drop(&arrival.packet);
            return;
        }
        let verdict = self.control.judge(now, &self.parameters, waiting, arrival.octets, &mut self.random);
        let mark = self.control.marks(&self.parameters);
        if verdict == Verdict::Keep || (mark && self.tally.mark(&mut arrival.packet)) {
            self.queue.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        self.control.catch_up(now, &self.parameters, self.queue.octets());
        let packet = self.queue.pop()?;
        self.control.on_departure(now, &packet, self.queue.octets());
        Some(packet)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(queue, room);

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        self.control.inspect(now, &self.parameters, self.queue.octets(), record);
    }
}

#[cfg(test)]
mod tests;
