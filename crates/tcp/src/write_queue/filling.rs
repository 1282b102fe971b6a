//! Filling the host's buffers ([`SendBuffers`](crate::send_buffers::SendBuffers)) with what was written, and taking bursts from them.

use super::{SentSoFar, WriteQueue};
use crate::send_buffers::Head;

impl WriteQueue {
    /// More of what is written may be copied into the host's buffers.
    #[inline]
    pub(crate) fn refills(&self) -> bool {
        self.refills
    }

    /// Copies what one buffer takes. A writer that waits pushes what is there, and one that goes on whatever is more than half of the
    /// largest window; otherwise one burst may leave, which the result says. The buffers have room for so many congestion `windows`.
    pub(crate) fn refill(&mut self, una: u64, sent: SentSoFar, windows: u64) -> bool {
        let end = self.record_end_after(self.filled).unwrap_or(self.end);
        let ends_record = self.records.binary_search(&self.filled).is_ok();
        let Some(buffers) = &mut self.buffers else { return false };
        let (last_end, count) = (buffers.last_end(), buffers.count());
        let from = (una, sent.high_data, self.filled);
        buffers.begin(windows, sent.mss);
        let filled = buffers.fill(from, end, !ends_record, sent.largest_buffer());
        let has_grown = buffers.count() == count;
        self.waits = filled.is_none();
        self.filled = filled.unwrap_or(self.filled);
        self.refills = !self.waits && self.filled < self.end;
        // The mark of the last buffer moves with its end.
        let was_pushed = has_grown && last_end.is_some_and(|end| end < self.filled && self.forget_push(end));
        let pushes = self.waits || self.filled > self.pushed + sent.largest_window / 2;
        if pushes {
            self.pushed = self.filled;
        }
        if pushes || was_pushed {
            self.push_to(self.filled);
        }
        !pushes && self.refills
    }

    /// One buffer has octets to send.
    pub(crate) fn has_one_buffer(&self) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| buffers.count() == 1)
    }

    /// The writer waits for memory.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Looks whether it goes on: see [`SendBuffers::frees`].
    pub(crate) fn look_for_memory(&mut self, una: u64, segments: Option<u64>, mss: u64) {
        if let Some(buffers) = &mut self.buffers
            && buffers.frees(self.filled.saturating_sub(una.max(1)), segments, mss)
        {
            (self.waits, self.refills) = (false, true);
        }
    }

    /// The buffer that the next burst is taken from, which may have `octets`.
    pub(crate) fn head(&mut self, high_data: u64, octets: u64) -> Head {
        let whole = Head { octets: self.sendable_end() - high_data, is_last: true };
        let octets = self.record_end_after(high_data).map_or(octets, |end| octets.min(end - high_data));
        let head = self.buffers.as_mut().and_then(|buffers| buffers.head(high_data, octets));
        let Some((head, grown_from)) = head else { return whole };
        if let Some(end) = grown_from {
            self.forget_push(end);
        }
        // The FIN is the last buffer's.
        if head.is_last { whole } else { head }
    }

    /// The end of the record that `offset` is in, if another follows: no buffer has octets of both.
    fn record_end_after(&self, offset: u64) -> Option<u64> {
        let next = self.records.partition_point(|end| *end <= offset);
        self.records.get(next).copied()
    }

    /// A burst leaves, up to `end`.
    pub(crate) fn on_burst(&mut self, end: u64) {
        if let Some(buffers) = &mut self.buffers {
            buffers.on_burst(end);
        }
    }

    /// SACK reports these ranges.
    pub(crate) fn on_sacked(&mut self, blocks: &[(u64, u64)]) {
        if let Some(buffers) = &mut self.buffers {
            for (start, end) in blocks {
                buffers.on_sacked(*start, *end);
            }
        }
    }

    /// `octets` from `start` on are sent again.
    pub(crate) fn on_repair(&mut self, start: u64, octets: u64) {
        if let Some(buffers) = &mut self.buffers {
            buffers.on_repair(start, octets);
        }
    }

    /// The offset after what may be sent without another write, or another buffer; the FIN counts.
    pub(crate) fn sendable_end(&self) -> u64 {
        if self.filled < self.end { self.filled } else { self.stream_end() }
    }

    pub(super) fn push_to(&mut self, end: u64) {
        if let Err(place) = self.pushes.binary_search(&end) {
            self.pushes.insert(place, end);
        }
    }

    /// Nothing is pushed there; true if something was.
    fn forget_push(&mut self, end: u64) -> bool {
        let place = self.pushes.binary_search(&end);
        place.is_ok_and(|place| self.pushes.remove(place).is_some())
    }
}
