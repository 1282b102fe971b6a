//! `LEDBAT++`: LEDBAT that is fair to itself, on round trips.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus-01: a gain that follows the base round trip (section 4.2), additive
//! increase and multiplicative decrease (4.3), a slow start that ends at three quarters of the target (4.1) and
//! periodic slowdowns, in which every flow sees the empty path (4.4).
//!
//! Departures: those of LEDBAT (`ledbat.rs`), except for its slow start. Slow start is scaled by the gain, the one that
//! ends a slowdown included; "2 RTT" are two smoothed round trips. After a timeout slow start begins anew. Losses halve
//! the window, as RFC 6817 says; one in the pause of a slowdown halves the window to which that leads back, which is a
//! reading of this project.
//!
//! Checked: gain, target, slow start's end by delay or loss and the slowdown that follows either, and the interval to the next against
//! implementations of revision 01 (Q. Li's module for Linux); later ones have not been compared; the runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::algorithm::{Algorithm, Name};
use crate::base_delay::BaseDelay;
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};

declare! {
    /// The parameters of [`LedbatPlusPlus`].
    #[derive(Copy)]
    pub struct LedbatPlusPlusConfig {
        /// Upper bound of the queueing delay.
        target: SimDuration = default(SimDuration::from_millis(60)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)),
        /// Weight of the multiplicative decrease.
        constant: f64 = default(1.0).at_least(1e-3).at_most(1e3),
        /// Minutes after which a base delay is forgotten.
        base_history: u32 = default(10).at_least(1).at_most(1_000).unit("minutes"),
        /// Samples whose least is the current delay.
        current_filter: u32 = default(4).at_least(1).at_most(1_000).unit("samples"),
        /// Slow down periodically, so that every flow sees the empty path.
        slowdown: bool = true,
    }
}

impl Algorithm for LedbatPlusPlusConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "LEDBAT that is fair to itself: multiplicative decrease, periodic slowdowns, round trips",
        source: "draft-irtf-iccrg-ledbat-plus-plus-01",
        departures: "a timeout begins slow start anew; a loss in the pause of a slowdown halves the window to which it leads back; the ramp after a slowdown is scaled by the gain as slow start is",
        ..Name::called("ledbat_plus_plus")
    }];

    fn start(&self, start: Start) -> Controller {
        Controller::LedbatPlusPlus(Box::new(LedbatPlusPlus::new(self, start)))
    }
}

/// The inverse of the smallest gain.
const MOST_DIVISOR: f64 = 16.0;
/// The window in a slowdown, and the least one, segments.
const LEAST_WINDOW: f64 = 2.0;
/// The round trips from the end of slow start to the first slowdown; also those of the pause in a slowdown.
const PAUSE_ROUND_TRIPS: u64 = 2;
/// The time from a slowdown to the next, in durations of the one that ended.
const SLOWDOWN_INTERVAL: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Congestion avoidance, until the next slowdown.
    Avoidance {
        until: SimTime,
    },
    /// The pause of a slowdown: two segments for two round trips.
    Pause {
        began: SimTime,
        until: SimTime,
    },
    /// Slow start to the window before the slowdown.
    Ramp {
        began: SimTime,
    },
}

/// `LEDBAT++`: LEDBAT on round trips, with slowdowns that show every flow the empty path. Source and departures:
/// [`mod@crate::ledbat_plus_plus`].
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    config: LedbatPlusPlusConfig,
    mss: f64,
    /// The congestion window with its fraction of a byte.
    window: f64,
    ssthresh: Option<u64>,
    phase: Phase,
    delay: BaseDelay,
    queueing: SimDuration,
    srtt: SimDuration,
    before_episode: Option<(f64, Option<u64>, Phase)>,
}

impl LedbatPlusPlus {
    pub(crate) fn new(config: &LedbatPlusPlusConfig, start: Start) -> Self {
        Self {
            config: *config,
            mss: start.mss.0 as f64,
            window: start.initial_window.0 as f64,
            ssthresh: start.ssthresh(),
            phase: Phase::SlowStart,
            delay: BaseDelay::new(config.base_history, config.current_filter),
            queueing: SimDuration::ZERO,
            srtt: SimDuration::ZERO,
            before_episode: None,
        }
    }

    /// The gain `GAIN = 1 / min (16, CEIL (2 * TARGET / base))` (section 4.2).
    fn gain(&self) -> f64 {
        let base = self.delay.base().max(1) as f64;
        1.0 / (2.0 * self.config.target.0 as f64 / base).ceil().clamp(1.0, MOST_DIVISOR)
    }

    /// The change of the window in segments per round trip (section 4.3). It is `W += GAIN` below the target, above it
    /// `W += max (GAIN - Constant * W * (delay / target - 1), -W / 2)`.
    fn step(&self) -> f64 {
        let (window, over) = (self.window / self.mss, self.queueing.0 as f64 / self.config.target.0 as f64 - 1.0);
        let decrease = if over > 0.0 { self.config.constant * window * over } else { 0.0 };
        (self.gain() - decrease).max(-window / 2.0)
    }

