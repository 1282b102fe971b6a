//! Steps of a clock. A trial decides whether a clock that was set has changed the delays, or a queue by chance.
//!
//! Source: none; see [`super::skew_tolerant`], which states the method and its assumptions. Times and delays are in ns.

use std::collections::VecDeque;

use super::envelope::{Envelope, Least};

/// The length of a trial in round trips, and its least length, ns.
const TRIAL_ROUND_TRIPS: f64 = 8.0;
const SHORTEST_TRIAL: f64 = 5e8;
/// The factor of the length for a trial that waits for the queue on the reverse path to end.
const PATIENCE_BACK: f64 = 10.0;
/// The round trips before and after a jump with compared least delays.
const SIDE: usize = 3;
/// The least jump, as a fraction of the propagation delay: shorter ones are mostly queues and cost Vegas little.
const LEAST_JUMP: f64 = 1.0 / 8.0;
/// The largest number of delays held back; beyond it pairs are merged to their least.
const MOST_HELD: usize = 64;

/// A possible step on trial: a sudden gain of the receiver's clock.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The jump that was seen and its error; zero without one.
    expected: f64,
    doubt: f64,
    began: f64,
    /// The length of a trial once a delay has shown the step, and the end of this one.
    span: f64,
    until: f64,
    /// The least excess of each direction over the earlier least delays, the step not taken off.
    least_above: (f64, f64),
}

enum Verdict {
    Open,
    Queue,
    Step,
}

impl Trial {
    /// A trial after a delay of one direction that no queue explains: the delay bounds the step from below.
    fn of_delay_below(point: &Least, above: (f64, f64)) -> Self {
        let span = span(point);
        let began = point.forward.at;
        Self { expected: 0.0, doubt: 0.0, began, span, until: began + span, least_above: above }
    }

    /// A trial after a jump of both directions' least delays between round trips.
    fn of_jump(jump: Jump, point: &Least, above: (f64, f64)) -> Self {
        let span = span(point);
        let began = point.forward.at;
        // Which direction has to show it: the forward path, whose queue is short, or the reverse path.
        let patience = if jump.step > 0.0 { PATIENCE_BACK } else { 1.0 };
        Self { expected: jump.step, doubt: jump.doubt, began, span, until: began + patience * span, least_above: above }
    }

    /// The bounds of the step: a smaller one would put a delay there below the earlier least one, a larger one a delay
    /// back.
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

    /// The step within its bounds: the jump, if the bounds allow about that. Otherwise the way there, with its short
    /// queue, counts as empty since.
    fn estimate(&self) -> f64 {
        let (least, most) = self.bounds();
        let is_far = least > most || !self.is_within_bounds(self.expected, self.doubt);
        let is_most = is_far || (most - self.expected).abs() <= self.doubt;
        if is_most { most } else { self.expected.clamp(least, most) }
    }

    /// The step that counts during the trial. A jump that lengthens the way there counts, since it would cost the flow
    /// its window for nothing. The other lasts only until the queue there ends.
    fn believed(&self, least_step: f64) -> f64 {
        if self.is_proven(least_step) { self.estimate() } else { self.expected.max(0.0) }
    }

    /// True if the step soon reverts an earlier one, by no more. Then neither was a step: both directions have become
    /// shorter, one after the other.
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

/// The time in which the directions may contradict a step, ns.
fn span(point: &Least) -> f64 {
    (TRIAL_ROUND_TRIPS * (point.forward.delay + point.backward.delay)).max(SHORTEST_TRIAL)
}

/// The gain of the least delays there, equal to the loss of those back.
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
    /// Adds delays; returns the jump, if a round trip has ended with one.
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

    /// The jump between round trips. The one in which a clock is set holds delays from before and after, and is
    /// skipped.
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

/// A step that has passed its trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) size: f64,
    began: f64,
}

/// The step on trial, and the delays to add to the history once it is decided.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    trial: Option<Trial>,
    rounds: Rounds,
    held: Vec<Least>,
    last: Option<LastStep>,
}

/// The last step that passed its trial, and the time until which it may still turn out to be a queue.
#[derive(Clone, Copy, Debug)]
struct LastStep {
    size: f64,
    until: f64,
}

impl Watch {
    /// The sudden gain of the receiver's clock that counts at present, mostly zero.
    pub(super) fn believed(&self, envelope: &Envelope) -> f64 {
        self.trial.map_or(0.0, |trial| trial.believed(envelope.least_step()))
    }

    /// Adds an ACK's delays to the history; those that a step may have changed wait for its trial. Returns a step that
    /// has passed its trial; it is taken off all delays held back.
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

/// Begins a trial if a step seems to have come with this ACK, or some time before.
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

/// The least delays of each direction.
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
