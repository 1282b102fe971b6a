//! The timer of an end of a connection, as lazy events. An event is scheduled only if none comes early enough, and when
//! it comes the deadline may have moved on.

use ackclock_net::EndpointId;
use ackclock_units::SimTime;

use crate::event_queue::{Event, EventQueue};

/// Timer of an end with at most two pending events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    /// Time of the awaited event; [`SimTime::NEVER`] without one.
    pending: SimTime,
    /// Time of a later event that an earlier one replaced. It is awaited again after that, so that a deadline that
    /// moves back and forth does not leave an event behind each time.
    spare: SimTime,
}

impl Default for Timer {
    fn default() -> Self {
        Self { pending: SimTime::NEVER, spare: SimTime::NEVER }
    }
}

impl Timer {
    /// Arms the timer: an event comes no later than `deadline`.
    #[inline]
    pub(crate) fn arm(&mut self, deadline: SimTime, id: EndpointId, queue: &mut EventQueue) {
        if deadline < self.pending {
            self.hasten(deadline, id, queue);
        }
    }

    fn hasten(&mut self, deadline: SimTime, id: EndpointId, queue: &mut EventQueue) {
        if self.spare <= deadline {
            self.pending = std::mem::replace(&mut self.spare, SimTime::NEVER);
            return;
        }
        self.spare = self.spare.min(self.pending);
        self.pending = deadline.max(queue.now());
        queue.push(self.pending, Event::Timer(id));
    }

    /// Takes an event. Returns true if it was awaited.
    pub(crate) fn take(&mut self, now: SimTime) -> bool {
        if self.spare == now {
            self.spare = SimTime::NEVER;
        }
        let is_pending = self.pending == now;
        if is_pending {
            self.pending = SimTime::NEVER;
        }
        is_pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_queue::Moment;

    const END: EndpointId = EndpointId::of_number(0);

    /// Handles the first event. Returns its time, and whether it was awaited.
    fn handle(timer: &mut Timer, queue: &mut EventQueue) -> (u64, bool) {
        let (now, _) = queue.first_before(Moment::before(SimTime::NEVER)).expect("an event is pending");
        queue.advance(now);
        queue.drop_first();
        (now.0, timer.take(now))
    }

    #[test]
    fn a_deadline_that_moves_on_costs_no_event_before_the_pending_one_comes() {
        let (mut timer, mut queue) = (Timer::default(), EventQueue::default());
        for deadline in [50, 60, 70] {
            timer.arm(SimTime(deadline), END, &mut queue);
        }
        assert_eq!(handle(&mut timer, &mut queue), (50, true)); // not due yet: the next comes when it is
        timer.arm(SimTime(70), END, &mut queue);
        assert_eq!(handle(&mut timer, &mut queue), (70, true));
        assert_eq!(queue.first_moment(), None);
    }

    #[test]
    fn what_an_earlier_deadline_took_the_place_of_comes_in_time() {
        let (mut timer, mut queue) = (Timer::default(), EventQueue::default());
        timer.arm(SimTime(100), END, &mut queue);
        timer.arm(SimTime(20), END, &mut queue);
        assert_eq!(handle(&mut timer, &mut queue), (20, true));
        timer.arm(SimTime(90), END, &mut queue); // before what is pending: one of its own
        assert_eq!(handle(&mut timer, &mut queue), (90, true));
        timer.arm(SimTime(150), END, &mut queue);
        assert_eq!(handle(&mut timer, &mut queue), (100, true)); // too early, and better than one more
        timer.arm(SimTime(150), END, &mut queue);
        assert_eq!(handle(&mut timer, &mut queue), (150, true));
        assert_eq!(queue.first_moment(), None);
    }

    #[test]
    fn a_deadline_now_near_now_far_leaves_no_events_behind() {
        const NEAR: u64 = 7;
        const FAR: u64 = 1_000;
        let (mut timer, mut queue) = (Timer::default(), EventQueue::default());
        let (mut near, mut near_ones, mut all) = (NEAR, 0, 0);
        timer.arm(SimTime(near), END, &mut queue);
        while near < 10 * FAR {
            let (now, _) = handle(&mut timer, &mut queue);
            all += 1;
            if now == near {
                timer.arm(SimTime(now + FAR), END, &mut queue); // as a sender whose controller has not decided yet
                near_ones += 1;
                near += NEAR;
            }
            timer.arm(SimTime(near), END, &mut queue);
        }
        assert!(all <= near_ones + 10, "{all} events for {near_ones} that were due");
    }
}
