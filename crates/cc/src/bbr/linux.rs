//! BBR as in Linux's module: the first version with the module's later additions, in whole segments and integers.
//!
//! Source: the behaviour of `tcp_bbr` in Linux 6.18, whose names are given. Beyond the draft of 2017 it allows for ACK
//! aggregation (`extra_acked`), paces one hundredth below its estimate and models policers (`lt_bw`). It rounds the
//! window up to an even number of segments, with two more while it probes, and estimates the segments in the network
//! when the next one leaves.
//!
//! Departures: an ACK that may have been delayed for a lone short segment is taken as any other; the clock of `ProbeRTT` is exact, where the kernel's ticks.
//! Octets are counted, where the kernel counts segments.
//!
//! Checked: a path of Linux 7.3.4 in virtual time, to the segment (studies/linux/recordings/modules/bbr.json).
//!
//! ECN is negotiated where it is enabled, and a mark changes nothing, as on Linux.

mod aggregation;
mod arithmetic;
mod max_filter;
mod policer;
mod window;

use ackclock_units::{Bandwidth, Bytes, RandomStream, SimDuration, SimTime};

use super::least_burst;
use super::v1::BbrConfig;
use crate::bursts::BurstRule;
use crate::controller::{CongestionController, Start};
use crate::delivery::{DeliveryReport, Demands, RateSample, Repair, SegmentReport};
use crate::event::{AckEvent, CongestionEvent, HandshakeEvent, RestartCause, RestartEvent, SendEvent};
use aggregation::Aggregation;
use arithmetic::{GAIN_UNIT, Segments, gain_of, microseconds, rate_of, whole_microseconds};
use max_filter::MaxFilter;
use policer::Policer;

/// `bbr_pacing_gain`, in 256ths: each phase of `ProbeBW`.
const CYCLE: [u64; 8] = [320, 192, 256, 256, 256, 256, 256, 256];

/// `bbr_full_bw_thresh`, in 256ths, and `bbr_full_bw_cnt`.
const MORE: u64 = 320;
const ROUNDS_WITHOUT_MORE: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Packet-timed rounds: each ends with the delivery of a segment that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// `rtt_cnt`, `round_start`, `next_rtt_delivered` in octets.
    count: u64,
    starts: bool,
    ends_at: u64,
}

/// BBR as in Linux's module. Source and departures: [`mod@crate::bbr::linux`].
#[derive(Clone, Debug)]
pub struct LinuxBbr {
    config: BbrConfig,
    segments: Segments,
    random: RandomStream,
    mode: Mode,
    high_gain: u64,
    pacing_gain: u64,
    cwnd_gain: u64,
    rounds: Rounds,
    /// `bw`: segments in a microsecond, times 2^24.
    bandwidth: MaxFilter,
    policer: Policer,
    aggregation: Aggregation,
    /// The minimum RTT and its time (`min_rtt_us`, `min_rtt_stamp`); the first is that of the handshake, and is dated then, or where that
    /// gave none when the first segment leaves.
    min_rtt: Option<u64>,
    min_rtt_at: Option<SimTime>,
    full_bandwidth_reached: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    /// The phase of `ProbeBW` and its beginning (`cycle_idx`, `cycle_mstamp`).
    phase: usize,
    phase_began: SimTime,
    /// The time of the latest delivery (`delivered_mstamp`). Phases and policer intervals begin and end at it, and not
    /// at ACKs that deliver nothing.
    delivered_at: SimTime,
    probe_rtt_until: Option<SimTime>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// The congestion window, segments.
    cwnd: u64,
    prior_cwnd: u64,
    initial_window: u64,
    ssthresh: Option<u64>,
    /// The ssthresh that an undo restores (`prior_ssthresh`); `u64::MAX` is infinite, as in Startup.
    prior_ssthresh: u64,
    /// `sk_pacing_rate`, octets a second.
    pacing_rate: u64,
    has_rtt: bool,
    /// The previous recovery state and its use (`prev_ca_state`, `packet_conservation`).
    repair: Repair,
    conserves: bool,
}

