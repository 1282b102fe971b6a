//! The events of `ackclock_cc` in Python: read-only, with units in the names; an attribute is made when it is read.

use ackclock_cc::{AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, SendEvent, Start};
use ackclock_units::SimDuration;
use pyo3::prelude::*;

use super::PyDeliveryReport;
use crate::arguments::{InitialSsthreshBytes, InitialWindowBytes, MssBytes, Seed};

/// The initial values of a controller: the first argument of its constructor.
///
/// Args:
///     mss_bytes: Payload of a full segment, bytes.
///     initial_window_bytes: Initial window, bytes.
///     initial_ssthresh_bytes: Initial slow-start threshold, bytes; None is arbitrarily high.
///     seed: Seed of the controller's random numbers, 0 to 2^64 - 1.
///
/// Raises:
///     ValueError: If a number is negative, or 2^64 or more.
#[pyclass(module = "ackclock._core", name = "Start", frozen)]
pub(crate) struct PyStart(pub(crate) Start);

#[pymethods]
impl PyStart {
    #[new]
    #[pyo3(
        signature = (*, mss_bytes, initial_window_bytes, initial_ssthresh_bytes=None, seed=Seed(0)),
        text_signature = "(*, mss_bytes, initial_window_bytes, initial_ssthresh_bytes=None, seed=0)"
    )]
    fn new(
        mss_bytes: MssBytes,
        initial_window_bytes: InitialWindowBytes,
        initial_ssthresh_bytes: Option<InitialSsthreshBytes>,
        seed: Seed,
    ) -> Self {
        use ackclock_units::Bytes;
        Self(Start {
            mss: Bytes(mss_bytes.0),
            initial_window: Bytes(initial_window_bytes.0),
            initial_ssthresh: initial_ssthresh_bytes.map(|bytes| Bytes(bytes.0)),
            seed: seed.0,
        })
    }

    /// Payload of a full segment, in bytes, as negotiated.
    #[getter]
    fn mss_bytes(&self) -> u64 {
        self.0.mss.0
    }

    /// The initial window, in bytes (RFC 6928).
    #[getter]
    fn initial_window_bytes(&self) -> u64 {
        self.0.initial_window.0
    }

    /// The initial slow-start threshold, in bytes; None is arbitrarily high (RFC 5681 section 3.1).
    #[getter]
    fn initial_ssthresh_bytes(&self) -> Option<u64> {
        self.0.initial_ssthresh.map(|bytes| bytes.0)
    }

    /// Seed of the controller's random numbers: each flow's own, from the scenario's.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }
}

/// An ACK that delivered data or revealed a loss: the argument of `CongestionController.on_ack`.
///
/// Times are integers in nanoseconds of simulated time, data is in bytes of payload.
#[pyclass(module = "ackclock._core", name = "AckEvent")]
pub(crate) struct PyAckEvent(pub(crate) AckEvent);

/// A round trip; `None` if none has been measured.
fn measured(span: SimDuration) -> Option<u64> {
    (span != SimDuration::ZERO).then_some(span.0)
}

attributes! { PyAckEvent, ack:
    /// Time at which the ACK arrived: nanoseconds of simulated time since the start of the run.
    now_ns: u64 = ack.now.0;
    /// Data that this ACK delivered, cumulatively or by SACK, in bytes.
    newly_acked_bytes: u64 = ack.newly_acked.0;
    /// True if the ACK advances the cumulative acknowledgement.
    is_cumulative: bool = ack.is_cumulative;
    /// Data marked lost since the last ACK, by this one or by a timer before it, in bytes.
    newly_lost_bytes: u64 = ack.newly_lost.0;
    /// Data delivered with a CE mark, in bytes, as far as the receiver reports it.
    ///
    /// One segment for an ECE of RFC 3168; the counters' value with accurate feedback (RFC 9768).
    newly_ce_marked_bytes: u64 = ack.newly_ce_marked.0;
    /// FlightSize before this ACK, in bytes: data sent and not cumulatively acknowledged (RFC 5681).
    prior_flight_size_bytes: u64 = ack.prior_flight_size.0;
    /// The round-trip time that this ACK measured, in nanoseconds; None under Karn's rule (RFC 6298 section 3).
    rtt_sample_ns: Option<u64> = ack.rtt_sample.map(|sample| sample.0);
    /// The latest RTT sample, this one included, in nanoseconds; None before the first.
    latest_rtt_ns: Option<u64> = measured(ack.rtt.latest);
    /// Smoothed RTT, this sample included, in nanoseconds (RFC 6298); None before the first.
    srtt_ns: Option<u64> = measured(ack.rtt.srtt);
    /// RTT variation, this sample included, in nanoseconds (RFC 6298).
    rttvar_ns: u64 = ack.rtt.rttvar.0;
    /// The least RTT sample of the connection, in nanoseconds; None before the first.
    min_rtt_ns: Option<u64> = measured(ack.rtt.min_rtt);
    /// The receiver's clock when it sent the ACK, in its ticks; None without timestamps (RFC 7323).
    tsval: Option<u32> = ack.timestamps.map(|stamps| stamps.tsval);
    /// The sender's clock that the ACK echoes, in ticks of `ts_tick_ns`; None without timestamps (RFC 7323).
    tsecr: Option<u32> = ack.timestamps.map(|stamps| stamps.tsecr);
    /// The sender's clock when the ACK arrived, in ticks of `ts_tick_ns`; None without timestamps.
    ts_arrival: Option<u32> = ack.timestamps.map(|stamps| stamps.arrival);
    /// A tick of the sender's clock of timestamps, in nanoseconds; None without timestamps.
    ts_tick_ns: Option<u64> = ack.timestamps.map(|stamps| stamps.tick.0);
    /// True if cwnd, and nothing else, held data back when the sender last stopped.
    is_cwnd_limited: bool = ack.is_cwnd_limited;
    /// True in fast recovery or CWR, including the ACK that ends it; false after a timeout.
    in_recovery: bool = ack.in_recovery;
    /// Packet-timed round trips since the connection began.
    round: u64 = ack.round;
    /// True if the sender spreads its segments over the round trip.
    is_paced: bool = ack.is_paced;
    /// True if a window that counts acknowledged data may grow, by the stack's switches.
    ///
    /// RFC 5681 section 3.1 asks for a cumulative ACK, a cwnd in use, and no recovery.
    may_grow: bool = ack.may_grow();
    /// The state of delivery after this ACK; None unless the class has `wants_samples`.
    delivery: Option<PyDeliveryReport> = ack.delivery.map(PyDeliveryReport);
}

