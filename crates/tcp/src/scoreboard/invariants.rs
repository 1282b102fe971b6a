//! Invariants of a scoreboard after every call. Debug builds check them; the recount of every segment runs now and then
//! only.

use super::{LOST, RETRANSMITTED, SACKED, Scoreboard};
use crate::ranges::Range;

impl Scoreboard {
    /// Panics with the invariant that is violated; `recounts` recounts every segment.
    pub(crate) fn check_invariants(&self, recounts: bool) {
        assert!(self.una <= self.high_data, "SND.UNA is never above SND.NXT: {self:?}");
        assert_eq!(self.segments.is_empty(), self.una == self.high_data, "what is outstanding has a record: {self:?}");
        if let (Some(first), Some(last)) = (self.segments.front(), self.segments.back()) {
            assert!(
                first.start() == self.una && last.end == self.high_data,
                "records span SND.UNA to SND.NXT: {self:?}"
            );
        }
        if self.unit == 0 {
            assert_eq!(self.outstanding, self.high_data - self.una, "FlightSize is what is not acknowledged");
        }
        assert!(self.sacked_out + self.lost_out <= self.outstanding, "SACKed and lost are parts, and apart: {self:?}");
        assert!(self.retransmitted_out <= self.outstanding, "a retransmission is of outstanding data: {self:?}");
        let left = self.sacked_out + self.lost_out + self.presumed;
        assert!(left <= self.outstanding + self.retransmitted_out, "pipe is not negative: {self:?}");
        assert!(self.lost_edge <= self.high_data && self.holes_edge <= self.high_data, "edges lie in what was sent");
        if recounts {
            self.check_records();
        }
    }

    fn check_records(&self) {
        let counted = (self.outstanding, self.sacked_out, self.lost_out, self.retransmitted_out);
        assert_eq!(self.recount(), counted, "counts are those of the marks: outstanding, SACKed, lost, retransmitted");
        let mut end = self.una;
        for sent in &self.segments {
            assert!(sent.start() == end && sent.len > 0, "records follow each other without a gap at {end}");
            end = sent.end;
            assert!(!(sent.has(SACKED) && sent.has(LOST | RETRANSMITTED)), "what is SACKed is not repaired: {sent:?}");
            assert!(!sent.has(LOST) || sent.end <= self.lost_below, "a lost segment above `lost_below`: {sent:?}");
            let waits = sent.waits_for_retransmission();
            assert!(
                !waits || sent.end > self.retransmit_edge,
                "a lost segment below `retransmit_edge` waits: {sent:?}"
            );
        }
        let in_ranges: u64 = self.sacked.iter().map(Range::len).sum();
        let in_records: u64 =
            self.segments.iter().filter(|sent| sent.has(SACKED)).map(|sent| u64::from(sent.len)).sum();
        assert_eq!(in_ranges, in_records, "ranges and marks agree on what is SACKed");
    }

    /// Outstanding, SACKed, lost and retransmitted, counted anew.
    pub(super) fn recount(&self) -> (u64, u64, u64, u64) {
        let sum = |mark: u8| {
            let counted = self.segments.iter().filter(|sent| mark == 0 || sent.has(mark));
            counted.map(|sent| self.weight(u64::from(sent.len))).sum()
        };
        (sum(0), sum(SACKED), sum(LOST), sum(RETRANSMITTED))
    }
}
