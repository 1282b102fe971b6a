//! CUBIC as in Linux: whole segments, integers, and a count of ACKed segments for every segment of growth.
//!
//! Source: RFC 9438 and the behaviour of Linux 6.18, whose choices differ from the RFC: the decrease works on cwnd; a
//! timeout forgets `W_max`; the target looks one *least* RTT ahead; before the first loss a segment is added for every
//! 20 ACKed at the slowest, at any time for every 2 at the fastest; the curve is evaluated anew when cwnd has changed,
//! or after a 32nd of a second; Reno's window is estimated in whole segments with an eighth of a segment's precision.
//!
//! Departures from Linux: the cube root is exact, where Linux's is within 0.2 %: of two plays whose growth tells it, the time
//! to the plateau, in 1024ths of a second, is at most 2,777 for eight segments (2,778 here) and 2,203 for four (2,205 here).

use ackclock_units::{Bytes, SimDuration, SimTime, math};

use crate::controller::{CongestionController, Start};
use crate::cubic::CubicConfig;
use crate::event::{AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, SendEvent};
use crate::hystart::is_settled;
use crate::jiffies::Jiffies;
use crate::segment_window::SegmentWindow;
use crate::slow_start::{SlowStart, slow_start_reports};

/// The units of the curve's time in a second, and of a fraction in one.
const SCALE: u64 = 1_024;
/// The binary digits of `SCALE` in the curve: C has one `SCALE`, time cubed three.
const CURVE_SHIFT: u32 = 10 + 3 * 10;
/// The least number of ACKed segments for one of growth.
const FASTEST: u64 = 2;
/// The number of ACKed windows for one segment of growth where the target is not above the window.
const STANDSTILL: u64 = 100;

/// The parameters in integers.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// The constant C in 1024ths of a segment/s^3.
    c: u64,
    /// The fractions kept on a loss and on a mark, in 1024ths.
    beta: u64,
    beta_ecn: u64,
    /// The eighths of a window that Reno with this decrease needs for a segment of growth: `8 (1 + beta) / (3 (1 -
    /// beta))`.
    reno_eighths: u64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// The largest number of ACKed segments for one of growth before the first loss.
    slowest_at_first: u64,
}

impl Rules {
    fn new(config: &CubicConfig) -> Self {
        let in_1024ths = |fraction: f64| (fraction * SCALE as f64).round() as u64;
        let beta = in_1024ths(config.beta).min(SCALE - 1);
        Self {
            c: in_1024ths(config.c).max(1),
            beta,
            beta_ecn: config.beta_ecn.map_or(beta, in_1024ths),
            reno_eighths: 8 * (SCALE + beta) / 3 / (SCALE - beta),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            slowest_at_first: config.slowest_at_first.map_or(u64::MAX, u64::from),
        }
    }
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The beginning of the stage, ticks.
    start: u64,
    /// The plateau of the curve, segments.
    origin: u64,
    /// The time to the plateau, 1024ths of a second.
    k: u64,
    /// The window that Reno would have, segments.
    reno_cwnd: u64,
    /// The ACKed segments that have not yet made Reno's window grow.
    reno_acked: u64,
}

impl Epoch {
    fn begin(now: u64, cwnd: u64, w_max: u64, c: u64) -> Self {
        let below = w_max.saturating_sub(cwnd);
        // K = cbrt((W_max - cwnd) / C), of which C is c / 1024
        let k = math::cbrt((below * SCALE) as f64 / c as f64) * SCALE as f64;
        Self { start: now, origin: w_max.max(cwnd), k: k as u64, reno_cwnd: cwnd, reno_acked: 0 }
    }

    /// The curve `C (t - K)^3 + W_max`, within 32 bits of the plateau; `t` in 1024ths of a second.
    fn target(&self, c: u64, t: u64) -> u64 {
        let offset = u128::from(t.abs_diff(self.k));
        let delta =
            (u128::from(c).saturating_mul(offset * offset * offset) >> CURVE_SHIFT).min(u128::from(u32::MAX)) as u64;
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta }
    }

    /// Grows Reno's window by ACKed segments; returns its lead over `cwnd`, segments.
    fn reno_ahead(&mut self, cwnd: u64, eighths: u64) -> u64 {
        let per = ((cwnd * eighths) >> 3).max(1);
        // A multiple of what a segment needs is not yet beyond it.
        let grown = self.reno_acked.saturating_sub(1) / per;
        self.reno_acked -= grown * per;
        self.reno_cwnd += grown;
        self.reno_cwnd.saturating_sub(cwnd)
    }
}

/// The state that a timeout resets.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The window before the last loss, or less after two decreases in a row; `None` before the first loss.
    w_max: Option<u64>,
    epoch: Option<Epoch>,
    /// The ACKed segments for one of growth.
    per: u64,
    /// The window and time (ticks) of the last evaluation.
    evaluated: Option<(u64, u64)>,
    delay_min: Option<SimDuration>,
}

/// CUBIC as in Linux, in whole segments and integers. Source and departures: [`mod@crate::linux_cubic`].
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    rules: Rules,
    clock: Jiffies,
    window: SegmentWindow,
    slow_start: SlowStart,
    state: State,
    last_sent: SimTime,
    /// True if nothing was outstanding after the last ACK.
    is_emptied: bool,
    /// The time at which an episode last ended an epoch, and the beginning of that epoch.
    ended: Option<(SimTime, Option<SimTime>)>,
}

