//! A constant window, for measurements of paths and of the simulator.
//!
//! Source: none; it is a measuring instrument. Departures: it answers no congestion signal.

use ackclock_declare::{declare, required};
use ackclock_units::{Amount, Bytes};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::Demands;
use crate::event::{AckEvent, CongestionEvent};

/// The largest window, a thousand times TCP's: it limits no study, and cannot overflow 64 bits.
const MAX_WINDOW: Bytes = Bytes(1 << 40);

declare! {
    /// The parameters of [`Fixed`].
    #[derive(Copy)]
    pub struct FixedConfig {
        /// Constant window.
        window: Amount = required(Amount::Segments(100)).at_least(1).unit("segments"),
    }
    check |config, review| {
        let window = config.window.in_bytes(review.context.mss);
        if window.0 < review.context.mss {
            let remedy = format!("write at least \"1 segment\", which is {} here", Bytes(review.context.mss));
            review.report("window", "must be at least a segment, for anything to be sent", remedy);
        } else if window > MAX_WINDOW {
            review.report("window", format!("must be at most {MAX_WINDOW}"), "no path holds more");
        }
    };
}

impl Algorithm for FixedConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "holds a given window whatever happens: an instrument for measuring paths and the simulator",
        source: "none",
        departures: "answers no congestion signal",
        ..Name::called("fixed")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Fixed(Fixed::new(self, start))
    }
}

/// A window that never changes: a measuring instrument, [`mod@crate::fixed`].
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: Bytes,
}

impl Fixed {
    pub(crate) fn new(config: &FixedConfig, start: Start) -> Self {
        Self { window: config.window.in_bytes(start.mss.0) }
    }
}

impl CongestionController for Fixed {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn demands(&self) -> Demands {
        // By what it is for: a timeout changes nothing.
        Demands { own_loss_window: true, ..Demands::default() }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window
    }

    fn state(&self) -> &'static str {
        "fixed"
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window)
    }
}