    fn reaches_ssthresh(&self) -> bool {
        self.ssthresh.is_some_and(|ssthresh| self.window >= ssthresh as f64)
    }

    fn begin_avoidance(&mut self, now: SimTime, wait: SimDuration) {
        let until = if self.config.slowdown { now + wait } else { SimTime::NEVER };
        self.phase = Phase::Avoidance { until };
    }

    fn pause(&self) -> SimDuration {
        SimDuration(self.srtt.0 * PAUSE_ROUND_TRIPS)
    }

    /// Moves to the next phase when the time or the delay is right.
    fn advance(&mut self, now: SimTime) {
        let pause = self.pause();
        match self.phase {
            Phase::SlowStart => {
                let is_late = self.queueing.0 * 4 > self.config.target.0 * 3;
                if is_late || self.reaches_ssthresh() {
                    self.begin_avoidance(now, pause);
                }
            }
            Phase::Avoidance { until } if now >= until => {
                self.ssthresh = Some(self.window as u64);
                self.window = LEAST_WINDOW * self.mss;
                self.phase = Phase::Pause { began: now, until: now + pause };
            }
            Phase::Pause { began, until } if now >= until => self.phase = Phase::Ramp { began },
            Phase::Ramp { began } if self.reaches_ssthresh() => {
                let duration = now.saturating_since(began);
                self.begin_avoidance(now, SimDuration(duration.0 * SLOWDOWN_INTERVAL));
            }
            _ => {}
        }
    }

    fn move_window(&mut self, ack: &AckEvent) {
        let acked = ack.newly_acked.0 as f64;
        let moved = match self.phase {
            Phase::Pause { .. } => return,
            Phase::SlowStart | Phase::Ramp { .. } => self.gain() * acked,
            Phase::Avoidance { .. } => self.step() * self.mss * acked / self.window,
        };
        if moved < 0.0 || ack.growth.is_in_use {
            self.window = (self.window + moved).max(LEAST_WINDOW * self.mss);
        }
    }
}

impl CongestionController for LedbatPlusPlus {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.srtt = ack.rtt.srtt;
        if !ack.growth.is_due {
            return;
        }
        if let Some(rtt) = ack.rtt_sample {
            self.queueing = self.delay.queueing(ack.now, rtt.0 as i64);
        }
        self.advance(ack.now);
        self.move_window(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_repeated() {
            self.before_episode = Some((self.window, self.ssthresh, self.phase));
            let least = LEAST_WINDOW * self.mss;
            // In a slowdown what is lost was sent before it: half of the window to which that leads back.
            let paused = matches!(self.phase, Phase::Pause { .. }).then_some(self.ssthresh).flatten();
            self.window = self.window.min((self.window / 2.0).max(least));
            self.ssthresh = Some(paused.map_or(self.window as u64, |before| (before / 2).max(least as u64)));
        }
        if event.is_timeout() {
            self.window = self.mss;
        } else if self.phase == Phase::SlowStart {
            self.begin_avoidance(event.now, self.pause());
        }
    }

    fn on_spurious(&mut self, _now: SimTime) {
        if let Some((window, ssthresh, phase)) = self.before_episode.take() {
            self.window = self.window.max(window);
            (self.ssthresh, self.phase) = (ssthresh, phase);
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.window as u64)
    }

