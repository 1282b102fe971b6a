//! SCReAM version 2: self-clocked rate adaptation for multimedia.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, after its change -01, each constant with the name and the value that it
//! has there. A reference window bounds, with slack, the octets in flight. It falls on a loss, on marks, and when the
//! averaged queueing delay ([`queue_delay`]) is above half of its target, by a part that grows with the delay up to one
//! half, as if marks of L4S had come; it grows by a segment a round trip, and by a part of itself long after
//! congestion, less where it was when that last came. The encoder's rate is window / round trip, less a share that
//! keeps the sender's queue short. The delay's target rises where loss-based flows fill the queue ([`competing`]).
//!
//! Where version 1 ([`crate::scream_v1`]) differs: no fast increase, marks in proportion, the rate from the window alone, bytes in
//! flight beyond the window, a target of 60 and not 100 ms, relaxed pacing near the largest rate.
//!
//! Departures: every loss counts (the draft's threshold for link-layer losses and its limit for policers are optional); clock drift is
//! not compensated, since clocks here do not drift; the averaging of the acknowledged rate, which the draft leaves open, is over
//! the longer of a round trip and two frames; the window begins with that of the start rate (the draft: with its least one); the restriction of the window by a history at the largest rate is left to the rule that it
//! does not grow there.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::control::{Feedback, FrameEvent, Limits, RateController, SentEvent};
use crate::report::{ReportFormat, Reporting};

pub mod acked_rate;
pub mod competing;
pub mod queue_delay;

use acked_rate::AckedRate;
use competing::Competing;
use queue_delay::{BaseDelay, DelayAverage};

/// The reporting of the draft: RFC 8888, with each frame, after 16 packets, after 40 ms. It repeats the last 32
/// packets, as the authors' code does.
pub(crate) const REPORTING: Reporting = Reporting {
    format: ReportFormat::CongestionControl,
    interval: Some(SimDuration::from_millis(40)),
    packets: Some(16),
    at_frame_ends: true,
    overlap: 32,
};

declare! {
    /// The parameters of [`Scream`].
    #[derive(Copy)]
    pub struct ScreamConfig {
        /// Target of the queueing delay (`QDELAY_TARGET_LO`).
        target: SimDuration = default(SimDuration::from_millis(60)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)).source("the draft"),
        /// Largest target to which loss-based flows may raise it (`QDELAY_TARGET_HI`).
        highest_target: SimDuration = default(SimDuration::from_millis(400)).above(SimDuration::ZERO).at_most(SimDuration::from_secs(10)).source("the draft"),
        /// Raise the target where loss-based flows compete.
        competing: bool = true,
        /// Fraction of the window kept on a loss (`BETA_LOSS`).
        beta_loss: f64 = default(0.7).above(0.0).below(1.0).source("the draft"),
        /// Fraction of the window kept on marks of classic ECN (`BETA_ECN`).
        beta_ecn: f64 = default(0.8).above(0.0).below(1.0).source("the draft"),
        /// Reduce reactions and growth where the delay varies (`REDUCE_JITTER`).
        reduce_jitter: bool = false,
    }
    check |config, review| {
        if config.highest_target < config.target {
            review.report("highest_target", "must be at least target", "use a larger highest_target");
        }
    };
}

const MSS: f64 = 1_000.0;
const MIN_REF_WND: f64 = 3_000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
/// Round trip to which growth is scaled, seconds.
const VIRTUAL_RTT: f64 = 0.025;
const ACKED_BITRATE_MARGIN: f64 = 0.8;
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const REF_WND_OVERHEAD_MIN: f64 = 1.5;
const REF_WND_OVERHEAD_MAX: f64 = 3.0;
const RATE_PACE_MIN: f64 = 50_000.0;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// The gain of the smoothed round trip in RFC 6298.
const RTT_GAIN: f64 = 1.0 / 8.0;

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Congestion {
    Loss,
    Marks,
    /// The queueing delay, with the fraction of a reaction that it causes.
    Delay(f64),
}

/// State of the current round and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    most: f64,
    before: f64,
    began: f64,
}

impl Rounds {
    fn on_in_flight(&mut self, now: f64, in_flight: f64, s_rtt: f64) {
        if now - self.began >= s_rtt {
            (self.before, self.most, self.began) = (self.most, 0.0, now);
        }
        self.most = self.most.max(in_flight);
    }
}

/// Marks, and their averaged fraction.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    alpha: f64,
    delivered: f64,
    marked: f64,
    updated: f64,
}

