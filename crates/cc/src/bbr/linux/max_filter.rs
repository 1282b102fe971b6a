//! A windowed maximum filter that keeps three values.
//!
//! Source: Kathleen Nichols' windowed filter by its behaviour in Linux's `win_minmax`: the best value of the window, the best
//! that came after it, and the best after that. Departures: none.

/// A value and the time of its measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: u64,
    value: u64,
}

/// The three values, best first, each later than the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    best: [Seen; 3],
}

impl MaxFilter {
    pub(super) fn greatest(&self) -> u64 {
        self.best[0].value
    }

    pub(super) fn update(&mut self, now: u64, window: u64, value: u64) {
        let seen = Seen { at: now, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || now - third.at > window {
            self.best = [seen; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (seen, seen);
        } else if value >= third.value {
            *third = seen;
        }
        self.age(seen, window);
    }

    /// Drops the best value when it leaves the window. A second value must exist after a quarter of the window, a third
    /// after half of it.
    fn age(&mut self, seen: Seen, window: u64) {
        let [first, second, third] = self.best;
        let age = seen.at - first.at;
        if age > window {
            self.best = [second, third, seen];
            if seen.at - second.at > window {
                self.best = [third, seen, seen];
            }
        } else if second.at == first.at && age > window / 4 {
            self.best = [first, seen, seen];
        } else if third.at == second.at && age > window / 2 {
            self.best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_counts_for_the_window_and_then_the_best_after_it() {
        let mut filter = MaxFilter::default();
        let values = [(1, 100), (2, 50), (4, 80), (7, 70), (11, 10), (12, 10), (14, 10), (15, 10)];
        let greatest = values.map(|(now, value)| {
            filter.update(now, 10, value);
            filter.greatest()
        });
        // 100 came at 1 and counts until 11; 80, the best after it, came at 4 and counts until 14; then 70, which came at 7.
        assert_eq!(greatest, [100, 100, 100, 100, 100, 80, 80, 70]);
    }
}
