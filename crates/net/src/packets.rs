//! The packets that are under way along links: each lies in one place from end to end, and rings hold its number.
//!
//! Places are taken in turn. Packets mostly arrive in the order in which they set out, so that the processor's
//! prefetcher has loaded them by then: with tens of thousands under way, places in any other order made a packet a
//! quarter more expensive.

use prefetch_index::prefetch_index;

use crate::ids::{EndpointId, HopIndex};
use crate::packet::Packet;

crate::typed_index! {
    /// A packet under way.
    pub struct PacketId;
}

/// A packet on a link, with the fields that links need. They read no others, so that no packet is loaded before it
/// arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// Place of the packet.
    pub packet: PacketId,
    /// Octets of the IP packet.
    pub size: u32,
    /// Next hop of the packet.
    pub hop: HopIndex,
    /// The end that is its destination.
    pub to: EndpointId,
}

/// The packets under way along links: each lies in one place from end to end, and rings hold its [`PacketId`].
#[derive(Clone, Debug, Default)]
pub struct Packets {
    /// No places, or a power of two of them; one of no octets is free.
    places: Vec<Packet>,
    /// Place at which the search for the next free one begins.
    next: usize,
    count: usize,
}

const FIRST_PLACES: usize = 64;

impl Packets {
    /// Adds a packet that sets out.
    #[inline]
    pub fn put(&mut self, packet: &Packet) -> UnderWay {
        let Packet { size, hop, to, .. } = *packet;
        debug_assert!(size > 0, "a packet has headers at least");
        let id = self.take_place();
        self.places[id.index()] = *packet;
        UnderWay { packet: id, size, hop, to }
    }

    /// The next free place.
    #[inline]
    fn take_place(&mut self) -> PacketId {
        if 4 * self.count >= 3 * self.places.len() {
            self.grow();
        }
        self.count += 1;
        loop {
            let place = self.next;
            self.next = (place + 1) & (self.places.len() - 1);
            if self.places[place].size == 0 {
                return PacketId::new(place);
            }
        }
    }

    /// Doubles the places; the first new one is the next.
    #[cold]
    fn grow(&mut self) {
        self.next = self.places.len();
        self.places.resize((2 * self.places.len()).max(FIRST_PLACES), Packet::default());
    }

    /// Removes a packet that is no longer under way.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.places[id.index()].size = 0;
        self.count -= 1;
    }

    /// The packet of this number.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.places[id.index()]
    }

    /// The packet of this number, mutable.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.places[id.index()]
    }

    /// Prefetches a packet that will soon be read.
    #[inline]
    pub fn fetch(&self, id: PacketId) {
        prefetch_index(&self.places, id.index());
        prefetch_index(&self.places, id.index() + 1); // where it ends
    }

    /// Number of packets in the network.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if no packet is in the network.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(size: u32) -> Packet {
        Packet { size, ..Packet::default() }
    }

    #[test]
    fn places_are_taken_in_turn_and_those_that_are_taken_passed_over() {
        let mut packets = Packets::default();
        let first: Vec<PacketId> = (1..=48).map(|size| packets.put(&packet(size)).packet).collect();
        first[1..].iter().for_each(|id| packets.remove(*id));
        // Fifteen places to the end of the 64, one that is taken, the next.
        let turned: Vec<usize> = (0..18).map(|_| packets.put(&packet(100)).packet.index()).collect();
        assert_eq!(turned, (48..64).chain([1, 2]).collect::<Vec<_>>());
        assert_eq!((packets.len(), packets.get(first[0]).size), (19, 1));
    }

    #[test]
    fn packets_keep_their_places_when_there_are_more() {
        let mut packets = Packets::default();
        let ids: Vec<PacketId> = (1..=1_000).map(|size| packets.put(&packet(size)).packet).collect();
        assert!(ids.iter().zip(1..).all(|(id, size)| packets.get(*id).size == size));
        for id in ids {
            packets.remove(id);
        }
        assert!(packets.is_empty());
    }
}
