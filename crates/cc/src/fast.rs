//! FAST TCP: a window that keeps alpha packets of the flow in queues, by an equation instead of probing.
//!
//! Source: Wei, Jin, Low and Hegde, FAST TCP: Motivation, Architecture, Algorithms, Performance, IEEE/ACM Transactions on
//! Networking 14(6), 2006, section IV:
//!
//! ```text
//! w <- min { 2w, (1 - gamma) w + gamma (baseRTT / RTT * w + alpha(w, qdelay)) }
//! ```
//!
//! with alpha(w, 0) = alpha w, so that the window doubles while nothing waits, and alpha constant otherwise; RTT is a mean
//! of weight min(3/w, 1/4). The window moves over one round trip and rests for the next.
//!
//! Departures: alpha does not follow the throughput, as it did in the prototype. "Nothing waits" means less than a
//! threshold, as in ns-2's FAST (0.75 ms). There is no slow start of another kind: the window doubles only below
//! ssthresh, and after a timeout by the same equation. Until the flight before the timeout is repaired, a round trip is
//! measured in time. Losses halve it. The prototype's burstiness control is left to the stack's pacing.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimDuration};

use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::repair_rounds::RepairRounds;

declare! {
    /// The parameters of [`Fast`].
    #[derive(Copy)]
    pub struct FastConfig {
        /// Packets that the flow keeps in queues.
        alpha: f64 = default(100.0).at_least(1e-3).at_most(1e6).unit("packets"),
        /// Weight of the new window in the update.
        gamma: f64 = default(0.5).at_least(1e-3).at_most(1.0),
        /// Queueing delay below which the window doubles.
        threshold: SimDuration = default(SimDuration::from_micros(750))
            .above(SimDuration::ZERO).at_most(SimDuration::from_secs(10))
            .source("ns-2's FAST"),
    }
}

impl Algorithm for FastConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "keeps alpha packets of the flow queued, by an equation on the RTT",
        source: "Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006; threshold of ns-2's",
        departures: "alpha is constant; no slow start but the equation's own doubling, below ssthresh; losses halve",
        ..Name::called("fast")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::Fast(Box::new(Fast::new(self, start)))
    }
}

/// FAST TCP: an equation for a window that keeps alpha segments in queues. Source and departures: [`mod@crate::fast`].
#[derive(Clone, Debug)]
pub struct Fast {
    config: FastConfig,
    mss: f64,
    /// The congestion window with its fraction of a byte.
    window: f64,
    /// The target window of this round trip, and the window at its beginning.
    target: f64,
    origin: f64,
    ssthresh: Option<u64>,
    /// The minimum and the mean RTT, ns; zero before the first sample.
    base_rtt: f64,
    mean_rtt: f64,
    round: u64,
    repair: RepairRounds,
    rests: bool,
    before_episode: Option<(f64, Option<u64>)>,
}

impl Fast {
    pub(crate) fn new(config: &FastConfig, start: Start) -> Self {
        let window = start.initial_window.0 as f64;
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            window,
            target: window,
            origin: window,
            ssthresh: start.ssthresh(),
            base_rtt: 0.0,
            mean_rtt: 0.0,
            round: 0,
            repair: RepairRounds::default(),
            rests: true,
            before_episode: None,
        }
    }

    fn sample(&mut self, rtt: f64) {
        if self.mean_rtt == 0.0 {
            (self.base_rtt, self.mean_rtt) = (rtt, rtt);
        }
        self.base_rtt = self.base_rtt.min(rtt);
        let weight = (3.0 * self.mss / self.window).min(0.25);
        self.mean_rtt += weight * (rtt - self.mean_rtt);
    }

    fn is_path_empty(&self) -> bool {
        self.mean_rtt - self.base_rtt < self.config.threshold.0 as f64
    }

    /// The next window, by the equation.
    fn next_window(&self) -> f64 {
        let twice = 2.0 * self.window;
        let gamma = self.config.gamma;
        let wanted = self.base_rtt / self.mean_rtt * self.window + self.config.alpha * self.mss;
        let next = twice.min((1.0 - gamma) * self.window + gamma * wanted);
        if self.is_path_empty() {
            self.ssthresh.map_or(twice, |ssthresh| next.max(twice.min(ssthresh as f64)))
        } else {
            next
        }
    }

    fn begin_round(&mut self) {
        self.rests = !self.rests;
        self.origin = self.window;
        self.target = if self.rests || self.mean_rtt == 0.0 { self.window } else { self.next_window() };
        if self.target < self.window {
            self.window = self.target.max(2.0 * self.mss);
        }
    }

    /// Moves the window towards the target, by the acknowledged share of a window.
    fn grow(&mut self, acked: f64) {
        if self.target > self.window {
            let step = (self.target - self.origin) * acked / self.origin;
            self.window = (self.window + step).min(self.target);
        }
    }
}

