//! Linux's Vegas: the variant "linux" of [`Vegas`](crate::Vegas) in whole segments and microseconds.
//!
//! A round trip ends with the ACK of what left last when it began, and begins anew where an episode or disorder ends. After idle time
//! and after a timeout the base RTT is forgotten. ssthresh is at least three quarters of the window once a round trip has been judged.

use ackclock_units::SimTime;

use super::{Acked, Change, Episode, Growth, Module, State, UNKNOWN};
use crate::segment_window::SegmentWindow;
use crate::vegas::VegasConfig;

/// The samples in a round trip that are too few for an estimate.
const FEW_SAMPLES: u64 = 2;
const LEAST_WINDOW: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    alpha: u64,
    beta: u64,
    gamma: u64,
    is_on: bool,
    /// The least RTT, and the least of the round trip, microseconds.
    base_rtt: u64,
    least: u64,
    samples: u64,
    /// SND.NXT when the round trip began.
    end: u64,
    /// The queued segments of the last round trip.
    queued: u64,
}

impl Vegas {
    pub(crate) fn new(config: &VegasConfig) -> Self {
        Self {
            alpha: config.alpha as u64,
            beta: config.beta as u64,
            gamma: config.gamma as u64,
            is_on: true,
            base_rtt: UNKNOWN,
            least: UNKNOWN,
            samples: 0,
            end: 0,
            queued: 0,
        }
    }

    fn begin_round(&mut self, end: u64) {
        (self.least, self.samples, self.end) = (UNKNOWN, 0, end);
    }

    /// Judges the round trip that ends, and moves the window.
    fn judge(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        self.queued = window.cwnd * (self.least - self.base_rtt) / self.base_rtt;
        let lower = |window: &mut SegmentWindow, cwnd: u64| {
            window.cwnd = cwnd;
            window.ssthresh = window.ssthresh.map_or(Some(cwnd), |ssthresh| Some(ssthresh.min(cwnd)));
        };
        if window.in_slow_start() {
            if self.queued > self.gamma {
                let target = window.cwnd * self.base_rtt / self.least + 1;
                lower(window, window.cwnd.min(target));
            } else {
                growth.slow_start(window);
            }
        } else if self.queued > self.beta {
            lower(window, window.cwnd - 1);
        } else if self.queued < self.alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(LEAST_WINDOW);
        window.ssthresh = window.ssthresh.map(|ssthresh| ssthresh.max(window.cwnd / 2 + window.cwnd / 4));
    }
}

impl Module for Vegas {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        if let Some(rtt) = acked.rtt_us() {
            self.base_rtt = self.base_rtt.min(rtt);
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
    }

    fn grows_unused(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if !self.is_on {
            return growth.reno(window);
        }
        if growth.snd_una > self.end {
            if self.samples > FEW_SAMPLES {
                self.judge(window, growth);
            } else {
                growth.reno(window);
            }
            self.begin_round(growth.snd_nxt);
        } else if window.in_slow_start() {
            growth.slow_start(window);
        }
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        episode.cwnd / 2
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        self.is_on = change.to == State::Open;
        if self.is_on {
            self.begin_round(change.snd_nxt);
        }
    }

    fn on_idle(&mut self, _now: SimTime, snd_nxt: u64) {
        (self.base_rtt, self.is_on) = (UNKNOWN, true);
        self.begin_round(snd_nxt);
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("diff_segments", self.queued as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
