//! How much may wait.

use ackclock_units::{Bandwidth, Bytes};

use crate::config::QueueLimit;

/// A limit, and the rate that makes a limit in time one in octets.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    limit: QueueLimit,
    rate: Bandwidth,
}

impl Room {
    /// Room of this much on a link of this rate.
    pub fn new(limit: QueueLimit, rate: Bandwidth) -> Self {
        Self { limit, rate }
    }

    /// True if one more packet of `arriving` octets may wait beside those that do.
    ///
    /// A limit in time is one of what stands before the packet, the one in service aside: what waits takes so long to
    /// send at the link's rate.
    pub fn takes(&self, packets: usize, octets: u64, arriving: u64) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (packets as u64) < limit,
            QueueLimit::Bytes(limit) => octets + arriving <= limit.0,
            QueueLimit::Time(limit) => self.rate.serialization_delay(Bytes(octets)) <= limit,
        }
    }
    /// True if what waits may go on waiting, a packet of `newest` octets among it being the last that came.
    pub fn holds(&self, packets: usize, octets: u64, newest: u64) -> bool {
        packets == 0 || self.takes(packets - 1, octets.saturating_sub(newest), newest)
    }
}
