//! A window of what the far side drains in a near round trip and a target.
//!
//! Ours. The far side's rate is what it sent over the last far round trip, or over `measure` if that is longer; the window
//! is that rate times (near RTT + target), less what is kept. Where the far side sends whatever arrives, each round brings
//! (near RTT + target) / near RTT times the last one's, so that the window finds a faster rate by itself.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::discipline::{Kind, MAX_SEGMENTS, MAX_STAY, Orders, Policy};
use crate::grant::Grant;
use crate::history::History;
use crate::readings::Readings;

declare! {
    /// Parameters of `drain_rate`, which keeps a short stay.
    #[derive(Copy, Eq)]
    pub struct DrainRateConfig {
        /// Longest wait of an octet.
        // Half of what is to be held, as the rate is measured late.
        target: SimDuration = default(SimDuration::from_millis(5)).at_most(MAX_STAY),
        /// Over how long the far side's rate is measured, at least. A far-side round trip where that is longer, since a window
        /// may leave in one burst.
        measure: SimDuration = default(SimDuration::from_millis(10)).above(SimDuration::ZERO),
        /// The least window, so that a flow that rests can begin.
        min_segments: u64 = default(10).at_least(1).at_most(MAX_SEGMENTS).unit("segments"),
    }
}

impl Policy for DrainRateConfig {
    const ABOUT: About = About {
        name: "drain_rate",
        aliases: &[],
        summary: "advertises what the far side drains in a near-side round trip and a target",
        source: "ours",
        departures: "none",
    };

    fn start(&self, _seed: u64) -> Kind {
        Kind::DrainRate(DrainRate::new(*self))
    }
}

/// Measurements in the time that is measured.
const PIECES: u64 = 32;

/// Sizes the window by the far side's measured rate.
#[derive(Clone, Debug)]
pub struct DrainRate {
    config: DrainRateConfig,
    sent: History,
    grant: Grant,
}

impl DrainRate {
    pub(crate) fn new(config: DrainRateConfig) -> Self {
        Self { config, sent: History::default(), grant: Grant::default() }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        let span = self.config.measure.max(readings.far.srtt);
        self.sent.record(readings.now, readings.sent, span / PIECES);
        let since = SimTime(readings.now.0.saturating_sub(span.0)); // no earlier than the beginning of time
        self.sent.forget_until(since);
        let drained = readings.sent - self.sent.count_at(since);
        let ahead = readings.near_rtt + self.config.target;
        let window = (u128::from(drained.0) * u128::from(ahead.0) / u128::from(span.0.max(1))).min(u64::MAX.into());
        // The number of segments is configured: without bound, if they are too many.
        let least = Bytes(readings.near_segment().0.saturating_mul(self.config.min_segments));
        // More may wait than the rate that was measured last has room for.
        let window = Bytes(window as u64).max(least).saturating_sub(readings.backlog());
        Orders { window: Some(self.grant.window(readings, window)), ..Orders::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(ms: u64, arrived: u64, sent: u64) -> Readings {
        let mut readings = crate::readings::readings(ms, arrived, sent);
        readings.far.srtt = SimDuration::from_millis(20);
        readings
    }

    #[test]
    fn the_window_is_the_measured_rate_times_near_rtt_and_target() {
        let config =
            DrainRateConfig { target: SimDuration::from_millis(4), min_segments: 1, ..DrainRateConfig::default() };
        let mut discipline = DrainRate::new(config);
        // 5000 octets a millisecond, all sent on at once: 5000 x (2 + 4) = 30 000
        let mut orders = Orders::default();
        for ms in 0..=100 {
            orders = discipline.update(&readings(ms, 5000 * ms, 5000 * ms));
        }
        assert_eq!(orders.window, Some(Bytes(30_000)));
        // 10 000 of them are still kept, so that as much less may come: but what was granted is not taken back
        assert_eq!(discipline.update(&readings(100, 510_000, 500_000)).window, Some(Bytes(20_000)));
    }

    #[test]
    fn a_flow_that_rests_may_send_the_least_window() {
        let mut discipline = DrainRate::new(DrainRateConfig { min_segments: 10, ..DrainRateConfig::default() });
        assert_eq!(discipline.update(&readings(0, 0, 0)).window, Some(Bytes(10_000)));
    }
}
