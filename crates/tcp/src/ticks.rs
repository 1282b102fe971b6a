//! The ticks of a host's timers (Linux: jiffies).
//!
//! Departures: a timer that is set for 64 ticks and more fires with the tick that it was set for, and not with an eighth.

use ackclock_units::{SimDuration, SimTime};

use crate::config::{RtoConfig, RtoEstimator};

/// See the module. Hosts without ticks have timers of any length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    /// Length in nanoseconds; zero without ticks.
    length: u64,
    /// Time of the first.
    offset: u64,
}

impl Ticks {
    /// The ticks of Linux; others have none.
    pub(crate) fn of(config: &RtoConfig) -> Self {
        if config.estimator != RtoEstimator::Linux {
            return Self::default();
        }
        let length = config.granularity.0;
        Self { length, offset: config.tick_offset.0 % length }
    }

    /// Time at which a timer fires that is set at `now` for `wait`: with the tick after as many as have begun, so that none is early.
    pub(crate) fn expiry(self, now: SimTime, wait: SimDuration) -> SimTime {
        if self.length == 0 {
            return now + wait;
        }
        let ticks = self.begun(now) + wait.0.div_ceil(self.length);
        SimTime(ticks * self.length + self.offset)
    }

    /// True if there are more ticks between two times than a timer of `span` counts.
    pub(crate) fn exceed(self, since: SimTime, now: SimTime, span: SimDuration) -> bool {
        if self.length == 0 {
            return now.saturating_since(since) > span;
        }
        self.begun(now) - self.begun(since) > span.0.div_ceil(self.length)
    }

    /// Ticks up to `now`, and one.
    fn begun(self, now: SimTime) -> u64 {
        (now.0 + self.length - self.offset) / self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ticks(estimator: RtoEstimator, tick_offset: u64) -> Ticks {
        let granularity = SimDuration(MS);
        let tick_offset = SimDuration(tick_offset);
        Ticks::of(&RtoConfig { granularity, tick_offset, ..RtoConfig::of(estimator) })
    }

    /// Linux 6.12, with ticks of a millisecond: a reordering timer of 1.9455 ms and two ticks, set at 129.4979 ms, fired at 134 ms.
    #[test]
    fn a_timer_of_linux_fires_with_a_tick() {
        let expiry = |ticks: Ticks, at, wait| ticks.expiry(SimTime(at), SimDuration(wait)).0;
        let linux = ticks(RtoEstimator::Linux, 0);
        assert_eq!(expiry(linux, 129_497_900, 3_945_500), 134 * MS);
        assert_eq!(expiry(linux, 129_000_000, 4_000_000), 134 * MS);
        // Its ticks lay 6.3 us before whole milliseconds.
        let early = ticks(RtoEstimator::Linux, 993_700);
        assert_eq!(expiry(early, 129_497_900, 3_945_500), 133_993_700);
        assert_eq!(expiry(early, 129_993_700, 3_945_500), 134_993_700);
        assert_eq!(expiry(ticks(RtoEstimator::Rfc6298, 0), 129_497_900, 3_945_500), 133_443_400);
    }

    /// Linux 6.12: data came 222 ticks, of which 222.5 ms had passed, after what was before it. At a timeout of 221.4 ms that is not yet
    /// more: two of the next ten segments were acknowledged at once, and not all.
    #[test]
    fn a_part_of_a_tick_counts_as_one_in_a_timeout_and_as_none_in_between() {
        let linux = ticks(RtoEstimator::Linux, 0);
        let (since, timeout) = (SimTime(838 * MS + 100_000), SimDuration(221_400_000));
        assert!(!linux.exceed(since, SimTime(1_060 * MS + 600_000), timeout));
        assert!(linux.exceed(since, SimTime(1_061 * MS), timeout));
        assert!(ticks(RtoEstimator::Rfc6298, 0).exceed(since, SimTime(1_060 * MS + 600_000), timeout));
    }
}
