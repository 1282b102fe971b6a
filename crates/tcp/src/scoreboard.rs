//! What the sender knows of the data it has sent: acknowledged, SACKed, lost, retransmitted.
//!
//! Source: RFC 6675, with its names: `HighRxt`, `HighData`, `IsLost`, `SetPipe`, `NextSeg`.
//!
//! Everything below `lost_edge` that is not SACKed is lost, and everything below `high_rxt` that is not SACKed has been
//! retransmitted: RFC 6675's `IsLost` and `NextSeg` are monotone in the sequence number, so two marks and the SACKed
//! ranges say all. `pipe` is kept as three counts of octets that are not SACKed, so an ACK costs O(1) amortised whatever
//! the window.
//!
//! Departures: none for SACK. Without SACK the same marks serve `NewReno` (the first segment is lost) and the timeout
//! (all of it is).

use crate::ranges::{Range, RangeSet};

/// See the module. All positions are offsets in the stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// First octet not cumulatively acknowledged.
    una: u64,
    /// The offset after the highest octet sent.
    high_data: u64,
    /// What is not SACKed below this is lost.
    lost_edge: u64,
    /// What is not SACKed below this has been retransmitted since it was marked lost.
    high_rxt: u64,
    sacked: RangeSet,
    /// Octets not SACKed in `[una, high_data)`, `[una, lost_edge)` and `[una, high_rxt)`.
    unsacked: u64,
    unsacked_lost: u64,
    unsacked_rxt: u64,
}

impl Scoreboard {
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn high_data(&self) -> u64 {
        self.high_data
    }

    /// `FlightSize`: sent and not cumulatively acknowledged (RFC 5681).
    pub(crate) fn flight_size(&self) -> u64 {
        self.high_data - self.una
    }

    /// Octets SACKed and not cumulatively acknowledged.
    pub(crate) fn sacked(&self) -> u64 {
        self.flight_size() - self.unsacked
    }

    /// RFC 6675 section 4, `SetPipe`: octets thought to be in the network: not SACKed and not lost, and once more if
    /// retransmitted.
    pub(crate) fn pipe(&self) -> u64 {
        self.unsacked - self.unsacked_lost + self.unsacked_rxt
    }

    /// Octets lost and neither SACKed nor acknowledged.
    pub(crate) fn lost(&self) -> u64 {
        self.unsacked_lost
    }

    /// True if nothing has been retransmitted that is still outstanding.
    pub(crate) fn has_no_retransmission(&self) -> bool {
        self.unsacked_rxt == 0
    }

    /// New data left.
    pub(crate) fn on_new_data(&mut self, len: u64) {
        self.high_data += len;
        self.unsacked += len;
    }

