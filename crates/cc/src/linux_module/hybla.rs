//! Linux's Hybla: the rules of its paper for every ACK, in 128ths of a segment, and Reno outside of the open state.
//!
//! rho is the smoothed round trip over that of reference, in eighths and at least one, taken anew when that is the least so far. The
//! first window is rho. Slow start has 2 to the power of rho for each eighth, rounded down.

use ackclock_units::{SimDuration, math};

use super::{Change, Episode, Growth, Module, State};
use crate::classic::HyblaConfig;
use crate::event::HandshakeEvent;
use crate::segment_window::SegmentWindow;

/// The parts of a segment that growth counts.
const PARTS: u64 = 128;
/// The largest rho in slow start.
const MOST_SLOW_START_RHO: u64 = 16;
const MOST_WINDOW: u64 = 65_535;

#[derive(Clone, Debug)]
pub(crate) struct Hybla {
    rtt0: SimDuration,
    is_on: bool,
    /// rho in eighths.
    pub(super) rho: u64,
    /// The least smoothed round trip.
    least_srtt: SimDuration,
    /// The parts of a segment by which the window has grown.
    parts: u64,
}

impl Hybla {
    pub(crate) fn new(config: HyblaConfig) -> Self {
        Self { rtt0: config.rtt0, is_on: true, rho: 8, least_srtt: SimDuration::ZERO, parts: 0 }
    }

    fn measure(&mut self, srtt: SimDuration) {
        self.rho = (8 * srtt.0 / self.rtt0.0).max(8);
        self.least_srtt = srtt;
    }

    /// The growth in slow start for an ACK, parts of a segment: `2^rho - 1`.
    fn slow_start(&self) -> u64 {
        let of_eighths = (PARTS as f64 * math::pow(2.0, (self.rho % 8) as f64 / 8.0)) as u64;
        (of_eighths << (self.rho / 8).min(MOST_SLOW_START_RHO)) - PARTS
    }
}

impl Module for Hybla {
    fn on_handshake(&mut self, window: &mut SegmentWindow, handshake: &HandshakeEvent) {
        self.measure(handshake.srtt);
        window.cwnd = self.rho / 8;
    }

    fn grows_unused(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if growth.srtt < self.least_srtt {
            self.measure(growth.srtt);
        }
        if !self.is_on {
            return growth.reno(window);
        }
        if !growth.is_in_use {
            return;
        }
        let in_slow_start = window.in_slow_start();
        let more = if in_slow_start { self.slow_start() } else { 2 * self.rho * self.rho / window.cwnd };
        if !in_slow_start && more < PARTS {
            window.counted += 1;
        }
        window.cwnd += more / PARTS;
        self.parts += more % PARTS;
        if self.parts >= PARTS {
            window.cwnd += self.parts / PARTS;
            self.parts %= PARTS;
            window.counted = 0;
        }
        if more == 0 && window.counted >= window.cwnd {
            window.cwnd += 1;
            window.counted = 0;
        }
        if in_slow_start {
            window.cwnd = window.ssthresh.map_or(window.cwnd, |ssthresh| window.cwnd.min(ssthresh));
        }
        window.cwnd = window.cwnd.min(MOST_WINDOW);
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        episode.cwnd / 2
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        self.is_on = change.to == State::Open;
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rho", self.rho as f64 / 8.0);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
