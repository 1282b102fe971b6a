//! Events of packets, as numbers: each event is [`NUMBERS_OF_PACKET`] of them, for a canvas to draw.

use ackclock_events::{DropCause, Event, EventKind, EventKinds, Record, Source, SourceKind};
use ackclock_units::SimDuration;

/// Time in seconds, kind, number of the link or flow, and three that depend on the kind ([`PacketKind`]).
pub const NUMBERS_OF_PACKET: usize = 6;

/// Kind of an event, and the meaning of its last three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// A packet entered the wire of a link: its flow, its octets (negative of a packet without data), how long it waited, in seconds.
    Sent = 0,
    /// A packet went no further at a link: its flow, its octets, and why (0 its queue, 1 a discarder, 2 lost on the wire).
    Dropped = 1,
    /// A queue marked a packet: its flow, its octets, 0.
    Marked = 2,
    /// A segment left a sender: where it begins in the stream, its octets, 1 if it is a retransmission.
    Segment = 3,
    /// An ACK came to a sender: what is acknowledged of the stream, cwnd in octets, the sample of the round trip in seconds or NaN.
    Ack = 4,
    /// A sender took data for lost: its octets, 0, 0.
    Lost = 5,
    /// A recovery began: cwnd before and after, 0.
    RecoveryEntered = 6,
    /// A recovery ended: cwnd, 0, 0.
    RecoveryLeft = 7,
    /// The retransmission timer expired: how often in a row, the timeout to come in seconds, 0.
    TimedOut = 8,
    /// An ACK reported this as arrived out of order: where it begins in the stream, where it ends, which of its blocks it is.
    Sacked = 9,
}

/// Kinds of the reported events.
pub(crate) fn kinds() -> EventKinds {
    use EventKind::{
        AckArrived, MarkedLost, PacketDropped, PacketMarked, PacketSent, RecoveryEntered, RecoveryLeft, SegmentSent,
        TimedOut,
    };
    let kinds = [PacketSent, PacketDropped, PacketMarked, SegmentSent, AckArrived, MarkedLost, RecoveryEntered];
    kinds.into_iter().chain([RecoveryLeft, TimedOut]).collect()
}

/// The number of each source among the flows, or among the links; `None` of what a page does not show.
pub(crate) fn places(sources: &[Source], flows: &[&str]) -> Vec<Option<usize>> {
    let mut links = 0..;
    let place = |source: &Source| match source.kind {
        SourceKind::Flow => flows.iter().position(|flow| *flow == source.name),
        SourceKind::Relay => None,
        SourceKind::Link => links.next(),
    };
    sources.iter().map(place).collect()
}

/// Adds the numbers of an event, if it is one of those.
pub(crate) fn add(record: &Record, places: &[Option<usize>], numbers: &mut Vec<f64>) {
    let Some(place) = places[record.source.0 as usize] else { return };
    let Some((kind, of_kind)) = numbers_of(&record.event) else { return };
    let mut add = |kind: PacketKind, of_kind: [f64; 3]| {
        numbers.extend([record.time.as_secs_f64(), f64::from(kind as u8), place as f64]);
        numbers.extend(of_kind);
    };
    add(kind, of_kind);
    if let Event::AckArrived(ack) = &record.event {
        for (block, (start, end)) in ack.sacked.into_iter().filter(|(start, end)| start < end).enumerate() {
            add(PacketKind::Sacked, [start as f64, end as f64, block as f64]);
        }
    }
}

fn numbers_of(event: &Event) -> Option<(PacketKind, [f64; 3])> {
    let seconds = SimDuration::as_secs_f64;
    Some(match event {
        Event::PacketSent { packet, waited } => {
            let octets = if packet.payload.0 > 0 { packet.size.0 as f64 } else { -(packet.size.0 as f64) };
            (PacketKind::Sent, [f64::from(packet.flow), octets, seconds(*waited)])
        }
        Event::PacketDropped { packet, cause } => {
            let cause = match cause {
                DropCause::Queue => 0.0,
                DropCause::Discarder => 1.0,
                DropCause::Loss => 2.0,
            };
            (PacketKind::Dropped, [f64::from(packet.flow), packet.size.0 as f64, cause])
        }
        Event::PacketMarked { packet } => (PacketKind::Marked, [f64::from(packet.flow), packet.size.0 as f64, 0.0]),
        Event::SegmentSent(sent) => {
            let again = f64::from(u8::from(sent.is_retransmission));
            (PacketKind::Segment, [sent.offset as f64, sent.size.0 as f64, again])
        }
        Event::AckArrived(ack) => {
            let rtt = ack.rtt_sample.map_or(f64::NAN, seconds);
            (PacketKind::Ack, [ack.acknowledged as f64, ack.cwnd.0 as f64, rtt])
        }
        Event::MarkedLost { lost, .. } => (PacketKind::Lost, [lost.0 as f64, 0.0, 0.0]),
        Event::RecoveryEntered { cwnd_before, cwnd, .. } => {
            (PacketKind::RecoveryEntered, [cwnd_before.0 as f64, cwnd.0 as f64, 0.0])
        }
        Event::RecoveryLeft { cwnd } => (PacketKind::RecoveryLeft, [cwnd.0 as f64, 0.0, 0.0]),
        Event::TimedOut { in_a_row, rto } => (PacketKind::TimedOut, [f64::from(*in_a_row), seconds(*rto), 0.0]),
        _ => return None,
    })
}
