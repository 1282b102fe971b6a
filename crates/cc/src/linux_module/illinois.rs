//! Linux's Illinois: the rules of its paper in integers, alpha in 128ths and beta in 64ths.
//!
//! Both follow the mean round trip of each round that ends while the window may grow, also of slow start, recoveries included. Growth
//! counts what the last ACK acknowledges cumulatively. A timeout decreases by the last beta, and then both are Reno's.

use super::{Acked, Change, Episode, Growth, Module, State, UNKNOWN};
use crate::classic::IllinoisConfig;
use crate::segment_window::SegmentWindow;

const ALPHA_SCALE: u64 = 128;
const BETA_SCALE: u64 = 64;
/// The largest round trip that counts, microseconds, with which products fit into 32 bits.
const MOST_RTT: u64 = u32::MAX as u64 / (10 * ALPHA_SCALE);
/// The round trips with a short queue after which alpha is at its largest again.
const PATIENCE: u64 = 5;

#[derive(Clone, Debug)]
pub(crate) struct Illinois {
    /// The bounds of alpha and of beta.
    alphas: (u64, u64),
    betas: (u64, u64),
    window_threshold: u64,
    pub(super) alpha: u64,
    pub(super) beta: u64,
    /// The least and the largest RTT, microseconds.
    base_rtt: u64,
    largest_rtt: u64,
    /// The RTTs of the round that ends with the ACK of `end`.
    sum: u64,
    samples: u64,
    end: u64,
    /// The segments that the next ACK of congestion avoidance counts for.
    counts: u64,
    /// True after a round with a long queue, and the rounds with a short one since.
    has_queued: bool,
    short_rounds: u64,
}

impl Illinois {
    pub(crate) fn new(config: IllinoisConfig) -> Self {
        let in_parts = |value: f64, scale: u64| (value * scale as f64) as u64;
        let least = in_parts(config.alpha_min, ALPHA_SCALE).max(1);
        let alphas = (least, in_parts(config.alpha_max, ALPHA_SCALE).max(least));
        let betas = (in_parts(config.beta_min, BETA_SCALE), in_parts(config.beta_max, BETA_SCALE));
        Self {
            alphas,
            betas,
            window_threshold: config.window_threshold.ceil() as u64,
            alpha: alphas.1,
            beta: betas.1,
            base_rtt: UNKNOWN,
            largest_rtt: 0,
            sum: 0,
            samples: 0,
            end: 0,
            counts: 0,
            has_queued: false,
            short_rounds: 0,
        }
    }

    fn begin_round(&mut self, end: u64) {
        (self.sum, self.samples, self.end) = (0, 0, end);
    }

    fn end_round(&mut self, cwnd: u64) {
        if cwnd < self.window_threshold {
            (self.alpha, self.beta) = (ALPHA_SCALE, self.betas.1);
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let (delay, longest) = (mean - self.base_rtt, self.largest_rtt - self.base_rtt);
            self.alpha = self.next_alpha(delay, longest);
            self.beta = self.next_beta(delay, longest);
        }
    }

    /// alpha at a mean queueing delay, where `longest` is the longest: `k1 / (k2 + delay)` in integers.
    pub(super) fn next_alpha(&mut self, delay: u64, longest: u64) -> u64 {
        let (least, most) = self.alphas;
        let short = longest / 100;
        if delay <= short {
            if self.has_queued {
                self.short_rounds += 1;
                if self.short_rounds < PATIENCE {
                    return self.alpha;
                }
            }
            (self.short_rounds, self.has_queued) = (0, false);
            return most;
        }
        self.has_queued = true;
        let (delay, longest) = (delay - short, longest - short);
        longest * most / (longest + delay * (most - least) / least)
    }

    /// beta at a mean queueing delay: the least up to a tenth of the longest, the largest from eight tenths on, and a line between.
    pub(super) fn next_beta(&self, delay: u64, longest: u64) -> u64 {
        let (least, most) = self.betas;
        let (from, to) = (longest / 10, 8 * longest / 10);
        if delay <= from {
            least
        } else if delay >= to {
            most
        } else {
            (least * to + (most - least) * delay - most * from) / (to - from)
        }
    }
}

impl Module for Illinois {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        self.counts = acked.segments;
        if let Some(rtt) = acked.rtt {
            let rtt = (rtt.0 / 1_000).min(MOST_RTT);
            self.base_rtt = self.base_rtt.min(rtt);
            self.largest_rtt = self.largest_rtt.max(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
    }

    fn grows_unused(&self) -> bool {
        true
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        if growth.snd_una > self.end {
            self.end_round(window.cwnd);
            self.begin_round(growth.snd_nxt);
        }
        if !growth.is_in_use || growth.slow_start_alone(window) {
            return;
        }
        window.counted += self.counts;
        self.counts = 1;
        let grown = window.counted * self.alpha / ALPHA_SCALE / window.cwnd;
        if grown > 0 {
            window.cwnd += grown;
            window.counted = 0;
        }
    }

    fn decrease(&mut self, episode: &Episode) -> u64 {
        episode.cwnd - episode.cwnd * self.beta / BETA_SCALE
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        if let State::Loss(_) = change.to {
            (self.alpha, self.beta) = (ALPHA_SCALE, self.betas.1);
            (self.has_queued, self.short_rounds) = (false, 0);
            self.begin_round(change.snd_nxt);
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_segments", self.alpha as f64 / ALPHA_SCALE as f64);
        record("beta", self.beta as f64 / BETA_SCALE as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