impl CongestionController for Fast {
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.growth.is_due {
            return;
        }
        if let Some(rtt) = ack.rtt_sample {
            self.sample(rtt.0 as f64);
        }
        let ends_round_of_repair = self.repair.end_round(ack);
        if ack.round != self.round || ends_round_of_repair {
            self.round = ack.round;
            self.begin_round();
        }
        if ack.growth.is_in_use {
            self.grow(ack.newly_acked.0 as f64);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_repeated() {
            self.before_episode = Some((self.window, self.ssthresh));
            self.window = (event.decrease_from.0 as f64 / 2.0).max(2.0 * self.mss);
            self.ssthresh = Some(self.window as u64);
        }
        if event.is_timeout() {
            self.window = self.mss;
        }
        (self.target, self.origin, self.rests) = (self.window, self.window, true);
    }

    fn on_spurious(&mut self, _now: ackclock_units::SimTime) {
        if let Some((window, ssthresh)) = self.before_episode.take() {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
            (self.target, self.origin) = (self.window, self.window);
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window as u64)
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.window = restart.window.0 as f64;
        (self.target, self.origin) = (self.window, self.window);
        self.rests |= restart.cause == RestartCause::Timeout;
        self.repair.on_restart(restart);
    }

    /// The threshold is that below which the window doubles, until there is a queue.
    fn ssthresh(&self) -> Option<Bytes> {
        if self.is_path_empty() { self.ssthresh.map(Bytes) } else { Some(self.cwnd()) }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("base_rtt_s", self.base_rtt / 1e9);
        record("mean_rtt_s", self.mean_rtt / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::loss;

    fn fast(window: u64, base_ms: f64, mean_ms: f64) -> Fast {
        let start = Start::of(1_000, window, None);
        let mut fast = Fast::new(&FastConfig { alpha: 20.0, ..FastConfig::default() }, start);
        (fast.base_rtt, fast.mean_rtt) = (base_ms * 1e6, mean_ms * 1e6);
        fast
    }

    #[test]
    fn the_equation() {
        // 0.5 * 100 + 0.5 * (50/80 * 100 + 20) = 91.25 segments
        assert!((fast(100_000, 50.0, 80.0).next_window() - 91_250.0).abs() < 1e-6);
        // 100 segments, a quarter of them beyond the path: 0.5 * 100 + 0.5 * (75 + 20) = 97.5
        assert!((fast(100_000, 75.0, 100.0).next_window() - 97_500.0).abs() < 1e-6);
        // At the equilibrium w (RTT - baseRTT) / RTT = alpha it stays
        assert!((fast(100_000, 80.0, 100.0).next_window() - 100_000.0).abs() < 1e-6);
        // never more than twice: 0.5 * 4 + 0.5 * (3.6 + 20) = 13.8
        assert!((fast(4_000, 90.0, 100.0).next_window() - 8_000.0).abs() < 1e-6);
        assert!((fast(100_000, 50.0, 50.7).next_window() - 200_000.0).abs() < 1e-6); // below the threshold
    }

    /// Below ssthresh the window may double; from there on it does not (RFC 5681 section 3.1).
    #[test]
    fn doubling_ends_at_ssthresh() {
        let mut fast = fast(100_000, 50.0, 50.0);
        fast.ssthresh = Some(150_000);
        assert!((fast.next_window() - 150_000.0).abs() < 1e-6);
        fast.ssthresh = Some(100_000);
        assert!((fast.next_window() - 110_000.0).abs() < 1e-6); // 0.5 * 100 + 0.5 * (100 + 20) segments
    }

    #[test]
    fn the_mean_weighs_a_sample_by_three_windows() {
        let mut fast = fast(100_000, 50.0, 50.0);
        fast.sample(60e6); // 3/100 of 10 ms
        assert!((fast.mean_rtt - 50.3e6).abs() < 1e-3);
        fast.window = 4_000.0;
        fast.sample(90.3e6); // a quarter of 40 ms
        assert!((fast.mean_rtt - 60.3e6).abs() < 1e-3);
    }

    #[test]
    fn a_loss_halves() {
        let mut fast = fast(100_000, 50.0, 80.0);
        fast.on_congestion(&loss(90_000));
        assert_eq!(fast.cwnd(), Bytes(45_000));
    }
}
