//! The tracks of a source: which there are, and what is on them at the moment.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use super::proto::{CounterDescriptor, EXPLICIT, TrackDescriptor, Unit};
use crate::event::{AckArrived, Event, RecoveryCause};
use crate::source::{Source, SourceKind};

/// Tracks of one source have numbers beside each other: its own, and after it those below.
const TRACKS_PER_SOURCE: u64 = 16;

/// A value over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    Cwnd,
    Ssthresh,
    FlightSize,
    Srtt,
    PacingRate,
    QueueWait,
    Buffered,
}

impl Counter {
    const COUNT: usize = 7;

    fn name(self) -> &'static str {
        match self {
            Self::Cwnd => "cwnd",
            Self::Ssthresh => "ssthresh",
            Self::FlightSize => "flight_size",
            Self::Srtt => "srtt",
            Self::PacingRate => "pacing_rate",
            Self::QueueWait => "queue wait",
            Self::Buffered => "buffered",
        }
    }

    fn unit(self) -> CounterDescriptor {
        let (unit, name) = match self {
            Self::Cwnd | Self::Ssthresh | Self::FlightSize | Self::Buffered => (Unit::Bytes, None),
            Self::Srtt | Self::QueueWait => (Unit::Nanoseconds, None),
            Self::PacingRate => (Unit::Named, Some("bit/s".to_owned())),
        };
        CounterDescriptor { unit: Some(unit as i32), unit_name: name }
    }
}

/// Tracks of a source.
#[derive(Debug)]
pub(super) struct Tracks {
    /// The source's own track: its recoveries and what happens to it.
    pub(super) own: u64,
    /// Track of its controller's state.
    pub(super) controller: u64,
    /// The first event of all.
    pub(super) first: Option<SimTime>,
    /// A slice of the controller has begun.
    pub(super) has_controller: bool,
    /// The slices that are open on its own track, the innermost last.
    pub(super) recoveries: Vec<RecoveryCause>,
    values: [Option<u64>; Counter::COUNT],
}

impl Tracks {
    pub(super) fn of(number: usize) -> Self {
        let own = 1 + number as u64 * TRACKS_PER_SOURCE;
        Self {
            own,
            controller: own + 1,
            first: None,
            has_controller: false,
            recoveries: Vec::new(),
            values: [None; Counter::COUNT],
        }
    }

    pub(super) fn counter(&self, counter: Counter) -> u64 {
        self.own + 2 + counter as u64
    }

    /// The track that all others of the source are below.
    pub(super) fn describe(&self, source: &Source, rank: usize) -> TrackDescriptor {
        let kind = match source.kind {
            SourceKind::Flow => "flow",
            SourceKind::Relay => "appliance",
            SourceKind::Link => "link",
        };
        let by = if source.controller.is_empty() { String::new() } else { format!(" ({})", source.controller) };
        TrackDescriptor {
            uuid: Some(self.own),
            name: Some(format!("{kind} {}{by}", source.name)),
            sibling_order_rank: Some(rank as i32),
            child_ordering: Some(EXPLICIT),
            ..TrackDescriptor::default()
        }
    }

    pub(super) fn describe_controller(&self) -> TrackDescriptor {
        TrackDescriptor {
            uuid: Some(self.controller),
            name: Some("controller".to_owned()),
            parent_uuid: Some(self.own),
            sibling_order_rank: Some(0),
            ..TrackDescriptor::default()
        }
    }

    /// The track of a counter, if `value` is its first; and whether the value is news.
    pub(super) fn update(&mut self, counter: Counter, value: u64) -> (Option<TrackDescriptor>, bool) {
        let (uuid, parent) = (self.counter(counter), self.own);
        let last = self.values[counter as usize].replace(value);
        let track = last.is_none().then(|| TrackDescriptor {
            uuid: Some(uuid),
            name: Some(counter.name().to_owned()),
            parent_uuid: Some(parent),
            counter: Some(counter.unit()),
            sibling_order_rank: Some(1 + counter as i32),
            ..TrackDescriptor::default()
        });
        (track, last != Some(value))
    }
}

/// Values in an event.
pub(super) fn values(event: &Event) -> Vec<(Counter, u64)> {
    let threshold = |ssthresh: Option<Bytes>| ssthresh.map(|Bytes(bytes)| (Counter::Ssthresh, bytes));
    match event {
        Event::AckArrived(ack) => of_ack(ack),
        Event::SegmentSent(sent) => vec![(Counter::FlightSize, sent.flight_size.0)],
        Event::RecoveryEntered { cwnd, ssthresh, .. } => {
            std::iter::once((Counter::Cwnd, cwnd.0)).chain(threshold(*ssthresh)).collect()
        }
        Event::RecoveryLeft { cwnd } | Event::Undone { cwnd } | Event::SlowStartExited { cwnd, .. } => {
            vec![(Counter::Cwnd, cwnd.0)]
        }
        Event::PacketSent { waited, .. } => vec![(Counter::QueueWait, waited.0)],
        Event::RelayHeld { buffered } | Event::RelayReleased { buffered, .. } => {
            vec![(Counter::Buffered, buffered.0)]
        }
        _ => Vec::new(),
    }
}

fn of_ack(ack: &AckArrived) -> Vec<(Counter, u64)> {
    let always = [(Counter::Cwnd, ack.cwnd.0), (Counter::FlightSize, ack.flight_size.0)];
    let known = [
        ack.ssthresh.map(|Bytes(bytes)| (Counter::Ssthresh, bytes)),
        ack.srtt.map(|SimDuration(srtt)| (Counter::Srtt, srtt)),
        ack.pacing_rate.map(|Bandwidth(rate)| (Counter::PacingRate, rate)),
    ];
    always.into_iter().chain(known.into_iter().flatten()).collect()
}
