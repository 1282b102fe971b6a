//! The part that both controllers share: the times at which the agent remembers, learns and acts, and its reward.

use ackclock_declare::{declare, default, unset, words};
use ackclock_learn::{Agent, AgentConfig, Learning, Network, Normalisation, Normaliser};
use ackclock_units::{RandomStream, SimDuration};

use super::mind::{Choice, Frozen, Mind};
use super::shared::{SharedAgent, SharedAgents};
use super::window::{BelowSsthresh, DecreaseFrom, WindowRules};
use crate::slow_start::{Hystart, SlowStartCount};

words! {
    /// The events that trigger a learning step.
    #[derive(Default)]
    pub enum LearnOn {
        /// A learning step with each action.
        "action" = Action,
        /// A learning step with each stored tuple.
        #[default]
        "tuple" = Tuple,
    }
}

words! {
    /// The throughput that counts as the greatest, to which rewards relate.
    #[derive(Default)]
    pub enum MaxThroughput {
        /// The greatest throughput at a congestion so far; before the first, the greatest of all.
        #[default]
        "congestion" = Congestion,
        /// The greatest throughput at a congestion during an action; before the first, the greatest under actions. Slow
        /// start's, twice the path's capacity, does not count.
        "avoidance" = Avoidance,
        /// The greatest throughput so far.
        "always" = Always,
    }
}

words! {
    /// The scaling of windows and times to inputs of the network.
    #[derive(Default)]
    pub enum StateScale {
        /// Scaling by mean and deviation of this flow's history.
        #[default]
        "running" = Running,
        /// Division by `segment_scale` and `time_scale`.
        "fixed" = Fixed,
        /// No scaling: packets and milliseconds.
        "raw" = Raw,
    }
}

declare! {
    /// Parameters of both controllers, with the papers' numbers, and defaults of this project where they have none.
    pub struct DqnConfig {
        /// A name for a shared agent: flows with the same name share one network and one replay. The other parameters
        /// of their controllers must be alike.
        agent: Option<String> = unset("each flow has an agent of its own")
            .must_be("a name", |name: &Option<String>| name.as_ref().is_none_or(|name| !name.trim().is_empty())),
        /// Trigger of a learning step: each action, or each tuple.
        learn_on: LearnOn = LearnOn::Tuple,
        /// Scaling of states: by mean and deviation so far, by the two scales, or none.
        normalisation: StateScale = StateScale::Running,
        /// Window that counts as 1 under "fixed".
        segment_scale: f64 = default(1_000.0).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Time that counts as 1 under "fixed".
        time_scale: SimDuration = default(SimDuration::from_millis(100)).above(SimDuration::ZERO),
        /// Throughput to which rewards relate: the greatest cwnd/RTT at a congestion so far, at one after slow start,
        /// or of all so far.
        max_throughput: MaxThroughput = MaxThroughput::Congestion,
        /// Readings in a state: the present one and those of the last decisions, as a memory.
        recent: usize = default(1).at_least(1).at_most(100).unit("readings"),
        /// Make the first hidden layer recurrent (Elman 1990): it takes a state's readings in turn, each with its
        /// output for the one before. It has a state of its own over `recent` readings.
        recurrent: bool = false,
        /// Fraction of the window kept on congestion; also the threshold of the state.
        beta: f64 = default(0.7).above(0.0).below(1.0),
        /// Base of that fraction on congestion: cwnd, as the papers say, or the flight size (RFC 5681).
        decrease_from: DecreaseFrom = DecreaseFrom::Cwnd,
        /// Least window that an action may set.
        min_window: u64 = default(2).at_least(1).at_most(10_000).unit("segments"),
        /// Rule for a window that an action has taken below ssthresh: RFC 5681's slow start, or the agent's actions.
        below_ssthresh: BelowSsthresh = BelowSsthresh::SlowStart,
    }
    within {
        /// Parameters of the network, the optimiser, the replay and the exploration.
        learning: Learning = Learning::default(),
    }
    apart {
        /// Seed of the agent's random stream.
        seed: u64 = 0,
        /// Frozen network in place of the agent: nothing is learnt.
        frozen: Option<Frozen> = None,
        /// Shared agent of the name, in a simulation with flows that have it; else each flow has its own.
        shared: Option<SharedAgent> = None,
    }
    check |config, review| {
        if config.recurrent && (config.recent < 2 || config.learning.hidden.is_empty()) {
            let message = "needs two readings and a hidden layer that takes them one after the other";
            review.report("recurrent", message, "use recent = 8 with it, and a hidden layer");
        }
    };
}

impl DqnConfig {
    /// The parameters with `hidden` nodes in each hidden layer.
    pub(super) fn with_hidden(hidden: Vec<usize>) -> Self {
        Self { learning: Learning { hidden, ..Learning::default() }, ..Self::default() }
    }

    /// The rules of the window, with the slow start of a controller.
    pub(super) fn rules(&self, slow_start: SlowStartCount, hystart: Hystart) -> WindowRules {
        let Self { beta, decrease_from, min_window, below_ssthresh, .. } = *self;
        WindowRules { beta, decrease_from, min_window, below_ssthresh, slow_start, hystart }
    }

