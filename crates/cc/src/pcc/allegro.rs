//! PCC Allegro: the first PCC, with randomised trials of a little more and a little less.
//!
//! Source: Dong, Li, Zarchy, Godfrey, Schapira, "PCC: Re-architecting Congestion Control for Consistent High Performance",
//! NSDI 2015, sections 2.2 (the safe utility) and 3.2 (the control algorithm).
//!
//! Rules of the authors' programs: at most two round trips of the rate are in flight, and an interval takes at least 50
//! segments (PCC-Kernel). The start doubles only after the last step is known to have increased the utility; the rate
//! is at least two segments in a round trip (PCC-Kernel).
//!
//! Departures: the first window leaves immediately and, over a round trip, is the first rate. The paper begins with two
//! segments and PCC-Kernel with 4 Mbit/s; here intervals of two segments in a round trip would last 25 round trips;
//! data of an interval that is unaccounted for four round trips after its end counts as lost, and the rate is halved if
//! no data of it has arrived, where the authors' programs halve it immediately; steps of the adjustment follow one
//! another, where PCC-Kernel awaits the utility of each (which the paper does not mention); timeouts and marks are as
//! [`mod@crate::pcc`] says.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{RandomStream, SimDuration, math};

use super::monitor::Interval;
use super::{Plan, STARTING, Strategy, least_rate, trial_rate};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};

declare! {
    /// The parameters of [`Allegro`](super::Allegro).
    #[derive(Copy)]
    pub struct AllegroConfig {
        /// Loss fraction beyond which throughput has no utility.
        loss_threshold: f64 = default(0.05).above(0.0).below(1.0),
        /// Steepness of the loss threshold: alpha of the sigmoid.
        steepness: f64 = default(100.0).at_least(1.0).at_most(1e6),
        /// Smallest step of a trial, as a fraction of the rate.
        min_epsilon: f64 = default(0.01).above(0.0).below(1.0),
        /// Largest step of a trial, as a fraction of the rate.
        max_epsilon: f64 = default(0.05).above(0.0).below(1.0),
        /// Least number of segments in an interval. The paper says 10, of which a single loss is twice the threshold;
        /// the authors' kernel module says 50.
        interval_segments: u32 = default(50).at_least(2).at_most(100_000).unit("segments"),
    }
    apart {
        /// Seed of the random stream that orders trials and draws the lengths of intervals.
        seed: u64 = 0,
    }
    check |config, review| {
        review.at_most(("min_epsilon", &config.min_epsilon), ("max_epsilon", &config.max_epsilon));
    };
}

impl Algorithm for AllegroConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "tries slightly higher and lower rates in random order, and moves to the higher utility of throughput less loss",
        source: "Dong et al., PCC: Re-architecting Congestion Control for Consistent High Performance, NSDI 2015",
        departures: "the first window leaves at once and is the first rate; an interval's deadline is four round trips after its end, and the rate is halved there only if nothing of it has arrived; bounds in flight, intervals and the start are those of the authors' programs; a timeout leaves TCP's loss window; data is not ECN-capable",
        ..Name::called("pcc_allegro")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        Controller::Allegro(Box::new(super::Allegro::new(self, start)))
    }
}

/// The purpose of an interval and its stage: outcomes of earlier stages do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    stage: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A step of the rate, which its utility will confirm or revert.
    Step,
    /// A trial: its number among four, and whether its rate is higher.
    Trial { index: usize, up: bool },
    /// An interval at the base rate, while outcomes are awaited.
    Wait,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The start, which doubles the rate once the utility of the last step is known.
    Starting { awaits: bool },
    /// Four trials, in two pairs: the number begun, and their outcomes (utility, and whether the rate was higher).
    Deciding { begun: usize, outcomes: [Option<(f64, bool)>; 4], first_up: [bool; 2] },
    /// The adjustment: steps of growing size in one direction.
    Adjusting { direction: f64, steps: u32 },
}

/// The state of the strategy.
#[derive(Clone, Debug)]
pub(super) struct AllegroStrategy {
    config: AllegroConfig,
    mss: u64,
    initial_window: u64,
    state: State,
    stage: u32,
    /// The base rate, bit/s; zero before the first interval.
    rate: f64,
    epsilon: f64,
    /// The rate and utility of the last step.
    last: Option<(f64, f64)>,
}

/// The largest rate, bit/s: a rate beyond TCP's window does not change the utility, and would rise for ever.
const FASTEST: f64 = 1e11;

