//! The event queue: a total order by (time, sequence).
//!
//! Keys of 16 bytes: the time above, then the order of scheduling, which breaks ties, then what is to happen. One comparison
//! of two 128-bit integers decides.
//!
//! A few events, which is all that a network of one flow has, lie in order, the first last: what is scheduled soonest is put
//! in its place with the fewest moves. Many lie in a [`Heap`]. The order of the keys is total, so that it is the same events
//! in the same order either way.

mod heap;

use ackclock_units::SimTime;

use heap::Heap;

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
    /// The discipline of this way through an appliance asked to be asked again.
    Discipline(u32),
    /// The copier of this appliance has written a chunk, or has time for one.
    Copier(u32),
    /// The application of this flow's sender resets the connection.
    Abort(u32),
    /// The application of this flow's receiver stops reading.
    StopReading(u32),
}

const KIND_SHIFT: u32 = 24;
const KIND_MASK: u64 = 15;
const SEQUENCE_SHIFT: u32 = 28;
const INDEX_MASK: u64 = (1 << KIND_SHIFT) - 1;

/// More events than these lie in the heap, until there are no more than `FEW_AGAIN`: so that a queue about as long as this does
/// not change its form with every event.
const FEW: usize = 12;
const FEW_AGAIN: usize = 6;

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
            Self::Discipline(index) => (9, index),
            Self::Copier(index) => (10, index),
            Self::Abort(index) => (11, index),
            Self::StopReading(index) => (12, index),
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
            8 => Self::Source(index),
            9 => Self::Discipline(index),
            10 => Self::Copier(index),
            11 => Self::Abort(index),
            _ => Self::StopReading(index),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    /// All keys while they are few, the latest first.
    few: Vec<u128>,
    /// All keys while they are many.
    many: Heap,
    are_many: bool,
    sequence: u64,
}

impl EventQueue {
    /// Schedules an event. Of events at one time, the one scheduled first comes first.
    pub(crate) fn push(&mut self, time: SimTime, event: Event) {
        let key = self.key(time, event);
        if self.are_many {
            return self.many.push(key);
        }
        self.few.push(key);
        put_in_order(&mut self.few, key);
        if self.few.len() > FEW {
            self.turn_into_heap();
        }
    }

    fn key(&mut self, time: SimTime, event: Event) -> u128 {
        self.sequence += 1;
        u128::from(time.0) << 64 | u128::from(self.sequence << SEQUENCE_SHIFT | event.pack())
    }

    /// The first event, left in place: drop it or replace it.
    pub(crate) fn first(&self) -> Option<(SimTime, Event)> {
        let first = if self.are_many { self.many.first()? } else { *self.few.last()? };
        Some((SimTime((first >> 64) as u64), Event::unpack(first as u64 & ((1 << SEQUENCE_SHIFT) - 1))))
    }

    /// Takes the first event out.
    pub(crate) fn drop_first(&mut self) {
        if !self.are_many {
            self.few.pop();
            return;
        }
        self.many.drop_first();
        if self.many.len() <= FEW_AGAIN {
            self.turn_into_few();
        }
    }

    /// Takes the first event out and schedules another, at the price of one of the two.
    pub(crate) fn replace_first(&mut self, time: SimTime, event: Event) {
        let key = self.key(time, event);
        if self.are_many {
            self.many.replace_first(key);
        } else {
            put_in_order(&mut self.few, key);
        }
    }

    #[cold]
    fn turn_into_heap(&mut self) {
        self.are_many = true;
        for key in self.few.drain(..).rev() {
            self.many.push(key);
        }
    }

    #[cold]
    fn turn_into_few(&mut self) {
        self.are_many = false;
        while let Some(key) = self.many.first() {
            self.few.push(key);
            self.many.drop_first();
        }
        self.few.reverse();
    }
}

/// Puts `key` into keys in falling order, whose last place is free.
fn put_in_order(keys: &mut [u128], key: u128) {
    let Some(mut at) = keys.len().checked_sub(1) else { return };
    while at > 0 && keys[at - 1] < key {
        keys[at] = keys[at - 1];
        at -= 1;
    }
    keys[at] = key;
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

    #[test]
    fn few_become_many_and_few_again() {
        let mut queue = EventQueue::default();
        let times = [5, 3, 9, 1, 7, 2, 8, 6, 4, 0, 15, 11, 13, 12, 14, 10]; // more than FEW
        for time in times {
            queue.push(SimTime(time), Event::Sample);
        }
        assert!(queue.are_many);
        for time in 0..10 {
            assert_eq!(take(&mut queue), Some((SimTime(time), Event::Sample)));
        }
        assert!(!queue.are_many); // six are left
        queue.replace_first(SimTime(13), Event::Start(1)); // in the place of 10, behind the other of its time
        let left: Vec<u64> = std::iter::from_fn(|| take(&mut queue).map(|(time, _)| time.0)).collect();
        assert_eq!(left, [11, 12, 13, 13, 14, 15]);
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
