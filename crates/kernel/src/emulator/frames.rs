//! The bytes of the packets under way. A packet in the network says by number where its bytes are.
//!
//! The number travels in [`Packet::hop`], which a network of the simulator uses for the packet's place on its route: here the link from
//! which a packet comes says that. [`Packet::telemetry`] distinguishes a packet from its copy: links hand out copies without.

use ackclock_net::{HopIndex, Packet, TelemetryId};

/// Storage for the octets of packets in the network.
#[derive(Debug, Default)]
pub(super) struct Frames {
    octets: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// Gone at the present instant, at which a copy may still come out of the link that made it.
    leaving: Vec<u32>,
}

impl Frames {
    /// Keeps the bytes of a packet that enters the network.
    pub(super) fn keep(&mut self, packet: Packet, octets: &[u8]) -> Packet {
        let frame = self.free.pop().unwrap_or_else(|| {
            self.octets.push(Vec::new());
            (self.octets.len() - 1) as u32
        });
        let bytes = &mut self.octets[frame as usize];
        bytes.clear();
        bytes.extend_from_slice(octets);
        Packet { hop: HopIndex::new(frame as usize), telemetry: TelemetryId::of_place(0), ..packet }
    }

    /// A packet that has come out of a link; a copy gets bytes of its own.
    pub(super) fn arrived(&mut self, packet: Packet) -> Packet {
        if packet.telemetry.is_some() {
            return packet;
        }
        let octets = std::mem::take(&mut self.octets[packet.hop.index()]);
        let own = self.keep(packet, &octets);
        self.octets[packet.hop.index()] = octets;
        own
    }

    /// The bytes of a packet.
    pub(super) fn bytes(&mut self, packet: &Packet) -> &mut Vec<u8> {
        &mut self.octets[packet.hop.index()]
    }

    /// A packet has left the network, or is lost.
    pub(super) fn leave(&mut self, packet: &Packet) {
        self.leaving.push(packet.hop.index() as u32);
    }

    /// Time has moved on.
    pub(super) fn settle(&mut self) {
        self.free.append(&mut self.leaving);
    }

    /// Number of packets in the network.
    pub(super) fn under_way(&self) -> usize {
        self.octets.len() - self.free.len() - self.leaving.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_bytes_of_its_own_and_places_are_used_again() {
        let mut frames = Frames::default();
        let first = frames.keep(Packet::default(), b"one");
        let copy = frames.arrived(Packet { telemetry: TelemetryId::default(), ..first });
        frames.bytes(&copy)[0] = b'O';
        assert_eq!(frames.bytes(&first), b"one");
        assert_eq!(frames.under_way(), 2);
        frames.leave(&first);
        let late = frames.arrived(Packet { telemetry: TelemetryId::default(), ..first });
        assert_eq!(frames.bytes(&late), b"one", "it left at this very instant");
        frames.settle();
        let next = frames.keep(Packet::default(), b"next");
        assert_eq!((next.hop, frames.under_way()), (first.hop, 3));
    }
}
