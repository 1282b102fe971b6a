//! Lost segments, and which of them are retransmitted (RFC 6675 section 4).

use ackclock_units::SimTime;

use super::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, Retransmission, SACKED, Scoreboard, Sent};
use crate::ranges::{Range, RangeSet};

impl Scoreboard {
    /// RFC 6675 section 4, `IsLost`, for everything at once: a segment is lost if `dup_thresh` discontiguous SACKed
    /// ranges, or more than `(dup_thresh - 1) * mss` SACKed octets, lie above it. Returns what is newly lost.
    pub(crate) fn detect_loss(&mut self, dup_thresh: u32) -> u64 {
        let enough = u64::from(dup_thresh - 1) * self.mss;
        if let Some(last) = self.sacked.last().filter(|last| last.len() > enough) {
            // As nearly always in the midst of a repair: and what is SACKed is none of what is lost.
            if (last.start..last.end).contains(&self.lost_edge) {
                (self.lost_edge, self.lost_hint) = (last.end, self.sack_hint);
            }
            return self.mark_lost_below(last.start);
        }
        let (mut octets, mut ranges) = (0, 0);
        let edge = self.sacked.iter().rev().find_map(|range| {
            octets += range.len();
            ranges += 1;
            //= rfc6675-4-is-lost
            (ranges >= dup_thresh || octets > enough).then_some(range.start)
        });
        edge.map_or(0, |edge| self.mark_lost_below(edge))
    }

    /// Forward acknowledgement: a segment below `until` is lost if the furthest SACKed data ends more than `dup_thresh` segments
    /// above its start. Returns what is newly lost.
    pub(crate) fn detect_loss_by_fack(&mut self, dup_thresh: u32, until: u64) -> u64 {
        let furthest = self.sacked.last().map_or(self.una, |range| range.end);
        self.mark_lost_below(until.min(furthest.saturating_sub(u64::from(dup_thresh) * self.mss)))
    }

    /// Retransmissions are lost again if data has arrived that was new after them. Returns what that amounts to, and when the last
    /// of them left.
    pub(crate) fn mark_overtaken_retransmissions(&mut self) -> (u64, Option<SimTime>) {
        let furthest = self.sacked.last().map_or(self.una, |range| range.end);
        let (mut newly_lost, mut left) = (0, None);
        while let Some(resent) = self.retransmissions.front().copied().filter(|resent| resent.high_data < furthest) {
            if let Some(index) = self.index_of_retransmission(resent) {
                newly_lost += self.mark_lost(index);
                left = Some(resent.at);
            }
            self.retransmissions.pop_front();
        }
        (newly_lost, left)
    }

    /// Marks everything below `edge` lost that was sent once and is not SACKed. Returns what is newly lost.
    pub(crate) fn mark_lost_below(&mut self, edge: u64) -> u64 {
        self.mark_lost_while(|sent| sent.start() < edge)
    }

    /// Marks what lies in the first full segment lost, if it was sent once and is not SACKed. Returns what is newly lost.
    pub(crate) fn mark_first_segment_lost(&mut self) -> u64 {
        self.mark_lost_below(self.una + self.mss)
    }

