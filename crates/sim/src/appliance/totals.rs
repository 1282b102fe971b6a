//! Counts of one direction of a flow at an appliance; for a group of short flows, of one direction of all of them.

use std::ops::AddAssign;

use ackclock_tcp::Endpoint;
use ackclock_units::{Bytes, Histogram};

use super::gauge::Gauge;

/// Distributions over the measurement window, and the counts of finished short flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Latency of octets in nanoseconds, weighted by octets.
    pub(crate) latency: Histogram,
    /// Octets arrived and not sent on.
    pub(crate) backlog: Gauge,
    /// Octets arrived and not acknowledged by the other side.
    pub(crate) in_socket: Gauge,
    /// Counts of finished flows.
    pub(crate) ended: RelayedCounts,
}

/// Counts over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RelayedCounts {
    pub(crate) arrived: Bytes,
    pub(crate) acknowledged: Bytes,
    pub(crate) ece_raised: u64,
    pub(crate) sent_segments: u64,
    pub(crate) retransmitted_segments: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
}

impl RelayedCounts {
    /// Counts of octets that `from` received and `to` sends on.
    pub(crate) fn new(from: &Endpoint, to: &Endpoint, ece_raised: u64) -> Self {
        let counters = to.counters();
        Self {
            arrived: from.received(),
            acknowledged: to.acknowledged(),
            ece_raised,
            sent_segments: counters.sent_segments,
            retransmitted_segments: counters.retransmitted_segments,
            timeouts: counters.timeouts,
            fast_recoveries: counters.fast_recoveries,
        }
    }
}

impl AddAssign for RelayedCounts {
    fn add_assign(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.acknowledged += other.acknowledged;
        self.ece_raised += other.ece_raised;
        self.sent_segments += other.sent_segments;
        self.retransmitted_segments += other.retransmitted_segments;
        self.timeouts += other.timeouts;
        self.fast_recoveries += other.fast_recoveries;
    }
}
