//! The delay of the forward path, from timestamps of clocks that drift apart and are set now and then.
//!
//! Source: none; the answer of this project to what Kim and Kim 1999 leave open ([`super::forward`] is theirs). Skew is
//! measured and taken off ([`super::envelope`]). A clock that is set makes the delays of the two directions jump by the
//! same amount in opposite directions while the round trip stays. Queues can do so too, by chance; so a step is taken on
//! trial: from then on the delays are measured without it, and if one falls clearly below the least ever seen, it was a
//! queue, and the step is taken back. At the end of the trial it holds if without it some delay would have lain clearly
//! below the least one. A step that was missed, since
//! the round trip changed with it, is tried once a delay lies below the least one by more than half of the round trip.
//!
//! The time at which data left is taken from the arrival of its ACK and the RTT sample, so that a step of the sender's
//! own clock is one of both its times, a delayed ACK counts from its last segment, and each ACK shows both directions at
//! once.
//!
//! Assumes that the relative skew is constant, below 1000 ppm; that a step is longer than five ticks of both clocks
//! together; that after a step the direction whose delays seem shorter soon has a
//! shorter queue than the step. A clock that is slewed back after an error is a change of skew, which the history of the
//! connection follows slowly.

#[cfg(test)]
mod tests;

use ackclock_units::SimDuration;

use super::Sample;
use super::clocks::Clocks;
use super::envelope::{Envelope, Least, Point};
use crate::event::AckEvent;

/// A trial lasts so many round trips, and this long at least, ns.
const TRIAL_ROUND_TRIPS: f64 = 8.0;
const SHORTEST_TRIAL: f64 = 5e8;
/// A trial that waits for the queue on the way back to end lasts so many times as long.
const PATIENCE_BACK: f64 = 10.0;
/// The shortest step that is looked for, in ticks of both clocks together.
const LEAST_TICKS: f64 = 5.0;

/// A step that may be one.
#[derive(Clone, Debug)]
struct Trial {
    /// What the receiver's clock has gained at once, ns.
    step: f64,
    until: f64,
    /// A delay, the step not taken off, lay clearly below the least ever seen.
    is_proven: bool,
    /// The least delays since, the step not taken off, and the least that either lay above the least ones of before.
    least: Least,
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
    trial: Option<Trial>,
}

impl SkewTolerantDelay {
    pub(super) fn new(receiver_tick: Option<SimDuration>) -> Self {
        Self { clocks: Clocks::new(receiver_tick), envelope: None, steps: 0.0, last: None, trial: None }
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

    /// Returns the step on trial, zero without one.
    fn watch_for_step(&mut self, envelope: &mut Envelope, at: f64, forward: f64, backward: f64) -> f64 {
        let point = Least { forward: Point { at, delay: forward }, backward: Point { at, delay: backward } };
        let last = self.last.replace((forward, backward));
        let tried = self.trial.as_ref().map_or(0.0, |trial| trial.step.abs());
        if let Some(trial) = last.and_then(|last| begin_trial(envelope, last, &point))
            && trial.step.abs() > 2.0 * tried
        {
            // What was on trial would be lost in it.
            if let Some(smaller) = self.trial.replace(trial) {
                envelope.add(&smaller.least);
            }
        }
        let Some(mut trial) = self.trial.take() else {
            envelope.add(&point);
            return 0.0;
        };
        trial.take(&point);
        let verdict = trial.judge(envelope, &point);
        let step = trial.step;
        // A delay that seems to have grown by too much costs the flow its window: only a proven one is believed.
        let believed = if trial.is_proven || step > 0.0 { step } else { 0.0 };
        match verdict {
            Verdict::Open => self.trial = Some(trial),
            Verdict::Queue => {
                envelope.add(&trial.least);
                return 0.0;
            }
            Verdict::Step => {
                trial.least.forward.delay -= step;
                trial.least.backward.delay += step;
                envelope.add(&trial.least);
                self.steps += step;
                self.last = Some((forward - step, backward + step));
                return step;
            }
        }
        believed
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

/// A step seems to have come with this ACK, or some time before it.
fn begin_trial(envelope: &Envelope, last: (f64, f64), point: &Least) -> Option<Trial> {
    if envelope.is_empty() {
        return None;
    }
    let ticks = envelope.tolerance();
    let (there, back) = (point.forward.delay - last.0, point.backward.delay - last.1);
    let (step, residue) = ((there - back) / 2.0, (there + back).abs());
    if step.abs() >= LEAST_TICKS * ticks && residue <= ticks.max(step.abs() / 4.0) {
        return Some(Trial::new(step, point));
    }
    // A step that came with a change of the round trip, or while nothing was measured.
    let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
    let step = if back < there { -back } else { there };
    let is_far_below = there.min(back) < -(LEAST_TICKS * ticks).max(envelope.base_rtt() / 2.0);
    is_far_below.then(|| Trial::new(step, point))
}

impl Trial {
    fn new(step: f64, point: &Least) -> Self {
        let rtt = point.forward.delay + point.backward.delay;
        // Which direction has to show it: the way there, whose queue is short, or the way back.
        let patience = if step > 0.0 { PATIENCE_BACK } else { 1.0 };
        let until = point.forward.at + patience * (TRIAL_ROUND_TRIPS * rtt).max(SHORTEST_TRIAL);
        Self { step, until, is_proven: false, least: *point, least_above: (f64::INFINITY, f64::INFINITY) }
    }

    fn take(&mut self, point: &Least) {
        if point.forward.delay < self.least.forward.delay {
            self.least.forward = point.forward;
        }
        if point.backward.delay < self.least.backward.delay {
            self.least.backward = point.backward;
        }
    }

    fn judge(&mut self, envelope: &Envelope, point: &Least) -> Verdict {
        let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
        let slack = envelope.tolerance() + self.step.abs() / 4.0;
        if there - self.step < -slack || back + self.step < -slack {
            return Verdict::Queue;
        }
        self.is_proven |= there.min(back) < -self.step.abs() / 2.0;
        self.least_above = (self.least_above.0.min(there), self.least_above.1.min(back));
        if point.forward.at < self.until {
            return Verdict::Open;
        }
        if !self.is_proven {
            return Verdict::Queue;
        }
        // No delay may lie below the least ones without the step.
        let (most, least) = (self.least_above.0, -self.least_above.1);
        if least <= most {
            self.step = self.step.clamp(least, most);
        }
        Verdict::Step
    }
}
