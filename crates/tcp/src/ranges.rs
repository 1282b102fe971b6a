//! A set of offsets as sorted, disjoint, non-adjacent ranges. The scoreboard and the receiver keep theirs in it.

use std::collections::VecDeque;

/// Half-open range `[start, end)`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first offset in it.
    pub start: u64,
    /// The first behind it.
    pub end: u64,
}

impl Range {
    /// Number of offsets in the range.
    #[allow(clippy::len_without_is_empty, reason = "no range here is empty")]
    pub fn len(self) -> u64 {
        self.end - self.start
    }
}

/// See the module. Work at either end is O(1) amortised; in the middle it costs a search and a move.
///
/// The highest range, the only one that is mostly read, lies with whoever holds the set, and no way through memory leads to it.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    /// All but the highest.
    lower: VecDeque<Range>,
    last: Option<Range>,
}

impl RangeSet {
    /// True if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Number of ranges.
    pub fn count(&self) -> usize {
        self.lower.len() + usize::from(self.last.is_some())
    }

    /// The highest range, if any.
    pub fn last(&self) -> Option<Range> {
        self.last
    }

    /// The ranges, the lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.lower.iter().copied().chain(self.last)
    }

    /// Adds `[start, end)` if all that this does is to lengthen the last range, as new data mostly does. Returns that
    /// range as it was before.
    pub fn extend_last(&mut self, start: u64, end: u64) -> Option<Range> {
        let last = self.last.as_mut()?;
        let before = *last;
        if start < before.start || start > before.end || end <= before.end {
            return None;
        }
        last.end = end;
        Some(before)
    }

    /// Adds `[start, end)` and hands every piece that was not yet in the set to `added`. Returns the range that now
    /// holds it.
    pub fn insert(&mut self, start: u64, end: u64, mut added: impl FnMut(Range)) -> Range {
        if let Some(last) = self.last.take() {
            self.lower.push_back(last);
        }
        // The ranges that touch the new one are those in first..behind.
        let first = self.first_ending_at_or_after(start);
        let mut behind = first;
        let mut merged = Range { start, end };
        let mut uncovered = start;
        while let Some(range) = self.lower.get(behind).copied().filter(|range| range.start <= end) {
            if uncovered < range.start {
                added(Range { start: uncovered, end: range.start });
            }
            uncovered = uncovered.max(range.end);
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
            behind += 1;
        }
        if uncovered < end {
            added(Range { start: uncovered, end });
        }
        if first == behind {
            self.lower.insert(first, merged);
        } else {
            self.lower[first] = merged;
            self.lower.drain(first + 1..behind);
        }
        self.last = self.lower.pop_back();
        merged
    }

    /// True if all of `[start, end)` is in the set.
    #[inline]
    pub fn contains(&self, start: u64, end: u64) -> bool {
        match self.last {
            Some(last) if end <= last.end => last.start <= start || self.contains_below(start, end),
            _ => false, // new data, nearly always
        }
    }

    fn contains_below(&self, start: u64, end: u64) -> bool {
        self.lower.get(self.first_ending_at_or_after(end)).is_some_and(|range| range.start <= start && end <= range.end)
    }

    /// The first part of `[start, end)` that is in the set.
    pub fn first_overlap(&self, start: u64, end: u64) -> Option<Range> {
        let range = self.lower.get(self.first_ending_at_or_after(start + 1)).copied().or(self.last)?;
        let overlap = Range { start: start.max(range.start), end: end.min(range.end) };
        (overlap.start < overlap.end).then_some(overlap)
    }

    /// Takes out everything below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while let Some(front) = self.lower.front_mut() {
            if front.start >= bound {
                return;
            }
            if front.end > bound {
                front.start = bound;
                return;
            }
            self.lower.pop_front();
        }
        self.last.take_if(|last| last.end <= bound);
        if let Some(last) = &mut self.last {
            last.start = last.start.max(bound);
        }
    }

    /// Takes the first range out if it begins at or below `offset`.
    pub fn take_front_reaching(&mut self, offset: u64) -> Option<Range> {
        match self.lower.front() {
            None => self.last.take_if(|last| last.start <= offset),
            Some(_) => self.lower.pop_front_if(|front| front.start <= offset),
        }
    }

    /// Index of the first range, below the last, that ends at or after `offset`
    fn first_ending_at_or_after(&self, offset: u64) -> usize {
        // New data sits at the high end nearly always.
        match self.lower.back() {
            None => 0,
            Some(last) if last.end < offset => self.lower.len(),
            Some(last) if last.start <= offset => self.lower.len() - 1,
            Some(_) => self.lower.partition_point(|range| range.end < offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet {
        let mut set = RangeSet::default();
        for &(start, end) in ranges {
            set.insert(start, end, |_| {});
        }
        set
    }

    fn pairs(set: &RangeSet) -> Vec<(u64, u64)> {
        set.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn inserting_merges_what_touches_and_reports_what_is_new() {
        let mut set = set(&[(10, 20), (30, 40), (60, 70)]);
        let mut added = Vec::new();
        let merged = set.insert(15, 60, |piece| added.push((piece.start, piece.end)));
        assert_eq!(added, [(20, 30), (40, 60)]);
        assert_eq!((merged.start, merged.end), (10, 70));
        assert_eq!(pairs(&set), [(10, 70)]);
    }

    #[test]
    fn lookups() {
        let mut set = set(&[(10, 20), (30, 40)]);
        let overlaps = [(0, 10), (0, 11), (12, 35), (20, 30), (20, 50), (40, 50)].map(|(start, end)| {
            let overlap = set.first_overlap(start, end);
            overlap.map(|range| (range.start, range.end))
        });
        assert_eq!(overlaps, [None, Some((10, 11)), Some((12, 20)), None, Some((30, 40)), None]);
        assert!(set.contains(12, 20) && !set.contains(12, 21) && !set.contains(25, 26));
        set.remove_below(32);
        assert_eq!(pairs(&set), [(32, 40)]);
        assert_eq!(set.take_front_reaching(32).map(Range::len), Some(8));
    }

    #[test]
    fn the_highest_range_is_a_range_as_the_others() {
        let mut set = set(&[(10, 20), (30, 40)]);
        assert_eq!(set.take_front_reaching(10).map(|range| range.end), Some(20));
        assert_eq!((set.count(), set.take_front_reaching(29)), (1, None));
        set.remove_below(35);
        assert_eq!(set.extend_last(40, 45), Some(Range { start: 35, end: 40 }));
        set.insert(50, 60, |_| {});
        set.insert(20, 25, |_| {});
        assert_eq!(pairs(&set), [(20, 25), (35, 45), (50, 60)]);
        assert!(set.contains(35, 45) && !set.contains(40, 51) && set.contains(50, 60));
        set.remove_below(45);
        assert_eq!(pairs(&set), [(50, 60)]);
        set.remove_below(60);
        assert_eq!((set.is_empty(), set.last()), (true, None));
    }
}
