//! Growth of a count over time, coarsely.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

/// The most points that are kept; then every other one goes.
const CAPACITY: usize = 1024;

/// A count that never falls, as points between which it grew evenly. Points closer than a spacing are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    points: VecDeque<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    at: SimTime,
    count: Bytes,
}

impl History {
    /// The count is this now; before the first time it was zero. Nothing happens where it did not grow.
    pub(crate) fn record(&mut self, now: SimTime, count: Bytes, spacing: SimDuration) {
        let Some(last) = self.points.back().copied() else {
            self.points.push_back(Point { at: now, count: Bytes::ZERO });
            if count > Bytes::ZERO {
                self.points.push_back(Point { at: now, count });
            }
            return;
        };
        debug_assert!(now >= last.at && count >= last.count, "time or count fell: {now:?}, {count}");
        if count == last.count {
            return;
        }
        if last.at + spacing < now {
            // It rested until now: without this point it would seem to have grown meanwhile.
            self.points.push_back(Point { at: now, count: last.count });
            self.points.push_back(Point { at: now, count });
        } else if self.may_merge(now, spacing) {
            self.points.pop_back();
            self.points.push_back(Point { at: now, count });
        } else {
            self.points.push_back(Point { at: now, count });
        }
        self.thin();
    }

    /// True if the last point stands for what happened since the last but one, no longer ago than a spacing.
    fn may_merge(&self, now: SimTime, spacing: SimDuration) -> bool {
        self.points.len() >= 2 && now <= self.points[self.points.len() - 2].at + spacing
    }

    fn thin(&mut self) {
        if self.points.len() > CAPACITY {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1 || index > CAPACITY
            });
        }
    }

    /// Forget what came before this count, but for the point from which it grew to it.
    pub(crate) fn forget_before(&mut self, count: Bytes) {
        while self.points.len() >= 2 && self.points[1].count <= count {
            self.points.pop_front();
        }
    }

    /// Forget what came before this moment, but for the point from which it is reckoned.
    pub(crate) fn forget_until(&mut self, at: SimTime) {
        while self.points.len() >= 2 && self.points[1].at <= at {
            self.points.pop_front();
        }
    }

    /// The count at a moment; the first or last known one outside of what is known.
    pub(crate) fn count_at(&self, at: SimTime) -> Bytes {
        let after = self.points.partition_point(|point| point.at <= at);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (Some(a), Some(b)) => {
                let grown = scaled((b.count - a.count).0, (at - a.at).0, (b.at - a.at).0);
                Bytes(a.count.0 + grown)
            }
            (Some(only), None) => only.count,
            (None, first) => first.map_or(Bytes::ZERO, |point| point.count),
        }
    }

    /// Time at which the count went beyond this one: the moment at which the next octet was counted. `None`: not yet.
    pub(crate) fn time_beyond(&self, count: Bytes) -> Option<SimTime> {
        let after = self.points.partition_point(|point| point.count <= count);
        let b = self.points.get(after)?;
        let Some(a) = after.checked_sub(1).map(|before| self.points[before]) else { return Some(b.at) };
        Some(SimTime(a.at.0 + scaled((b.at - a.at).0, (count - a.count).0, (b.count - a.count).0)))
    }
}

/// `amount * part / whole`, rounded down; `whole` is not zero.
fn scaled(amount: u64, part: u64, whole: u64) -> u64 {
    (u128::from(amount) * u128::from(part) / u128::from(whole)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: SimDuration = SimDuration::from_millis(1);

    fn at(milliseconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_millis(milliseconds)
    }

    fn history(points: &[(u64, u64)]) -> History {
        let mut history = History::default();
        for &(ms, count) in points {
            history.record(at(ms), Bytes(count), SPACING);
        }
        history
    }

    #[test]
    fn between_two_close_points_it_grew_evenly() {
        let history = history(&[(0, 0), (1, 1000)]);
        // a quarter of the way from 0 to 1000 in 1 ms
        assert_eq!(history.count_at(SimTime(250_000)), Bytes(250));
        assert_eq!(history.time_beyond(Bytes(250)), Some(SimTime(250_000)));
    }

    #[test]
    fn after_a_rest_it_grew_at_once() {
        let history = history(&[(0, 0), (1, 1000), (101, 5000)]);
        assert_eq!(history.count_at(at(100)), Bytes(1000));
        assert_eq!(history.count_at(at(101)), Bytes(5000));
        // octet 1001 was counted after the rest
        assert_eq!(history.time_beyond(Bytes(1000)), Some(at(101)));
        assert_eq!(history.time_beyond(Bytes(5000)), None);
    }

    #[test]
    fn what_is_forgotten_leaves_the_rest_as_it_was() {
        let mut history = history(&[(0, 0), (1, 1000), (2, 1500), (3, 1750)]);
        history.forget_before(Bytes(1100));
        assert_eq!(history.time_beyond(Bytes(1250)), Some(SimTime(1_500_000)));
        history.forget_until(SimTime(2_500_000));
        assert_eq!(history.count_at(SimTime(2_500_000)), Bytes(1625));
    }

    #[test]
    fn however_long_it_is_few_points_are_kept() {
        let mut history = History::default();
        for ms in 0..10_000 {
            history.record(at(ms), Bytes(ms * 10), SPACING);
        }
        assert!(history.points.len() <= CAPACITY);
        // thinning joins neighbours, and it grew evenly throughout
        assert_eq!(history.count_at(at(1234)), Bytes(12_340));
    }
}
