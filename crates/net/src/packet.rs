//! A packet on its way through the network: its payload, its destination and its next hop.

use ackclock_units::{Bytes, SimTime};
use ackclock_wire::{Ecn, IPV4_HEADER, QuicPacket, Segment};

use crate::ids::{ConnectionIndex, Direction, EndpointId, Generation, HopIndex, TelemetryId};

/// Octets of a UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;

/// Content of a packet. Another transport is another variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A segment of TCP.
    Tcp(Segment),
    /// A datagram of UDP.
    Udp(Datagram),
    /// A packet of QUIC.
    Quic(QuicPacket),
}

impl Default for Payload {
    fn default() -> Self {
        Self::Tcp(Segment::default())
    }
}

/// A datagram. Beside its payload it carries the sequence number and the timestamp of RTP's header (RFC 3550 section
/// 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the datagram in its flow.
    pub number: u32,
    /// Time at which it left the sender.
    pub sent: SimTime,
    /// Its payload in octets.
    pub payload: u32,
    /// ECN field of its IP packet.
    pub ecn: Ecn,
}

impl Datagram {
    /// Octets of the IP packet that carries it.
    pub const fn ip_len(&self) -> u32 {
        IPV4_HEADER + UDP_HEADER + self.payload
    }
}

/// A packet. Links without queues of their own hold only its number, so that it is written at its departure and read at
/// its arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// The segment or the datagram that it carries.
    pub payload: Payload,
    /// The end that is its destination.
    pub to: EndpointId,
    /// Generation of its connection among those that have that place in turn.
    pub generation: Generation,
    /// Identification of its IP header; 0 for all where no packets are captured.
    pub identification: u16,
    /// Next hop of its route, as of the last queue that held the whole packet; on the way links know it
    /// ([`crate::UnderWay`]).
    pub hop: HopIndex,
    /// Octets of the IP packet.
    pub size: u32,
    /// Records that links on the way have written into it, if any.
    pub telemetry: TelemetryId,
}

const _: () = assert!(size_of::<Payload>() == size_of::<Segment>(), "which payload it is takes no space of its own");
const _: () = assert!(size_of::<Packet>() == 96);

impl Packet {
    /// A packet that carries a segment to this end of the place's first connection, and has no route yet.
    pub fn tcp(segment: Segment, to: EndpointId) -> Self {
        let size = segment.ip_len();
        Self::new(Payload::Tcp(segment), to, size)
    }

    /// A packet with a datagram, otherwise like [`Self::tcp`].
    pub fn udp(datagram: Datagram, to: EndpointId) -> Self {
        let size = datagram.ip_len();
        Self::new(Payload::Udp(datagram), to, size)
    }

    /// A packet with a packet of QUIC, otherwise like [`Self::tcp`].
    pub fn quic(packet: QuicPacket, to: EndpointId) -> Self {
        let size = packet.ip_len();
        Self::new(Payload::Quic(packet), to, size)
    }

    fn new(payload: Payload, to: EndpointId, size: u32) -> Self {
        Self { payload, to, size, ..Self::default() }
    }

    /// The TCP segment of the packet, if it has one.
    pub fn segment(&self) -> Option<&Segment> {
        if let Payload::Tcp(segment) = &self.payload { Some(segment) } else { None }
    }

    /// True if the packet has data beside its headers.
    pub fn has_data(&self) -> bool {
        match &self.payload {
            Payload::Tcp(segment) => segment.payload > 0,
            Payload::Udp(datagram) => datagram.payload > 0,
            Payload::Quic(packet) => packet.payload > 0,
        }
    }

    /// The ECN field of its IP header.
    pub fn ecn(&self) -> Ecn {
        match &self.payload {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(datagram) => datagram.ecn,
            Payload::Quic(packet) => packet.ecn,
        }
    }

    /// Sets the ECN field of the IP header.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match &mut self.payload {
            Payload::Tcp(segment) => segment.ecn = ecn,
            Payload::Udp(datagram) => datagram.ecn = ecn,
            Payload::Quic(packet) => packet.ecn = ecn,
        }
    }

    /// The connection of the packet.
    pub fn connection(&self) -> ConnectionIndex {
        self.to.connection()
    }

    /// Direction of travel along the connection.
    pub fn direction(&self) -> Direction {
        self.to.inbound()
    }

    /// Octets of the IP packet.
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_no_segment() {
        let datagram = Datagram { number: 7, sent: SimTime(0x1_2345_6789_abcd), payload: 1_172, ecn: Ecn::Ect0 };
        let to = EndpointId::acceptor(ConnectionIndex::new(3));
        let mut packet = Packet::udp(datagram, to);
        assert_eq!((packet.size, packet.has_data(), packet.segment()), (1_200, true, None)); // 20 + 8 + 1172
        packet.set_ecn(Ecn::Ce);
        assert_eq!(packet.payload, Payload::Udp(Datagram { ecn: Ecn::Ce, ..datagram }));
    }

    #[test]
    fn ends_know_their_peers_and_directions() {
        let connection = ConnectionIndex::new(5);
        let (opener, acceptor) = (EndpointId::opener(connection), EndpointId::acceptor(connection));
        assert_eq!((opener.number(), acceptor.number()), (10, 11));
        assert_eq!((opener.peer(), acceptor.peer()), (acceptor, opener));
        assert_eq!((opener.outbound(), acceptor.outbound()), (Direction::Forward, Direction::Backward));
        assert_eq!((opener.inbound(), acceptor.connection()), (Direction::Backward, connection));
    }
}
