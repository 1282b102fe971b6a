//! The event queue: a total order by (time, sequence).
//!
//! Keys of 16 bytes: the time above, then the order of scheduling, which breaks ties, then what is to happen. One comparison
//! of two 128-bit integers decides.
//!
//! A few events, which is all that a network of one flow has, lie in order, the first last: what is scheduled soonest is put
//! in its place with the fewest moves. Many lie in a [`Heap`]. The order of the keys is total, so that it is the same events
//! in the same order either way.

mod heap;

use ackclock_net::{EndpointId, LinkId};
use ackclock_units::SimTime;

use crate::ids::{ApplianceId, DatagramFlowId, FlowId, GroupId, RelayDirection, StreamId};

use heap::Heap;

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet on this link arrives at its far end.
    Link(LinkId),
    /// The packet in service on this link has left, or one that was held back may leave.
    Service(LinkId),
    /// The timer of this endpoint may be due.
    Timer(EndpointId),
    /// The application of this stream acts.
    App(StreamId),
    /// This flow opens its connection.
    Start(FlowId),
    /// Series are sampled.
    Sample,
    /// The measurement window begins.
    MeasureFrom,
    /// The measurement window ends.
    MeasureUntil,
    /// A short flow of this group arrives.
    Arrival(GroupId),
    /// A datagram of this flow leaves.
    Datagram(DatagramFlowId),
    /// The discipline of this direction through an appliance asked to be asked again.
    Discipline(RelayDirection),
    /// The copier of this appliance has written a chunk, or has time for one.
    Copier(ApplianceId),
    /// The application of this flow's sender resets the connection.
    Abort(FlowId),
    /// The application that reads at this end stops reading.
    StopReading(EndpointId),
}

const _: () = assert!(size_of::<Event>() == 8, "an event is handed about in a register");

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
            Self::Link(link) => (0, link.index()),
            Self::Timer(end) => (1, end.index()),
            Self::App(stream) => (2, stream.index()),
            Self::Start(flow) => (3, flow.index()),
            Self::Sample => (4, 0),
            Self::MeasureFrom => (5, 0),
            Self::MeasureUntil => (6, 0),
            Self::Service(link) => (7, link.index()),
            Self::Arrival(group) => (8, group.index()),
            Self::Discipline(at) => (9, at.number()),
            Self::Copier(appliance) => (10, appliance.index()),
            Self::Abort(flow) => (11, flow.index()),
            Self::StopReading(end) => (12, end.index()),
            Self::Datagram(flow) => (13, flow.index()),
        };
        debug_assert!(index as u64 <= INDEX_MASK, "an event has 24 bits for a number");
        kind << KIND_SHIFT | index as u64
    }

    fn unpack(bits: u64) -> Self {
        let index = (bits & INDEX_MASK) as usize;
        match bits >> KIND_SHIFT & KIND_MASK {
            0 => Self::Link(LinkId::new(index)),
            1 => Self::Timer(EndpointId::of_number(index as u32)),
            2 => Self::App(StreamId::new(index)),
            3 => Self::Start(FlowId::new(index)),
            4 => Self::Sample,
            5 => Self::MeasureFrom,
            6 => Self::MeasureUntil,
            7 => Self::Service(LinkId::new(index)),
            8 => Self::Arrival(GroupId::new(index)),
            9 => Self::Discipline(RelayDirection::of_number(index)),
            10 => Self::Copier(ApplianceId::new(index)),
            11 => Self::Abort(FlowId::new(index)),
            12 => Self::StopReading(EndpointId::of_number(index as u32)),
            _ => Self::Datagram(DatagramFlowId::new(index)),
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
    use crate::ids::RelayId;
    use ackclock_net::Direction;
    use proptest::prelude::*;

    fn take(queue: &mut EventQueue) -> Option<(SimTime, Event)> {
        let first = queue.first();
        queue.drop_first();
        first
    }

    fn link(place: usize) -> Event {
        Event::Link(LinkId::new(place))
    }

    #[test]
    fn ties_go_by_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        for index in [3, 1, 2] {
            queue.push(SimTime(5), link(index));
        }
        queue.push(SimTime(4), Event::Sample);
        let order: Vec<Event> = std::iter::from_fn(|| take(&mut queue).map(|(_, event)| event)).collect();
        assert_eq!(order, [Event::Sample, link(3), link(1), link(2)]);
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
        queue.replace_first(SimTime(13), Event::Start(FlowId::new(1))); // in the place of 10, behind the other of its time
        let left: Vec<u64> = std::iter::from_fn(|| take(&mut queue).map(|(time, _)| time.0)).collect();
        assert_eq!(left, [11, 12, 13, 13, 14, 15]);
    }

    #[test]
    fn every_event_comes_out_as_it_went_in() {
        let relay = RelayId::new(3);
        let events = [
            Event::Link(LinkId::new(1)),
            Event::Service(LinkId::new(2)),
            Event::Timer(EndpointId::of_number(3)),
            Event::App(StreamId::new(4)),
            Event::Start(FlowId::new(5)),
            Event::Sample,
            Event::MeasureFrom,
            Event::MeasureUntil,
            Event::Arrival(GroupId::new(6)),
            Event::Datagram(DatagramFlowId::new(7)),
            Event::Discipline(RelayDirection::new(relay, Direction::Forward)),
            Event::Discipline(RelayDirection::new(relay, Direction::Backward)),
            Event::Copier(ApplianceId::new(8)),
            Event::Abort(FlowId::new(9)),
            Event::StopReading(EndpointId::of_number((1 << 24) - 1)),
        ];
        for event in events {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }

    proptest! {
        #[test]
        fn it_sorts_stably(times in proptest::collection::vec(0_u64..50, 0..300)) {
            let mut queue = EventQueue::default();
            for (index, time) in times.iter().enumerate() {
                queue.push(SimTime(*time), Event::Timer(EndpointId::of_number(index as u32)));
            }
            let mut expected: Vec<(u64, usize)> = times.iter().copied().zip(0..).collect();
            expected.sort_by_key(|(time, _)| *time);
            let popped: Vec<(u64, usize)> = std::iter::from_fn(|| take(&mut queue)).map(|(time, event)| {
                let Event::Timer(end) = event else { unreachable!() };
                (time.0, end.index())
            }).collect();
            prop_assert_eq!(popped, expected);
        }
    }
}
