//! The decision maker of both controllers: an agent that learns, or a frozen network.
//!
//! Source: none. Departures: a frozen network is greedy always: it has no warm-up and no epsilon.

use std::fmt::Debug;
use std::sync::Arc;

use ackclock_learn::{Agent, AgentConfig, Returns};
use ackclock_units::RandomStream;

use super::shared::{SharedAgent, SharedAgents};

/// A network that no longer learns.
pub trait FrozenNetwork: Debug + Send + Sync {
    /// The value of each action in a state as the controller sees it. `room` is scratch space, which grows as needed.
    fn values<'a>(&'a self, state: &[f32], room: &'a mut Vec<Vec<f32>>) -> &'a [f32];
}

/// A [`FrozenNetwork`] as part of a configuration. Two are equal if they are clones of one.
#[derive(Clone, Debug)]
pub struct Frozen(Arc<dyn FrozenNetwork>);

impl Frozen {
    /// A configuration with a network that has as many outputs as the controller has actions.
    pub fn new(network: impl FrozenNetwork + 'static) -> Self {
        Self(Arc::new(network))
    }
}

impl PartialEq for Frozen {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The decision maker of a flow. An agent learns from a chain of steps, which belongs to the flow.
#[derive(Clone, Debug)]
pub(super) enum Mind {
    Learning(Box<Agent>, Returns),
    Sharing(SharedAgent, Returns),
    Frozen(Choice),
}

/// A frozen network and its latest decision.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    network: Frozen,
    room: Vec<Vec<f32>>,
    values: Vec<f32>,
    decisions: u64,
}

impl Choice {
    pub(super) fn new(network: &Frozen, actions: usize) -> Self {
        Self { network: network.clone(), room: Vec::new(), values: vec![0.0; actions], decisions: 0 }
    }

    /// The action of the greatest value, the first of equals.
    fn decide(&mut self, state: &[f32]) -> usize {
        self.decisions += 1;
        self.values.copy_from_slice(self.network.0.values(state, &mut self.room));
        let values = self.values.iter().enumerate();
        values.fold(0, |best, (at, value)| if *value > self.values[best] { at } else { best })
    }
}

impl Mind {
    /// A learning agent, shared with other flows or not.
    pub(super) fn learning(config: &AgentConfig, random: RandomStream, shared: Option<&SharedAgent>) -> Self {
        let own = || Agent::new(config, random);
        if let Some(shared) = shared {
            let chain = shared.open_or(own).returns();
            return Self::Sharing(shared.clone(), chain);
        }
        let agent = own();
        let chain = agent.returns();
        Self::Learning(Box::new(agent), chain)
    }

    /// Replaces a shared agent by the one of the same name in `agents`.
    pub(super) fn join(&mut self, agents: &mut SharedAgents) {
        if let Self::Sharing(agent, _) = self {
            *agent = agent.among(agents);
        }
    }

    /// Applies `look` to the agent, if it learns.
    pub(super) fn look<R>(&self, look: impl FnOnce(&Agent) -> R) -> Option<R> {
        match self {
            Self::Learning(agent, _) => Some(look(agent)),
            Self::Sharing(agent, _) => Some(look(&agent.open())),
            Self::Frozen(_) => None,
        }
    }

    /// Stores the outcome of an action: see [`Agent::store`].
    pub(super) fn store(&mut self, state: &[f32], action: usize, gained: f32, next: &[f32]) {
        match self {
            Self::Learning(agent, chain) => agent.store(chain, state, action, gained, next),
            Self::Sharing(agent, chain) => agent.open().store(chain, state, action, gained, next),
            Self::Frozen(_) => {}
        }
    }

    /// Ends the chain of steps: see [`Agent::end`].
    pub(super) fn end(&mut self) {
        match self {
            Self::Learning(agent, chain) => agent.end(chain),
            Self::Sharing(agent, chain) => agent.open().end(chain),
            Self::Frozen(_) => {}
        }
    }

    pub(super) fn learn(&mut self) {
        match self {
            Self::Learning(agent, _) => agent.learn(),
            Self::Sharing(agent, _) => agent.open().learn(),
            Self::Frozen(_) => {}
        }
    }

    /// Returns the number of the chosen action.
    pub(super) fn decide(&mut self, state: &[f32]) -> usize {
        match self {
            Self::Learning(agent, _) => agent.decide(state).action,
            Self::Sharing(agent, _) => agent.open().decide(state).action,
            Self::Frozen(choice) => choice.decide(state),
        }
    }

    /// Reports the decisions so far, and the values of all actions at the last one that was not random.
    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        const VALUES: [&str; 7] = ["q_0", "q_1", "q_2", "q_3", "q_4", "q_5", "q_6"];
        let mut tell = |decisions: u64, values: &[f32]| {
            record("decisions", decisions as f64);
            VALUES.into_iter().zip(values).for_each(|(name, value)| record(name, f64::from(*value)));
        };
        match self {
            Self::Frozen(choice) => tell(choice.decisions, &choice.values),
            Self::Learning(agent, _) => tell(agent.decisions(), agent.values()),
            Self::Sharing(agent, _) => {
                let agent = agent.open();
                tell(agent.decisions(), agent.values());
            }
        }
    }
}