    /// Marks segments lost that were sent once, in order, as long as `is_lost` says so of them. Returns what is newly
    /// lost.
    pub(crate) fn mark_lost_while(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> u64 {
        let mut newly_lost = 0;
        let mut index = self.index_from(self.lost_hint, self.lost_edge);
        while let Some(&sent) = self.segments.get(index) {
            if sent.marks == 0 {
                if !is_lost(&sent) {
                    break;
                }
                newly_lost += self.mark_lost(index);
            }
            self.lost_edge = sent.end;
            index += 1;
        }
        self.lost_hint = self.popped + index as u64;
        newly_lost
    }

    /// The last segment that `is_meant`, of those that were sent once by `at` and may still arrive.
    pub(crate) fn last_sent_once(&self, at: SimTime, is_meant: impl Fn(&Sent) -> bool) -> Option<&Sent> {
        let first = self.index_of(self.lost_edge);
        let (mut low, mut high) = (first, self.segments.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.segments[middle].at <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (first..low).rev().map(|index| &self.segments[index]).find(|sent| sent.marks == 0 && is_meant(sent))
    }

    /// The last retransmission to leave that `is_meant` and may still arrive.
    pub(crate) fn last_retransmission(&self, is_meant: impl Fn(&Sent) -> bool) -> Option<&Sent> {
        let indices = self.retransmissions.iter().rev().filter_map(|resent| self.index_of_retransmission(*resent));
        indices.map(|index| &self.segments[index]).find(|sent| is_meant(sent))
    }

    /// Marks the first segment lost, whatever is known of it. Returns what is newly lost.
    pub(crate) fn mark_first_lost(&mut self) -> u64 {
        match self.segments.front() {
            Some(first) if first.may_arrive() => self.mark_lost(0),
            _ => 0,
        }
    }

    /// A segment, or its retransmission, is lost.
    fn mark_lost(&mut self, index: usize) -> u64 {
        let sent = &mut self.segments[index];
        let marks = sent.marks;
        if let Some(newly_lost) = &mut self.newly_lost {
            newly_lost.push(sent.range());
        }
        self.retransmit_edge = self.retransmit_edge.min(sent.start());
        self.lost_below = self.lost_below.max(sent.end);
        sent.marks = (marks & !RETRANSMITTED) | LOST;
        let weight = self.weight(u64::from(self.segments[index].len));
        self.uncount(marks & RETRANSMITTED, weight);
        self.count_marks(LOST & !marks, weight);
        weight
    }

    /// Retransmissions, in the order of leaving, are lost again as long as `is_lost` says so. Returns what that amounts
    /// to.
    pub(crate) fn mark_retransmissions_lost_while(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> u64 {
        let mut newly_lost = 0;
        while let Some(resent) = self.retransmissions.front().copied() {
            if let Some(index) = self.index_of_retransmission(resent) {
                if !is_lost(&self.segments[index]) {
                    break;
                }
                newly_lost += self.mark_lost(index);
            }
            self.retransmissions.pop_front();
        }
        newly_lost
    }

    /// The segment whose latest transmission this entry is, if it is still in the network.
    fn index_of_retransmission(&self, resent: Retransmission) -> Option<usize> {
        let index = self.index_of(resent.start.max(self.una));
        let sent = self.segments.get(index)?;
        (sent.was_retransmitted() && sent.may_arrive() && sent.at == resent.at).then_some(index)
    }

    /// The retransmission timer expired: what `is_lost` says, of all that is not SACKed, is lost, the first segment in
    /// any case, and so are their retransmissions. Returns what is newly lost.
    pub(crate) fn mark_all_lost(&mut self, mut is_lost: impl FnMut(&Sent) -> bool) -> u64 {
        let mut newly_lost = 0;
        self.presumed = 0;
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            //= rfc6298-5.4-earliest
            if !sent.is_sacked() && (index == 0 || is_lost(&sent)) && sent.may_arrive() {
                newly_lost += self.mark_lost(index);
            }
        }
        self.lost_edge = self.una;
        newly_lost
    }

    /// The receiver threw away what it had SACKed (RFC 2018 section 8): forget that it did.
    pub(crate) fn forget_sacks(&mut self) {
        //= rfc2018-8-reneging
        self.sacked = RangeSet::default();
        self.sacked_out = 0;
        for sent in &mut self.segments {
            sent.marks &= !SACKED;
        }
        self.lost_edge = self.una;
    }

    /// Nothing was lost after all: what has not been retransmitted need not be. Retransmissions may still arrive, too, those that
    /// were taken for lost included.
    pub(crate) fn unmark_lost(&mut self) {
        for sent in &mut self.segments {
            sent.marks &= !LOST;
        }
        self.lost_out = 0;
        self.lost_edge = self.una;
        let again = self.segments.iter().filter(|sent| sent.was_retransmitted() && !sent.is_sacked());
        self.resent_below = again.clone().map(|sent| sent.end).max().unwrap_or(0);
        let high_data = self.high_data();
        let mut again: Vec<_> =
            again.map(|sent| Retransmission { start: sent.start(), at: sent.at, high_data }).collect();
        again.sort_by_key(|resent| resent.at);
        self.retransmissions = again.into();
    }

    /// No lost segment waits to be retransmitted, as far as that is known without looking for one.
    pub(crate) fn has_resent_all(&self) -> bool {
        self.lost_out == 0 || self.retransmit_edge >= self.lost_below
    }

    /// RFC 6675 section 4, `NextSeg` rule 1: the first lost segment not yet retransmitted.
    pub(crate) fn next_lost(&mut self) -> Option<Sent> {
        if self.has_resent_all() {
            return None;
        }
        let mut index = self.index_of(self.retransmit_edge);
        while let Some(sent) = self.segments.get(index).filter(|sent| sent.start() < self.lost_below) {
            //= rfc6675-4-next-seg-1
            if sent.waits_for_retransmission() {
                return Some(*sent);
            }
            self.retransmit_edge = sent.end;
            index += 1;
        }
        None
    }

    /// `NextSeg` rule 3: the first segment below the highest SACKed octet that has neither been SACKed nor retransmitted.
    pub(crate) fn next_hole(&self) -> Option<Range> {
        //= rfc6675-4-next-seg-3
        let bound = self.sacked.last()?.start;
        let mut index = self.index_of(self.lost_edge.max(self.holes_edge));
        while let Some(sent) = self.segments.get(index).filter(|sent| sent.start() < bound) {
            if !sent.is_sacked() && !sent.has(RETRANSMITTED) {
                return Some(sent.range());
            }
            index += 1;
        }
        None
    }

    /// `NextSeg` rule 4: the last outstanding segment, if it is not SACKed.
    pub(crate) fn last_unsacked(&self) -> Option<Range> {
        //= rfc6675-4-next-seg-4
        self.segments.back().filter(|sent| !sent.is_sacked()).map(Sent::range)
    }

    /// Notes that the retransmission at `start` begins a burst.
    pub(crate) fn note_repair_burst(&mut self, start: u64) {
        let index = self.index_of(start);
        self.segments[index].begins_burst = true;
    }

    /// A segment left again.
    pub(crate) fn on_retransmitted(&mut self, range: Range, now: SimTime) {
        let index = self.index_of(range.start);
        let sent = &mut self.segments[index];
        sent.at = now;
        let was_retransmitted = sent.has(RETRANSMITTED);
        sent.marks |= RETRANSMITTED | EVER_RETRANSMITTED;
        let weight = self.weight(u64::from(self.segments[index].len));
        if !was_retransmitted {
            self.retransmitted_out += weight;
        }
        if range.start >= self.lost_edge {
            self.holes_edge = self.holes_edge.max(range.end);
        }
        self.retransmissions.push_back(Retransmission { start: range.start, at: now, high_data: self.high_data() });
    }

    /// A segment left again as a tail loss probe. No recovery has retransmitted it, so that it counts once in pipe (RFC 6675 sections 2
    /// and 4, `HighRxt`).
    pub(crate) fn on_probed(&mut self, range: Range, now: SimTime) {
        let index = self.index_of(range.start);
        let sent = &mut self.segments[index];
        sent.at = now;
        sent.marks |= EVER_RETRANSMITTED;
        self.resent_below = self.resent_below.max(range.end);
        self.retransmissions.push_back(Retransmission { start: range.start, at: now, high_data: self.high_data() });
    }
}
