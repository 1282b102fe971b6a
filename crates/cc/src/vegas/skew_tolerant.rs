//! The delay of the forward path, from timestamps of clocks that drift apart and are set now and then.
//!
//! Source: none; the answer of this project to what Kim and Kim 1999 leave open ([`super::forward`] is theirs). Skew is
//! measured and taken off ([`super::envelope`]). A clock that is set makes the delays of the two directions jump by the
//! same amount in opposite directions while the round trip stays. Queues can do so too, by chance; so a step is taken on
//! trial, several at a time: if without it a delay falls clearly below the least ever seen, it was a queue. At the end of its
//! trial a step holds if with it some delay would have lain clearly below the least one. A step that was missed, since the
//! round trip changed with it, is tried once a delay lies below the least one by more than half of the round trip.
//!
//! The time at which data left is taken from the arrival of its ACK and the RTT sample, so that a step of the sender's
//! own clock is one of both its times, a delayed ACK counts from its last segment, and each ACK shows both directions at
//! once.
//!
//! Assumes that the relative skew is constant, below 1000 ppm; that a step is longer than five ticks of both clocks
//! together; that after a step the direction whose delays seem shorter soon has a queue shorter than half the step. A clock
//! that is slewed back after an error is a change of skew, which the history of the connection follows slowly.

#[cfg(test)]
mod tests;

use ackclock_units::SimDuration;

use super::Sample;
use super::envelope::{Envelope, Least, Point};
use crate::event::AckEvent;
use crate::peer_clock::Clocks;

/// A trial lasts so many round trips, and this long at least, ns.
const TRIAL_ROUND_TRIPS: f64 = 8.0;
const SHORTEST_TRIAL: f64 = 5e8;
/// A trial that waits for the queue on the way back to end lasts so many times as long.
const PATIENCE_BACK: f64 = 10.0;
/// Steps on trial at a time.
const MOST_TRIALS: usize = 8;
/// The shortest step that is looked for, in ticks of both clocks together.
const LEAST_TICKS: f64 = 5.0;

/// A step that may be one.
#[derive(Clone, Debug)]
struct Trial {
    /// What the receiver's clock has gained at once, ns.
    step: f64,
    /// How far off that may be.
    doubt: f64,
    /// How long a trial lasts once nothing more is to be waited for, and when this one ends.
    span: f64,
    until: f64,
    /// A delay, the step not taken off, lay clearly below the least ever seen.
    is_proven: bool,
    /// The least that either direction lay above the least delays of before, the step not taken off.
    least_above: (f64, f64),
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct SkewTolerantDelay {
    clocks: Clocks,
    envelope: Option<Envelope>,
    /// Steps so far, ns: what the receiver's clock gained beside its skew.
    steps: f64,
    /// The last delays there and back, all steps taken off.
    last: Option<(f64, f64)>,
    trials: Trials,
}

impl SkewTolerantDelay {
    pub(super) fn new(receiver_tick: Option<SimDuration>) -> Self {
        Self { clocks: Clocks::new(receiver_tick), envelope: None, steps: 0.0, last: None, trials: Trials::default() }
    }

    /// What an ACK of new data shows; `None` without timestamps or RTT sample, or if they tell nothing yet.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<Sample> {
        let stamps = ack.timestamps.as_ref()?;
        let times = self.clocks.read(stamps)?;
        let rtt = ack.rtt_sample?.0 as f64;
        let ticks = self.clocks.receiver_tick()? as f64 + stamps.tick.0 as f64;
        let at = times.arrived as f64;
        let backward = (times.arrived - times.received) as f64 + self.steps;
        let forward = rtt - backward;
        let mut envelope = self.envelope.take().unwrap_or_else(|| Envelope::new(ticks));
        let step = self.watch_for_step(&mut envelope, at, forward, backward);
        let (queued, _) = envelope.above(at, forward - step, backward + step);
        let base_rtt = envelope.base_rtt();
        self.envelope = Some(envelope);
        (base_rtt >= 1.0).then(|| Sample { rtt: (base_rtt + queued.max(0.0)) as i64, base_rtt: base_rtt as i64 })
    }

    /// Returns the step that is believed in, zero without one.
    fn watch_for_step(&mut self, envelope: &mut Envelope, at: f64, forward: f64, backward: f64) -> f64 {
        let point = Least { forward: Point { at, delay: forward }, backward: Point { at, delay: backward } };
        let last = self.last.replace((forward, backward));
        if let Some(trial) = last.and_then(|last| begin_trial(envelope, last, &point)) {
            self.trials.open(trial);
        }
        match self.trials.judge(envelope, &point) {
            Some(step) => {
                self.trials.accept(step, envelope);
                self.steps += step;
                self.last = Some((forward - step, backward + step));
                step
            }
            None => {
                self.trials.keep(&point, envelope);
                self.trials.believed()
            }
        }
    }

    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let Some(envelope) = &self.envelope else { return };
        record("skew_ppm", envelope.skew() * 1e6);
        record("clock_steps_s", self.steps / 1e9);
        record("base_rtt_s", envelope.base_rtt() / 1e9);
        record("receiver_tick_s", self.clocks.receiver_tick().unwrap_or(0) as f64 / 1e9);
    }
}

enum Verdict {
    Open,
    Queue,
    Step,
}

