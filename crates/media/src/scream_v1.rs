//! SCReAM of RFC 8298: a window that a queueing delay moves, and a rate that the sender's queue and the delay's trend move.
//!
//! Sources: RFC 8298, whose pseudo code was read as the first draft of its successor still has it
//! (draft-johansson-ccwg-rfc8298bis-screamv2-00); the constants, the trend and the measurement intervals as in
//! libtgvoip, which implements the RFC. In fast increase the window grows with what is acknowledged until the delay's
//! trend is 0.2 or more; then by LEDBAT's rule towards the target (RFC 6817). A loss leaves 0.8 of it, a mark 0.9, once
//! a round trip. Fast increase resumes after five seconds with a low trend. Each 200 ms the encoder's rate is adjusted;
//! a loss lowers it to 0.9 at once.
//!
//! Departures: clock drift is not compensated; the trend, which the RFC has updated on each report, is updated each 50 ms
//! (as libtgvoip); the window at the first report is the start rate's, and before it that of a round trip of 100 ms.
//!
//! The runs held to it are in docs/reference/laws.md.

use std::collections::VecDeque;

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::control::{Feedback, FrameEvent, Limits, RateController, SentEvent};
use crate::report::{ReportFormat, Reporting};
use crate::scream::competing::Competing;
use crate::scream::queue_delay::BaseDelay;

/// The reporting of RFC 8298 section 4.2.1: 20 ms for media of 500 kbit/s and more. Each report repeats the last 32
/// packets.
pub(crate) const REPORTING: Reporting = Reporting {
    format: ReportFormat::CongestionControl,
    interval: Some(SimDuration::from_millis(20)),
    packets: None,
    at_frame_ends: false,
    overlap: 32,
};

declare! {
    /// The parameters of [`ScreamV1`].
    #[derive(Copy)]
    pub struct ScreamV1Config {
        /// Target of the queueing delay (`QDELAY_TARGET_LO`).
        target: SimDuration = default(SimDuration::from_millis(100)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)).source("RFC 8298 section 4.1.1.1"),
        /// Largest target to which loss-based flows may raise it (`QDELAY_TARGET_HI`).
        highest_target: SimDuration = default(SimDuration::from_millis(400)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)).source("RFC 8298 section 4.1.1.1"),
        /// Raise the target where loss-based flows compete.
        competing: bool = true,
        /// Largest increase of the rate in a second (`RAMP_UP_SPEED`).
        ramp_up: Bandwidth = default(Bandwidth(200_000)).at_least(Bandwidth(1_000)).at_most(Bandwidth(1_000_000_000)).source("RFC 8298 section 4.1.1.1"),
        /// Fraction of the window kept on a loss (`BETA_LOSS`).
        beta_loss: f64 = default(0.8).above(0.0).below(1.0).source("RFC 8298 section 4.1.1.1"),
        /// Fraction of window and rate kept on a mark (`BETA_ECN`).
        beta_ecn: f64 = default(0.9).above(0.0).below(1.0).source("RFC 8298 section 4.1.1.1"),
    }
    check |config, review| {
        if config.highest_target < config.target {
            review.report("highest_target", "must be at least target", "use a larger highest_target");
        }
    };
}

const MSS: f64 = 1_000.0;
const MIN_CWND: f64 = 3_000.0;
const GAIN: f64 = 1.0;
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
const BETA_R: f64 = 0.9;
const QDELAY_WEIGHT: f64 = 0.1;
const QDELAY_TREND_TH: f64 = 0.2;
const QDELAY_TREND_LO: f64 = 0.2;
const PRE_CONGESTION_GUARD: f64 = 0.1;
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
const TARGET_RATE_SCALE_RTP_QDELAY: f64 = 0.95;
const RATE_PACE_MIN: f64 = 50_000.0;
/// Interval of rate adjustments, seconds.
const RATE_ADJUST_INTERVAL: f64 = 0.2;
const RTP_QDELAY_TH: f64 = 0.02;
const T_RESUME_FAST_INCREASE: f64 = 5.0;
const TREND_INTERVAL: f64 = 0.05;
/// Span of the largest number of octets in flight, seconds.
const IN_FLIGHT_SPAN: f64 = 5.0;
/// Number of media rates of which the median is taken, half a second each: ten seconds and more.
const MEDIA_RATES: usize = 21;
const MEDIA_SPAN: f64 = 0.5;
const FRACTIONS: usize = 20;
const RTT_GAIN: f64 = 1.0 / 8.0;
/// The round trip before the first sample, seconds.
const FIRST_RTT: f64 = 0.1;

/// The trend of the queueing delay: the correlation of its samples, times their average.
#[derive(Clone, Debug, Default)]
struct Trend {
    average: f64,
    fractions: VecDeque<f64>,
    now: f64,
    memory: f64,
    updated: f64,
    /// Time at which it was last above `QDELAY_TREND_LO`.
    last_high: f64,
}

