//! Steps of a clock: delays that only a clock which is set could make, or queues by chance, told apart on trial.
//!
//! Source: none; see [`super::skew_tolerant`], which says how and what is assumed. Times and delays are in ns.

use std::collections::VecDeque;

use super::envelope::{Envelope, Least};

/// A trial lasts so many round trips, and this long at least, ns.
const TRIAL_ROUND_TRIPS: f64 = 8.0;
const SHORTEST_TRIAL: f64 = 5e8;
/// A trial that waits for the queue on the way back to end lasts so many times as long.
const PATIENCE_BACK: f64 = 10.0;
/// Round trips before a jump, and after it, whose least delays are compared.
const SIDE: usize = 3;
/// Shorter jumps, as shares of the propagation delay, are of queues mostly and cost Vegas little.
const LEAST_JUMP: f64 = 1.0 / 8.0;
/// Delays held back at a time; of more, the least of two.
const MOST_HELD: usize = 64;

/// A step that may be one: what the receiver's clock has gained at once.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The jump that was seen, and how far off it may be; nothing without.
    expected: f64,
    doubt: f64,
    began: f64,
    /// How long a trial lasts once a delay has shown the step, and when this one ends.
    span: f64,
    until: f64,
    /// The least that either direction lay above the least delays of before, the step not taken off.
    least_above: (f64, f64),
}

enum Verdict {
    Open,
    Queue,
    Step,
}

impl Trial {
    /// One direction has shown a delay that no queue explains: what it shows is the least that the step may be.
    fn of_delay_below(point: &Least, above: (f64, f64)) -> Self {
        let span = span(point);
        let began = point.forward.at;
        Self { expected: 0.0, doubt: 0.0, began, span, until: began + span, least_above: above }
    }

    /// The least delays of both directions have jumped by as much, between round trips.
    fn of_jump(jump: Jump, point: &Least, above: (f64, f64)) -> Self {
        let span = span(point);
        let began = point.forward.at;
        // Which direction has to show it: the way there, whose queue is short, or the way back.
        let patience = if jump.step > 0.0 { PATIENCE_BACK } else { 1.0 };
        Self { expected: jump.step, doubt: jump.doubt, began, span, until: began + patience * span, least_above: above }
    }

    /// The bounds of the step: with less, a delay there would lie below the least one of before, with more, one back.
    fn bounds(&self) -> (f64, f64) {
        (-self.least_above.1, self.least_above.0)
    }

    fn is_within_bounds(&self, step: f64, doubt: f64) -> bool {
        let (least, most) = self.bounds();
        (least - doubt..=most + doubt).contains(&step)
    }

    fn is_proven(&self, least_step: f64) -> bool {
        let (least, most) = self.bounds();
        most < -least_step || least > least_step
    }

    /// The step within its bounds: the jump, if that is what the bounds are about; else the way there, whose queue is short,
    /// is taken to have been empty since.
    fn estimate(&self) -> f64 {
        let (least, most) = self.bounds();
        let is_far = least > most || !self.is_within_bounds(self.expected, self.doubt);
        let is_most = is_far || (most - self.expected).abs() <= self.doubt;
        if is_most { most } else { self.expected.clamp(least, most) }
    }

    /// Unproven, a jump that makes the way there look longer counts, since it would cost the flow its window for nothing;
    /// the other lasts only until the queue there ends.
    fn believed(&self, least_step: f64) -> f64 {
        if self.is_proven(least_step) { self.estimate() } else { self.expected.max(0.0) }
    }

    /// A step that goes back soon, by no more, was none: both directions have become shorter, one after the other.
    fn takes_back(&self, earlier: &LastStep, envelope: &Envelope) -> bool {
        let (least, most) = self.bounds();
        let shown = if most < 0.0 { most } else { least };
        let slack = envelope.tolerance() + earlier.size.abs() / 4.0;
        self.began < earlier.until && shown * earlier.size < 0.0 && shown.abs() <= earlier.size.abs() + slack
    }

    fn judge(&mut self, point: &Least, envelope: &Envelope) -> Verdict {
        let (at, above) = (point.forward.at, above(envelope, point));
        let was_proven = self.is_proven(envelope.least_step());
        self.least_above = (self.least_above.0.min(above.0), self.least_above.1.min(above.1));
        let (least, most) = self.bounds();
        let step = self.believed(envelope.least_step());
        let slack = envelope.tolerance() + step.abs() / 4.0;
        if least > most + slack || !(least - slack..=most + slack).contains(&step) {
            return Verdict::Queue;
        }
        let is_proven = self.is_proven(envelope.least_step());
        if is_proven && !was_proven {
            self.until = self.until.min(at + self.span);
        }
        match at >= self.until {
            false => Verdict::Open,
            // The way there, if it were no longer than before, would have shown it by now.
            true if is_proven || self.expected > 0.0 => Verdict::Step,
            true => Verdict::Queue,
        }
    }
}

/// How long the directions are given to contradict a step.
fn span(point: &Least) -> f64 {
    (TRIAL_ROUND_TRIPS * (point.forward.delay + point.backward.delay)).max(SHORTEST_TRIAL)
}

/// What the least delays there gained and those back lost.
#[derive(Clone, Copy, Debug)]
struct Jump {
    step: f64,
    doubt: f64,
}

