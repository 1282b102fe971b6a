//! What SACK blocks to report (RFC 2018 section 4): the ranges that changed last.

use crate::ranges::Range;

/// The four ranges changed last. A range changes only by growing into the newest one, so those kept are exact.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentRanges {
    pub(super) ranges: [Range; 4],
    pub(super) len: usize,
    forgotten_below: u64,
}

impl RecentRanges {
    fn retain(&mut self, keep: impl Fn(Range) -> bool) {
        let mut kept = 0;
        for index in 0..self.len {
            if keep(self.ranges[index]) {
                self.ranges[kept] = self.ranges[index];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// `range` has just been made or has grown; it has swallowed whatever it overlaps.
    pub(super) fn on_changed(&mut self, range: Range) {
        self.retain(|known| known.end < range.start || range.end < known.start);
        self.len = (self.len + 1).min(self.ranges.len());
        //= rfc2018-4-repeat-latest
        self.ranges[..self.len].rotate_right(1);
        //= rfc2018-4-latest-first
        self.ranges[0] = range;
    }

    /// `range` has grown at its end and swallowed nothing.
    pub(super) fn on_lengthened(&mut self, range: Range) {
        if self.len > 0 && self.ranges[0].start == range.start {
            self.ranges[0] = range;
        } else {
            self.on_changed(range);
        }
    }

    /// Nothing below `offset` is out of order any more.
    pub(super) fn forget_below(&mut self, offset: u64) {
        if self.forgotten_below != offset {
            self.forgotten_below = offset;
            self.retain(|known| known.end > offset);
        }
    }
}
