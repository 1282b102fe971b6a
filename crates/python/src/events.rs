//! Events as tuples from which `ackclock.events` makes its classes: kind, time, source, then the class's fields in
//! order.

use ackclock_events::{AckArrived, Event, PacketInfo, Record, SegmentSent};
use ackclock_units::{Bytes, SimDuration};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pub(crate) fn event_tuple<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyTuple>> {
    let (kind, time, source) = (record.event.kind().name(), record.time.as_secs_f64(), record.source.0);
    let fields = fields(py, &record.event)?;
    (kind, time, source, fields).into_pyobject(py)
}

fn fields<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    match event {
        Event::PacketSent { packet, waited } => (of_packet(packet), seconds(*waited)).into_bound_py_any(py),
        Event::PacketDropped { packet, cause } => (of_packet(packet), cause.name()).into_bound_py_any(py),
        Event::PacketMarked { packet } | Event::PacketDelivered { packet } => {
            (of_packet(packet),).into_bound_py_any(py)
        }
        Event::SegmentSent(sent) => of_segment(sent).into_bound_py_any(py),
        Event::AckArrived(ack) => of_ack(ack).into_bound_py_any(py),
        Event::MarkedLost { lost, by } => (lost.0, by.name()).into_bound_py_any(py),
        Event::RecoveryEntered { cause, until, cwnd_before, cwnd, ssthresh } => {
            (cause.name(), *until, cwnd_before.0, cwnd.0, octets(*ssthresh)).into_bound_py_any(py)
        }
        Event::RecoveryLeft { cwnd } | Event::Undone { cwnd } => (cwnd.0,).into_bound_py_any(py),
        Event::TimedOut { in_a_row, rto } => (*in_a_row, seconds(*rto)).into_bound_py_any(py),
        Event::ProbeSent { kind } => (kind.name(),).into_bound_py_any(py),
        Event::ControllerState(states) => (states.from, states.to).into_bound_py_any(py),
        Event::SlowStartExited { cause, cwnd } => (cause.name(), cwnd.0).into_bound_py_any(py),
        Event::RelayHeld { buffered } => (buffered.0,).into_bound_py_any(py),
        Event::RelayReleased { buffered, held } => (buffered.0, seconds(*held)).into_bound_py_any(py),
    }
}

type PacketFields = (u32, bool, u32, u32, u16, u64, u64, &'static str);

fn of_packet(packet: &PacketInfo) -> PacketFields {
    let PacketInfo { flow, is_forward, sequence, acknowledgment, flags, payload, size, .. } = *packet;
    (flow, is_forward, sequence, acknowledgment, flags.0, payload.0, size.0, packet.ecn_name())
}

fn of_segment(sent: &SegmentSent) -> (u64, u64, bool, u64) {
    (sent.offset, sent.size.0, sent.is_retransmission, sent.flight_size.0)
}

type AckFields = (u64, u64, u64, Option<u64>, u64, Option<f64>, Option<f64>, Option<f64>, f64, Option<u64>);

fn of_ack(ack: &AckArrived) -> AckFields {
    (
        ack.newly_delivered.0,
        ack.acknowledged,
        ack.cwnd.0,
        octets(ack.ssthresh),
        ack.flight_size.0,
        ack.rtt_sample.map(seconds),
        ack.srtt.map(seconds),
        ack.rttvar.map(seconds),
        seconds(ack.rto),
        ack.pacing_rate.map(|rate| rate.0),
    )
}

fn seconds(duration: SimDuration) -> f64 {
    duration.as_secs_f64()
}

fn octets(bytes: Option<Bytes>) -> Option<u64> {
    bytes.map(|bytes| bytes.0)
}
