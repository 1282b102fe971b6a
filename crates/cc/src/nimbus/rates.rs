//! The sending and the arrival rate, S and R, of the packets of about the last round trip.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

use crate::delivery::SegmentReport;

/// A segment that has arrived.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    sent: SimTime,
    acked: SimTime,
    octets: u64,
}

/// The two rates, octets/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// The sending rate S.
    pub(super) sent: f64,
    /// The arrival rate R.
    pub(super) arrived: f64,
}

/// A meter of both rates.
#[derive(Clone, Debug, Default)]
pub(super) struct RateMeter {
    segments: VecDeque<Delivered>,
}

impl RateMeter {
    /// Takes an acknowledged segment; a retransmission does not count.
    pub(super) fn on_delivered(&mut self, segment: &SegmentReport) {
        if !segment.is_retransmission {
            let SegmentReport { sent_at, now, size, .. } = *segment;
            self.segments.push_back(Delivered { sent: sent_at, acked: now, octets: size.0 });
        }
    }

    /// The rates of the data acknowledged in the last `span`; `None` if that was all at once.
    pub(super) fn over(&mut self, now: SimTime, span: SimDuration) -> Option<Rates> {
        while self.segments.front().is_some_and(|segment| now.saturating_since(segment.acked) > span) {
            self.segments.pop_front();
        }
        Some(Rates { sent: self.rate(|segment| segment.sent)?, arrived: self.rate(|segment| segment.acked)? })
    }

    /// The octets after those of the first moment, over the time since then.
    fn rate(&self, at: impl Fn(&Delivered) -> SimTime) -> Option<f64> {
        let (first, last) = (at(self.segments.front()?), at(self.segments.back()?));
        let octets: u64 =
            self.segments.iter().filter(|segment| at(segment) > first).map(|segment| segment.octets).sum();
        (last > first).then(|| octets as f64 / (last - first).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Bytes;

    fn delivered(sent_ms: u64, acked_ms: u64) -> SegmentReport {
        let (now, sent_at) = (SimTime(acked_ms * 1_000_000), SimTime(sent_ms * 1_000_000));
        let none = Bytes::ZERO;
        SegmentReport {
            now,
            sent_at,
            start: 0,
            size: Bytes(1_000),
            delivered: none,
            prior_delivered: none,
            tx_in_flight: none,
            lost: none,
            is_app_limited: false,
            is_retransmission: false,
        }
    }

    #[test]
    fn the_same_packets_tell_both_rates() {
        let mut meter = RateMeter::default();
        // One a millisecond leaves, one every two arrives.
        (0..10).for_each(|number| meter.on_delivered(&delivered(number, 50 + 2 * number)));
        // All of them; and those of the last 8 ms, five segments of which four count.
        for (span_ms, segments) in [(100, 10), (8, 5)] {
            let rates = meter.over(SimTime(68_000_000), SimDuration::from_millis(span_ms)).expect("enough came");
            assert!((rates.sent - 1e6).abs() < 1.0 && (rates.arrived - 5e5).abs() < 1.0, "{rates:?}");
            assert_eq!(meter.segments.len(), segments);
        }
    }

    #[test]
    fn one_ack_for_all_tells_nothing() {
        let mut meter = RateMeter::default();
        (0..3).for_each(|number| meter.on_delivered(&delivered(number, 50)));
        assert!(meter.over(SimTime(50_000_000), SimDuration::from_millis(10)).is_none());
        meter.on_delivered(&SegmentReport { is_retransmission: true, ..delivered(3, 60) });
        assert_eq!(meter.segments.len(), 3);
    }
}
