//! Queue disciplines: from what a file says to parameters in range.

use ackclock_net::{DropTailConfig, QueueConfig, QueueLimit, SgpqConfig, ThresholdConfig};
use ackclock_units::Bytes;

use super::Checker;
use crate::file::{Limit, Queue, Sgpq, Threshold};
use crate::tree::FieldPath;

/// Every pure ACK: 60 octets of TCP header with options, 20 of IPv4.
const SMALL: Bytes = Bytes(80);

/// A limit that may depend on the round trips of the flows that cross the link.
#[derive(Clone)]
pub(crate) struct PendingLimit {
    pub(crate) limit: Limit,
    pub(crate) path: FieldPath,
    /// Where it belongs.
    pub(crate) place: fn(&mut QueueConfig) -> &mut QueueLimit,
    /// Packets wait in it, so that at least one must fit.
    pub(crate) holds_packets: bool,
}

/// The place of a limit in a queue's parameters.
macro_rules! place {
    ($variant:ident.$($field:ident).+) => {
        |queue| match queue {
            QueueConfig::$variant(config) => &mut config.$($field).+,
            _ => unreachable!("the limit is of the queue that it was written for"),
        }
    };
}

/// Limits of a queue that are to be settled, as they are read.
struct Limits<'a> {
    path: &'a FieldPath,
    pending: Vec<PendingLimit>,
}

impl Limits<'_> {
    /// Notes a limit and returns what stands in its place until it is settled.
    fn note(&mut self, field: &str, limit: Limit, place: fn(&mut QueueConfig) -> &mut QueueLimit) -> QueueLimit {
        let path = self.path.key(field);
        self.pending.push(PendingLimit { limit, path, place, holds_packets: true });
        QueueLimit::Unlimited
    }
}

impl Checker<'_, '_> {
    /// The discipline that a link asks for, and the limits that wait for the flows to be known.
    pub(crate) fn queue(
        &mut self,
        queue: Option<&Queue>,
        default_limit: Limit,
        path: &FieldPath,
    ) -> (QueueConfig, Vec<PendingLimit>) {
        let mut limits = Limits { path, pending: Vec::new() };
        let config = match queue {
            None => drop_tail(default_limit, &mut limits),
            Some(Queue::DropTail(table)) => drop_tail(table.limit.unwrap_or(default_limit), &mut limits),
            Some(Queue::Sgpq(table)) => self.sgpq(table, default_limit, &mut limits),
            Some(Queue::Threshold(table)) => self.threshold(table, default_limit, &mut limits),
        };
        (config, limits.pending)
    }

    fn threshold(&mut self, table: &Threshold, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
        if table.threshold.is_none() {
            self.missing(&limits.path.key("threshold"), "threshold = \"20 packets\"");
        }
        let threshold = limits.note("threshold", table.threshold.unwrap_or(default_limit), place!(Threshold.threshold));
        if let Some(pending) = limits.pending.last_mut() {
            pending.holds_packets = false; // marking all is an answer
        }
        let limit = limits.note("limit", table.limit.unwrap_or(default_limit), place!(Threshold.limit));
        QueueConfig::Threshold(ThresholdConfig { threshold, limit })
    }

    fn sgpq(&mut self, table: &Sgpq, default_limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
        let threshold = table.threshold.map_or(SMALL, |size| size.0);
        if threshold == Bytes::ZERO {
            let remedy = "use the size of a pure ACK, such as \"80 bytes\"";
            self.report(&limits.path.key("threshold"), "is smaller than any packet", remedy);
        }
        let small_limit = table.small_limit.unwrap_or(Limit::Unlimited);
        let limit = table.limit.unwrap_or(default_limit);
        QueueConfig::Sgpq(SgpqConfig {
            threshold,
            small_limit: limits.note("small_limit", small_limit, place!(Sgpq.small_limit)),
            limit: limits.note("limit", limit, place!(Sgpq.limit)),
        })
    }
}

fn drop_tail(limit: Limit, limits: &mut Limits<'_>) -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig { limit: limits.note("limit", limit, place!(DropTail.limit)) })
}
