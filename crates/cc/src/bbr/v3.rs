//! BBR, the third version: the first with losses in the model, which bound the flight size.
//!
//! Source: draft-ietf-ccwg-bbr, the working group's copy of 2025 (`inflight_longterm` was `inflight_hi` before,
//! `bw_shortterm` `bw_lo`), whose names are given.
//!
//! The round trip is measured every 5 s, with a filter of 5 s for the time and one of 10 s for the value, as in
//! revision 05 and in Google's third version (`bbr_probe_rtt_win_ms`). The working group's copy has since gone over to
//! one filter of 10 s, and keeps the window of a measurement as it was at its beginning: neither is here
//! (`probe_rtt_interval`).
//!
//! Departures: the first window leaves at once and not paced, as Linux's does; segments are paced one by one, so the
//! send quantum only enlarges the window, by three of them over QUIC, too; windowed maxima are exact. The state that a
//! spurious recovery restores is saved once, before its first loss changes anything, as the text says; the pseudo-code
//! saves it again when the recovery begins and in each round trip of it. ECN has no part in the draft: data is not
//! ECN-capable.

mod congestion;
mod control;
mod probe_bw;
mod probe_rtt;

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

use super::filter::WindowedMax;
use super::{Rounds, initial_rate};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{CongestionController, Controller, Start};
use crate::delivery::{DeliveryReport, Demands, RateSample, Repair, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, HandshakeEvent, RestartCause, RestartEvent, SendEvent};
use congestion::{Latest, Undo};
use probe_bw::ProbeBw;
use probe_rtt::ProbeRtt;

declare! {
    /// The parameters of [`Bbr3`].
    #[derive(Copy)]
    pub struct Bbr3Config {
        /// Gain of the rate in Startup, 4 ln 2 (`StartupPacingGain`).
        startup_gain: f64 = default(4.0 * std::f64::consts::LN_2).at_least(1.01).at_most(100.0),
        /// Lost fraction of a round trip's data from which the flight size counts as too large (`LossThresh`).
        loss_threshold: f64 = default(0.02).above(0.0).below(1.0),
        /// Fraction of rate and window that remains at least after a round trip with losses (`Beta`).
        beta: f64 = default(0.7).above(0.0).below(1.0),
        /// Fraction of the long-term limit left free while cruising (`Headroom`).
        headroom: f64 = default(0.15).above(0.0).below(1.0),
        /// Time without a shorter round trip after which it is measured anew, with half a bandwidth-delay product in flight
        /// (`ProbeRTTInterval`).
        probe_rtt_interval: SimDuration = default(SimDuration::from_secs(5)).above(SimDuration::ZERO),
        /// Duration of the small window that measures the round trip.
        probe_rtt_duration: SimDuration = default(SimDuration::from_millis(200)).above(SimDuration::ZERO),
    }
    apart {
        /// Seed of the random stream that times the probes for bandwidth.
        seed: u64 = 0,
    }
}

