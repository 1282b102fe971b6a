//! Packets that travel in bursts, as on links that take turns: Wi-Fi's aggregates, cable's and LTE's grants.
//!
//! A packet waits until its burst leaves: at a deadline, or when enough packets have come; then all travel on at once.
//!
//! Departures: a model of the effect, not of any medium's access rules; packets that leave together arrive at one
//! instant.

use ackclock_declare::{About, Entry, Review, declare, unset};
use ackclock_units::{SimDuration, SimTime};

use crate::config::PacketClass;
use crate::effects::MAX_DELAY;
use crate::packet::Packet;

declare! {
    /// Rule that gathers packets into bursts.
    #[derive(Copy, Eq)]
    pub struct AggregateConfig {
        /// Interval between bursts, counted from the beginning of the run.
        every: Option<SimDuration> = unset("wait").above(SimDuration::ZERO).at_most(MAX_DELAY),
        /// Longest wait of a burst's first packet, in place of `every`.
        wait: Option<SimDuration> = unset("every").at_most(MAX_DELAY),
        /// Number of packets at which a burst leaves immediately.
        packets: Option<u64> = unset("no limit").at_least(2).unit("packets"),
        /// Packets that are gathered; others pass them.
        class as "of": PacketClass = PacketClass::Any,
    }
    check AggregateConfig::review;
}

impl Entry for AggregateConfig {
    const ABOUT: About = About {
        name: "aggregate",
        aliases: &[],
        summary: "packets that travel in bursts, as on Wi-Fi, cable and LTE",
        source: "-",
        departures: "the effect of a shared medium, not its access rules; a burst arrives at one instant",
    };
}

impl AggregateConfig {
    fn review(&self, review: &mut Review<'_>) {
        match (self.every, self.wait) {
            (None, None) => {
                review.report("every", "is missing", "add it, such as every = \"5 ms\", or wait = \"5 ms\"");
            }
            (Some(_), Some(_)) => review.report("wait", "must not be combined with every", "keep one of the two"),
            _ => {}
        }
    }

    /// True if no packet passes another that waits.
    pub(crate) fn holds_all(&self) -> bool {
        self.class == PacketClass::Any
    }

    /// Time at which a burst leaves whose first packet came at `now`, whatever its size.
    fn deadline(&self, now: SimTime) -> SimTime {
        match self.every {
            Some(interval) => SimTime(now.0.next_multiple_of(interval.0)),
            None => now + self.wait.unwrap_or_default(),
        }
    }
}

/// A packet on its way that waits for its burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) packet: Packet,
    pub(super) jitter: SimDuration,
    pub(super) extra: SimDuration,
    pub(super) copied: bool,
    pub(super) place: u64,
}

/// The state of gathering.
#[derive(Clone, Debug)]
pub(super) struct Aggregator {
    config: AggregateConfig,
    burst: Vec<Held>,
    release_at: SimTime,
}

impl Aggregator {
    pub(super) fn new(config: AggregateConfig) -> Self {
        Self { config, burst: Vec::new(), release_at: SimTime::NEVER }
    }

    pub(super) fn gathers(&self, packet: &Packet) -> bool {
        self.config.class.has(packet)
    }

    pub(super) fn gather(&mut self, now: SimTime, packet: Held) {
        if self.burst.is_empty() {
            self.release_at = self.config.deadline(now);
        }
        self.burst.push(packet);
        if self.config.packets.is_some_and(|packets| self.burst.len() as u64 >= packets) {
            self.release_at = now;
        }
    }

    /// Packets in the burst that gathers.
    pub(super) fn len(&self) -> usize {
        self.burst.len()
    }

    /// Time at which the burst leaves; [`SimTime::NEVER`] without a burst.
    pub(super) fn release_at(&self) -> SimTime {
        self.release_at
    }

    /// Takes the burst; an empty list takes its place.
    pub(super) fn take(&mut self, empty: Vec<Held>) -> Vec<Held> {
        self.release_at = SimTime::NEVER;
        std::mem::replace(&mut self.burst, empty)
    }
}
