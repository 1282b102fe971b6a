//! A queue that marks by its instantaneous length: the signal that DCTCP needs of a switch.
//!
//! Source: RFC 8257 section 3.1; Alizadeh et al., SIGCOMM 2010, section 3.1: an arriving packet is marked if the queue
//! holds more than K.
//!
//! Departures: none. A packet that is not ECN-capable is kept like any other.

use ackclock_declare::{About, declare, required};
use ackclock_units::{Bandwidth, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`Threshold`].
    #[derive(Copy, Eq)]
    pub struct ThresholdConfig {
        /// Waiting amount above which an arriving ECN-capable packet is marked, DCTCP's K; a seventh of a bdp is enough
        /// to keep the link busy.
        threshold: QueueLimit = required(QueueLimit::Packets(20)),
        /// Largest backlog of the queue.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for ThresholdConfig {
    const ABOUT: About = About {
        name: "threshold",
        aliases: &[],
        summary: "first in, first out; packets that arrive at a queue above a threshold are marked (CE)",
        source: "RFC 8257 section 3.1; Alizadeh et al., SIGCOMM 2010",
        departures: "none; packets that are not ECN-capable are kept like any others",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// Marks an arriving packet while the queue holds more than a threshold. Source: [`mod@crate::queue::threshold`].
#[derive(Clone, Debug)]
pub struct Threshold {
    /// The room in which packets wait without marks.
    unmarked: Room,
    room: Room,
    packets: Fifo,
    tally: Tally,
}

impl Threshold {
    /// An empty queue with these parameters.
    pub fn new(config: &ThresholdConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            unmarked: Room::new(config.threshold),
            room: Room::new(config.limit),
            packets: Fifo::default(),
            tally: Tally::default(),
        }
    }
}

impl QueueDiscipline for Threshold {
    fn enqueue(&mut self, _now: SimTime, mut arrival: Queued) {
        if !self.room.takes(self.packets.len(), self.packets.octets(), arrival.octets) {
            self.tally.drop(&arrival.packet);
            return;
        }
        // As many packets, or octets, as the threshold itself are not more than it.
        let is_above = match self.packets.len() {
            0 => false,
            waiting => !self.unmarked.takes(waiting - 1, self.packets.octets(), 0),
        };
        if is_above {
            self.tally.mark(&mut arrival.packet);
        }
        self.packets.push(arrival);
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let first = self.packets.pop()?;
        Some(first)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.unmarked.set_rate(rate);
        self.room.set_rate(rate);
    }

    crate::accounts!(packets, room);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::QueueLimit;
    use crate::queue::QueueCounters;
    use ackclock_units::Bytes;
    use ackclock_wire::Ecn;

    fn marked(threshold: QueueLimit, ecn: Ecn) -> (Vec<usize>, QueueCounters) {
        let config = ThresholdConfig { threshold, limit: QueueLimit::Packets(6) };
        let mut queue = Threshold::new(&config, &QueuePlace { link: "test", seed: 1 });
        for _ in 0..8 {
            let mut packet = crate::packet::Packet { size: 1_500, ..Default::default() };
            packet.set_ecn(ecn);
            queue.enqueue(SimTime::ZERO, Queued { packet, octets: 1_500, since: SimTime::ZERO });
        }
        let order = std::iter::from_fn(|| queue.dequeue(SimTime::ZERO)).enumerate();
        let marked = order.filter(|(_, queued)| queued.packet.ecn() == Ecn::Ce).map(|(place, _)| place).collect();
        (marked, queue.counters())
    }

    #[test]
    fn what_finds_more_than_the_threshold_is_marked() {
        let counters = QueueCounters { drops: 2, marks: 2 };
        // The fifth finds four, more than three; the seventh and eighth find no room.
        assert_eq!(marked(QueueLimit::Packets(3), Ecn::Ect0), (vec![4, 5], counters));
        assert_eq!(marked(QueueLimit::Bytes(Bytes(4_500)), Ecn::Ect1), (vec![4, 5], counters));
    }

    #[test]
    fn what_allows_no_mark_is_kept() {
        assert_eq!(marked(QueueLimit::Packets(3), Ecn::NotEct), (vec![], QueueCounters { drops: 2, marks: 0 }));
    }
}
