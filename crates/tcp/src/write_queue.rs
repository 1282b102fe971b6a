//! Data that the application has written and the send buffer holds: its end, its push marks, and which small segments
//! wait.
//!
//! Sources: RFC 9293 sections 3.7.4 (Nagle), 3.8.6.2.1 (silly-window avoidance, its override timeout), 3.9.1.2 (PUSH).
//!
//! Departures: where the host's buffers are not modelled, a long write is pushed at every half of the peer's window, as Linux builds
//! its bursts; one without end at its end only.

mod filling;

use std::collections::VecDeque;

use ackclock_units::Bytes;

use crate::autotuning::grown_send_buffer;
use crate::config::{Autotuning, Nagle, TcpConfig};
use crate::nagle::SmallSegments;
use crate::ranges::Range;
use crate::send_buffers::SendBuffers;

/// The longest write that is pushed on its way.
const LONGEST_PUSHED: u64 = 1 << 26;

/// See the module; offsets in the stream, where data begins at 1.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct WriteQueue {
    /// The offset after the data that the application has written.
    end: u64,
    /// End of the record to send, as of the last write: all written data, unless the write ended a record ([`Write`]).
    record_end: u64,
    /// The offset after what the host has copied into its buffers; no bound where those are not modelled.
    filled: u64,
    /// More of what is written may be copied, or could if the writer did not wait for memory.
    refills: bool,
    waits: bool,
    /// It will write no more: the FIN follows.
    closed: bool,
    /// The override timeout of silly-window avoidance is over.
    overrides_silly_window: bool,
    /// The offset up to which what was copied has been pushed.
    pushed: u64,
    /// Bounds what is outstanding; follows the congestion window where it is tuned.
    buffer: u64,
    buffers: Option<Box<SendBuffers>>,
    /// Ends of writes not yet acknowledged: the segments that reach them carry PSH.
    pushes: VecDeque<u64>,
    /// Ends of records that were not sent at the last write: no segment has octets of both sides.
    records: VecDeque<u64>,
    /// Offset at which the last buffer begins, where that bounds what may be written.
    last_buffer: u64,
    autotuning: Option<Autotuning>,
    small: SmallSegments,
    nagle: Nagle,
    notsent_lowat: Option<Bytes>,
}

/// A write of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// Number of octets.
    pub octets: Bytes,
    /// More follows at once, so that a small rest waits for it (`MSG_MORE`).
    pub more: bool,
    /// A record ends here, and no segment goes beyond its end (`MSG_EOR`).
    pub ends_record: bool,
}

/// Extent of the data sent when the application writes, and the limits of its segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentSoFar {
    pub(crate) high_data: u64,
    /// The largest window that the peer has advertised.
    pub(crate) largest_window: u64,
    pub(crate) mss: u64,
}

impl SentSoFar {
    /// Most octets that the host keeps in one buffer: whole segments up to 64 KiB, and no more than half of the peer's
    /// largest window.
    fn largest_buffer(&self) -> u64 {
        ((self.largest_window / 2).min(65_536) / self.mss).max(1) * self.mss
    }
}

