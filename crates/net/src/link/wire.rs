//! Constant properties of a link.

use ackclock_units::{Bandwidth, SimDuration};

use crate::clock::Pace;
use crate::config::{LinkConfig, QueueConfig, QueueLimit};
use crate::queue::Room;

/// The constant properties of a link. Alike links share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) pace: Pace,
    pub(super) delay: SimDuration,
    /// Octets that the link layer adds to each packet.
    pub(super) framing: u64,
    /// True if the link is served packet by packet.
    pub(super) is_served: bool,
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
            is_served: config.is_served(),
            room,
            rate: config.rate,
        }
    }
}
