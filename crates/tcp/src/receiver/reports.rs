//! SACK blocks to report (RFC 2018 section 4): the ranges that changed last.

use ackclock_wire::{SackBlock, SackBlocks, Seq};

use super::Receiver;
use crate::ranges::Range;

/// Number of blocks for which there is always room (Linux's `TCP_SACK_BLOCKS_EXPECTED`).
const SURE: usize = 2;

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

    /// `range`, which comes first next, moves others to where they may not be reported: those beyond the second are not where options are long.
    pub(super) fn pushes_out(&self, range: Range) -> bool {
        let touches = |known: &Range| known.start <= range.end && range.start <= known.end;
        self.ranges[..self.len].iter().position(touches).unwrap_or(self.len) >= SURE
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

impl Receiver {
    /// No duplicate is reported.
    pub(crate) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// True if the next segment reports a duplicate.
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// There are SACK blocks to send.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        !self.out_of_order.is_empty() || self.duplicate.is_some()
    }

    /// The SACK blocks to send, at most `limit` (RFC 2018 section 4).
    pub(crate) fn sack_blocks(&mut self, limit: usize) -> SackBlocks {
        //= rfc2883-4-once
        if let Some(duplicate) = self.duplicate.take() {
            return self.blocks_with_duplicate(duplicate, limit);
        }
        //= rfc2018-4-every-ack
        self.recent.forget_below(self.rcv_nxt);
        SackBlocks::new(self.recent.ranges.map(|range| self.block(range)), self.recent.len.min(limit))
    }

    /// A range as it is reported.
    fn block(&self, range: Range) -> SackBlock {
        let seq = |offset| Seq::of_offset(self.peer_initial, offset);
        SackBlock { start: seq(range.start), end: seq(range.end) }
    }

    /// RFC 2883 section 4: the duplicate comes first, then the block that it lies in, if there is one, and others.
    fn blocks_with_duplicate(&mut self, duplicate: Range, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        //= rfc2883-4-first-block
        blocks.push(self.block(duplicate));
        //= rfc2883-4-superset
        let others = self.sack_blocks(limit - 1);
        others.as_slice().iter().for_each(|block| blocks.push(*block));
        blocks
    }
}
