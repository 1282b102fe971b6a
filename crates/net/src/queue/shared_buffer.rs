//! A shared buffer: a queue for every flow, all in one memory, and a rule for who may fill it.
//!
//! Sources: longest-queue drop, as McKenney 1990 and Suter et al. 1998 have it; dynamic thresholds, Choudhury and Hahne
//! 1998: a packet may enter its queue if that is shorter than `alpha` times the room that is left.
//!
//! Departures: the queues share one link in turn (deficit round robin), where Choudhury and Hahne's each have an output of
//! their own.

use ackclock_units::{Bytes, SimTime};

use super::round_robin::RoundRobin;
use super::{QueueCounters, QueueDiscipline, QueuePlace, Queued, Room};
use crate::config::QueueLimit;

/// Parameters of [`SharedBuffer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBufferConfig {
    /// Who may fill the buffer.
    pub sharing: Sharing,
    /// What a flow may send in a turn.
    pub quantum: Bytes,
    /// The buffer: packets or octets, all flows together.
    pub limit: QueueLimit,
}

/// Who may fill a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Anyone; when it is full, the longest queue gives way.
    LongestQueueDrop,
    /// A queue may grow to this many times the room that is left.
    DynamicThreshold {
        /// Choudhury and Hahne's factor.
        alpha: f64,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    sharing: Sharing,
    limit: QueueLimit,
    flows: RoundRobin,
    room: Room,
    counters: QueueCounters,
}

impl SharedBuffer {
    /// An empty buffer.
    pub fn new(config: &SharedBufferConfig, place: &QueuePlace<'_>) -> Self {
        Self {
            sharing: config.sharing,
            limit: config.limit,
            flows: RoundRobin::new(config.quantum.0),
            room: Room::new(config.limit, place.rate),
            counters: QueueCounters::default(),
        }
    }

    /// True if the arriving packet's queue is below its threshold.
    fn is_below(&mut self, alpha: f64, key: u32) -> bool {
        let (all_packets, all_octets) = (self.flows.len() as u64, self.flows.octets());
        let queue = self.flows.queue(key);
        let (own, left) = match self.limit {
            QueueLimit::Packets(limit) => (queue.len() as u64, limit.saturating_sub(all_packets)),
            QueueLimit::Bytes(limit) => (queue.octets(), limit.0.saturating_sub(all_octets)),
            QueueLimit::Unlimited | QueueLimit::Time(_) => return true,
        };
        (own as f64) < alpha * left as f64
    }
}

impl QueueDiscipline for SharedBuffer {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        let key = arrival.packet.to.number();
        match self.sharing {
            Sharing::LongestQueueDrop => {
                self.flows.push(key, arrival);
                while !self.room.holds(self.flows.len(), self.flows.octets(), arrival.octets)
                    && self.flows.steal().is_some()
                {
                    self.counters.drops += 1;
                }
            }
            Sharing::DynamicThreshold { alpha } => {
                let fits = self.room.takes(self.flows.len(), self.flows.octets(), arrival.octets);
                if fits && self.is_below(alpha, key) {
                    self.flows.push(key, arrival);
                } else {
                    self.counters.drops += 1;
                }
            }
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        self.flows.pop()
    }

    fn len(&self) -> usize {
        self.flows.len()
    }

    fn octets(&self) -> u64 {
        self.flows.octets()
    }

    fn counters(&self) -> QueueCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;
    use crate::packet::Packet;
    use ackclock_units::Bandwidth;

    /// Lengths of `flows` queues that all want more than there is, in a buffer of 1200 packets.
    fn lengths(sharing: Sharing, flows: u32) -> Vec<usize> {
        let config = SharedBufferConfig { sharing, quantum: Bytes(1_500), limit: QueueLimit::Packets(1_200) };
        let place = QueuePlace { link: "test", rate: Bandwidth(1_000_000), seed: 1 };
        let mut buffer = SharedBuffer::new(&config, &place);
        for _ in 0..2_000 {
            for flow in 0..flows {
                let packet = Packet { to: EndpointId::of_number(flow), ..Packet::default() };
                buffer.enqueue(SimTime::ZERO, Queued { packet, octets: 1_500, since: SimTime::ZERO });
            }
        }
        assert_eq!(buffer.counters().drops as usize + buffer.len(), 2_000 * flows as usize);
        (0..flows).map(|flow| buffer.flows.queue(flow).len()).collect()
    }

    #[test]
    fn dynamic_thresholds_leave_the_room_that_choudhury_and_hahne_say() {
        // S saturated queues: each alpha B / (1 + S alpha); free B / (1 + S alpha).
        let check = |alpha, flows, each: usize| {
            for length in lengths(Sharing::DynamicThreshold { alpha }, flows) {
                assert!(length.abs_diff(each) <= 1, "{length} is not {each}");
            }
        };
        check(1.0, 1, 600); // 1200 / 2
        check(1.0, 3, 300); // 1200 / 4
        check(2.0, 1, 800); // 2400 / 3
        check(0.5, 2, 300); // 600 / 2
    }

    #[test]
    fn longest_queue_drop_uses_all_of_it_and_shares_it_evenly() {
        for (flows, each) in [(1, 1_200), (3, 400), (4, 300)] {
            let lengths = lengths(Sharing::LongestQueueDrop, flows);
            assert_eq!(lengths.iter().sum::<usize>(), 1_200);
            assert!(lengths.iter().all(|length| length.abs_diff(each) <= 1), "{lengths:?}");
        }
    }
}
