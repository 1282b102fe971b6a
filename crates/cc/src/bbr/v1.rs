//! BBR, the first version: paces at the greatest recent delivery rate, with about two bandwidth-delay products in
//! flight, and probes for more bandwidth and a shorter round trip from time to time.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 (2017), whose names are given; Cardwell, Cheng, Gunn, Hassas
//! Yeganeh, Jacobson, ACM Queue 14(5), 2016.
//!
//! Departures: the first window leaves at once and not paced, as Linux's does; segments are paced one by one unless the
//! host sends in bursts, so the send quantum only enlarges the window; the filter of the rate is exact; a timeout
//! leaves a segment beside what is still in the network, where the draft has nothing there. Later additions of Linux's
//! module are in [`LinuxBbr`].

use ackclock_declare::{declare, default, words};
use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

use super::filter::WindowedMax;
use super::{LinuxBbr, Rounds, bdp, initial_rate, least_burst, quantum};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::bursts::BurstRule;
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{DeliveryReport, Demands, Repair};
use crate::event::{AckEvent, CongestionEvent, HandshakeEvent, RestartCause, RestartEvent, SendEvent};

words! {
    /// The source of BBR's rules.
    #[derive(Default)]
    pub enum BbrVariant {
        /// The draft of 2017: [`Bbr`].
        #[default]
        "draft" = Draft,
        /// Linux's `tcp_bbr` module: [`LinuxBbr`](crate::LinuxBbr).
        "linux" = Linux,
    }
}

declare! {
    /// The parameters of [`Bbr`].
    #[derive(Copy)]
    pub struct BbrConfig {
        /// Source of the rules: the draft of 2017, or Linux's module, which allows for ACK aggregation and models
        /// policers.
        variant: BbrVariant = BbrVariant::Draft,
        /// Gain of rate and window in Startup, 2/ln 2; Drain paces at its inverse (`BBRHighGain`).
        high_gain: f64 = default(2.0 / std::f64::consts::LN_2).at_least(1.01).at_most(100.0),
        /// Window in `ProbeBW`, in estimated bandwidth-delay products.
        cwnd_gain: f64 = default(2.0).at_least(1.0).at_most(100.0),
        /// Round trips of the windowed maximum of the delivery rate (`BBRBtlBwFilterLen`).
        bandwidth_window: u64 = default(10).at_least(1).unit("round trips"),
        /// Lifetime of the minimum RTT, after which it is measured anew with four segments in flight
        /// (`RTpropFilterLen`).
        min_rtt_window: SimDuration = default(SimDuration::from_secs(10)).above(SimDuration::ZERO),
        /// Duration of the small window that measures the round trip.
        probe_rtt_duration: SimDuration = default(SimDuration::from_millis(200)).above(SimDuration::ZERO),
    }
    apart {
        /// Seed of the random stream that chooses the phase in which `ProbeBW` begins.
        seed: u64 = 0,
    }
    bases by variant: BbrVariant = BbrConfig::of;
}

impl BbrConfig {
    /// The parameters of a variant.
    fn of(variant: BbrVariant) -> Self {
        match variant {
            BbrVariant::Draft => Self::as_declared(),
            BbrVariant::Linux => Self::linux(),
        }
    }

    /// Linux's rules and its gain of Startup: 2885/1000 in 256ths, and one 256th more.
    pub fn linux() -> Self {
        Self { variant: BbrVariant::Linux, high_gain: 739.0 / 256.0, ..Self::as_declared() }
    }
}

impl Algorithm for BbrConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "paces at the greatest recent delivery rate, with two bandwidth-delay products in flight; losses change neither (BBRv1)",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5), 2016; the behaviour of Linux 6.18",
        departures: "no allowance for ACK aggregation and no model of policers, as in the draft; the first window is not paced, as in Linux; windowed maxima are exact; variant \"linux\": round trips of the handshake count from the first ACK of data, delayed ACKs are not recognised",
        stack: Stack { profile: "bbr", ..Stack::ANY },
        ..Name::called("bbr")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            BbrVariant::Draft => Controller::Bbr(Box::new(Bbr::new(self, start))),
            BbrVariant::Linux => Controller::LinuxBbr(Box::new(LinuxBbr::new(self, start))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Gains of the phases of `ProbeBW`, each about a round trip long.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The least window, in segments (`BBRMinPipeCwnd`).
const MIN_PIPE: u64 = 4;

/// BBR, version 1: paces at the greatest recent delivery rate and caps the flight size at a multiple of the
/// bandwidth-delay product. Source and departures: [`mod@crate::bbr::v1`].
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    mss: u64,
    initial_window: u64,
    random: RandomStream,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    rounds: Rounds,
    /// The estimated rate `BtlBw`, bit/s, and the filter of its samples.
    bandwidth: u64,
    bandwidth_filter: WindowedMax,
    /// The minimum RTT `RTprop`, and the time of its measurement.
    min_rtt: Option<SimDuration>,
    min_rtt_at: SimTime,
    /// True once the pipe has been filled; the rate that would disprove it, and the rounds without that rate.
    filled_pipe: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    /// The phase of `ProbeBW` and its beginning (`cycle_index`, `cycle_stamp`).
    phase: usize,
    phase_began: SimTime,
    /// The end of `ProbeRTT` by time and by rounds (`probe_rtt_done_stamp`, `probe_rtt_round_done`).
    probe_rtt_until: Option<SimTime>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: u64,
    has_rtt: bool,
    repair: Repair,
    /// True in the first round of a recovery, in which one segment leaves for each delivered.
    conserves: bool,
}

