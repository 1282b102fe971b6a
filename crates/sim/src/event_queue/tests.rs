use super::*;
use crate::ids::{ApplianceId, DatagramFlowId, FlowId, GroupId, RelayDirection, RelayId, StreamId};
use ackclock_net::{Direction, EndpointId, LinkId};
use proptest::prelude::*;

fn take(queue: &mut EventQueue) -> Option<(SimTime, Event)> {
    let first = first(queue)?;
    queue.drop_first();
    Some(first)
}

fn first(queue: &EventQueue) -> Option<(SimTime, Event)> {
    queue.first_before(Moment(NO_KEY))
}

fn link(place: usize) -> Event {
    Event::Link(LinkId::new(place))
}

#[test]
fn ties_go_by_when_they_were_scheduled_then_by_number() {
    let mut queue = EventQueue::default();
    queue.push(SimTime(5), link(3));
    queue.push(SimTime(4), Event::Sample);
    queue.advance(SimTime(1));
    queue.push(SimTime(5), link(2));
    queue.push(SimTime(5), link(1));
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
    assert!(queue.soon_ends < u64::MAX);
    for time in 0..10 {
        assert_eq!(take(&mut queue), Some((SimTime(time), Event::Sample)));
    }
    queue.replace_first(SimTime(13), Event::Start(FlowId::new(1))); // in the place of 10, behind the other of its time
    let left: Vec<u64> = std::iter::from_fn(|| take(&mut queue).map(|(time, _)| time.0)).collect();
    assert_eq!(left, [11, 12, 13, 13, 14, 15]);
    assert_eq!(queue.soon_ends, u64::MAX);
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

/// A step of a test: events are scheduled at these distances from the first, and then some of the first are removed or
/// replaced.
type Step = (Vec<u64>, usize, Option<u64>);

fn any_step() -> impl Strategy<Value = Step> {
    let ahead = prop_oneof![
        5 => 0_u64..2_000,
        5 => 0_u64..1_000_000,
        2 => 0_u64..40_000_000,
        1 => 200_000_000_u64..5_000_000_000,
        2 => Just(1_000_000),
    ];
    (proptest::collection::vec(ahead.clone(), 0..60), 0_usize..50, proptest::option::of(ahead))
}

proptest! {
    #[test]
    fn it_sorts_stably(times in proptest::collection::vec(0_u64..50, 0..300)) {
        let mut queue = EventQueue::default();
        for (index, time) in times.iter().enumerate() {
            queue.push(SimTime(*time), link(index));
        }
        let mut expected: Vec<(SimTime, Event)> =
            times.iter().enumerate().map(|(index, time)| (SimTime(*time), link(index))).collect();
        expected.sort_by_key(|(time, _)| *time);
        let popped: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        prop_assert_eq!(popped, expected);
    }

    /// The queue equals a sorted set of (time, number), for any distances and any number of events.
    #[test]
    fn it_is_a_sorted_set(steps in proptest::collection::vec(any_step(), 0..120)) {
        let mut queue = EventQueue::default();
        let mut expected = std::collections::BTreeSet::new();
        let (mut now, mut number) = (0, 0);
        for (ahead, taken, replacement) in steps {
            for ahead in ahead {
                number += 1;
                queue.push(SimTime(now + ahead), link(number));
                expected.insert((now + ahead, number));
            }
            for _ in 0..taken {
                let first = expected.pop_first().map(|(time, number)| (SimTime(time), link(number)));
                prop_assert_eq!(super::tests::first(&queue), first);
                queue.drop_first();
                now = first.map_or(now, |(time, _)| time.0);
                queue.advance(SimTime(now));
            }
            if let Some(ahead) = replacement.filter(|_| !expected.is_empty()) {
                now = expected.pop_first().map_or(now, |(time, _)| time);
                queue.advance(SimTime(now));
                number += 1;
                queue.replace_first(SimTime(now + ahead), link(number));
                expected.insert((now + ahead, number));
            }
        }
    }
}