impl Trend {
    fn update(&mut self, now: f64, fraction: f64) {
        if now - self.updated < TREND_INTERVAL {
            return;
        }
        self.updated = now;
        self.average = (1.0 - QDELAY_WEIGHT) * self.average + QDELAY_WEIGHT * fraction;
        self.fractions.push_back(fraction);
        if self.fractions.len() > FRACTIONS {
            self.fractions.pop_front();
        }
        self.now = (autocorrelation(&self.fractions) * self.average).clamp(0.0, 1.0);
        self.memory = self.now.max(0.99 * self.memory);
        if self.now > QDELAY_TREND_LO {
            self.last_high = now;
        }
    }
}

/// The autocorrelation R(1) / R(0); zero for constant values.
fn autocorrelation(values: &VecDeque<f64>) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (mut r0, mut r1, mut last) = (0.0, 0.0, 0.0);
    for value in values {
        let value = value - mean;
        r0 += value * value;
        r1 += value * last;
        last = value;
    }
    if r0 > 0.0 { r1 / r0 } else { 0.0 }
}

/// The sent, acknowledged and encoded rates, bit/s.
#[derive(Clone, Debug, Default)]
struct Rates {
    transmit: f64,
    ack: f64,
    media: f64,
    median: f64,
    sent: f64,
    acked: f64,
    encoded: f64,
    measured: f64,
    media_measured: f64,
    history: VecDeque<f64>,
}

impl Rates {
    fn measure(&mut self, now: f64) {
        let span = now - self.measured;
        if span >= RATE_ADJUST_INTERVAL {
            (self.transmit, self.ack) = (self.sent * 8.0 / span, self.acked * 8.0 / span);
            (self.sent, self.acked, self.measured) = (0.0, 0.0, now);
        }
    }

    fn encode(&mut self, now: f64, size: f64) {
        self.encoded += size;
        let span = now - self.media_measured;
        if span < MEDIA_SPAN {
            return;
        }
        self.media = self.encoded * 8.0 / span;
        (self.encoded, self.media_measured) = (0.0, now);
        self.history.push_back(self.media);
        if self.history.len() > MEDIA_RATES {
            self.history.pop_front();
        }
        let mut sorted: Vec<f64> = self.history.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        self.median = sorted[sorted.len() / 2];
    }

    fn current(&self) -> f64 {
        self.transmit.max(self.ack)
    }
}

/// SCReAM of RFC 8298. Times are in seconds, sizes in octets, rates in bit/s.
#[derive(Clone, Debug)]
pub struct ScreamV1 {
    config: ScreamV1Config,
    limits: Limits,
    cwnd: f64,
    s_rtt: Option<f64>,
    base: BaseDelay,
    qdelay: f64,
    trend: Trend,
    competing: Competing,
    in_fast_increase: bool,
    in_flight: f64,
    /// Octets in flight, each more than those after it.
    most_in_flight: VecDeque<(f64, f64)>,
    last_reaction: f64,
    rates: Rates,
    /// Bits in the sender's queue.
    queued: f64,
    target_rate: f64,
    last_max: f64,
    adjusted: f64,
}

impl ScreamV1 {
    pub(crate) fn new(config: ScreamV1Config, limits: Limits) -> Self {
        Self {
            config,
            limits,
            cwnd: MIN_CWND.max(limits.start.0 as f64 / 8.0 * FIRST_RTT),
            s_rtt: None,
            base: BaseDelay::default(),
            qdelay: 0.0,
            trend: Trend::default(),
            competing: Competing::new(config.target, config.highest_target),
            in_fast_increase: true,
            in_flight: 0.0,
            most_in_flight: VecDeque::new(),
            last_reaction: 0.0,
            rates: Rates::default(),
            queued: 0.0,
            target_rate: limits.start.0 as f64,
            last_max: 1.0,
            adjusted: 0.0,
        }
    }

    fn qdelay_target(&self) -> f64 {
        if self.config.competing { self.competing.target() } else { self.config.target.as_secs_f64() }
    }

