//! TBF, a token bucket that shapes: packets leave at a rate, after a burst.
//!
//! Source: the token bucket of RFC 2697's kind in front of a queue, as Linux's `tbf` arranges it. Tokens are octets of the
//! link, framing included; they come at `rate` and at most `burst` of them are kept. A packet leaves when there are
//! tokens for all of it, on a whole nanosecond. Tokens are counted without rounding; only a bucket that is full at that
//! nanosecond, such as one of a single packet, loses what comes until then.
//!
//! Packets leave as from Linux, within its resolution of time.
//!
//! Departures from Linux: no peak rate, no minimum packet size.

use ackclock_declare::{About, Review, declare, required};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};

declare! {
    /// The parameters of [`Tbf`].
    #[derive(Copy, Eq)]
    pub struct TbfConfig {
        /// Rate at which tokens come.
        rate: Bandwidth = required(Bandwidth(10_000_000)).at_least(Bandwidth(1)),
        /// Octets that may leave at once, framing included; at least the largest packet.
        burst: Bytes = required(Bytes(15_000)),
        /// Largest backlog of the queue; a time is converted at the lower of this rate and the link's.
        limit: QueueLimit = of_link(),
    }
    check super::review;
}

impl Parameters for TbfConfig {
    const ABOUT: About = About {
        name: "tbf",
        aliases: &[],
        summary: "token bucket: packets are held back to a rate, after a burst",
        source: "the token bucket in front of a queue, as Linux's tbf",
        departures: "no peak rate; tokens are octets of the link, framing included",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        vec![("limit".to_owned(), self.limit)]
    }

    fn review(&self, review: &mut Review<'_>) {
        let largest = review.context.crossing().map_or(Bytes::ZERO, |crossing| crossing.largest_packet);
        if self.burst < largest {
            let message = format!("must be at least {largest}: less than one packet could never leave");
            review.report("burst", message, format!("use \"{largest}\" or more"));
        }
    }
}

/// Bit-nanoseconds per octet and second.
const PER_OCTET: u128 = 8_000_000_000;

/// A token bucket that holds packets back to a rate. Source and departures: [`mod@crate::queue::tbf`].
#[derive(Clone, Debug)]
pub struct Tbf {
    rate: Bandwidth,
    /// The tokens of a full bucket, in bits of the rate times nanoseconds: exact.
    capacity: u128,
    tokens: u128,
    /// The time of the latest `tokens`.
    updated: SimTime,
    room: Room,
    packets: Fifo,
    tally: Tally,
}

impl Tbf {
    /// An empty queue with a full bucket.
    pub fn new(config: &TbfConfig, _place: &QueuePlace<'_>) -> Self {
        let capacity = u128::from(config.burst.0) * PER_OCTET;
        Self {
            rate: config.rate,
            capacity,
            tokens: capacity,
            updated: SimTime::ZERO,
            room: Room::new(config.limit),
            packets: Fifo::default(),
            tally: Tally::default(),
        }
    }

    fn tokens_at(&self, now: SimTime) -> u128 {
        let earned = u128::from(self.rate.0) * u128::from((now - self.updated).0);
        (self.tokens + earned).min(self.capacity)
    }
}

