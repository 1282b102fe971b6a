//! Interrupt jitter of hosts: the times at which they notice arriving packets, and at which their own packets are sent.
//!
//! A host does not poll its network card continuously, nor does the card send immediately: interrupts are moderated,
//! cores wake up, other work is done first, and clocks are not in phase. Here a host polls a link once in each span of
//! the switch `host_noise`, at a random moment, and takes all packets that have arrived by then. Its own packets reach
//! the next node at such moments, too. So order is kept, and a packet waits for at most two spans at either end, 7/12
//! of one in the mean. This avoids the phase effects of Floyd and Jacobson ("On Traffic Phase Effects in
//! Packet-Switched Gateways", 1991), by which the same flow finds the queue full for ever.
//!
//! The moments depend only on the seed, the link and the number of the span: there is no sequence of draws, and no
//! state. All packets on a host's link are treated alike, so that none overtakes; where flows of one host differ, the
//! largest noise holds.

use ackclock_net::LinkId;
use ackclock_units::{RandomStream, SimDuration, SimTime, mix, reduce};

/// Interrupt jitter of hosts, by link.
#[derive(Clone, Debug)]
pub(super) struct HostNoise {
    key: u64,
    /// Moments by link; empty where no host has noise.
    looks: Vec<Looks>,
}

/// Moments of processing at one link.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// Span of the moments; zero for hosts without noise.
    span: SimDuration,
    /// The inverse of the span: 2^64 over it, rounded down.
    inverse: u64,
    /// Key that separates its moments from those of other links.
    key: u64,
}

impl HostNoise {
    pub(super) fn new(seed: u64) -> Self {
        Self { key: RandomStream::new(seed, "host noise").bits(), looks: Vec::new() }
    }

    /// Adds the noise of a host at an end of the link.
    pub(super) fn add(&mut self, link: LinkId, noise: SimDuration) {
        if noise == SimDuration::ZERO {
            return;
        }
        for link in self.looks.len()..=link.index() {
            self.looks.push(Looks { span: SimDuration::ZERO, inverse: 0, key: self.key ^ mix(link as u64) });
        }
        let looks = &mut self.looks[link.index()];
        looks.span = noise.max(looks.span);
        looks.inverse = ((1 << 64) / u128::from(looks.span.0)).min(u128::from(u64::MAX)) as u64;
    }

    /// True if packets come out of this link at moments of its noise.
    pub(super) fn is_on(&self, link: LinkId) -> bool {
        self.looks.get(link.index()).is_some_and(|looks| looks.span > SimDuration::ZERO)
    }

    /// Moment at which a packet that comes out of `link` at `arrival` goes on, or is noticed, if it is later.
    #[inline]
    pub(super) fn at(&self, link: LinkId, arrival: SimTime) -> Option<SimTime> {
        let looks = self.looks.get(link.index()).filter(|looks| looks.span > SimDuration::ZERO)?;
        Some(looks.next(arrival))
    }
}

impl Looks {
    /// The first moment that is not before `arrival`. Which of two it is cannot be predicted by a processor: both are
    /// computed.
    #[inline]
    fn next(self, arrival: SimTime) -> SimTime {
        let number = self.number(arrival);
        let [first, second] = [number, number + 1]
            .map(|number| SimTime(number * self.span.0 + reduce(mix(self.key ^ number), self.span.0)));
        std::hint::select_unpredictable(first >= arrival, first, second)
    }

    /// Whole spans before `arrival`. A product takes a fraction of the time of a division, and is at most one too few.
    #[inline]
    fn number(self, arrival: SimTime) -> u64 {
        let number = ((u128::from(arrival.0) * u128::from(self.inverse)) >> 64) as u64;
        number + u64::from(arrival.0 - number * self.span.0 >= self.span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: SimDuration = SimDuration(12_000);
    const LINK: LinkId = LinkId::new(3);

    fn noise(seed: u64) -> HostNoise {
        let mut noise = HostNoise::new(seed);
        noise.add(LINK, SPAN);
        noise
    }

    #[test]
    fn what_arrives_is_noticed_later_and_in_order() {
        let noise = noise(1);
        let arrivals = || (0..100_000).map(|n| n * 97);
        let waits: Vec<u64> = arrivals().map(|at| noise.at(LINK, SimTime(at)).expect("noise").0 - at).collect();
        assert!(waits.iter().all(|wait| *wait < 2 * SPAN.0));
        assert!(arrivals().zip(&waits).map(|(at, wait)| at + wait).is_sorted());
        // Arrival and look are even in their spans: with probability 1/2 the look of the same span is to come, after 1/3 of a
        // span in the mean, otherwise it takes 1/3 to the end of the span and 1/2 of the next: 1/6 + 5/12 = 7/12 of 12 us.
        let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
        assert!((mean - 7_000.0).abs() < 500.0, "{mean}"); // 800 spans: a deviation of the mean of some 150
    }

    #[test]
    fn spans_are_counted_as_by_division() {
        let times = [0, 1, 2, 3, 9_999, 10_000, 10_001, 86_400_000_000_000, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        for span in [1, 2, 3, 7, 10_000, 12_345, 1 << 40, u64::MAX] {
            let mut noise = HostNoise::new(1);
            noise.add(LINK, SimDuration(span));
            for time in times {
                assert_eq!(noise.looks[LINK.index()].number(SimTime(time)), time / span, "{time} / {span}");
            }
        }
    }

    #[test]
    fn moments_differ_by_seed_and_link_and_repeat() {
        let (mut one, other) = (noise(1), noise(2));
        let neighbour = LinkId::new(4);
        one.add(neighbour, SPAN);
        let arrival = SimTime(1_000_000);
        assert_eq!(one.at(LINK, arrival), one.clone().at(LINK, arrival));
        assert_ne!(one.at(LINK, arrival), other.at(LINK, arrival));
        assert_ne!(one.at(LINK, arrival), one.at(neighbour, arrival));
    }

    #[test]
    fn only_links_of_hosts_with_noise_take_time() {
        let mut noise = noise(1);
        noise.add(LinkId::new(2), SimDuration::ZERO);
        noise.add(LINK, SimDuration(5));
        assert!(noise.is_on(LINK));
        for quiet in [1, 2, 4].map(LinkId::new) {
            assert!(!noise.is_on(quiet));
            assert_eq!(noise.at(quiet, SimTime(1_000_001)), None);
        }
        let look = noise.at(LINK, SimTime(1_000_001)).expect("noise");
        assert_eq!(noise.at(LINK, look), Some(look)); // it is taken there and then
    }
}
