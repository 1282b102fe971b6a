//! Events for classes that model the path: the state of delivery, samples of its rate, the fate of segments.

use ackclock_cc::{DeliveryReport, RateSample, Repair, SegmentReport};
use pyo3::prelude::*;

/// The state of delivery after an ACK, for classes with `wants_samples`.
///
/// Names are those of draft-cheng-iccrg-delivery-rate-estimation, as in `C.delivered`.
#[pyclass(module = "ackclock._core", name = "DeliveryReport", frozen)]
pub(crate) struct PyDeliveryReport(pub(super) DeliveryReport);

#[pymethods]
impl PyDeliveryReport {
    /// Data delivered since the connection began, in bytes (`C.delivered`).
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    /// Data marked lost since the connection began, in bytes (`C.lost`).
    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }

    /// Data estimated to be in the network, in bytes (`C.inflight`; the pipe of RFC 6675).
    #[getter]
    fn inflight_bytes(&self) -> u64 {
        self.0.inflight.0
    }

    /// The kind of repair: "fast" in fast recovery, "timeout" after a retransmission timeout, None otherwise.
    #[getter]
    fn repair(&self) -> Option<&'static str> {
        match self.0.repair {
            Repair::None => None,
            Repair::Fast => Some("fast"),
            Repair::Timeout => Some("timeout"),
        }
    }

    /// True if the receiver reports data that arrived out of order (RFC 2018).
    #[getter]
    fn has_sack(&self) -> bool {
        self.0.has_sack
    }

    /// The rate sample of this ACK; None if it delivered no segment whose sending is known.
    #[getter]
    fn sample(&self) -> Option<PyRateSample> {
        self.0.sample.map(PyRateSample)
    }
}

/// A sample of the delivery rate, from the last sent of the segments that an ACK delivers.
///
/// Names are those of draft-cheng-iccrg-delivery-rate-estimation.
#[pyclass(module = "ackclock._core", name = "RateSample", frozen)]
pub(crate) struct PyRateSample(RateSample);

#[pymethods]
impl PyRateSample {
    /// The delivery rate, in bits per second, rounded down; None if the interval is too short.
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        self.0.rate().map(|rate| rate.0)
    }

    /// Data delivered over the interval, in bytes (`RS.delivered`).
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    /// The longer of the times for sending and for acknowledging it, in nanoseconds (`RS.interval`).
    ///
    /// 0 if that is shorter than the least round trip, and then the sample has no rate.
    #[getter]
    fn interval_ns(&self) -> u64 {
        self.0.interval.0
    }

    /// Data delivered when the segment left, in bytes (`RS.prior_delivered`).
    #[getter]
    fn prior_delivered_bytes(&self) -> u64 {
        self.0.prior_delivered.0
    }

    /// True if the segment left while the application did not fill the window (`RS.is_app_limited`).
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    /// Data in flight when the segment left, itself included, in bytes (`RS.tx_in_flight`).
    #[getter]
    fn tx_in_flight_bytes(&self) -> u64 {
        self.0.tx_in_flight.0
    }

    /// Data marked lost since the segment left, in bytes (`RS.lost`).
    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }
}

/// The fate of a segment: the argument of `CongestionController.on_delivered` and `on_lost`.
#[pyclass(module = "ackclock._core", name = "SegmentReport")]
pub(crate) struct PySegmentReport(pub(super) SegmentReport);

#[pymethods]
impl PySegmentReport {
    /// Time at which the sender learned of it: nanoseconds of simulated time since the start of the run.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    /// Time at which the segment, or its latest retransmission, left: nanoseconds of simulated time.
    #[getter]
    fn sent_at_ns(&self) -> u64 {
        self.0.sent_at.0
    }

    /// Offset of the segment in the stream, in bytes from the first byte of data.
    #[getter]
    fn offset_bytes(&self) -> u64 {
        self.0.start
    }

    /// Payload of the segment, in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size.0
    }

    /// Data delivered since the connection began, in bytes; the segment included if it is delivered.
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    /// Data delivered when the segment left, in bytes (`P.delivered`).
    #[getter]
    fn prior_delivered_bytes(&self) -> u64 {
        self.0.prior_delivered.0
    }

    /// Data in flight when the segment left, itself included, in bytes (`P.tx_in_flight`).
    #[getter]
    fn tx_in_flight_bytes(&self) -> u64 {
        self.0.tx_in_flight.0
    }

    /// Data marked lost since the segment left, in bytes; itself included if it is lost.
    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }

    /// True if the segment left while the application did not fill the window.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    /// True if the segment was a retransmission.
    #[getter]
    fn is_retransmission(&self) -> bool {
        self.0.is_retransmission
    }
}