impl QueueDiscipline for Tbf {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        if self.room.takes(self.packets.len(), self.packets.octets(), arrival.octets) {
            self.packets.push(arrival);
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
        let first = self.packets.front()?;
        let rest = self.tokens_at(now).checked_sub(u128::from(first.octets) * PER_OCTET)?;
        (self.tokens, self.updated) = (rest, now);
        self.packets.pop()
    }

    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        let first = self.packets.front()?;
        let missing = (u128::from(first.octets) * PER_OCTET).saturating_sub(self.tokens_at(now));
        Some(SimTime(now.0 + missing.div_ceil(u128::from(self.rate.0)) as u64))
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        self.room.set_rate(rate.min(self.rate)); // what waits leaves no faster than either lets it
    }

    crate::accounts!(packets);

    fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
        record("tokens_bytes", (self.tokens_at(now) / PER_OCTET) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::queue::testing::{PLACE, arrival, at_rate};
    use ackclock_units::SimDuration;

    /// The departures of `count` packets of 1500 octets that all arrive at `start`.
    fn departures(rate: u64, burst: u64, start: u64, count: usize) -> Vec<u64> {
        let config = TbfConfig { rate: Bandwidth(rate), burst: Bytes(burst), limit: QueueLimit::Unlimited };
        let mut queue = Tbf::new(&config, &QueuePlace { link: "test", seed: 1 });
        let mut now = SimTime(start);
        for _ in 0..count {
            queue.enqueue(now, Queued { packet: Packet::default(), octets: 1500, since: now });
        }
        let mut left = Vec::new();
        while let Some(ready) = queue.ready_at(now) {
            now = ready;
            queue.dequeue(now).expect("it said that it was ready");
            left.push(now.0);
        }
        left
    }

    #[test]
    fn a_burst_at_once_and_then_the_rate() {
        // burst of three packets; then one each ms at 12 Mbit/s
        assert_eq!(departures(12_000_000, 4_500, 7, 6), [7, 7, 7, 1_000_007, 2_000_007, 3_000_007]);
        // 5000 octets: 500 tokens are left after three, so that the fourth waits for 1000: 2/3 ms, rounded up
        assert_eq!(departures(12_000_000, 5_000, 0, 5), [0, 0, 0, 666_667, 1_666_667]);
    }

    #[test]
    fn in_the_long_run_the_rate_is_exact() {
        // 7 Mbit/s: after the burst of one packet a token is left; the others of 7000 packets take
        // (7000 * 1500 - 1) * 8 / 7e6 s = 11.999998857142857 s, rounded up once and not each time
        assert_eq!(departures(7_000_000, 1_501, 0, 7_001).last(), Some(&11_999_998_858));
    }

    #[test]
    fn no_more_than_a_burst_is_ever_kept() {
        // a second's silence at 12 Mbit/s would be 1000 packets
        assert_eq!(departures(12_000_000, 3_000, 1_000_000_000, 3).last(), Some(&1_001_000_000));
    }

    #[test]
    fn a_limit_in_time_is_of_the_slower_of_link_and_tokens() {
        // 20 ms at 1 Mbit/s are 2500 octets: a third packet finds 3000 before it. Tokens of 10 Mbit/s make no difference to that, nor
        // does a link of 10 Mbit/s to tokens of 1 Mbit/s; at 10 Mbit/s both, 25,000 octets are 17 packets, and one finds 24,000.
        let kept = |tokens, link| {
            let limit = QueueLimit::Time(SimDuration::from_millis(20));
            let config = TbfConfig { rate: Bandwidth(tokens), burst: Bytes(1_500), limit };
            let mut queue = at_rate(Tbf::new(&config, &PLACE), Bandwidth(link));
            (0..100).for_each(|_| queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500)));
            queue.len()
        };
        let (slow, fast) = (1_000_000, 10_000_000);
        assert_eq!([kept(fast, slow), kept(slow, fast), kept(fast, fast)], [2, 2, 17]);
    }

    #[test]
    fn tokens_are_told_as_they_are_and_not_as_the_last_packet_left_them() {
        let config = TbfConfig { rate: Bandwidth(12_000_000), burst: Bytes(3_000), limit: QueueLimit::Packets(2) };
        let mut queue = Tbf::new(&config, &PLACE);
        queue.enqueue(SimTime::ZERO, arrival(SimTime::ZERO, 0, 1500));
        queue.dequeue(SimTime::ZERO).expect("the bucket is full");
        let mut told = 0.0;
        queue.inspect(SimTime(500_000), &mut |_, tokens| told = tokens);
        assert!((told - 2_250.0).abs() < 1e-9, "{told}"); // 1500 left, and 750 in half a millisecond
    }

    #[test]
    fn a_packet_is_not_let_go_before_its_time() {
        let config = TbfConfig { rate: Bandwidth(12_000_000), burst: Bytes(1_500), limit: QueueLimit::Packets(2) };
        let mut queue = Tbf::new(&config, &QueuePlace { link: "test", seed: 1 });
        for _ in 0..3 {
            queue.enqueue(SimTime::ZERO, Queued { packet: Packet::default(), octets: 1500, since: SimTime::ZERO });
        }
        assert_eq!((queue.len(), queue.counters().drops), (2, 1));
        assert!(queue.dequeue(SimTime::ZERO).is_some());
        assert!(queue.dequeue(SimTime(999_999)).is_none());
        assert!(queue.dequeue(SimTime(1_000_000)).is_some());
    }
}
