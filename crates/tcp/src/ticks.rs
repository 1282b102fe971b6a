//! The ticks of a host's timers (Linux: jiffies), which fire in time but not with every tick (Linux's timer wheel).
//!
//! Source: the behaviour of Linux 7.3: a timer for 63 ticks and more fires with every eighth tick, one for 504 and more with every
//! 64th, and so on, with the next of these after the tick that it was set for.
//!
//! Departures: one that is set as a timer fires counts a tick less for Linux, whose wheel is a tick ahead then: one of just 63 ticks may
//! fire with any.

use ackclock_units::{SimDuration, SimTime};

use crate::config::{RtoConfig, RtoEstimator};

/// A timer for so many ticks fires with every eighth only, one for eight times as many with every 64th, and so on.
const SPARSE_FROM: u64 = 63;
const EIGHTH: u32 = 3;
/// Number of ticks after which all timers fire together, as a power of two.
const RAREST: u32 = 21;

/// See the module. Hosts without ticks have timers of any length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    /// Length in nanoseconds; zero without ticks.
    length: u64,
    /// Time of a tick with which all timers fire, as nanoseconds before time zero.
    lead: u64,
}

impl Ticks {
    /// The ticks of Linux; others have none.
    pub(crate) fn of(config: &RtoConfig) -> Self {
        if config.estimator != RtoEstimator::Linux {
            return Self::default();
        }
        let length = config.granularity.0;
        let span = length << RAREST;
        Self { length, lead: span - config.tick_offset.0 % span }
    }

    /// Time at which a timer fires that is set at `now` for `wait`: with the tick after as many as have begun, so that none is early.
    #[inline]
    pub(crate) fn expiry(self, now: SimTime, wait: SimDuration) -> SimTime {
        if self.length == 0 {
            return now + wait;
        }
        let ticks = wait.0.div_ceil(self.length);
        let due = self.begun(now).saturating_add(ticks).min(u64::MAX / 2);
        let mut shift = 0;
        while shift < RAREST && ticks >= SPARSE_FROM << shift {
            shift += EIGHTH;
        }
        SimTime((((due >> shift) + 1) << shift).saturating_mul(self.length) - self.lead)
    }

    /// True if there are more ticks between two times than a timer of `span` counts.
    pub(crate) fn exceed(self, since: SimTime, now: SimTime, span: SimDuration) -> bool {
        if self.length == 0 {
            return now.saturating_since(since) > span;
        }
        self.begun(now) - self.begun(since) > span.0.div_ceil(self.length)
    }

    /// Ticks up to `now`.
    fn begun(self, now: SimTime) -> u64 {
        (now.0 + self.lead) / self.length
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

    /// Linux 7.3: ticks of a millisecond lay 6.3 us before whole ones, every eighth of them 2 ms before a multiple of eight. A probe after
    /// 213 ms and a timeout after 200 ms fired with these. One of 504 ticks fires with a 64th by the rule; with which was not measured.
    #[test]
    fn a_long_timer_of_linux_fires_with_every_eighth_tick() {
        let linux = ticks(RtoEstimator::Linux, 5_993_700);
        let expiry = |at, wait_ms: u64| linux.expiry(SimTime(at), SimDuration(wait_ms * MS)).0;
        let eighth = |number: u64| 5_993_700 + 8 * MS * number;
        assert_eq!(expiry(2_000_000_000, 62), 2_062_993_700);
        assert_eq!(expiry(2_000_000_000, 63), eighth(258)); // 2,069.99 ms, the tick after 2,062.99
        assert_eq!(expiry(2_006_734_000, 80), eighth(261)); // 2,093.99 ms after 2,086.99
        assert_eq!(expiry(2_005_993_700, 80), eighth(261)); // the tick for which it was set is none
        assert_eq!(expiry(0, 504), eighth(64)); // 517.99 ms
        assert_eq!(expiry(0, u64::MAX / MS), u64::MAX - linux.lead); // later than any run
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
