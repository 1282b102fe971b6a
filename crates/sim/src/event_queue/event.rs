//! Future events, and their encoding in a key.

use ackclock_net::{EndpointId, LinkId};

use crate::ids::{ApplianceId, DatagramFlowId, FlowId, GroupId, RelayDirection, StreamId};

/// An event of the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet on this link arrives at its far end.
    Link(LinkId),
    /// The packet in service on this link has left, or one that was held back may leave.
    Service(LinkId),
    /// The timer of this endpoint may be due.
    Timer(EndpointId),
    /// The application of this stream acts.
    App(StreamId),
    /// This flow opens its connection.
    Start(FlowId),
    /// The sampling of series.
    Sample,
    /// The measurement window begins.
    MeasureFrom,
    /// The measurement window ends.
    MeasureUntil,
    /// A short flow of this group arrives.
    Arrival(GroupId),
    /// A datagram of this flow leaves.
    Datagram(DatagramFlowId),
    /// The discipline of this direction through an appliance has requested this time.
    Discipline(RelayDirection),
    /// The copier of this appliance has written a chunk, or has time for one.
    Copier(ApplianceId),
    /// The application of this flow's sender resets the connection.
    Abort(FlowId),
    /// The application that reads at this end stops reading.
    StopReading(EndpointId),
    /// A link is changed, by the scenario's change of this number.
    Change(u32),
    /// Packets left this link, or were dropped there, whose senders must be notified.
    Left(LinkId),
}

const _: () = assert!(size_of::<Event>() == 8, "an event is handed about in a register");

const KIND_SHIFT: u32 = 24;
const KIND_MASK: u64 = 15;
const INDEX_MASK: u64 = (1 << KIND_SHIFT) - 1;

/// Largest number of items of one kind that events can refer to.
pub(crate) const MOST_NUMBERS: usize = 1 << KIND_SHIFT;

impl Event {
    #[inline]
    pub(super) fn pack(self) -> u64 {
        let (kind, index) = match self {
            // The window of measurement begins and ends before whatever else happens at its borders.
            Self::MeasureFrom => (0, 0),
            Self::MeasureUntil => (1, 0),
            Self::Link(link) => (2, link.index()),
            Self::Timer(end) => (3, end.index()),
            Self::App(stream) => (4, stream.index()),
            Self::Start(flow) => (5, flow.index()),
            Self::Sample => (6, 0),
            Self::Service(link) => (7, link.index()),
            Self::Arrival(group) => (8, group.index()),
            Self::Discipline(at) => (9, at.number()),
            Self::Copier(appliance) => (10, appliance.index()),
            Self::Abort(flow) => (11, flow.index()),
            Self::StopReading(end) => (12, end.index()),
            Self::Datagram(flow) => (13, flow.index()),
            Self::Change(number) => (14, number as usize),
            Self::Left(link) => (15, link.index()),
        };
        debug_assert!(
            index as u64 <= INDEX_MASK && kind <= KIND_MASK,
            "an event has 24 bits for a number, and 4 for its kind"
        );
        kind << KIND_SHIFT | index as u64
    }

    #[inline]
    pub(super) fn unpack(bits: u64) -> Self {
        let index = (bits & INDEX_MASK) as usize;
        match bits >> KIND_SHIFT & KIND_MASK {
            2 => Self::Link(LinkId::new(index)),
            7 => Self::Service(LinkId::new(index)),
            kind => Self::unpack_rarer(kind, index),
        }
    }

    #[inline(never)] // most events are those of links, and are told apart without a table
    fn unpack_rarer(kind: u64, index: usize) -> Self {
        match kind {
            0 => Self::MeasureFrom,
            1 => Self::MeasureUntil,
            3 => Self::Timer(EndpointId::of_number(index as u32)),
            4 => Self::App(StreamId::new(index)),
            5 => Self::Start(FlowId::new(index)),
            6 => Self::Sample,
            8 => Self::Arrival(GroupId::new(index)),
            9 => Self::Discipline(RelayDirection::of_number(index)),
            10 => Self::Copier(ApplianceId::new(index)),
            11 => Self::Abort(FlowId::new(index)),
            12 => Self::StopReading(EndpointId::of_number(index as u32)),
            13 => Self::Datagram(DatagramFlowId::new(index)),
            14 => Self::Change(index as u32),
            _ => Self::Left(LinkId::new(index)),
        }
    }
}
