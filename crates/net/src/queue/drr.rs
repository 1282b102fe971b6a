//! DRR, Deficit Round Robin: a queue for every flow, served in turn by octets.
//!
//! Source: Shreedhar and Varghese 1995; without room the longest queue loses a packet (their section 3, after McKenney
//! 1990).
//!
//! Packets leave as from Linux's `drr` and `ets` while there is room.
//!
//! Departures: flows are distinguished exactly, by connection and direction, and not by a hash.

use ackclock_declare::{About, declare};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::limit::{QueueLimit, of_link, quantum};
use super::round_robin::{RoundRobin, Rule};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`Drr`].
    #[derive(Copy, Eq)]
    pub struct DrrConfig {
        /// Octets that a flow may send in a turn; at least the largest packet, or turns are empty.
        quantum: Bytes = quantum(Bytes(1_500)),
        /// Largest backlog, all flows together.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for DrrConfig {
    const ABOUT: About = About {
        name: "drr",
        aliases: &[],
        summary: "Deficit Round Robin: a queue for every flow, served in turn by octets; without room the longest loses a packet",
        source: "Shreedhar and Varghese 1995",
        departures: "flows are distinguished exactly, not by a hash",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }
}

/// Deficit round robin: a queue for every flow, served in turn by octets. Source and departures:
/// [`mod@crate::queue::drr`].
#[derive(Clone, Debug)]
pub struct Drr {
    flows: RoundRobin,
    room: Room,
    tally: Tally,
}

impl Drr {
    /// An empty queue with these parameters.
    pub fn new(config: &DrrConfig, _place: &QueuePlace<'_>) -> Self {
        Self {
            flows: RoundRobin::new(config.quantum.0, Rule::Deficit),
            room: Room::new(config.limit),
            tally: Tally::default(),
        }
    }
}

impl QueueDiscipline for Drr {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        self.flows.push(arrival.packet.to.number(), arrival);
        while !self.room.holds(self.flows.len(), self.flows.octets(), arrival.octets)
            && let Some(dropped) = self.flows.steal()
        {
            self.tally.drop(&dropped.packet);
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        self.flows.pop()
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate);
    }

    crate::accounts!(flows, room);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::queue::testing::receiver;
    use proptest::prelude::*;

    fn queue(quantum: u64, limit: QueueLimit) -> Drr {
        let place = QueuePlace { link: "test", seed: 1 };
        Drr::new(&DrrConfig { quantum: Bytes(quantum), limit }, &place)
    }

    fn packet(flow: u32, octets: u64) -> Queued {
        let packet = Packet { to: receiver(flow), ..Packet::default() };
        Queued { packet, octets, since: SimTime::ZERO }
    }

    #[test]
    fn the_example_of_the_paper() {
        // Shreedhar and Varghese 1995, figures 2 and 3: quantum 500; the first queue holds packets of 20, 750 and 200.
        // It sends 20 in the first turn? No: a queue is served from its head: 200 first (deficit 300 left), 750 must wait
        // for the next turn, whose deficit of 800 lets it go and leaves 50, and 20 goes too.
        let mut drr = queue(500, QueueLimit::Unlimited);
        for (flow, octets) in [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500)] {
            drr.enqueue(SimTime::ZERO, packet(flow, octets));
        }
        let order: Vec<(usize, u64)> = std::iter::from_fn(|| drr.dequeue(SimTime::ZERO))
            .map(|q| (q.packet.connection().index(), q.octets))
            .collect();
        assert_eq!(order, [(0, 200), (1, 500), (0, 750), (0, 20), (1, 500)]);
    }

    #[test]
    fn the_longest_queue_gives_way() {
        let mut drr = queue(1500, QueueLimit::Packets(10));
        for _ in 0..10 {
            drr.enqueue(SimTime::ZERO, packet(0, 1500));
        }
        for _ in 0..8 {
            drr.enqueue(SimTime::ZERO, packet(1, 1500));
        }
        // each newcomer pushes out one of flow 0 until both have five; of equals the one that grew last gives way
        assert_eq!(drr.counters().drops, 8);
        let left =
            std::iter::from_fn(|| drr.dequeue(SimTime::ZERO)).filter(|q| q.packet.connection().index() == 1).count();
        assert_eq!(left, 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// While flows are backlogged, the data that any two of them have sent differs by less than quantum + 2 max; at
        /// the end of a round each has its quanta within max (Shreedhar and Varghese 1995, theorem 2).
        #[test]
        fn backlogged_flows_get_equal_shares(
            sizes in proptest::collection::vec((40_u64..1501, 40_u64..1501, 40_u64..1501), 200..300),
            quantum in 1_500_u64..4_000,
        ) {
            let mut drr = queue(quantum, QueueLimit::Unlimited);
            for &(a, b, c) in &sizes {
                for (flow, octets) in [(0, a), (1, b), (2, c)] {
                    drr.enqueue(SimTime::ZERO, packet(flow, octets));
                }
            }
            let mut sent = [0_u64; 3];
            let mut left = [sizes.len(); 3];
            while left.iter().all(|left| *left > 1) {
                let queued = drr.dequeue(SimTime::ZERO).expect("all are backlogged");
                sent[queued.packet.connection().index()] += queued.octets;
                left[queued.packet.connection().index()] -= 1;
                let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
                prop_assert!(most - least <= quantum + 2 * 1_500, "{sent:?}");
            }
        }
    }
}
