//! Steps of a clock on trial: jumps of the delays that a clock which is set would make, and queues by chance.
//!
//! Source: none; see [`super::skew_tolerant`], which says how and what is assumed. Times and delays are in ns.

use super::envelope::{Envelope, Least};

/// A trial lasts so many round trips, and this long at least, ns.
const TRIAL_ROUND_TRIPS: f64 = 8.0;
const SHORTEST_TRIAL: f64 = 5e8;
/// A trial that waits for the queue on the way back to end lasts so many times as long.
const PATIENCE_BACK: f64 = 10.0;
/// Steps on trial at a time.
const MOST_TRIALS: usize = 8;
/// Delays held back at a time; of more, the least of two.
const MOST_HELD: usize = 64;
/// The shortest step that is looked for, in ticks of both clocks together.
const LEAST_TICKS: f64 = 5.0;

/// A step that may be one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// What the receiver's clock has gained at once, ns.
    step: f64,
    /// How far off that may be.
    doubt: f64,
    began: f64,
    /// How long a trial lasts once nothing more is to be waited for, and when this one ends.
    span: f64,
    until: f64,
    /// A delay, the step not taken off, lay clearly below the least ever seen.
    is_proven: bool,
    /// The least that either direction lay above the least delays of before, the step not taken off.
    least_above: (f64, f64),
}

enum Verdict {
    Open,
    Queue,
    Step,
}

/// The steps on trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials {
    open: Vec<Trial>,
    /// Delays since the first of them that lie below the least ones: they are of a step, or of an empty queue.
    held: Vec<Least>,
}

impl Trials {
    pub(super) fn open(&mut self, trial: Trial) {
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

    /// Goes on with every trial; returns one that has stood its own.
    pub(super) fn judge(&mut self, envelope: &Envelope, point: &Least) -> Option<Trial> {
        let mut accepted: Option<Trial> = None;
        self.open.retain_mut(|trial| match trial.judge(envelope, point) {
            Verdict::Open => true,
            Verdict::Queue => false,
            Verdict::Step => {
                accepted.get_or_insert(*trial);
                false
            }
        });
        accepted
    }

    /// Delays become part of the history, those that a step may have made only once nothing is on trial.
    pub(super) fn keep(&mut self, point: &Least, envelope: &mut Envelope) {
        let (there, back) = envelope.above(point.forward.at, point.forward.delay, point.backward.delay);
        if self.open.is_empty() {
            self.held.drain(..).for_each(|held| envelope.add(&held));
            envelope.add(point);
        } else if there.min(back) >= 0.0 {
            envelope.add(point);
        } else {
            if self.held.len() == MOST_HELD {
                self.held = self.held.chunks(2).map(merged).collect();
            }
            self.held.push(*point);
        }
    }

    /// A step holds: what was held back since then goes without it into the history.
    pub(super) fn accept(&mut self, trial: &Trial, envelope: &mut Envelope) {
        self.open.clear();
        let step = trial.estimate();
        for mut held in self.held.drain(..) {
            if held.forward.at >= trial.began {
                held.forward.delay -= step;
            }
            if held.backward.at >= trial.began {
                held.backward.delay += step;
            }
            envelope.add(&held);
        }
    }

    /// The largest step that is proven, or that makes the way there look shorter: unproven, one that makes it look longer
    /// would cost the flow its window for nothing, and the other lasts only until the queue there ends.
    pub(super) fn believed(&self) -> f64 {
        let believed = |trial: &Trial| {
            if trial.is_proven { Some(trial.estimate()) } else { Some(trial.step).filter(|step| *step > 0.0) }
        };
        self.open.iter().filter_map(believed).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
    }
}

/// The least of each direction.
fn merged(points: &[Least]) -> Least {
    let mut least = points[0];
    for point in &points[1..] {
        if point.forward.delay < least.forward.delay {
            least.forward = point.forward;
        }
        if point.backward.delay < least.backward.delay {
            least.backward = point.backward;
        }
    }
    least
}

/// A step seems to have come with this ACK, or some time before it.
pub(super) fn begin_trial(envelope: &Envelope, last: (f64, f64), point: &Least) -> Option<Trial> {
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
        Self {
            step,
            doubt,
            began: point.forward.at,
            span,
            until,
            is_proven: false,
            least_above: (f64::INFINITY, f64::INFINITY),
        }
    }

    /// The step as the least delays since bound it: without it none may lie below those of before. Where that leaves a
    /// choice, the way there is taken to have been empty.
    pub(super) fn estimate(&self) -> f64 {
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
