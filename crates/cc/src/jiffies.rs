//! The clock of a Linux kernel, which congestion control modules read in whole ticks (`jiffies`).
//!
//! Source: the behaviour of Linux 6.12. Departures: a tick begins at time zero, where on a kernel its phase is chance.

use ackclock_units::{SimDuration, SimTime};

/// The number of ticks since time zero, at a kernel's own rate (`CONFIG_HZ`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jiffies {
    tick: SimDuration,
}

impl Jiffies {
    pub(crate) fn new(tick: SimDuration) -> Self {
        Self { tick }
    }

    /// The ticks in a second.
    pub(crate) fn hz(self) -> u64 {
        1_000_000_000 / self.tick.0
    }

    pub(crate) fn at(self, time: SimTime) -> u64 {
        time.0 / self.tick.0
    }

    /// The beginning of a tick.
    pub(crate) fn time(self, tick: u64) -> SimTime {
        SimTime(tick * self.tick.0)
    }

    /// The ticks of a duration in whole microseconds, rounded up.
    pub(crate) fn of(self, duration: SimDuration) -> u64 {
        (duration.0 / 1_000 * 1_000).div_ceil(self.tick.0)
    }
}
