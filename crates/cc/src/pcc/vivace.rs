//! PCC Vivace: follows the gradient of a utility that counts delay as it grows.
//!
//! Source: Dong, Meng, Zarchy, Arslan, Gilad, Godfrey, Schapira, "PCC Vivace: Online-Learning Congestion Control", NSDI
//! 2018, equation (1) and section 4 (rate control), with the constants of section 6.
//!
//! Two pairs of trials have to agree before the rate moves, or trials begin again, as in the authors' program of the
//! paper's year (PCC-Uspace, `pcc_sender.cpp`, `kNumIntervalGroupsInProbing`); the paper takes one pair for each step
//! (`pairs` = 1), in whose difference random losses weigh more than the rates. A later program
//! (`pcc_vivace_sender.cpp`) takes three, of which two lead up and only three down: chance then leads up. At 8 % of
//! random loss it keeps half of a link, although the paper's utility is maximal near zero. The step is the paper's,
//! along the mean gradient of the pairs.
//!
//! Rules of the authors' programs: at most two round trips of the rate are in flight and the rate is at least two
//! segments in a round trip (PCC-Kernel); the start doubles only when the last rate is known to have increased the
//! utility, and does not count a draining queue as a gain; an interval takes ten segments at least, and a step half a
//! Mbit/s (PCC-Uspace); a gradient of delay that is less than the error of its regression counts for nothing.
//!
//! Departures: a step is never more than that of a trial for being the least; after the start a draining queue pays, as
//! in the paper's equation and unlike later code; each step begins with trials, as in the paper, where the authors'
//! programs go on by single intervals until the gradient turns; the first window leaves at once; data of an interval
//! that is unaccounted for four round trips after its end counts as lost, and the rate is halved if no data of it has
//! arrived; timeouts and marks are as [`mod@crate::pcc`] says.
//!
//! Checked: all constants against those of the authors' and of WebRTC's first version; the runs held to it are in
//! docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{RandomStream, SimDuration, math};

use super::monitor::Interval;
use super::{Plan, STARTING, Strategy, least_rate, trial_rate};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};

declare! {
    /// The parameters of [`Vivace`](super::Vivace).
    #[derive(Copy)]
    pub struct VivaceConfig {
        /// Exponent t of the utility: a rate of x Mbit/s is worth x^t.
        exponent: f64 = default(0.9).above(0.0).below(1.0),
        /// Price of a growing RTT, b; 0 ignores delay.
        latency_coefficient: f64 = default(900.0).at_least(0.0).at_most(1e6),
        /// Price of loss, c.
        loss_coefficient: f64 = default(11.35).at_least(0.0).at_most(1e6),
        /// Step of a trial, as a fraction of the rate.
        epsilon: f64 = default(0.05).above(0.0).below(1.0),
        /// Step along the gradient, `theta_0`, in Mbit/s for each unit of it.
        conversion: f64 = default(1.0).at_least(1e-6).at_most(1e6),
        /// Bound of a change, omega, as a fraction of the rate.
        bound: f64 = default(0.05).above(0.0).below(1.0),
        /// Widening of the bound by each change that meets it, delta.
        bound_step: f64 = default(0.1).at_least(1e-6).at_most(1e6),
        /// Growth of the RTT, in seconds per second, that counts as noise.
        latency_tolerance: f64 = default(0.01).at_least(0.0).at_most(1e6),
        /// Least change of the rate, Mbit/s, unless the step of a trial is smaller.
        least_step: f64 = default(0.5).at_least(0.0).at_most(1e6).source("kMinimumRateChange of PCC-Uspace"),
        /// Pairs of trials that must agree before the rate moves.
        pairs: u32 = default(2).at_least(1).at_most(MOST_PAIRS as u32).unit("pairs").source("kNumIntervalGroupsInProbing of PCC-Uspace"),
        /// Least number of segments in an interval.
        interval_segments: u32 = default(10).at_least(2).at_most(100_000).unit("segments").source("PCC-Uspace"),
    }
    apart {
        /// Seed of the random stream that orders trials.
        seed: u64 = 0,
    }
}

