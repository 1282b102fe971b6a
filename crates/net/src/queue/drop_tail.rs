//! DropTail: first in, first out; what does not fit is dropped. The discipline of every simple router.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, SimTime};

use super::{QueueCounters, QueueDiscipline, Queued};
use crate::config::QueueLimit;

/// See the module.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: QueueLimit,
    /// For a limit in time.
    rate: Bandwidth,
    packets: VecDeque<Queued>,
    octets: u64,
    counters: QueueCounters,
}

impl DropTail {
    /// An empty queue; `rate` is the link's, for a limit in time.
    pub fn new(limit: QueueLimit, rate: Bandwidth) -> Self {
        Self { limit, rate, packets: VecDeque::new(), octets: 0, counters: QueueCounters::default() }
    }

    fn has_room(&self, octets: u64) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.packets.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.octets + octets <= limit.0,
            QueueLimit::Time(limit) => self.rate.serialization_delay(ackclock_units::Bytes(self.octets)) <= limit,
        }
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.has_room(arrival.octets) {
            self.octets += arrival.octets;
            self.packets.push_back(arrival);
        } else {
            self.counters.drops += 1;
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let first = self.packets.pop_front()?;
        self.octets -= first.octets;
        Some(first)
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn counters(&self) -> QueueCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use ackclock_units::{Bytes, SimDuration};

    fn kept(limit: QueueLimit) -> usize {
        let mut queue = DropTail::new(limit, Bandwidth(12_000_000)); // 1500 octets take 1 ms
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