/// The start of a congestion episode: the argument of `CongestionController.on_congestion`.
#[pyclass(module = "ackclock._core", name = "CongestionEvent")]
pub(crate) struct PyCongestionEvent(pub(crate) CongestionEvent);

attributes! { PyCongestionEvent, event:
    /// Time at which the sender noticed: nanoseconds of simulated time since the start of the run.
    now_ns: u64 = event.now.0;
    /// The cause: "loss" (duplicate ACKs or SACK), "ecn" (the network marked a packet) or "timeout".
    cause: &'static str = match event.cause {
        CongestionCause::Loss => "loss",
        CongestionCause::Ecn => "ecn",
        CongestionCause::Timeout { .. } => "timeout",
    };
    /// True from the second timeout of the same data on: ssthresh stays (RFC 5681 section 3.1).
    is_repeated: bool = event.is_repeated();
    /// The data to reduce from, in bytes: FlightSize (RFC 5681), or cwnd with `decrease_from = "cwnd"`.
    decrease_from_bytes: u64 = event.decrease_from.0;
    /// An older name of `decrease_from_bytes`.
    flight_size_bytes: u64 = event.decrease_from.0;
    /// Data marked lost so far, in bytes.
    newly_lost_bytes: u64 = event.newly_lost.0;
    /// Data estimated to be in the network, in bytes, without lost segments (the pipe of RFC 6675).
    inflight_bytes: u64 = event.inflight.0;
}

/// A restart of the window without a congestion episode: the argument of `CongestionController.on_restart`.
#[pyclass(module = "ackclock._core", name = "RestartEvent")]
pub(crate) struct PyRestartEvent(pub(crate) RestartEvent);

attributes! { PyRestartEvent, restart:
    /// Time of the restart: nanoseconds of simulated time since the start of the run.
    now_ns: u64 = restart.now.0;
    /// The reason why the window starts over.
    ///
    /// "syn_lost" (RFC 5681 section 3.1), "timeout" (the loss window), "idle" (the restart window, RFC 5681
    /// section 4.1), "unused" (RFC 7661, RFC 2861), or "outer" (an agent around this controller moved it).
    cause: &'static str = match restart.cause {
        RestartCause::SynLost => "syn_lost",
        RestartCause::Timeout => "timeout",
        RestartCause::Idle => "idle",
        RestartCause::Unused => "unused",
        RestartCause::Outer => "outer",
    };
    /// The window that the standard or the stack sets, in bytes.
    window_bytes: u64 = restart.window.0;
    /// The threshold for that window, in bytes; None keeps the present one.
    ssthresh_bytes: Option<u64> = restart.ssthresh.map(|bytes| bytes.0);
}

/// The sending of a data segment: the argument of `CongestionController.on_send`.
#[pyclass(module = "ackclock._core", name = "SendEvent")]
pub(crate) struct PySendEvent(pub(crate) SendEvent);

attributes! { PySendEvent, sent:
    /// Time at which the segment left: nanoseconds of simulated time since the start of the run.
    now_ns: u64 = sent.now.0;
    /// Payload of the segment, in bytes.
    size_bytes: u64 = sent.size.0;
    /// FlightSize with the segment, in bytes.
    flight_size_bytes: u64 = sent.flight_size.0;
    /// Idle time before it with no data outstanding, in nanoseconds; 0 if data was outstanding.
    idle_for_ns: u64 = sent.idle_for.0;
}
