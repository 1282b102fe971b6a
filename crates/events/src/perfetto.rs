//! A trace that <https://ui.perfetto.dev> opens: a track for each flow, with what it did.
//!
//! Source: Perfetto's track events (perfetto.dev/docs/reference/synthetic-track-event). A source is a track with the slices of
//! its recoveries, one within the other where a timeout interrupts one, and instants for what else happened; below it are
//! a track of what its controller is doing, and one for each value. A link's track has its drops and marks.
//!
//! Departures: none. Time zero of the run is zero of the clock that Perfetto shows. A slice that is open at the end of the run stays
//! open, which Perfetto shows as unfinished.

mod encoder;
mod proto;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::{self, Write};

use ackclock_units::SimTime;

use crate::event::{ControllerState, Event, PacketInfo, RecoveryCause};
use crate::observer::{Observer, Record};
use crate::source::Source;
use encoder::{Encoder, Shown};
use proto::EventType;
use tracks::{Tracks, values};

/// Writes a trace as things happen.
///
/// `out` gets a write for each event: buffer it. An error of `out` ends the writing, and [`PerfettoWriter::finish`] returns it.
#[derive(Debug)]
pub struct PerfettoWriter<W: Write> {
    encoder: Encoder<W>,
    tracks: Vec<Tracks>,
    failure: Option<io::Error>,
}

impl<W: Write> PerfettoWriter<W> {
    /// A trace of every source.
    pub fn new(out: W) -> Self {
        Self { encoder: Encoder::new(out), tracks: Vec::new(), failure: None }
    }

    /// Gives the destination back, or the first error that it had.
    pub fn finish(mut self) -> io::Result<W> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.encoder.finish()
    }

    fn header(&mut self, sources: &[Source]) -> io::Result<()> {
        self.encoder.begin()?;
        for (number, source) in sources.iter().enumerate() {
            let tracks = Tracks::of(number);
            self.encoder.track(tracks.describe(source, number))?;
            self.tracks.push(tracks);
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let Record { time, source, ref event } = *record;
        let tracks = &mut self.tracks[source.0 as usize];
        tracks.first.get_or_insert(time);
        let mut page = Page { encoder: &mut self.encoder, tracks, time };
        page.happening(event)?;
        page.values(event)
    }

    fn unless_failed(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = write(self).err();
        }
    }
}

impl<W: Write> Observer for PerfettoWriter<W> {
    fn begin(&mut self, sources: &[Source]) {
        self.unless_failed(|writer| writer.header(sources));
    }

    fn on_event(&mut self, record: &Record) {
        self.unless_failed(|writer| writer.record(record));
    }
}

/// Writes a trace of what has been recorded.
pub fn write_perfetto<W: Write>(sources: &[Source], records: &[Record], out: W) -> io::Result<W> {
    let mut writer = PerfettoWriter::new(out);
    writer.begin(sources);
    for record in records {
        writer.on_event(record);
    }
    writer.finish()
}

/// The tracks of a source at a moment.
struct Page<'a, W: Write> {
    encoder: &'a mut Encoder<W>,
    tracks: &'a mut Tracks,
    time: SimTime,
}