impl Bbr {
    pub(crate) fn new(config: &BbrConfig, start: Start) -> Self {
        let window = start.initial_window.0;
        Self {
            config: *config,
            mss: start.mss.0,
            initial_window: window,
            random: RandomStream::new(config.seed, "bbr"),
            state: State::Startup,
            pacing_gain: config.high_gain,
            cwnd_gain: config.high_gain,
            rounds: Rounds::default(),
            bandwidth: 0,
            bandwidth_filter: WindowedMax::default(),
            min_rtt: None,
            min_rtt_at: SimTime::ZERO,
            filled_pipe: false,
            full_bandwidth: 0,
            full_rounds: 0,
            phase: 0,
            phase_began: SimTime::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cwnd: window,
            prior_cwnd: 0,
            pacing_rate: initial_rate(window, SimDuration::ZERO, config.high_gain),
            has_rtt: false,
            repair: Repair::None,
            conserves: false,
        }
    }

    fn update_model_and_state(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        self.update_bandwidth(delivery);
        self.check_cycle_phase(ack, delivery);
        self.check_full_pipe(delivery);
        self.check_drain(ack.now, delivery);
        let expired = self.update_min_rtt(ack);
        self.check_probe_rtt(ack.now, delivery, expired);
    }

    /// Updates the rate (`BBRUpdateBtlBw`). An application-limited sample counts only if it is greater.
    fn update_bandwidth(&mut self, delivery: &DeliveryReport) {
        let Some(sample) = delivery.sample else {
            self.rounds.starts = false;
            return;
        };
        self.rounds.on_ack(sample.prior_delivered.0, delivery.delivered.0);
        if let Some(Bandwidth(rate)) = sample.rate()
            && (rate >= self.bandwidth || !sample.is_app_limited)
        {
            let window = self.config.bandwidth_window;
            self.bandwidth = self.bandwidth_filter.update(self.rounds.count, window, rate);
        }
    }

