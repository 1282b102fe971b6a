//! A link: what waits for it, what is being clocked onto it, what travels along it.
//!
//! A first-in first-out link of fixed rate is a virtual clock: when a packet arrives, the start of its service and its
//! arrival at the far end are known. So the link keeps its packets in one ring, in order, and needs a single pending
//! event, the arrival of the first; what waits is a second, small ring, brought up to date on demand.
//!
//! Where a link is fed by one other link that is no faster, nothing ever waits for it, and a packet's passage through
//! it follows from its passage through the first: the packet goes straight into the later link's ring, and the event
//! between the two is saved.
//!
//! Any other link is served packet by packet: see [`served`].

pub(crate) mod served;

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::clock::LinkClock;
use crate::config::{LinkConfig, QueueConfig, QueueLimit};
use crate::link_stats::LinkStats;
use crate::packet::Packet;

use self::served::Served;

/// A packet that waits for service.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Its first bit enters the wire.
    service: SimTime,
    octets: u64,
}

/// A packet that will come out at the far end.
#[derive(Clone, Copy, Debug)]
struct InTransit {
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
    /// What has not entered service, as of the last [`Link::advance`].
    waiting: VecDeque<Waiting>,
    waiting_octets: u64,
    /// When the first that waits enters service, or the first that was passed on arrives.
    next_change: SimTime,
    /// What is to come out at the far end.
    transit: VecDeque<InTransit>,
    /// Packets that are in a later link's ring: when they arrive at this one's far end, and their octets.
    passed_on: VecDeque<(SimTime, u64)>,
    /// Set on a link that is served packet by packet; `waiting` and `clock` idle then.
    served: Option<Box<Served>>,
    /// Packets may overtake each other on the wire, so that each has an event of its own.
    overtaking: bool,
    /// Sending time of the packets that entered ahead of time and have arrived; `None` on a link that packets enter in
    /// real time, whose clock knows.
    sent_ahead: Option<SimDuration>,
    total_drops: u64,
    total_marks: u64,
    stats: LinkStats,
}

/// When a packet enters and leaves the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its first bit enters.
    pub service: SimTime,
    /// Its last bit arrives at the far end.
    pub arrival: SimTime,
}

impl Link {
    /// An idle link; random numbers, where the queue or the wire draws any, are of the seed's streams of its name.
    pub fn new(config: &LinkConfig, seed: u64) -> Self {
        let served = config.is_served().then(|| Box::new(Served::new(config, seed)));
        Self {
            delay: config.delay,
            framing: config.framing.0,
            limit: if let QueueConfig::DropTail(queue) = &config.queue { queue.limit } else { QueueLimit::Unlimited },
            clock: LinkClock::new(config.rate),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            next_change: SimTime::NEVER,
            transit: VecDeque::new(),
            passed_on: VecDeque::new(),
            overtaking: config.channel.as_ref().is_some_and(|channel| channel.lets_overtake()),
            served,
            sent_ahead: None,
            total_drops: 0,
            total_marks: 0,
            stats: LinkStats::default(),
        }
    }

    /// A packet of `size` octets arrives at the near end. Returns its passage, or `None` if there is no room.
    pub fn admit(&mut self, now: SimTime, size: u32) -> Option<Passage> {
        self.advance(now);
        let octets = u64::from(size) + self.framing;
        let service = self.clock.free_at().max(now);
        if service > now {
            if !self.has_room(octets, service - now) {
                self.on_discarded();
                return None;
            }
            self.stats.on_queue_change(now, self.waiting.len());
            self.waiting.push_back(Waiting { service, octets });
            self.next_change = self.next_change.min(service);
            self.waiting_octets += octets;
        }
        self.stats.on_accepted(service - now);
        let arrival = self.clock.serialize(now, octets) + self.delay;
        Some(Passage { service, arrival })
    }

    /// A packet passes, arriving at the near end at some `time` to come, of a link on which nothing ever waits: one
    /// that a single, no faster link feeds.
    pub fn admit_ahead(&mut self, time: SimTime, size: u32) -> Passage {
        self.sent_ahead.get_or_insert_default();
        let service = self.clock.free_at().max(time);
        let arrival = self.clock.serialize(time, u64::from(size) + self.framing) + self.delay;
        Passage { service, arrival }
    }

    /// Puts an admitted packet on the way. Returns true if it is the only one, so that its arrival is the link's next
    /// event.
    pub fn carry(&mut self, arrival: SimTime, packet: &Packet) -> bool {
        self.transit.push_back(InTransit { arrival, packet: *packet });
        self.transit.len() == 1
    }

