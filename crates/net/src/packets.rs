//! The packets that are under way along links: each lies in one place from end to end, and rings hold its number.
//!
//! A place that was left last is taken first, as it is still in the processor's caches.

use crate::packet::Packet;

crate::typed_index! {
    /// A packet under way.
    pub struct PacketId;
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    places: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Packets {
    /// A packet sets out.
    #[inline]
    pub fn put(&mut self, packet: &Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.places[id.index()] = *packet;
            return id;
        }
        self.places.push(*packet);
        PacketId::new(self.places.len() - 1)
    }

    /// A packet is under way no longer.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// One that is under way.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.places[id.index()]
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.places[id.index()]
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_was_left_last_is_taken_first() {
        let packet = |size| Packet { size, ..Packet::default() };
        let mut packets = Packets::default();
        let [first, second, third] = [1, 2, 3].map(|size| packets.put(&packet(size)));
        packets.remove(first);
        packets.remove(third);
        assert_eq!((packets.len(), packets.get(second).size), (1, 2));
        assert_eq!([packets.put(&packet(4)), packets.put(&packet(5))], [third, first]);
        assert_eq!((packets.get(third).size, packets.get(first).size), (4, 5));
    }
}