impl LinuxCubic {
    pub(crate) fn new(config: &CubicConfig, start: Start) -> Self {
        Self {
            rules: Rules::new(config),
            clock: Jiffies::new(config.tick, config.tick_offset),
            window: SegmentWindow::new(start),
            slow_start: SlowStart::new(config.hystart),
            state: State::default(),
            last_sent: SimTime::ZERO,
            is_emptied: true,
            ended: None,
        }
    }

    /// The beginning of the epoch that an ACK at `now` finds. An ACK that begins an episode still belongs to the old
    /// epoch.
    fn epoch_found(&self, now: SimTime) -> Option<SimTime> {
        self.ended.filter(|(at, _)| *at == now).map_or_else(|| self.epoch_start(), |(_, start)| start)
    }

    fn epoch_start(&self) -> Option<SimTime> {
        self.state.epoch.map(|epoch| self.clock.time(epoch.start))
    }

    fn measure_delay(&mut self, ack: &AckEvent, epoch: Option<SimTime>) {
        if let Some(sample) = ack.rtt_sample.filter(|_| is_settled(ack.now, epoch)) {
            self.state.delay_min = Some(self.state.delay_min.map_or(sample, |least| least.min(sample)));
        }
    }

    /// Counts `acked` segments and sets the count for the next segment of growth.
    fn update(&mut self, now: SimTime, acked: u64) {
        let now = self.clock.at(now);
        let cwnd = self.window.cwnd;
        if let Some(epoch) = &mut self.state.epoch {
            epoch.reno_acked += acked;
        }
        match self.state.evaluated {
            Some((at, then)) if at == cwnd && now - then <= self.clock.hz() / 32 => return,
            Some((_, then)) if then == now && self.state.epoch.is_some() => (), // once a tick is enough
            _ => self.evaluate(now, acked),
        }
        if self.rules.reno_friendly
            && let Some(epoch) = &mut self.state.epoch
        {
            let ahead = epoch.reno_ahead(cwnd, self.rules.reno_eighths);
            if let Some(reno_per) = cwnd.checked_div(ahead) {
                self.state.per = self.state.per.min(reno_per);
            }
        }
        self.state.per = self.state.per.max(FASTEST);
    }

    /// Evaluates the curve one minimum RTT from now, as the ACKed segments for one of growth.
    fn evaluate(&mut self, now: u64, acked: u64) {
        let cwnd = self.window.cwnd;
        let Rules { c, .. } = self.rules;
        let clock = self.clock;
        let state = &mut self.state;
        state.evaluated = Some((cwnd, now));
        let epoch = state
            .epoch
            .get_or_insert_with(|| Epoch { reno_acked: acked, ..Epoch::begin(now, cwnd, state.w_max.unwrap_or(0), c) });
        let ahead = state.delay_min.map_or(0, |delay| clock.of(delay));
        let target = epoch.target(c, (now - epoch.start + ahead) * SCALE / clock.hz());
        state.per = cwnd.checked_div(target.saturating_sub(cwnd)).unwrap_or(STANDSTILL * cwnd);
        if state.w_max.is_none() {
            state.per = state.per.min(self.rules.slowest_at_first);
        }
    }
}

impl CongestionController for LinuxCubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        let epoch = self.epoch_found(ack.now);
        self.is_emptied = ack.snd_una == ack.snd_nxt;
        self.measure_delay(ack, epoch);
        let left = self.window.on_ack(&mut self.slow_start, ack, epoch);
        if left > 0 {
            self.update(ack.now, left);
            self.window.avoid_congestion(self.state.per, left);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        let Rules { beta, beta_ecn, fast_convergence, .. } = self.rules;
        let from = self.window.decrease_from(event);
        let fraction = if event.cause == CongestionCause::Ecn { beta_ecn } else { beta };
        self.window.reduce(event, from * fraction / SCALE);
        if event.is_timeout() {
            self.state = State::default();
            return;
        }
        let shrinking = fast_convergence && self.state.w_max.is_some_and(|w_max| from < w_max);
        self.ended = Some((event.now, self.epoch_start()));
        self.state.w_max = Some(if shrinking { from * (SCALE + beta) / (2 * SCALE) } else { from });
        self.state.epoch = None;
    }

    fn on_spurious(&mut self, _now: SimTime) {
        self.window.undo();
    }

    /// Shifts the epoch by a silence, so that the curve goes on as it was when the last segment left. A probe of
    /// outstanding data does not end a silence.
    fn on_send(&mut self, sent: &SendEvent) {
        let was_silent = !sent.idle_for.is_zero() || (self.is_emptied && sent.flight_size <= sent.size);
        self.is_emptied = false;
        if was_silent && let Some(epoch) = &mut self.state.epoch {
            let now = self.clock.at(sent.now);
            epoch.start = (epoch.start + now - self.clock.at(self.last_sent)).min(now);
        }
        self.last_sent = sent.now;
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }

    fn on_restart(&mut self, restart: &RestartEvent) {
        // A timeout forgets all also where it belongs to the episode under way.
        if restart.cause == RestartCause::Timeout {
            self.state = State::default();
        }
        self.slow_start.on_restart(restart);
        self.window.on_restart(restart);
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
    }

    slow_start_reports!();

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("w_max_segments", self.state.w_max.map_or(f64::NAN, |segments| segments as f64));
        if let Some(epoch) = &self.state.epoch {
            record("k_s", epoch.k as f64 / SCALE as f64);
            record("w_est_segments", epoch.reno_cwnd as f64);
        }
    }
}

#[cfg(test)]
mod tests;
