//! Invariants of an endpoint after a call. Debug builds check them, release builds do not.

use ackclock_units::SimTime;

use super::QuicEndpoint;

impl QuicEndpoint {
    /// Checks the timers after they have fired: none is left in the past, since the owner of the endpoint would call it
    /// for ever.
    #[inline]
    pub(super) fn check_timers(&self, now: SimTime) {
        if cfg!(debug_assertions) {
            let deadline = self.deadline();
            assert!(deadline > now, "{} is left at {deadline}, and it is {now}", self.due(deadline));
        }
    }

    /// The timer that goes off at this moment.
    fn due(&self, deadline: SimTime) -> &'static str {
        if self.acks.deadline() == deadline { "the timer of delayed ACKs" } else { self.sender.due(deadline) }
    }
}
