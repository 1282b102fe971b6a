//! Changes of links during a simulation, by its caller.

use std::sync::Arc;

use ackclock_net::LinkChange;
use ackclock_units::SimTime;

use super::Simulation;
use crate::event_queue::{Event, MOST_NUMBERS};
use crate::traffic::{highest_rate, least_delay};

impl Simulation {
    /// True if this change is possible during a run: its scenario must change the link
    /// ([`ackclock_net::LinkConfig::takes_changes`]). Completion times refer to the best path of the run: where they
    /// are counted, a change must not improve on it.
    pub fn takes_change(&self, change: &LinkChange) -> bool {
        let network = &self.config.network;
        let counts_completions =
            !self.config.traffic.arrivals.is_empty() || self.config.flows.iter().any(|flow| flow.app.has_responses());
        let is_best_ever = change.rate.is_some_and(|rate| rate > highest_rate(network, change.link))
            || change.delay.is_some_and(|delay| delay < least_delay(network, change.link));
        network.link(change.link).takes_changes() && !(counts_completions && is_best_ever)
    }

    /// Changes a link at a future time, with the same results as if the scenario contained the change. Returns false,
    /// and does nothing, if the change is not possible ([`Self::takes_change`]).
    ///
    /// # Panics
    ///
    /// If the time of the change has passed, or after 16 million changes.
    pub fn change_link(&mut self, change: &LinkChange) -> bool {
        assert!(change.at > self.now(), "what has been simulated cannot be changed");
        if !self.takes_change(change) {
            return false;
        }
        let changes = &mut Arc::make_mut(&mut self.config).network.changes;
        assert!(changes.len() < MOST_NUMBERS, "a run has {MOST_NUMBERS} changes of links at most");
        let number = changes.len() as u32;
        changes.push(*change);
        // Of events at one instant those come first that were scheduled first: as if before the run.
        self.hosts.network.queue.push_since(SimTime::ZERO, change.at, Event::Change(number));
        true
    }
}
