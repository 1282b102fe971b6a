//! The clock of a link of fixed rate.

use ackclock_units::{Bandwidth, SimDuration, SimTime};

/// Bits in an octet times nanoseconds in a second.
const OCTET_AT_ONE_BIT_PER_SECOND: u64 = 8_000_000_000;

/// Time that an octet takes at some rate: exactly `numerator / denominator` nanoseconds, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    numerator: u64,
    denominator: u64,
}

impl Pace {
    /// Pace of a rate above zero.
    pub(crate) fn of(rate: Bandwidth) -> Self {
        let divisor = greatest_common_divisor(OCTET_AT_ONE_BIT_PER_SECOND, rate.0);
        Self { numerator: OCTET_AT_ONE_BIT_PER_SECOND / divisor, denominator: rate.0 / divisor }
    }

    /// True if every octet takes whole nanoseconds, as at 100 Mbit/s and at 1 Gbit/s: this avoids divisions, which are
    /// slow.
    #[inline]
    fn is_whole(self) -> bool {
        self.denominator == 1
    }

    /// Time of `octets` octets: whole nanoseconds, and the remainder in units of one `denominator`-th of one.
    #[inline]
    fn parts(self, octets: u64) -> (u64, u64) {
        debug_assert!(octets < 1 << 31, "the product has 64 bits");
        let work = octets * self.numerator;
        (work / self.denominator, work % self.denominator)
    }

    /// The same time, rounded up.
    #[inline]
    pub(crate) fn rounded_up(self, octets: u64) -> SimDuration {
        let (whole, rest) = self.parts(octets);
        SimDuration(whole + u64::from(rest > 0))
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Time at which the link is free, exactly: the remainder of rounding to nanoseconds is carried to the next packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkClock {
    free_at: SimTime,
    /// The lead of the exact time over `free_at`, counted from the nanosecond before, in units of the pace; below one
    /// nanosecond.
    fraction: u64,
    sent: SimDuration,
    /// Octets clocked; counted only in builds with assertions.
    #[cfg(debug_assertions)]
    octets: u64,
}

impl LinkClock {
    /// The stopped clock of a link with another kind of clock, whose end of service is unknown.
    pub(crate) fn stopped() -> Self {
        Self { free_at: SimTime::NEVER, ..Self::default() }
    }

    /// Says when the link is free, where something else than a pace knows it.
    pub(crate) fn hold_until(&mut self, free_at: SimTime) {
        self.free_at = free_at;
    }

    #[inline]
    pub(crate) fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Clocks a packet that arrived at `now`; returns when its last bit has left, rounded up. The pace is always the same.
    #[inline]
    pub(crate) fn serialize(&mut self, pace: Pace, now: SimTime, octets: u64) -> SimTime {
        let begins = self.free_at.max(now);
        let end = self.clock_in(pace, now, octets);
        self.sent += end - begins;
        self.count(octets);
        end
    }

    /// Returns when the last bit has left, rounded up.
    #[inline]
    fn clock_in(&mut self, pace: Pace, now: SimTime, octets: u64) -> SimTime {
        let old = self.free_at;
        if pace.is_whole() {
            self.free_at = old.max(now) + SimDuration(octets * pace.numerator);
            return self.free_at;
        }
        let (whole, rest) = pace.parts(octets);
        // Exact end of the packet before: `floor` nanoseconds and `fraction`.
        let (floor, fraction) =
            if old > now { (old.0 - u64::from(self.fraction > 0), self.fraction) } else { (now.0, 0) };
        let mut end = floor + whole;
        let mut sum = fraction + rest;
        if sum >= pace.denominator {
            sum -= pace.denominator;
            end += 1;
        }
        self.fraction = sum;
        self.free_at = SimTime(end + u64::from(sum > 0));
        self.free_at
    }

    #[inline]
    #[cfg_attr(not(debug_assertions), allow(clippy::unused_self, reason = "nothing is counted"))]
    fn count(&mut self, octets: u64) {
        #[cfg(debug_assertions)]
        {
            self.octets += octets;
        }
        #[cfg(not(debug_assertions))]
        let _ = octets;
    }

    /// Time for which the link has been sending, up to [`Self::free_at`].
    pub(crate) fn sent(&self) -> SimDuration {
        self.sent
    }

    /// In builds with assertions, checks that no octet took less time than the pace allows.
    pub(crate) fn check_pace(&self, pace: Pace) {
        #[cfg(debug_assertions)]
        {
            let (work, could) = (
                u128::from(self.octets) * u128::from(pace.numerator),
                u128::from(pace.denominator) * u128::from(self.sent.0),
            );
            assert!(work <= could, "{} octets sent in {:?} at {pace:?}", self.octets, self.sent);
        }
        #[cfg(not(debug_assertions))]
        let _ = pace;
    }

    /// Clocks a packet whose service begins at `start`, when the link is free. If it was sending until then, the
    /// rounding remainder of the packet before counts.
    pub(crate) fn serve(&mut self, pace: Pace, start: SimTime, octets: u64) -> SimTime {
        let follows_on = start == self.free_at && self.fraction > 0;
        self.serialize(pace, SimTime(start.0 - u64::from(follows_on)), octets)
    }

    /// Time for which the link has been sending up to `now`. Exact for packets that entered in real time: the link is
    /// busy without a gap until it is free.
    pub(crate) fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent - self.free_at.saturating_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Bytes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pace_is_the_time_of_an_octet(rate in 1_u64..=10_000_000_000_000, octets in 0_u64..100_000) {
            let expected = Bandwidth(rate).serialization_delay(Bytes(octets));
            prop_assert_eq!(Pace::of(Bandwidth(rate)).rounded_up(octets), expected);
        }
    }
}