    /// Takes the shared agent of its name from `agents`.
    pub(super) fn join(&mut self, agents: &mut SharedAgents) {
        self.shared = self.agent.as_ref().map(|name| agents.named(name));
    }
}

/// The kind of a number of the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Segments,
    Milliseconds,
}

/// The reward of a loss.
const LOSS: f32 = -1.0;

/// An agent with N numbers in a reading of its state.
#[derive(Clone, Debug)]
pub(super) struct Learner<const N: usize> {
    mind: Mind,
    warm_up: u64,
    learn_on: LearnOn,
    max_throughput: MaxThroughput,
    /// The throughput to which rewards relate, segments/s.
    greatest: Option<f64>,
    greatest_of_all: f64,
    /// The action of the present tuple.
    pending: Option<usize>,
    /// The state at the beginning of the tuple.
    began: Vec<f32>,
    /// The present state.
    seen: Vec<f32>,
    /// The readings at the last decisions, which are part of every state, the newest last.
    memory: Vec<f32>,
    recent: usize,
    reward: f32,
    action: usize,
}

impl<const N: usize> Learner<N> {
    pub(super) fn new(config: &DqnConfig, name: &str, kinds: [Kind; N], actions: usize) -> Self {
        let scale = |kind| match kind {
            Kind::Segments => config.segment_scale,
            Kind::Milliseconds => config.time_scale.as_millis_f64(),
        };
        let normalisation = match config.normalisation {
            StateScale::Raw => Normalisation::Raw,
            StateScale::Running => Normalisation::Running,
            StateScale::Fixed => Normalisation::Scale(kinds.map(scale).repeat(config.recent)),
        };
        let inputs = N * config.recent;
        let readings = if config.recurrent { config.recent } else { 1 };
        let agent = AgentConfig { inputs, readings, actions, normalisation, learning: config.learning.clone() };
        let agent = || Mind::learning(&agent, RandomStream::new(config.seed, name), config.shared.as_ref());
        Self {
            mind: config.frozen.as_ref().map_or_else(agent, |frozen| Mind::Frozen(Choice::new(frozen, actions))),
            warm_up: config.learning.warm_up,
            learn_on: config.learn_on,
            max_throughput: config.max_throughput,
            greatest: None,
            greatest_of_all: 0.0,
            pending: None,
            began: Vec::with_capacity(inputs),
            seen: Vec::with_capacity(inputs),
            memory: Vec::with_capacity(inputs),
            recent: config.recent,
            reward: 0.0,
            action: 0,
        }
    }

    /// The trained network; `None` if nothing is learnt, or with a memory, which policy files do not support.
    pub(super) fn exported(&self) -> Option<(Network, Normaliser)> {
        let learnt = self.mind.look(|agent| (agent.network().clone(), agent.normaliser().clone()));
        learnt.filter(|_| self.recent == 1)
    }

    /// Replaces a shared agent: see [`Mind::join`].
    pub(super) fn join(&mut self, agents: &mut SharedAgents) {
        self.mind.join(agents);
    }

    /// Completes the tuple and begins the next, under the same action. The reward is `throughput / greatest
    /// throughput`, both in segments/s.
    pub(super) fn store(&mut self, state: [f32; N], throughput: f64) {
        self.greatest_of_all = self.greatest_of_all.max(throughput);
        let greatest = match self.max_throughput {
            MaxThroughput::Congestion | MaxThroughput::Avoidance => self.greatest.unwrap_or(self.greatest_of_all),
            MaxThroughput::Always => self.greatest_of_all,
        };
        if greatest > 0.0 {
            self.complete(state, (throughput / greatest) as f32);
        }
    }

    /// Completes the tuple with the reward of a loss, otherwise like [`Self::store`]. The following states belong to
    /// recovery, not to the action, so that no tuple begins.
    pub(super) fn store_loss(&mut self, state: [f32; N], throughput: f64) {
        let counts = self.max_throughput != MaxThroughput::Avoidance || self.pending.is_some();
        self.complete(state, LOSS);
        self.forget();
        if !counts {
            return;
        }
        if throughput > 0.0 {
            self.greatest = Some(self.greatest.unwrap_or(0.0).max(throughput));
        }
        self.greatest_of_all = self.greatest_of_all.max(throughput);
    }

    /// Drops the tuple, because the following states do not depend on the action.
    pub(super) fn forget(&mut self) {
        self.pending = None;
        self.mind.end();
    }

    fn complete(&mut self, next: [f32; N], reward: f32) {
        let Some(action) = self.pending else { return };
        self.reward = reward;
        self.see(next);
        self.mind.store(&self.began, action, reward, &self.seen);
        std::mem::swap(&mut self.began, &mut self.seen);
        if self.learn_on == LearnOn::Tuple {
            self.mind.learn();
        }
    }

