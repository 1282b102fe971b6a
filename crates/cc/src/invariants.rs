//! Invariants of every controller of this crate after every call. Only debug builds check them.
//!
//! External controllers are not checked, and [`crate::Unopened`] has no window of its own.

use ackclock_units::{Bandwidth, Bytes};

use crate::controller::{CongestionController, Controller};
use crate::event::{CongestionEvent, RestartCause, RestartEvent, SendEvent};

/// The largest window: 2^40 octets take 88 s at 100 Gbit/s, and [`crate::Fixed`] takes no more.
const LARGEST_WINDOW: u64 = 1 << 40;

/// The bound of the floor of ssthresh: a few segments (RFC 5681 equation 4: two) of at most 65 535 octets.
const FLOOR: u64 = 4 * 65_535;

/// The window, the pacing rate and ssthresh before a call; nothing in release builds.
#[derive(Clone, Copy)]
pub(crate) struct Before(Bytes, Option<Bandwidth>, Option<Bytes>);

impl Controller {
    #[inline]
    pub(crate) fn before(&self) -> Before {
        if cfg!(debug_assertions) {
            Before(self.cwnd(), self.pacing_rate(), self.ssthresh())
        } else {
            Before(Bytes(0), None, None)
        }
    }

    #[inline]
    fn is_checked(&self) -> bool {
        cfg!(debug_assertions) && !matches!(self, Self::External(_) | Self::Unopened(_))
    }

    /// Checks the window after any call.
    #[inline]
    pub(crate) fn check_window(&self) {
        if self.is_checked() {
            assert!(self.cwnd().0 <= LARGEST_WINDOW, "no path holds more than 2^40 octets: {self:?}");
        }
    }

    /// Checks that a departure leaves the window alone. A controller that counts the flight size again would raise it
    /// with each segment. The first segment after idle time may end a measurement (draft-ietf-ccwg-bbr:
    /// `HandleRestartFromIdle`).
    #[inline]
    pub(crate) fn check_sent(&self, before: Before, sent: &SendEvent) {
        if self.is_checked() && sent.idle_for.is_zero() && !self.may_rise_on_send() {
            assert!(self.cwnd() <= before.0, "sending raised the window from {:?}: {self:?}", before.0);
        }
        if self.is_checked() && sent.idle_for.is_zero() && self.keeps_window_on_send() {
            let after = (self.cwnd(), self.pacing_rate());
            assert_eq!(after, (before.0, before.1), "sending moved what keeps_window_on_send keeps: {self:?}");
        }
    }

    /// Checks the beginning of an episode: it raises neither the window nor, above the used window, ssthresh. So every
    /// factor of decrease is between 0 and 1.
    #[inline]
    pub(crate) fn check_decrease(&self, before: Before, event: &CongestionEvent) {
        if self.is_checked() {
            let most = before.0.max(event.flight_size).max(event.decrease_from).0.max(FLOOR);
            assert!(self.cwnd().0 <= most, "congestion raised the window from {:?}: {self:?}", before.0);
            // Where the sender does not go down to ssthresh by itself, it may be a window to come back to, as Linux's BBR has it.
            let ssthresh = self.ssthresh().filter(|_| !self.demands().recovery_window).unwrap_or_default().0;
            // A repeated timeout keeps ssthresh (RFC 5681 section 3.1), which may be far above the loss window.
            let most = before.2.unwrap_or_default().0.max(most);
            assert!(ssthresh <= most, "congestion set ssthresh above {most}: {self:?}");
        }
    }

    /// Checks a restart of the window. A timeout leaves the loss window, unless [`crate::Demands::own_loss_window`] is
    /// set.
    #[inline]
    pub(crate) fn check_restart(&self, before: Before, restart: &RestartEvent) {
        let is_timeout = self.is_checked() && restart.cause == RestartCause::Timeout;
        if is_timeout && !self.demands().own_loss_window {
            let most = restart.window;
            assert!(self.cwnd() <= most, "a timeout left more than {most:?} of {:?}: {self:?}", before.0);
        }
    }

    fn may_rise_on_send(&self) -> bool {
        // A monitor interval begins with a segment, at a rate of its own (Dong et al., NSDI 2015, section 3.1).
        matches!(self, Self::Allegro(_) | Self::Vivace(_))
    }
}
