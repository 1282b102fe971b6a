//! The clock of a Linux kernel, which congestion control modules read in whole ticks (`jiffies`).
//!
//! Source: the behaviour of Linux 6.12. Departures: where a tick begins is a parameter, and chance on a kernel.

use ackclock_units::{SimDuration, SimTime};

/// The number of ticks since time zero, at a kernel's own rate (`CONFIG_HZ`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jiffies {
    tick: SimDuration,
    /// Time from the tick before time zero, which counts as none, to time zero.
    phase: SimDuration,
}

impl Jiffies {
    /// `first` is the time of one of the ticks.
    pub(crate) fn new(tick: SimDuration, first: SimDuration) -> Self {
        Self { tick, phase: SimDuration((tick.0 - first.0 % tick.0) % tick.0) }
    }

    /// The ticks in a second.
    pub(crate) fn hz(self) -> u64 {
        1_000_000_000 / self.tick.0
    }

    pub(crate) fn at(self, time: SimTime) -> u64 {
        (time.0 + self.phase.0) / self.tick.0
    }

    /// The beginning of a tick, or time zero if that is later.
    pub(crate) fn time(self, tick: u64) -> SimTime {
        SimTime((tick * self.tick.0).saturating_sub(self.phase.0))
    }

    /// The ticks of a duration in whole microseconds, rounded up.
    pub(crate) fn of(self, duration: SimDuration) -> u64 {
        (duration.0 / 1_000 * 1_000).div_ceil(self.tick.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_begin_where_the_first_one_says() {
        let tick = SimDuration::from_millis(1);
        let (even, early) = (Jiffies::new(tick, SimDuration::ZERO), Jiffies::new(tick, SimDuration(993_700)));
        assert_eq!([even, early].map(|clock| clock.at(SimTime(999_999))), [0, 1]);
        assert_eq!([even, early].map(|clock| clock.at(SimTime(1_993_699))), [1, 1]);
        assert_eq!([even, early].map(|clock| clock.time(2)), [SimTime(2_000_000), SimTime(1_993_700)]);
    }
}
