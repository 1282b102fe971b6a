//! Packets for tests of disciplines.

use ackclock_units::{Bandwidth, Bytes, SimTime};
use ackclock_wire::{Ecn, Segment};

use super::{QueueDiscipline, QueuePlace, Queued};
use crate::ids::{ConnectionIndex, EndpointId};
use crate::packet::Packet;

/// The rate of their link: 1500 octets take 1 ms.
pub(super) const RATE: Bandwidth = Bandwidth(12_000_000);

/// Place of queues under test.
pub(super) const PLACE: QueuePlace<'static> = QueuePlace { link: "test", seed: 1 };

/// The queue on a link of this rate.
pub(super) fn at_rate<Q: QueueDiscipline>(mut queue: Q, rate: Bandwidth) -> Q {
    queue.set_rate(SimTime::ZERO, rate);
    queue
}

/// Destination of the data of `flow`.
pub(super) fn receiver(flow: u32) -> EndpointId {
    EndpointId::acceptor(ConnectionIndex::new(flow as usize))
}

/// A packet of `flow`, from the end that opened the connection.
pub(super) fn arrival(now: SimTime, flow: u32, octets: u32) -> Queued {
    arrival_with(now, flow, octets, Ecn::NotEct)
}

/// A packet of `flow` with this ECN field.
pub(super) fn arrival_with(now: SimTime, flow: u32, octets: u32, ecn: Ecn) -> Queued {
    let segment = Segment { payload: octets - 40, ecn, ..Segment::default() };
    Queued { packet: Packet::tcp(segment, receiver(flow)), octets: u64::from(octets), since: now }
}

/// Serves a queue at `rate` until it is empty; returns each packet with the time its service began.
pub(super) fn drain(queue: &mut impl QueueDiscipline, from: SimTime, rate: Bandwidth) -> Vec<(SimTime, Queued)> {
    let mut now = from;
    std::iter::from_fn(|| {
        let packet = queue.dequeue(now)?;
        let begun = now;
        now += rate.serialization_delay(Bytes(packet.octets));
        Some((begun, packet))
    })
    .collect()
}
