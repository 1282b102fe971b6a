//! The loss window of a controller that keeps a rate and no window. After a timeout, the bound of the flight size
//! begins at the stack's loss window and grows by slow start, until the controller's own bound is smaller.
//!
//! Source: RFC 5681 section 3.1. Departures: no threshold ends that slow start, but the bound that the controller has by itself.

use crate::event::{AckEvent, RestartCause, RestartEvent};

/// A bound of the flight size after a timeout, octets; `None` otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LossWindow(Option<u64>);

impl LossWindow {
    //= rfc5681-3.1-loss-window
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) {
        if restart.cause == RestartCause::Timeout {
            self.0 = Some(restart.window.0);
        }
    }

    /// Grows by the data that the ACK delivers, until it reaches the controller's own bound, `own`.
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, own: u64) {
        self.0 = self.0.map(|window| window + ack.newly_acked.0).filter(|window| *window < own);
    }

    pub(crate) fn bound(self, own: u64) -> u64 {
        self.0.map_or(own, |window| own.min(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, restart};

    //= rfc5681-3.1-loss-window
    #[test]
    fn it_doubles_in_a_round_trip_and_ends_at_the_controllers_own_bound() {
        let mut window = LossWindow::default();
        assert_eq!(window.bound(10_000), 10_000);
        window.on_restart(&restart(RestartCause::Timeout, 1_000));
        window.on_restart(&restart(RestartCause::Idle, 5_000));
        let mut seen = Vec::new();
        for acked in [1_000, 2_000, 4_000, 8_000] {
            seen.push(window.bound(10_000));
            window.on_ack(&ack(acked), 10_000);
        }
        assert_eq!(seen, [1_000, 2_000, 4_000, 8_000]);
        assert_eq!(window, LossWindow(None)); // 16 000 is more than 10 000
    }
}
