//! CUBIC (RFC 9438).
//!
//! The equations live in a `Curve`, in segments and seconds, so that they can be checked without a sender.
//!
//! Departures: slow start ends early only if `hystart` says so. Choices that the RFC leaves open: the decrease works on
//! `FlightSize` (section 4.6), slow start is RFC 5681's with the byte counting of RFC 3465, and application-limited
//! time does not count (section 4.2, last paragraphs): the epoch is moved forward by it. A window of one segment that
//! is marked again sends no more slowly, which section 4.6 asks for.

use ackclock_declare::{declare, default, unset, words};
use ackclock_units::{Bytes, SimDuration, SimTime, math};

use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{CongestionController, Controller, Start};
use crate::event::{AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::linux_cubic::LinuxCubic;
use crate::slow_start::{Hystart, Pace, Parts, SlowStart, Window, slow_start_reports};

words! {
    /// The source of CUBIC's rules.
    #[derive(Default)]
    pub enum CubicVariant {
        /// The rules of RFC 9438: [`Cubic`].
        #[default]
        "rfc9438" = Rfc9438,
        /// The rules of Linux's module: [`LinuxCubic`](crate::LinuxCubic).
        "linux" = Linux,
    }
}

declare! {
    /// The parameters of CUBIC.
    #[derive(Copy)]
    pub struct CubicConfig {
        /// Source of the rules: the RFC, or Linux, in whole segments and integers.
        variant: CubicVariant = CubicVariant::Rfc9438,
        /// Steepness of the curve, C; Linux rounds it to 1024ths.
        c: f64 = default(0.4).above(0.0).at_most(1e6).unit("segments/s^3").source("RFC 9438 section 5.1"),
        /// Fraction of the flight size kept on congestion; Linux rounds it to 1024ths.
        beta: f64 = default(0.7).above(0.0).below(1.0).source("RFC 9438 section 4.6"),
        /// Fraction of the flight size kept on a mark; RFC 8511 says 0.85.
        beta_ecn: Option<f64> = unset("as beta").above(0.0).below(1.0),
        /// Lower `W_max` when the window falls twice in a row.
        fast_convergence: bool = default(true).source("RFC 9438 section 4.7"),
        /// Grow at least as fast as Reno.
        reno_friendly: bool = default(true).source("RFC 9438 section 4.3"),
        /// Acknowledged segments for which the window grows by at least one, before the first loss and after a timeout
        /// before the next: 20 in Linux and ns-3.
        slowest_at_first: Option<u32> = unset("the curve's growth").at_least(2).unit("segments"),
        /// Early end of slow start before the first loss: by ACK trains and rising delay as Linux or ns-3 measure them,
        /// or by `HyStart++`.
        hystart: Hystart = Hystart::Off,
        /// Tick of the clock that Linux's module reads.
        tick: SimDuration = default(SimDuration::from_millis(4))
            .at_least(SimDuration::from_millis(1))
            .at_most(SimDuration::from_millis(10))
            .source("CONFIG_HZ = 250 of the recorded kernel and of Debian's"),
        /// Where its ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
    bases by variant: CubicVariant = CubicConfig::of;
    check |config, review| {
        if config.variant == CubicVariant::Linux && config.c < LINUX_PRECISION {
            let message = format!("must be at least {LINUX_PRECISION} (1/1024) with variant = \"linux\"");
            review.report("c", message, "Linux's arithmetic rounds less to 0; its default is 410/1024");
        }
    };
}

impl Algorithm for CubicConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "window as a cubic function of the time since the last congestion, never slower than Reno",
        source: "RFC 9438; the behaviour of Linux 6.18",
        departures: "a marked window of one segment sends no more slowly; the decrease works on the flight size, slow start is RFC 5681's with byte counting (L = 2); variant \"linux\": the cube root is exact",
        stack: Stack { profile: "cubic", ..Stack::ANY },
        ..Name::called("cubic")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            CubicVariant::Rfc9438 => Controller::Cubic(Cubic::new(self, start)),
            CubicVariant::Linux => Controller::LinuxCubic(LinuxCubic::new(self, start)),
        }
    }
}

/// The least window and ssthresh after a loss, segments.
const LEAST_WINDOW: f64 = 2.0;