    /// An admitted packet travels on in the ring of a later link; it leaves this one at `arrival`.
    pub fn pass_on(&mut self, arrival: SimTime, size: u32) {
        self.passed_on.push_back((arrival, u64::from(size) + self.framing));
        self.next_change = self.next_change.min(arrival);
    }

    /// The first packet arrives at the far end, in `arrived`: copied once, as copies of copies make the processor wait.
    /// Returns when the next one arrives.
    pub fn deliver(&mut self, arrived: &mut Packet) -> Option<SimTime> {
        let first = self.transit.front().expect("a link's event means that a packet is under way");
        *arrived = first.packet;
        let octets = u64::from(first.packet.size) + self.framing;
        self.transit.pop_front();
        self.on_delivered(octets);
        if self.overtaking {
            self.count_order();
        }
        self.transit.front().filter(|_| !self.overtaking).map(|next| next.arrival)
    }

    /// Brings the counts up to `now`.
    pub fn advance(&mut self, now: SimTime) {
        if self.next_change <= now {
            self.advance_past_changes(now);
        }
    }

    fn advance_past_changes(&mut self, now: SimTime) {
        while let Some(next) = self.waiting.front().filter(|next| next.service <= now) {
            self.stats.on_queue_change(next.service, self.waiting.len());
            self.waiting_octets -= next.octets;
            self.waiting.pop_front();
        }
        while let Some((_, octets)) = self.passed_on.pop_front_if(|(arrival, _)| *arrival <= now) {
            self.on_delivered(octets);
        }
        let service = self.waiting.front().map_or(SimTime::NEVER, |next| next.service);
        self.next_change = self.passed_on.front().map_or(service, |(arrival, _)| service.min(*arrival));
    }

    fn on_delivered(&mut self, octets: u64) {
        self.stats.on_delivered();
        if let Some(sent) = &mut self.sent_ahead {
            let (whole, rest) = self.clock.parts(octets);
            *sent += SimDuration(whole + u64::from(rest > 0));
        }
    }

    /// Packets waiting, as of the last call that moved time.
    pub fn waiting(&self) -> usize {
        self.served.as_ref().map_or(self.waiting.len(), |served| served.waiting())
    }

