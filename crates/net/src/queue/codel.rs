//! CoDel (RFC 8289): drops, or marks, at the head once packets have waited longer than `target` for an `interval`,
//! and then at times that come closer as one over the square root of their count.
//!
//! `ce_threshold` is Linux's: it marks every packet that waited longer when it leaves, a step for DCTCP and its kind.
//!
//! Packets leave as from Linux with `inverse_sqrt = "newton"`, whose clock has steps of 1,024 ns.
//!
//! **Departures**: the square root is exact unless `inverse_sqrt` says otherwise; the largest packet so far is the size
//! below which a backlog is never reduced.

use ackclock_declare::{About, declare, default, unset, words};
use ackclock_units::{Bandwidth, SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::fifo::{Fifo, Head};
use super::limit::{MAX_TIME, QueueLimit};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

words! {
    /// The computation of one over the square root of the count of drops.
    #[derive(Default)]
    pub enum InverseSqrt {
        /// The exact value.
        #[default]
        "exact" = Exact,
        /// A step of Newton's iteration in 16 bits with each drop, as in Linux and ns-3. It gives 1/2 for the second
        /// drop, where the exact value is 0.71, and 0.56 for the third, so that drops come closer at first.
        "newton" = Newton,
    }
}

declare! {
    /// The parameters of the control law.
    #[derive(Copy, Eq)]
    pub struct CodelParameters {
        /// Acceptable queueing delay.
        target: SimDuration = default(SimDuration::from_millis(5))
            .above(SimDuration::ZERO)
            .at_most(MAX_TIME)
            .source("RFC 8289 section 4"),
        /// Time for which the queueing delay may exceed `target`; about one worst-case RTT.
        interval: SimDuration = default(SimDuration::from_millis(100))
            .above(SimDuration::ZERO)
            .at_most(MAX_TIME)
            .source("RFC 8289 section 4"),
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = true,
        /// Queueing delay above which every ECN-capable packet is marked.
        ce_threshold: Option<SimDuration> = unset("none").source("Linux"),
        /// Computation of one over the square root of the count of drops: exact, or by steps of Newton's iteration, as
        /// in Linux and ns-3, which makes the first drops come closer.
        inverse_sqrt: InverseSqrt = InverseSqrt::Exact,
    }
}

declare! {
    /// Parameters of a CoDel queue.
    #[derive(Copy, Eq)]
    pub struct CodelConfig {
        /// Largest backlog of the queue.
        limit: QueueLimit = default(QueueLimit::Packets(1_000)).source("Linux"),
    }
    within {
        /// Parameters of the control law.
        control: CodelParameters = CodelParameters::default(),
    }
    check super::review;
}

impl Parameters for CodelConfig {
    const ABOUT: About = About {
        name: "codel",
        aliases: &[],
        summary: "CoDel: drops at the head, ever closer, once packets have waited longer than target for an interval",
        source: "RFC 8289; ce_threshold: Linux",
        departures: "the square root of the control law is exact, unless inverse_sqrt = \"newton\"",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// The state of the control law for one queue (RFC 8289 section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodelControl {
    /// The time at which the delay will have been too long for an interval; `None` while it is not too long.
    first_above: Option<SimTime>,
    dropping: bool,
    /// True if a packet was dropped, and `drop_next` is to move on if the next one waited too long as well.
    moves_on: bool,
    drop_next: SimTime,
    inverse_sqrt: NewtonStep,
    count: u64,
    last_count: u64,
    largest_packet: u64,
    /// The sojourn time of the packet that left last.
    sojourn: SimDuration,
}

impl CodelControl {
    /// Takes the packet to send; those before it may have been dropped.
    pub(super) fn dequeue(
        &mut self,
        now: SimTime,
        parameters: &CodelParameters,
        tally: &mut Tally,
        queue: &mut impl Head,
    ) -> Option<Queued> {
        loop {
            let Some(mut packet) = queue.pop() else {
                (self.first_above, self.dropping, self.moves_on) = (None, false, false);
                return None;
            };
            if !self.signals(now, parameters, &packet, queue.octets()) {
                step_mark(now, parameters, tally, &mut packet);
                return Some(packet);
            }
            if parameters.ecn && tally.mark(&mut packet.packet) {
                self.move_on(parameters);
                return Some(packet);
            }
            tally.drop(&packet.packet);
        }
    }

    /// True if a packet that has just been taken is to signal congestion; `behind` octets wait after it.
    fn signals(&mut self, now: SimTime, parameters: &CodelParameters, packet: &Queued, behind: u64) -> bool {
        let ok_to_drop = self.waited_too_long(now, parameters, packet, behind);
        if !self.dropping {
            if ok_to_drop {
                self.begin_dropping(now, parameters);
            }
            return ok_to_drop;
        }
        if ok_to_drop {
            self.move_on(parameters);
        }
        (self.dropping, self.moves_on) = (ok_to_drop, false);
        let signals = ok_to_drop && now >= self.drop_next;
        if signals {
            self.count += 1;
            self.inverse_sqrt.step(self.count);
            self.moves_on = true;
        }
        signals
    }

    /// True once packets have waited longer than the target for an interval (RFC 8289's `dodequeue`).
    fn waited_too_long(&mut self, now: SimTime, parameters: &CodelParameters, packet: &Queued, behind: u64) -> bool {
        self.largest_packet = self.largest_packet.max(packet.octets);
        self.sojourn = now - packet.since;
        // Below one packet's backlog there is nothing to gain: at low rates the link itself takes longer than `target`.
        if self.sojourn < parameters.target || behind <= self.largest_packet {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + parameters.interval)
    }

    fn move_on(&mut self, parameters: &CodelParameters) {
        if self.moves_on {
            self.drop_next += self.spacing(parameters);
            self.moves_on = false;
        }
    }

    fn begin_dropping(&mut self, now: SimTime, parameters: &CodelParameters) {
        self.dropping = true;
        // Soon after the last time: go on at the rate that controlled the queue then.
        let since_then = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < parameters.interval * 16;
        if since_then > 1 && recent {
            self.count = since_then;
            self.inverse_sqrt.step(self.count);
        } else {
            self.count = 1;
            self.inverse_sqrt = NewtonStep::default();
        }
        self.last_count = self.count;
        self.drop_next = now + self.spacing(parameters);
    }

    /// The time between drops by the control law: an interval over the square root of the count.
    fn spacing(&self, parameters: &CodelParameters) -> SimDuration {
        let interval = parameters.interval;
        match parameters.inverse_sqrt {
            InverseSqrt::Exact => SimDuration((interval.0 as f64 / (self.count as f64).sqrt()) as u64),
            InverseSqrt::Newton => self.inverse_sqrt.of(interval),
        }
    }

    /// Raises the count by packets that were dropped for lack of room.
    pub(super) fn on_overflow(&mut self, dropped: u32) {
        self.count += u64::from(dropped);
    }

    /// Reports the state for inspection.
    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queue_delay", self.sojourn.as_secs_f64());
        record("drop_count", self.count as f64);
        record("dropping", f64::from(u8::from(self.dropping)));
    }
}

/// Marks a packet that waited longer than the step, whatever the control law says.
fn step_mark(now: SimTime, parameters: &CodelParameters, tally: &mut Tally, packet: &mut Queued) {
    let beyond = parameters.ce_threshold.is_some_and(|threshold| now - packet.since > threshold);
    if beyond && packet.packet.ecn() != Ecn::Ce {
        tally.mark(&mut packet.packet);
    }
}

/// One over a square root by Newton's iteration so far, in 65,536ths.
#[derive(Clone, Copy, Debug)]
struct NewtonStep(u16);

impl Default for NewtonStep {
    fn default() -> Self {
        Self(u16::MAX)
    }
}

impl NewtonStep {
    /// A step of the iteration: x becomes x (3 - count x^2) / 2.
    fn step(&mut self, count: u64) {
        let x = u64::from(self.0);
        let rest = (3_u64 << 32).saturating_sub(count.saturating_mul(x * x));
        self.0 = ((rest * x) >> 33) as u16;
    }

    fn of(self, interval: SimDuration) -> SimDuration {
        SimDuration(((u128::from(interval.0) * u128::from(self.0)) >> 16) as u64)
    }
}

/// CoDel (RFC 8289): drops or marks packets at the head that waited too long. Source and departures:
/// [`mod@crate::queue::codel`].
#[derive(Clone, Debug)]
pub struct Codel {
    room: Room,
    parameters: CodelParameters,
    queue: Fifo,
    control: CodelControl,
    tally: Tally,
}

impl Codel {
    /// An empty queue with these parameters.
    pub fn new(config: &CodelConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            room: Room::new(config.limit),
            parameters: config.control,
            queue: Fifo::default(),
            control: CodelControl::default(),
            tally: Tally::default(),
        }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.room.takes(self.queue.len(), self.queue.octets(), arrival.octets) {
            self.queue.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        self.control.dequeue(now, &self.parameters, &mut self.tally, &mut self.queue)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(queue, room);

    fn inspect(&self, _now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        self.control.inspect(record);
    }
}

#[cfg(test)]
mod tests;
