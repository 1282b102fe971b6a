//! A window for algorithms that bound the data that may leave, and not the data in flight.
//!
//! Source: none; the sender compares a window with what is in the network. So the window is what is there, as events tell, and what
//! may leave: sending uses the allowance up and leaves the window as it is, and a loss takes its segment away from the window.
//! Departures: none.

use ackclock_units::Bytes;

use crate::controller::Start;
use crate::delivery::SegmentReport;
use crate::event::{AckEvent, RestartCause, RestartEvent, SendEvent};

/// A window that follows the data in flight, so that only the allowance bounds sending; octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    mss: u64,
    in_flight: u64,
    left: u64,
    window: u64,
    /// A timer expired, and no ACK has come since: no more than the loss window leaves (RFC 5681 section 3.1), whatever a
    /// controller's own timer allows.
    is_timed_out: bool,
}

impl Allowance {
    pub(crate) fn new(start: Start) -> Self {
        Self {
            mss: start.mss.0,
            in_flight: 0,
            left: start.initial_window.0,
            window: start.initial_window.0,
            is_timed_out: false,
        }
    }

    /// Sets the allowance; after a timeout it never grows until an ACK arrives.
    pub(crate) fn set(&mut self, octets: u64) {
        self.left = if self.is_timed_out { octets.min(self.left) } else { octets };
        self.window = self.in_flight + self.left;
    }

    /// The octets that may still leave.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The octets thought to be in the network.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The window: the flight size and the allowance, at least a segment.
    pub(crate) fn window(&self) -> Bytes {
        Bytes(self.window.max(self.mss))
    }

    /// True after a timeout, until an ACK arrives.
    pub(crate) fn is_timed_out(&self) -> bool {
        self.is_timed_out
    }

    /// Data that has arrived leaves the network, and adds nothing to the allowance.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent) {
        self.in_flight = ack.delivery.map_or(self.in_flight, |delivery| delivery.inflight.0);
        self.is_timed_out = false;
        self.set(self.left);
    }

    /// A lost segment leaves the network, and adds nothing to the allowance.
    pub(crate) fn on_lost(&mut self, segment: &SegmentReport) {
        self.in_flight = self.in_flight.saturating_sub(segment.size.0);
        self.set(self.left);
    }

    pub(crate) fn on_send(&mut self, sent: &SendEvent) {
        self.in_flight += sent.size.0;
        self.left = self.left.saturating_sub(sent.size.0);
    }

    /// The window starts over: with the loss window one segment may leave beside what is still in the network.
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) {
        self.left = restart.window.0.saturating_sub(self.in_flight);
        self.window = restart.window.0;
        self.is_timed_out = restart.cause == RestartCause::Timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::DeliveryReport;
    use crate::testing::{ack, lost, sent};
    use ackclock_units::SimTime;

    const MSS: u64 = 1_000;

    fn ten_in_flight() -> Allowance {
        let mut allowance = Allowance::new(Start::of(MSS, 10 * MSS, None));
        (0..10).for_each(|_| allowance.on_send(&sent(MSS)));
        allowance
    }

    #[test]
    fn the_window_stays_while_the_allowance_is_used_up_and_beyond() {
        let mut allowance = ten_in_flight();
        assert_eq!((allowance.window(), allowance.left()), (Bytes(10 * MSS), 0));
        allowance.on_send(&sent(MSS)); // a probe, which the window does not bound
        assert_eq!((allowance.window(), allowance.in_flight()), (Bytes(10 * MSS), 11 * MSS));
    }

    #[test]
    fn neither_an_ack_nor_a_loss_makes_room() {
        let mut allowance = ten_in_flight();
        (0..4).for_each(|_| allowance.on_lost(&lost(MSS)));
        assert_eq!(allowance.window(), Bytes(6 * MSS)); // six are in the network, and none may leave
        let delivery = Some(DeliveryReport { inflight: Bytes(5 * MSS), ..DeliveryReport::default() });
        allowance.on_ack(&AckEvent { delivery, ..ack(MSS) });
        assert_eq!(allowance.window(), Bytes(5 * MSS));
        allowance.set(2 * MSS);
        assert_eq!(allowance.window(), Bytes(7 * MSS));
    }

    #[test]
    fn a_loss_window_lets_one_segment_leave() {
        let mut allowance = ten_in_flight();
        (0..10).for_each(|_| allowance.on_lost(&lost(MSS)));
        let (now, cause) = (SimTime::ZERO, RestartCause::Timeout);
        allowance.on_restart(&RestartEvent { now, cause, window: Bytes(MSS), ssthresh: None });
        assert_eq!((allowance.window(), allowance.left()), (Bytes(MSS), MSS)); // RFC 5681 section 3.1
        allowance.on_send(&sent(MSS));
        allowance.set(5 * MSS); // a timer of the controller
        assert_eq!((allowance.window(), allowance.left()), (Bytes(MSS), 0));
        allowance.on_ack(&ack(MSS));
        allowance.set(5 * MSS);
        assert_eq!(allowance.left(), 5 * MSS);
    }
}
