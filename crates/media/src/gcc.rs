//! GCC, Google congestion control: the rate of a call in a browser.
//!
//! Sources: draft-ietf-rmcat-gcc-02 and Carlucci et al., "Analysis and Design of the Google Congestion Control for Web
//! Real-time Communication" (ACM Multimedia Systems 2016) for the parts and their interaction; libwebrtc for their
//! later development and the constants. All of it is at the sender, which knows from each report when packets arrived:
//!
//! 1. packets that left within 5 ms are a group, and so are those that come in a burst after an outage ([`groups`]);
//! 2. how much further apart groups arrive than they left is summed up, smoothed, and a line fitted through the last twenty: its
//!    slope is the trend, which is held beside a threshold that adapts ([`trendline`]);
//! 3. overuse, underuse or neither moves a state machine: increase, hold, decrease ([`aimd`]);
//! 4. losses of more than a tenth lower a second rate, and less than a fiftieth raise it ([`loss`]). The lower rate counts.
//!
//! Departures: the draft filters the delay's gradient by Kalman; libwebrtc fits a line, and so does this. No probes: at the start
//! and after a fall the rate rises by 8 % a second only, as in the draft, where libwebrtc sends bursts to find the capacity. The
//! rate that arrives is counted over half a second, as the draft has it, where libwebrtc estimates it by Bayes. libwebrtc's later
//! loss-based estimator and its rules for senders that send less than they may are left out.
//!
//! The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::control::{Feedback, Limits, PacketResult, RateController};
use crate::report::{ReportFormat, Reporting};

pub mod aimd;
pub mod groups;
pub mod loss;
pub mod throughput;
pub mod trendline;

use aimd::Aimd;
use groups::Groups;
use loss::LossBased;
use throughput::Throughput;
use trendline::{Gains, Trendline, Usage};

/// The reporting of libwebrtc: transport-wide, and so frequent that reports take a twentieth of the rate.
pub(crate) const REPORTING: Reporting =
    Reporting { format: ReportFormat::TransportWide, interval: None, packets: None, at_frame_ends: false, overlap: 0 };

declare! {
    /// The parameters of [`Gcc`].
    #[derive(Copy)]
    pub struct GccConfig {
        /// Fraction of the arriving rate to which overuse lowers the rate.
        beta: f64 = default(0.85).above(0.0).below(1.0).source("draft-ietf-rmcat-gcc-02 section 5.6"),
        /// Rate at which the queue is drained, as a multiple of the target rate.
        pacing: f64 = default(2.5).at_least(1.0).at_most(100.0).unit("times the target rate").source("libwebrtc"),
        /// Loss fraction below which the second rate rises.
        low_loss: f64 = default(0.02).at_least(0.0).at_most(1.0).source("draft-ietf-rmcat-gcc-02 section 6"),
        /// Loss fraction above which the second rate falls.
        high_loss: f64 = default(0.1).at_least(0.0).at_most(1.0).source("draft-ietf-rmcat-gcc-02 section 6"),
        /// Fraction of the difference by which the threshold of overuse rises in a millisecond towards a higher trend;
        /// 0.01 in the draft.
        threshold_rise: f64 = default(0.0087).above(0.0).at_most(0.01).source("libwebrtc"),
        /// Fraction of the difference by which it falls towards a lower trend. In the draft it is 0.00018, with which
        /// it outlasts TCP's peaks.
        threshold_fall: f64 = default(0.039).above(0.0).at_most(0.039).source("libwebrtc"),
    }
    check |config, review| {
        if config.low_loss > config.high_loss {
            review.report("low_loss", "must be at most high_loss", "use a smaller low_loss");
        }
    };
}

/// Google congestion control of a media rate.
#[derive(Clone, Debug)]
pub struct Gcc {
    pacing: f64,
    limits: Limits,
    groups: Groups,
    trend: Trendline,
    throughput: Throughput,
    aimd: Aimd,
    loss: LossBased,
    /// Target rate in bit/s.
    target: f64,
}

impl Gcc {
    pub(crate) fn new(config: GccConfig, limits: Limits) -> Self {
        let start = limits.start.0 as f64;
        Self {
            pacing: config.pacing,
            limits,
            groups: Groups::default(),
            trend: Trendline::new(Gains { rise: config.threshold_rise, fall: config.threshold_fall }),
            throughput: Throughput::default(),
            aimd: Aimd::new(config.beta, start),
            loss: LossBased::new(config.low_loss, config.high_loss, start),
            target: start,
        }
    }

    fn on_arrivals(&mut self, arrivals: impl Iterator<Item = (PacketResult, SimTime)>) {
        for (packet, at) in arrivals {
            self.throughput.add(at, packet.size);
            if let Some(deltas) = self.groups.add(packet.sent, at) {
                self.trend.update(&deltas, at);
            }
        }
    }

    /// Updates the rate by delay. While the throughput is unknown, overuse halves it.
    fn by_delay(&mut self, now: SimTime) {
        let rate = self.throughput.rate();
        let usage = self.trend.usage();
        if usage == Usage::Over {
            match rate {
                Some(rate) if self.aimd.may_reduce(now, rate) => self.aimd.update(now, usage, Some(rate)),
                None if self.aimd.may_reduce(now, f64::INFINITY) => self.aimd.halve(now),
                _ => (),
            }
        } else {
            self.aimd.update(now, usage, rate);
        }
        self.aimd.rate = self.limits.clamp(self.aimd.rate);
    }
}

impl RateController for Gcc {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            let way = SimDuration(rtt.0.saturating_sub(feedback.held.0));
            self.aimd.rtt = way;
            self.loss.rtt = way;
        }
        // In the order of arrival: within a report they seldom overtake each other.
        let mut arrivals: Vec<(PacketResult, SimTime)> = feedback.arrived().map(|(packet, at)| (*packet, at)).collect();
        arrivals.sort_by_key(|(packet, at)| (*at, packet.number));
        self.on_arrivals(arrivals.into_iter());
        self.by_delay(feedback.now);
        self.loss.on_packets(feedback.now, feedback.lost(), feedback.packets.len(), self.aimd.rate);
        self.target = self.limits.clamp(self.loss.rate);
        self.loss.rate = self.target;
    }

    fn target_rate(&self) -> Bandwidth {
        Bandwidth(self.target as u64)
    }

    fn pacing_rate(&self) -> Bandwidth {
        Bandwidth((self.target * self.pacing) as u64)
    }
}

#[cfg(test)]
mod tests;
