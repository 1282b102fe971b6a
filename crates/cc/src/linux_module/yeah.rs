//! Linux's `YeAH`: the rules of its paper in whole segments, with the queue measured once a round trip where the window may grow.
//!
//! A round trip ends with the ACK of what left last when it began, and begins anew where an episode or disorder ends. After idle
//! time and after a timeout the base RTT is forgotten. Every further decongestion is bounded by Reno's window, at least a half remains.

use ackclock_units::SimTime;

use super::{Acked, Change, Episode, Growth, Module, State};
use crate::classic::YeahConfig;
use crate::segment_window::SegmentWindow;

/// The slow round trips in a row that indicate Reno flows.
const GREEDY_ROUNDS: u64 = 16;
/// The fast round trips after which Reno's window is forgotten.
const FORGETTING_ROUNDS: u64 = 50;
const LEAST_WINDOW: u64 = 2;
/// The samples in a round trip that are too few for an estimate.
const FEW_SAMPLES: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Yeah {
    max_queue: u64,
    phi: u64,
    /// The most acknowledged segments for one of growth in fast mode.
    per: u64,
    /// The least RTT, microseconds.
    base_rtt: Option<u64>,
    round: Round,
    queued: u64,
    slow_rounds: u64,
    fast_rounds: u64,
    reno_window: u64,
}

/// The round trip under way.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// SND.NXT when it began.
    end: u64,
    samples: u64,
    /// Its least RTT, microseconds.
    least: Option<u64>,
}

impl Round {
    fn from(end: u64) -> Self {
        Self { end, ..Self::default() }
    }
}

impl Yeah {
    pub(crate) fn new(config: &YeahConfig) -> Self {
        Self {
            max_queue: config.max_queue as u64,
            phi: config.phi as u64,
            per: (1.0 / config.increase).round() as u64,
            base_rtt: None,
            round: Round::default(),
            queued: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_window: LEAST_WINDOW,
        }
    }

    /// Judges the round trip that ends, and may empty the queue.
    fn judge(&mut self, window: &mut SegmentWindow) {
        let (Some(rtt), Some(base)) = (self.round.least, self.base_rtt) else { return };
        if self.round.samples <= FEW_SAMPLES {
            return;
        }
        let delay = rtt - base;
        self.queued = window.cwnd * delay / rtt;
        if self.queued <= self.max_queue && delay <= base / self.phi {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > FORGETTING_ROUNDS {
                (self.fast_rounds, self.reno_window) = (0, LEAST_WINDOW);
            }
            return;
        }
        if self.queued > self.max_queue && window.cwnd > self.reno_window {
            let kept = window.cwnd - self.queued.min(window.cwnd / 2);
            window.set(kept.max(self.reno_window));
        }
        self.reno_window =
            if self.reno_window <= LEAST_WINDOW { (window.cwnd / 2).max(LEAST_WINDOW) } else { self.reno_window + 1 };
        self.slow_rounds += 1;
    }
}

impl Module for Yeah {
    fn on_ack(&mut self, _window: &mut SegmentWindow, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.0 / 1_000 + 1;
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.round.least = Some(self.round.least.map_or(rtt, |least| least.min(rtt)));
            self.round.samples += 1;
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, growth: &Growth) {
        let left = growth.slow_start(window);
        if left > 0 {
            let per = if self.slow_rounds == 0 { window.cwnd.min(self.per) } else { window.cwnd };
            window.avoid_congestion(per, left);
        }
        if growth.snd_una > self.round.end {
            self.judge(window);
            self.round = Round::from(growth.snd_nxt);
        }
    }

    fn decrease(&mut self, &Episode { cwnd, .. }: &Episode) -> u64 {
        let half = (cwnd / 2).max(LEAST_WINDOW);
        let taken = if self.slow_rounds < GREEDY_ROUNDS { self.queued.min(half).max(cwnd / 8) } else { half };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2).max(LEAST_WINDOW);
        cwnd.saturating_sub(taken)
    }

    fn on_state(&mut self, _window: &mut SegmentWindow, change: &Change) {
        if change.to == State::Open {
            self.round = Round::from(change.snd_nxt);
        }
    }

    fn on_idle(&mut self, _now: SimTime, snd_nxt: u64) {
        (self.base_rtt, self.round) = (None, Round::from(snd_nxt));
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queued_segments", self.queued as f64);
        record("is_fast", f64::from(u8::from(self.slow_rounds == 0)));
    }

    fn boxed_clone(&self) -> Box<dyn Module> {
        Box::new(self.clone())
    }
}
