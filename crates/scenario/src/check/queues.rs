//! Queue disciplines: from what a file says to parameters in range.

use ackclock_net::{DropTailConfig, QueueConfig, QueueLimit, SgpqConfig};
use ackclock_units::{Bandwidth, Bytes};

use super::Checker;
use super::schedulers::fq;
use crate::file::{Limit, Names, Queue, Sgpq};
use crate::tree::FieldPath;

/// Every pure ACK: 60 octets of TCP header with options, 20 of IPv4.
const SMALL: Bytes = Bytes(80);

/// A limit that may depend on the round trips of the flows that cross the link.
#[derive(Clone)]
pub(crate) struct PendingLimit {
    pub(crate) limit: Limit,
    pub(crate) path: FieldPath,
    /// Where it belongs.
    place: Place,
    /// Packets wait in it, so that at least one must fit.
    pub(crate) holds_packets: bool,
}

impl PendingLimit {
    /// Writes the settled limit where it belongs.
    pub(crate) fn settle(&self, limit: QueueLimit, queue: &mut QueueConfig) {
        match (self.place, queue) {
            (Place::Field(field), queue) => *field(queue) = limit,
            (Place::Band(band), QueueConfig::Priority(priority)) => priority.bands[band].limit = limit,
            (Place::Band(_), _) => unreachable!("only a queue with bands has a limit for each"),
        }
    }
}

/// Which of a queue's limits.
#[derive(Clone, Copy)]
enum Place {
    Field(fn(&mut QueueConfig) -> &mut QueueLimit),
    Band(usize),
}

/// Flows that a band of a queue is for, by name.
#[derive(Clone)]
pub(crate) struct PendingFlows {
    pub(crate) band: usize,
    pub(crate) path: FieldPath,
    pub(crate) names: Names,
}

/// What is to be settled of a queue when the flows are known.
#[derive(Clone)]
pub(crate) struct PendingQueue {
    pub(crate) path: FieldPath,
    pub(crate) limits: Vec<PendingLimit>,
    pub(crate) flows: Vec<PendingFlows>,
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

pub(super) use place;

/// Limits of a queue that are to be settled, as they are read.
pub(super) struct Limits<'a> {
    pub(super) path: &'a FieldPath,
    pending: Vec<PendingLimit>,
    flows: Vec<PendingFlows>,
}

impl Limits<'_> {
    /// Notes a limit and returns what stands in its place until it is settled.
    pub(super) fn note(
        &mut self,
        field: &str,
        limit: Limit,
        place: fn(&mut QueueConfig) -> &mut QueueLimit,
    ) -> QueueLimit {
        let path = self.path.key(field);
        self.pending.push(PendingLimit { limit, path, place: Place::Field(place), holds_packets: true });
        QueueLimit::Unlimited
    }

    /// As [`Limits::note`], of a queue length in which nothing needs to fit.
    pub(super) fn note_threshold(
        &mut self,
        field: &str,
        limit: Limit,
        place: fn(&mut QueueConfig) -> &mut QueueLimit,
    ) -> QueueLimit {
        let path = self.path.key(field);
        self.pending.push(PendingLimit { limit, path, place: Place::Field(place), holds_packets: false });
        QueueLimit::Unlimited
    }

    /// As [`Limits::note`], of a band.
    pub(super) fn note_band(&mut self, band: usize, path: &FieldPath, limit: Limit) -> QueueLimit {
        let path = path.clone();
        self.pending.push(PendingLimit { limit, path, place: Place::Band(band), holds_packets: true });
        QueueLimit::Unlimited
    }

    /// Notes the flows that a band is for.
    pub(super) fn note_flows(&mut self, flows: PendingFlows) {
        self.flows.push(flows);
    }
}

impl Checker<'_, '_> {
    /// The discipline that a link asks for, and the limits that wait for the flows to be known.
    pub(crate) fn queue(
        &mut self,
        queue: Option<&Queue>,
        default_limit: Limit,
        rate: Bandwidth,
        path: &FieldPath,
    ) -> (QueueConfig, PendingQueue) {
        let mut limits = Limits { path, pending: Vec::new(), flows: Vec::new() };
        let config = match queue {
            None => drop_tail(default_limit, &mut limits),
            Some(Queue::DropTail(table)) => drop_tail(table.limit.unwrap_or(default_limit), &mut limits),
            Some(Queue::Sgpq(table)) => self.sgpq(table, default_limit, &mut limits),
            Some(Queue::Red(table)) => self.red(table, default_limit, rate, &mut limits),
            Some(Queue::Tbf(table)) => self.tbf(table, default_limit, &mut limits),
            Some(Queue::Priority(table)) => self.priority(table, default_limit, &mut limits),
            Some(Queue::Drr(table)) => self.drr(table, default_limit, &mut limits),
            Some(Queue::Sfq(table)) => self.sfq(table, &mut limits),
            Some(Queue::Fq(table)) => fq(table, default_limit, &mut limits),
            Some(Queue::SharedBuffer(table)) => self.shared_buffer(table, default_limit, &mut limits),
            Some(Queue::Codel(table)) => self.codel(table, &mut limits),
            Some(Queue::FqCodel(table)) => self.fq_codel(table, &mut limits),
            Some(Queue::Pie(table)) => self.pie(table, &mut limits),
            Some(Queue::FqPie(table)) => self.fq_pie(table, &mut limits),
            Some(Queue::Cake(table)) => self.cake(table, path),
            Some(Queue::DualPi2(table)) => self.dualpi2(table, &mut limits),
        };
        (config, PendingQueue { path: path.clone(), limits: limits.pending, flows: limits.flows })
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
