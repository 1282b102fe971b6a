//! Constant properties of a link.

use ackclock_units::{Bandwidth, SimDuration};

use crate::clock::Pace;
use crate::config::{LinkConfig, QueueConfig, QueueLimit};
use crate::queue::Room;

/// Source of the times of a link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By the clock of a fixed rate.
    Clocked,
    /// By a rate that changes as is known before the run.
    Planned,
    /// Packet by packet.
    Served,
}

impl Kind {
    fn of(config: &LinkConfig) -> Self {
        match (config.is_served(), config.is_planned()) {
            (false, _) => Self::Clocked,
            (true, true) => Self::Planned,
            (true, false) => Self::Served,
        }
    }
}

/// The constant properties of a link. Alike links share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) pace: Pace,
    pub(super) delay: SimDuration,
    /// Octets that the link layer adds to each packet.
    pub(super) framing: u64,
    pub(super) kind: Kind,
    /// The room for packets that wait for a clocked link.
    pub(super) room: Room,
    pub(super) rate: Bandwidth,
}

impl Wire {
    pub(super) fn new(config: &LinkConfig) -> Self {
        let mut room = Room::new(match &config.queue {
            QueueConfig::DropTail(queue) => queue.limit,
            _ => QueueLimit::Unlimited, // a served link asks its discipline
        });
        room.set_rate(config.rate);
        Self {
            pace: Pace::of(config.rate),
            delay: config.delay,
            framing: config.framing.0,
            kind: Kind::of(config),
            room,
            rate: config.rate,
        }
    }
}