    /// Chooses an action, with which a tuple begins.
    pub(super) fn act(&mut self, state: [f32; N]) -> usize {
        if self.learn_on == LearnOn::Action {
            self.mind.learn();
        }
        self.see(state);
        std::mem::swap(&mut self.began, &mut self.seen);
        self.action = self.mind.decide(&self.began);
        self.pending = Some(self.action);
        self.remember(state);
        self.action
    }

    /// Makes a state of a reading and the memory; the first reading stands for those before it.
    fn see(&mut self, reading: [f32; N]) {
        self.seen.clear();
        let remembered = self.memory.len() / N;
        let first = self.memory.first_chunk().copied().unwrap_or(reading);
        for _ in remembered..self.recent - 1 {
            self.seen.extend(first);
        }
        self.seen.extend(&self.memory);
        self.seen.extend(reading);
    }

    fn remember(&mut self, reading: [f32; N]) {
        self.memory.extend(reading);
        let kept = N * (self.recent - 1);
        self.memory.drain(..self.memory.len().saturating_sub(kept));
    }

    /// Decides, stores and learns `decisions` times on random states and rewards, after the warm-up. Returns the number
    /// of learning steps.
    pub(super) fn exercise(&mut self, decisions: u64) -> u64 {
        let mut random = RandomStream::new(0, "exercise");
        let steps = |mind: &Mind| mind.look(Agent::steps).unwrap_or(0);
        let before = steps(&self.mind);
        for _ in 0..self.warm_up + decisions {
            let state = std::array::from_fn(|_| random.uniform() as f32);
            self.complete(state, random.uniform() as f32);
            self.act(state);
        }
        steps(&self.mind) - before
    }

    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let told = self.mind.look(|agent| {
            record("learning_loss", agent.loss().map_or(f64::NAN, f64::from));
            record("epsilon", agent.epsilon());
            record("tuples", agent.tuples() as f64);
            record("learning_steps", agent.steps() as f64);
        });
        if told.is_some() {
            record("reward", f64::from(self.reward));
            record("max_throughput_segments_per_s", self.greatest.unwrap_or(self.greatest_of_all));
        }
        record("action", self.action as f64);
        self.mind.inspect(record);
    }
}

#[cfg(test)]
impl<const N: usize> Learner<N> {
    /// The value that [`Self::inspect`] reports under this name.
    pub(super) fn told(&self, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        self.inspect(&mut |name, value| found = if name == wanted { value } else { found });
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "numbers by hand that f64 holds exactly")]

    use super::*;

    #[test]
    fn a_state_holds_the_readings_of_the_last_decisions() {
        let config = DqnConfig { recent: 3, ..DqnConfig::with_hidden(vec![4]) };
        let mut learner = Learner::<1>::new(&config, "test", [Kind::Segments], 2);
        learner.act([1.0]);
        assert_eq!(learner.began, [1.0, 1.0, 1.0]);
        learner.store([2.0], 1.0);
        assert_eq!(learner.began, [1.0, 1.0, 2.0]); // one is remembered, and stands for the one before it
        learner.act([3.0]);
        learner.act([4.0]);
        learner.store([5.0], 1.0);
        assert_eq!(learner.began, [3.0, 4.0, 5.0]);
    }

    #[test]
    fn slow_starts_throughput_does_not_count_where_only_actions_do() {
        for (which, greatest) in [(MaxThroughput::Congestion, 900.0), (MaxThroughput::Avoidance, 400.0)] {
            let config = DqnConfig { max_throughput: which, ..DqnConfig::with_hidden(vec![4]) };
            let mut learner = Learner::<1>::new(&config, "test", [Kind::Segments], 2);
            learner.store_loss([1.0], 900.0); // no action before
            learner.act([1.0]);
            learner.store_loss([1.0], 400.0);
            assert_eq!(learner.told("max_throughput_segments_per_s"), greatest);
        }
    }

    #[test]
    fn rewards_relate_to_the_greatest_throughput_at_a_congestion() {
        let config = DqnConfig::with_hidden(vec![4]);
        let mut learner = Learner::<1>::new(&config, "test", [Kind::Segments], 2);
        learner.act([1.0]);
        learner.store([2.0], 500.0); // the only one so far
        assert_eq!(learner.told("reward"), 1.0);
        learner.store([3.0], 250.0);
        assert_eq!(learner.told("reward"), 0.5);
        learner.store_loss([4.0], 400.0);
        assert_eq!(learner.told("reward"), -1.0);
        learner.store([5.0], 1.0); // begun by no action
        assert_eq!(learner.told("tuples"), 3.0);
        learner.act([5.0]);
        learner.store([6.0], 500.0); // 500 / 400
        assert_eq!(learner.told("reward"), 1.25);
        let always = DqnConfig { max_throughput: MaxThroughput::Always, ..config };
        let mut learner = Learner::<1>::new(&always, "test", [Kind::Segments], 2);
        for (throughput, reward) in [(500.0, 1.0), (250.0, 0.5)] {
            learner.act([1.0]);
            learner.store_loss([1.0], 400.0);
            learner.act([1.0]);
            learner.store([2.0], throughput);
            assert_eq!(learner.told("reward"), reward);
        }
    }
}
