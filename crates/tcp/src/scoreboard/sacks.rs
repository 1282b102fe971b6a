//! SACK blocks put into the scoreboard, and how a segment is found.

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, Scoreboard, SendTimes, Sent};

/// New information of a SACK block.
struct Marked {
    delivered: u64,
    /// End of its last whole segment.
    end: u64,
}

impl Scoreboard {
    /// Takes in a SACK block. Hands every segment that it newly reports to `sacked`, in its state before. Returns the
    /// octets that it delivers; a block outside the outstanding data has no effect, nor does the part of it that covers
    /// no whole segment.
    pub(crate) fn sack(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let (start, end) = (start.max(self.una), end.min(self.high_data));
        if start >= end || self.sacked.contains(start, end) {
            return 0; // of the blocks of an ACK most repeat what those before it said
        }
        if let Some(last) = self.sacked.last().filter(|last| (last.start..=last.end).contains(&start)) {
            return self.extend_last(last.end, end, sacked); // most of the others are those of before, grown at their end
        }
        let (start, end) = self.whole_segments(start, end);
        if start >= end {
            return 0;
        }
        let mut delivered = 0;
        let mut known = std::mem::take(&mut self.sacked);
        known.insert(start, end, |piece| delivered += self.mark_sacked(piece.start, piece.end, sacked).delivered);
        self.sacked = known;
        delivered
    }

    /// New end of the highest SACKed range, if the blocks only lengthen it.
    #[inline]
    pub(crate) fn lengthens_last(&self, blocks: &[(u64, u64)]) -> Option<u64> {
        let &[(start, end)] = blocks else { return None };
        let last = self.sacked.last()?;
        (last.start <= start && start <= last.end && last.end < end && end <= self.high_data).then_some(end)
    }

    /// Same as [`Self::sack`], for [`Self::lengthens_last`]. Returns the departure times of the segments, too.
    pub(crate) fn lengthen_last(&mut self, end: u64, sacked: &mut impl FnMut(&Sent)) -> (u64, SendTimes) {
        let mut times = SendTimes::default();
        let from = self.sacked.last().map_or(end, |last| last.end);
        let delivered = self.extend_last(from, end, &mut |sent| {
            times.note(sent);
            sacked(sent);
        });
        (delivered, times)
    }

    /// The highest SACKed range, which ended at `from`, goes up to `end`.
    fn extend_last(&mut self, from: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> u64 {
        let marked = self.mark_sacked(from, end, sacked);
        self.sacked.extend_last(from, marked.end);
        marked.delivered
    }

    /// Retransmissions in a duplicate `[start, end)` that the receiver reports: of what is still kept the segments that were
    /// retransmitted, and as many segments as it has octets for of what is not (Linux).
    pub(crate) fn retransmissions_in(&self, (start, end): (u64, u64)) -> u32 {
        if end <= self.una {
            return (end - start).div_ceil(self.mss).max(1) as u32;
        }
        let first = self.index_of(start.max(self.una));
        let within = self.segments.range(first..).take_while(|sent| sent.end <= end);
        within.filter(|sent| sent.was_retransmitted()).count() as u32
    }

    /// Part of `[start, end)` that consists of whole segments as they were sent.
    fn whole_segments(&self, start: u64, end: u64) -> (u64, u64) {
        let begins_inside = |offset| self.segments.get(self.index_of(offset)).filter(|sent| sent.start() < offset);
        let start = begins_inside(start).map_or(start, |sent| sent.end);
        let end = if end == self.high_data { end } else { begins_inside(end).map_or(end, Sent::start) };
        (start, end)
    }

    /// Marks the segments from the one at `start` on that end at `end` or below it.
    fn mark_sacked(&mut self, start: u64, end: u64, sacked: &mut impl FnMut(&Sent)) -> Marked {
        let mut marked = Marked { delivered: 0, end: start };
        let mut index = self.index_from(self.sack_hint, start);
        while let Some(sent) = self.segments.get_mut(index).filter(|sent| sent.end <= end) {
            let before = *sent;
            sent.marks = (before.marks & EVER_RETRANSMITTED) | SACKED;
            sacked(&before);
            let weight = self.weight(u64::from(before.len));
            if before.marks != 0 {
                self.uncount(before.marks & (LOST | RETRANSMITTED), weight);
            }
            self.sacked_out += weight;
            marked.delivered += weight;
            marked.end = before.end;
            index += 1;
        }
        self.sack_hint = self.popped + index as u64;
        marked
    }

    /// Same as [`Self::index_of`], with a hint of where the index probably is.
    #[inline]
    pub(super) fn index_from(&self, hint: u64, offset: u64) -> usize {
        let index = hint.wrapping_sub(self.popped) as usize;
        if self.is_at(index, offset) { index } else { self.index_of(offset) }
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

    /// Index of the segment at `offset`, if it is about where the last SACK block ended: the next one mostly goes on
    /// there.
    fn near_hint(&self, offset: u64) -> Option<usize> {
        let first = usize::try_from(self.sack_hint.checked_sub(self.popped)?).ok()?;
        (first..first + 4).find(|&index| self.is_at(index, offset))
    }

    /// Index of the segment at `offset`, if the segments before it are full ones, as most are.
    fn among_full_ones(&self, front: &Sent, offset: u64) -> Option<usize> {
        let index = (1 + (offset - front.end) / self.mss) as usize;
        self.is_at(index, offset).then_some(index)
    }

    /// True if `offset` lies in this segment.
    #[inline]
    fn is_at(&self, index: usize, offset: u64) -> bool {
        self.segments.get(index).is_some_and(|sent| sent.start() <= offset && offset < sent.end)
    }
}
