//! Events for unit tests, with defaults for their other fields.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::delivery::SegmentReport;
use crate::event::{AckEvent, CongestionCause, CongestionEvent, Growth, RestartCause, RestartEvent, SendEvent};

pub(crate) fn ack(newly_acked: u64) -> AckEvent {
    let plain = AckEvent::in_order(Bytes(newly_acked), SimDuration::from_millis(100));
    AckEvent { prior_flight_size: Bytes(10_000), snd_nxt: 10_000, ..plain }
}

/// The event of a segment that leaves.
pub(crate) fn sent(octets: u64) -> SendEvent {
    let size = Bytes(octets);
    let (now, idle_for) = (SimTime::ZERO, SimDuration::ZERO);
    SendEvent { now, size, flight_size: size, snd_nxt: octets, idle_for, is_app_limited: false }
}

/// The report of a segment that is marked lost.
pub(crate) fn lost(octets: u64) -> SegmentReport {
    SegmentReport {
        now: SimTime::ZERO,
        sent_at: SimTime::ZERO,
        start: 0,
        size: Bytes(octets),
        delivered: Bytes::ZERO,
        prior_delivered: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        lost: Bytes(octets),
        is_app_limited: false,
        is_retransmission: false,
    }
}

/// The ACK, with a window that was partly unused.
pub(crate) fn unused(ack: &AckEvent) -> AckEvent {
    AckEvent { is_cwnd_limited: false, growth: Growth { is_in_use: false, ..ack.growth }, ..*ack }
}

/// The ACK, during fast recovery.
pub(crate) fn recovering(ack: &AckEvent) -> AckEvent {
    AckEvent { in_recovery: true, growth: Growth { is_due: false, ..ack.growth }, ..*ack }
}

pub(crate) fn loss(flight_size: u64) -> CongestionEvent {
    CongestionEvent {
        now: SimTime::ZERO,
        cause: CongestionCause::Loss,
        flight_size: Bytes(flight_size),
        decrease_from: Bytes(flight_size),
        newly_lost: Bytes(1_000),
        inflight: Bytes(flight_size),
    }
}

pub(crate) fn restart(cause: RestartCause, window: u64) -> RestartEvent {
    RestartEvent { now: SimTime::ZERO, cause, window: Bytes(window), ssthresh: None }
}

pub(crate) fn timeout(flight_size: u64, repeated: bool) -> CongestionEvent {
    CongestionEvent { cause: CongestionCause::Timeout { repeated }, ..loss(flight_size) }
}

/// An ACK clock: a sender that always has data, a link with an unbounded queue, and an ACK for every segment.
pub(crate) struct AckClock {
    per_segment: SimDuration,
    rtt: SimDuration,
    mss: u64,
    /// The arrival of the last ACK.
    pub(crate) now: SimTime,
    link_free_at: SimTime,
    /// The octets acknowledged so far.
    snd_una: u64,
    /// The departure of each segment in flight, and the arrival of its ACK.
    flight: VecDeque<(SimTime, SimTime)>,
}

impl AckClock {
    /// An ACK clock with a link that takes `per_segment` for a segment; `rtt` is the other delay without a queue.
    pub(crate) fn new(per_segment: SimDuration, rtt: SimDuration, mss: u64) -> Self {
        let (now, link_free_at) = (SimTime::ZERO, SimTime::ZERO);
        Self { per_segment, rtt, mss, now, link_free_at, snd_una: 0, flight: VecDeque::new() }
    }

    /// Sends the segments that a window of `cwnd` permits, and waits for the next ACK.
    pub(crate) fn next_ack(&mut self, cwnd: u64) -> AckEvent {
        self.next_ack_of(1, cwnd)
    }

    /// Does the same with a receiver that acknowledges `segments` segments at a time.
    pub(crate) fn next_ack_of(&mut self, segments: u64, cwnd: u64) -> AckEvent {
        while (self.flight.len() as u64) < cwnd {
            self.link_free_at = self.link_free_at.max(self.now) + self.per_segment;
            self.flight.push_back((self.now, self.link_free_at + self.rtt));
        }
        let prior_flight_size = Bytes(self.flight.len() as u64 * self.mss);
        let snd_nxt = self.snd_una + prior_flight_size.0;
        let acknowledged = segments * self.mss;
        self.snd_una += acknowledged;
        let (sent, arrival) =
            self.flight.drain(..segments as usize).next_back().expect("a window holds what is acknowledged");
        self.now = arrival;
        let rtt = arrival - sent;
        let plain = AckEvent::in_order(Bytes(acknowledged), rtt);
        AckEvent { now: arrival, prior_flight_size, snd_una: self.snd_una, snd_nxt, ..plain }
    }
}
