//! Datagrams: packets of UDP, which no TCP endpoint receives.

use ackclock_units::SimTime;
use ackclock_wire::{Ecn, IPV4_HEADER, Segment, Seq, Timestamps};

use crate::packet::{DATAGRAM, Packet};

/// Octets of a UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;

/// A datagram. Beside its payload it carries what RTP's header does (RFC 3550 section 5.1): a number and a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Counts the datagrams of a flow.
    pub number: u32,
    /// When it left.
    pub sent: SimTime,
    /// Octets of payload.
    pub payload: u32,
    /// ECN field of its IP packet.
    pub ecn: Ecn,
}

impl Packet {
    /// A datagram that leaves for `endpoint` by the route that begins at `hop`.
    ///
    /// Links and queues look at sizes, payload and ECN, which lie where a segment has them; number and time lie in the
    /// fields that a segment has for the like.
    pub fn of_datagram(datagram: Datagram, endpoint: u32, hop: u32) -> Self {
        let sent = datagram.sent.0;
        let segment = Segment {
            seq: Seq(datagram.number),
            timestamps: Some(Timestamps { value: sent as u32, echo: (sent >> 32) as u32 }),
            payload: datagram.payload,
            ecn: datagram.ecn,
            ..Segment::default()
        };
        Self { segment, endpoint, hop, size: IPV4_HEADER + UDP_HEADER + datagram.payload, incarnation: DATAGRAM }
    }

    /// The datagram that it is, if it is one.
    pub fn as_datagram(&self) -> Option<Datagram> {
        let Timestamps { value, echo } = self.segment.timestamps.filter(|_| self.incarnation == DATAGRAM)?;
        Some(Datagram {
            number: self.segment.seq.0,
            sent: SimTime(u64::from(echo) << 32 | u64::from(value)),
            payload: self.segment.payload,
            ecn: self.segment.ecn,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_carried_as_it_is() {
        let datagram = Datagram { number: 7, sent: SimTime(0x1_2345_6789_abcd), payload: 1_172, ecn: Ecn::Ect0 };
        let packet = Packet::of_datagram(datagram, 3, 9);
        assert_eq!(packet.size, 1_200); // 20 + 8 + 1172
        assert_eq!(packet.as_datagram(), Some(datagram));
        assert_eq!(Packet::new(packet.segment, 7, 0).as_datagram(), None);
    }
}
