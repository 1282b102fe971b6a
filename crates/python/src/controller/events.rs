//! The events of `ackclock_cc` as Python sees them: read-only, units in the names, each attribute made when asked for.

use ackclock_cc::{AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, SendEvent, Start};
use ackclock_units::SimDuration;
use pyo3::prelude::*;

use super::PyDeliveryReport;

/// What a controller starts from.
#[pyclass(module = "ackclock._core", name = "Start", frozen)]
pub(crate) struct PyStart(pub(crate) Start);

#[pymethods]
impl PyStart {
    #[new]
    #[pyo3(signature = (*, mss_bytes, initial_window_bytes, initial_ssthresh_bytes=None, seed=0))]
    fn new(mss_bytes: u64, initial_window_bytes: u64, initial_ssthresh_bytes: Option<u64>, seed: u64) -> Self {
        use ackclock_units::Bytes;
        Self(Start {
            mss: Bytes(mss_bytes),
            initial_window: Bytes(initial_window_bytes),
            initial_ssthresh: initial_ssthresh_bytes.map(Bytes),
            seed,
        })
    }

    #[getter]
    fn mss_bytes(&self) -> u64 {
        self.0.mss.0
    }

    #[getter]
    fn initial_window_bytes(&self) -> u64 {
        self.0.initial_window.0
    }

    #[getter]
    fn initial_ssthresh_bytes(&self) -> Option<u64> {
        self.0.initial_ssthresh.map(|bytes| bytes.0)
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }
}

/// An ACK arrived.
#[pyclass(module = "ackclock._core", name = "AckEvent")]
pub(crate) struct PyAckEvent(pub(crate) AckEvent);

/// A round trip that may not have been measured yet.
fn measured(span: SimDuration) -> Option<u64> {
    (span != SimDuration::ZERO).then_some(span.0)
}

#[pymethods]
impl PyAckEvent {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    #[getter]
    fn newly_acked_bytes(&self) -> u64 {
        self.0.newly_acked.0
    }

    #[getter]
    fn is_cumulative(&self) -> bool {
        self.0.is_cumulative
    }

    #[getter]
    fn newly_lost_bytes(&self) -> u64 {
        self.0.newly_lost.0
    }

    #[getter]
    fn newly_ce_marked_bytes(&self) -> u64 {
        self.0.newly_ce_marked.0
    }

    #[getter]
    fn prior_flight_size_bytes(&self) -> u64 {
        self.0.prior_flight_size.0
    }

    #[getter]
    fn rtt_sample_ns(&self) -> Option<u64> {
        self.0.rtt_sample.map(|sample| sample.0)
    }

    #[getter]
    fn latest_rtt_ns(&self) -> Option<u64> {
        measured(self.0.rtt.latest)
    }

    #[getter]
    fn srtt_ns(&self) -> Option<u64> {
        measured(self.0.rtt.srtt)
    }

    #[getter]
    fn rttvar_ns(&self) -> u64 {
        self.0.rtt.rttvar.0
    }

    #[getter]
    fn min_rtt_ns(&self) -> Option<u64> {
        measured(self.0.rtt.min_rtt)
    }

    #[getter]
    fn tsval(&self) -> Option<u32> {
        self.0.timestamps.map(|stamps| stamps.tsval)
    }

    #[getter]
    fn tsecr(&self) -> Option<u32> {
        self.0.timestamps.map(|stamps| stamps.tsecr)
    }

    /// The sender's clock on arrival.
    #[getter]
    fn ts_arrival(&self) -> Option<u32> {
        self.0.timestamps.map(|stamps| stamps.arrival)
    }

    #[getter]
    fn ts_tick_ns(&self) -> Option<u64> {
        self.0.timestamps.map(|stamps| stamps.tick.0)
    }

    #[getter]
    fn is_cwnd_limited(&self) -> bool {
        self.0.is_cwnd_limited
    }

    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }

    #[getter]
    fn round(&self) -> u64 {
        self.0.round
    }

    #[getter]
    fn is_paced(&self) -> bool {
        self.0.is_paced
    }

    /// New data, cwnd in full use, nothing to recover.
    #[getter]
    fn may_grow(&self) -> bool {
        self.0.may_grow()
    }

    /// For classes that want samples.
    #[getter]
    fn delivery(&self) -> Option<PyDeliveryReport> {
        self.0.delivery.map(PyDeliveryReport)
    }
}

/// A congestion episode begins.
#[pyclass(module = "ackclock._core", name = "CongestionEvent")]
pub(crate) struct PyCongestionEvent(pub(crate) CongestionEvent);

#[pymethods]
impl PyCongestionEvent {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    #[getter]
    fn cause(&self) -> &'static str {
        match self.0.cause {
            CongestionCause::Loss => "loss",
            CongestionCause::Ecn => "ecn",
            CongestionCause::Timeout { .. } => "timeout",
        }
    }

    /// The timer expired again for the same data.
    #[getter]
    fn is_repeated(&self) -> bool {
        self.0.is_repeated()
    }

    #[getter]
    fn flight_size_bytes(&self) -> u64 {
        self.0.flight_size.0
    }

    #[getter]
    fn newly_lost_bytes(&self) -> u64 {
        self.0.newly_lost.0
    }

    #[getter]
    fn inflight_bytes(&self) -> u64 {
        self.0.inflight.0
    }
}

/// The window starts over.
#[pyclass(module = "ackclock._core", name = "RestartEvent")]
pub(crate) struct PyRestartEvent(pub(crate) RestartEvent);

#[pymethods]
impl PyRestartEvent {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    #[getter]
    fn cause(&self) -> &'static str {
        match self.0.cause {
            RestartCause::SynLost => "syn_lost",
            RestartCause::Timeout => "timeout",
            RestartCause::Idle => "idle",
            RestartCause::Unused => "unused",
            RestartCause::Outer => "outer",
        }
    }

    #[getter]
    fn window_bytes(&self) -> u64 {
        self.0.window.0
    }

    #[getter]
    fn ssthresh_bytes(&self) -> Option<u64> {
        self.0.ssthresh.map(|bytes| bytes.0)
    }
}

/// A data segment left.
#[pyclass(module = "ackclock._core", name = "SendEvent")]
pub(crate) struct PySendEvent(pub(crate) SendEvent);

#[pymethods]
impl PySendEvent {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size.0
    }

    #[getter]
    fn flight_size_bytes(&self) -> u64 {
        self.0.flight_size.0
    }

    #[getter]
    fn idle_for_ns(&self) -> u64 {
        self.0.idle_for.0
    }
}