impl<W: Write> Page<'_, W> {
    fn happening(&mut self, event: &Event) -> io::Result<()> {
        match *event {
            Event::RecoveryEntered { cause, until, cwnd_before, .. } => {
                self.enter(cause, &[("until", until), ("cwnd_before_bytes", cwnd_before.0)])
            }
            Event::RecoveryLeft { .. } => self.leave(0),
            Event::ControllerState(state) => self.controller(state),
            Event::PacketDropped { packet, cause } => self.packet("drop", &packet, Some(("cause", cause.name()))),
            Event::PacketMarked { packet } => self.packet("mark", &packet, None),
            Event::SegmentSent(sent) if sent.is_retransmission => {
                self.instant("retransmission", None, &[("offset", sent.offset), ("size_bytes", sent.size.0)])
            }
            Event::MarkedLost { lost, by } => self.instant("loss", Some(("by", by.name())), &[("lost_bytes", lost.0)]),
            Event::TimedOut { in_a_row, rto } => {
                self.instant("timeout", None, &[("in_a_row", u64::from(in_a_row)), ("rto_ns", rto.0)])
            }
            Event::Undone { cwnd } => self.instant("undo", None, &[("cwnd_bytes", cwnd.0)]),
            Event::ProbeSent { kind } => self.instant("probe", Some(("kind", kind.name())), &[]),
            Event::SlowStartExited { cause, cwnd } => {
                self.instant("slow start exit", Some(("cause", cause.name())), &[("cwnd_bytes", cwnd.0)])
            }
            Event::RelayHeld { buffered } => self.instant("held", None, &[("buffered_bytes", buffered.0)]),
            Event::RelayReleased { held, .. } => self.instant("released", None, &[("held_ns", held.0)]),
            Event::SegmentSent(_) | Event::AckArrived(_) | Event::PacketSent { .. } | Event::PacketDelivered { .. } => {
                Ok(())
            }
        }
    }

    /// A slice begins within those that are open; a second one for the same cause takes the place of the first.
    fn enter(&mut self, cause: RecoveryCause, shown: &[(&'static str, u64)]) -> io::Result<()> {
        if let Some(outer) = self.tracks.recoveries.iter().position(|open| *open == cause) {
            self.leave(outer)?;
        }
        self.tracks.recoveries.push(cause);
        self.encoder.named(self.time, (EventType::SliceBegin, self.tracks.own), cause.state(), &numbers(None, shown))
    }

    /// The slices within the first `remaining` end.
    fn leave(&mut self, remaining: usize) -> io::Result<()> {
        for _ in self.tracks.recoveries.drain(remaining..) {
            self.encoder.slice_end(self.time, self.tracks.own)?;
        }
        Ok(())
    }

    fn controller(&mut self, ControllerState { from, to }: ControllerState) -> io::Result<()> {
        let track = self.tracks.controller;
        if !self.tracks.has_controller {
            self.tracks.has_controller = true;
            self.encoder.track(self.tracks.describe_controller())?;
            self.encoder.named(self.tracks.first.unwrap_or(self.time), (EventType::SliceBegin, track), from, &[])?;
        }
        self.encoder.slice_end(self.time, track)?;
        self.encoder.named(self.time, (EventType::SliceBegin, track), to, &[])
    }

    fn packet(
        &mut self,
        name: &'static str,
        packet: &PacketInfo,
        why: Option<(&'static str, &'static str)>,
    ) -> io::Result<()> {
        let (flow, sequence) = (u64::from(packet.flow), u64::from(packet.sequence));
        self.instant(name, why, &[("flow", flow), ("sequence", sequence), ("size_bytes", packet.size.0)])
    }

    fn instant(
        &mut self,
        name: &'static str,
        why: Option<(&'static str, &'static str)>,
        shown: &[(&'static str, u64)],
    ) -> io::Result<()> {
        self.encoder.named(self.time, (EventType::Instant, self.tracks.own), name, &numbers(why, shown))
    }

    fn values(&mut self, event: &Event) -> io::Result<()> {
        for (counter, value) in values(event) {
            let (track, is_news) = self.tracks.update(counter, value);
            if let Some(track) = track {
                self.encoder.track(track)?;
            }
            if is_news {
                self.encoder.counter(self.time, self.tracks.counter(counter), value)?;
            }
        }
        Ok(())
    }
}

fn numbers(why: Option<(&'static str, &'static str)>, shown: &[(&'static str, u64)]) -> Vec<(&'static str, Shown)> {
    let why = why.map(|(name, text)| (name, Shown::Text(text)));
    why.into_iter().chain(shown.iter().map(|(name, value)| (*name, Shown::Number(*value)))).collect()
}