impl Algorithm for VivaceConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "follows the gradient of a utility with a price on a growing RTT: full links without queues",
        source: "Dong et al., PCC Vivace: Online-Learning Congestion Control, NSDI 2018",
        departures: "two pairs of trials have to agree, as in the authors' program, and each step begins with trials, as in the paper; the first window leaves at once; an interval's deadline is four round trips after its end; bounds in flight, least rate and step, intervals and the start are those of the authors' programs; a timeout leaves TCP's loss window; data is not ECN-capable",
        ..Name::called("pcc_vivace")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        Controller::Vivace(Box::new(super::Vivace::new(self, start)))
    }
}

/// The purpose of an interval and its step: outcomes of earlier steps do not count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    step: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Start,
    /// A trial of this pair, at the higher or the lower rate.
    Trial {
        pair: usize,
        up: bool,
    },
    Wait,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The start, which doubles once the utility of the last rate is known; the previous rate and utility.
    Starting { last: Option<(f64, f64)>, awaits: bool },
    /// Pairs of trials: the number of trials begun, the first one of the present pair, and the outcomes.
    Probing { begun: usize, first_up: bool, pairs: [Pair; MOST_PAIRS] },
}

const MOST_PAIRS: usize = 5;

/// The utilities of the higher and the lower rate.
#[derive(Clone, Copy, Debug)]
struct Pair {
    more: Option<f64>,
    less: Option<f64>,
}

const UNTRIED: Pair = Pair { more: None, less: None };

const PROBING: State = State::Probing { begun: 0, first_up: false, pairs: [UNTRIED; MOST_PAIRS] };

/// The state of the strategy.
#[derive(Clone, Debug)]
pub(super) struct VivaceStrategy {
    config: VivaceConfig,
    mss: u64,
    state: State,
    step: u32,
    /// The base rate, Mbit/s; zero before the first interval.
    rate: f64,
    /// The direction of the last change, the number of changes in a row, and the number of those that were bounded.
    direction: f64,
    in_a_row: f64,
    bounded: f64,
}

impl VivaceStrategy {
    pub(super) fn new(config: &VivaceConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0,
            state: State::Starting { last: None, awaits: false },
            step: 0,
            rate: 0.0,
            direction: 0.0,
            in_a_row: 0.0,
            bounded: 0.0,
        }
    }

    /// The utility `x^t - b x dRTT/dT - c x L`, with x in Mbit/s.
    fn utility(&self, sent: f64, gradient: f64, loss: f64) -> f64 {
        let is_noise = gradient.abs() < self.config.latency_tolerance;
        let gradient = if is_noise { 0.0 } else { gradient };
        math::pow(sent, self.config.exponent)
            - self.config.latency_coefficient * sent * gradient
            - self.config.loss_coefficient * sent * loss
    }

    fn probe(&mut self, rate: f64) {
        self.rate = rate;
        self.state = PROBING;
        self.step += 1;
    }

    /// Moves along the gradient: faster as steps in one direction follow each other, within a bound that widens as it
    /// is met.
    fn follow(&mut self, gradient: f64) {
        let direction = gradient.signum();
        if direction * self.direction > 0.0 {
            self.in_a_row += 1.0;
        } else {
            (self.direction, self.in_a_row, self.bounded) = (direction, 1.0, 0.0);
        }
        let amplifier = if self.in_a_row <= 3.0 { self.in_a_row } else { 2.0 * self.in_a_row - 3.0 };
        let least = self.config.least_step.min(self.config.epsilon * self.rate);
        let wanted = direction * (amplifier * self.config.conversion * gradient).abs().max(least);
        let bound = self.config.bound + self.bounded * self.config.bound_step;
        let change = if wanted.abs() > bound * self.rate {
            self.bounded += 1.0;
            direction * bound * self.rate
        } else {
            // The least bound that would not have been met.
            let over = wanted.abs() / self.rate - self.config.bound;
            self.bounded = (over / self.config.bound_step).ceil().max(0.0);
            wanted
        };
        self.probe(self.rate + change);
    }

    fn learn_trial(&mut self, pair: usize, up: bool, utility: f64) {
        let count = self.config.pairs as usize;
        let State::Probing { pairs, .. } = &mut self.state else { return };
        *(if up { &mut pairs[pair].more } else { &mut pairs[pair].less }) = Some(utility);
        let (mut sum, mut ups) = (0.0, 0);
        for pair in &pairs[..count] {
            let (Some(more), Some(less)) = (pair.more, pair.less) else { return };
            sum += more - less;
            ups += usize::from(more > less);
        }
        if ups == 0 || ups == count {
            self.follow(sum / count as f64 / (2.0 * self.config.epsilon * self.rate));
        } else {
            self.probe(self.rate);
        }
    }

    fn plan_trial(&mut self, least: f64, random: &mut RandomStream) -> (f64, Kind) {
        let State::Probing { begun, first_up, .. } = &mut self.state else { return (self.rate, Kind::Wait) };
        let (pair, is_first) = (*begun / 2, begun.is_multiple_of(2));
        if pair == self.config.pairs as usize {
            return (self.rate, Kind::Wait);
        }
        if is_first {
            *first_up = random.chance(0.5);
        }
        let up = *first_up == is_first;
        *begun += 1;
        (trial_rate(self.rate, self.config.epsilon, up, least), Kind::Trial { pair, up })
    }
}

