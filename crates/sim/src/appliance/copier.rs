//! The copier of an appliance: it passes octets from one socket to another, one chunk at a time, each connection in
//! turn.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimTime};

use super::config::Copying;
use crate::ids::RelayDirection;

/// The copier of one appliance.
#[derive(Clone, Debug)]
pub(crate) struct Copier {
    config: Copying,
    /// Time at which it can begin another chunk.
    free_at: SimTime,
    /// Directions with data to copy, in the order of their turns.
    turns: VecDeque<RelayDirection>,
    /// Chunks read and not yet written: time of the write, direction, and octets.
    under_way: VecDeque<(SimTime, RelayDirection, Bytes)>,
}

impl Copier {
    pub(crate) fn new(config: Copying) -> Self {
        Self { config, free_at: SimTime::ZERO, turns: VecDeque::new(), under_way: VecDeque::new() }
    }

    /// True if copying is free, so that nothing ever waits here.
    pub(crate) fn is_free(&self) -> bool {
        self.config.delay.is_zero() && self.config.rate.is_none()
    }

    /// The largest chunk.
    pub(crate) fn chunk(&self) -> Bytes {
        self.config.chunk
    }

    /// Requests a turn for one direction of a relay.
    pub(crate) fn enqueue(&mut self, at: RelayDirection) {
        self.turns.push_back(at);
    }

    /// The direction whose turn it is, if the copier is free.
    pub(crate) fn next_turn(&mut self, now: SimTime) -> Option<RelayDirection> {
        if self.free_at > now { None } else { self.turns.pop_front() }
    }

    /// Takes `octets` that have been read in one direction. Returns the time at which the copier is free, and the time
    /// of their write.
    pub(crate) fn begin(&mut self, now: SimTime, at: RelayDirection, octets: Bytes) -> (SimTime, SimTime) {
        self.free_at = now + self.config.rate.map_or_else(Default::default, |rate| rate.serialization_delay(octets));
        let written = self.free_at + self.config.delay;
        self.under_way.push_back((written, at, octets));
        (self.free_at, written)
    }

    /// Forgets a relay that has ended; the data read in this direction is lost.
    pub(crate) fn forget(&mut self, at: RelayDirection) {
        self.turns.retain(|turn| *turn != at);
        self.under_way.retain(|(_, of, _)| *of != at);
    }

    /// Takes a chunk that is to be written now.
    pub(crate) fn take_done(&mut self, now: SimTime) -> Option<(RelayDirection, Bytes)> {
        let (_, at, octets) = *self.under_way.front().filter(|(time, _, _)| *time <= now)?;
        self.under_way.pop_front();
        Some((at, octets))
    }
}
