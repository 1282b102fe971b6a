//! The event queue: a total order by (time, sequence).
//!
//! A four-ary heap of 16-byte keys: the time above, then the order of scheduling, which breaks ties, then what is to
//! happen. One comparison of two 128-bit integers decides. Children come in whole groups of four, of which those that are not
//! there come after everything, so that finding the least of four takes no branch.

use ackclock_units::SimTime;

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet on this link arrives at its far end.
    Link(u32),
    /// The packet in service on this link has left, or one that was held back may leave.
    Service(u32),
    /// The timer of this endpoint may be due.
    Timer(u32),
    /// The application of this stream acts.
    App(u32),
    /// This flow opens its connection.
    Start(u32),
    /// Series are sampled.
    Sample,
    /// The measurement window begins.
    MeasureFrom,
    /// The measurement window ends.
    MeasureUntil,
    /// This source of traffic makes a short flow, or a datagram.
    Source(u32),
}

const KIND_SHIFT: u32 = 24;
const KIND_MASK: u64 = 15;
const SEQUENCE_SHIFT: u32 = 28;
const INDEX_MASK: u64 = (1 << KIND_SHIFT) - 1;

/// A place without an event. No event has this key, whose number of scheduling would be 2^36 - 1 at the end of time.
const VACANT: u128 = u128::MAX;

impl Event {
    fn pack(self) -> u64 {
        let (kind, index) = match self {
            Self::Link(index) => (0, index),
            Self::Timer(index) => (1, index),
            Self::App(index) => (2, index),
            Self::Start(index) => (3, index),
            Self::Sample => (4, 0),
            Self::MeasureFrom => (5, 0),
            Self::MeasureUntil => (6, 0),
            Self::Service(index) => (7, index),
            Self::Source(index) => (8, index),
        };
        kind << KIND_SHIFT | u64::from(index)
    }

    fn unpack(bits: u64) -> Self {
        let index = (bits & INDEX_MASK) as u32;
        match bits >> KIND_SHIFT & KIND_MASK {
            0 => Self::Link(index),
            1 => Self::Timer(index),
            2 => Self::App(index),
            3 => Self::Start(index),
            4 => Self::Sample,
            5 => Self::MeasureFrom,
            6 => Self::MeasureUntil,
            7 => Self::Service(index),
            _ => Self::Source(index),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    /// The root and whole groups of children.
    heap: Vec<u128>,
    /// How many of these are events: the first ones.
    count: usize,
    sequence: u64,
}

impl EventQueue {
    /// Schedules an event. Of events at one time, the one scheduled first comes first.
    pub(crate) fn push(&mut self, time: SimTime, event: Event) {
        let key = self.key(time, event);
        if self.count == self.heap.len() {
            self.grow();
        }
        self.sift_up(self.count, key);
        self.count += 1;
    }

    /// Room for a root, or for one more group of children.
    #[cold]
    fn grow(&mut self) {
        let more = if self.heap.is_empty() { 1 } else { 4 };
        self.heap.resize(self.heap.len() + more, VACANT);
    }

    fn key(&mut self, time: SimTime, event: Event) -> u128 {
        self.sequence += 1;
        u128::from(time.0) << 64 | u128::from(self.sequence << SEQUENCE_SHIFT | event.pack())
    }

    /// The first event, left in place: drop it or replace it.
    pub(crate) fn first(&self) -> Option<(SimTime, Event)> {
        let first = *self.heap.first().filter(|key| **key != VACANT)?;
        Some((SimTime((first >> 64) as u64), Event::unpack(first as u64 & ((1 << SEQUENCE_SHIFT) - 1))))
    }

    /// Takes the first event out.
    pub(crate) fn drop_first(&mut self) {
        let Some(last) = self.count.checked_sub(1) else { return };
        self.count = last;
        let key = std::mem::replace(&mut self.heap[last], VACANT);
        if last > 0 {
            self.sift_down(key);
        }
    }

    /// Takes the first event out and schedules another, at the price of one of the two.
    pub(crate) fn replace_first(&mut self, time: SimTime, event: Event) {
        let key = self.key(time, event);
        if self.count > 0 {
            self.sift_down(key);
        }
    }

    /// Puts `key` at the place `at`, or above it.
    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    /// Puts `key` in the place of the first, or below it.
    fn sift_down(&mut self, key: u128) {
        let mut at = 0;
        while let Some(&[a, b, c, d]) = self.heap.get(4 * at + 1..).and_then(<[u128]>::first_chunk) {
            let (ab, least_ab) = if b < a { (1, b) } else { (0, a) };
            let (cd, least_cd) = if d < c { (3, d) } else { (2, c) };
            let (least, child) = if least_cd < least_ab { (cd, least_cd) } else { (ab, least_ab) };
            if child >= key {
                break;
            }
            self.heap[at] = child;
            at = 4 * at + 1 + least;
        }
        self.heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(queue: &mut EventQueue) -> Option<(SimTime, Event)> {
        let first = queue.first();
        queue.drop_first();
        first
    }

    #[test]
    fn ties_go_by_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        for index in [3, 1, 2] {
            queue.push(SimTime(5), Event::Link(index));
        }
        queue.push(SimTime(4), Event::Sample);
        let order: Vec<Event> = std::iter::from_fn(|| take(&mut queue).map(|(_, event)| event)).collect();
        assert_eq!(order, [Event::Sample, Event::Link(3), Event::Link(1), Event::Link(2)]);
    }

    proptest! {
        #[test]
        fn it_sorts_stably(times in proptest::collection::vec(0_u64..50, 0..300)) {
            let mut queue = EventQueue::default();
            for (index, time) in times.iter().enumerate() {
                queue.push(SimTime(*time), Event::Timer(index as u32));
            }
            let mut expected: Vec<(u64, usize)> = times.iter().copied().zip(0..).collect();
            expected.sort_by_key(|(time, _)| *time);
            let popped: Vec<(u64, usize)> = std::iter::from_fn(|| take(&mut queue)).map(|(time, event)| {
                let Event::Timer(index) = event else { unreachable!() };
                (time.0, index as usize)
            }).collect();
            prop_assert_eq!(popped, expected);
        }
    }
}
