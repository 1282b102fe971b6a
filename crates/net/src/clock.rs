//! The clock of a link of fixed rate.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// When the link is free, exactly: what rounding to nanoseconds leaves is carried to the next packet.
#[derive(Clone, Debug)]
pub(crate) struct LinkClock {
    rate: Bandwidth,
    free_at: SimTime,
    /// In units of 1/rate nanoseconds, below `rate`: how much earlier than `free_at` it is exactly free, counted from
    /// the nanosecond before.
    fraction: u64,
    sent: SimDuration,
    /// Octets clocked, where assertions are checked.
    #[cfg(debug_assertions)]
    octets: u64,
    /// Serialisation times of recent sizes: there are few.
    cache: [(u64, u64, u64); 8],
}

impl LinkClock {
    pub(crate) fn new(rate: Bandwidth) -> Self {
        Self {
            rate,
            free_at: SimTime::ZERO,
            fraction: 0,
            sent: SimDuration::ZERO,
            #[cfg(debug_assertions)]
            octets: 0,
            cache: [(u64::MAX, 0, 0); 8],
        }
    }

    pub(crate) fn free_at(&self) -> SimTime {
        self.free_at
    }

    pub(crate) fn parts(&mut self, octets: u64) -> (u64, u64) {
        let slot = &mut self.cache[(octets as usize >> 4) % 8];
        if slot.0 != octets {
            let (whole, rest) = self.rate.serialization_parts(Bytes(octets));
            *slot = (octets, whole, rest);
        }
        (slot.1, slot.2)
    }

    /// Clocks a packet that arrived at `now`; returns when its last bit has left, rounded up.
    pub(crate) fn serialize(&mut self, now: SimTime, octets: u64) -> SimTime {
        let (whole, rest) = self.parts(octets);
        let old = self.free_at;
        // Exact end of the packet before: `floor` nanoseconds and `fraction`.
        let (floor, fraction) =
            if old > now { (old.0 - u64::from(self.fraction > 0), self.fraction) } else { (now.0, 0) };
        let mut end = floor + whole;
        let mut sum = fraction + rest;
        if sum >= self.rate.0 {
            sum -= self.rate.0;
            end += 1;
        }
        self.fraction = sum;
        self.free_at = SimTime(end + u64::from(sum > 0));
        self.sent += self.free_at - old.max(now);
        #[cfg(debug_assertions)]
        {
            self.octets += octets;
        }
        self.free_at
    }

    /// In builds with assertions, checks that no octet took less time than the rate allows.
    pub(crate) fn check_rate(&self) {
        #[cfg(debug_assertions)]
        {
            let (work, could) =
                (u128::from(self.octets) * 8_000_000_000, u128::from(self.rate.0) * u128::from(self.sent.0));
            assert!(work <= could, "{} octets sent in {:?} at {:?}", self.octets, self.sent, self.rate);
        }
    }

    /// Clocks a packet whose service begins at `start`, when the link is free; if it was sending until then, what
    /// rounding left of the packet before counts.
    pub(crate) fn serve(&mut self, start: SimTime, octets: u64) -> SimTime {
        let follows_on = start == self.free_at && self.fraction > 0;
        self.serialize(SimTime(start.0 - u64::from(follows_on)), octets)
    }

    /// Exact for packets that entered in real time: the link is busy without a gap until it is free.
    pub(crate) fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent - self.free_at.saturating_since(now)
    }
}