    /// A cumulative ACK up to `to`. Returns the octets that it delivers: those not SACKed before.
    pub(crate) fn acknowledge(&mut self, to: u64) -> u64 {
        debug_assert!(to > self.una && to <= self.high_data);
        let delivered = self.unsacked_below(to);
        self.unsacked_lost -= self.unsacked_below(to.min(self.lost_edge));
        self.unsacked_rxt -= self.unsacked_below(to.min(self.high_rxt));
        self.unsacked -= delivered;
        self.una = to;
        self.lost_edge = self.lost_edge.max(to);
        self.high_rxt = self.high_rxt.max(to);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(to);
        }
        delivered
    }

    /// Octets in `[una, bound)` that are not SACKed.
    fn unsacked_below(&self, bound: u64) -> u64 {
        let all = bound.saturating_sub(self.una);
        if self.sacked.is_empty() { all } else { all - self.sacked.covered_below(bound) }
    }

    /// A SACK block. Returns the octets that were not SACKed before; a block outside what is outstanding tells nothing.
    pub(crate) fn sack(&mut self, start: u64, end: u64) -> u64 {
        let (start, end) = (start.max(self.una), end.min(self.high_data));
        if start >= end {
            return 0;
        }
        if let Some(last) = self.sacked.extend_last(start, end) {
            let piece = Range { start: last.end, end };
            self.unsacked -= piece.len();
            self.unsacked_lost -= piece.below(self.lost_edge);
            self.unsacked_rxt -= piece.below(self.high_rxt);
            return piece.len();
        }
        if self.sacked.contains(start, end) {
            return 0;
        }
        let (lost_edge, high_rxt) = (self.lost_edge, self.high_rxt);
        let (mut new, mut new_lost, mut new_rxt) = (0, 0, 0);
        self.sacked.insert(start, end, |piece| {
            new += piece.len();
            new_lost += piece.below(lost_edge);
            new_rxt += piece.below(high_rxt);
        });
        self.unsacked -= new;
        self.unsacked_lost -= new_lost;
        self.unsacked_rxt -= new_rxt;
        new
    }

    /// RFC 6675 section 4, `IsLost`, for everything at once: an octet is lost if `dup_thresh` discontiguous SACKed
    /// ranges, or more than `(dup_thresh - 1) * mss` SACKed octets, lie above it. Returns the octets newly lost.
    pub(crate) fn detect_loss(&mut self, dup_thresh: u32, mss: u64) -> u64 {
        let (mut octets, mut ranges) = (0, 0);
        let edge = self.sacked.iter().rev().find_map(|range| {
            octets += range.len();
            ranges += 1;
            (ranges >= dup_thresh || octets > u64::from(dup_thresh - 1) * mss).then_some(range.start)
        });
        edge.map_or(0, |edge| self.mark_lost_below(edge))
    }

    /// Marks everything below `edge` lost. Returns the octets newly lost.
    pub(crate) fn mark_lost_below(&mut self, edge: u64) -> u64 {
        let edge = edge.min(self.high_data);
        if edge <= self.lost_edge {
            return 0;
        }
        let newly_lost = edge - self.lost_edge - self.sacked.covered_in(self.lost_edge, edge);
        self.unsacked_lost += newly_lost;
        self.lost_edge = edge;
        newly_lost
    }

    /// The retransmission timer expired: all that is not SACKed is lost, and no retransmission is in the network any
    /// more. Returns the octets newly lost.
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        self.high_rxt = self.una;
        self.unsacked_rxt = 0;
        self.mark_lost_below(self.high_data)
    }

    /// RFC 6675 section 4, `NextSeg` rule 1: the first lost octets not yet retransmitted, at most `mss` of them.
    pub(crate) fn next_lost(&self, mss: u64) -> Option<Range> {
        if self.high_rxt >= self.lost_edge { None } else { self.next_unsacked(self.lost_edge, mss) }
    }

    /// `NextSeg` rule 3: as rule 1, but for any hole below the highest SACKed octet, lost or not.
    pub(crate) fn next_hole(&self, mss: u64) -> Option<Range> {
        self.next_unsacked(self.sacked.last()?.start, mss)
    }

    /// `NextSeg` rule 4: the last outstanding octets, if they are not SACKed.
    pub(crate) fn last_unsacked(&self, mss: u64) -> Option<Range> {
        let above = self.sacked.last().map_or(self.una, |range| range.end).max(self.una);
        (above < self.high_data)
            .then(|| Range { start: above.max(self.high_data.saturating_sub(mss)), end: self.high_data })
    }

    fn next_unsacked(&self, bound: u64, mss: u64) -> Option<Range> {
        let mut start = self.high_rxt.max(self.una);
        let mut end = bound;
        if !self.sacked.is_empty() {
            if let Some(range) = self.sacked.containing(start) {
                start = range.end;
            }
            if let Some(next) = self.sacked.next_from(start) {
                end = end.min(next.start);
            }
        }
        (start < end).then(|| Range { start, end: end.min(start + mss) })
    }

    /// `range`, as given by [`Self::next_lost`] or [`Self::next_hole`], was retransmitted.
    pub(crate) fn on_retransmitted(&mut self, range: Range) {
        self.unsacked_rxt += range.len();
        self.high_rxt = range.end;
    }

    #[cfg(test)]
    fn recount(&self) -> (u64, u64, u64) {
        let unsacked = |to: u64| to.saturating_sub(self.una) - self.sacked.covered_below(to);
        (unsacked(self.high_data), unsacked(self.lost_edge), unsacked(self.high_rxt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 100;

    fn sent(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.on_new_data(segments * MSS);
        board
    }

    #[test]
    fn three_segments_sacked_above_make_a_loss() {
        let mut board = sent(10);
        board.sack(100, 300); // two segments above the first: not yet (RFC 6675: *more* than 2 * SMSS)
        assert_eq!(board.detect_loss(3, MSS), 0);
        board.sack(300, 400);
        assert_eq!(board.detect_loss(3, MSS), 100);
        assert_eq!(board.pipe(), 1000 - 300 - 100); // ten, less three SACKed, less one lost
    }

    #[test]
    fn three_separate_ranges_make_a_loss_whatever_their_size() {
        let mut board = sent(10);
        for start in [110, 210, 310] {
            board.sack(start, start + 10);
        }
        assert_eq!(board.detect_loss(3, MSS), 110); // only what lies below the lowest of the three
    }

    #[test]
    fn retransmissions_go_hole_by_hole() {
        let mut board = sent(10);
        board.sack(250, 300);
        board.sack(500, 1000);
        board.detect_loss(3, MSS);
        let mut holes = Vec::new();
        while let Some(range) = board.next_lost(MSS) {
            board.on_retransmitted(range);
            holes.push((range.start, range.end));
        }
        assert_eq!(holes, [(0, 100), (100, 200), (200, 250), (300, 400), (400, 500)]);
        assert_eq!(board.pipe(), 450); // all that is lost is in the network again
    }

    #[test]
    fn a_timeout_empties_the_pipe() {
        let mut board = sent(10);
        board.sack(900, 1000);
        assert_eq!(board.mark_all_lost(), 900);
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.next_lost(MSS).map(|range| (range.start, range.end)), Some((0, 100)));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Send(u64),
        Sack(u64, u64),
        Ack(u64),
        Detect,
        Timeout,
        Retransmit,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            (1..500_u64).prop_map(Op::Send),
            (0..3000_u64, 1..300_u64).prop_map(|(start, len)| Op::Sack(start, start + len)),
            (1..400_u64).prop_map(Op::Ack),
            Just(Op::Detect),
            Just(Op::Timeout),
            Just(Op::Retransmit),
        ]
    }

    proptest! {
        #[test]
        fn counts_equal_a_naive_recount(ops in proptest::collection::vec(op(), 1..200)) {
            let mut board = Scoreboard::default();
            for op in ops {
                match op {
                    Op::Send(len) => board.on_new_data(len),
                    Op::Sack(start, end) => { board.sack(board.una() + start, board.una() + end); }
                    Op::Ack(len) => {
                        let to = board.una() + len.min(board.flight_size());
                        if to > board.una() { board.acknowledge(to); }
                    }
                    Op::Detect => { board.detect_loss(3, MSS); }
                    Op::Timeout => { board.mark_all_lost(); }
                    Op::Retransmit => if let Some(range) = board.next_lost(MSS) { board.on_retransmitted(range); },
                }
                prop_assert_eq!((board.unsacked, board.unsacked_lost, board.unsacked_rxt), board.recount());
                prop_assert!(board.una <= board.high_data && board.unsacked_lost <= board.unsacked);
            }
        }
    }
}
