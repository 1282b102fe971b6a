//! What classes that model the path are told besides: the state of delivery, samples of its rate, the fate of segments.

use ackclock_cc::{DeliveryReport, RateSample, Repair, SegmentReport};
use pyo3::prelude::*;

/// The state of delivery after an ACK.
#[pyclass(module = "ackclock._core", name = "DeliveryReport", frozen)]
pub(crate) struct PyDeliveryReport(pub(super) DeliveryReport);

#[pymethods]
impl PyDeliveryReport {
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }

    #[getter]
    fn inflight_bytes(&self) -> u64 {
        self.0.inflight.0
    }

    #[getter]
    fn repair(&self) -> Option<&'static str> {
        match self.0.repair {
            Repair::None => None,
            Repair::Fast => Some("fast"),
            Repair::Timeout => Some("timeout"),
        }
    }

    #[getter]
    fn has_sack(&self) -> bool {
        self.0.has_sack
    }

    #[getter]
    fn sample(&self) -> Option<PyRateSample> {
        self.0.sample.map(PyRateSample)
    }
}

/// A sample of the delivery rate.
#[pyclass(module = "ackclock._core", name = "RateSample", frozen)]
pub(crate) struct PyRateSample(RateSample);

#[pymethods]
impl PyRateSample {
    /// `None` if the interval is too short to tell.
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        self.0.rate().map(|rate| rate.0)
    }

    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    #[getter]
    fn interval_ns(&self) -> u64 {
        self.0.interval.0
    }

    #[getter]
    fn prior_delivered_bytes(&self) -> u64 {
        self.0.prior_delivered.0
    }

    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    #[getter]
    fn tx_in_flight_bytes(&self) -> u64 {
        self.0.tx_in_flight.0
    }

    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }
}

/// A segment has reached the receiver, or is taken for lost.
#[pyclass(module = "ackclock._core", name = "SegmentReport")]
pub(crate) struct PySegmentReport(pub(super) SegmentReport);

#[pymethods]
impl PySegmentReport {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    #[getter]
    fn sent_at_ns(&self) -> u64 {
        self.0.sent_at.0
    }

    /// Where it begins in the stream.
    #[getter]
    fn offset_bytes(&self) -> u64 {
        self.0.start
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size.0
    }

    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered.0
    }

    #[getter]
    fn prior_delivered_bytes(&self) -> u64 {
        self.0.prior_delivered.0
    }

    #[getter]
    fn tx_in_flight_bytes(&self) -> u64 {
        self.0.tx_in_flight.0
    }

    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost.0
    }

    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    #[getter]
    fn is_retransmission(&self) -> bool {
        self.0.is_retransmission
    }
}
