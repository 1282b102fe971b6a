//! Outages that come back periodically: a satellite's handover.

use ackclock_units::{SimDuration, SimTime};

/// The link sends nothing for `length` after every multiple of `period`, but the zeroth: it begins connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    period: SimDuration,
    length: SimDuration,
}

impl Outage {
    /// An outage shorter than the period, as the scenario's check promises.
    pub fn new(period: SimDuration, length: SimDuration) -> Self {
        assert!(length < period, "an outage is shorter than its period");
        Self { period, length }
    }

    pub(super) fn period(&self) -> SimDuration {
        self.period
    }

    /// Whether there is an outage at `now`, and when that changes.
    pub(super) fn at(&self, now: SimTime) -> (bool, SimTime) {
        let phase = now.0 % self.period.0;
        let begin = SimTime(now.0 - phase);
        let is_out = begin > SimTime::ZERO && phase < self.length.0;
        (is_out, begin + if is_out { self.length } else { self.period })
    }
}
