//! Westwood+: after a loss the window falls to the measured bandwidth-delay product, so that random loss costs little.
//!
//! Source: Grieco and Mascolo, Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion
//! Control, CCR 34(2), 2004: a sample of the bandwidth each round trip, `B = 7/8 B + 1/8 sample`,
//! `ssthresh = max(2, B RTT_min)`.
//!
//! Departures: ssthresh is at most the window, and a sample spans at least 50 ms.
//!
//! `RTT_min` is the connection's; Linux's module begins it anew after a timeout.
//!
//! Linux's module sends each estimate through a second filter of the same kind (`filter_twice`), so that it answers a change of
//! the rate after some sixteen samples and not eight. `variant = "linux"` is the module itself, whose window falls to the estimate when
//! an episode ends ([`mod@crate::linux_module`]). The runs held to it are in docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::{SimDuration, SimTime};

use super::{Classic, ClassicVariant, Delays, Grown, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};

declare! {
    /// The parameters of [`Westwood`].
    #[derive(Copy)]
    pub struct WestwoodConfig {
        /// Source of the rules: the paper, or Linux's module, which always filters twice by 7/8.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Share of the old bandwidth estimate in the new one.
        filter: f64 = default(0.875).at_least(0.0).at_most(0.999_999),
        /// Filter the estimate once more in the same way, as Linux's module does.
        filter_twice: bool = default(false).source("the paper filters once"),
        /// Tick of the clock that Linux's module reads.
        tick: SimDuration = default(SimDuration::from_millis(4))
            .at_least(SimDuration::from_millis(1))
            .at_most(SimDuration::from_millis(10))
            .source("CONFIG_HZ = 250 of the recorded kernel and of Debian's"),
        /// Where its ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
}

impl Algorithm for WestwoodConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "Westwood+: falls to the measured bandwidth times the minimum RTT",
        source: "Grieco, Mascolo, CCR 34(2), 2004",
        stack: Stack { profile: "westwood", ..Stack::ANY },
        departures: "ssthresh is at most the window; a sample spans at least 50 ms; slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("westwood")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Westwood::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Westwood::new(self), start),
        }
    }
}

/// The least time of a sample, which otherwise spans a round trip.
const SHORTEST_SAMPLE: SimDuration = SimDuration::from_millis(50);

/// Westwood+: falls to the measured bandwidth-delay product. Source and departures: [`mod@crate::classic::westwood`].
#[derive(Clone, Debug)]
pub struct Westwood {
    config: WestwoodConfig,
    /// The bandwidth estimates, filtered once and as often as configured, segments/s; zero before the first sample.
    filtered: f64,
    bandwidth: f64,
    acked: f64,
    sampled_at: Option<SimTime>,
    delays: Delays,
}

impl Westwood {
    pub(super) fn new(config: WestwoodConfig) -> Self {
        Self { config, filtered: 0.0, bandwidth: 0.0, acked: 0.0, sampled_at: None, delays: Delays::default() }
    }

    /// Takes a sample, segments/s.
    fn note(&mut self, sample: f64) {
        self.filtered = self.filter(self.filtered, sample);
        self.bandwidth =
            if self.config.filter_twice { self.filter(self.bandwidth, self.filtered) } else { self.filtered };
    }

    fn filter(&self, old: f64, new: f64) -> f64 {
        let old = if old > 0.0 { old } else { new };
        self.config.filter * old + (1.0 - self.config.filter) * new
    }
}

impl Rule for Westwood {
    fn on_ack(&mut self, ack: &AckEvent, _cwnd: f64, mss: u64) {
        self.delays.on_ack(ack);
        let Some(from) = self.sampled_at else {
            self.sampled_at = Some(ack.now); // what comes from here on is measured
            return;
        };
        let span = ack.now.saturating_since(from);
        self.acked += ack.newly_acked.0 as f64 / mss as f64;
        if span >= ack.rtt.latest.max(SHORTEST_SAMPLE) {
            let sample = self.acked / span.as_secs_f64();
            self.note(sample);
            (self.acked, self.sampled_at) = (0.0, Some(ack.now));
        }
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        grown.acked / grown.cwnd
    }

    fn decrease(&mut self, _event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        if self.bandwidth > 0.0 { (self.bandwidth * self.delays.least).min(cwnd) } else { flight / 2.0 }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("bandwidth_segments_per_s", self.bandwidth);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::*;

    #[test]
    fn a_step_of_the_rate_is_answered_by_one_filter_or_two_in_cascade() {
        // From 100 to 200: one filter has 200 - 100 (7/8)^n, a cascade of two 200 - 100 (7/8)^n (1 + n/8).
        for (filter_twice, expected) in [(false, 200.0 - 100.0 * 0.343_609), (true, 200.0 - 100.0 * 0.343_609 * 2.0)] {
            let mut westwood = Westwood::new(WestwoodConfig { filter_twice, ..WestwoodConfig::default() });
            (westwood.filtered, westwood.bandwidth) = (100.0, 100.0);
            for _ in 0..8 {
                westwood.note(200.0); // (7/8)^8 = 0.343 609
            }
            assert!((westwood.bandwidth - expected).abs() < 1e-3, "{}", westwood.bandwidth);
        }
    }

    #[test]
    fn the_window_falls_to_bandwidth_times_least_round_trip() {
        let mut westwood = avoiding(&WestwoodConfig::default(), 100.0);
        // 100 segments in 100 ms at first; then a queue doubles the round trip of a window of 100
        gain_of_round(&mut westwood, 1, 0, 100);
        for round in 0..200 {
            westwood.cwnd = 100.0;
            gain_of_round(&mut westwood, 2 + round, 100 + 200 * round, 200);
        }
        // 100 segments each 200 ms are 500 a second; 500 * 0.1 s = 50 segments of the hundred
        westwood.cwnd = 100.0;
        let kept = kept_of_loss(&mut westwood);
        assert!((kept - 0.5).abs() < 0.01, "{kept}");
    }
}
