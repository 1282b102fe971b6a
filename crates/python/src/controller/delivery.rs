//! Events for classes that model the path: the state of delivery, samples of its rate, the fate of segments.

use ackclock_cc::{DeliveryReport, RateSample, Repair, SegmentReport};
use pyo3::prelude::*;

/// The state of delivery after an ACK, for classes with `wants_samples`.
///
/// Names are those of draft-cheng-iccrg-delivery-rate-estimation, as in `C.delivered`.
#[pyclass(module = "ackclock._core", name = "DeliveryReport", frozen)]
pub(crate) struct PyDeliveryReport(pub(super) DeliveryReport);

attributes! { PyDeliveryReport, report:
    /// Data delivered since the connection began, in bytes (`C.delivered`).
    delivered_bytes: u64 = report.delivered.0;
    /// Data marked lost since the connection began, in bytes (`C.lost`).
    lost_bytes: u64 = report.lost.0;
    /// Data estimated to be in the network, in bytes (`C.inflight`; the pipe of RFC 6675).
    inflight_bytes: u64 = report.inflight.0;
    /// The kind of repair: "fast" in fast recovery, "timeout" after a retransmission timeout, None otherwise.
    repair: Option<&'static str> = match report.repair {
        Repair::None => None,
        Repair::Fast => Some("fast"),
        Repair::Timeout => Some("timeout"),
    };
    /// True if the receiver reports data that arrived out of order (RFC 2018).
    has_sack: bool = report.has_sack;
    /// The rate sample of this ACK; None if it delivered no segment whose sending is known.
    sample: Option<PyRateSample> = report.sample.map(PyRateSample);
}

/// A sample of the delivery rate, from the last sent of the segments that an ACK delivers.
///
/// Names are those of draft-cheng-iccrg-delivery-rate-estimation.
#[pyclass(module = "ackclock._core", name = "RateSample", frozen)]
pub(crate) struct PyRateSample(RateSample);

attributes! { PyRateSample, sample:
    /// The delivery rate, in bits per second, rounded down; None if the interval is too short.
    rate_bps: Option<u64> = sample.rate().map(|rate| rate.0);
    /// Data delivered over the interval, in bytes (`RS.delivered`).
    delivered_bytes: u64 = sample.delivered.0;
    /// The longer of the times for sending and for acknowledging it, in nanoseconds (`RS.interval`).
    ///
    /// 0 if that is shorter than the least round trip, and then the sample has no rate.
    interval_ns: u64 = sample.interval.0;
    /// Data delivered when the segment left, in bytes (`RS.prior_delivered`).
    prior_delivered_bytes: u64 = sample.prior_delivered.0;
    /// True if the segment left while the application did not fill the window (`RS.is_app_limited`).
    is_app_limited: bool = sample.is_app_limited;
    /// Data in flight when the segment left, itself included, in bytes (`RS.tx_in_flight`).
    tx_in_flight_bytes: u64 = sample.tx_in_flight.0;
    /// Data marked lost since the segment left, in bytes (`RS.lost`).
    lost_bytes: u64 = sample.lost.0;
}

/// The fate of a segment: the argument of `CongestionController.on_delivered` and `on_lost`.
#[pyclass(module = "ackclock._core", name = "SegmentReport")]
pub(crate) struct PySegmentReport(pub(super) SegmentReport);

attributes! { PySegmentReport, segment:
    /// Time at which the sender learned of it: nanoseconds of simulated time since the start of the run.
    now_ns: u64 = segment.now.0;
    /// Time at which the segment, or its latest retransmission, left: nanoseconds of simulated time.
    sent_at_ns: u64 = segment.sent_at.0;
    /// Offset of the segment in the stream, in bytes from the first byte of data.
    offset_bytes: u64 = segment.start;
    /// Payload of the segment, in bytes.
    size_bytes: u64 = segment.size.0;
    /// Data delivered since the connection began, in bytes; the segment included if it is delivered.
    delivered_bytes: u64 = segment.delivered.0;
    /// Data delivered when the segment left, in bytes (`P.delivered`).
    prior_delivered_bytes: u64 = segment.prior_delivered.0;
    /// Data in flight when the segment left, itself included, in bytes (`P.tx_in_flight`).
    tx_in_flight_bytes: u64 = segment.tx_in_flight.0;
    /// Data marked lost since the segment left, in bytes; itself included if it is lost.
    lost_bytes: u64 = segment.lost.0;
    /// True if the segment left while the application did not fill the window.
    is_app_limited: bool = segment.is_app_limited;
    /// True if the segment was a retransmission.
    is_retransmission: bool = segment.is_retransmission;
}