impl AllegroStrategy {
    pub(super) fn new(config: &AllegroConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            initial_window: start.initial_window.0,
            state: State::Starting { awaits: false },
            stage: 0,
            rate: 0.0,
            epsilon: config.min_epsilon,
            last: None,
        }
    }

    /// The utility `T(x) * Sigmoid(L - 0.05) - x * L`, where T is the arriving part of x Mbit/s.
    fn utility(&self, sent: f64, loss: f64) -> f64 {
        let over = self.config.steepness * (loss - self.config.loss_threshold);
        let sigmoid = 1.0 / (1.0 + math::exp(over));
        sent * (1.0 - loss) * sigmoid - sent * loss
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.stage += 1;
    }

    fn decide(&mut self, rate: f64) {
        self.rate = rate;
        self.last = None;
        self.enter(State::Deciding { begun: 0, outcomes: [None; 4], first_up: [false; 2] });
    }

    /// Judges a step by its `utility`. Returns the rate of the step before if that had a higher one.
    fn judge_step(&mut self, rate: f64, utility: f64) -> Option<f64> {
        let before = self.last.replace((rate, utility));
        before.filter(|(_, better)| utility < *better).map(|(rate, _)| rate)
    }

    fn learn_trial(&mut self, index: usize, up: bool, utility: f64) {
        let State::Deciding { outcomes, .. } = &mut self.state else { return };
        outcomes[index] = Some((utility, up));
        let [Some(a), Some(b), Some(c), Some(d)] = *outcomes else { return };
        let wins_up = |one: (f64, bool), other: (f64, bool)| {
            let (more, less) = if one.1 { (one.0, other.0) } else { (other.0, one.0) };
            more > less
        };
        let verdict = (wins_up(a, b), wins_up(c, d));
        if verdict.0 != verdict.1 {
            // Noise: try again with larger steps.
            self.epsilon = (self.epsilon + self.config.min_epsilon).min(self.config.max_epsilon);
            return self.decide(self.rate);
        }
        let direction = if verdict.0 { 1.0 } else { -1.0 };
        self.rate *= 1.0 + direction * self.epsilon;
        self.epsilon = self.config.min_epsilon;
        self.last = None;
        self.enter(State::Adjusting { direction, steps: 0 });
    }

    /// Plans a trial; trials come in pairs, each in random order.
    fn plan_trial(&mut self, least: f64, random: &mut RandomStream) -> (f64, Kind) {
        let State::Deciding { begun, first_up, .. } = &mut self.state else { return (self.rate, Kind::Wait) };
        let index = *begun;
        if index == 4 {
            return (self.rate, Kind::Wait);
        }
        *begun += 1;
        let (pair, is_first) = (index / 2, index.is_multiple_of(2));
        if is_first {
            first_up[pair] = random.chance(0.5);
        }
        let up = first_up[pair] == is_first;
        (trial_rate(self.rate, self.epsilon, up, least), Kind::Trial { index, up })
    }

    /// Plans a step: `r_n = r_(n-1) * (1 + n * epsilon_min * direction)`, the first at the rate that the decision
    /// chose.
    fn plan_step(&mut self, least: f64) -> (f64, Kind) {
        let State::Adjusting { direction, steps } = &mut self.state else { return (self.rate, Kind::Wait) };
        let next = self.rate * (1.0 + f64::from(*steps) * self.config.min_epsilon * *direction);
        self.rate = next.max(least).min(FASTEST);
        *steps += 1;
        (self.rate, Kind::Step)
    }
}

impl Strategy for AllegroStrategy {
    type Purpose = Purpose;

    const NAME: &'static str = "pcc_allegro";

