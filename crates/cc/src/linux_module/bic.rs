//! Linux's BIC: the search in whole segments, as a count of acknowledged segments for each of growth.
//!
//! A step is a quarter of the way to the maximum, at most `max_increment`, and a fifth of a segment near it. The count is found anew
//! when the window has changed, or after a 32nd of a second, and divided by the mean number of segments that an ACK brings.

use super::{Acked, Episode, Growth, Module, State};
use crate::classic::BicConfig;
use crate::jiffies::Jiffies;
use crate::segment_window::SegmentWindow;

/// The search goes a quarter of the way, and near the maximum a segment takes five round trips (20 / 4). Before the first loss there
/// is a segment for every twenty at the slowest.
const QUARTER: u64 = 4;
const SMOOTH_PART: u64 = 20;
const SLOWEST_AT_FIRST: u64 = 20;
/// The units of the mean number of segments that an ACK brings, and its first value, two segments.
const RATIO: u64 = 16;
const FIRST_RATIO: u64 = 2 * RATIO;
const SCALE: u64 = 1_024;

#[derive(Clone, Debug)]
pub(crate) struct Bic {
    max_increment: u64,
    low_window: u64,
    /// The fraction kept on congestion, in 1024ths.
    beta: u64,
    fast_convergence: bool,
    clock: Jiffies,
    pub(super) search: Search,
}

/// The state that a timeout resets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The target; 0 before the first loss.
    max_window: u64,
    /// The acknowledged segments for one of growth.
    pub(super) per: u64,
    /// The window and time (ticks) for which it was found.
    found: Option<(u64, u64)>,
    /// The mean number of segments that an ACK acknowledges, in 16ths.
    pub(super) ratio: u64,
}

impl Search {
    const NEW: Self = Self { max_window: 0, per: 0, found: None, ratio: FIRST_RATIO };
}

impl Bic {
    pub(crate) fn new(config: &BicConfig) -> Self {
        Self {
            max_increment: (config.max_increment as u64).max(1),
            low_window: config.low_window as u64,
            beta: ((1.0 - config.beta) * SCALE as f64).round() as u64,
            fast_convergence: config.fast_convergence,
            clock: Jiffies::new(config.tick, config.tick_offset),
            search: Search::NEW,
        }
    }

    pub(super) fn per(&self, cwnd: u64) -> u64 {
        let Search { max_window, ratio, .. } = self.search;
        if cwnd <= self.low_window {
            return cwnd;
        }
        let slow = cwnd * SMOOTH_PART / QUARTER;
        let fast = cwnd / self.max_increment;
        let per = if cwnd < max_window {
            match (max_window - cwnd) / QUARTER {
                0 | 1 => slow,
                distance if distance > self.max_increment => fast,
                distance => cwnd / distance,
            }
        } else if cwnd < max_window + QUARTER {
            slow
        } else if cwnd < max_window + self.max_increment * (QUARTER - 1) {
            cwnd * (QUARTER - 1) / (cwnd - max_window)
        } else {
            fast
        };
        let per = if max_window == 0 { per.min(SLOWEST_AT_FIRST) } else { per };
        (per * RATIO / ratio.max(1)).max(1)
    }
}

impl Module for Bic {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        if acked.state == State::Open {
            let ratio = &mut self.search.ratio;
            *ratio = *ratio + acked.segments - *ratio / RATIO;
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        let left = growth.slow_start(window);
        if left == 0 {
            return;
        }
        let now = self.clock.at(growth.now);
        if self.search.found.is_none_or(|(cwnd, at)| cwnd != window.cwnd || now - at > self.clock.hz() / 32) {
            self.search.found = Some((window.cwnd, now));
            self.search.per = self.per(window.cwnd);
        }
        window.avoid_congestion(self.search.per, left);
    }

    fn decrease(&mut self, &Episode { cwnd, .. }: &Episode) -> u64 {
        let falls_again = self.fast_convergence && cwnd < self.search.max_window;
        self.search.max_window = if falls_again { cwnd * (SCALE + self.beta) / (2 * SCALE) } else { cwnd };
        if cwnd <= self.low_window { cwnd / 2 } else { cwnd * self.beta / SCALE }
    }

    fn on_timeout(&mut self) {
        self.search = Search::NEW;
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let max = self.search.max_window;
        record("max_window_segments", if max == 0 { f64::NAN } else { max as f64 });
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