/// The steps on trial.
#[derive(Clone, Debug, Default)]
struct Trials {
    open: Vec<Trial>,
    /// The least delays since the first of them that lie below those of before: they are of a step, or of an empty queue.
    held: Option<Least>,
}

impl Trials {
    fn open(&mut self, trial: Trial) {
        let is_like = |other: &Trial| (other.step - trial.step).abs() < trial.step.abs() / 4.0;
        if self.open.iter().any(is_like) {
            return;
        }
        if self.open.len() < MOST_TRIALS {
            self.open.push(trial);
        } else if let Some(least) = self.open.iter_mut().min_by(|a, b| a.step.abs().total_cmp(&b.step.abs()))
            && trial.step.abs() > least.step.abs()
        {
            *least = trial;
        }
    }

    /// Goes on with every trial; returns a step that has stood its own.
    fn judge(&mut self, envelope: &Envelope, point: &Least) -> Option<f64> {
        let mut accepted: Option<f64> = None;
        self.open.retain_mut(|trial| match trial.judge(envelope, point) {
            Verdict::Open => true,
            Verdict::Queue => false,
            Verdict::Step => {
                accepted = accepted.or(Some(trial.estimate()));
                false
            }
        });
        accepted
    }

    /// The least delays become part of the history, those that a step may have made with the last trial only.
    fn keep(&mut self, point: &Least, envelope: &mut Envelope) {
        let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
        if self.open.is_empty() {
            if let Some(held) = self.held.take() {
                envelope.add(&held);
            }
            envelope.add(point);
        } else if there.min(back) >= 0.0 {
            envelope.add(point);
        } else if let Some(held) = &mut self.held {
            held.take(point);
        } else {
            self.held = Some(*point);
        }
    }

    fn accept(&mut self, step: f64, envelope: &mut Envelope) {
        self.open.clear();
        if let Some(mut held) = self.held.take() {
            held.forward.delay -= step;
            held.backward.delay += step;
            envelope.add(&held);
        }
    }

    /// The largest step that is proven, or that makes the way there look shorter: unproven, one that makes it look longer
    /// would cost the flow its window for nothing, and the other lasts only until the queue there ends.
    fn believed(&self) -> f64 {
        let believed = |trial: &Trial| {
            if trial.is_proven { Some(trial.estimate()) } else { Some(trial.step).filter(|step| *step > 0.0) }
        };
        self.open.iter().filter_map(believed).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
    }
}

impl Least {
    fn take(&mut self, point: &Self) {
        if point.forward.delay < self.forward.delay {
            self.forward = point.forward;
        }
        if point.backward.delay < self.backward.delay {
            self.backward = point.backward;
        }
    }
}

/// A step seems to have come with this ACK, or some time before it.
fn begin_trial(envelope: &Envelope, last: (f64, f64), point: &Least) -> Option<Trial> {
    if envelope.is_empty() {
        return None;
    }
    let ticks = envelope.tolerance();
    let (there, back) = (point.forward.delay - last.0, point.backward.delay - last.1);
    let (step, residue) = ((there - back) / 2.0, (there + back).abs());
    if step.abs() >= LEAST_TICKS * ticks && residue <= ticks.max(step.abs() / 4.0) {
        return Some(Trial::new(step, residue / 2.0 + ticks, point));
    }
    // A step that came with a change of the round trip, or while nothing was measured.
    let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
    let step = if back < there { -back } else { there };
    let is_far_below = there.min(back) < -(LEAST_TICKS * ticks).max(envelope.base_rtt() / 2.0);
    is_far_below.then(|| Trial::new(step, f64::INFINITY, point))
}

impl Trial {
    fn new(step: f64, doubt: f64, point: &Least) -> Self {
        let rtt = point.forward.delay + point.backward.delay;
        let span = (TRIAL_ROUND_TRIPS * rtt).max(SHORTEST_TRIAL);
        // Which direction has to show it: the way there, whose queue is short, or the way back.
        let patience = if step > 0.0 { PATIENCE_BACK } else { 1.0 };
        let until = point.forward.at + patience * span;
        Self { step, doubt, span, until, is_proven: false, least_above: (f64::INFINITY, f64::INFINITY) }
    }

    /// The step as the least delays since bound it: without it none may lie below those of before. Where that leaves a
    /// choice, the way there is taken to have been empty.
    fn estimate(&self) -> f64 {
        let (most, least) = (self.least_above.0, -self.least_above.1);
        if least > most {
            return self.step;
        }
        if (most - self.step).abs() <= self.doubt { most } else { self.step.clamp(least, most) }
    }

    fn judge(&mut self, envelope: &Envelope, point: &Least) -> Verdict {
        let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
        let slack = envelope.tolerance() + self.step.abs() / 4.0;
        if there - self.step < -slack || back + self.step < -slack {
            return Verdict::Queue;
        }
        self.least_above = (self.least_above.0.min(there), self.least_above.1.min(back));
        if !self.is_proven && there.min(back) < -self.step.abs() / 2.0 {
            self.is_proven = true;
            self.until = self.until.min(point.forward.at + self.span);
        }
        match point.forward.at >= self.until {
            false => Verdict::Open,
            true if self.is_proven => Verdict::Step,
            true => Verdict::Queue,
        }
    }
}
