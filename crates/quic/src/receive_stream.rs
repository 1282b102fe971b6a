//! Received octets of the peer's stream, and the limit of the peer's data.
//!
//! Source: RFC 9000 sections 2.2 and 4.1. Departures: the application reads immediately; the window is as large as it
//! is configured, and is opened again when half of it is used.

use ackclock_tcp::ranges::RangeSet;

/// Receiving half of the stream.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveStream {
    /// Offset before which all octets have arrived.
    in_order: u64,
    beyond: RangeSet,
    /// End of the stream, once that is known.
    end: Option<u64>,
    window: u64,
    /// The largest `MAX_DATA` sent.
    advertised: u64,
}

impl ReceiveStream {
    pub(crate) fn new(window: u64) -> Self {
        Self { in_order: 0, beyond: RangeSet::default(), end: None, window, advertised: window }
    }

    /// Takes a STREAM frame that has arrived.
    pub(crate) fn on_data(&mut self, offset: u64, len: u64, is_last: bool) {
        if is_last {
            self.end = Some(offset + len);
        }
        if offset <= self.in_order {
            self.in_order = self.in_order.max(offset + len);
            while let Some(range) = self.beyond.take_front_reaching(self.in_order) {
                self.in_order = self.in_order.max(range.end);
            }
        } else if len > 0 {
            self.beyond.insert(offset, offset + len, |_| ());
        }
    }

    /// Octets in order, all of which the application has read.
    pub(crate) fn in_order(&self) -> u64 {
        self.in_order
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// True if all data of the peer has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.in_order >= end)
    }

    pub(crate) fn advertised(&self) -> u64 {
        self.advertised
    }

    /// The `MAX_DATA` to send, if it is time for one.
    pub(crate) fn next_maximum(&self) -> Option<u64> {
        let is_half_used = self.end.is_none() && 2 * (self.advertised - self.in_order) <= self.window;
        is_half_used.then_some(self.in_order + self.window)
    }

    /// Takes note that a `MAX_DATA` has left, or leaves once more.
    pub(crate) fn on_maximum_sent(&mut self, maximum: u64) {
        self.advertised = maximum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_waits_for_what_is_before_it() {
        let mut stream = ReceiveStream::new(1_000);
        stream.on_data(100, 100, false);
        assert_eq!((stream.in_order(), stream.has_gap()), (0, true));
        stream.on_data(200, 50, true);
        stream.on_data(0, 100, false);
        assert_eq!((stream.in_order(), stream.has_gap(), stream.is_finished()), (250, false, true));
    }

    #[test]
    fn half_a_window_used_opens_it_anew() {
        let mut stream = ReceiveStream::new(1_000);
        stream.on_data(0, 499, false);
        assert_eq!(stream.next_maximum(), None);
        stream.on_data(499, 1, false);
        assert_eq!(stream.next_maximum(), Some(1_500));
        stream.on_maximum_sent(1_500);
        assert_eq!(stream.next_maximum(), None);
    }
}