/// The least delays there and back of the last round trips, in order.
#[derive(Clone, Debug, Default)]
struct Rounds {
    number: u64,
    least: VecDeque<(f64, f64)>,
}

impl Rounds {
    /// Returns what has jumped, when a round trip has ended.
    fn add(&mut self, number: u64, delays: (f64, f64), envelope: &Envelope) -> Option<Jump> {
        if number == self.number
            && let Some(last) = self.least.back_mut()
        {
            *last = least_pair(*last, delays);
            return None;
        }
        self.number = number;
        let jump = self.jump(envelope);
        if self.least.len() > 2 * SIDE {
            self.least.pop_front();
        }
        self.least.push_back(delays);
        jump
    }

    /// The round trip in which a clock is set holds delays of before and after, so that one is skipped.
    fn jump(&self, envelope: &Envelope) -> Option<Jump> {
        if self.least.len() <= 2 * SIDE {
            return None;
        }
        let least = |rounds: std::ops::Range<usize>| {
            self.least.range(rounds).copied().fold((f64::INFINITY, f64::INFINITY), least_pair)
        };
        jump(least(0..SIDE), least(SIDE + 1..2 * SIDE + 1), envelope)
    }
}

fn least_pair(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.min(b.1))
}

fn jump(from: (f64, f64), to: (f64, f64), envelope: &Envelope) -> Option<Jump> {
    let (there, back) = (to.0 - from.0, to.1 - from.1);
    let (step, residue) = ((there - back) / 2.0, (there + back).abs());
    let least_step = envelope.least_step().max(envelope.base_rtt() * LEAST_JUMP);
    let is_one = step.abs() >= least_step && residue <= envelope.tolerance().max(step.abs() / 4.0);
    is_one.then(|| Jump { step, doubt: residue / 2.0 + envelope.tolerance() })
}

/// A step that has stood its trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) size: f64,
    began: f64,
}

/// The step on trial, and what is to come into the history once it is decided.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    trial: Option<Trial>,
    rounds: Rounds,
    held: Vec<Least>,
    last: Option<LastStep>,
}

/// The last step that stood its trial, and until when it may still turn out to have been a queue.
#[derive(Clone, Copy, Debug)]
struct LastStep {
    size: f64,
    until: f64,
}

impl Watch {
    /// What the receiver's clock seems to have gained at once, zero mostly.
    pub(super) fn believed(&self, envelope: &Envelope) -> f64 {
        self.trial.map_or(0.0, |trial| trial.believed(envelope.least_step()))
    }

    /// Delays of another ACK become part of the history; those that a step may have made once that is decided. Returns a
    /// step that has stood its trial, taken off all that was held back.
    pub(super) fn add(&mut self, round: u64, point: &Least, envelope: &mut Envelope) -> Option<Step> {
        let jump = self.rounds.add(round, (point.forward.delay, point.backward.delay), envelope);
        let verdict = self.trial.as_mut().map(|trial| trial.judge(point, envelope));
        match verdict {
            Some(Verdict::Open) => {}
            Some(Verdict::Step) => return self.accept(point, envelope),
            Some(Verdict::Queue) | None => {
                self.release(envelope);
                self.trial = begin(envelope, jump, point);
            }
        }
        self.hold(point);
        if self.trial.is_none() {
            self.release(envelope);
        }
        None
    }

    fn accept(&mut self, point: &Least, envelope: &mut Envelope) -> Option<Step> {
        let trial = self.trial.take()?;
        self.hold(point);
        let is_step = !self.last.take().is_some_and(|last| trial.takes_back(&last, envelope));
        let step = Step { size: trial.estimate(), began: trial.began };
        if is_step {
            self.held.iter_mut().for_each(|held| *held = step.without(held));
            self.last = Some(LastStep { size: step.size, until: point.forward.at + PATIENCE_BACK * trial.span });
            self.rounds = Rounds::default();
        }
        self.release(envelope);
        is_step.then_some(step)
    }

    fn hold(&mut self, point: &Least) {
        if self.held.len() == MOST_HELD {
            self.held = self.held.chunks(2).map(least_of).collect();
        }
        self.held.push(*point);
    }

    fn release(&mut self, envelope: &mut Envelope) {
        self.held.drain(..).for_each(|held| envelope.add(&held));
    }
}

impl Step {
    fn without(&self, point: &Least) -> Least {
        let mut point = *point;
        if point.forward.at >= self.began {
            point.forward.delay -= self.size;
        }
        if point.backward.at >= self.began {
            point.backward.delay += self.size;
        }
        point
    }
}

fn above(envelope: &Envelope, point: &Least) -> (f64, f64) {
    envelope.above(point.forward.at, point.forward.delay, point.backward.delay)
}

/// A step seems to have come with this ACK, or some time before it.
fn begin(envelope: &Envelope, jump: Option<Jump>, point: &Least) -> Option<Trial> {
    let above = above(envelope, point);
    if !envelope.is_established() {
        return None;
    }
    let is_below = above.0.min(above.1) < -envelope.least_step();
    // A round trip shorter than the shortest is no clock's doing: the other direction would have to be as much longer.
    let is_in_both = above.0 + above.1 > -envelope.tolerance();
    if is_below && is_in_both {
        return Some(Trial::of_delay_below(point, above));
    }
    jump.map(|jump| Trial::of_jump(jump, point, above))
}

/// The least of each direction.
fn least_of(points: &[Least]) -> Least {
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
