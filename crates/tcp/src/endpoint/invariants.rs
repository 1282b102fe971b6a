//! Invariants of an endpoint after every call. Debug builds check them, release builds do not.

use ackclock_units::SimTime;

use super::{ConnectionPhase, Endpoint};

/// Most outstanding segments for which every call recounts all of them.
const CHEAP_TO_RECOUNT: usize = 8;

impl Endpoint {
    /// After a call: panics, in debug builds, with the promise that is broken.
    #[inline]
    pub(super) fn check(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.calls = self.calls.wrapping_add(1);
            // As many calls between two recounts as there are segments, so that a call costs the same in large windows.
            let between = self.sender.flight().board.count().max(64) as u32;
            self.check_invariants(self.calls.is_multiple_of(between));
        }
    }

    /// After its timers: one that has fired is not left in the past, since whoever runs the endpoint would call it for ever.
    #[inline]
    pub(super) fn check_timers(&self, now: SimTime) {
        if cfg!(debug_assertions) {
            let deadline = self.deadline();
            assert!(deadline > now, "{} is left at {deadline}, and it is {now}", self.due(deadline));
        }
    }

    /// The timer that goes off at this moment.
    fn due(&self, deadline: SimTime) -> &'static str {
        if self.phase == ConnectionPhase::Open && self.receiver.deadline() == deadline {
            return "the receiver's timer";
        }
        self.sender.due(deadline)
    }

    /// Checks conservation of octets, the counts behind pipe, and order and windows of both halves. Panics with the
    /// invariant that is violated. `recounts` recounts every outstanding segment; a few are counted in any case.
    pub fn check_invariants(&self, recounts: bool) {
        if self.phase != ConnectionPhase::Open {
            return;
        }
        self.sender.check_invariants(recounts || self.sender.flight().board.count() <= CHEAP_TO_RECOUNT);
        self.receiver.check_invariants();
        assert!(self.sender.flight().board.una() >= 1, "an open connection has its SYN acknowledged");
        assert!(!self.only_receives || self.sender.has_nothing_to_do(), "an end that only receives has nothing to do");
        assert!(
            !self.only_receives || self.sender.deadline() == SimTime::NEVER,
            "an end that only receives sets no timer"
        );
        assert!(self.has_controller(), "an open connection has a controller");
    }
}