    fn measure(&mut self, now: f64, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            let rtt = rtt.as_secs_f64();
            if self.s_rtt.is_none() {
                // The window of the start rate, where the RFC begins with the least.
                self.cwnd = MIN_CWND.max(self.limits.start.0 as f64 / 8.0 * rtt);
            }
            self.s_rtt = Some(self.s_rtt.map_or(rtt, |s_rtt| s_rtt + RTT_GAIN * (rtt - s_rtt)));
        }
        for (packet, at) in feedback.arrived() {
            self.qdelay = self.base.sample(packet.sent, at);
        }
        self.in_flight = feedback.in_flight.0 as f64;
        self.trend.update(now, self.qdelay / self.qdelay_target());
        self.rates.acked += feedback.advanced.0 as f64;
        self.rates.measure(now);
        if self.config.competing {
            self.competing.on_feedback(now, self.qdelay, feedback.lost() > 0, self.s_rtt.unwrap_or(FIRST_RTT));
        }
    }

    /// Answers a loss or a mark, at most once a round trip.
    fn react(&mut self, now: f64, window: f64, rate: f64) {
        if now - self.last_reaction <= self.s_rtt.unwrap_or(FIRST_RTT) {
            return;
        }
        self.last_reaction = now;
        self.in_fast_increase = false;
        self.trend.last_high = now;
        self.cwnd = (self.cwnd * window).max(MIN_CWND);
        self.last_max = self.target_rate;
        self.target_rate = self.limits.clamp(self.target_rate * rate);
        self.adjusted = now;
    }

    fn update_cwnd(&mut self, acked: f64) {
        if self.in_fast_increase && self.trend.now < QDELAY_TREND_TH {
            if self.in_flight * 1.5 + acked > self.cwnd {
                self.cwnd += acked;
            }
            return;
        }
        if self.in_fast_increase {
            self.in_fast_increase = false;
            self.last_max = self.target_rate;
        }
        let target = self.qdelay_target();
        let off_target = (target - self.qdelay) / target;
        let is_unused = off_target > 0.0 && self.in_flight * 1.25 + acked <= self.cwnd;
        if !is_unused {
            self.cwnd += GAIN * off_target * acked * MSS / self.cwnd;
        }
        let most = self.most_in_flight.front().map_or(self.cwnd, |most| most.1);
        self.cwnd = self.cwnd.min(most * MAX_BYTES_IN_FLIGHT_HEAD_ROOM).max(MIN_CWND);
    }

    fn adjust_rate(&mut self, now: f64) {
        if now - self.adjusted < RATE_ADJUST_INTERVAL {
            return;
        }
        self.adjusted = now;
        let ramp_up = (self.config.ramp_up.0 as f64).min(self.target_rate / 2.0) * RATE_ADJUST_INTERVAL;
        let apart = (self.target_rate - self.last_max) / self.last_max * 4.0;
        let scale = (apart * apart).clamp(0.2, 1.0);
        let current = self.rates.current();
        if self.in_fast_increase {
            self.target_rate += ramp_up * scale;
        } else {
            let delta = current * (1.0 - PRE_CONGESTION_GUARD * self.trend.now) - TX_QUEUE_SIZE_FACTOR * self.queued;
            self.target_rate += if delta > 0.0 { (delta * scale).min(ramp_up) } else { delta };
            if self.queued / current.max(1.0) > RTP_QDELAY_TH {
                self.target_rate *= TARGET_RATE_SCALE_RTP_QDELAY;
            }
        }
        let limit = current.max(self.rates.media).max(self.rates.median) * (2.0 - self.trend.memory);
        let limit = if limit > 0.0 { limit } else { f64::INFINITY }; // nothing has been measured
        self.target_rate = self.limits.clamp(self.target_rate.min(limit));
    }
}

impl RateController for ScreamV1 {
    fn on_sent(&mut self, sent: &SentEvent) {
        let (now, in_flight) = (sent.now.as_secs_f64(), sent.in_flight.0 as f64);
        self.rates.sent += sent.size.0 as f64;
        self.rates.measure(now);
        self.queued = (self.queued - sent.size.0 as f64 * 8.0).max(0.0);
        while self.most_in_flight.back().is_some_and(|(_, most)| *most <= in_flight) {
            self.most_in_flight.pop_back();
        }
        self.most_in_flight.push_back((now, in_flight));
        while self.most_in_flight.front().is_some_and(|(at, _)| now - at > IN_FLIGHT_SPAN) {
            self.most_in_flight.pop_front();
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now.as_secs_f64();
        self.measure(now, feedback);
        if feedback.lost() > 0 {
            self.react(now, self.config.beta_loss, BETA_R);
        } else if feedback.marked() > 0 {
            self.react(now, self.config.beta_ecn, self.config.beta_ecn);
        } else {
            self.update_cwnd(feedback.advanced.0 as f64);
            self.in_fast_increase |= now - self.trend.last_high >= T_RESUME_FAST_INCREASE;
        }
        self.adjust_rate(now);
    }

    fn on_frame(&mut self, frame: &FrameEvent) {
        self.rates.encode(frame.now.as_secs_f64(), frame.size.0 as f64);
        self.queued = (frame.queued + frame.size).0 as f64 * 8.0;
    }

    fn target_rate(&self) -> Bandwidth {
        Bandwidth(self.target_rate as u64)
    }

    fn pacing_rate(&self) -> Bandwidth {
        let rate = self.s_rtt.map_or(2.0 * self.target_rate, |s_rtt| self.cwnd * 8.0 / s_rtt);
        Bandwidth(rate.max(RATE_PACE_MIN) as u64)
    }

    fn window(&self) -> Option<Bytes> {
        let slack = if self.qdelay <= self.qdelay_target() { MSS } else { 0.0 };
        Some(Bytes((self.cwnd + slack) as u64))
    }
}

#[cfg(test)]
mod tests;
