//! External queue disciplines: a user's own, in Rust or behind another language.
//!
//! Source: none. Departures: none.

use ackclock_declare::{External, external};

use super::QueueDiscipline;
use crate::own::PartStart;

external! {
    /// An external queue discipline. Every [`QueueDiscipline`] that can be cloned and shared between threads is one.
    ExternalQueue: QueueDiscipline
}

/// The constructor of external queues, called once for each link that has one.
pub type ExternalQueueConfig = External<PartStart, dyn ExternalQueue>;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use ackclock_units::{Bandwidth, SimTime};

    use super::*;
    use crate::packet::Packet;
    use crate::queue::{Queue, QueueConfig, QueuePlace, Queued, Tally};

    /// A last-in first-out queue with room for two packets.
    #[derive(Clone, Debug, Default)]
    struct Stack {
        packets: VecDeque<Queued>,
        tally: Tally,
    }

    impl QueueDiscipline for Stack {
        fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
            if self.packets.len() == 2 {
                self.tally.drop(&arrival.packet);
            } else {
                self.packets.push_back(arrival);
            }
        }
        fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
            self.packets.pop_back()
        }
        fn set_rate(&mut self, _now: SimTime, _rate: Bandwidth) {}
        fn len(&self) -> usize {
            self.packets.len()
        }
        fn octets(&self) -> u64 {
            self.packets.iter().map(|queued| queued.octets).sum()
        }
        crate::accounts!();
    }

    #[test]
    fn a_queue_from_outside_is_a_queue_and_its_clone_goes_its_own_way() {
        let config = QueueConfig::External(ExternalQueueConfig::new("stack", |_| Box::new(Stack::default())));
        let place = QueuePlace { link: "l", seed: 1 };
        let mut queue = Queue::new(&config, &place, Bandwidth(1_000_000));
        for octets in [100, 200, 300] {
            queue.enqueue(SimTime::ZERO, Queued { packet: Packet::default(), octets, since: SimTime::ZERO });
        }
        assert_eq!((queue.len(), queue.octets(), queue.counters().drops), (2, 300, 1));
        let mut copy = queue.clone();
        assert_eq!(copy.dequeue(SimTime::ZERO).map(|queued| queued.octets), Some(200));
        assert_eq!((queue.len(), copy.len()), (2, 1));
    }

    #[test]
    fn it_gets_the_rate_and_the_seed_of_its_own_stream() {
        let start = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = start.clone();
        let config = ExternalQueueConfig::new("stack", move |start: &PartStart| {
            seen.lock().unwrap().push(*start);
            Box::new(Stack::default())
        });
        for link in ["a", "b"] {
            let place = QueuePlace { link, seed: 1 };
            Queue::new(&QueueConfig::External(config.clone()), &place, Bandwidth(1_000_000));
        }
        let seen = start.lock().unwrap();
        assert_eq!((seen[0].rate, seen[1].rate), (Bandwidth(1_000_000), Bandwidth(1_000_000)));
        assert_ne!(seen[0].seed, seen[1].seed);
    }
}
