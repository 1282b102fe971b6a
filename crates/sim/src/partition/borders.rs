//! Where a part of a network ends: packets that go on in another part, and those that come from one.

use std::sync::Arc;

use ackclock_net::{LinkId, Packet};
use ackclock_units::SimTime;

use super::Partition;

/// A packet on its way from one part to another.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// At whose far end it comes out.
    pub(crate) link: LinkId,
    /// When it was put on the way.
    pub(crate) sent: SimTime,
    /// When it comes out.
    pub(crate) arrival: SimTime,
    pub(crate) packet: Packet,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Borders {
    /// The number of this part.
    part: usize,
    partition: Arc<Partition>,
    /// What has left for each part and is not there yet.
    outgoing: Vec<Vec<Crossing>>,
    /// When the last packet to come along each link arrives.
    last_arrivals: Vec<SimTime>,
}

impl Borders {
    pub(crate) fn new(part: usize, partition: &Arc<Partition>) -> Self {
        let (parts, links) = (partition.parts(), partition.links());
        let (outgoing, last_arrivals) = (vec![Vec::new(); parts], vec![SimTime::ZERO; links]);
        Self { part, partition: Arc::clone(partition), outgoing, last_arrivals }
    }

    /// Packets come out at the far end of this link in another part.
    #[inline]
    pub(crate) fn lie_behind(&self, link: LinkId) -> bool {
        self.partition.part_behind(link) != self.part
    }

    /// A packet leaves.
    pub(crate) fn send(&mut self, crossing: Crossing) {
        self.outgoing[self.partition.part_behind(crossing.link)].push(crossing);
    }

    /// A packet comes. Returns when the event of its arrival would have been scheduled if the link were whole: when the packet was
    /// sent, or, if one was still before it then, when that arrived.
    pub(crate) fn receive(&mut self, link: LinkId, sent: SimTime, arrival: SimTime) -> SimTime {
        std::mem::replace(&mut self.last_arrivals[link.index()], arrival).max(sent)
    }

    /// What has left for each part.
    pub(crate) fn outgoing(&mut self) -> &mut [Vec<Crossing>] {
        &mut self.outgoing
    }
}
