//! Packets in order of arrival, with their octets counted: the storage of most disciplines.

use std::collections::VecDeque;

use ackclock_units::SimTime;

use super::Queued;

/// A queue that gives access only to its head.
pub(super) trait Head {
    /// Takes the first packet.
    fn pop(&mut self) -> Option<Queued>;

    /// The waiting octets.
    fn octets(&self) -> u64;
}

/// Packets in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Queued>,
    octets: u64,
}

impl Fifo {
    #[inline]
    pub(super) fn push(&mut self, arrival: Queued) {
        self.octets += arrival.octets;
        self.packets.push_back(arrival);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Queued> {
        self.packets.front()
    }

    /// The arrival of the first packet.
    pub(super) fn head_since(&self) -> Option<SimTime> {
        self.front().map(|first| first.since)
    }
}

impl Head for Fifo {
    #[inline]
    fn pop(&mut self) -> Option<Queued> {
        let first = self.packets.pop_front()?;
        self.octets -= first.octets;
        Some(first)
    }

    #[inline]
    fn octets(&self) -> u64 {
        self.octets
    }
}