/// The least C of Linux's arithmetic, segments/s^3.
const LINUX_PRECISION: f64 = 1.0 / 1024.0;

impl CubicConfig {
    /// The parameters of a variant.
    fn of(variant: CubicVariant) -> Self {
        match variant {
            CubicVariant::Rfc9438 => Self::as_declared(),
            CubicVariant::Linux => Self::linux(),
        }
    }

    /// Linux's rules and constants: C = 410/1024, beta = 717/1024.
    pub fn linux() -> Self {
        let (c, beta) = (410.0 / 1024.0, 717.0 / 1024.0);
        Self { variant: CubicVariant::Linux, c, beta, slowest_at_first: Some(20), ..Self::as_declared() }
    }
}

/// The cubic function of one congestion-avoidance stage, in segments and seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    /// The constant C, segments/s^3.
    c: f64,
    /// The plateau `W_max`, segments.
    w_max: f64,
    /// The time from the beginning of the stage to the plateau, s.
    k: f64,
}

impl Curve {
    /// The curve of a stage, with `K = cbrt((W_max - cwnd_epoch) / C)` (figure 2 of section 4.2).
    fn new(c: f64, w_max: f64, cwnd_epoch: f64) -> Self {
        //= rfc9438-4.2-k
        Self { c, w_max, k: math::cbrt((w_max - cwnd_epoch).max(0.0) / c) }
    }

    /// The window at time t: `W_cubic(t) = C * (t - K)^3 + W_max` (figure 1 of section 4.2).
    fn window(&self, t: f64) -> f64 {
        let offset = t - self.k;
        //= rfc9438-5.1-c
        //= rfc9438-4.2-curve
        self.c * offset * offset * offset + self.w_max
    }
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: SimTime,
    curve: Curve,
    /// Reno's estimated window, segments.
    w_est: f64,
}

/// The state that an episode changes, kept to undo a spurious one (section 4.9).
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: Option<f64>,
    w_max: Option<f64>,
    /// The window just before the last decrease.
    cwnd_prior: f64,
    /// True until the first stage after a timeout has begun: there K = 0 and `W_max` = cwnd (section 4.8).
    after_timeout: bool,
    /// True if there was a loss since the beginning, or since the last timeout.
    has_lost: bool,
    epoch: Option<Epoch>,
}

/// CUBIC as in RFC 9438; internal windows are segments as `f64`. Source and departures: [`mod@crate::cubic`].
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    mss: u64,
    state: State,
    slow_start: SlowStart,
    /// The window `state.cwnd` in octets: the sender reads it for each segment, and the conversion is expensive.
    cwnd: Bytes,
    before_episode: Option<Box<State>>,
    /// The time since which the window is not the limit; `None` if it is.
    unlimited_since: Option<SimTime>,
    /// Reno's increase that matches this decrease, `3 * (1 - beta) / (1 + beta)` (section 4.3).
    alpha: f64,
}

impl Cubic {
    pub(crate) fn new(config: &CubicConfig, start: Start) -> Self {
        let segments = |bytes: u64| bytes as f64 / start.mss.0 as f64;
        Self {
            config: *config,
            mss: start.mss.0,
            state: State {
                cwnd: segments(start.initial_window.0),
                ssthresh: start.ssthresh().map(segments),
                w_max: None,
                cwnd_prior: 0.0,
                after_timeout: false,
                has_lost: false,
                epoch: None,
            },
            slow_start: SlowStart::new(config.hystart),
            cwnd: start.initial_window,
            before_episode: None,
            unlimited_since: None,
            alpha: 3.0 * (1.0 - config.beta) / (1.0 + config.beta),
        }
    }

    fn set_segments(&mut self, segments: f64) {
        self.state.cwnd = segments;
        self.cwnd = Bytes((segments * self.mss as f64) as u64);
    }

