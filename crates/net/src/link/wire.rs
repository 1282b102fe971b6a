//! What does not change about a link.

use ackclock_units::{Bandwidth, SimDuration};

use crate::clock::Pace;
use crate::config::{LinkConfig, QueueConfig, QueueLimit};

/// See the module. Alike links share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) pace: Pace,
    pub(super) delay: SimDuration,
    /// Octets that the link layer adds to each packet.
    pub(super) framing: u64,
    /// It is served packet by packet.
    pub(super) is_served: bool,
    /// For what waits for a clocked link.
    pub(super) bounds: Bounds,
    pub(super) rate: Bandwidth,
}

/// How much may wait: three limits, all of which hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Fewer packets than these wait.
    pub(super) packets: u64,
    /// No more octets wait.
    pub(super) octets: u64,
    /// Nothing waits longer.
    pub(super) wait: SimDuration,
}

impl From<QueueLimit> for Bounds {
    fn from(limit: QueueLimit) -> Self {
        let all = Self { packets: u64::MAX, octets: u64::MAX, wait: SimDuration(u64::MAX) };
        match limit {
            QueueLimit::Unlimited => all,
            QueueLimit::Packets(packets) => Self { packets, ..all },
            QueueLimit::Bytes(octets) => Self { octets: octets.0, ..all },
            QueueLimit::Time(wait) => Self { wait, ..all },
        }
    }
}

impl Wire {
    pub(super) fn new(config: &LinkConfig) -> Self {
        Self {
            pace: Pace::of(config.rate),
            delay: config.delay,
            framing: config.framing.0,
            is_served: config.is_served(),
            bounds: match &config.queue {
                QueueConfig::DropTail(queue) => queue.limit.into(),
                _ => QueueLimit::Unlimited.into(), // a served link asks its discipline
            },
            rate: config.rate,
        }
    }
}