impl LinuxBbr {
    pub(crate) fn new(config: &BbrConfig, start: Start) -> Self {
        let segments = Segments(start.mss.0);
        let initial_window = segments.of(start.initial_window.0);
        let high_gain = gain_of(config.high_gain);
        Self {
            config: *config,
            segments,
            random: RandomStream::new(config.seed, "bbr"),
            mode: Mode::Startup,
            high_gain,
            pacing_gain: high_gain,
            cwnd_gain: high_gain,
            rounds: Rounds::default(),
            bandwidth: MaxFilter::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            min_rtt: None,
            min_rtt_at: None,
            full_bandwidth_reached: false,
            full_bandwidth: 0,
            full_rounds: 0,
            phase: 0,
            phase_began: SimTime::ZERO,
            delivered_at: SimTime::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cwnd: initial_window,
            prior_cwnd: 0,
            initial_window,
            ssthresh: start.ssthresh().map(|octets| segments.of(octets)),
            prior_ssthresh: 0,
            pacing_rate: segments.octets_per_second(rate_of(initial_window, 1_000), high_gain),
            has_rtt: false,
            repair: Repair::None,
            conserves: false,
        }
    }

    /// The estimated rate, or that of the policer, if there seems to be one (`bbr_bw`).
    fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or(self.bandwidth.greatest())
    }

    /// Updates the model from an ACK (`bbr_update_model`).
    fn update_model(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let valid = delivery.sample.filter(|sample| !sample.interval.is_zero());
        self.rounds.starts = false;
        if let Some(sample) = &valid {
            self.update_bandwidth(ack, delivery, sample);
            self.update_aggregation(ack);
        }
        self.update_cycle_phase(ack, delivery);
        self.check_full_pipe(valid.as_ref());
        self.check_drain(ack.now, delivery);
        self.update_min_rtt(ack, delivery);
        self.update_gains();
    }

    /// Updates the rate (`bbr_update_bw`). An application-limited sample counts only if it is greater.
    fn update_bandwidth(&mut self, ack: &AckEvent, delivery: &DeliveryReport, sample: &RateSample) {
        if sample.prior_delivered.0 >= self.rounds.ends_at {
            self.rounds = Rounds { count: self.rounds.count + 1, starts: true, ends_at: delivery.delivered.0 };
            self.conserves = false;
        }
        self.sample_policer(ack, delivery, sample.is_app_limited);
        let rate = rate_of(self.segments.of(sample.delivered.0), microseconds(sample.interval));
        if !sample.is_app_limited || rate >= self.bandwidth.greatest() {
            self.bandwidth.update(self.rounds.count, self.config.bandwidth_window, rate);
        }
    }

    fn sample_policer(&mut self, ack: &AckEvent, delivery: &DeliveryReport, is_app_limited: bool) {
        let at = policer::Moment {
            now: ack.now,
            delivered: self.segments.of(delivery.delivered.0),
            lost: self.segments.of(delivery.lost.0),
            has_lost: ack.lost_now().0 > 0,
            is_app_limited,
            round_starts: self.rounds.starts,
            probes_bandwidth: self.mode == Mode::ProbeBw,
        };
        self.consult_policer(&at);
    }

    fn consult_policer(&mut self, at: &policer::Moment) {
        let precise = |rate| self.segments.octets_per_second(rate, GAIN_UNIT);
        match self.policer.on_sample(at, precise) {
            policer::Verdict::Forgotten => self.enter_probe_bw(),
            policer::Verdict::Policed => self.pacing_gain = GAIN_UNIT,
            policer::Verdict::None => {}
        }
    }

    fn update_aggregation(&mut self, ack: &AckEvent) {
        let acked = self.segments.of(ack.newly_acked.0);
        if acked > 0 {
            self.aggregation.on_ack(self.delivered_at, acked, self.rounds.starts, self.rate(), self.cwnd);
        }
    }

    /// Begins the next phase of `ProbeBW` when it is due (`bbr_update_cycle_phase`, `bbr_is_next_cycle_phase`).
    fn update_cycle_phase(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let lasted = microseconds(self.delivered_at.saturating_since(self.phase_began));
        let is_full_length = self.min_rtt.is_some_and(|rtt| lasted > rtt);
        let rate = self.bandwidth.greatest();
        let is_over = if self.pacing_gain == GAIN_UNIT {
            is_full_length
        } else {
            let inflight = self.in_network_at_departure(self.segments.of(delivery.prior_inflight.0), ack.now, delivery);
            if self.pacing_gain > GAIN_UNIT {
                is_full_length && (ack.lost_now().0 > 0 || inflight >= self.inflight(rate, self.pacing_gain))
            } else {
                is_full_length || inflight <= self.inflight(rate, GAIN_UNIT)
            }
        };
        if is_over {
            self.advance_cycle_phase();
        }
    }

    fn advance_cycle_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = self.delivered_at;
    }

    /// Finds the pipe full after three rounds without a quarter more (`bbr_check_full_bw_reached`).
    fn check_full_pipe(&mut self, valid: Option<&RateSample>) {
        let is_app_limited = valid.is_some_and(|sample| sample.is_app_limited);
        if self.full_bandwidth_reached || !self.rounds.starts || is_app_limited {
            return;
        }
        if self.bandwidth.greatest() >= self.full_bandwidth * MORE / GAIN_UNIT {
            self.full_bandwidth = self.bandwidth.greatest();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full_bandwidth_reached = self.full_rounds >= ROUNDS_WITHOUT_MORE;
    }

    /// Enters and leaves Drain (`bbr_check_drain`).
    fn check_drain(&mut self, now: SimTime, delivery: &DeliveryReport) {
        let path_full = self.inflight(self.bandwidth.greatest(), GAIN_UNIT);
        if self.mode == Mode::Startup && self.full_bandwidth_reached {
            self.mode = Mode::Drain;
            self.ssthresh = Some(path_full);
        }
        let inflight = self.segments.of(delivery.inflight.0);
        if self.mode == Mode::Drain && self.in_network_at_departure(inflight, now, delivery) <= path_full {
            self.enter_probe_bw();
        }
    }

    /// Enters `ProbeBW` in any phase but the one that drains (`bbr_reset_probe_bw_mode`).
    fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let back = 1 + (self.random.uniform() * (CYCLE.len() - 1) as f64) as usize;
        self.phase = CYCLE.len() - back;
        self.advance_cycle_phase();
    }

    /// Updates the minimum RTT, and enters `ProbeRTT` when it expires (`bbr_update_min_rtt`).
    fn update_min_rtt(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let expired = self.min_rtt_at.is_some_and(|at| ack.now > at + self.config.min_rtt_window);
        let known = self.min_rtt.unwrap_or(microseconds(ack.rtt.min_rtt));
        self.min_rtt = (known > 0).then_some(known);
        if let Some(rtt) = ack.rtt_sample.map(microseconds)
            && (expired || rtt < known)
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), Some(ack.now));
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack.now, delivery);
        }
        if delivery.sample.is_some_and(|sample| sample.delivered.0 > 0) {
            self.idle_restart = false;
        }
    }

    /// Holds four segments in flight for at least 200 ms and a round.
    fn probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport) {
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round_done |= self.rounds.starts;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.segments.of(delivery.inflight.0) <= window::LEAST {
            self.probe_rtt_until = Some(now + self.config.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.rounds.ends_at = delivery.delivered.0;
        }
    }

    fn check_probe_rtt_done(&mut self, now: SimTime) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = Some(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bandwidth_reached {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Sets the gains of the present state (`bbr_update_gains`).
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (self.high_gain, self.high_gain),
            Mode::Drain => (GAIN_UNIT * GAIN_UNIT / self.high_gain, self.high_gain),
            Mode::ProbeBw => {
                let gain = if self.policer.rate().is_some() { GAIN_UNIT } else { CYCLE[self.phase] };
                (gain, gain_of(self.config.cwnd_gain))
            }
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    /// Initialises the pacing rate from the first RTT sample (`bbr_init_pacing_rate_from_rtt`).
    fn note_first_rtt(&mut self, srtt: SimDuration) {
        if !self.has_rtt && !srtt.is_zero() {
            self.has_rtt = true;
            let rate = rate_of(self.initial_window, microseconds(srtt).max(1));
            self.pacing_rate = self.segments.octets_per_second(rate, self.high_gain);
        }
    }

    /// Sets the pacing rate; before the pipe is full the rate only rises (`bbr_set_pacing_rate`).
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.segments.octets_per_second(self.rate(), gain);
        if self.full_bandwidth_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Takes a timeout for the end of a round, and for a loss (`bbr_set_state`).
    fn enter_loss(&mut self) {
        self.repair = Repair::Timeout;
        self.full_bandwidth = 0;
        let at = self.policer.at_timeout(self.delivered_at, self.mode == Mode::ProbeBw);
        self.consult_policer(&at);
    }
}

impl CongestionController for LinuxBbr {
    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.min_rtt_at = Some(handshake.now);
        self.note_first_rtt(handshake.srtt);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(delivery) = &ack.delivery else { return };
        self.note_first_rtt(ack.rtt.srtt);
        if ack.newly_acked > Bytes(0) {
            self.delivered_at = whole_microseconds(ack.now);
        }
        self.update_model(ack, delivery);
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(ack, delivery);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.is_repeated() {
            let most = self.ssthresh.unwrap_or(u64::MAX).max(self.cwnd / 2 + self.cwnd / 4);
            self.prior_ssthresh = if self.repair == Repair::None { most } else { 0 };
            self.save_cwnd();
        }
    }

    /// Restores ssthresh as the kernel does; the next ACK restores the window (`bbr_undo_cwnd`).
    fn on_spurious(&mut self, _now: SimTime) {
        self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.max(self.prior_ssthresh)).filter(|most| *most < u64::MAX);
        (self.full_bandwidth, self.full_rounds) = (0, 0);
        self.policer.reset(self.delivered_at);
    }

    /// Leaves the window as it is after idle time or little use, as Linux does for controllers that set their own.
    fn on_restart(&mut self, restart: &RestartEvent) {
        let window = self.segments.of(restart.window.0);
        match restart.cause {
            RestartCause::Timeout => {
                self.cwnd = window;
                self.enter_loss();
            }
            RestartCause::SynLost | RestartCause::Outer => self.cwnd = window,
            RestartCause::Idle | RestartCause::Unused => {}
        }
    }

    /// Restarts the model when sending resumes after the application was silent (`bbr_cwnd_event`).
    fn on_send(&mut self, sent: &SendEvent) {
        self.min_rtt_at.get_or_insert(sent.now);
        if !sent.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(whole_microseconds(sent.now));
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(GAIN_UNIT);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(sent.now);
        }
    }

    fn demands(&self) -> Demands {
        Demands { samples: true, recovery_window: true, marks: true, ..Demands::default() }
    }

    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.policer.on_delivered(self.segments.of(segment.delivered.0));
    }

    fn on_lost(&mut self, segment: &SegmentReport) {
        self.policer.on_lost(self.segments.of(segment.size.0));
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn keeps_window_on_send(&self) -> bool {
        true
    }

    fn cwnd(&self) -> Bytes {
        self.segments.octets(self.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(|ssthresh| self.segments.octets(ssthresh))
    }

    fn pacing_rate(&self) -> Option<Bandwidth> {
        Some(Bandwidth(self.pacing_rate * 8))
    }

    fn burst_rule(&self) -> BurstRule {
        least_burst(self.pacing_rate * 8)
    }

    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn state(&self) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.mode == Mode::Startup
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("bandwidth_bps", self.segments.bits_per_second(self.rate()));
        record("min_rtt_s", self.min_rtt.unwrap_or_default() as f64 / 1e6);
        record("pacing_gain", self.pacing_gain as f64 / GAIN_UNIT as f64);
        record("cwnd_gain", self.cwnd_gain as f64 / GAIN_UNIT as f64);
        record("extra_acked_segments", self.aggregation.extra() as f64);
        record("is_policed", f64::from(u8::from(self.policer.rate().is_some())));
        record("is_probing_rtt", f64::from(u8::from(self.mode == Mode::ProbeRtt)));
    }
}

#[cfg(test)]
mod tests;
