//! What passes octets from one socket to another, one chunk at a time, each connection in turn.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimTime};

use super::config::Copying;

/// The copier of one appliance.
#[derive(Clone, Debug)]
pub(crate) struct Copier {
    config: Copying,
    /// When it has time for another chunk.
    free_at: SimTime,
    /// Ways that have something to copy, in the order of their turns.
    turns: VecDeque<usize>,
    /// Chunks read and not yet written: when, of which way, how many octets.
    under_way: VecDeque<(SimTime, usize, Bytes)>,
}

impl Copier {
    pub(crate) fn new(config: Copying) -> Self {
        Self { config, free_at: SimTime::ZERO, turns: VecDeque::new(), under_way: VecDeque::new() }
    }

    /// Copying costs nothing, so that nothing ever waits here.
    pub(crate) fn is_free(&self) -> bool {
        self.config.delay.is_zero() && self.config.rate.is_none()
    }

    /// The most that is copied at once.
    pub(crate) fn chunk(&self) -> Bytes {
        self.config.chunk
    }

    /// A way asks for a turn.
    pub(crate) fn enqueue(&mut self, way: usize) {
        self.turns.push_back(way);
    }

    /// The way whose turn it is, if there is time.
    pub(crate) fn next_turn(&mut self, now: SimTime) -> Option<usize> {
        if self.free_at > now { None } else { self.turns.pop_front() }
    }

    /// `octets` of a way have been read. Returns when there is time for others, and when these are to be written.
    pub(crate) fn begin(&mut self, now: SimTime, way: usize, octets: Bytes) -> (SimTime, SimTime) {
        self.free_at = now + self.config.rate.map_or_else(Default::default, |rate| rate.serialization_delay(octets));
        let written = self.free_at + self.config.delay;
        self.under_way.push_back((written, way, octets));
        (self.free_at, written)
    }

    /// A way is no more; what was read of it is lost.
    pub(crate) fn forget(&mut self, way: usize) {
        self.turns.retain(|turn| *turn != way);
        self.under_way.retain(|(_, of, _)| *of != way);
    }

    /// A chunk that is to be written now.
    pub(crate) fn take_done(&mut self, now: SimTime) -> Option<(usize, Bytes)> {
        let (_, way, octets) = *self.under_way.front().filter(|(time, _, _)| *time <= now)?;
        self.under_way.pop_front();
        Some((way, octets))
    }
}
