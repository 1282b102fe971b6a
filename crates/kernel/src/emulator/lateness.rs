//! Lateness of packets handed to hosts, and the verdict whether a run is too late to be valid.
//!
//! The bounds are ours: a packet may be late by what a network card and a scheduler are on an ordinary machine, or, on a long path, by a
//! small part of the round trip, before the delay that TCP sees is another than the scenario's.

use ackclock_units::{Histogram, SimDuration};
use serde::Serialize;

/// The 99th percentile may be this, or a hundredth of the least round trip.
const P99: SimDuration = SimDuration::from_micros(200);
/// The 99.9th percentile may be this, or a twentieth of it.
const P999: SimDuration = SimDuration::from_millis(2);

/// Distribution of the lateness of packets handed to hosts, nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    histogram: Histogram,
}

/// Summary in microseconds; 0 if there were no packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatenessSummary {
    /// Number of packets.
    pub packets: u64,
    /// Mean lateness.
    pub mean: f64,
    /// Median lateness.
    pub p50: f64,
    /// Lateness at the 90th percentile.
    pub p90: f64,
    /// Lateness at the 99th percentile.
    pub p99: f64,
    /// Lateness at the 99.9th percentile.
    pub p999: f64,
    /// Largest lateness.
    pub max: f64,
}

/// Whether a run can be believed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// False if it was too late, or packets vanished that the scenario knows nothing of.
    pub valid: bool,
    /// Reasons for which it is not valid.
    pub reasons: Vec<String>,
    /// The most that the 99th percentile may be, microseconds.
    pub p99_bound_us: f64,
    /// The most that the 99.9th percentile may be, microseconds.
    pub p999_bound_us: f64,
}

impl Lateness {
    /// Adds the lateness of a packet.
    pub fn add(&mut self, late: SimDuration) {
        self.histogram.add(late.0);
    }

    /// Summary of the distribution.
    pub fn summary(&self, packets: u64) -> LatenessSummary {
        if packets == 0 {
            return LatenessSummary::default();
        }
        let quantile = |fraction| self.histogram.quantile(fraction) / 1e3;
        LatenessSummary {
            packets,
            mean: self.histogram.mean() / 1e3,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.histogram.max() as f64 / 1e3,
        }
    }
}

impl Verdict {
    /// Adds a reason for which the run is not valid.
    pub fn add(&mut self, reason: String) {
        self.valid = false;
        self.reasons.push(reason);
    }

    /// Verdict on a run on paths with the least round trip `round_trip`, in which devices dropped `device_drops`
    /// packets.
    pub fn new(late: &LatenessSummary, round_trip: SimDuration, device_drops: u64) -> Self {
        let bound = |least: SimDuration, part: u64| least.max(SimDuration(round_trip.0 / part)).0 as f64 / 1e3;
        let (most, most_of_tail) = (bound(P99, 100), bound(P999, 20));
        let too_late = |name: &str, found: f64, bound: f64| {
            (found > bound).then(|| format!("{name} of packets were up to {found:.0} us late, more than {bound:.0} us"))
        };
        let dropped = (device_drops > 0).then(|| {
            format!("{device_drops} packets were dropped between hosts and the emulator, which could not keep up")
        });
        let reasons: Vec<String> =
            [too_late("99 %", late.p99, most), too_late("99.9 %", late.p999, most_of_tail), dropped]
                .into_iter()
                .flatten()
                .collect();
        Self { valid: reasons.is_empty(), reasons, p99_bound_us: most, p999_bound_us: most_of_tail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_grow_with_the_round_trip_and_each_reason_is_told() {
        let late = LatenessSummary { packets: 1_000, p99: 500.0, p999: 2_500.0, ..LatenessSummary::default() };
        let far = Verdict::new(&late, SimDuration::from_millis(60), 0); // 600 us and 3 ms
        assert_eq!((far.valid, far.p99_bound_us, far.p999_bound_us), (true, 600.0, 3_000.0));
        let near = Verdict::new(&late, SimDuration::from_millis(10), 2); // 200 us and 2 ms
        assert!(!near.valid);
        assert_eq!(near.reasons.len(), 3);
        assert_eq!(near.reasons[0], "99 % of packets were up to 500 us late, more than 200 us");
    }
}
