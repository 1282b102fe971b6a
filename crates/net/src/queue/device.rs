//! The queue of a network device behind a discipline: the discipline no longer sees the packets that the device has
//! taken.
//!
//! Source: ns-3's `NetDeviceQueue` and Linux's drivers without byte queue limits: the device takes packets from the
//! discipline for as long as it has room, and again whenever it has sent one. The wait that a discipline measures ends
//! when the device takes the packet, and flows share the device's queue in order of arrival.
//!
//! Departures: the device counts packets, and has room as soon as it begins to send one.

use ackclock_units::{Bandwidth, SimDuration, SimTime};

use super::fifo::{Fifo, Head};
use super::{HostTable, Queue, QueueCounters, QueueDiscipline, Queued, Room, Tally};

/// A discipline and the device that takes from it. Source and departures: [`mod@crate::queue::device`].
#[derive(Clone, Debug)]
pub struct Device {
    discipline: Queue,
    /// Packets that the device has taken, in order.
    taken: Fifo,
    /// The number of packets that it takes, beside the one that it sends.
    limit: usize,
}

impl Device {
    pub(super) fn new(discipline: Queue, limit: u32) -> Self {
        Self { discipline, taken: Fifo::default(), limit: limit as usize }
    }

    /// Lets the device take the packets for which it has room.
    fn take(&mut self, now: SimTime) {
        while self.taken.len() < self.limit
            && let Some(next) = self.discipline.dequeue(now)
        {
            self.taken.push(next);
        }
    }
}

impl QueueDiscipline for Device {
    fn enqueue(&mut self, now: SimTime, arrival: Queued) {
        self.discipline.enqueue(now, arrival);
        self.take(now);
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        self.take(now); // what was held back until now
        let first = self.taken.pop();
        self.take(now);
        first
    }

    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        if self.taken.len() > 0 { Some(now) } else { self.discipline.ready_at(now) }
    }

    fn rate_span(&self) -> Option<SimDuration> {
        self.discipline.rate_span()
    }

    fn on_rate(&mut self, octets_per_second: f64) {
        self.discipline.on_rate(octets_per_second);
    }

    fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
        self.discipline.set_rate(now, rate);
    }

    fn set_hosts(&mut self, hosts: &HostTable) {
        self.discipline.set_hosts(hosts);
    }

    fn len(&self) -> usize {
        self.discipline.len() + self.taken.len()
    }

    fn octets(&self) -> u64 {
        self.discipline.octets() + self.taken.octets()
    }

    fn counters(&self) -> QueueCounters {
        self.discipline.counters()
    }

    fn tally(&mut self) -> &mut Tally {
        self.discipline.tally()
    }

    fn room(&mut self) -> Option<&mut Room> {
        self.discipline.room()
    }

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.inspect(now, record);
        record("device_packets", self.taken.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::{Bandwidth, Bytes};

    use super::super::testing::{PLACE, RATE, arrival, drain};
    use super::*;
    use crate::queue::{CodelConfig, QueueConfig, SgpqConfig};

    fn behind(discipline: &QueueConfig, limit: u32) -> Device {
        Device::new(Queue::new(discipline, &PLACE, RATE), limit)
    }

    #[test]
    fn the_discipline_orders_only_what_the_device_has_not_taken() {
        // SGPQ lets small packets go first: three full ones are with the device, and a fourth waits, which the small one passes.
        let mut queue = behind(&QueueConfig::Sgpq(SgpqConfig::default()), 3);
        for octets in [1500, 1500, 1500, 1500, 40] {
            queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, octets));
        }
        assert_eq!((queue.len(), queue.octets(), queue.taken.len()), (5, 6_040, 3));
        let order: Vec<u64> = std::iter::from_fn(|| queue.dequeue(SimTime::ZERO)).map(|next| next.octets).collect();
        assert_eq!(order, [1500, 1500, 1500, 40, 1500]);
        assert_eq!((queue.len(), queue.octets()), (0, 0));
    }

    #[test]
    fn a_wait_with_the_device_is_none_for_codel() {
        // 400 packets, one each ms at 12 Mbit/s: CoDel (5 ms, 100 ms) begins to drop 100 ms after waits have passed 5 ms. With a device of
        // 400 packets nothing ever waits for CoDel.
        let codel = QueueConfig::Codel(CodelConfig::default());
        let dropped = |limit| {
            let mut queue = behind(&codel, limit);
            for _ in 0..400 {
                queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
            }
            drain(&mut queue, SimTime::ZERO, Bandwidth(12_000_000));
            queue.counters().drops
        };
        assert_eq!(dropped(400), 0);
        assert!(dropped(1) > 0);
    }

    #[test]
    fn what_a_bucket_holds_back_reaches_the_device_in_its_time() {
        // 12 Mbit/s, a burst of one packet: the second may leave after 1 ms.
        let bucket = crate::queue::TbfConfig {
            rate: Bandwidth(12_000_000),
            burst: Bytes(1_500),
            limit: crate::queue::QueueLimit::Unlimited,
        };
        let mut queue = behind(&QueueConfig::Tbf(bucket), 10);
        for _ in 0..2 {
            queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
        }
        assert_eq!(queue.ready_at(SimTime::ZERO), Some(SimTime::ZERO));
        assert!(queue.dequeue(SimTime::ZERO).is_some());
        assert_eq!(queue.ready_at(SimTime::ZERO), Some(SimTime(1_000_000)));
        assert!(queue.dequeue(SimTime(1_000_000)).is_some());
    }
}
