//! SACK blocks put into the scoreboard, and how a segment is found.

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};

impl Scoreboard {
    /// A SACK block. Hands every segment that it newly reports to `sacked`, as it was before. Returns what it delivers;
    /// a block outside what is outstanding tells nothing.
    pub(crate) fn sack(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let (start, end) = (start.max(self.una), end.min(self.high_data));
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

    fn mark_sacked(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let mut delivered = 0;
        let mut index = self.split_at(start);
        while index < self.segments.len() && self.segments[index].start() < end {
            self.split(index, end);
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

    /// A segment is to begin at `offset`, if one is outstanding there. Returns the index of the first that ends above it.
    pub(super) fn split_at(&mut self, offset: u64) -> usize {
        let index = self.index_of(offset);
        let begins_before = self.segments.get(index).is_some_and(|sent| sent.start() < offset);
        if begins_before {
            self.split(index, offset);
        }
        index + usize::from(begins_before)
    }

    /// If the segment ends above `offset`, it is to end there, and another goes on.
    fn split(&mut self, index: usize, offset: u64) {
        let sent = self.segments[index];
        if sent.end <= offset {
            return;
        }
        let tail = (sent.end - offset) as u32;
        self.segments[index].len = tail;
        self.segments.insert(index, Sent { end: offset, len: sent.len - tail, ..sent });
        self.sack_hint = 0;
        if self.unit > 0 {
            // One segment more to count.
            self.outstanding += self.unit;
            self.count_marks(sent.marks, self.unit);
        }
    }
}
