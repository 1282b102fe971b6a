//! Events of an observed run so far: with their times and sources, in the order in which they happened.
//!
//! A clocked link knows the times at which a packet will enter and leave its wire as soon as the packet comes. Future
//! events wait here for their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_events::{DropCause, Event, EventKind, EventKinds, PacketInfo, Record, Source, SourceId};
use ackclock_net::queue::Treatment;
use ackclock_net::{Direction, EndpointId, LinkId, Packet, Passage, Payload};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::Flags;
use slab::Slab;

use crate::captures::Captures;

/// A selection of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSelection {
    /// Kinds of events to record.
    pub kinds: EventKinds,
    /// Flows whose events and packets to record, by number: connections in the scenario's order, then datagrams. `None`
    /// selects all, short flows on links included.
    pub flows: Option<Vec<usize>>,
    /// Links whose events to record; `None` selects all.
    pub links: Option<Vec<LinkId>>,
}

impl EventSelection {
    pub(crate) fn has_flow(&self, flow: usize) -> bool {
        self.flows.as_ref().is_none_or(|flows| flows.contains(&flow))
    }

    pub(crate) fn has_link(&self, link: LinkId) -> bool {
        self.links.as_ref().is_none_or(|links| links.contains(&link))
    }

    /// True if events of packets on links are selected.
    pub(crate) fn has_packets(&self) -> bool {
        self.has_passages()
            || [EventKind::PacketDropped, EventKind::PacketMarked].into_iter().any(|kind| self.kinds.has(kind))
    }

    /// True if each passage of a packet through a link is selected.
    pub(crate) fn has_passages(&self) -> bool {
        [EventKind::PacketSent, EventKind::PacketDelivered].into_iter().any(|kind| self.kinds.has(kind))
    }
}

/// The records of an observed run.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    selection: EventSelection,
    pub(super) sources: Vec<Source>,
    /// Source number of each link, if it is observed.
    links: Vec<Option<SourceId>>,
    /// Source number of each endpoint, if it is observed.
    ends: Vec<Option<SourceId>>,
    records: Vec<Record>,
    to_come: ToCome,
}

/// Known future events, in order of time, then of the time at which they became known. Records are large, and stay in
/// place.
#[derive(Clone, Debug, Default)]
struct ToCome {
    /// Time and, in lower bits, the order of knowledge; and the place of the record.
    order: BinaryHeap<Reverse<(u128, usize)>>,
    records: Slab<Record>,
    foretold: u64,
}

impl ToCome {
    fn add(&mut self, record: Record) {
        let at = u128::from(record.time.0) << 64 | u128::from(self.foretold);
        self.foretold += 1;
        let place = self.records.insert(record);
        self.order.push(Reverse((at, place)));
    }

    /// The first record, if it has happened by `now`.
    fn take_until(&mut self, now: SimTime) -> Option<Record> {
        let Reverse((at, place)) = *self.order.peek()?;
        if (at >> 64) as u64 > now.0 {
            return None;
        }
        self.order.pop();
        Some(self.records.remove(place))
    }
}

impl Watch {
    pub(crate) fn new(selection: &EventSelection) -> Self {
        Self {
            selection: selection.clone(),
            sources: Vec::new(),
            links: Vec::new(),
            ends: Vec::new(),
            records: Vec::new(),
            to_come: ToCome::default(),
        }
    }

    /// Adds a source of events.
    pub(crate) fn add_source(&mut self, source: Source) -> SourceId {
        self.sources.push(source);
        SourceId(self.sources.len() as u32 - 1)
    }

    /// Sets the source of an endpoint's events.
    pub(crate) fn watch_end(&mut self, end: EndpointId, source: SourceId) {
        set(&mut self.ends, end.index(), source);
    }

    /// Observes a link from now on, under this source.
    pub(crate) fn watch_link(&mut self, link: LinkId, source: SourceId) {
        set(&mut self.links, link.index(), source);
    }