impl Algorithm for Bbr3Config {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "BBR with losses in its model, which bound the flight size",
        source: "draft-ietf-ccwg-bbr, the working group's copy of 2025",
        departures: "the first window is not paced, as in Linux; segments are paced singly; windowed maxima are exact",
        ..Name::called("bbr3")
    }];

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&self, start: Start) -> Controller {
        Controller::Bbr3(Box::new(Bbr3::new(self, start)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// True in the states that accelerate to probe for bandwidth (`IsProbingBW`).
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// The value of an absent bound.
const UNBOUNDED: u64 = u64::MAX;

/// The least window, in segments (`MinPipeCwnd`).
const MIN_PIPE: u64 = 4;

/// The estimator of a full pipe.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    /// True once the pipe has been full (`full_bw_reached`).
    reached: bool,
    /// True if the pipe is full since the last reset of the estimator (`full_bw_now`).
    now: bool,
    /// The rate to exceed, bit/s (`full_bw`).
    bandwidth: u64,
    /// The rounds without growth of the rate (`full_bw_count`).
    rounds: u32,
}

impl FullPipe {
    fn reset(&mut self, bandwidth: u64) {
        *self = Self { reached: self.reached, now: false, bandwidth, rounds: 0 };
    }
}

/// ACK aggregation: acknowledged data in excess of the expected amount (`extra_acked`).
#[derive(Clone, Debug, Default)]
struct Aggregation {
    since: SimTime,
    delivered: u64,
    filter: WindowedMax,
    extra: u64,
}

/// BBR, version 3: [`Bbr`](crate::Bbr) with losses that bound the flight size. Source and departures:
/// [`mod@crate::bbr::v3`].
#[derive(Clone, Debug)]
pub struct Bbr3 {
    config: Bbr3Config,
    mss: u64,
    initial_window: u64,
    random: RandomStream,
    state: State,
    rounds: Rounds,
    drain_start_round: u64,
    /// The greatest rate and the rate in use, bit/s (`max_bw`, `bw`).
    max_bandwidth: u64,
    bandwidth: u64,
    bandwidth_filter: WindowedMax,
    cycles: u64,
    full_pipe: FullPipe,
    aggregation: Aggregation,
    latest: Latest,
    undo: Undo,
    /// The short-term and long-term bounds (`bw_shortterm`, `inflight_shortterm`, `inflight_longterm`).
    bandwidth_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    probe_bw: ProbeBw,
    probe_rtt: ProbeRtt,
    idle_restart: bool,
    /// True if the window was full in the present round or in the last.
    fills_window: bool,
    filled_window: bool,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: u64,
    has_rtt: bool,
    has_sack: bool,
    repair: Repair,
    /// The octets delivered so far (`C.delivered`).
    delivered: u64,
}

impl Bbr3 {
    pub(crate) fn new(config: &Bbr3Config, start: Start) -> Self {
        let window = start.initial_window.0;
        Self {
            config: *config,
            mss: start.mss.0,
            initial_window: window,
            random: RandomStream::new(config.seed, "bbr3"),
            state: State::Startup,
            rounds: Rounds::default(),
            drain_start_round: 0,
            max_bandwidth: 0,
            bandwidth: 0,
            bandwidth_filter: WindowedMax::default(),
            cycles: 0,
            full_pipe: FullPipe::default(),
            aggregation: Aggregation::default(),
            latest: Latest::default(),
            undo: Undo::default(),
            bandwidth_shortterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            inflight_longterm: UNBOUNDED,
            probe_bw: ProbeBw::default(),
            probe_rtt: ProbeRtt::default(),
            idle_restart: false,
            fills_window: false,
            filled_window: false,
            cwnd: window,
            prior_cwnd: 0,
            pacing_rate: initial_rate(window, SimDuration::ZERO, config.startup_gain),
            has_rtt: false,
            has_sack: true,
            repair: Repair::None,
            delivered: 0,
        }
    }

    /// Updates the model and the state from an ACK (`UpdateModelAndState`).
    fn update_model_and_state(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let sample = delivery.sample.unwrap_or_default();
        let loss_round_ends = self.update_latest_signals(delivery);
        self.update_bandwidth(delivery);
        let ranges = self.update_congestion_signals(loss_round_ends);
        self.note_use_of_window(delivery);
        self.update_aggregation(ack);
        self.check_full_pipe(&sample);
        self.check_startup_done(&sample, loss_round_ends.then_some(ranges), delivery);
        self.check_drain_done(ack.now, delivery);
        self.update_probe_bw(ack, delivery, &sample);
        let expired = self.update_min_rtt(ack);
        self.check_probe_rtt(ack.now, delivery, expired);
        if loss_round_ends {
            self.latest.restart(&sample);
        }
        self.bandwidth = self.max_bandwidth.min(self.bandwidth_shortterm);
    }

    /// Updates the round and the greatest rate (`UpdateMaxBw`, `UpdateRound`).
    fn update_bandwidth(&mut self, delivery: &DeliveryReport) {
        let Some(sample) = delivery.sample else {
            self.rounds.starts = false;
            return;
        };
        self.rounds.on_ack(sample.prior_delivered.0, delivery.delivered.0);
        self.probe_bw.rounds_since_up += u64::from(self.rounds.starts);
        if let Some(Bandwidth(rate)) = sample.rate()
            && (rate >= self.max_bandwidth || !sample.is_app_limited)
        {
            const CYCLES: u64 = 2; // MaxBwFilterLen
            self.max_bandwidth = self.bandwidth_filter.update(self.cycles, CYCLES, rate);
        }
    }

    /// Records whether the window was full at some moment of this round or the last (`C.is_cwnd_limited`).
    fn note_use_of_window(&mut self, delivery: &DeliveryReport) {
        if self.rounds.starts {
            self.filled_window = std::mem::take(&mut self.fills_window);
        }
        self.fills_window |= delivery.prior_inflight.0 + self.mss > self.cwnd;
    }

    fn is_cwnd_limited(&self) -> bool {
        self.fills_window || self.filled_window
    }

    /// Updates the estimate of ACK aggregation (`UpdateACKAggregation`).
    fn update_aggregation(&mut self, ack: &AckEvent) {
        const ROUNDS: u64 = 10; // ExtraAckedFilterLen
        let rounds = if self.full_pipe.reached { ROUNDS } else { 1 };
        let seen = &mut self.aggregation;
        let mut expected = Bandwidth(self.bandwidth).bytes_in(ack.now.saturating_since(seen.since)).0;
        if seen.delivered <= expected {
            (seen.since, seen.delivered, expected) = (ack.now, 0, 0);
        }
        seen.delivered += ack.newly_acked.0;
        let extra = (seen.delivered - expected).min(self.cwnd);
        seen.extra = seen.filter.update(self.rounds.count, rounds, extra);
    }

    /// Finds the pipe full after three rounds without a quarter more (`CheckFullBWReached`).
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.full_pipe.now || !self.rounds.starts || sample.is_app_limited {
            return;
        }
        let rate = sample.rate().unwrap_or_default().0;
        if rate as f64 >= self.full_pipe.bandwidth as f64 * 1.25 {
            self.full_pipe.reset(rate);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= 3;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// Leaves Startup when the pipe is full or losses are high (`CheckStartupDone`). `lost_ranges` are those of the
    /// round that this ACK ends, if it ends one.
    fn check_startup_done(&mut self, sample: &RateSample, lost_ranges: Option<u32>, delivery: &DeliveryReport) {
        if self.state != State::Startup {
            return;
        }
        if let Some(ranges) = lost_ranges {
            self.check_startup_loss(sample, ranges, delivery);
        }
        if self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// Finds the pipe full by the losses of a round of Startup (`CheckStartupHighLoss`).
    fn check_startup_loss(&mut self, sample: &RateSample, ranges: u32, delivery: &DeliveryReport) {
        const LEAST_RANGES: u32 = 6; // BBRStartupFullLossCnt
        let is_much = if self.has_sack { ranges >= LEAST_RANGES } else { ranges > 0 };
        if delivery.repair == Repair::Fast && is_much && self.is_too_high(sample) {
            self.undo.state = Some(State::Startup);
            self.full_pipe.reached = true;
            self.inflight_longterm = self.bdp(1.0).max(self.latest.inflight);
        }
    }

    fn check_drain_done(&mut self, now: SimTime, delivery: &DeliveryReport) {
        const LONGEST: u64 = 3;
        if self.state == State::Drain
            && (delivery.inflight.0 <= self.inflight(self.bandwidth, 1.0)
                || self.rounds.count > self.drain_start_round + LONGEST)
        {
            self.start_down(now);
        }
    }

    /// Answers the beginning and the end of a recovery (`OnEnterFastRecovery`).
    fn note_repair(&mut self, repair: Repair) {
        if repair == Repair::Fast && self.repair != Repair::Fast {
            self.save_upon_loss();
        } else if repair == Repair::None && self.repair != Repair::None {
            self.restore_cwnd();
        }
        self.undo.is_saved &= repair != Repair::None;
        self.repair = repair;
    }

    /// Answers a timeout, within an episode or not (`OnEnterRTO`).
    fn enter_loss(&mut self, window: u64) {
        self.save_upon_loss();
        self.repair = Repair::Timeout;
        self.cwnd = window;
    }

    /// Takes the first RTT sample, which replaces the assumed round trip in the initial rate.
    fn note_first_rtt(&mut self, srtt: SimDuration) {
        if !self.has_rtt && !srtt.is_zero() {
            self.has_rtt = true;
            self.pacing_rate = initial_rate(self.initial_window, srtt, self.config.startup_gain);
        }
    }
}

impl CongestionController for Bbr3 {
    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.note_first_rtt(handshake.srtt);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(delivery) = &ack.delivery else { return };
        self.note_first_rtt(ack.rtt.srtt);
        self.has_sack = delivery.has_sack;
        self.delivered = delivery.delivered.0;
        self.note_repair(delivery.repair);
        self.update_model_and_state(ack, delivery);
        self.set_pacing_rate(self.pacing_gain());
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
        self.undo_loss();
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.on_lost_segment(segment);
    }

    /// Restarts the model when sending resumes (`HandleRestartFromIdle`).
    fn on_send(&mut self, sent: &SendEvent) {
        if !sent.is_app_limited || !self.has_rtt {
            return;
        }
        self.idle_restart = true;
        self.aggregation.since = sent.now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sent.now);
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
            State::Down => "probe_bw_down",
            State::Cruise => "probe_bw_cruise",
            State::Refill => "probe_bw_refill",
            State::Up => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        Some(Bandwidth(self.pacing_rate))
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let bound = |value: u64| if value == UNBOUNDED { f64::INFINITY } else { value as f64 };
        record("bandwidth_bps", self.bandwidth as f64);
        record("max_bandwidth_bps", self.max_bandwidth as f64);
        record("min_rtt_s", self.probe_rtt.min_rtt.unwrap_or_default().as_secs_f64());
        record("inflight_longterm_bytes", bound(self.inflight_longterm));
        record("inflight_shortterm_bytes", bound(self.inflight_shortterm));
        record("pacing_gain", self.pacing_gain());
        record("is_probing_rtt", f64::from(u8::from(self.state == State::ProbeRtt)));
    }
}

#[cfg(test)]
mod tests;
