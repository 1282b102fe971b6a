//! Packets of a trace, one after the other, with the names in them interned.

use std::io::{self, Write};

use ackclock_units::SimTime;
use prost::Message;

use super::proto::{
    BOOTTIME, Clock, ClockSnapshot, DebugAnnotation, EventType, INCREMENTAL_STATE_CLEARED, InternedData, InternedName,
    NEEDS_INCREMENTAL_STATE, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent, Value,
};

/// Field 1 of `Trace`, a message.
const PACKET_TAG: u8 = 0x0a;
/// There is one writer, and so one sequence of packets.
const SEQUENCE: u32 = 1;

/// A value shown with an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shown {
    Number(u64),
    Text(&'static str),
}

/// Writes the packets of a trace, and interns names.
#[derive(Debug)]
pub(super) struct Encoder<W: Write> {
    out: W,
    event_names: Names,
    annotation_names: Names,
    packet: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, event_names: Names::default(), annotation_names: Names::default(), packet: Vec::new() }
    }

    /// Writes the beginning of a trace: the definition of time, and that nothing has been interned.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let clock = Clock { clock_id: Some(BOOTTIME), timestamp: Some(0) };
        self.packet(TracePacket {
            clock_snapshot: Some(ClockSnapshot { clocks: vec![clock], primary_trace_clock: Some(BOOTTIME as i32) }),
            defaults: Some(TracePacketDefaults { timestamp_clock_id: Some(BOOTTIME) }),
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            ..TracePacket::default()
        })
    }

    pub(super) fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })
    }

    pub(super) fn counter(&mut self, time: SimTime, track: u64, value: u64) -> io::Result<()> {
        let counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
        let event = TrackEvent { counter_value, ..event(EventType::Counter, track) };
        self.event(time, event, InternedData::default())
    }

    pub(super) fn slice_end(&mut self, time: SimTime, track: u64) -> io::Result<()> {
        self.event(time, event(EventType::SliceEnd, track), InternedData::default())
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes an event with a name: an instant, or the beginning of a slice.
    pub(super) fn named(
        &mut self,
        time: SimTime,
        (kind, track): (EventType, u64),
        name: &'static str,
        shown: &[(&'static str, Shown)],
    ) -> io::Result<()> {
        let mut new = InternedData::default();
        let name_iid = Some(self.event_names.number(name, &mut new.event_names));
        let annotate = |&(name, value): &(&'static str, Shown)| DebugAnnotation {
            name_iid: Some(self.annotation_names.number(name, &mut new.debug_annotation_names)),
            value: Some(match value {
                Shown::Number(number) => Value::Number(number),
                Shown::Text(text) => Value::Text(text.to_owned()),
            }),
        };
        let debug_annotations = shown.iter().map(annotate).collect();
        self.event(time, TrackEvent { debug_annotations, name_iid, ..event(kind, track) }, new)
    }

    fn event(&mut self, time: SimTime, event: TrackEvent, new: InternedData) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(time.0),
            track_event: Some(event),
            interned_data: (new != InternedData::default()).then_some(new),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.packet.clear();
        self.packet.push(PACKET_TAG);
        packet.encode_length_delimited(&mut self.packet).expect("a vector grows as needed");
        self.out.write_all(&self.packet)
    }
}

fn event(kind: EventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), ..TrackEvent::default() }
}

/// Names by their numbers, from 1.
#[derive(Debug, Default)]
struct Names(Vec<&'static str>);

impl Names {
    /// The number of a name, which is added to `new` if it has none.
    fn number(&mut self, name: &'static str, new: &mut Vec<InternedName>) -> u64 {
        let known = self.0.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.0.push(name);
            new.push(InternedName { iid: Some(self.0.len() as u64), name: Some(name.to_owned()) });
            self.0.len() - 1
        });
        index as u64 + 1
    }
}
