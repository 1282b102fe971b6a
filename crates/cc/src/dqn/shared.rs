//! Agents that flows share: one network and one replay, for the experience of all of them.
//!
//! Source: ns3-gym, on which the papers ran, has one interface to one agent, however many flows there are. Departures:
//! the state of a flow stays with it: its window, its greatest throughput, its memory of readings, and its chain of
//! steps.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ackclock_learn::Agent;

/// The shared agents of one simulation, by name. A clone has agents of its own, with the same state.
#[derive(Debug, Default)]
pub struct SharedAgents(BTreeMap<Arc<str>, SharedAgent>);

impl SharedAgents {
    /// True if no flow shares an agent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The shared agent of this name, made if it does not exist.
    pub(super) fn named(&mut self, name: &str) -> SharedAgent {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        let agent = SharedAgent { name: Arc::clone(&name), agent: Arc::default() };
        self.0.insert(name, agent.clone());
        agent
    }
}

impl Clone for SharedAgents {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|(name, agent)| (Arc::clone(name), agent.parted())).collect())
    }
}

/// A shared agent, as part of a configuration. Clones are the same agent, and so are equal ones.
#[derive(Clone, Debug)]
pub struct SharedAgent {
    name: Arc<str>,
    /// The agent, made by the first flow whose handshake is over: flows of one name have the same configuration.
    agent: Arc<OnceLock<Mutex<Agent>>>,
}

impl SharedAgent {
    /// Locks the agent, which `make` creates at the first call.
    pub(super) fn open_or(&self, make: impl FnOnce() -> Agent) -> MutexGuard<'_, Agent> {
        let agent = self.agent.get_or_init(|| Mutex::new(make()));
        // A panic elsewhere ends the simulation; what it left is looked at by nobody who goes on.
        agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the agent.
    pub(super) fn open(&self) -> MutexGuard<'_, Agent> {
        self.open_or(|| unreachable!("whoever decides has made it"))
    }

    /// The shared agent of the same name in `agents`.
    pub(super) fn among(&self, agents: &mut SharedAgents) -> Self {
        agents.named(&self.name)
    }

    /// Another agent with the same state.
    fn parted(&self) -> Self {
        let agent = OnceLock::new();
        if self.agent.get().is_some() {
            agent.get_or_init(|| Mutex::new(self.open().clone()));
        }
        Self { name: Arc::clone(&self.name), agent: Arc::new(agent) }
    }
}

impl PartialEq for SharedAgent {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.agent, &other.agent)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "counts")]

    use super::*;
    use crate::controller::{CongestionController, Controller, ControllerConfig};
    use crate::dqn::{BelowSsthresh, DecreaseFrom, DqnNewRenoConfig};
    use crate::testing::{ack, loss};
    use ackclock_units::Bytes;

    fn config() -> ControllerConfig {
        let mut config = DqnNewRenoConfig::default();
        (config.dqn.agent, config.dqn.below_ssthresh) = (Some("one".to_owned()), BelowSsthresh::Avoidance);
        config.dqn.decrease_from = DecreaseFrom::FlightSize;
        ControllerConfig::DqnNewReno(Box::new(config))
    }

    fn joined(agents: &mut SharedAgents) -> Controller {
        let mut config = config();
        config.join(agents);
        Controller::new(&config, Bytes(1_000), Bytes(10_000), None)
    }

    /// Stores ten tuples, one for each ACK after the first action, which comes with a window of seven segments.
    fn live(controller: &mut Controller) {
        controller.on_congestion(&loss(10_000));
        (0..7).for_each(|_| controller.on_ack(&ack(1_000)));
        (0..10).for_each(|_| controller.on_ack(&ack(1)));
    }

    #[test]
    fn what_one_lives_through_the_other_knows() {
        let mut agents = SharedAgents::default();
        assert!(agents.is_empty());
        let (mut one, mut other) = (joined(&mut agents), joined(&mut agents));
        live(&mut one);
        assert_eq!([one.internal("tuples"), other.internal("tuples")], [Some(10.0), Some(10.0)]);
        live(&mut other);
        assert_eq!([one.internal("tuples"), other.internal("decisions")], [Some(20.0), Some(2.0)]);
    }

    #[test]
    fn copies_of_the_agents_are_others_and_a_controller_joins_them_by_name() {
        let mut agents = SharedAgents::default();
        let mut one = joined(&mut agents);
        live(&mut one);
        let mut copied = agents.clone();
        let mut copy = one.clone();
        copy.join(&mut copied);
        live(&mut copy);
        // Its loss completes the tuple at hand: one more than ten.
        assert_eq!([one.internal("tuples"), copy.internal("tuples")], [Some(10.0), Some(21.0)]);
        assert_eq!(joined(&mut copied).internal("tuples"), Some(21.0));
    }

    #[test]
    fn alone_each_has_its_own() {
        let new = || Controller::new(&config(), Bytes(1_000), Bytes(10_000), None);
        let (mut one, other) = (new(), new());
        live(&mut one);
        assert_eq!([one.internal("tuples"), other.internal("tuples")], [Some(10.0), Some(0.0)]);
    }
}