impl WriteQueue {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            end: 1,
            record_end: 1,
            closed: false,
            pushes: VecDeque::new(),
            records: VecDeque::new(),
            last_buffer: 1,
            small: SmallSegments::new(config.nagle),
            nagle: config.nagle,
            overrides_silly_window: false,
            filled: if config.fills_buffers().is_some() { 1 } else { u64::MAX },
            refills: false,
            waits: false,
            pushed: 1,
            buffers: config.fills_buffers().map(|tuning| Box::new(SendBuffers::new(tuning))),
            buffer: config.send_autotuning.map_or(config.send_buffer.0, |tuning| tuning.initial.0),
            autotuning: config.send_autotuning,
            notsent_lowat: config.notsent_lowat,
        }
    }

    /// Takes in a write of the application.
    pub(crate) fn write(&mut self, write: Write, sent: SentSoFar) {
        debug_assert!(!self.closed, "write after close");
        let start = self.end;
        self.end = self.end.saturating_add(write.octets.0); // a source without end writes all that there is room for
        self.small.on_write(self.end, write.more);
        // A write that is added to a buffer not yet sent makes the two one, which ends where the second does.
        let is_added = start > sent.high_data && self.records.back() != Some(&start);
        if is_added && self.pushes.back() == Some(&start) {
            self.pushes.pop_back();
        }
        if self.notsent_lowat.is_some() {
            self.last_buffer = self.begin_of_last_buffer(start, is_added, sent);
        }
        self.refills = !self.waits && self.filled < self.end;
        if self.buffers.is_none() {
            self.push_on_the_way(start, sent);
        }
        if !write.more {
            self.pushes.push_back(self.end);
        }
        if write.ends_record && self.end > start {
            self.records.push_back(self.end);
        }
        let gone = self.records.partition_point(|end| *end <= sent.high_data);
        self.records.drain(..gone);
        self.record_end = self.records.front().copied().unwrap_or(self.end);
    }

    /// Offset at which the last buffer begins after a write from `start` on.
    fn begin_of_last_buffer(&self, start: u64, is_added: bool, sent: SentSoFar) -> u64 {
        let first = if is_added { self.last_buffer.max(sent.high_data) } else { start };
        first + (self.end - first).saturating_sub(1) / sent.largest_buffer() * sent.largest_buffer()
    }

    fn push_on_the_way(&mut self, start: u64, sent: SentSoFar) {
        let half = sent.largest_window / 2;
        if self.end - start > LONGEST_PUSHED || half == 0 {
            return;
        }
        let burst = sent.largest_buffer();
        let (mut end, mut pushed) = (start + burst, start);
        while end < self.end {
            if end > pushed + half {
                self.pushes.push_back(end);
                pushed = end;
            }
            end += burst;
        }
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The offset after the data that has been written.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// First offset after everything that may ever be sent as things stand, the FIN included.
    #[inline]
    pub(crate) fn stream_end(&self) -> u64 {
        self.end + u64::from(self.closed)
    }

    /// Octets not yet sent for the first time; `high_data` may have the FIN beyond them.
    #[inline]
    pub(crate) fn unsent(&self, high_data: u64) -> u64 {
        self.end.saturating_sub(high_data)
    }

    /// Octets written that lie below `una`; the SYN, which may be outstanding yet, and the FIN do not count.
    pub(crate) fn acknowledged(&self, una: u64) -> u64 {
        una.min(self.end).saturating_sub(1)
    }

    /// Everything, the FIN included, lies below `una`.
    pub(crate) fn is_acknowledged(&self, una: u64) -> bool {
        self.closed && una > self.end
    }

    /// Octets of the next new segment, from `high_data` on. The FIN rides on the last, full or not.
    #[inline]
    pub(crate) fn next_len(&self, high_data: u64, mss: u64) -> u64 {
        let payload = self.unsent_of_record(high_data);
        if payload <= mss { self.last_len(high_data, mss) } else { mss }
    }

    /// Length of the last segment, where a record or the stream ends before a full one.
    fn last_len(&self, high_data: u64, mss: u64) -> u64 {
        let next = self.records.partition_point(|end| *end <= high_data);
        let record = self.records.get(next).filter(|end| **end < self.end).map_or(u64::MAX, |end| end - high_data);
        //= rfc9293-3.6-close-after-data
        let left = self.sendable_end().saturating_sub(high_data);
        let rest = if self.unsent(high_data) <= mss { left } else { left.min(mss) };
        record.min(rest)
    }

    /// Octets not yet sent that are known to be of one record.
    #[inline]
    pub(crate) fn unsent_of_record(&self, high_data: u64) -> u64 {
        self.record_end.min(self.filled).saturating_sub(high_data)
    }

    /// Same as [`Self::unsent_of_record`], with the FIN if it follows at once.
    pub(crate) fn rest_of_record(&self, high_data: u64) -> u64 {
        let end = if self.record_end == self.end { self.stream_end() } else { self.record_end };
        end.min(self.sendable_end()).saturating_sub(high_data)
    }

    /// True if a segment that ends there has the FIN.
    #[inline]
    pub(crate) fn has_fin(&self, end: u64) -> bool {
        end > self.end
    }

    /// A write ends in this segment.
    #[inline]
    pub(crate) fn is_pushed(&self, range: Range) -> bool {
        if self.pushes.front().is_none_or(|end| *end > range.end) {
            return false; // as in the middle of a long write
        }
        let next = self.pushes.partition_point(|end| *end <= range.start);
        self.pushes.get(next).is_some_and(|end| *end <= range.end)
    }

    /// Everything below `una` is acknowledged.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, una: u64) {
        while self.pushes.front().is_some_and(|end| *end <= una) {
            self.pushes.pop_front();
        }
        if let Some(buffers) = &mut self.buffers {
            buffers.on_acknowledged(una);
        }
    }

    /// A new segment of `len` octets left, up to `end`.
    #[inline]
    pub(crate) fn on_new_sent(&mut self, len: u64, end: u64, mss: u64) {
        self.overrides_silly_window = false;
        if len < mss {
            self.small.on_small_sent(end);
        }
    }

    /// True if the next segment, of `len` octets, has to wait because it is small; the FIN does not, nor the end of a record that
    /// another follows, as it cannot grow.
    #[inline]
    pub(crate) fn holds_back(&self, len: u64, una: u64, high_data: u64, mss: u64) -> bool {
        let end = high_data + len;
        len < mss
            && !self.has_fin(end)
            && !self.overrides_silly_window
            && self.small.holds(end, una, high_data)
            && (end == self.end || self.records.binary_search(&end).is_err())
    }

    /// RFC 9293 section 3.8.6.2.1 (4): the override timeout is over, and what fits goes up to `end`, however little. It is pushed
    /// (Linux).
    pub(crate) fn override_silly_window(&mut self, end: u64) {
        self.overrides_silly_window = true;
        self.push_to(end);
    }

    pub(crate) fn overrides_silly_window(&self) -> bool {
        self.overrides_silly_window
    }

    /// Octets that the send buffer has to send, once everything below `una` is removed.
    #[inline]
    pub(crate) fn room_to_send(&self, una: u64, high_data: u64) -> u64 {
        let copied = if self.filled < self.end { self.filled } else { u64::MAX }; // the FIN needs no room
        (una + self.buffer).min(copied).saturating_sub(high_data) // a smaller buffer may have been set since
    }

    /// Octets that the application may still write.
    pub(crate) fn writable(&self, una: u64, high_data: u64) -> u64 {
        let used = self.end.saturating_sub(una.max(1)); // the FIN may be acknowledged
        let is_below_mark = self.notsent_lowat.is_none_or(|lowat| self.unsent(high_data) < lowat.0);
        if is_below_mark { self.buffer.saturating_sub(used) } else { 0 }
    }

    /// Octets that the host takes before it asks for room again: what the last buffer still holds, or a buffer more if what is
    /// unsent is below `TCP_NOTSENT_LOWAT` (by Linux's behaviour, which asks for each buffer and not for each octet).
    pub(crate) fn writable_at_once(&self, una: u64, sent: SentSoFar) -> u64 {
        let room = self.buffer.saturating_sub(self.end.saturating_sub(una.max(1)));
        let Some(lowat) = self.notsent_lowat else { return room };
        let largest = sent.largest_buffer();
        let unsent = self.unsent(sent.high_data);
        let is_closed = unsent == 0 || self.records.back() == Some(&self.end);
        let held = if is_closed { largest } else { self.end - self.last_buffer.max(sent.high_data) };
        match largest.saturating_sub(held) {
            0 if unsent < lowat.0 => room.min(largest),
            left => room.min(left),
        }
    }

    /// True if a socket shows as writable, and a writer that waits for room goes on: so that neither happens for each ACK, a
    /// third of the buffer has to be free, and unsent data below half of `TCP_NOTSENT_LOWAT` (by Linux's behaviour).
    pub(crate) fn is_writable(&self, una: u64, high_data: u64) -> bool {
        let used = self.end.saturating_sub(una.max(1));
        let is_below_mark = self.notsent_lowat.is_none_or(|lowat| 2 * self.unsent(high_data) < lowat.0);
        is_below_mark && 2 * self.buffer.saturating_sub(used) >= used
    }

    #[inline]
    pub(crate) fn is_tuned(&self) -> bool {
        self.autotuning.is_some()
    }

    /// The buffer follows the congestion window, upwards.
    pub(crate) fn tune(&mut self, cwnd: u64) {
        if let Some(tuning) = self.autotuning {
            self.buffer = grown_send_buffer(self.buffer, tuning, cwnd);
        }
    }

    /// Sets the buffer's size (`SO_SNDBUF`) and ends its tuning.
    pub(crate) fn set_buffer(&mut self, size: Bytes) {
        (self.buffer, self.autotuning) = (size.0, None);
        (self.filled, self.buffers, self.refills, self.waits) = (u64::MAX, None, false, false);
    }

    /// `TCP_NODELAY`; without, Linux's rule if none is configured.
    pub(crate) fn set_no_delay(&mut self, no_delay: bool) {
        match self.nagle {
            _ if no_delay => {
                self.small.set_rule(Nagle::Off);
                self.small.push(self.end);
            }
            Nagle::Off => self.small.set_rule(Nagle::Minshall),
            configured => self.small.set_rule(configured),
        }
    }

    /// Sets or lifts the cork (`TCP_CORK`).
    pub(crate) fn set_corked(&mut self, corked: bool) {
        self.small.set_corked(corked);
    }

    /// Sets the limit of unsent octets (`TCP_NOTSENT_LOWAT`).
    pub(crate) fn set_notsent_lowat(&mut self, lowat: Option<Bytes>) {
        self.notsent_lowat = lowat;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    fn sent(high_data: u64) -> SentSoFar {
        SentSoFar { high_data, largest_window: 10_000, mss: MSS }
    }

    fn of(octets: u64) -> Write {
        Write { octets: Bytes(octets), ..Write::default() }
    }

    fn queue() -> WriteQueue {
        WriteQueue::new(&TcpConfig { mss: 1_000, send_buffer: Bytes(8_000), ..TcpConfig::default() })
    }

    #[test]
    fn the_fin_rides_on_the_last_segment() {
        let mut queue = queue();
        queue.write(of(1_500), sent(1));
        queue.close();
        // Octets 1 to 1500; the FIN has number 1501.
        assert_eq!((queue.stream_end(), queue.next_len(1, MSS), queue.next_len(1_001, MSS)), (1_502, 1_000, 501));
        assert!(queue.has_fin(1_502) && !queue.has_fin(1_501));
        assert!(queue.is_acknowledged(1_502) && !queue.is_acknowledged(1_501));
        assert_eq!(queue.acknowledged(1_502), 1_500);
    }

    #[test]
    fn a_long_write_is_pushed_at_more_than_half_of_the_largest_window_and_at_its_end() {
        let mut queue = queue();
        queue.write(of(12_000), sent(1));
        let pushed = |from: u64| queue.is_pushed(Range { start: from, end: from + MSS });
        // Half of 10 000 is a burst of five segments: octet 5001 is no more than half behind the start, 10 001 is.
        let ends: Vec<u64> = (0..12).map(|index| 1 + index * MSS).filter(|start| pushed(*start)).collect();
        assert_eq!(ends, [9_001, 11_001]);
    }

    #[test]
    fn two_writes_that_wait_are_one() {
        let mut queue = queue();
        queue.write(of(300), sent(1));
        queue.write(of(300), sent(1));
        assert!(!queue.is_pushed(Range { start: 1, end: 301 }));
        assert!(queue.is_pushed(Range { start: 1, end: 601 }));
    }

    #[test]
    fn the_send_buffer_bounds_what_is_written_and_sent() {
        let mut queue = queue();
        queue.write(of(5_000), sent(1));
        assert_eq!((queue.writable(1, 1), queue.room_to_send(1, 3_001)), (3_000, 5_000));
        assert_eq!(queue.writable(2_001, 5_001), 5_000); // 2000 are acknowledged
        queue.set_notsent_lowat(Some(Bytes(1_000)));
        assert_eq!((queue.writable(1, 4_001), queue.writable(1, 4_002)), (0, 3_000)); // 1000 or 999 wait
    }

    #[test]
    fn a_socket_is_writable_again_with_a_third_free_and_half_of_the_mark_unsent() {
        let mut queue = queue();
        queue.write(of(6_000), sent(1));
        assert!(!queue.is_writable(1, 6_001)); // 2000 of 8000 are free
        assert!(!queue.is_writable(666, 6_001) && queue.is_writable(668, 6_001)); // 2665 are, then 2667
        queue.set_notsent_lowat(Some(Bytes(1_000)));
        assert!(!queue.is_writable(3_001, 5_501) && queue.is_writable(3_001, 5_502)); // 500 wait, then 499
    }

    #[test]
    fn small_segments_wait_until_the_override_timeout_is_over() {
        let mut queue = WriteQueue::new(&TcpConfig { nagle: Nagle::Classic, ..TcpConfig::default() });
        queue.write(Write { more: true, ..of(1_300) }, sent(1));
        assert!(queue.holds_back(300, 1, 1_001, MSS) && !queue.holds_back(1_000, 1, 1, MSS));
        queue.override_silly_window(1_301);
        assert!(!queue.holds_back(300, 1, 1_001, MSS));
        assert!(queue.is_pushed(Range { start: 1_001, end: 1_301 })); // as Linux 6.18 does
        queue.on_new_sent(300, 1_301, MSS);
        assert!(!queue.overrides_silly_window());
    }

    /// By what Linux 6.18 did with such writes.
    #[test]
    fn no_segment_goes_beyond_the_end_of_a_record() {
        let mut queue = queue();
        queue.write(Write { ends_record: true, ..of(1_300) }, sent(1));
        queue.write(of(2_000), sent(1));
        let lens = [1, 1_001, 1_301, 2_301].map(|high| queue.next_len(high, MSS));
        assert_eq!(lens, [1_000, 300, 1_000, 1_000]);
        assert_eq!((queue.unsent_of_record(1), queue.unsent_of_record(1_301)), (1_300, 0));
        queue.write(of(1_000), sent(1_301));
        assert_eq!(queue.unsent_of_record(1_301), 3_000); // the record is on its way
    }

    #[test]
    fn the_fin_rides_on_the_last_record_only() {
        let mut queue = queue();
        queue.write(Write { ends_record: true, ..of(300) }, sent(1));
        queue.write(Write { ends_record: true, ..of(400) }, sent(1));
        queue.close();
        assert_eq!((queue.next_len(1, MSS), queue.next_len(301, MSS), queue.next_len(701, MSS)), (300, 401, 1));
    }

    #[test]
    fn a_record_that_another_follows_does_not_wait_to_grow() {
        let mut queue = WriteQueue::new(&TcpConfig { nagle: Nagle::Classic, ..TcpConfig::default() });
        queue.write(Write { ends_record: true, ..of(300) }, sent(1));
        queue.on_new_sent(300, 301, MSS);
        queue.write(Write { ends_record: true, ..of(300) }, sent(301));
        assert!(queue.holds_back(300, 1, 301, MSS));
        queue.write(of(300), sent(301));
        assert!(!queue.holds_back(300, 1, 301, MSS) && queue.holds_back(300, 1, 601, MSS));
    }

    /// Half of the largest window is five segments. Linux 6.18 took 15,000 of 50,000 octets with ten segments let out.
    #[test]
    fn the_mark_of_unsent_data_is_looked_at_once_a_buffer() {
        let mut queue = WriteQueue::new(&TcpConfig { mss: 1_000, send_buffer: Bytes(80_000), ..TcpConfig::default() });
        queue.set_notsent_lowat(Some(Bytes(1_000)));
        let mut left = Vec::new();
        for high in [1, 5_001, 10_001, 10_001] {
            let room = queue.writable_at_once(1, sent(high));
            queue.write(of(room), sent(high));
            left.push(room);
        }
        assert_eq!(left, [5_000, 5_000, 5_000, 0]);
        // Two of the five that wait have left: the buffer takes as much again.
        assert_eq!(queue.writable_at_once(1, sent(12_001)), 2_000);
    }
}
