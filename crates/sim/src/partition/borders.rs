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
    /// Packets for each part that are not there yet.
    outgoing: Vec<Vec<Crossing>>,
    /// Packets along each link from another part.
    incoming: Vec<Incoming>,
}

/// Packets along a link from another part.
#[derive(Clone, Debug, Default)]
struct Incoming {
    /// Times at which the packets on the way were sent, but for the first.
    sent: VecDeque<SimTime>,
    /// Time at which the last of all arrives.
    last_arrival: SimTime,
}

impl Borders {
    pub(crate) fn new(part: usize, partition: &Arc<Partition>) -> Self {
        let (parts, links) = (partition.parts(), partition.links());
        let (outgoing, incoming) = (vec![Vec::new(); parts], vec![Incoming::default(); links]);
        Self { part, partition: Arc::clone(partition), outgoing, incoming }
    }

    /// Packets come out at the far end of this link in another part.
    #[inline]
    pub(crate) fn lie_behind(&self, link: LinkId) -> bool {
        self.partition.part_behind(link) != self.part
    }

    /// Sends a packet to the part behind its link.
    pub(crate) fn send(&mut self, crossing: Crossing) {
        self.outgoing[self.partition.part_behind(crossing.link)].push(crossing);
    }

    /// A packet comes. Returns when the event of its arrival would have been scheduled if the link were whole and it is the only one
    /// on its way: when it was sent, or, if one was still before it then, when that arrived.
    pub(crate) fn receive(&mut self, crossing: &Crossing, is_alone: bool) -> SimTime {
        let incoming = &mut self.incoming[crossing.link.index()];
        if !is_alone {
            incoming.sent.push_back(crossing.sent);
        }
        std::mem::replace(&mut incoming.last_arrival, crossing.arrival).max(crossing.sent)
    }

    /// The first packet on its way along a link has arrived. Returns when the next was sent, if that comes from another part.
    pub(crate) fn deliver(&mut self, link: LinkId) -> Option<SimTime> {
        self.incoming[link.index()].sent.pop_front()
    }

    /// Packets that have left for each part.
    pub(crate) fn outgoing(&mut self) -> &mut [Vec<Crossing>] {
        &mut self.outgoing
    }
}
