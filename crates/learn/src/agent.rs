//! Deep Q-learning during a simulation.
//!
//! Source: Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015, algorithm 1: a
//! network estimates the value of each action, and actions are greedy except for a fraction epsilon. Each learning step
//! is on a batch drawn from replay, towards `r + discount * max Q(s', a')` of a network that is copied periodically.
//! Double learning: van Hasselt, Guez, Silver, AAAI 2016. Rewards of several steps: Sutton, Machine Learning 3, 1988,
//! as Rainbow has them (Hessel et al., AAAI 2018); the contents of both are from memory.
//!
//! Departures: the loss is the mean squared error, not clipped, and neither are rewards; the steps are Adam's or plain,
//! not `RMSProp`'s; hidden nodes drop out while it learns; no step is the last of an episode; before `warm_up` tuples
//! have been stored actions are uniform and nothing is learnt; epsilon is constant from then on, where the paper lets
//! it fall over a million frames.

use ackclock_declare::{declare, default};
use ackclock_units::RandomStream;

use crate::dropout::Dropout;
use crate::network::{Network, Shape};
use crate::normaliser::{Normalisation, Normaliser};
use crate::optimiser::{Optimiser, OptimiserKind};
use crate::pass::Pass;
use crate::replay::{Replay, index_below};
use crate::returns::Returns;

declare! {
    /// Parameters of an agent's learning.
    pub struct Learning {
        /// Nodes of each hidden layer.
        hidden: Vec<usize> = default(vec![30; 3])
            .must_be("at most 16 layers, each", |layers| layers.len() <= 16)
            .at_least(1)
            .at_most(1_024)
            .unit("nodes"),
        /// Probability that a hidden node drops out in a learning step.
        dropout: f64 = default(0.1).at_least(0.0).at_most(0.9),
        /// Optimizer of the network's parameters.
        optimiser as "optimizer": OptimiserKind = OptimiserKind::Adam,
        /// Learning rate of the optimizer.
        learning_rate: f64 = default(1e-3).at_least(1e-9).at_most(1.0),
        /// Factor of a reward for each step of delay, gamma.
        discount: f64 = default(0.9).at_least(0.0).at_most(0.9999),
        /// Steps whose rewards a tuple sums; the value after them is multiplied by `discount` to that power.
        n_step: usize = default(1).at_least(1).at_most(1_000).unit("steps"),
        /// Use double learning: the network chooses the best next action, and its copy values it.
        double: bool = false,
        /// Tuples in a batch, drawn for a learning step.
        batch: usize = default(32).at_least(1).at_most(4_096).unit("tuples"),
        /// Learning steps between copies of the network for the targets; 0 makes the network its own target.
        target_update: u64 = default(100).at_most(1_000_000_000).unit("steps of learning"),
        /// Largest number of stored tuples; the oldest is replaced.
        replay_capacity: usize = default(10_000).at_least(1).at_most(10_000_000).unit("tuples"),
        /// Tuples stored before learning begins; actions are random until then.
        warm_up: u64 = default(2_000).at_most(1_000_000_000).unit("tuples"),
        /// Fraction of random actions after the warm-up.
        epsilon: f64 = default(0.015).at_least(0.0).at_most(1.0),
    }
}

/// Parameters of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentConfig {
    /// Number of inputs of its network.
    pub inputs: usize,
    /// Readings in an observation, which its network takes in turn, or 1 ([`Shape::readings`]).
    pub readings: usize,
    /// Number of its actions.
    pub actions: usize,
    /// Normalisation of its observations.
    pub normalisation: Normalisation,
    /// Parameters of the learning.
    pub learning: Learning,
}

/// A decision of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the action.
    pub action: usize,
    /// True if the action was drawn at random.
    pub is_random: bool,
}

/// An agent of deep Q-learning: it decides, stores the outcomes, and learns from a replay. Source and departures:
/// [`mod@crate::agent`].
#[derive(Clone, Debug)]
pub struct Agent {
    learning: Learning,
    inputs: usize,
    network: Network,
    /// The network for the targets; `None` if the network is its own target.
    target: Option<Network>,
    optimiser: Optimiser,
    dropout: Dropout,
    normaliser: Normaliser,
    replay: Replay,
    random: RandomStream,
    online: Pass,
    next: Pass,
    /// The next states through the network itself, for double learning.
    chosen: Pass,
    gradient: Vec<f32>,
    /// The present batch: places in the replay.
    drawn: Vec<usize>,
    seen: Vec<f32>,
    scratch: [Vec<f32>; 2],
    values: Vec<f32>,
    tuples: u64,
    decisions: u64,
    steps: u64,
    loss: Option<f32>,
}

impl Agent {
    /// An agent with a network drawn from `random`, which also gives all later draws.
    pub fn new(config: &AgentConfig, mut random: RandomStream) -> Self {
        let learning = config.learning.clone();
        let (inputs, readings) = (config.inputs, config.readings);
        let shape = Shape { inputs, readings, hidden: learning.hidden.clone(), outputs: config.actions };
        let network = Network::new(&shape, &mut random);
        let pass = Pass::new(&network, learning.batch);
        Self {
            target: (learning.target_update > 0).then(|| network.clone()),
            optimiser: Optimiser::new(learning.optimiser, learning.learning_rate, shape.parameters()),
            dropout: Dropout::new(learning.dropout),
            normaliser: Normaliser::new(&config.normalisation, config.inputs),
            replay: Replay::new(learning.replay_capacity, config.inputs),
            inputs: config.inputs,
            random,
            online: pass.clone(),
            next: pass.clone(),
            chosen: pass,
            gradient: vec![0.0; shape.parameters()],
            drawn: Vec::with_capacity(learning.batch),
            seen: Vec::with_capacity(config.inputs),
            scratch: [Vec::new(), Vec::new()],
            values: vec![0.0; config.actions],
            tuples: 0,
            decisions: 0,
            steps: 0,
            loss: None,
            network,
            learning,
        }
    }

