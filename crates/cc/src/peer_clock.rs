//! The two timestamp clocks of a connection as the sender sees them: ticks made into nanoseconds, and the length of the
//! receiver's tick.
//!
//! Sources: RFC 7323 section 5.4 (a tick of 1 ms to 1 s, 32 bits that wrap); Kim and Kim 1999 for the three times.
//! Departures: the paper's clocks have no ticks; here an unknown tick is the entry of [`TICKS`] nearest to the
//! receiver's timestamps as measured by the sender's clock. A receiver whose tick is none of these must be given as a
//! parameter.

use ackclock_units::SimDuration;

use crate::event::SegmentTimestamps;

/// The ticks in use, ns: microseconds, Linux' 1 ms and 4 ms, BSD's 10, 100 and 500 ms. No two are within a quarter of
/// each other.
pub const TICKS: [i64; 12] = [
    1_000,
    10_000,
    100_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// The receiver's ticks and the sender's time that must have passed before the two clocks are compared.
const ENOUGH_TICKS: i64 = 16;
const ENOUGH_TIME: i64 = 100_000_000;

/// The largest number of the receiver's readings kept before its tick is known.
const MOST_EARLY: usize = 1024;

/// The departures of data and of its ACK, and the ACK's arrival, in ns by the clock of each end, from an origin of its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// The departure of the data, by the sender's clock.
    pub(crate) sent: i64,
    /// The departure of the ACK, by the receiver's clock.
    pub(crate) received: i64,
    /// The arrival of the ACK, by the sender's clock.
    pub(crate) arrived: i64,
}

/// A 32-bit counter, extended beyond its wraps; it may step back.
#[derive(Clone, Copy, Debug)]
struct Counter {
    last: u32,
    count: i64,
}

impl Counter {
    fn new(first: u32) -> Self {
        Self { last: first, count: 0 }
    }

    fn advance(&mut self, to: u32) -> i64 {
        self.count += i64::from(to.wrapping_sub(self.last) as i32);
        self.last = to;
        self.count
    }
}

/// The two clocks of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    receiver_tick: Option<i64>,
    /// The sender's clock at the arrival of the latest ACK, and the receiver's clock in that ACK.
    counters: Option<(Counter, Counter)>,
    /// The readings before the receiver's tick is known: for each, in ticks, the latest departure of data and the
    /// earliest arrival of an ACK. They matter because slow start's first round trips find the queues empty.
    early: Vec<Times>,
}

impl Clocks {
    pub(crate) fn new(receiver_tick: Option<SimDuration>) -> Self {
        Self { receiver_tick: receiver_tick.map(|tick| tick.0 as i64), counters: None, early: Vec::new() }
    }

    /// The receiver's tick, ns, once it is known.
    pub(crate) fn receiver_tick(&self) -> Option<i64> {
        self.receiver_tick
    }

    /// The times of an ACK; `None` while the receiver's tick is unknown.
    pub(crate) fn read(&mut self, stamps: &SegmentTimestamps) -> Option<Times> {
        let (own, peer) = self.counters.get_or_insert((Counter::new(stamps.arrival), Counter::new(stamps.tsval)));
        let (arrival, received) = (own.advance(stamps.arrival), peer.advance(stamps.tsval));
        let tick = stamps.tick.0 as i64;
        let arrived = arrival * tick;
        let flight = i64::from(stamps.arrival.wrapping_sub(stamps.tsecr) as i32) * tick;
        let times = Times { sent: arrived - flight, received, arrived };
        if self.receiver_tick.is_none() {
            self.receiver_tick = nearest_tick(arrived, received);
            self.keep(times);
        }
        Some(Times { received: received * self.receiver_tick?, ..times })
    }

    fn keep(&mut self, times: Times) {
        if let Some(last) = self.early.last_mut().filter(|last| last.received == times.received) {
            last.sent = last.sent.max(times.sent);
            last.arrived = last.arrived.min(times.arrived);
        } else if self.early.len() < MOST_EARLY {
            self.early.push(times);
        }
    }

    /// Returns the earlier times once the receiver's tick is known, at the first call only.
    pub(crate) fn take_early(&mut self) -> Vec<Times> {
        let tick = self.receiver_tick.unwrap_or(0);
        std::mem::take(&mut self.early)
            .into_iter()
            .map(|times| Times { received: times.received * tick, ..times })
            .collect()
    }
}

/// The tick of a clock that has shown `ticks` while `elapsed` ns went by.
fn nearest_tick(elapsed: i64, ticks: i64) -> Option<i64> {
    if ticks < ENOUGH_TICKS || elapsed < ENOUGH_TIME {
        return None;
    }
    // Within a quarter, which no two entries of the list are of each other.
    TICKS.into_iter().find(|tick| (elapsed - tick * ticks).abs() * 4 < tick * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(arrival: u32, tsval: u32) -> SegmentTimestamps {
        let tick = SimDuration::from_millis(1);
        SegmentTimestamps { tsval, tsecr: arrival.wrapping_sub(80), arrival, tick }
    }

    #[test]
    fn a_tick_is_known_after_sixteen_of_them() {
        let mut clocks = Clocks::new(None);
        assert_eq!(clocks.read(&stamps(1_000, 77)), None);
        assert_eq!(clocks.read(&stamps(1_140, 91)), None); // 14 ticks
        // 165 ms and 16 ticks: 10.3 ms each
        let times = clocks.read(&stamps(1_165, 93)).expect("known");
        assert_eq!(clocks.receiver_tick(), Some(10_000_000));
        assert_eq!(times, Times { sent: 85_000_000, received: 160_000_000, arrived: 165_000_000 });
    }

    #[test]
    fn what_came_before_the_tick_was_known_is_kept() {
        let mut clocks = Clocks::new(None);
        for (arrival, tsval) in [(1_000, 77), (1_001, 77), (1_140, 91)] {
            assert_eq!(clocks.read(&stamps(arrival, tsval)), None);
        }
        clocks.read(&stamps(1_165, 93)).expect("known");
        // of the two that read 77: the later sent, 80 ms before 1 001, the earlier arrived; the origin is the first ACK
        let early = clocks.take_early();
        assert_eq!(early[0], Times { sent: -79_000_000, received: 0, arrived: 0 });
        assert_eq!(early[1], Times { sent: 60_000_000, received: 140_000_000, arrived: 140_000_000 });
        assert!(clocks.take_early().is_empty());
    }

    #[test]
    fn both_clocks_may_wrap() {
        let mut clocks = Clocks::new(Some(SimDuration::from_millis(1)));
        clocks.read(&stamps(u32::MAX - 9, u32::MAX - 4));
        let times = clocks.read(&stamps(90, 95)).expect("known"); // both went on by 100
        assert_eq!(times, Times { sent: 20_000_000, received: 100_000_000, arrived: 100_000_000 });
    }

    #[test]
    fn a_clock_of_no_usual_tick_stays_unknown() {
        assert_eq!(nearest_tick(1_000_000_000, 20), None); // 50 ms: not within a quarter of 20 or of 100 ms
    }
}