impl Marks {
    fn on_feedback(&mut self, now: f64, delivered: usize, marked: usize, s_rtt: f64) {
        (self.delivered, self.marked) = (self.delivered + delivered as f64, self.marked + marked as f64);
        if now - self.updated < s_rtt.min(0.01) || self.delivered == 0.0 {
            return;
        }
        let fraction = self.marked / self.delivered;
        self.alpha = if fraction >= self.alpha {
            L4S_AVG_G_UP * fraction + (1.0 - L4S_AVG_G_UP) * self.alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.alpha
        };
        (self.delivered, self.marked, self.updated) = (0.0, 0.0, now);
    }
}

/// SCReAM version 2. Times are in seconds, sizes in octets, rates in bit/s.
#[derive(Clone, Debug)]
pub struct Scream {
    config: ScreamConfig,
    limits: Limits,
    ref_wnd: f64,
    /// Window at the last congestion (`ref_wnd_i`).
    inflection: f64,
    inflection_set: f64,
    s_rtt: f64,
    base: BaseDelay,
    qdelay: f64,
    delay: DelayAverage,
    competing: Competing,
    marks: Marks,
    rounds: Rounds,
    acked: AckedRate,
    /// Losses and marks since the last reaction.
    has_lost: bool,
    is_marked: bool,
    last_detected: f64,
    last_reaction: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
    target_rate: f64,
}

impl Scream {
    pub(crate) fn new(config: ScreamConfig, limits: Limits) -> Self {
        let s_rtt = 0.1; // until the first report
        Self {
            config,
            limits,
            ref_wnd: MIN_REF_WND.max(limits.start.0 as f64 / 8.0 * s_rtt),
            inflection: 1.0,
            inflection_set: 0.0,
            s_rtt,
            base: BaseDelay::default(),
            qdelay: 0.0,
            delay: DelayAverage::new(config.target.as_secs_f64(), config.reduce_jitter),
            competing: Competing::new(config.target, config.highest_target),
            marks: Marks::default(),
            rounds: Rounds::default(),
            acked: AckedRate::default(),
            has_lost: false,
            is_marked: false,
            last_detected: 0.0,
            last_reaction: 0.0,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
            target_rate: limits.start.0 as f64,
        }
    }

    /// The present target of the queueing delay.
    fn qdelay_target(&self) -> f64 {
        if self.config.competing { self.competing.target() } else { self.config.target.as_secs_f64() }
    }

    fn measure(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now.as_secs_f64();
        if let Some(rtt) = feedback.rtt {
            let rtt = rtt.as_secs_f64();
            self.s_rtt = if self.acked.is_empty() { rtt } else { self.s_rtt + RTT_GAIN * (rtt - self.s_rtt) };
        }
        for (packet, at) in feedback.arrived() {
            self.qdelay = self.base.sample(packet.sent, at);
            self.delay.on_packet(self.qdelay, self.qdelay_target());
        }
        self.delay.update(now, self.qdelay, self.s_rtt);
        self.marks.on_feedback(now, feedback.arrived().count(), feedback.marked(), self.s_rtt);
        self.acked.add(feedback.now, feedback.advanced, self.acked_span());
        self.has_lost |= feedback.lost() > 0;
        self.is_marked |= feedback.marked() > 0;
        if self.config.competing {
            self.competing.on_feedback(now, self.qdelay, feedback.lost() > 0, self.s_rtt);
        }
    }

    fn acked_span(&self) -> SimDuration {
        SimDuration::from_secs_f64(self.s_rtt.max(2.0 * self.limits.frame_interval.as_secs_f64()))
    }

    /// Distance of the window from that at the last congestion: small near it, at most one (`scl_t`).
    fn distance(&self) -> f64 {
        let apart = (self.ref_wnd - self.inflection) / self.inflection * 8.0;
        (apart * apart).clamp(0.1, 1.0)
    }

    fn congestion(&mut self, now: f64) -> Option<Congestion> {
        if self.has_lost || self.is_marked {
            self.last_detected = now;
        }
        if now - self.last_reaction < VIRTUAL_RTT.min(self.s_rtt) {
            return None;
        }
        let half = self.qdelay_target() / 2.0;
        if self.has_lost {
            Some(Congestion::Loss)
        } else if self.is_marked {
            Some(Congestion::Marks)
        } else {
            let average = self.delay.average();
            (average > half).then(|| Congestion::Delay(((average - half) / half).min(1.0)))
        }
    }

