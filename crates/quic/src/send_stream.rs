//! The stream that the application writes: its data to send, for the first time or again.
//!
//! Source: RFC 9000 sections 2.2, 3.1 and 13.3. Departures: none. Packets are never sent again; the data of a lost one
//! is, in new packets, before new data.

use ackclock_tcp::ranges::{Range, RangeSet};

/// Data for a STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) range: Range,
    pub(crate) is_last: bool,
    pub(crate) is_retransmission: bool,
}

/// State of the stream's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    Open,
    ToSend,
    Sent,
    Acknowledged,
}

/// Sending half of the stream.
#[derive(Clone, Debug)]
pub(crate) struct SendStream {
    written: u64,
    /// Offset before which all data was sent once.
    next: u64,
    fin: Fin,
    lost: RangeSet,
    acknowledged: RangeSet,
    acknowledged_octets: u64,
}

impl SendStream {
    pub(crate) fn new() -> Self {
        let (lost, acknowledged) = (RangeSet::default(), RangeSet::default());
        Self { written: 0, next: 0, fin: Fin::Open, lost, acknowledged, acknowledged_octets: 0 }
    }

    pub(crate) fn write(&mut self, octets: u64) {
        self.written += octets;
    }

    pub(crate) fn close(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::ToSend;
        }
    }

    /// Octets written and never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.written - self.next
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged_octets
    }

    /// True if lost data waits to be sent again.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// True if there is data to send, with this `MAX_DATA`.
    pub(crate) fn has_more(&self, max_data: u64) -> bool {
        !self.lost.is_empty() || self.next < self.written.min(max_data) || self.is_only_the_end_left()
    }

    fn is_only_the_end_left(&self) -> bool {
        self.fin == Fin::ToSend && self.next == self.written && self.lost.is_empty()
    }

    /// The next data; `room` returns the octets that fit at an offset.
    pub(crate) fn next_chunk(&self, max_data: u64, room: impl Fn(u64) -> u64) -> Option<Chunk> {
        let lost = self.lost.iter().next();
        let (start, end) = match lost {
            Some(range) => (range.start, range.end),
            None => (self.next, self.written.min(max_data).max(self.next)),
        };
        if start == end && !self.is_only_the_end_left() {
            return None;
        }
        Some(self.chunk(Range { start, end: end.min(start + room(start)) }, lost.is_some()))
    }

    /// Outstanding data, once more.
    pub(crate) fn repeat(&self, range: Range, room: impl Fn(u64) -> u64) -> Chunk {
        self.chunk(Range { start: range.start, end: range.end.min(range.start + room(range.start)) }, true)
    }

    fn chunk(&self, range: Range, is_retransmission: bool) -> Chunk {
        let is_last = self.fin != Fin::Open && range.end == self.written;
        Chunk { range, is_last, is_retransmission }
    }

    pub(crate) fn on_sent(&mut self, chunk: &Chunk) {
        let Range { start, end } = chunk.range;
        self.next = self.next.max(end);
        // What is lost is sent from its beginning; what is sent a second time on purpose is not lost.
        if self.lost.iter().next().is_some_and(|range| range.start == start) {
            self.lost.remove_below(end);
        }
        if chunk.is_last && self.fin == Fin::ToSend {
            self.fin = Fin::Sent;
        }
    }

    pub(crate) fn on_acknowledged(&mut self, range: Range, is_last: bool) {
        if is_last {
            self.fin = Fin::Acknowledged;
        }
        if range.start == range.end {
            return;
        }
        let octets = &mut self.acknowledged_octets;
        self.acknowledged.insert(range.start, range.end, |added| *octets += added.len());
        if !self.lost.is_empty() {
            self.lost = pieces_outside(&self.lost, range);
        }
    }

    /// Takes the loss of a packet with this data: the part that has not arrived by another packet is sent again.
    pub(crate) fn on_lost(&mut self, range: Range, is_last: bool) {
        if is_last && self.fin == Fin::Sent {
            self.fin = Fin::ToSend;
        }
        let mut start = range.start;
        let overlaps = |known: &Range| known.start < range.end && known.end > range.start;
        for known in self.acknowledged.iter().filter(overlaps) {
            if known.start > start {
                self.lost.insert(start, known.start, |_| ());
            }
            start = start.max(known.end);
        }
        if start < range.end {
            self.lost.insert(start, range.end, |_| ());
        }
    }
}

/// Parts of `set` outside of `range`.
fn pieces_outside(set: &RangeSet, range: Range) -> RangeSet {
    let mut outside = RangeSet::default();
    for Range { start, end } in set.iter() {
        for (start, end) in [(start, end.min(range.start)), (start.max(range.end), end)] {
            if start < end {
                outside.insert(start, end, |_| ());
            }
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(stream: &mut SendStream, room: u64) -> Chunk {
        let chunk = stream.next_chunk(u64::MAX, |_| room).expect("there is data");
        stream.on_sent(&chunk);
        chunk
    }

    #[test]
    fn what_is_lost_comes_before_new_data_and_the_end_with_the_last_octet() {
        let mut stream = SendStream::new();
        stream.write(250);
        stream.close();
        let chunks = [sent(&mut stream, 100), sent(&mut stream, 100)];
        stream.on_lost(chunks[0].range, false);
        let again = sent(&mut stream, 100);
        assert_eq!((again.range, again.is_retransmission, again.is_last), (Range { start: 0, end: 100 }, true, false));
        let last = sent(&mut stream, 100);
        assert_eq!((last.range, last.is_last), (Range { start: 200, end: 250 }, true));
        assert!(!stream.has_more(u64::MAX));
        stream.on_lost(last.range, true);
        assert!(sent(&mut stream, 100).is_last);
    }

    #[test]
    fn data_that_has_arrived_by_another_packet_is_not_sent_again() {
        let mut stream = SendStream::new();
        stream.write(300);
        for _ in 0..3 {
            sent(&mut stream, 100);
        }
        stream.on_acknowledged(Range { start: 100, end: 200 }, false);
        stream.on_lost(Range { start: 0, end: 300 }, false);
        assert_eq!(
            stream.lost.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>(),
            [(0, 100), (200, 300)]
        );
        stream.on_acknowledged(Range { start: 0, end: 250 }, false); // late, not lost
        assert_eq!(sent(&mut stream, 100).range, Range { start: 250, end: 300 });
        assert_eq!(stream.acknowledged(), 250);
    }

    #[test]
    fn new_data_stops_at_the_peers_limit() {
        let mut stream = SendStream::new();
        stream.write(1_000);
        let chunk = stream.next_chunk(150, |_| 1_000).expect("data");
        assert_eq!(chunk.range.end, 150);
        stream.on_sent(&chunk);
        assert!(!stream.has_more(150) && stream.has_more(151));
    }
}
