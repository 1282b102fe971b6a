//! Packets that travel in bursts, as on links that take turns: Wi-Fi's aggregates, cable's and LTE's grants.
//!
//! A packet waits until its burst leaves: at a deadline, or when enough packets have come; then all travel on at once.
//!
//! Departures: a model of the effect, not of any medium's access rules; what leaves together arrives at one instant.

use ackclock_units::{SimDuration, SimTime};

use crate::config::PacketClass;
use crate::packet::Packet;

/// How packets are gathered into bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateConfig {
    /// When a burst leaves, whatever is in it.
    pub deadline: Deadline,
    /// A burst of so many leaves at once.
    pub packets: Option<u64>,
    /// Which packets are gathered; the others pass them.
    pub class: PacketClass,
}

/// When a burst leaves, whatever is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// At multiples of an interval, counted from the beginning of the run.
    Every(SimDuration),
    /// So long after its first packet came.
    After(SimDuration),
}

impl AggregateConfig {
    /// True if no packet passes another that waits.
    pub(crate) fn holds_all(&self) -> bool {
        self.class == PacketClass::Any
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

/// Gathering at work.
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
            self.release_at = match self.config.deadline {
                Deadline::Every(interval) => SimTime(now.0.next_multiple_of(interval.0)),
                Deadline::After(wait) => now + wait,
            };
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

    /// When the burst leaves; [`SimTime::NEVER`] if there is none.
    pub(super) fn release_at(&self) -> SimTime {
        self.release_at
    }

    /// Takes the burst; an empty list takes its place.
    pub(super) fn take(&mut self, empty: Vec<Held>) -> Vec<Held> {
        self.release_at = SimTime::NEVER;
        std::mem::replace(&mut self.burst, empty)
    }
}