    fn state(&self) -> &'static str {
        match self.state {
            State::Starting { .. } => STARTING,
            State::Deciding { .. } => "decision_making",
            State::Adjusting { .. } => "rate_adjusting",
        }
    }

    fn plan(&mut self, rtt: SimDuration, random: &mut RandomStream) -> Plan<Purpose> {
        let (segment, least) = (self.mss as f64 * 8.0, least_rate(self.mss, rtt));
        let (rate, kind) = match self.state {
            State::Starting { awaits: true } => (self.rate, Kind::Wait),
            State::Starting { awaits: false } => {
                // The initial window in a round trip, then twice as much at a time.
                self.state = State::Starting { awaits: true };
                let first = self.initial_window as f64 * 8.0 / rtt.as_secs_f64();
                let next = if self.rate == 0.0 { first.max(least) } else { 2.0 * self.rate };
                self.rate = next.min(FASTEST);
                (self.rate, Kind::Step)
            }
            State::Deciding { .. } => {
                self.rate = self.rate.max(least).min(FASTEST);
                self.plan_trial(least, random)
            }
            State::Adjusting { .. } => self.plan_step(least),
        };
        // So many segments, or 1.7 to 2.2 round trips, drawn anew for each.
        let segments = f64::from(self.config.interval_segments) * segment / rate;
        let trips = (1.7 + 0.5 * random.uniform()) * rtt.as_secs_f64();
        let length = SimDuration::from_secs_f64(segments.max(trips));
        Plan { rate, length, purpose: Purpose { stage: self.stage, kind } }
    }

    fn start_over(&mut self, purpose: Purpose) {
        if purpose.stage != self.stage || purpose.kind == Kind::Wait {
            return;
        }
        if matches!(self.state, State::Starting { .. }) {
            self.state = State::Starting { awaits: false };
            self.rate /= 2.0; // which the next step doubles
        } else {
            self.decide(self.rate);
        }
    }

    fn give_way(&mut self) {
        self.decide(self.rate / 2.0);
    }

    fn learn(&mut self, interval: &Interval<Purpose>) {
        let Purpose { stage, kind } = interval.purpose;
        if stage != self.stage {
            return;
        }
        let utility = self.utility(interval.sent_mbps(), interval.loss());
        match kind {
            Kind::Wait => {}
            Kind::Trial { index, up } => self.learn_trial(index, up, utility),
            Kind::Step => {
                if let State::Starting { awaits } = &mut self.state {
                    *awaits = false;
                }
                if let Some(rate) = self.judge_step(interval.rate as f64, utility) {
                    self.decide(rate);
                }
            }
        }
    }

    fn stage(&self) -> u32 {
        self.stage
    }

    fn base_rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy() -> AllegroStrategy {
        let start = Start::of(1_000, 10_000, None);
        AllegroStrategy::new(&AllegroConfig::default(), start)
    }

    #[test]
    fn the_utility_by_hand() {
        let strategy = strategy();
        // no loss: 100 * 1 / (1 + e^-5); at the threshold: 95 / 2 - 5; beyond: 90 / (1 + e^5) - 10
        for (loss, utility) in [(0.0, 99.330_715), (0.05, 42.5), (0.1, -9.397_643)] {
            assert!((strategy.utility(100.0, loss) - utility).abs() < 1e-5, "at {loss}");
        }
    }

    #[test]
    fn starting_waits_for_what_a_step_was_worth_and_two_pairs_that_agree_decide() {
        let (mut strategy, mut random) = (strategy(), RandomStream::new(1, "test"));
        let rtt = SimDuration::from_millis(100);
        let mut rate = |strategy: &mut AllegroStrategy| strategy.plan(rtt, &mut random).rate;
        let (first, waiting) = (rate(&mut strategy), rate(&mut strategy));
        strategy.state = State::Starting { awaits: false };
        let rates = [first, waiting, rate(&mut strategy)].map(|rate| rate as u64);
        assert_eq!(rates, [800_000, 800_000, 1_600_000]); // 10 * 8000 bit in 0.1 s
        strategy.decide(1e6);
        let trials: Vec<(f64, Kind)> =
            (0..5).map(|_| strategy.plan(rtt, &mut random)).map(|plan| (plan.rate, plan.purpose.kind)).collect();
        assert_eq!(trials[4], (1e6, Kind::Wait));
        let mut ups = 0;
        for (rate, kind) in &trials[..4] {
            let Kind::Trial { index, up } = *kind else { panic!("four trials") };
            assert!((rate - if up { 1.01e6 } else { 0.99e6 }).abs() < 1e-3);
            ups += u32::from(up);
            strategy.learn_trial(index, up, if up { 2.0 } else { 1.0 });
        }
        assert_eq!(ups, 2);
        // 1.01 first; then 1 and 2 steps of a hundredth more
        for expected in [1.01e6, 1.01e6 * 1.01, 1.01e6 * 1.01 * 1.02] {
            assert!((strategy.plan_step(0.0).0 - expected).abs() < 1e-3);
        }
    }

    /// Two segments in a round trip of 100 ms are 160 kbit/s; a step of twice a half would leave nothing.
    #[test]
    fn steps_end_at_two_segments_in_a_round_trip() {
        let (mut strategy, mut random) = (strategy(), RandomStream::new(1, "test"));
        strategy.config.min_epsilon = 0.5;
        strategy.rate = 1e6;
        let rtt = SimDuration::from_millis(100);
        strategy.enter(State::Adjusting { direction: -1.0, steps: 0 });
        let rates = [(); 5].map(|()| strategy.plan(rtt, &mut random).rate as u64);
        assert_eq!(rates, [1_000_000, 500_000, 160_000, 160_000, 160_000]);
    }

    #[test]
    fn pairs_that_disagree_widen_the_trial() {
        let mut strategy = strategy();
        strategy.decide(1e6);
        for (index, utility) in [(0, 2.0), (1, 1.0), (2, 1.0), (3, 2.0)] {
            strategy.learn_trial(index, index % 2 == 0, utility);
        }
        assert!(matches!(strategy.state, State::Deciding { begun: 0, .. }));
        assert!((strategy.epsilon - 0.02).abs() < 1e-12);
    }
}