    fn reduce(&mut self, now: f64, congestion: Congestion, distance: f64) {
        if now - self.inflection_set > 10.0 * self.s_rtt {
            (self.inflection_set, self.inflection) = (now, self.ref_wnd);
        }
        self.ref_wnd *= match congestion {
            Congestion::Loss => self.config.beta_loss,
            Congestion::Marks if self.limits.is_l4s => 1.0 - self.l4s_backoff(now, distance),
            Congestion::Marks => self.config.beta_ecn,
            Congestion::Delay(part) => 1.0 - self.scaled(part / 2.0),
        };
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction = now;
        (self.has_lost, self.is_marked) = (false, false);
    }

    fn l4s_backoff(&mut self, now: f64, distance: f64) -> f64 {
        let mut backoff = self.scaled(self.marks.alpha / 2.0);
        if self.qdelay < self.qdelay_target() / 4.0 {
            backoff *= distance.max(0.25) * self.delay.scale().max(0.25);
        }
        if now - self.last_reaction > 100.0 * self.s_rtt.max(VIRTUAL_RTT) && self.rounds.before > 0.0 {
            // The window may be far above what is under way.
            self.ref_wnd = self.ref_wnd.min(self.rounds.before);
        }
        backoff
    }

    /// Scales a reaction: less where the rate has fallen already, and where round trips are long, since reactions may
    /// come each virtual one.
    fn scaled(&self, backoff: f64) -> f64 {
        let is_low = self.target_rate < self.acked.rate() * ACKED_BITRATE_MARGIN;
        let scale = if is_low { BACKOFF_SCALE_LOW_TARGET_RATE } else { 1.0 };
        backoff * scale / (self.s_rtt / VIRTUAL_RTT).max(1.0)
    }

    fn grow(&mut self, now: f64, acked: f64, distance: f64) {
        let since = (now - self.last_detected) / (POST_CONGESTION_DELAY_RTTS * self.s_rtt.max(VIRTUAL_RTT));
        let mut increment = acked * self.ref_wnd_ratio();
        increment *= (self.s_rtt / VIRTUAL_RTT).min(1.0) * distance.max(0.25) * self.delay.scale().max(0.1);
        increment *= 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / MSS * since.clamp(0.0, 1.0) * distance;
        let most = MSS + self.rounds.most.max(self.rounds.before) * BYTES_IN_FLIGHT_HEAD_ROOM;
        if self.ref_wnd + increment <= most && self.target_rate < self.limits.most.0 as f64 {
            self.ref_wnd += increment;
        }
    }

    fn ref_wnd_ratio(&self) -> f64 {
        (MSS / self.ref_wnd).min(1.0)
    }

    fn set_target_rate(&mut self) {
        let mut part = 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        part *= MSS / (MSS + PACKET_OVERHEAD);
        part /= 1.2 + self.rate_adjust_factor + self.frame_size_dev;
        self.target_rate = self.limits.clamp(part * 8.0 * self.ref_wnd / self.s_rtt);
    }
}

impl RateController for Scream {
    fn on_sent(&mut self, sent: &SentEvent) {
        self.rounds.on_in_flight(sent.now.as_secs_f64(), sent.in_flight.0 as f64, self.s_rtt);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now.as_secs_f64();
        let is_first = self.acked.is_empty();
        self.measure(feedback);
        if is_first {
            // The window of the start rate, which the draft leaves to the implementation.
            self.ref_wnd = MIN_REF_WND.max(self.limits.start.0 as f64 / 8.0 * self.s_rtt);
        }
        let distance = self.distance();
        if let Some(congestion) = self.congestion(now) {
            self.reduce(now, congestion, distance);
        }
        let marked: u64 = feedback.packets.iter().filter(|packet| packet.is_marked).map(|packet| packet.size.0).sum();
        self.grow(now, feedback.advanced.0.saturating_sub(marked) as f64, distance);
        self.set_target_rate();
    }

    fn on_frame(&mut self, frame: &FrameEvent) {
        let period = self.limits.frame_interval.as_secs_f64();
        let error = (frame.waited.as_secs_f64() - period / 4.0) / period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target_rate * period / 8.0;
        let deviation = ((frame.size.0 as f64 - nominal) / nominal).max(0.0);
        let average = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = average.min(0.2);
    }

    fn target_rate(&self) -> Bandwidth {
        Bandwidth(self.target_rate as u64)
    }

    fn pacing_rate(&self) -> Bandwidth {
        let nominal = self.target_rate / self.limits.most.0 as f64;
        let near = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - near).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        Bandwidth((self.target_rate.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale) as u64)
    }

    fn window(&self) -> Option<Bytes> {
        let overhead = REF_WND_OVERHEAD_MIN + (REF_WND_OVERHEAD_MAX - REF_WND_OVERHEAD_MIN) * self.delay.scale();
        Some(Bytes((self.ref_wnd * overhead) as u64))
    }
}

#[cfg(test)]
mod tests;
