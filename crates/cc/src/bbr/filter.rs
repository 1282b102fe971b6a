//! A windowed maximum filter.
//!
//! Source: the windowed filters of the BBR drafts. Departures: exact, where Linux keeps three values (Nichols' algorithm).

use std::collections::VecDeque;

/// The values that can still become the maximum, each with its time, greatest first.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMax {
    values: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    /// Takes `value` at `time`, drops values that are `window` or more older, and returns the greatest of the rest.
    pub(super) fn update(&mut self, time: u64, window: u64, value: u64) -> u64 {
        while self.values.back().is_some_and(|(_, smaller)| *smaller <= value) {
            self.values.pop_back();
        }
        self.values.push_back((time, value));
        self.forget(time, window);
        self.greatest()
    }

    /// Drops values that are `window` or more older than `time`.
    fn forget(&mut self, time: u64, window: u64) {
        while self.values.front().is_some_and(|(stamp, _)| stamp + window <= time) {
            self.values.pop_front();
        }
    }

    fn greatest(&self) -> u64 {
        self.values.front().map_or(0, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_as_long_as_the_window() {
        let mut filter = WindowedMax::default();
        let greatest = |filter: &mut WindowedMax| {
            let values = [(0, 9), (1, 5), (2, 7), (3, 1), (5, 2)];
            values.map(|(time, value)| filter.update(time, 3, value))
        };
        // 9 counts at 0, 1 and 2; then 7, which came at 2, until 4
        assert_eq!(greatest(&mut filter), [9, 9, 9, 7, 2]);
    }
}
