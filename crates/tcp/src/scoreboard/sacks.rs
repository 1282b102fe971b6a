//! SACK blocks put into the scoreboard, and how a segment is found.

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};

impl Scoreboard {
    /// A SACK block. Hands every segment that it newly reports to `sacked`, as it was before. Returns what it delivers;
    /// a block outside what is outstanding tells nothing, nor does the part of it that covers no whole segment.
    pub(crate) fn sack(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let (start, end) = self.whole_segments(start.max(self.una), end.min(self.high_data));
        if start >= end {
            return 0;
        }
        if let Some(last) = self.sacked.extend_last(start, end) {
            return self.mark_sacked(last.end.max(start), end, sacked);
        }
        if self.sacked.contains(start, end) {
            return 0;
        }
        let mut delivered = 0;
        let mut known = std::mem::take(&mut self.sacked);
        known.insert(start, end, |piece| delivered += self.mark_sacked(piece.start, piece.end, sacked));
        self.sacked = known;
        delivered
    }

    /// What of `[start, end)` consists of segments as they were sent.
    fn whole_segments(&self, start: u64, end: u64) -> (u64, u64) {
        if start >= end {
            return (start, end);
        }
        let begins_inside = |offset| self.segments.get(self.index_of(offset)).filter(|sent| sent.start() < offset);
        // Most blocks are those of before, grown at their end.
        let is_known = self.sacked.last().is_some_and(|last| (last.start..=last.end).contains(&start));
        let start = if is_known { start } else { begins_inside(start).map_or(start, |sent| sent.end) };
        let end = if end == self.high_data { end } else { begins_inside(end).map_or(end, Sent::start) };
        (start, end)
    }

    fn mark_sacked(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let mut delivered = 0;
        let mut index = self.index_of(start);
        while index < self.segments.len() && self.segments[index].start() < end {
            let sent = self.segments[index];
            sacked(&sent);
            let weight = self.weight(u64::from(sent.len));
            self.uncount(sent.marks & (LOST | RETRANSMITTED), weight);
            self.segments[index].marks = (sent.marks & EVER_RETRANSMITTED) | SACKED;
            self.sacked_out += weight;
            delivered += weight;
            index += 1;
        }
        self.sack_hint = self.popped + index as u64;
        delivered
    }

    /// Index of the first segment that ends above `offset`.
    pub(super) fn index_of(&self, offset: u64) -> usize {
        match self.segments.front() {
            Some(front) if front.end > offset => 0,
            Some(front) => self
                .among_full_ones(front, offset)
                .or_else(|| self.near_hint(offset))
                .unwrap_or_else(|| self.segments.partition_point(|sent| sent.end <= offset)),
            None => 0,
        }
    }

    /// The same, if it is about where the last SACK block ended: the next one mostly goes on there.
    fn near_hint(&self, offset: u64) -> Option<usize> {
        let first = usize::try_from(self.sack_hint.checked_sub(self.popped)?).ok()?;
        let last = (first + 4).min(self.segments.len());
        (first..last).find(|&index| self.segments[index].end > offset).filter(|&index| self.begins_after(index, offset))
    }

    /// The same, if the segments before it are full ones, as most are.
    fn among_full_ones(&self, front: &Sent, offset: u64) -> Option<usize> {
        let index = (1 + (offset - front.end) / self.mss) as usize;
        let is_above = self.segments.get(index)?.end > offset;
        (is_above && self.begins_after(index, offset)).then_some(index)
    }

    fn begins_after(&self, index: usize, offset: u64) -> bool {
        index == 0 || self.segments[index - 1].end <= offset
    }
}