    fn has_room(&self, octets: u64, wait: SimDuration) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.waiting_octets + octets <= limit.0,
            QueueLimit::Time(limit) => wait <= limit,
        }
    }

    /// Octets waiting, framing included.
    pub fn waiting_octets(&self) -> Bytes {
        Bytes(self.served.as_ref().map_or(self.waiting_octets, |served| served.waiting_octets()))
    }

    /// A packet was dropped here, by the queue or by a discarder in front of it.
    pub fn on_discarded(&mut self) {
        self.total_drops += 1;
        self.stats.on_drop();
    }

    /// Time for which the link has been sending, up to `now`; on a link that packets enter ahead of time, what it took
    /// to send those that have arrived.
    pub fn busy_time(&self, now: SimTime) -> SimDuration {
        match &self.served {
            None => self.sent_ahead.unwrap_or_else(|| self.clock.busy_time(now)),
            Some(served) => served.busy_time(now),
        }
    }

    /// Begins the measurement window: averages from here on.
    pub fn begin_measurement(&mut self, now: SimTime) {
        self.advance(now);
        let busy = self.busy_time(now);
        if let Some(served) = &mut self.served {
            served.begin_measurement(now);
        }
        self.stats.restart(now, busy);
    }

    /// Ends the measurement window and returns what was measured.
    pub fn end_measurement(&mut self, now: SimTime) -> LinkStats {
        self.advance(now);
        let mut stats = self.stats.clone();
        let used = self.served.as_ref().and_then(|served| served.used(stats.window_start(), now));
        stats.finish(now, self.waiting(), self.busy_time(now), used);
        stats
    }

    /// Packets dropped since the beginning of the run.
    pub fn total_drops(&self) -> u64 {
        self.total_drops
    }

    /// Packets marked since the beginning of the run.
    pub fn total_marks(&self) -> u64 {
        self.total_marks
    }

    /// Clock rate.
    pub fn rate(&self) -> Bandwidth {
        self.clock.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DropTailConfig;
    use crate::ids::{EndpointId, NodeId};
    use ackclock_wire::Segment;

    fn link(rate: u64, limit: QueueLimit) -> Link {
        let config = LinkConfig {
            name: "test".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            rate: Bandwidth(rate),
            delay: SimDuration::from_millis(1),
            framing: Bytes(0),
            queue: QueueConfig::DropTail(DropTailConfig { limit }),
            discarder: None,
            capture: false,
            channel: None,
        };
        Link::new(&config, 1)
    }

    fn packet() -> Packet {
        Packet::tcp(Segment { payload: 1460, ..Segment::default() }, EndpointId::default()) // 1500 octets of IP
    }

    /// A full packet enters; returns its arrival at the far end.
    fn enter(link: &mut Link, now: u64) -> Option<u64> {
        let passage = link.admit(SimTime(now), 1500)?;
        link.carry(passage.arrival, &packet());
        Some(passage.arrival.0)
    }

    #[test]
    fn packets_arrive_after_service_and_delay() {
        // 1500 B at 12 Mbit/s take 1 ms.
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        assert_eq!(enter(&mut link, 0), Some(2_000_000));
        assert_eq!(enter(&mut link, 0), Some(3_000_000));
        assert_eq!(link.waiting(), 1);
        let mut arrived = Packet::default();
        assert_eq!(link.deliver(&mut arrived), Some(SimTime(3_000_000)));
        assert_eq!(link.deliver(&mut arrived), None);
        assert_eq!(link.busy_time(SimTime(5_000_000)), SimDuration(2_000_000));
    }

    #[test]
    fn a_limit_counts_what_waits_and_not_what_is_in_service() {
        let mut link = link(12_000_000, QueueLimit::Packets(2));
        let drops = (0..5).filter(|_| enter(&mut link, 0).is_none()).count();
        assert_eq!(drops, 2); // one in service, two waiting
        // at 1 ms the first has left and the second is in service: room for one more
        assert!(enter(&mut link, 1_000_000).is_some());
        assert!(enter(&mut link, 1_000_000).is_none());
    }

    #[test]
    fn limits_in_bytes_and_time() {
        let accepted = |limit| {
            let mut link = link(12_000_000, limit);
            (0..10).filter(|_| enter(&mut link, 0).is_some()).count()
        };
        assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_500))), 4);
        assert_eq!(accepted(QueueLimit::Bytes(Bytes(4_499))), 3);
        assert_eq!(accepted(QueueLimit::Time(SimDuration::from_millis(3))), 4);
    }

    #[test]
    fn the_long_run_rate_is_exact_whatever_the_rounding() {
        // 7 Gbit/s: 1500 B take 1714.2857 ns. After 7000 packets: 12 000 000 ns.
        let mut link = link(7_000_000_000, QueueLimit::Unlimited);
        let last = (0..7_000).filter_map(|_| enter(&mut link, 0)).last();
        assert_eq!(last, Some(12_000_000 + 1_000_000));
    }

    #[test]
    fn queue_statistics_by_hand() {
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        for _ in 0..3 {
            enter(&mut link, 0);
        }
        // waiting: 2 for the first ms, 1 for the second, 0 for the third and fourth: mean 3/4
        let stats = link.end_measurement(SimTime(4_000_000));
        assert!((stats.queue_packets().mean() - 0.75).abs() < 1e-12);
        assert_eq!(stats.queue_packets().max(), 2);
        assert!((stats.queueing_delay().mean() - 1e6).abs() < 1e-6); // (0 + 1 + 2) / 3 ms
        assert!((stats.utilization() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_link_entered_ahead_of_time_has_sent_what_has_arrived() {
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        for enters in [0, 10_000_000] {
            let passage = link.admit_ahead(SimTime(enters), 1500);
            link.carry(passage.arrival, &packet());
        }
        assert_eq!(link.busy_time(SimTime(1_000_000)), SimDuration::ZERO);
        link.deliver(&mut Packet::default());
        assert_eq!(link.busy_time(SimTime(2_000_000)), SimDuration::from_millis(1));
        link.deliver(&mut Packet::default());
        assert_eq!(link.busy_time(SimTime(12_000_000)), SimDuration::from_millis(2));
    }

    #[test]
    fn what_is_passed_on_counts_as_delivered_when_it_arrives() {
        let mut link = link(12_000_000, QueueLimit::Unlimited);
        let passage = link.admit(SimTime(0), 1500).expect("room");
        link.pass_on(passage.arrival, 1500);
        assert_eq!(link.end_measurement(SimTime(1_999_999)).delivered_packets(), 0);
        assert_eq!(link.end_measurement(SimTime(2_000_000)).delivered_packets(), 1);
    }
}
