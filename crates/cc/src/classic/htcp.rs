//! H-TCP: the window grows faster the longer ago the last congestion was, and its decrease follows the queue's share of
//! the round trip.
//!
//! Source: Leith and Shorten, H-TCP: TCP for High-Speed and Long-Distance Networks, `PFLDnet` 2004; draft-leith-tcp-htcp:
//! `alpha(D) = 1 + 10 (D - D_L) + 0.25 (D - D_L)^2` segments a round trip, D the seconds since the last congestion,
//! `D_L` = 1 s; `beta = RTT_min / RTT_max` between 0.5 and 0.8, and 0.5 if the largest throughput between two congestions
//! changed by more than a fifth; alpha is multiplied by `2 (1 - beta)`, and for fairness between round trips by
//! `RTT_min / 100 ms`, between 1/10 and 2, before that and down to one. Constants and the two largest throughputs are as in Linux's module.
//!
//! Departures: throughput is measured over the time of the least round trip, outside of recoveries, and not smoothed. `variant = "linux"` is its module ([`mod@crate::linux_module`]).
//!
//! Checked: constants against Linux's module; the runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{SimDuration, SimTime};

use super::{Classic, ClassicVariant, Delays, Grown, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};

declare! {
    /// The parameters of [`Htcp`].
    #[derive(Copy)]
    pub struct HtcpConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Keep `RTT_min` / `RTT_max` on congestion, 0.5 to 0.8, rather than 0.5.
        adaptive_backoff: bool = true,
        /// Scale growth by the round trip.
        rtt_scaling: bool = true,
        /// Tick of the clock that Linux's module reads.
        tick: SimDuration = default(SimDuration::from_millis(4))
            .at_least(SimDuration::from_millis(1))
            .at_most(SimDuration::from_millis(10))
            .source("CONFIG_HZ = 250 of the recorded kernel and of Debian's"),
        /// Where its ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
}

impl Algorithm for HtcpConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "growth by the time since the last congestion, and a decrease by the path's share of the round trip",
        source: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp",
        departures: "throughput is measured over the time of the minimum RTT, not smoothed; slow start is RFC 5681's, acknowledged segments are counted by octets",
        stack: Stack { profile: "htcp", ..Stack::ANY },
        ..Name::called("htcp")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Htcp::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Htcp::new(*self), start),
        }
    }
}

/// The seconds after congestion in which growth is Reno's.
const LOW_SPEED_S: f64 = 1.0;
const REFERENCE_RTT_S: f64 = 0.1;
/// The fraction of throughput whose change makes beta 0.5.
const SAME_THROUGHPUT: f64 = 0.2;

/// H-TCP: growth follows the time since the last congestion. Source and departures: [`mod@crate::classic::htcp`].
#[derive(Clone, Debug)]
pub struct Htcp {
    config: HtcpConfig,
    beta: f64,
    alpha: f64,
    delays: Delays,
    /// The time of the last congestion; before the first, of the flow's first ACK.
    last_congestion: Option<SimTime>,
    throughput: Throughput,
    /// The largest throughput between the two previous congestions, segments/s.
    last_peak: f64,
}

/// The delivery in the time of a round trip, and the largest since the last congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    /// The beginning of the measured time; `None` during a recovery, whose ACKs may acknowledge data that arrived long
    /// before.
    began: Option<SimTime>,
    /// The segments acknowledged in the measured time.
    acked: f64,
    /// The largest throughput, segments/s.
    peak: f64,
}

impl Throughput {
    /// Takes an ACK of `segments`; `rtt` is the minimum RTT, in seconds.
    fn on_ack(&mut self, ack: &AckEvent, segments: f64, rtt: f64) {
        if ack.in_recovery {
            (self.began, self.acked) = (None, 0.0);
            return;
        }
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return;
        };
        self.acked += segments;
        let span = ack.now.saturating_since(began).as_secs_f64();
        if span > 0.0 && span >= rtt {
            self.peak = self.peak.max(self.acked / span);
            (self.began, self.acked) = (Some(ack.now), 0.0);
        }
    }
}

impl Htcp {
    pub(super) fn new(config: HtcpConfig) -> Self {
        Self {
            config,
            beta: 0.5,
            alpha: 1.0,
            delays: Delays::default(),
            last_congestion: None,
            throughput: Throughput::default(),
            last_peak: 0.0,
        }
    }

    fn since_congestion(&self, now: SimTime) -> f64 {
        self.last_congestion.map_or(0.0, |last| now.saturating_since(last).as_secs_f64())
    }

    fn adapt_alpha(&mut self, now: SimTime) {
        let beyond = (self.since_congestion(now) - LOW_SPEED_S).max(0.0);
        let scale = if self.config.rtt_scaling && self.delays.least > 0.0 {
            (self.delays.least / REFERENCE_RTT_S).clamp(0.1, 2.0)
        } else {
            1.0
        };
        let alpha = ((1.0 + 10.0 * beyond + 0.25 * beyond * beyond) * scale).max(1.0);
        self.alpha = 2.0 * (1.0 - self.beta) * alpha;
    }

