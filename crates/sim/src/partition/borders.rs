//! Borders of a part of a network: packets that go on in another part, and those that come from one.

use std::collections::VecDeque;
use std::sync::Arc;

use ackclock_net::{LinkId, Packet};
use ackclock_units::SimTime;

use super::Partition;

/// A packet on its way from one part to another.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// Link at whose far end it comes out.
    pub(crate) link: LinkId,
    /// Time at which it was sent.
    pub(crate) sent: SimTime,
    /// Time at which it arrives.
    pub(crate) arrival: SimTime,
    pub(crate) packet: Packet,
}

/// Borders of a part with the other parts.
#[derive(Clone, Debug)]
pub(crate) struct Borders {
    /// The number of this part.
    part: usize,
    partition: Arc<Partition>,
    /// Packets for each part that have not been handed over.
    outgoing: Vec<Vec<Crossing>>,
    /// Packets along each link from another part.
    incoming: Vec<Incoming>,
}

/// Packets along a link from another part.
#[derive(Clone, Debug, Default)]
struct Incoming {
    /// Departure times of the packets on the way, except for the first.
    sent: VecDeque<SimTime>,
    /// Time of the last arrival.
    last_arrival: SimTime,
}

impl Borders {
    pub(crate) fn new(part: usize, partition: &Arc<Partition>) -> Self {
        let (parts, links) = (partition.parts(), partition.links());
        let (outgoing, incoming) = (vec![Vec::new(); parts], vec![Incoming::default(); links]);
        Self { part, partition: Arc::clone(partition), outgoing, incoming }
    }

    /// True if packets of this link come out at its far end in another part.
    #[inline]
    pub(crate) fn lie_behind(&self, link: LinkId) -> bool {
        self.partition.part_behind(link) != self.part
    }

    /// Sends a packet to the part behind its link.
    pub(crate) fn send(&mut self, crossing: Crossing) {
        self.outgoing[self.partition.part_behind(crossing.link)].push(crossing);
    }

    /// Takes a packet. Returns the time at which its arrival would have been scheduled on an undivided link without
    /// other packets: its departure, or the arrival of the one before it, if that was later.
    pub(crate) fn receive(&mut self, crossing: &Crossing, is_alone: bool) -> SimTime {
        let incoming = &mut self.incoming[crossing.link.index()];
        if !is_alone {
            incoming.sent.push_back(crossing.sent);
        }
        std::mem::replace(&mut incoming.last_arrival, crossing.arrival).max(crossing.sent)
    }

    /// Takes note that the first packet along a link has arrived. Returns the departure of the next, if that comes from
    /// another part.
    pub(crate) fn deliver(&mut self, link: LinkId) -> Option<SimTime> {
        self.incoming[link.index()].sent.pop_front()
    }

    /// Packets that have left for each part, by part.
    pub(crate) fn outgoing(&mut self) -> &mut [Vec<Crossing>] {
        &mut self.outgoing
    }
}
