//! In-band telemetry: records that links write into packets with data, and that receivers send back with their next
//! segment.
//!
//! A packet has the number of a place here ([`TelemetryId`]), so that packets are no longer than without telemetry. The
//! records that a receiver has yet to send back lie with its end: those of the latest data, as with TCP's timestamps.
//! The ACK ranges of a QUIC packet behind its first travel in such a place, too.

use ackclock_cc::HopRecord;
use ackclock_net::{Generation, LinkId, NetworkConfig, Packet, Payload, TelemetryId};
use ackclock_wire::quic::AckRange;

/// Telemetry and ACK ranges in a packet.
#[derive(Clone, Debug, Default)]
struct Carried {
    /// Records written on its own way.
    own: Vec<HopRecord>,
    /// Records sent back: written on the way of the acknowledged data.
    echo: Vec<HopRecord>,
    /// ACK ranges of a QUIC packet.
    ranges: Vec<AckRange>,
}

/// Telemetry that an end must still send back.
#[derive(Clone, Debug, Default)]
struct Owed {
    generation: Generation,
    hops: Vec<HopRecord>,
}

/// Telemetry in packets, forward and on the reverse path.
#[derive(Clone, Debug)]
pub(super) struct Telemetry {
    /// True for each link that writes telemetry.
    writes: Vec<bool>,
    places: Vec<Carried>,
    free: Vec<TelemetryId>,
    owed: Vec<Owed>,
    /// Telemetry that the packet which has just arrived sends back.
    echoed: Vec<HopRecord>,
    /// ACK ranges of the packet that has just arrived.
    ranges: Vec<AckRange>,
}

impl Telemetry {
    pub(super) fn new(config: &NetworkConfig) -> Self {
        let writes = config.links.iter().map(|link| link.telemetry).collect();
        let (places, free, owed, echoed, ranges) = Default::default();
        Self { writes, places, free, owed, echoed, ranges }
    }

    /// Stores the ACK ranges of a packet. Returns their place.
    pub(super) fn put_ranges(&mut self, ranges: &[AckRange]) -> TelemetryId {
        let id = self.take_place();
        self.places[id.index()].ranges.extend_from_slice(ranges);
        id
    }

    /// The ACK ranges of the packet that has just arrived, in a buffer to give back.
    pub(super) fn ranges(&mut self) -> &mut Vec<AckRange> {
        &mut self.ranges
    }

    /// True if the link writes into this packet.
    pub(super) fn is_written(&self, link: LinkId, packet: &Packet) -> bool {
        self.writes[link.index()] && matches!(packet.payload, Payload::Tcp(segment) if segment.payload > 0)
    }

    /// Writes a record into a packet. Returns its place from now on.
    pub(super) fn write(&mut self, id: TelemetryId, record: HopRecord) -> TelemetryId {
        let id = if id.is_some() { id } else { self.take_place() };
        self.places[id.index()].own.push(record);
        id
    }

    /// Adds the records that an end must send back to a packet that leaves it.
    pub(super) fn on_send(&mut self, packet: &mut Packet) {
        let end = packet.to.peer();
        let Some(owed) = self.owed.get_mut(end.index()).filter(|owed| !owed.hops.is_empty()) else { return };
        if owed.generation != packet.generation {
            return owed.hops.clear();
        }
        let mut hops = std::mem::take(&mut owed.hops);
        packet.telemetry = self.take_place();
        std::mem::swap(&mut self.places[packet.telemetry.index()].echo, &mut hops);
        self.owed[end.index()].hops = hops;
    }

    /// Takes the records of a packet at its destination.
    pub(super) fn on_arrival(&mut self, packet: &Packet) {
        let carried = &mut self.places[packet.telemetry.index()];
        std::mem::swap(&mut self.echoed, &mut carried.echo);
        std::mem::swap(&mut self.ranges, &mut carried.ranges);
        if !carried.own.is_empty() {
            if self.owed.len() <= packet.to.index() {
                self.owed.resize_with(packet.to.index() + 1, Owed::default);
            }
            let owed = &mut self.owed[packet.to.index()];
            owed.generation = packet.generation;
            std::mem::swap(&mut owed.hops, &mut carried.own);
        }
        self.free(packet.telemetry);
    }

    /// Telemetry that the packet which has arrived sends back to this end.
    pub(super) fn echoed(&self) -> &[HopRecord] {
        &self.echoed
    }

    /// Frees the place of a packet that is dropped.
    pub(super) fn free(&mut self, id: TelemetryId) {
        if id.is_some() {
            let Carried { own, echo, ranges } = &mut self.places[id.index()];
            own.clear();
            echo.clear();
            ranges.clear();
            self.free.push(id);
        }
    }

    /// Number of packets with a place.
    pub(super) fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn take_place(&mut self) -> TelemetryId {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(Carried::default());
            TelemetryId::of_place(self.places.len() - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_net::{ConnectionIndex, EndpointId};
    use ackclock_wire::Segment;

    fn packet(payload: u32, to: EndpointId) -> Packet {
        Packet::tcp(Segment { payload, ..Segment::default() }, to)
    }

    fn telemetry() -> Telemetry {
        Telemetry {
            writes: vec![true, false],
            places: vec![],
            free: vec![],
            owed: vec![],
            echoed: vec![],
            ranges: vec![],
        }
    }

    fn record(link: u32) -> HopRecord {
        HopRecord { link, ..HopRecord::default() }
    }

    #[test]
    fn what_links_wrote_into_data_comes_back_with_the_next_segment() {
        let mut telemetry = telemetry();
        let opener = EndpointId::opener(ConnectionIndex::new(2));
        let mut data = packet(1_000, opener.peer());
        for link in [4, 7] {
            data.telemetry = telemetry.write(data.telemetry, record(link));
        }
        telemetry.on_arrival(&data);
        let (mut ack, mut other) = (packet(0, opener), packet(0, opener));
        telemetry.on_send(&mut ack);
        telemetry.on_send(&mut other);
        assert_eq!((other.telemetry, telemetry.in_use()), (TelemetryId::default(), 1)); // it is sent back once
        telemetry.on_arrival(&ack);
        assert_eq!(telemetry.echoed(), [record(4), record(7)]);
        assert_eq!(telemetry.in_use(), 0);
    }

    #[test]
    fn a_later_connection_sends_back_nothing_of_an_earlier() {
        let mut telemetry = telemetry();
        let opener = EndpointId::opener(ConnectionIndex::new(0));
        let mut data = packet(1_000, opener.peer());
        data.telemetry = telemetry.write(data.telemetry, record(4));
        telemetry.on_arrival(&data);
        let mut ack = Packet { generation: Generation::default().next(), ..packet(0, opener) };
        telemetry.on_send(&mut ack);
        assert!(!ack.telemetry.is_some());
    }

    #[test]
    fn links_write_into_data_only() {
        let (telemetry, to) = (telemetry(), EndpointId::acceptor(ConnectionIndex::new(0)));
        let [first, second] = [0, 1].map(LinkId::new);
        assert!(telemetry.is_written(first, &packet(1, to)));
        assert!(!telemetry.is_written(first, &packet(0, to)) && !telemetry.is_written(second, &packet(1, to)));
    }
}