    /// An empty chain of steps for a flow. Several chains may share one agent.
    pub fn returns(&self) -> Returns {
        Returns::new(self.learning.n_step, self.learning.discount as f32, self.inputs)
    }

    /// Stores the result of an action in the replay: the reward `gained`, and the observation `next`. The state of one
    /// step of a chain is that after the one before, unless [`Self::end`] came between.
    pub fn store(&mut self, chain: &mut Returns, state: &[f32], action: usize, gained: f32, next: &[f32]) {
        self.tuples += 1;
        self.normaliser.observe(state);
        let replay = &mut self.replay;
        chain.add(state, action, gained, next, |tuple| replay.push(tuple));
    }

    /// Ends a chain: the next step does not follow its last, and rewards of several steps end with it.
    pub fn end(&mut self, chain: &mut Returns) {
        let replay = &mut self.replay;
        chain.end(|tuple| replay.push(tuple));
    }

    /// Chooses an action: at random before the warm-up is over and with probability epsilon after it, else the best.
    pub fn decide(&mut self, state: &[f32]) -> Decision {
        self.decisions += 1;
        let actions = self.values.len();
        if self.is_warming_up() || self.random.chance(self.learning.epsilon) {
            return Decision { action: index_below(actions, &mut self.random), is_random: true };
        }
        let best = self.evaluate(state);
        Decision { action: best, is_random: false }
    }

    /// The best action; [`Self::values`] holds its value and those of the others from then on.
    fn evaluate(&mut self, state: &[f32]) -> usize {
        self.seen.clear();
        self.seen.extend(state.iter().enumerate().map(|(at, number)| self.normaliser.apply(at, *number)));
        self.values.copy_from_slice(self.network.evaluate(&self.seen, &mut self.scratch));
        let values = self.values.iter().enumerate();
        values.fold(0, |best, (at, value)| if *value > self.values[best] { at } else { best })
    }

    /// Takes a learning step, once the warm-up is over.
    pub fn learn(&mut self) {
        if self.is_warming_up() || self.replay.is_empty() {
            return;
        }
        self.draw_batch();
        self.next.forward(self.target.as_ref().unwrap_or(&self.network));
        if self.learning.double {
            self.chosen.inputs_mut().copy_from_slice(self.next.inputs_mut());
            self.chosen.forward(&self.network);
        }
        let chooser = if self.learning.double { self.chosen.outputs() } else { self.next.outputs() };
        self.online.forward_with(&self.network, self.dropout, &mut self.random);
        let (drawn, replay, next) = (&self.drawn, &self.replay, self.next.outputs());
        let batch = drawn.len();
        let mut squares = 0.0;
        self.online.backward(&self.network, &mut self.gradient, |values, delta| {
            for (sample, at) in drawn.iter().enumerate() {
                let tuple = replay.get(*at);
                let best = next[greatest(&chooser[sample..], batch) * batch + sample];
                let place = tuple.action * batch + sample;
                let error = values[place] - (tuple.reward + tuple.discount * best);
                squares += error * error;
                delta[place] = 2.0 * error / batch as f32;
            }
        });
        self.loss = Some(squares / batch as f32);
        self.optimiser.step(self.network.parameters_mut(), &self.gradient);
        self.steps += 1;
        if let Some(target) = &mut self.target
            && self.steps.is_multiple_of(self.learning.target_update)
        {
            target.clone_from(&self.network);
        }
    }

    fn draw_batch(&mut self) {
        let batch = self.learning.batch;
        self.drawn.clear();
        self.drawn.extend((0..batch).map(|_| self.replay.draw(&mut self.random)));
        let (states, nexts) = (self.online.inputs_mut(), self.next.inputs_mut());
        for (sample, at) in self.drawn.iter().enumerate() {
            let tuple = self.replay.get(*at);
            for (number, (seen, after)) in tuple.state.iter().zip(tuple.next).enumerate() {
                states[number * batch + sample] = self.normaliser.apply(number, *seen);
                nexts[number * batch + sample] = self.normaliser.apply(number, *after);
            }
        }
    }

    /// True until enough tuples have been stored.
    pub fn is_warming_up(&self) -> bool {
        self.tuples < self.learning.warm_up
    }

    /// The present fraction of random actions.
    pub fn epsilon(&self) -> f64 {
        if self.is_warming_up() { 1.0 } else { self.learning.epsilon }
    }

    /// The values of all actions at the last decision that was not random.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Tuples stored so far, including those already replaced.
    pub fn tuples(&self) -> u64 {
        self.tuples
    }

    /// Number of decisions so far.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Learning steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The loss of the last batch, the mean of squared errors.
    pub fn loss(&self) -> Option<f32> {
        self.loss
    }

    /// Normaliser of its observations, in its present state.
    pub fn normaliser(&self) -> &Normaliser {
        &self.normaliser
    }

    /// The network in its present state.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// Index of the greatest of the numbers at every `stride`-th place, the first of equals.
fn greatest(numbers: &[f32], stride: usize) -> usize {
    let each = numbers.iter().step_by(stride).enumerate();
    each.fold(0, |best, (at, number)| if *number > numbers[best * stride] { at } else { best })
}

#[cfg(test)]
mod tests;
