//! Links: rates, delays, queues; queue limits that depend on the flows that cross them.

use ackclock_net::{DropTailConfig, LinkConfig, QueueConfig, QueueLimit, Router};
use ackclock_sim::FlowConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::topology::BuiltTopology;
use crate::file::{DropTail, HalfLink, Limit, LinkTable, Overlay, Queue};
use crate::tree::FieldPath;

const MAX_RATE: Bandwidth = Bandwidth(100_000_000_000_000);
const MAX_FRAMING: Bytes = Bytes(65_535);
const MILLIONTHS: u128 = 1_000_000;

/// What remains to be settled of a link when the flows are known.
#[derive(Clone)]
pub(crate) struct PendingLink {
    pub(crate) limit: Limit,
    pub(crate) path: FieldPath,
    /// Where its own `discard` list stands, and the list.
    pub(crate) discard: Option<(FieldPath, crate::file::List<crate::file::DiscardRule>)>,
}

/// A cable to lay between two nodes.
pub(crate) struct Cable<'a> {
    pub(crate) name: String,
    pub(crate) reverse_name: String,
    pub(crate) ends: (usize, usize),
    pub(crate) table: &'a LinkTable,
    pub(crate) path: FieldPath,
    pub(crate) default_limit: Limit,
    pub(crate) duplex: bool,
}

impl Checker<'_, '_> {
    /// Lays a cable: a link and, if it is full duplex, its way back.
    pub(crate) fn lay(&mut self, cable: &Cable<'_>, pending: &mut Vec<PendingLink>) {
        let (from, to) = cable.ends;
        let forward = half(cable.table);
        self.add_link(&cable.name, (from, to), &forward, &cable.path, cable.default_limit, pending);
        if !cable.duplex {
            return;
        }
        // Discarding and capturing are meant for the direction that they are written for.
        let base = HalfLink { discard: None, capture: None, ..forward };
        let own = cable.table.reverse.clone().unwrap_or_default();
        let is_own = cable.table.reverse.is_some();
        let path = if is_own { cable.path.key("reverse") } else { cable.path.clone() };
        self.add_link(&cable.reverse_name, (to, from), &base.overlaid_by(&own), &path, cable.default_limit, pending);
    }

    fn add_link(
        &mut self,
        name: &str,
        (from, to): (usize, usize),
        half: &HalfLink,
        path: &FieldPath,
        default_limit: Limit,
        pending: &mut Vec<PendingLink>,
    ) {
        let rate = self.rate(half, path);
        let delay = if let Some(delay) = half.delay {
            delay.0
        } else {
            self.missing(&path.key("delay"), "delay = \"15 ms\"");
            SimDuration::ZERO
        };
        let framing = half.framing.map_or(Bytes::ZERO, |framing| framing.0);
        if framing > MAX_FRAMING {
            self.report(&path.key("framing"), "is more than any link layer adds", "use at most 65535 bytes");
        }
        let limit = match &half.queue {
            None => default_limit,
            Some(Queue::DropTail(DropTail { limit })) => limit.unwrap_or(default_limit),
        };
        let discard = half.discard.clone().map(|rules| (path.key("discard"), rules));
        pending.push(PendingLink { limit, path: path.key("queue.limit"), discard });
        self.network.links.push(LinkConfig {
            name: name.to_owned(),
            from,
            to,
            rate,
            delay,
            framing,
            queue: QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Unlimited }),
            discarder: None,
            capture: half.capture.unwrap_or(false),
        });
    }

    fn rate(&mut self, half: &HalfLink, path: &FieldPath) -> Bandwidth {
        let path = path.key("rate");
        match half.rate.map(|rate| rate.0) {
            None => self.missing(&path, "rate = \"100 Mbit/s\""),
            Some(Bandwidth(0)) => self.report(&path, "is a link on which nothing moves", "use at least 1 bit/s"),
            Some(rate) if rate > MAX_RATE => self.report(&path, "is faster than any link", "use at most 100 Tbit/s"),
            Some(rate) => return rate,
        }
        Bandwidth(1_000_000)
    }

    /// Turns limits into packets, bytes or time, now that every flow's path is known.
    pub(crate) fn resolve_queues(&mut self, topology: &BuiltTopology, flows: &[FlowConfig]) {
        if !self.diagnostics.is_empty() {
            return; // paths mean little in a network with mistakes
        }
        let base_rtt = self.largest_rtt_by_link(flows);
        for (index, pending) in topology.links.iter().enumerate() {
            let limit = match pending.limit {
                Limit::Unlimited => QueueLimit::Unlimited,
                Limit::Packets(count) => QueueLimit::Packets(count),
                Limit::Bytes(bytes) => QueueLimit::Bytes(bytes),
                Limit::Time(time) => QueueLimit::Time(time),
                Limit::Bdp(millionths) => {
                    let Some(rtt) = base_rtt[index] else {
                        let remedy = "give the limit in packets, bytes or time, or send a flow over the link";
                        self.report(&pending.path, "no flow crosses the link, so it has no round trip", remedy);
                        continue;
                    };
                    let bdp = u128::from(self.network.links[index].rate.bytes_in(rtt).0);
                    QueueLimit::Bytes(Bytes((bdp * u128::from(millionths) / MILLIONTHS) as u64))
                }
            };
            self.check_limit(limit, pending);
            self.network.links[index].queue = QueueConfig::DropTail(DropTailConfig { limit });
        }
    }

    fn check_limit(&mut self, limit: QueueLimit, pending: &PendingLink) {
        let holds_nothing = match limit {
            QueueLimit::Unlimited => false,
            QueueLimit::Packets(count) => count == 0,
            QueueLimit::Bytes(bytes) => bytes == Bytes::ZERO,
            QueueLimit::Time(time) => time.is_zero(),
        };
        if holds_nothing {
            let what = "no packet could ever wait; two that arrive together would lose one";
            self.report(&pending.path, what, "use at least \"1 packet\"");
        }
    }

    /// The largest two-way propagation delay of the flows whose data or ACKs cross each link.
    fn largest_rtt_by_link(&self, flows: &[FlowConfig]) -> Vec<Option<SimDuration>> {
        let mut largest: Vec<Option<SimDuration>> = vec![None; self.network.links.len()];
        let mut router = Router::new(&self.network);
        for flow in flows {
            let forward = router.shortest_path(flow.from, flow.to).unwrap_or_default();
            let back = router.shortest_path(flow.to, flow.from).unwrap_or_default();
            let links: Vec<usize> = forward.into_iter().chain(back).collect();
            let total: u64 = links.iter().map(|&link| self.network.links[link].delay.0).sum();
            for link in links {
                largest[link] = largest[link].max(Some(SimDuration(total)));
            }
        }
        largest
    }
}

fn half(table: &LinkTable) -> HalfLink {
    HalfLink {
        rate: table.rate,
        delay: table.delay,
        framing: table.framing,
        queue: table.queue.clone(),
        discard: table.discard.clone(),
        capture: table.capture,
    }
}
