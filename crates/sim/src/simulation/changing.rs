//! Links that are changed while a simulation is under way, by whoever runs it.

use std::sync::Arc;

use ackclock_net::LinkChange;
use ackclock_units::SimTime;

use super::Simulation;
use crate::event_queue::{Event, MOST_NUMBERS};

impl Simulation {
    /// Changes a link at a time to come, as if the scenario had said so from the beginning: a run of a scenario that does has the same
    /// results. Returns false, and does nothing, if the link is none that can be changed: one becomes so by a first change that its
    /// scenario has ([`ackclock_net::LinkConfig::takes_changes`]).
    ///
    /// # Panics
    ///
    /// If the time of the change has passed, or after 16 million changes.
    pub fn change_link(&mut self, change: &LinkChange) -> bool {
        assert!(change.at > self.now(), "what has been simulated cannot be changed");
        if !self.config.network.link(change.link).takes_changes() {
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
