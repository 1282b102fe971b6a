//! qlog: what happened at a flow, an appliance's end or a link, as a log that tools for qlog read.
//!
//! Source: draft-ietf-quic-qlog-main-schema-14, a sequence of JSON texts (RFC 7464) of one trace; names and fields of
//! draft-ietf-quic-qlog-quic-events-13 wherever QUIC and TCP have the same thing, with its units. The vocabulary is in
//! docs/reference/qlog.md.
//!
//! Departures: times are written from whole nanoseconds, and so are exact where a 64-bit float would no longer be.
//! `ssthresh` and `pacing_rate` are `null` when there is none any more, which QUIC's events cannot say.

mod data;
mod metrics;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use ackclock_units::SimTime;
use serde::Serialize;

use crate::event::{AckArrived, Event, PacketInfo};
use crate::observer::{Observer, Record};
use crate::source::{Source, SourceId, SourceKind};
use data::{AckReceived, Header, PacketData, SegmentData};
use metrics::{Metrics, Reading};

/// The namespace of the events' names. Not `tcp`, which is for a standard to take.
const NAMESPACE: &str = "ackclock-tcp";
/// Names the vocabulary. The draft keeps `urn:ietf:params:qlog:events` for what is registered.
const SCHEMA: &str = "urn:ackclock:qlog:events:ackclock-tcp";
/// RFC 7464 begins each text with it.
const RECORD_SEPARATOR: u8 = 0x1e;
const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

/// Writes the events of one source, as they happen.
///
/// `out` gets several writes for each event: buffer it. An error of `out` ends the writing, and [`QlogWriter::finish`] returns it.
#[derive(Debug)]
pub struct QlogWriter<W: Write> {
    out: W,
    source: SourceId,
    metrics: Metrics,
    recovery: &'static str,
    failure: Option<io::Error>,
}

impl<W: Write> QlogWriter<W> {
    /// A log of what happens at `source`; events of others are passed over.
    pub fn new(source: SourceId, out: W) -> Self {
        Self { out, source, metrics: Metrics::default(), recovery: data::OPEN, failure: None }
    }

    /// Gives the destination back, or the first error that it had.
    pub fn finish(mut self) -> io::Result<W> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(&mut self, source: &Source) -> io::Result<()> {
        self.out.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.out, &Header::of(source))?;
        self.out.write_all(b"\n")
    }

    fn write(&mut self, time: SimTime, name: &str, data: &impl Serialize) -> io::Result<()> {
        let (milliseconds, rest) = (time.0 / NANOSECONDS_PER_MILLISECOND, time.0 % NANOSECONDS_PER_MILLISECOND);
        self.out.write_all(&[RECORD_SEPARATOR])?;
        write!(self.out, r#"{{"time":{milliseconds}.{rest:06},"name":"{NAMESPACE}:{name}","data":"#)?;
        serde_json::to_writer(&mut self.out, data)?;
        self.out.write_all(b"}\n")
    }

    fn event(&mut self, time: SimTime, event: &Event) -> io::Result<()> {
        match event {
            Event::AckArrived(ack) => return self.ack(time, ack),
            Event::RecoveryEntered { cause, .. } => self.recovery_state(time, cause.state(), event)?,
            Event::RecoveryLeft { .. } => self.recovery_state(time, data::OPEN, event)?,
            Event::SegmentSent(sent) => self.write(time, "segment_sent", &SegmentData::of(sent))?,
            Event::MarkedLost { lost, by } => self.write(time, "packets_lost", &data::lost(*lost, *by))?,
            Event::TimedOut { in_a_row, rto } => {
                self.write(time, "loss_timer_updated", &data::timed_out(*in_a_row, *rto))?;
            }
            Event::Undone { cwnd } => self.write(time, "recovery_undone", &data::undone(*cwnd))?,
            Event::ProbeSent { kind } => self.write(time, "probe_sent", &data::probe(*kind))?,
            Event::ControllerState(state) => {
                self.write(time, "congestion_state_updated", &data::controller_state(*state))?;
            }
            Event::SlowStartExited { cause, cwnd } => {
                self.write(time, "slow_start_exited", &data::slow_start_exited(*cause, *cwnd))?;
            }
            Event::RelayHeld { buffered } => self.write(time, "relay_held", &data::relay_held(*buffered))?,
            Event::RelayReleased { buffered, held } => {
                self.write(time, "relay_released", &data::relay_released(*buffered, *held))?;
            }
            Event::PacketSent { packet, waited } => {
                self.packet(time, "packet_sent", packet, |data| data.waited(*waited))?;
            }
            Event::PacketDropped { packet, cause } => {
                self.packet(time, "packet_dropped", packet, |data| data.dropped_by(*cause))?;
            }
            Event::PacketMarked { packet } => self.packet(time, "packet_marked", packet, |data| data)?,
            Event::PacketDelivered { packet } => self.packet(time, "packet_delivered", packet, |data| data)?,
        }
        self.metrics(time, &Reading::of(event))
    }

    fn ack(&mut self, time: SimTime, ack: &AckArrived) -> io::Result<()> {
        self.write(time, "ack_received", &AckReceived::of(ack))?;
        self.metrics(time, &Reading::of_ack(ack))
    }

    /// Writes the metrics that have changed, if any.
    fn metrics(&mut self, time: SimTime, reading: &Reading) -> io::Result<()> {
        let Some(changes) = self.metrics.update(reading) else { return Ok(()) };
        self.write(time, "recovery_metrics_updated", &changes)
    }

    fn recovery_state(&mut self, time: SimTime, new: &'static str, event: &Event) -> io::Result<()> {
        let old = std::mem::replace(&mut self.recovery, new);
        self.write(time, "recovery_state_updated", &data::recovery_state(old, new, event))
    }

    fn packet(
        &mut self,
        time: SimTime,
        name: &str,
        packet: &PacketInfo,
        with: impl FnOnce(PacketData) -> PacketData,
    ) -> io::Result<()> {
        self.write(time, name, &with(PacketData::of(packet)))
    }

    fn unless_failed(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = write(self).err();
        }
    }
}

impl<W: Write> Observer for QlogWriter<W> {
    fn begin(&mut self, sources: &[Source]) {
        let source = &sources[self.source.0 as usize];
        self.unless_failed(|writer| writer.header(source));
    }

    fn on_event(&mut self, record: &Record) {
        if record.source == self.source {
            self.unless_failed(|writer| writer.event(record.time, &record.event));
        }
    }
}

/// Writes a log for each source that has events, to what `open` gives for it, one after the other.
pub fn write_qlog<W: Write>(
    sources: &[Source],
    records: &[Record],
    mut open: impl FnMut(&Source) -> io::Result<W>,
) -> io::Result<()> {
    let mut by_source = vec![Vec::new(); sources.len()];
    for record in records {
        by_source[record.source.0 as usize].push(record);
    }
    for (number, records) in by_source.into_iter().enumerate().filter(|(_, records)| !records.is_empty()) {
        let mut writer = QlogWriter::new(SourceId(number as u32), open(&sources[number])?);
        writer.begin(sources);
        for record in records {
            writer.on_event(record);
        }
        writer.finish()?;
    }
    Ok(())
}