    fn state(&self) -> &'static str {
        match self.phase {
            Phase::SlowStart => "slow_start",
            Phase::Avoidance { .. } => "congestion_avoidance",
            Phase::Pause { .. } => "slowdown",
            Phase::Ramp { .. } => "slowdown_ramp",
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.phase == Phase::SlowStart
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        self.ssthresh = restart.ssthresh.map(|bytes| bytes.0).or(self.ssthresh);
        self.window = restart.window.0 as f64;
        if restart.cause == RestartCause::Timeout {
            self.phase = Phase::SlowStart;
            self.delay.forget_current();
            self.queueing = SimDuration::ZERO;
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        match self.phase {
            Phase::SlowStart | Phase::Ramp { .. } => self.ssthresh.map(Bytes),
            Phase::Avoidance { .. } | Phase::Pause { .. } => Some(self.cwnd()),
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queueing_delay_s", self.queueing.as_secs_f64());
        record("base_delay_s", self.delay.base() as f64 / 1e9);
        record("gain", self.gain());
        record("is_slowing_down", f64::from(matches!(self.phase, Phase::Pause { .. } | Phase::Ramp { .. })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RttStats;
    use crate::testing::ack;

    fn plus_plus(window: u64) -> LedbatPlusPlus {
        let start = Start::of(1_000, window, None);
        LedbatPlusPlus::new(&LedbatPlusPlusConfig::default(), start)
    }

    fn feed(controller: &mut LedbatPlusPlus, at_ms: u64, rtt_ms: u64, acked: u64) -> u64 {
        let rtt = SimDuration::from_millis(rtt_ms);
        let stats = RttStats { latest: rtt, srtt: rtt, ..RttStats::default() };
        let now = SimTime(at_ms * 1_000_000);
        controller.on_ack(&AckEvent { now, rtt_sample: Some(rtt), rtt: stats, ..ack(acked) });
        controller.cwnd().0
    }

    #[test]
    fn the_gain_follows_the_base_round_trip() {
        // 2 * 60 / 50 = 2.4, up to 3; / 120 = 1; / 5 = 24, capped at 16
        for (base_ms, gain) in [(50, 1.0 / 3.0), (120, 1.0), (500, 1.0), (5, 1.0 / 16.0)] {
            let mut controller = plus_plus(10_000);
            feed(&mut controller, 0, base_ms, 0);
            assert!((controller.gain() - gain).abs() < 1e-12, "{base_ms} ms: {}", controller.gain());
        }
    }

    #[test]
    fn above_the_target_the_window_falls_in_proportion_and_by_half_at_most() {
        let mut controller = plus_plus(20_000);
        controller.phase = Phase::Avoidance { until: SimTime::NEVER };
        feed(&mut controller, 0, 120, 0); // gain 1
        for _ in 0..4 {
            feed(&mut controller, 1, 186, 0);
        }
        assert!((controller.step() - (1.0 - 20.0 * 0.1)).abs() < 1e-9); // 66 of 60 ms: 1 - 20 * 0.1
        for _ in 0..4 {
            feed(&mut controller, 2, 400, 0);
        }
        assert!((controller.step() + 10.0).abs() < 1e-9); // -W/2
        for _ in 0..4 {
            feed(&mut controller, 3, 150, 0);
        }
        assert!((controller.step() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_loss_in_a_slowdown_halves_the_window_to_which_that_leads_back() {
        let mut controller = plus_plus(2_000);
        controller.phase = Phase::Pause { until: SimTime::NEVER, began: SimTime::ZERO };
        controller.ssthresh = Some(400_000);
        controller.on_congestion(&crate::testing::loss(400_000));
        assert_eq!((controller.cwnd(), controller.ssthresh), (Bytes(2_000), Some(200_000)));
    }

    /// After a timeout the sender slow-starts, whether or not an episode was under way (RFC 5681 section 3.1).
    #[test]
    fn a_timeout_in_a_recovery_begins_slow_start() {
        let mut controller = plus_plus(100_000);
        controller.phase = Phase::Avoidance { until: SimTime::NEVER };
        feed(&mut controller, 0, 120, 0);
        (0..4).for_each(|_| _ = feed(&mut controller, 1, 300, 0));
        controller.on_congestion(&crate::testing::loss(100_000));
        controller.on_restart(&crate::testing::restart(RestartCause::Timeout, 1_000));
        controller.on_ack(&AckEvent { rtt_sample: None, ..ack(1_000) });
        // a gain of 1, and a queue of 180 ms that is of before the timeout
        assert_eq!((controller.cwnd(), controller.phase), (Bytes(2_000), Phase::SlowStart));
    }

    /// The first slowdown comes two round trips after slow start, whether a loss or the delay ended that (section 4.4).
    #[test]
    fn a_loss_that_ends_slow_start_is_followed_by_a_slowdown_as_a_delay_is() {
        let mut controller = plus_plus(20_000);
        feed(&mut controller, 0, 120, 0);
        controller.on_congestion(&crate::testing::loss(20_000));
        assert_eq!(controller.phase, Phase::Avoidance { until: SimTime(240_000_000) });
    }

    #[test]
    fn slow_start_ends_at_three_quarters_of_the_target_and_slowdowns_follow() {
        let mut controller = plus_plus(20_000);
        feed(&mut controller, 0, 120, 0);
        for _ in 0..4 {
            feed(&mut controller, 10, 165, 0); // 45 ms, just not more than 3/4 of 60
        }
        assert_eq!(controller.phase, Phase::SlowStart);
        for _ in 0..4 {
            feed(&mut controller, 20, 170, 0);
        }
        // two round trips of 170 ms later
        assert_eq!(controller.phase, Phase::Avoidance { until: SimTime(360_000_000) });
        assert_eq!(feed(&mut controller, 400, 130, 1_000), 2_000);
        assert_eq!(feed(&mut controller, 500, 120, 1_000), 2_000);
        assert_eq!(controller.ssthresh, Some(20_000));
        // The pause lasts 2 * 130 ms, to 660; then a gain of 1 adds what is acknowledged.
        assert_eq!(feed(&mut controller, 700, 120, 10_000), 12_000);
        assert_eq!(feed(&mut controller, 900, 120, 8_000), 20_000);
        feed(&mut controller, 1_000, 120, 0);
        // It began at 400 and ended at 1000: the next comes 9 * 600 ms later.
        assert_eq!(controller.phase, Phase::Avoidance { until: SimTime(6_400_000_000) });
    }
}
