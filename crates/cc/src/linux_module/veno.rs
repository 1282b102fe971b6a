//! Linux's Veno: Vegas' estimate of the queue with the least round trip since the last growth, in half segments.
//!
//! Where the queue is long, every other window of acknowledged segments adds one. It is Reno outside of the open state and with the
//! first two round trips. After idle time the base RTT is forgotten. A loss keeps four fifths by the last estimate, a timeout as well.

use ackclock_units::SimTime;

use super::{Acked, Change, Episode, Growth, Module, State, UNKNOWN};
use crate::classic::VenoConfig;
use crate::event::HandshakeEvent;
use crate::segment_window::SegmentWindow;

/// The samples that are too few for an estimate.
const FEW_SAMPLES: u16 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Veno {
    /// The queue that is a long one, half segments.
    beta: u64,
    is_on: bool,
    /// The number of samples, in 16 bits as the module counts them.
    pub(super) samples: u16,
    /// The least RTT, and the least since the window last might grow, microseconds.
    base_rtt: u64,
    least: u64,
    /// True if the next full window of a congested path adds a segment.
    adds: bool,
    /// The queue, half segments.
    queued: u64,
}

impl Veno {
    pub(crate) fn new(config: VenoConfig) -> Self {
        let beta = (2.0 * config.beta) as u64;
        Self { beta, is_on: true, samples: 0, base_rtt: UNKNOWN, least: UNKNOWN, adds: true, queued: 0 }
    }
}

impl Module for Veno {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        if let Some(rtt) = acked.rtt_us() {
            self.base_rtt = self.base_rtt.min(rtt);
            self.least = self.least.min(rtt);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    /// The SYN's round trip counts as a sample, and is forgotten.
    fn on_handshake(&mut self, _window: &mut SegmentWindow, handshake: &HandshakeEvent) {
        self.samples = u16::from(handshake.is_opener);
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if !self.is_on {
            return growth.reno(window);
        }
        if self.samples <= FEW_SAMPLES {
            growth.reno(window);
        } else {
            let twice = 2 * window.cwnd;
            self.queued = twice - twice * self.base_rtt / self.least;
            let was_in_slow_start = window.in_slow_start();
            let left = growth.slow_start(window);
            if was_in_slow_start && left == 0 {
                // All of it is spent.
            } else if self.queued < self.beta {
                window.avoid_congestion(window.cwnd, left);
            } else if window.counted >= window.cwnd {
                window.cwnd += u64::from(self.adds);
                self.adds = !self.adds;
                window.counted = 0;
            } else {
                window.counted += left;
            }
            window.cwnd = window.cwnd.max(2);
        }
        self.least = UNKNOWN;
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        if self.queued < self.beta { episode.cwnd * 4 / 5 } else { episode.cwnd / 2 }
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        self.is_on = change.to == State::Open;
        if self.is_on {
            self.least = UNKNOWN;
        }
    }

    fn on_idle(&mut self, _now: SimTime, _snd_nxt: u64) {
        (self.base_rtt, self.least) = (UNKNOWN, UNKNOWN);
        (self.is_on, self.adds) = (true, true);
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queued_segments", self.queued as f64 / 2.0);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
