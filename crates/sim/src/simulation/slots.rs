//! The endpoints of short flows, which are used again when a flow is over.
//!
//! A flow takes two endpoints for each of its connections: one connection, and one more for each appliance that splits it.
//! Those of a flow follow each other: its opener has the first, its acceptor the last. What is still under way to an earlier
//! flow of the same endpoints carries that flow's incarnation, and is dropped where it arrives.

use ackclock_net::DATAGRAM;
use ackclock_units::{Bytes, SimTime};

/// Both endpoints of a connection; the first one of a flow says what there is of the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) incarnation: u32,
    /// The number of the flow's first slot.
    pub(super) first: u32,
    /// Appliances on the flow's way; it has as many slots more.
    pub(super) splits: u32,
    /// Number of the first relay, if there are appliances.
    pub(super) relays: u32,
    pub(super) group: u32,
    pub(super) start: SimTime,
    pub(super) size: Bytes,
    pub(super) reply: Bytes,
    pub(super) is_used: bool,
    /// The opener has written.
    pub(super) has_asked: bool,
    /// The acceptor has written, or has nothing to write.
    pub(super) has_answered: bool,
    pub(super) is_complete: bool,
}

impl Slot {
    /// The relays of the flow.
    pub(super) fn relays(&self) -> std::ops::Range<usize> {
        self.relays as usize..(self.relays + self.splits) as usize
    }

    /// The flow's acceptor, if this is its opener.
    pub(super) fn acceptor(&self, opener: usize) -> usize {
        opener + 2 * self.splits as usize + 1
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// The first endpoint of the first slot.
    first_endpoint: usize,
    list: Vec<Slot>,
    /// First slots of flows that are over, by the number of their appliances.
    free: Vec<Vec<u32>>,
}

impl Slots {
    pub(super) fn new(first_endpoint: usize) -> Self {
        Self { first_endpoint, list: Vec::new(), free: Vec::new() }
    }

    /// What there is of the connection of this endpoint.
    pub(super) fn incarnation(&self, endpoint: usize) -> u32 {
        self.list[(endpoint - self.first_endpoint) / 2].incarnation
    }

    /// The opener of the flow that this endpoint serves.
    pub(super) fn opener(&self, endpoint: usize) -> usize {
        self.first_endpoint + 2 * self.list[(endpoint - self.first_endpoint) / 2].first as usize
    }

    /// The flow of this opener.
    pub(super) fn flow(&mut self, opener: usize) -> &mut Slot {
        &mut self.list[(opener - self.first_endpoint) / 2]
    }

    /// Slots for a flow over so many appliances: its opener, if an earlier flow has left them.
    pub(super) fn take(&mut self, splits: usize) -> Option<usize> {
        let first = self.free.get_mut(splits)?.pop()?;
        Some(self.first_endpoint + 2 * first as usize)
    }

    /// New slots for such a flow, for endpoints that are to follow those that there are. Their relays begin at `relays`.
    pub(super) fn add(&mut self, splits: usize, relays: usize) {
        let slot = Slot {
            incarnation: 0,
            first: self.list.len() as u32,
            splits: splits as u32,
            relays: relays as u32,
            group: 0,
            start: SimTime::ZERO,
            size: Bytes::ZERO,
            reply: Bytes::ZERO,
            is_used: false,
            has_asked: false,
            has_answered: false,
            is_complete: false,
        };
        self.list.extend(std::iter::repeat_n(slot, splits + 1));
    }

    /// The flow of this opener is over.
    pub(super) fn release(&mut self, opener: usize) {
        let first = (opener - self.first_endpoint) / 2;
        let splits = self.list[first].splits as usize;
        for slot in &mut self.list[first..=first + splits] {
            slot.incarnation = (slot.incarnation + 1) % DATAGRAM;
            slot.is_used = false;
        }
        if self.free.len() <= splits {
            self.free.resize(splits + 1, Vec::new());
        }
        self.free[splits].push(first as u32);
    }

    /// Openers of the flows under way, with what there is of each.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let used = self.list.iter().enumerate().filter(|(_, slot)| slot.is_used);
        used.map(|(index, slot)| (self.first_endpoint + 2 * index, slot))
    }
}
