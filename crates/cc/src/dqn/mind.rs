//! What chooses for both controllers: an agent that learns, or a network that no longer does.
//!
//! Source: none. Departures: a frozen network is greedy always: it has no warm-up and no epsilon.

use std::fmt::Debug;
use std::sync::Arc;

use ackclock_learn::Agent;

/// A network of which nothing changes any more.
pub trait FrozenNetwork: Debug + Send + Sync {
    /// A value for each action, from a state as the controller sees it. `room` is to work in, and grows as needed.
    fn values<'a>(&'a self, state: &[f32], room: &'a mut Vec<Vec<f32>>) -> &'a [f32];
}

/// A [`FrozenNetwork`] as part of a configuration. Two are equal if they are clones of one.
#[derive(Clone, Debug)]
pub struct Frozen(Arc<dyn FrozenNetwork>);

impl Frozen {
    /// Of a network that gives as many values as the controller has actions.
    pub fn new(network: impl FrozenNetwork + 'static) -> Self {
        Self(Arc::new(network))
    }
}

impl PartialEq for Frozen {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum Mind {
    Learning(Box<Agent>),
    Frozen(Choice),
}

/// A frozen network, and the last of its decisions.
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
    /// The agent, if it learns.
    pub(super) fn agent(&self) -> Option<&Agent> {
        match self {
            Self::Learning(agent) => Some(agent),
            Self::Frozen(_) => None,
        }
    }

    /// What came of an action: see [`Agent::store`].
    pub(super) fn store(&mut self, state: &[f32], action: usize, gained: f32, next: &[f32]) {
        if let Self::Learning(agent) = self {
            agent.store(state, action, gained, next);
        }
    }

    /// See [`Agent::end`].
    pub(super) fn end(&mut self) {
        if let Self::Learning(agent) = self {
            agent.end();
        }
    }

    pub(super) fn learn(&mut self) {
        if let Self::Learning(agent) = self {
            agent.learn();
        }
    }

    /// The number of an action.
    pub(super) fn decide(&mut self, state: &[f32]) -> usize {
        match self {
            Self::Learning(agent) => agent.decide(state).action,
            Self::Frozen(choice) => choice.decide(state),
        }
    }

    /// Decisions so far, and the values of all actions at the last one that was not random.
    pub(super) fn decided(&self) -> (u64, &[f32]) {
        match self {
            Self::Learning(agent) => (agent.decisions(), agent.values()),
            Self::Frozen(choice) => (choice.decisions, &choice.values),
        }
    }
}
