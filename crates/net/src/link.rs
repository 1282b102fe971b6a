//! A link: what waits for it, what is being clocked onto it, what travels along it.
//!
//! A first-in first-out link of fixed rate is a virtual clock: when a packet arrives, the start of its service and its
//! arrival at the far end are known. So the link keeps all its packets in one ring, in order, and needs a single
//! pending event, the arrival of the first; what waits is a count of the ring's tail, brought up to date on demand.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::{LinkConfig, QueueConfig, QueueLimit};
use crate::link_stats::LinkStats;
use crate::packet::Packet;

/// A packet in the queue, in service or on the wire.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    /// Its first bit enters the wire.
    service: SimTime,
    /// Its last bit arrives at the far end.
    arrival: SimTime,
    packet: Packet,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Link {
    delay: SimDuration,
    framing: u64,
    limit: QueueLimit,
    clock: LinkClock,
    ring: VecDeque<InTransit>,
    /// How many at the ring's head have entered service.
    in_service: usize,
    waiting_octets: u64,
    stats: LinkStats,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// There was no room.
    Dropped,
    /// It is behind others; the link's pending event stands.
    Behind,
    /// It is the only one; it arrives at the far end then.
    First(SimTime),
}

impl Link {
    /// An idle link.
    pub fn new(config: &LinkConfig) -> Self {
        let QueueConfig::DropTail(queue) = config.queue;
        Self {
            delay: config.delay,
            framing: config.framing.0,
            limit: queue.limit,
            clock: LinkClock::new(config.rate),
            ring: VecDeque::new(),
            in_service: 0,
            waiting_octets: 0,
            stats: LinkStats::default(),
        }
    }

    /// A packet arrives at the near end. Returns what became of it and when its first bit enters the wire.
    pub fn enqueue(&mut self, now: SimTime, packet: Packet) -> (Enqueued, SimTime) {
        self.advance(now);
        let octets = u64::from(packet.size) + self.framing;
        let service = self.clock.free_at().max(now);
        if service > now && !self.has_room(octets, service - now) {
            self.stats.on_drop();
            return (Enqueued::Dropped, now);
        }
        let arrival = self.clock.serialize(now, octets) + self.delay;
        self.stats.on_accepted(service - now, octets);
        let is_first = self.ring.is_empty();
        self.ring.push_back(InTransit { service, arrival, packet });
        if service > now {
            self.stats.on_queue_change(now, self.waiting());
            self.waiting_octets += octets;
        } else {
            self.in_service += 1;
        }
        (if is_first { Enqueued::First(arrival) } else { Enqueued::Behind }, service)
    }

    fn has_room(&self, octets: u64, wait: SimDuration) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.waiting() as u64) < limit,
            QueueLimit::Bytes(limit) => self.waiting_octets + octets <= limit.0,
            QueueLimit::Time(limit) => wait <= limit,
        }
    }

    /// The first packet arrives at the far end. Returns it, and when the next one arrives.
    pub fn deliver(&mut self) -> (Packet, Option<SimTime>) {
        let first = self.ring.pop_front().expect("a link's event means that a packet is under way");
        self.settle_service(&first);
        self.stats.on_delivered();
        (first.packet, self.ring.front().map(|next| next.arrival))
    }

    /// The packet that leaves the ring has been in service, noted or not.
    fn settle_service(&mut self, first: &InTransit) {
        if self.in_service > 0 {
            self.in_service -= 1;
            return;
        }
        self.waiting_octets -= u64::from(first.packet.size) + self.framing;
        self.stats.on_queue_change(first.service, self.ring.len() + 1);
    }

    /// Brings the count of waiting packets up to `now`.
    pub fn advance(&mut self, now: SimTime) {
        while let Some(next) = self.ring.get(self.in_service).filter(|next| next.service <= now) {
            self.waiting_octets -= u64::from(next.packet.size) + self.framing;
            self.stats.on_queue_change(next.service, self.ring.len() - self.in_service);
            self.in_service += 1;
        }
    }

    /// Packets waiting, as of the last call that moved time.
    pub fn waiting(&self) -> usize {
        self.ring.len() - self.in_service
    }

    /// Octets waiting, framing included.
    pub fn waiting_octets(&self) -> Bytes {
        Bytes(self.waiting_octets)
    }

    /// A discarder in front of the link dropped a packet.
    pub fn on_discarded(&mut self) {
        self.stats.on_drop();
    }

    /// Time for which the link has been sending, up to `now`.
    pub fn busy_time(&self, now: SimTime) -> SimDuration {
        self.clock.busy_time(now)
    }

    /// Begins the measurement window: averages from here on.
    pub fn begin_measurement(&mut self, now: SimTime) {
        self.advance(now);
        let busy = self.busy_time(now);
        self.stats.restart(now, busy);
    }

    /// Ends the measurement window and returns what was measured.
    pub fn end_measurement(&mut self, now: SimTime) -> LinkStats {
        self.advance(now);
        let mut stats = self.stats.clone();
        stats.finish(now, self.waiting(), self.busy_time(now));
        stats
    }

    /// Statistics so far.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }
}