    fn in_slow_start(&self) -> bool {
        self.state.ssthresh.is_none_or(|ssthresh| self.state.cwnd < ssthresh)
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd().0, ssthresh: self.ssthresh().map(|bytes| bytes.0), mss: self.mss }
    }

    /// Grows in slow start, in bytes; returns the segments left over for congestion avoidance.
    fn grow_in_slow_start(&mut self, pace: Pace, acked: Bytes) -> f64 {
        //= rfc9438-4.10-slow-start
        let window = Parts { cwnd: self.state.cwnd, ssthresh: self.state.ssthresh, mss: self.mss };
        let (cwnd, left) = self.slow_start.grow_segments(pace, window, acked.0);
        self.set_segments(cwnd);
        left
    }

    fn begin_epoch(&mut self, now: SimTime) -> Epoch {
        let cwnd = self.state.cwnd;
        // After a timeout, and when slow start ended without a loss, the curve starts at its plateau (section 4.8).
        let w_max = if self.state.after_timeout { cwnd } else { self.state.w_max.unwrap_or(cwnd) };
        self.state.after_timeout = false;
        self.state.w_max = Some(w_max);
        Epoch { start: now, curve: Curve::new(self.config.c, w_max, cwnd), w_est: cwnd }
    }

    fn avoid_congestion(&mut self, now: SimTime, srtt: SimDuration, segments_acked: f64) {
        if self.state.epoch.is_none() {
            self.state.epoch = Some(self.begin_epoch(now));
        }
        let Some(epoch) = &mut self.state.epoch else { return };
        let cwnd = self.state.cwnd;
        let t = now.saturating_since(epoch.start).as_secs_f64();

        //= rfc9438-4.3-alpha
        // Section 4.3: once past the window before the last decrease, grow as Reno itself does (alpha = 1).
        let alpha = if epoch.w_est < self.state.cwnd_prior { self.alpha } else { 1.0 };
        epoch.w_est += alpha * segments_acked / cwnd;

        //= rfc9438-4.3-reno-friendly
        let grown = if self.config.reno_friendly && epoch.curve.window(t) < epoch.w_est {
            epoch.w_est.max(cwnd)
        } else {
            //= rfc9438-4.2-target
            // Sections 4.2, 4.4, 4.5: target = W_cubic(t + RTT), between cwnd and 1.5 cwnd.
            let target = epoch.curve.window(t + srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * segments_acked
        };
        let least = match self.config.slowest_at_first {
            Some(acknowledged) if !self.state.has_lost => cwnd + segments_acked / f64::from(acknowledged),
            _ => cwnd,
        };
        self.set_segments(grown.max(least));
    }

    /// Moves the epoch past a span in which cwnd was not the limit, so that it does not count in t.
    fn skip_unlimited_time(&mut self, now: SimTime) {
        //= rfc9438-4.2-idle
        let Some(since) = self.unlimited_since.take() else {
            return;
        };
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += now.saturating_since(since.max(epoch.start));
        }
    }
}

