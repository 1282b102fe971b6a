//! Many first-in first-out queues in one store of linked slots, one for each packet. A thousand flows share the memory
//! of their packets, and no packet is allocated once the store has grown.

use prefetch_index::prefetch_index;

use super::Queued;
use super::fifo::Head;

/// The index of an absent slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    packet: Queued,
    /// The packet behind it in its queue, or the next free slot.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
    packets: u32,
}

/// The queues of many flows in one store.
#[derive(Clone, Debug)]
pub(super) struct FlowQueues {
    slots: Vec<Slot>,
    free: u32,
    ends: Vec<Ends>,
    /// The octets of each queue, apart from the rest for the search of the fattest.
    octets: Vec<u64>,
    total_packets: usize,
    total_octets: u64,
}

impl FlowQueues {
    pub(super) fn new(queues: u32) -> Self {
        let empty = Ends { head: NONE, tail: NONE, packets: 0 };
        Self {
            slots: Vec::new(),
            free: NONE,
            ends: vec![empty; queues as usize],
            octets: vec![0; queues as usize],
            total_packets: 0,
            total_octets: 0,
        }
    }

    pub(super) fn push(&mut self, queue: u32, packet: Queued) {
        let slot = self.take_slot(packet);
        let ends = &mut self.ends[queue as usize];
        if ends.tail == NONE {
            ends.head = slot;
        } else {
            self.slots[ends.tail as usize].next = slot;
        }
        ends.tail = slot;
        ends.packets += 1;
        self.octets[queue as usize] += packet.octets;
        self.total_packets += 1;
        self.total_octets += packet.octets;
    }

    pub(super) fn pop(&mut self, queue: u32) -> Option<Queued> {
        let head = self.ends[queue as usize].head;
        (head != NONE).then(|| self.unlink(queue, NONE, head))
    }

    /// Prefetches the first packet of a queue, which will soon be read.
    pub(super) fn fetch(&self, queue: u32) {
        let head = self.ends[queue as usize].head as usize;
        prefetch_index(&self.slots, head);
        prefetch_index(&self.slots, head + 1); // where it ends
    }

    /// Takes the packet of `slot`, which follows `before` (or is the first).
    fn unlink(&mut self, queue: u32, before: u32, slot: u32) -> Queued {
        let Slot { packet, next } = self.slots[slot as usize];
        let ends = &mut self.ends[queue as usize];
        if before == NONE {
            ends.head = next;
        } else {
            self.slots[before as usize].next = next;
        }
        if ends.tail == slot {
            ends.tail = before;
        }
        ends.packets -= 1;
        self.octets[queue as usize] -= packet.octets;
        self.total_packets -= 1;
        self.total_octets -= packet.octets;
        self.slots[slot as usize].next = self.free;
        self.free = slot;
        packet
    }

    fn take_slot(&mut self, packet: Queued) -> u32 {
        if self.free == NONE {
            self.slots.push(Slot { packet, next: NONE });
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next;
        self.slots[slot as usize] = Slot { packet, next: NONE };
        slot
    }

    /// The packets of a queue, from the head on.
    pub(super) fn waiting(&self, queue: u32) -> impl Iterator<Item = &Queued> {
        let mut slot = self.ends[queue as usize].head;
        std::iter::from_fn(move || {
            let found = self.slots.get(slot as usize)?;
            slot = found.next;
            Some(&found.packet)
        })
    }

    /// Removes the packet at `position` of a queue, counted from the head, which is 0.
    pub(super) fn remove(&mut self, queue: u32, position: usize) -> Queued {
        let (mut before, mut slot) = (NONE, self.ends[queue as usize].head);
        for _ in 0..position {
            (before, slot) = (slot, self.slots[slot as usize].next);
        }
        self.unlink(queue, before, slot)
    }

    /// The queue with the most octets; among equals the one at the lowest position.
    pub(super) fn fattest(&self) -> u32 {
        let mut fattest = 0;
        for (queue, octets) in self.octets.iter().enumerate() {
            if *octets > self.octets[fattest] {
                fattest = queue;
            }
        }
        fattest as u32
    }

    /// Packets in one queue.
    pub(super) fn packets_of(&self, queue: u32) -> u32 {
        self.ends[queue as usize].packets
    }

    /// Octets in one queue.
    pub(super) fn octets_of(&self, queue: u32) -> u64 {
        self.octets[queue as usize]
    }

    /// Packets in all queues.
    pub(super) fn len(&self) -> usize {
        self.total_packets
    }

    /// Octets in all queues.
    pub(super) fn octets(&self) -> u64 {
        self.total_octets
    }

    /// One of the queues, with the octets that wait in it or in all queues.
    pub(super) fn queue(&mut self, index: u32, backlog: Backlog) -> OneQueue<'_> {
        OneQueue { queues: self, index, backlog }
    }
}

/// The queues whose octets a discipline of one queue sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    Own,
    All,
}

/// One of the queues, for a discipline that works on a single one.
pub(super) struct OneQueue<'a> {
    queues: &'a mut FlowQueues,
    index: u32,
    backlog: Backlog,
}

impl Head for OneQueue<'_> {
    fn pop(&mut self) -> Option<Queued> {
        self.queues.pop(self.index)
    }

    fn octets(&self) -> u64 {
        match self.backlog {
            Backlog::Own => self.queues.octets_of(self.index),
            Backlog::All => self.queues.octets(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::arrival;
    use ackclock_units::SimTime;

    fn queues(pushed: &[(u32, u32)]) -> FlowQueues {
        let mut queues = FlowQueues::new(4);
        for (queue, octets) in pushed {
            queues.push(*queue, arrival(SimTime::ZERO, *queue, *octets));
        }
        queues
    }

    #[test]
    fn each_queue_keeps_its_order_and_its_counts() {
        let mut queues = queues(&[(0, 100), (1, 200), (0, 300), (1, 400)]);
        assert_eq!((queues.len(), queues.octets(), queues.octets_of(1)), (4, 1000, 600));
        assert_eq!(queues.pop(1).map(|packet| packet.octets), Some(200));
        assert_eq!(queues.pop(1).map(|packet| packet.octets), Some(400));
        assert!(queues.pop(1).is_none());
        assert_eq!((queues.len(), queues.octets(), queues.packets_of(0)), (2, 400, 2));
    }

    #[test]
    fn slots_are_used_again() {
        let mut queues = queues(&[(0, 100), (1, 200)]);
        for round in 0..1000 {
            queues.pop(round % 2);
            queues.push(round % 2, arrival(SimTime::ZERO, 0, 300));
        }
        assert_eq!(queues.slots.len(), 2);
    }

    #[test]
    fn the_fattest_has_the_most_octets_not_packets() {
        assert_eq!(queues(&[(0, 100), (0, 100), (0, 100), (2, 301)]).fattest(), 2);
    }

    #[test]
    fn removal_in_the_middle_keeps_the_rest_linked() {
        let mut queues = queues(&[(0, 100), (0, 200), (0, 300), (0, 400)]);
        for (position, octets) in [(1, 200), (2, 400), (0, 100)] {
            assert_eq!(queues.remove(0, position).octets, octets);
        }
        assert_eq!(queues.waiting(0).map(|packet| packet.octets).collect::<Vec<_>>(), [300]);
        queues.push(0, arrival(SimTime::ZERO, 0, 500));
        let left: Vec<u64> = std::iter::from_fn(|| queues.pop(0)).map(|packet| packet.octets).collect();
        assert_eq!(left, [300, 500]);
        assert_eq!((queues.len(), queues.octets()), (0, 0));
    }
}
