//! DropTail: first in, first out, and a packet that does not fit is dropped. The discipline of every simple router.

use ackclock_declare::{About, declare};
use ackclock_units::{Bandwidth, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`DropTail`].
    #[derive(Copy, Eq)]
    pub struct DropTailConfig {
        /// Largest backlog of the queue; a bdp is the link's rate times the largest round trip of the flows that cross
        /// it.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for DropTailConfig {
    const ABOUT: About = About {
        name: "drop_tail",
        aliases: &[],
        summary: "first in, first out (FIFO, tail drop; Linux's pfifo, bfifo); packets that do not fit are dropped",
        source: "the queue of every simple router",
        departures: "none; the packet in service does not count, framing does",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// A first-in first-out queue that drops packets that do not fit ([`mod@crate::queue::drop_tail`]).
#[derive(Clone, Debug)]
pub struct DropTail {
    room: Room,
    packets: Fifo,
    tally: Tally,
}

impl DropTail {
    /// An empty queue with these parameters.
    pub fn new(config: &DropTailConfig, _place: &QueuePlace<'_>) -> Self {
        Self { room: Room::new(config.limit), packets: Fifo::default(), tally: Tally::default() }
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.room.takes(self.packets.len(), self.packets.octets(), arrival.octets) {
            self.packets.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let first = self.packets.pop()?;
        Some(first)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(packets, room);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::QueueLimit;
    use crate::packet::Packet;
    use crate::queue::testing::{PLACE, at_rate};
    use ackclock_units::{Bytes, SimDuration};

    fn kept(limit: QueueLimit) -> usize {
        // 1500 octets take 1 ms
        let mut queue = at_rate(DropTail::new(&DropTailConfig { limit }, &PLACE), Bandwidth(12_000_000));
        for _ in 0..10 {
            queue.enqueue(SimTime::ZERO, Queued { packet: Packet::default(), octets: 1500, since: SimTime::ZERO });
        }
        assert_eq!(queue.counters().drops as usize + queue.len(), 10);
        queue.len()
    }

    #[test]
    fn limits_in_packets_bytes_and_time() {
        assert_eq!(kept(QueueLimit::Unlimited), 10);
        assert_eq!(kept(QueueLimit::Packets(4)), 4);
        assert_eq!(kept(QueueLimit::Bytes(Bytes(4_499))), 2);
        assert_eq!(kept(QueueLimit::Time(SimDuration::from_millis(3))), 4); // the fourth waits 3 ms, the fifth 4
    }
}
