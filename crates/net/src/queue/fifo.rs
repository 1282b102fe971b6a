//! Packets in order of arrival, with their octets counted: what most disciplines are made of.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::Queued;
use crate::config::QueueLimit;

/// A queue that one can only take from at its head.
pub(super) trait Head {
    /// Takes the first packet.
    fn pop(&mut self) -> Option<Queued>;

    /// Octets waiting.
    fn octets(&self) -> u64;
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Queued>,
    octets: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, arrival: Queued) {
        self.octets += arrival.octets;
        self.packets.push_back(arrival);
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// When the first packet arrived.
    pub(super) fn head_since(&self) -> Option<SimTime> {
        self.packets.front().map(|first| first.since)
    }
}

impl Head for Fifo {
    fn pop(&mut self) -> Option<Queued> {
        let first = self.packets.pop_front()?;
        self.octets -= first.octets;
        Some(first)
    }

    fn octets(&self) -> u64 {
        self.octets
    }
}

/// How much may wait, with the rate that a limit in time refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    limit: QueueLimit,
    rate: Bandwidth,
}

impl Room {
    pub(super) fn new(limit: QueueLimit, rate: Bandwidth) -> Self {
        Self { limit, rate }
    }

    /// True if a packet of `arriving` octets may join `packets` with `octets`.
    pub(super) fn has_room(self, packets: usize, octets: u64, arriving: u64) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (packets as u64) < limit,
            QueueLimit::Bytes(limit) => octets + arriving <= limit.0,
            QueueLimit::Time(limit) => self.rate.serialization_delay(Bytes(octets)) <= limit,
        }
    }
}
