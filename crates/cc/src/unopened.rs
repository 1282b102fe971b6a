//! The window before there is a controller. Until the handshake has settled the segment size only a SYN is sent, and a
//! controller made then would be made twice.
//!
//! Source: none. Departures: none.

use ackclock_units::Bytes;

use crate::controller::CongestionController;
use crate::event::{AckEvent, CongestionEvent};

/// The initial values of every controller; no event changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unopened {
    initial_window: Bytes,
    initial_ssthresh: Option<Bytes>,
}

impl Unopened {
    pub(crate) fn new(initial_window: Bytes, initial_ssthresh: Option<Bytes>) -> Self {
        Self { initial_window, initial_ssthresh }
    }
}

impl CongestionController for Unopened {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.initial_window
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.initial_ssthresh
    }
}
