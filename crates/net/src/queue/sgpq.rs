//! SGPQ, the Small Get Priority Queue: packets of at most a given size are served before all others.
//!
//! Source: the first of two remedies for TCP Vegas on paths whose ACKs queue behind data. Served without preemption: a
//! small packet waits for at most the packet in service and the small packets before it.
//!
//! Departures: the limit of each class is its own, as the source leaves the sharing of room open.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`Sgpq`].
    #[derive(Copy, Eq)]
    pub struct SgpqConfig {
        /// Largest size of a small packet, in octets of IP, without framing. The default includes every pure ACK: 60
        /// octets of TCP header with options, 20 of IPv4.
        threshold: Bytes = default(Bytes(80)).at_least(Bytes(1)),
        /// Largest backlog of small packets.
        small_limit: QueueLimit = QueueLimit::Unlimited,
        /// Largest backlog of the other packets.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for SgpqConfig {
    const ABOUT: About = About {
        name: "sgpq",
        aliases: &[],
        summary: "Small Get Priority Queue: small packets (ACKs) before all others, without preemption",
        source: "a remedy for TCP Vegas where ACKs queue behind data",
        departures: "each class has a limit of its own; an ACK that rides on data is not recognised, and any small packet gains",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("small_limit".to_owned(), self.small_limit), ("limit".to_owned(), self.limit)]
    }
}

/// Small Get Priority Queue: packets of at most a given size go first. Source and departures:
/// [`mod@crate::queue::sgpq`].
#[derive(Clone, Debug)]
pub struct Sgpq {
    /// The largest size of a small packet, octets of IP.
    threshold: u64,
    small: Class,
    large: Class,
    tally: Tally,
}

#[derive(Clone, Debug)]
struct Class {
    room: Room,
    packets: Fifo,
}

impl Sgpq {
    /// Two empty queues with these parameters.
    pub fn new(config: &SgpqConfig, _place: &QueuePlace<'_>) -> Self {
        let class = |limit| Class { room: Room::new(limit), packets: Fifo::default() };
        Self {
            threshold: config.threshold.0,
            small: class(config.small_limit),
            large: class(config.limit),
            tally: Tally::default(),
        }
    }
}

impl QueueDiscipline for Sgpq {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        let is_small = u64::from(arrival.packet.size) <= self.threshold;
        let class = if is_small { &mut self.small } else { &mut self.large };
        if class.room.takes(class.packets.len(), class.packets.octets(), arrival.octets) {
            class.packets.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let class = if self.small.packets.len() == 0 { &mut self.large } else { &mut self.small };
        let first = class.packets.pop()?;
        Some(first)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.small.room.set_rate(rate);
        self.large.room.set_rate(rate);
    }

    fn len(&self) -> usize {
        self.small.packets.len() + self.large.packets.len()
    }

    fn octets(&self) -> u64 {
        self.small.packets.octets() + self.large.packets.octets()
    }

    crate::accounts!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::QueueLimit;
    use crate::packet::Packet;
    use ackclock_units::Bytes;

    fn queue() -> Sgpq {
        let config =
            SgpqConfig { threshold: Bytes(80), small_limit: QueueLimit::Packets(2), limit: QueueLimit::Packets(3) };
        Sgpq::new(&config, &QueuePlace { link: "test", seed: 1 })
    }

    fn packet(size: u32) -> Queued {
        Queued { packet: Packet { size, ..Packet::default() }, octets: u64::from(size) + 8, since: SimTime::ZERO }
    }

    #[test]
    fn small_packets_go_first_and_each_class_keeps_its_order() {
        let mut queue = queue();
        // 80 octets of IP are small though framing makes them 88 on the link; 81 are not
        for size in [1500, 40, 81, 80] {
            queue.enqueue(SimTime::ZERO, packet(size));
        }
        assert_eq!((queue.len(), queue.octets()), (4, 1500 + 40 + 81 + 80 + 4 * 8));
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue(SimTime::ZERO)).map(|q| q.packet.size).collect();
        assert_eq!(order, [40, 80, 1500, 81]);
    }

    #[test]
    fn each_class_has_a_limit_of_its_own() {
        let mut queue = queue();
        for size in [40, 40, 40, 1500, 1500, 1500, 1500, 1500] {
            queue.enqueue(SimTime::ZERO, packet(size));
        }
        assert_eq!((queue.len(), queue.counters().drops), (2 + 3, 1 + 2));
    }
}
