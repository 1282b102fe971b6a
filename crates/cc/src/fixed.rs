//! A window that never changes, for measuring everything else.
//!
//! Source: none; it is a measuring instrument. Departures: it answers no congestion signal.

use ackclock_units::Bytes;

use crate::controller::CongestionController;
use crate::event::{AckEvent, CongestionEvent};

/// Parameters of [`Fixed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedConfig {
    /// The window to hold.
    pub window: Bytes,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: Bytes,
}

impl Fixed {
    pub(crate) fn new(config: FixedConfig) -> Self {
        Self { window: config.window }
    }
}

impl CongestionController for Fixed {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn cwnd(&self) -> Bytes {
        self.window
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window)
    }
}
