//! A policer: a token bucket that drops packets above its rate, without a queue.
//!
//! Source: RFC 2697 section 3, with one bucket and colour-blind: a packet conforms if the bucket holds its octets.
//!
//! Departures: tokens come continuously, not one at a time.

use ackclock_declare::{About, Entry, declare, required};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::effects::MAX_RATE;

/// Nanoseconds in a second times bits in an octet: one octet's tokens, in bit/s times nanoseconds.
const TOKENS_OF_OCTET: u128 = 8_000_000_000;

declare! {
    /// A token bucket that drops packets in excess, without a queue.
    #[derive(Copy, Eq)]
    pub struct PolicerConfig {
        /// Rate that passes in the long run, in octets of IP.
        rate: Bandwidth = required(Bandwidth(10_000_000)).at_least(Bandwidth(1)).at_most(MAX_RATE),
        /// Octets that may pass at once: the size of the bucket, which is full at first; at least the largest packet.
        burst: Bytes = required(Bytes(100_000)),
    }
}

impl Entry for PolicerConfig {
    const ABOUT: About = About {
        name: "policer",
        aliases: &[],
        summary: "a token bucket that drops packets in excess, without a queue",
        source: "RFC 2697 section 3, with one bucket and without colours",
        departures: "tokens come continuously",
    };
}

/// A policer at work.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: u128,
    /// Tokens that the bucket can hold, and those that it holds as of `updated`: in bit/s times nanoseconds, without
    /// rounding.
    capacity: u128,
    tokens: u128,
    updated: SimTime,
}

impl Policer {
    /// A policer with a full bucket.
    pub fn new(config: PolicerConfig) -> Self {
        let capacity = u128::from(config.burst.0) * TOKENS_OF_OCTET;
        Self { rate: u128::from(config.rate.0), capacity, tokens: capacity, updated: SimTime::ZERO }
    }

    /// True if a packet of `octets` octets conforms: it takes its tokens. Otherwise it must be dropped.
    pub fn admits(&mut self, now: SimTime, octets: u64) -> bool {
        let fresh = self.rate * u128::from((now - self.updated).0);
        self.tokens = (self.tokens + fresh).min(self.capacity);
        self.updated = now;
        let rest = self.tokens.checked_sub(u128::from(octets) * TOKENS_OF_OCTET);
        self.tokens = rest.unwrap_or(self.tokens);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policer() -> Policer {
        Policer::new(PolicerConfig { rate: Bandwidth(12_000_000), burst: Bytes(15_000) })
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut policer = policer();
        // the bucket holds ten packets of 1500; the next has its tokens 1 ms later: 12 000 bit at 12 Mbit/s
        assert_eq!((0..20).filter(|_| policer.admits(SimTime(0), 1500)).count(), 10);
        assert!(!policer.admits(SimTime(999_999), 1500));
        assert!(policer.admits(SimTime(1_000_000), 1500));
        assert!(!policer.admits(SimTime(1_000_000), 1));
        // after a pause of any length no more than the burst
        assert_eq!((0..20).filter(|_| policer.admits(SimTime(1_000_000_000_000), 1500)).count(), 10);
    }

    #[test]
    fn the_long_run_rate_is_the_one_asked_for() {
        // offered 24 Mbit/s, a packet each 0.5 ms, for 10 s: 10 000 packets at 12 Mbit/s and the burst
        let mut policer = policer();
        let passed = (0..20_000).filter(|index| policer.admits(SimTime(index * 500_000), 1500)).count();
        // at 9999.5 ms the last arrives: 9 999 packets' tokens have come, besides the ten of the burst
        assert_eq!(passed, 9_999 + 10);
    }

    #[test]
    fn a_small_packet_may_pass_where_a_large_one_does_not() {
        let mut policer = policer();
        assert!((0..9).all(|_| policer.admits(SimTime(0), 1600))); // 14 400 of 15 000
        assert!(!policer.admits(SimTime(0), 1500));
        assert!(policer.admits(SimTime(0), 600));
    }
}