    /// Records the events of an endpoint.
    pub(crate) fn on_endpoint(&mut self, now: SimTime, end: EndpointId, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            self.push_of_end(now, end, event);
        }
    }

    /// Records one event of an endpoint, if it is selected.
    pub(crate) fn push_of_end(&mut self, now: SimTime, end: EndpointId, event: Event) {
        if let Some(source) = self.ends.get(end.index()).copied().flatten()
            && self.selection.kinds.has(event.kind())
        {
            self.flush(now);
            self.records.push(Record { time: now, source, event });
        }
    }

    /// Records the passage through a link of a packet that came to it at `arrived`.
    pub(crate) fn on_passage(&mut self, now: SimTime, at: &At<'_>, arrived: SimTime, passage: Passage) {
        let waited = passage.service.saturating_since(arrived);
        self.tell(now, passage.service, at, EventKind::PacketSent, |packet| Event::PacketSent { packet, waited });
    }

    /// Records a packet that comes out at the far end of a link, now or later.
    pub(crate) fn on_delivery(&mut self, now: SimTime, at: &At<'_>, arrival: SimTime) {
        self.tell(now, arrival, at, EventKind::PacketDelivered, |packet| Event::PacketDelivered { packet });
    }

    /// Records a packet that enters service on a link, after its wait.
    pub(crate) fn on_service(&mut self, now: SimTime, at: &At<'_>, waited: SimDuration) {
        self.tell(now, now, at, EventKind::PacketSent, |packet| Event::PacketSent { packet, waited });
    }

    /// Records a packet that is dropped, now or later.
    pub(crate) fn on_dropped(&mut self, now: SimTime, time: SimTime, at: &At<'_>, cause: DropCause) {
        self.tell(now, time, at, EventKind::PacketDropped, |packet| Event::PacketDropped { packet, cause });
    }

    /// Records a packet that a queue dropped or marked.
    pub(crate) fn on_treated(&mut self, now: SimTime, at: &At<'_>, treatment: Treatment) {
        match treatment {
            Treatment::Dropped => self.on_dropped(now, now, at, DropCause::Queue),
            Treatment::Marked => {
                self.tell(now, now, at, EventKind::PacketMarked, |packet| Event::PacketMarked { packet });
            }
        }
    }

    fn tell(
        &mut self,
        now: SimTime,
        time: SimTime,
        at: &At<'_>,
        kind: EventKind,
        event: impl FnOnce(PacketInfo) -> Event,
    ) {
        if !self.selection.kinds.has(kind) {
            return;
        }
        let Some(source) = self.links.get(at.link.index()).copied().flatten() else { return };
        let packet = at.info();
        if !self.selection.has_flow(packet.flow as usize) {
            return;
        }
        let record = Record { time, source, event: event(packet) };
        self.flush(now);
        if time > now {
            self.to_come.add(record);
        } else {
            self.records.push(record);
        }
    }

    /// Moves time on to `now`.
    pub(crate) fn flush(&mut self, now: SimTime) {
        while let Some(record) = self.to_come.take_until(now) {
            self.records.push(record);
        }
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Takes the records up to now.
    pub(crate) fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Returns records that were taken last.
    pub(crate) fn put_back(&mut self, mut records: Vec<Record>) {
        records.append(&mut self.records);
        self.records = records;
    }
}

/// A packet, and its link.
pub(crate) struct At<'a> {
    pub(crate) link: LinkId,
    pub(crate) packet: &'a Packet,
    pub(crate) captures: &'a Captures,
}

impl At<'_> {
    fn info(&self) -> PacketInfo {
        let packet = self.packet;
        let (sequence, acknowledgment, flags, payload) = match &packet.payload {
            Payload::Tcp(segment) => (segment.seq.0, segment.ack.0, segment.flags, segment.payload),
            Payload::Quic(quic) => (quic.number, quic.largest_acked, Flags::default(), quic.payload.into()),
            Payload::Udp(datagram) => (datagram.number, 0, Flags::default(), datagram.payload),
        };
        PacketInfo {
            flow: self.captures.face(packet).flow,
            is_forward: packet.direction() == Direction::Forward,
            sequence,
            acknowledgment,
            flags,
            payload: Bytes(u64::from(payload)),
            size: packet.size(),
            ecn: packet.ecn(),
        }
    }
}

fn set(sources: &mut Vec<Option<SourceId>>, index: usize, source: SourceId) {
    sources.resize(sources.len().max(index + 1), None);
    sources[index] = Some(source);
}