    /// Begins the next phase of `ProbeBW` when it is due (`BBRCheckCyclePhase`, `BBRIsNextCyclePhase`).
    fn check_cycle_phase(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        if self.state != State::ProbeBw {
            return;
        }
        let is_full_length = self.min_rtt.is_none_or(|rtt| ack.now.saturating_since(self.phase_began) > rtt);
        let is_over = if self.pacing_gain > 1.0 {
            is_full_length && (ack.lost_now().0 > 0 || delivery.prior_inflight.0 >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            is_full_length || delivery.prior_inflight.0 <= self.inflight(1.0)
        } else {
            is_full_length
        };
        if is_over {
            self.advance_cycle_phase(ack.now);
        }
    }

    fn advance_cycle_phase(&mut self, now: SimTime) {
        self.phase_began = now;
        self.phase = (self.phase + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.phase];
    }

    /// Finds the pipe full after three rounds without a quarter more (`BBRCheckFullPipe`).
    fn check_full_pipe(&mut self, delivery: &DeliveryReport) {
        let is_app_limited = delivery.sample.is_none_or(|sample| sample.is_app_limited);
        if self.filled_pipe || !self.rounds.starts || is_app_limited {
            return;
        }
        if self.bandwidth as f64 >= self.full_bandwidth as f64 * 1.25 {
            self.full_bandwidth = self.bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= 3;
    }

    fn check_drain(&mut self, now: SimTime, delivery: &DeliveryReport) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
            self.pacing_gain = 1.0 / self.config.high_gain;
            self.cwnd_gain = self.config.high_gain;
        }
        if self.state == State::Drain && delivery.inflight.0 <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// Begins `ProbeBW` in any phase but the one that drains, which would have nothing to drain.
    fn enter_probe_bw(&mut self, now: SimTime) {
        self.state = State::ProbeBw;
        self.cwnd_gain = self.config.cwnd_gain;
        let back = 1 + (self.random.uniform() * (CYCLE.len() - 1) as f64) as usize;
        self.phase = CYCLE.len() - back;
        self.advance_cycle_phase(now);
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
        (self.pacing_gain, self.cwnd_gain) = (self.config.high_gain, self.config.high_gain);
    }

    /// Updates the minimum RTT; returns true if the old one had expired (`BBRUpdateRTprop`).
    fn update_min_rtt(&mut self, ack: &AckEvent) -> bool {
        let expired = self.min_rtt.is_some() && ack.now > self.min_rtt_at + self.config.min_rtt_window;
        if let Some(rtt) = ack.rtt_sample
            && (expired || self.min_rtt.is_none_or(|least| rtt <= least))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        expired
    }

    fn check_probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport, expired: bool) {
        if self.state != State::ProbeRtt && expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.probe_rtt_until = None;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now, delivery);
        }
        self.idle_restart = false;
    }

    /// Holds four segments in flight for a while, and for at least a round.
    fn handle_probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport) {
        match self.probe_rtt_until {
            None if delivery.inflight.0 <= self.min_pipe() => {
                self.probe_rtt_until = Some(now + self.config.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.rounds.restart(delivery.delivered.0);
            }
            None => {}
            Some(until) => {
                self.probe_rtt_round_done |= self.rounds.starts;
                if self.probe_rtt_round_done && now > until {
                    self.min_rtt_at = now;
                    self.restore_cwnd();
                    if self.filled_pipe { self.enter_probe_bw(now) } else { self.enter_startup() }
                }
            }
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = (gain * self.bandwidth as f64) as u64;
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The window for `gain` bandwidth-delay products, and an allowance for offload at both ends (`BBRInflight`).
    fn inflight(&self, gain: f64) -> u64 {
        let Some(rtt) = self.min_rtt else { return self.initial_window };
        bdp(self.bandwidth, rtt, gain) + 3 * self.send_quantum()
    }

    fn send_quantum(&self) -> u64 {
        match self.pacing_rate {
            ..1_200_000 => self.mss,
            1_200_000..24_000_000 => 2 * self.mss,
            rate => quantum(rate, SimDuration::from_millis(1), 0, 65_536),
        }
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    /// Sets the window on an ACK (`BBRSetCwnd`).
    fn set_window(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let target = self.inflight(self.cwnd_gain);
        let acked = ack.newly_acked.0;
        self.modulate_for_recovery(ack, delivery);
        if !self.conserves {
            if self.filled_pipe {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || delivery.delivered.0 < self.initial_window {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(self.min_pipe());
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_pipe());
        }
    }

    /// Adjusts the window at the beginning, during and at the end of a recovery (`BBRModulateCwndForRecovery`).
    fn modulate_for_recovery(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let held = delivery.inflight.0 + ack.newly_acked.0.max(self.mss);
        if delivery.repair == Repair::Fast && self.repair != Repair::Fast {
            self.save_cwnd();
            self.conserves = true;
            self.rounds.restart(delivery.delivered.0);
            self.cwnd = held;
        } else if delivery.repair == Repair::None && self.repair != Repair::None {
            self.conserves = false;
            self.restore_cwnd();
        } else if self.rounds.starts {
            self.conserves = false;
        }
        self.repair = delivery.repair;
        self.cwnd = self.cwnd.saturating_sub(ack.lost_now().0).max(self.mss);
        if self.conserves {
            self.cwnd = self.cwnd.max(held);
        }
    }

    /// Answers a timeout, within an episode or not: one segment may leave.
    fn enter_loss(&mut self, window: u64) {
        self.save_cwnd();
        self.repair = Repair::Timeout;
        self.conserves = false;
        self.cwnd = window;
    }

    fn save_cwnd(&mut self) {
        let is_plain = self.repair == Repair::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_plain { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Takes the first RTT sample, which replaces the assumed round trip in the initial rate.
    fn note_first_rtt(&mut self, srtt: SimDuration) {
        if !self.has_rtt && !srtt.is_zero() {
            self.has_rtt = true;
            self.pacing_rate = initial_rate(self.initial_window, srtt, self.config.high_gain);
        }
    }
}

impl CongestionController for Bbr {
    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.note_first_rtt(handshake.srtt);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(delivery) = &ack.delivery else { return };
        self.note_first_rtt(ack.rtt.srtt);
        self.update_model_and_state(ack, delivery);
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(ack, delivery);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.is_timeout() {
            self.enter_loss(event.inflight.0 + self.mss);
        }
    }

    /// Leaves the window as it is after idle time or little use.
    fn on_restart(&mut self, restart: &RestartEvent) {
        match restart.cause {
            RestartCause::Timeout => self.enter_loss(restart.window.0),
            RestartCause::SynLost | RestartCause::Outer => self.cwnd = restart.window.0,
            RestartCause::Idle | RestartCause::Unused => {}
        }
    }

    fn on_spurious(&mut self, _now: SimTime) {
        self.conserves = false;
        self.restore_cwnd();
    }

    /// Restarts the model when sending resumes (`BBRHandleRestartFromIdle`).
    fn on_send(&mut self, sent: &SendEvent) {
        if sent.is_app_limited && self.has_rtt {
            self.idle_restart = true;
            if self.state == State::ProbeBw {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, no_ecn: true, ..Demands::default() }
    }

    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn state(&self) -> &'static str {
        match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBw => "probe_bw",
            State::ProbeRtt => "probe_rtt",
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        Some(Bandwidth(self.pacing_rate))
    }

    fn burst_rule(&self) -> BurstRule {
        least_burst(self.pacing_rate)
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("bandwidth_bps", self.bandwidth as f64);
        record("min_rtt_s", self.min_rtt.unwrap_or_default().as_secs_f64());
        record("pacing_gain", self.pacing_gain);
        record("cwnd_gain", self.cwnd_gain);
        record("is_probing_rtt", f64::from(u8::from(self.state == State::ProbeRtt)));
    }
}

#[cfg(test)]
mod tests;