impl CongestionController for Cubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        let pace = if self.slow_start.is_watched() {
            let epoch = self.state.epoch.map(|epoch| epoch.start);
            self.slow_start.on_ack(ack, &self.window(), epoch)
        } else {
            Pace::Ordinary
        };
        if pace == Pace::Leave {
            //= rfc9438-4.10-hystart
            self.state.ssthresh = Some(self.state.cwnd);
        }
        if !ack.growth.is_in_use {
            self.unlimited_since.get_or_insert(ack.now);
            return;
        }
        self.skip_unlimited_time(ack.now);
        if !ack.may_grow() {
            return;
        }
        let mut segments = ack.newly_acked.0 as f64 / self.mss as f64;
        if self.in_slow_start() {
            segments = self.grow_in_slow_start(pace, ack.newly_acked);
            if segments <= 0.0 {
                return;
            }
        }
        self.avoid_congestion(ack.now, ack.rtt.srtt, segments);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        let beta = self.config.beta;
        if !event.is_repeated() {
            self.before_episode = Some(Box::new(self.state));
        }
        //= rfc9438-4.6-seven-tenths
        //= rfc8511-3-cubic
        let kept = event.decrease_from.0 as f64 / self.mss as f64 * event.fraction_kept(beta, self.config.beta_ecn);
        let state = &mut self.state;
        state.epoch = None;
        if !event.is_repeated() {
            state.cwnd_prior = state.cwnd;
            //= rfc9438-4.7-fast-convergence
            // Section 4.7: a second fall in a row below W_max means that somebody else needs room.
            let shrinking = state.w_max.is_some_and(|w_max| state.cwnd < w_max);
            let keep = if self.config.fast_convergence && shrinking { f64::midpoint(1.0, beta) } else { 1.0 };
            state.w_max = Some(state.cwnd * keep);
            //= rfc9438-4.6-two-segments
            // Section 4.6: ssthresh = flight_size * beta_cubic, at least two segments.
            state.ssthresh = Some(kept.max(LEAST_WINDOW));
        }
        state.has_lost = !event.is_timeout();
        if event.is_timeout() {
            //= rfc9438-4.8-timeout
            state.after_timeout = true;
            self.set_segments(1.0);
        } else {
            //= rfc9438-4.6-one-segment-on-marks
            let least = if event.cause == CongestionCause::Ecn { 1.0 } else { LEAST_WINDOW };
            self.set_segments(kept.max(least));
        }
    }

    fn on_spurious(&mut self, _now: SimTime) {
        if let Some(before) = self.before_episode.take() {
            //= rfc9438-4.9-spurious
            // Section 4.9.1: only if the window has not already passed the restored one.
            if self.state.cwnd < before.cwnd {
                self.state = *before;
                self.set_segments(before.cwnd);
            }
        }
    }

    fn on_send(&mut self, sent: &SendEvent) {
        if sent.idle_for > SimDuration::ZERO {
            if let Some(epoch) = &mut self.state.epoch {
                let idle_from = SimTime(sent.now.0 - sent.idle_for.0);
                let already = self.unlimited_since.map_or(idle_from, |since| since.min(idle_from));
                epoch.start += sent.now.saturating_since(already.max(epoch.start));
            }
            self.unlimited_since = None;
        }
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    /// Begins another stage with the new window, whose curve leads from there to `W_max`.
    fn on_restart(&mut self, restart: &RestartEvent) {
        self.slow_start.on_restart(restart);
        if let Some(ssthresh) = restart.ssthresh {
            self.state.ssthresh = Some(ssthresh.0 as f64 / self.mss as f64);
        }
        if restart.cause == RestartCause::Timeout {
            (self.state.after_timeout, self.state.has_lost, self.state.epoch) = (true, false, None);
        }
        if restart.window != self.cwnd {
            self.state.epoch = None;
            self.set_segments(restart.window.0 as f64 / self.mss as f64);
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.state.ssthresh.map(|segments| Bytes((segments * self.mss as f64) as u64))
    }

    slow_start_reports!();

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("w_max_segments", self.state.w_max.unwrap_or(f64::NAN));
        if let Some(epoch) = &self.state.epoch {
            record("k_s", epoch.curve.k);
            record("w_est_segments", epoch.w_est);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, ack, loss, timeout};

    const MSS: u64 = 1_000;

    fn cubic(initial_window: u64) -> Cubic {
        Cubic::new(&CubicConfig::default(), Start::of(MSS, initial_window, Some(2 * MSS)))
    }

    //= rfc9438-5.1-c
    //= rfc9438-4.2-k
    //= rfc9438-4.2-curve
    #[test]
    fn the_curve_is_the_rfcs() {
        // W_max = 2400, cwnd_epoch = 0.7 * 2400 = 1680: K = cbrt(720 / 0.4) = cbrt(1800) = 12.16440
        let curve = Curve::new(0.4, 2400.0, 1680.0);
        assert!((curve.k - 12.164_40).abs() < 1e-5);
        assert!((curve.window(0.0) - 1680.0).abs() < 1e-9);
        assert!((curve.window(curve.k) - 2400.0).abs() < 1e-9);
        // three seconds past the plateau: 0.4 * 27 + 2400 = 2410.8
        assert!((curve.window(curve.k + 3.0) - 2410.8).abs() < 1e-9);
    }

    /// The least growth before the first loss is ns-3's `m_cntClamp`, and Linux's "5% per RTT".
    #[test]
    fn before_the_first_loss_a_segment_for_twenty_is_the_least_if_so_wanted() {
        let config = CubicConfig { slowest_at_first: Some(20), reno_friendly: false, ..CubicConfig::default() };
        let start = Start::of(MSS, 1_000 * MSS, Some(2 * MSS));
        let grown_by = |cubic: &mut Cubic| {
            let before = cubic.cwnd().0;
            for _ in 0..50 {
                cubic.on_ack(&ack(2 * MSS));
            }
            cubic.cwnd().0 - before
        };
        // The curve begins at its plateau, which is level: 100 segments acknowledged are 5 of growth, and none by the curve.
        let mut cubic = Cubic::new(&config, start);
        let by_the_curve = grown_by(&mut Cubic::new(&CubicConfig { slowest_at_first: None, ..config }, start));
        assert!((4_999..=5_000).contains(&grown_by(&mut cubic)) && by_the_curve < 100, "{by_the_curve}");
        // Once it has lost, K = cbrt(0.3 * 1005 / 0.4) = 9.1 s lie before the plateau: at first 0.4 * 3 * 9.1^2 = 99 segments a second.
        cubic.on_congestion(&loss(1_005 * MSS));
        let config = CubicConfig { slowest_at_first: None, ..config };
        let mut other = Cubic { config, ..cubic.clone() };
        assert_eq!(grown_by(&mut cubic), grown_by(&mut other));
        // A timeout forgets that.
        cubic.on_congestion(&timeout(700 * MSS, false));
        assert!(!cubic.state.has_lost);
    }

    //= rfc9438-4.3-alpha
    //= rfc9438-4.3-reno-friendly
    #[test]
    fn alpha_makes_the_average_that_of_reno() {
        // 3 * (1 - 0.7) / (1 + 0.7) = 0.9 / 1.7 = 0.529411...
        assert!((cubic(10 * MSS).alpha - 0.529_411_764).abs() < 1e-8);
    }

    //= rfc9438-4.6-seven-tenths
    #[test]
    fn loss_keeps_seven_tenths() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&loss(100 * MSS));
        assert_eq!(cubic.cwnd(), Bytes(70 * MSS));
    }

    //= rfc9438-4.7-fast-convergence
    #[test]
    fn fast_convergence_remembers_less_when_the_window_falls_twice() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&loss(100 * MSS)); // W_max = 100
        assert_eq!(cubic.state.w_max, Some(100.0));
        cubic.on_congestion(&loss(70 * MSS)); // 70 < 100: W_max = 70 * 1.7 / 2 = 59.5
        assert!((cubic.state.w_max.unwrap() - 59.5).abs() < 1e-9);
    }

    //= rfc9438-4.2-target
    #[test]
    fn growth_follows_the_curve_back_to_w_max() {
        // 1000 segments, loss, then one ACK a segment over 100 ms round trips: K = cbrt(1000 * 0.3 / 0.4) = 9.0856 s.
        let mut cubic = cubic(1_000 * MSS);
        cubic.on_congestion(&loss(1_000 * MSS));
        let mut now = SimTime::ZERO;
        let end = SimTime(9_085_600_000);
        while now < end {
            let spacing = 100_000_000 / (cubic.cwnd().0 / MSS);
            cubic.on_ack(&AckEvent { now, ..ack(MSS) });
            now += SimDuration(spacing);
        }
        let segments = cubic.cwnd().0 as f64 / MSS as f64;
        assert!((segments - 1_000.0).abs() < 10.0, "at K the window is W_max within 1 %: {segments}");
    }

    //= rfc9438-4.8-timeout
    #[test]
    fn after_a_timeout_the_curve_starts_at_its_plateau() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&timeout(100 * MSS, false));
        assert_eq!(cubic.cwnd(), Bytes(MSS));
        cubic.set_segments(70.0); // slow start done
        cubic.on_ack(&ack(MSS));
        let epoch = cubic.state.epoch.expect("congestion avoidance began");
        assert!(epoch.curve.k.abs() < 1e-12 && (epoch.curve.w_max - 70.0).abs() < 1e-9);
    }

    //= rfc8511-3-cubic
    #[test]
    fn a_mark_may_keep_more_than_a_loss() {
        let config = CubicConfig { beta_ecn: Some(0.85), ..CubicConfig::default() };
        let start = Start::of(MSS, 100 * MSS, None);
        let mut cubic = Cubic::new(&config, start);
        cubic.on_congestion(&CongestionEvent { cause: CongestionCause::Ecn, ..loss(100 * MSS) });
        assert_eq!(cubic.cwnd(), Bytes(85 * MSS)); // RFC 8511
        cubic.on_congestion(&loss(80 * MSS));
        assert_eq!(cubic.cwnd(), Bytes(56 * MSS)); // RFC 9438: 0.7 * 80
    }

    #[test]
    fn a_repeated_timeout_belongs_to_the_episode_to_be_undone() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&timeout(100 * MSS, false));
        cubic.on_congestion(&timeout(MSS, true));
        cubic.on_spurious(SimTime::ZERO);
        assert_eq!(cubic.cwnd(), Bytes(100 * MSS));
    }

    //= rfc9438-4.2-idle
    #[test]
    fn idle_time_does_not_count() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&loss(100 * MSS));
        cubic.on_ack(&ack(MSS));
        let idle_for = SimDuration::from_secs(60);
        let now = SimTime::ZERO + idle_for;
        cubic.on_send(&SendEvent { now, idle_for, is_app_limited: true, ..testing::sent(MSS) });
        cubic.on_ack(&AckEvent { now: now + SimDuration::from_millis(100), ..ack(MSS) });
        assert!(cubic.cwnd() < Bytes(71 * MSS), "a minute of silence must not count as a minute of growth");
    }

    #[test]
    fn a_window_that_starts_over_does_not_jump_to_where_its_curve_was() {
        use crate::event::{RestartCause, RestartEvent};
        let mut cubic = cubic(200 * MSS);
        cubic.on_congestion(&loss(200 * MSS));
        let mut now = SimTime::ZERO;
        for _ in 0..50_000 {
            now += SimDuration::from_millis(1);
            cubic.on_ack(&AckEvent { now, ..ack(MSS) });
        }
        let ssthresh = cubic.ssthresh().expect("there was a loss");
        for cause in [RestartCause::Idle, RestartCause::Unused] {
            cubic.on_restart(&RestartEvent { now, cause, window: Bytes(10 * MSS), ssthresh: None });
            // RFC 9438 section 5.8: slow start from RFC 5681's restart window; then an ACK adds half of what it acknowledges at most.
            let mut before = cubic.cwnd();
            while cubic.cwnd() < Bytes(2 * ssthresh.0) {
                now += SimDuration::from_millis(1);
                cubic.on_ack(&AckEvent { now, ..ack(MSS) });
                assert!(cubic.cwnd() <= before + Bytes(MSS), "{cause:?}: {before} to {}", cubic.cwnd());
                before = cubic.cwnd();
            }
        }
    }

    #[test]
    fn a_timeout_within_an_episode_begins_at_the_plateau_too() {
        use crate::event::{RestartCause, RestartEvent};
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&loss(100 * MSS));
        let (now, cause) = (SimTime::ZERO, RestartCause::Timeout);
        cubic.on_restart(&RestartEvent { now, cause, window: Bytes(MSS), ssthresh: None });
        cubic.set_segments(70.0); // slow start done
        cubic.on_ack(&ack(MSS));
        let epoch = cubic.state.epoch.expect("congestion avoidance began");
        assert!(epoch.curve.k.abs() < 1e-12 && (epoch.curve.w_max - 70.0).abs() < 1e-9); // RFC 9438 section 4.8
    }

    //= rfc9438-4.6-one-segment-on-marks
    #[test]
    fn marks_take_the_window_down_to_one_segment_and_a_loss_to_two() {
        let mark = |segments| CongestionEvent { cause: CongestionCause::Ecn, ..loss(segments * MSS) };
        let mut marked = cubic(2 * MSS);
        marked.on_congestion(&mark(2)); // 0.7 * 2
        assert_eq!((marked.cwnd(), marked.ssthresh()), (Bytes(1_400), Some(Bytes(2 * MSS))));
        marked.on_congestion(&mark(1));
        assert_eq!(marked.cwnd(), Bytes(MSS));
        let mut lost = cubic(2 * MSS);
        lost.on_congestion(&loss(2 * MSS));
        assert_eq!(lost.cwnd(), Bytes(2 * MSS));
    }

    //= rfc9438-4.9-spurious
    #[test]
    fn a_spurious_episode_is_undone() {
        let mut cubic = cubic(100 * MSS);
        cubic.on_congestion(&loss(100 * MSS));
        cubic.on_spurious(SimTime::ZERO);
        assert_eq!(cubic.cwnd(), Bytes(100 * MSS));
    }
}
