//! The window that both controllers move: slow start as Reno and CUBIC have it, the decrease, and steps of whole segments.

use ackclock_declare::words;
use ackclock_units::{Bytes, SimDuration};

use crate::controller::Start;
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::slow_start::{Hystart, Pace, SlowStart, SlowStartCount, Window};

words! {
    /// The rule for a window that an action has taken below ssthresh.
    #[derive(Default)]
    pub enum BelowSsthresh {
        /// RFC 5681's rule: slow start until ssthresh is reached again.
        #[default]
        "slow_start" = SlowStart,
        /// Congestion avoidance goes on, under the agent's actions.
        "avoidance" = Avoidance,
    }
}

words! {
    /// The base of the fraction that remains on congestion.
    #[derive(Default)]
    pub enum DecreaseFrom {
        /// The congestion window, as in the papers.
        #[default]
        "cwnd" = Cwnd,
        /// The flight size, as in RFC 5681: less than cwnd where that does not limit, as just after a recovery.
        "flight_size" = FlightSize,
    }
}

/// The rules of the window, for a learning agent or a trained one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRules {
    /// The fraction of the window kept on congestion.
    pub beta: f64,
    /// The base of that fraction.
    pub decrease_from: DecreaseFrom,
    /// The least window that an action may set, in segments.
    pub min_window: u64,
    /// The rule for a window that an action has taken below ssthresh.
    pub below_ssthresh: BelowSsthresh,
    /// The unit that slow start counts.
    pub slow_start: SlowStartCount,
    /// The early end of slow start before the first loss.
    pub hystart: Hystart,
}

/// The window: cwnd and ssthresh in bytes, and the latest RTT.
#[derive(Clone, Debug)]
pub(super) struct LearnedWindow {
    pub(super) mss: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: Option<u64>,
    /// The latest RTT; zero before the first sample.
    pub(super) rtt: SimDuration,
    rules: WindowRules,
    slow_start: SlowStart,
    /// True if congestion avoidance has begun since the connection began or timed out.
    is_over: bool,
    before_episode: Option<(u64, Option<u64>, bool)>,
}

impl LearnedWindow {
    pub(super) fn new(rules: WindowRules, start: Start) -> Self {
        Self {
            mss: start.mss.0,
            cwnd: start.initial_window.0,
            ssthresh: start.ssthresh(),
            rtt: SimDuration::ZERO,
            rules,
            slow_start: SlowStart::new(rules.hystart),
            is_over: false,
            before_episode: None,
        }
    }

    pub(super) fn rules(&self) -> WindowRules {
        self.rules
    }

    /// Takes an ACK. Returns the bytes that count for congestion avoidance; `None` outside of it.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<u64> {
        if let Some(rtt) = ack.rtt_sample {
            self.rtt = rtt;
        }
        // A window that an agent took below its threshold stays slow start's, with or without a watch.
        let pace = if self.slow_start.is_watched() {
            self.slow_start.on_ack(ack, &self.window(), None)
        } else {
            Pace::Ordinary
        };
        if pace == Pace::Leave {
            self.ssthresh = Some(self.cwnd);
        }
        if !ack.may_grow() {
            return None;
        }
        if !self.is_slow_starting() {
            self.is_over = true;
            return Some(ack.newly_acked.0);
        }
        let window = self.window();
        let limit = self.slow_start.limit(self.rules.slow_start, self.mss);
        let left;
        (self.cwnd, left) = self.slow_start.grow(pace, window, ack.newly_acked.0, limit);
        self.is_over |= left > 0;
        (left > 0).then_some(left)
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, mss: self.mss }
    }

    fn is_slow_starting(&self) -> bool {
        let goes_on = self.is_over && self.rules.below_ssthresh == BelowSsthresh::Avoidance;
        !goes_on && self.window().in_slow_start()
    }

    /// True until congestion avoidance begins, and again from a timeout on.
    pub(super) fn is_starting(&self) -> bool {
        !self.is_over
    }

    /// Adds `segments`, which may be negative. The window stays at or above its least, or where it is if that is less.
    pub(super) fn step(&mut self, segments: i64) {
        let change = segments.unsigned_abs() * self.mss;
        let least = self.rules.min_window * self.mss;
        self.cwnd =
            if segments < 0 { self.cwnd.saturating_sub(change).max(least.min(self.cwnd)) } else { self.cwnd + change };
    }

    /// Decreases the window as RFC 5681 does, keeping `beta` of cwnd or of the flight size; a repeated timeout leaves
    /// ssthresh alone.
    pub(super) fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        if !event.is_repeated() {
            self.before_episode = Some((self.cwnd, self.ssthresh, self.is_over));
            let from = match self.rules.decrease_from {
                DecreaseFrom::Cwnd => self.cwnd,
                DecreaseFrom::FlightSize => event.decrease_from.0,
            };
            let kept = (from as f64 * self.rules.beta) as u64;
            self.ssthresh = Some(kept.max(2 * self.mss));
        }
        self.is_over = !event.is_timeout();
        self.cwnd = if event.is_timeout() { self.mss } else { self.ssthresh.unwrap_or(self.cwnd) };
    }

    /// Restarts the window: see [`crate::CongestionController::on_restart`].
    pub(super) fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        self.is_over &= restart.cause != RestartCause::Timeout;
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.cwnd = restart.window.0;
    }

    pub(super) fn on_spurious(&mut self) {
        if let Some((cwnd, ssthresh, is_over)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            (self.ssthresh, self.is_over) = (ssthresh, is_over);
        }
    }

    /// The window in segments.
    pub(super) fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64
    }

    /// The value of ssthresh in segments; zero before the first congestion, where it is not set.
    pub(super) fn threshold(&self) -> f64 {
        self.ssthresh.map_or(0.0, |bytes| bytes as f64 / self.mss as f64)
    }

    /// The throughput `cwnd / RTT`, segments/s; zero before the first sample.
    pub(super) fn throughput(&self) -> f64 {
        if self.rtt.is_zero() { 0.0 } else { self.segments() / self.rtt.as_secs_f64() }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes(self.cwnd)
    }
}
