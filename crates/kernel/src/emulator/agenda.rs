//! Future events of the network in the order of time, and the earliest time at which each can hand out a packet.
//!
//! Events have their exact time however late they are worked out, so that a thread may sleep through those that only move packets
//! on: it wakes for what can come out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_units::SimTime;

/// Time of an event, that since which it is known, and the number of events scheduled before it: the order of events, as the
/// simulator's.
type Place = (SimTime, SimTime, u64);

/// Queue of future events.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    events: BinaryHeap<Reverse<(Place, E)>>,
    /// Earliest time at which each event can hand out a packet; contains some past events.
    outcomes: BinaryHeap<Reverse<(SimTime, Place)>>,
    scheduled: u64,
    /// Place of the last event.
    latest: Place,
}

impl<E: Ord> Agenda<E> {
    pub(super) fn new() -> Self {
        Self {
            events: BinaryHeap::new(),
            outcomes: BinaryHeap::new(),
            scheduled: 0,
            latest: (SimTime::ZERO, SimTime::ZERO, 0),
        }
    }

    /// An event known `since` a time that hands out nothing before `outcome`; [`SimTime::NEVER`] if it never does.
    pub(super) fn schedule(&mut self, since: SimTime, time: SimTime, event: E, outcome: SimTime) {
        self.scheduled += 1;
        // At the time of the last event a place lies behind it, or its outcome would be taken for one of the past.
        let (now, known, _) = self.latest;
        let place = (time, if time == now { since.max(known) } else { since }, self.scheduled);
        self.events.push(Reverse((place, event)));
        if outcome < SimTime::NEVER {
            self.outcomes.push(Reverse((outcome, place)));
        }
    }

    /// The next event, if its time has come by `now`.
    pub(super) fn pop(&mut self, now: SimTime) -> Option<(SimTime, E)> {
        if self.events.peek().is_none_or(|Reverse((place, _))| place.0 > now) {
            return None;
        }
        let Reverse((place, event)) = self.events.pop()?;
        self.latest = place;
        Some((place.0, event))
    }

    /// The earliest outcome of what has not happened yet; [`SimTime::NEVER`] if there is none.
    pub(super) fn next_outcome(&mut self) -> SimTime {
        while let Some(Reverse((outcome, place))) = self.outcomes.peek() {
            if *place > self.latest {
                return *outcome;
            }
            self.outcomes.pop();
        }
        SimTime::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_events_of_one_instant_what_is_known_for_longer_comes_first() {
        let mut agenda = Agenda::new();
        for (since, time, event) in [(1, 5, 'd'), (1, 3, 'b'), (1, 5, 'a'), (0, 5, 'c')] {
            agenda.schedule(SimTime(since), SimTime(time), event, SimTime(time));
        }
        let mut order = Vec::new();
        while let Some((time, event)) = agenda.pop(SimTime(9)) {
            order.push((time.0, event));
        }
        assert_eq!(order, [(3, 'b'), (5, 'c'), (5, 'd'), (5, 'a')]);
        assert_eq!(agenda.pop(SimTime(9)), None);
    }

    #[test]
    fn an_event_of_the_present_instant_still_has_its_outcome() {
        let mut agenda = Agenda::new();
        agenda.schedule(SimTime(3), SimTime(5), "the last", SimTime(5));
        agenda.pop(SimTime(5));
        agenda.schedule(SimTime(1), SimTime(5), "known for longer", SimTime(5));
        assert_eq!(agenda.next_outcome(), SimTime(5));
    }

    #[test]
    fn an_event_that_has_been_has_no_outcome_any_more() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.next_outcome(), SimTime::NEVER);
        agenda.schedule(SimTime::ZERO, SimTime(1), "far from a host", SimTime(100));
        agenda.schedule(SimTime::ZERO, SimTime(2), "at a host", SimTime(2));
        agenda.schedule(SimTime::ZERO, SimTime(3), "seen by nobody", SimTime::NEVER);
        assert_eq!(agenda.next_outcome(), SimTime(2));
        assert_eq!(agenda.pop(SimTime(2)), Some((SimTime(1), "far from a host")));
        agenda.schedule(SimTime::ZERO, SimTime(4), "its packet at the next link", SimTime(100));
        assert_eq!(agenda.pop(SimTime(2)), Some((SimTime(2), "at a host")));
        assert_eq!(agenda.next_outcome(), SimTime(100));
        assert_eq!(agenda.pop(SimTime(2)), None);
        assert_eq!(agenda.pop(SimTime(4)), Some((SimTime(3), "seen by nobody")));
        assert_eq!(agenda.pop(SimTime(4)), Some((SimTime(4), "its packet at the next link")));
        assert_eq!(agenda.next_outcome(), SimTime::NEVER);
    }
}
