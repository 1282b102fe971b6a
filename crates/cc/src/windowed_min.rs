//! A windowed minimum filter.
//!
//! Source: Lemire, Streaming Maximum-Minimum Filter Using No More than Three Comparisons per Element, 2006. Departures:
//! the past is a span of time, which may change from one value to the next.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

/// The minimum of values in a time window.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMin {
    /// The values that can still become the minimum, in rising order of value and time.
    entries: VecDeque<(SimTime, u64)>,
}

impl WindowedMin {
    /// Adds a value measured at `now`, drops those older than `window`, and returns the least of the rest.
    pub(crate) fn update(&mut self, now: SimTime, value: u64, window: SimDuration) -> u64 {
        while self.entries.back().is_some_and(|(_, last)| *last >= value) {
            self.entries.pop_back();
        }
        self.entries.push_back((now, value));
        while self.entries.front().is_some_and(|(at, _)| now.saturating_since(*at) > window) {
            self.entries.pop_front();
        }
        self.entries.front().map_or(value, |(_, least)| *least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_forgotten_when_it_is_old() {
        let mut least = WindowedMin::default();
        let window = SimDuration::from_secs(10);
        let values = [(0, 5), (1, 7), (9, 6), (10, 8), (11, 9), (20, 9)];
        let seen = values.map(|(at, value)| least.update(SimTime(at * 1_000_000_000), value, window));
        assert_eq!(seen, [5, 5, 5, 5, 6, 8]); // 5 is 11 s old at 11 s; 6 at 20 s
    }
}