/// When the link is free, exactly: what rounding to nanoseconds leaves is carried to the next packet.
#[derive(Clone, Debug)]
struct LinkClock {
    rate: Bandwidth,
    free_at: SimTime,
    /// In units of 1/rate nanoseconds, below `rate`: how much earlier than `free_at` it is exactly free, counted from
    /// the nanosecond before.
    fraction: u64,
    sent: SimDuration,
    /// Serialisation times of recent sizes: there are few.
    cache: [(u64, u64, u64); 8],
}

impl LinkClock {
    fn new(rate: Bandwidth) -> Self {
        Self { rate, free_at: SimTime::ZERO, fraction: 0, sent: SimDuration::ZERO, cache: [(u64::MAX, 0, 0); 8] }
    }

    fn free_at(&self) -> SimTime {
        self.free_at
    }

    fn parts(&mut self, octets: u64) -> (u64, u64) {
        let slot = &mut self.cache[(octets as usize >> 4) % 8];
        if slot.0 != octets {
            let (whole, rest) = self.rate.serialization_parts(Bytes(octets));
            *slot = (octets, whole, rest);
        }
        (slot.1, slot.2)
    }

    /// Clocks a packet that arrived at `now`; returns when its last bit has left, rounded up.
    fn serialize(&mut self, now: SimTime, octets: u64) -> SimTime {
        let (whole, rest) = self.parts(octets);
        let old = self.free_at;
        // Exact end of the packet before: `floor` nanoseconds and `fraction`.
        let (floor, fraction) =
            if old > now { (old.0 - u64::from(self.fraction > 0), self.fraction) } else { (now.0, 0) };
        let mut end = floor + whole;
        let mut sum = fraction + rest;
        if sum >= self.rate.0 {
            sum -= self.rate.0;
            end += 1;
        }
        self.fraction = sum;
        self.free_at = SimTime(end + u64::from(sum > 0));
        self.sent += self.free_at - old.max(now);
        self.free_at
    }

    fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent - self.free_at.saturating_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DropTailConfig;
    use ackclock_wire::Segment;

    fn link(rate: u64, limit: QueueLimit) -> Link {
        Link::new(&LinkConfig {
            name: "test".to_owned(),
            from: 0,
            to: 1,
            rate: Bandwidth(rate),
            delay: SimDuration::from_millis(1),
            framing: Bytes(0),
            queue: QueueConfig::DropTail(DropTailConfig { limit }),
            discarder: None,
            capture: false,
        })
    }

    fn packet() -> Packet {
        Packet::new(Segment { payload: 1460, ..Segment::default() }, 1, 0) // 1500 octets of IP
    }

    #[test]
    fn packets_arrive_after_service_and_delay() {
        // 1500 B at 12 Mbit/s take 1 ms.
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        assert_eq!(link.enqueue(SimTime(0), packet()).0, Enqueued::First(SimTime(2_000_000)));
        assert_eq!(link.enqueue(SimTime(0), packet()), (Enqueued::Behind, SimTime(1_000_000)));
        assert_eq!(link.waiting(), 1);
        assert_eq!(link.deliver().1, Some(SimTime(3_000_000)));
        assert_eq!(link.deliver().1, None);
        assert_eq!(link.busy_time(SimTime(5_000_000)), SimDuration(2_000_000));
    }

    #[test]
    fn a_limit_counts_what_waits_and_not_what_is_in_service() {
        let mut link = link(12_000_000, QueueLimit::Packets(2));
        let drops = (0..5).filter(|_| link.enqueue(SimTime(0), packet()).0 == Enqueued::Dropped).count();
        assert_eq!(drops, 2); // one in service, two waiting
        // at 1 ms the first has left and the second is in service: room for one more
        assert_ne!(link.enqueue(SimTime(1_000_000), packet()).0, Enqueued::Dropped);
        assert_eq!(link.enqueue(SimTime(1_000_000), packet()).0, Enqueued::Dropped);
    }

    #[test]
    fn limits_in_bytes_and_time() {
        let accepted = |limit| {
            let mut link = link(12_000_000, limit);
            (0..10).filter(|_| link.enqueue(SimTime(0), packet()).0 != Enqueued::Dropped).count()
        };
        assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_500))), 4);
        assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_499))), 3);
        assert_eq!(accepted(QueueLimit::Time(SimDuration::from_millis(3))), 4);
    }

    #[test]
    fn the_long_run_rate_is_exact_whatever_the_rounding() {
        // 7 Gbit/s: 1500 B take 1714.2857 ns. After 7000 packets: 12 000 000 ns.
        let mut link = link(7_000_000_000, QueueLimit::Unlimited);
        let mut last = SimTime::ZERO;
        for _ in 0..7_000 {
            link.enqueue(SimTime(0), packet());
        }
        while let Some(next) = link.deliver().1 {
            last = next;
        }
        assert_eq!(last, SimTime(12_000_000 + 1_000_000));
    }

    #[test]
    fn queue_statistics_by_hand() {
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        for _ in 0..3 {
            link.enqueue(SimTime(0), packet());
        }
        // waiting: 2 for the first ms, 1 for the second, 0 for the third and fourth: mean 3/4
        let stats = link.end_measurement(SimTime(4_000_000));
        assert!((stats.queue_packets().mean() - 0.75).abs() < 1e-12);
        assert_eq!(stats.queue_packets().max(), 2);
        assert!((stats.queueing_delay().mean() - 1e6).abs() < 1e-6); // (0 + 1 + 2) / 3 ms
        assert!((stats.utilization() - 0.75).abs() < 1e-12);
    }
}