    fn adapt_beta(&mut self) {
        let peak = std::mem::take(&mut self.throughput.peak);
        if peak <= 0.0 && self.last_peak > 0.0 {
            return; // nothing was measured since the last congestion: this one belongs to it
        }
        let changed = (peak - self.last_peak).abs() > SAME_THROUGHPUT * self.last_peak;
        self.last_peak = peak;
        self.beta = if self.config.adaptive_backoff && !changed && self.delays.greatest > 0.0 {
            (self.delays.least / self.delays.greatest).clamp(0.5, 0.8)
        } else {
            0.5
        };
    }
}

impl Rule for Htcp {
    fn on_ack(&mut self, ack: &AckEvent, _cwnd: f64, mss: u64) {
        self.delays.on_ack(ack);
        self.last_congestion.get_or_insert(ack.now);
        self.throughput.on_ack(ack, ack.newly_acked.0 as f64 / mss as f64, self.delays.least);
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        self.adapt_alpha(grown.ack.now);
        self.alpha * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, event: &CongestionEvent, _cwnd: f64, flight: f64) -> f64 {
        self.adapt_beta();
        (self.last_congestion, self.delays.greatest) = (Some(event.now), self.delays.least);
        flight * self.beta
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_segments", self.alpha);
        record("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, loss, timeout};
    use ackclock_units::SimDuration;

    fn at(seconds: f64) -> SimTime {
        SimTime((seconds * 1e9) as u64)
    }

    #[test]
    fn alpha_is_the_drafts() {
        let mut htcp = Htcp::new(HtcpConfig { rtt_scaling: false, ..HtcpConfig::default() });
        htcp.last_congestion = Some(SimTime::ZERO);
        for (seconds, alpha) in [(0.5, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0)] {
            htcp.adapt_alpha(at(seconds)); // 1 + 10 + 0.25; 1 + 40 + 4
            assert!((htcp.alpha - alpha).abs() < 1e-9, "{seconds} s: {}", htcp.alpha);
        }
        htcp.beta = 0.8;
        htcp.adapt_alpha(at(5.0));
        assert!((htcp.alpha - 0.4 * 45.0).abs() < 1e-9); // 2 (1 - 0.8)
        htcp.adapt_alpha(at(0.5));
        assert!((htcp.alpha - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_of_50_ms_grows_half_as_fast() {
        let mut htcp = Htcp::new(HtcpConfig::default());
        let rtt_sample = Some(SimDuration::from_millis(50));
        htcp.on_ack(&AckEvent { rtt_sample, ..ack(1_000) }, 10.0, 1_000);
        htcp.adapt_alpha(at(5.0));
        assert!((htcp.alpha - 22.5).abs() < 1e-9);
    }

    #[test]
    fn throughput_is_measured_over_a_round_trip_whatever_comes_in_bursts() {
        let mut throughput = Throughput::default();
        for ms in [0, 1, 2, 100, 101, 102, 200] {
            throughput.on_ack(&AckEvent { now: SimTime(ms * 1_000_000), ..ack(1_000) }, 1.0, 0.1);
        }
        assert!((throughput.peak - 30.0).abs() < 1e-9); // three segments in each 100 ms after the first
        let recovering = AckEvent { now: SimTime(201_000_000), in_recovery: true, ..ack(1_000) };
        throughput.on_ack(&recovering, 50.0, 0.1);
        throughput.on_ack(&AckEvent { now: SimTime(400_000_000), ..ack(1_000) }, 1.0, 0.1);
        throughput.on_ack(&AckEvent { now: SimTime(500_000_000), ..ack(1_000) }, 1.0, 0.1);
        assert!((throughput.peak - 30.0).abs() < 1e-9);
    }

    #[test]
    fn beta_is_the_share_of_the_path_in_the_round_trip() {
        let mut htcp = Htcp::new(HtcpConfig::default());
        for seconds in [10.0, 20.0] {
            // a segment in a round trip, of 70 to 100 ms; the first congestion knew no throughput before
            for (rtt, at_s) in [(70, 0.0), (100, 0.1)] {
                let rtt_sample = Some(SimDuration::from_millis(rtt));
                htcp.on_ack(&AckEvent { now: at(seconds - 1.0 + at_s), rtt_sample, ..ack(1_000) }, 10.0, 1_000);
            }
            htcp.decrease(&CongestionEvent { now: at(seconds), ..loss(10_000) }, 10.0, 10.0);
        }
        assert!((htcp.beta - 0.7).abs() < 1e-9); // 70 / 100
        // A timeout in the recovery: Linux's `maxB` is still the same (`htcp_beta_update`).
        let known = htcp.last_peak;
        htcp.decrease(&CongestionEvent { now: at(20.1), ..timeout(7_000, false) }, 7.0, 7.0);
        assert!((htcp.beta - 0.7).abs() < 1e-9 && (htcp.last_peak - known).abs() < 1e-9, "{}", htcp.beta);
    }
}