impl Strategy for VivaceStrategy {
    type Purpose = Purpose;

    const NAME: &'static str = "pcc_vivace";

    fn state(&self) -> &'static str {
        match self.state {
            State::Starting { .. } => STARTING,
            State::Probing { .. } => "probing",
        }
    }

    /// Plans an interval, which lasts a round trip, and as long as its least number of segments takes.
    fn plan(&mut self, rtt: SimDuration, random: &mut RandomStream) -> Plan<Purpose> {
        let least = least_rate(self.mss, rtt) / 1e6;
        let (rate, kind) = match self.state {
            State::Starting { awaits: true, .. } => (self.rate, Kind::Wait),
            State::Starting { last, awaits: false } => {
                self.state = State::Starting { last, awaits: true };
                self.rate = if self.rate == 0.0 { least } else { 2.0 * self.rate };
                (self.rate, Kind::Start)
            }
            State::Probing { .. } => {
                self.rate = self.rate.max(least);
                self.plan_trial(least, random)
            }
        };
        let segments = f64::from(self.config.interval_segments) * self.mss as f64 * 8.0 / (rate * 1e6);
        let length = rtt.max(SimDuration::from_secs_f64(segments));
        Plan { rate: rate * 1e6, length, purpose: Purpose { step: self.step, kind } }
    }

    fn start_over(&mut self, purpose: Purpose) {
        if purpose.step != self.step || purpose.kind == Kind::Wait {
            return;
        }
        if let State::Starting { awaits, .. } = &mut self.state {
            *awaits = false;
            self.rate /= 2.0; // which the next step doubles
        } else {
            self.probe(self.rate);
        }
    }

    fn give_way(&mut self) {
        (self.direction, self.in_a_row, self.bounded) = (0.0, 0.0, 0.0);
        self.probe(self.rate / 2.0);
    }

    fn learn(&mut self, interval: &Interval<Purpose>) {
        let Purpose { step, kind } = interval.purpose;
        if step != self.step {
            return;
        }
        // A queue that drains is no reason to go on doubling.
        let starts = matches!(self.state, State::Starting { .. });
        let gradient = interval.rtt_gradient().max(if starts { 0.0 } else { f64::NEG_INFINITY });
        let utility = self.utility(interval.sent_mbps(), gradient, interval.loss());
        match (kind, &mut self.state) {
            (Kind::Start, State::Starting { last, awaits }) => {
                *awaits = false;
                let before = last.replace((interval.rate as f64 / 1e6, utility));
                if let Some((rate, _)) = before.filter(|(_, better)| utility < *better) {
                    self.probe(rate);
                }
            }
            (Kind::Trial { pair, up }, _) => self.learn_trial(pair, up, utility),
            _ => {}
        }
    }

    fn stage(&self) -> u32 {
        self.step
    }

    fn base_rate(&self) -> f64 {
        self.rate * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy(rate: f64, least_step: f64) -> VivaceStrategy {
        let start = Start::of(1_000, 10_000, None);
        let mut strategy = VivaceStrategy::new(&VivaceConfig { least_step, ..VivaceConfig::default() }, start);
        strategy.probe(rate);
        strategy
    }

    #[test]
    fn the_utility_by_hand() {
        let strategy = strategy(100.0, 0.0);
        // 100^0.9 = 63.095 734; 900 * 100 * 0.02 = 1800; 11.35 * 100 * 0.01 = 11.35
        for (gradient, loss, utility) in [(0.0, 0.0, 63.095_734), (0.02, 0.0, -1_736.904_266), (0.0, 0.01, 51.745_734)]
        {
            assert!((strategy.utility(100.0, gradient, loss) - utility).abs() < 1e-5);
        }
        let (noise, none) = (strategy.utility(100.0, 0.009, 0.0), strategy.utility(100.0, 0.0, 0.0));
        assert_eq!(noise.to_bits(), none.to_bits());
    }

    /// Section 4.2: steps are amplified, and bounds widen, while the rate goes on in one direction; here it has fallen by half.
    #[test]
    fn a_rate_that_gave_way_goes_up_as_by_a_first_step() {
        let step = |strategy: &mut VivaceStrategy| {
            let before = strategy.rate;
            strategy.follow(1.0);
            strategy.rate - before
        };
        let mut strategy = strategy(100.0, 0.0);
        let first = step(&mut strategy);
        for _ in 0..6 {
            step(&mut strategy);
        }
        strategy.give_way();
        assert!((step(&mut strategy) - first).abs() < 1e-9);
    }

    #[test]
    fn steps_in_a_row_are_amplified_and_turning_begins_anew() {
        let mut strategy = strategy(100.0, 0.0);
        let mut follow = |gradient| {
            let before = strategy.rate;
            strategy.follow(gradient);
            strategy.rate - before
        };
        // m = 1, 2, 3, 5 (2 * 4 - 3)
        for change in [0.5, 1.0, 1.5, 2.5] {
            assert!((follow(0.5) - change).abs() < 1e-9);
        }
        assert!((follow(-0.5) + 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_step_is_half_a_megabit_at_least_and_no_more_than_a_trials() {
        for (rate, step) in [(100.0, 0.5), (4.0, 0.2)] {
            let mut strategy = strategy(rate, 0.5);
            strategy.follow(1e-3);
            assert!((strategy.rate - rate - step).abs() < 1e-9); // a twentieth of 4 is less than a half
        }
    }

    #[test]
    fn the_rate_moves_where_both_pairs_agree() {
        // PCC-Uspace, CanMakeDecision: trials of 105 and 95, so much more worth for more than for less; a step of the mean over 10
        for (differences, rate) in
            [([5.0, 5.0], 100.5), ([4.0, 2.0], 100.3), ([-5.0, -5.0], 99.5), ([-5.0, 9.0], 100.0)]
        {
            let mut strategy = strategy(100.0, 0.0);
            for (pair, difference) in differences.into_iter().enumerate() {
                strategy.learn_trial(pair, true, 60.0 + difference);
                strategy.learn_trial(pair, false, 60.0);
            }
            assert!((strategy.rate - rate).abs() < 1e-9, "{differences:?}: {}", strategy.rate);
        }
    }

    /// PCC-Kernel: the rate is at least two segments in a round trip, that of a trial, too.
    #[test]
    fn no_trial_is_below_the_least_rate() {
        let mut strategy = strategy(1.0, 0.0);
        strategy.config.epsilon = 0.999_999;
        let mut random = RandomStream::new(1, "trials");
        let rtt = SimDuration::from_millis(100);
        let rates: Vec<f64> = (0..2).map(|_| strategy.plan(rtt, &mut random).rate).collect();
        // 2 * 1000 octets in 100 ms
        assert!(rates.iter().any(|rate| (rate - 160_000.0).abs() < 1e-6), "{rates:?}");
        assert!(rates.iter().all(|rate| *rate >= 160_000.0), "{rates:?}");
    }

    #[test]
    fn the_bound_of_a_change_widens_by_a_tenth() {
        let mut strategy = strategy(100.0, 0.0);
        strategy.follow(1e6);
        assert!((strategy.rate - 105.0).abs() < 1e-9); // 5 %
        strategy.follow(1e6);
        assert!((strategy.rate - 120.75).abs() < 1e-9); // 15 % of 105
        strategy.follow(-1e6);
        assert!((strategy.rate - 120.75 * 0.95).abs() < 1e-9);
    }
}
