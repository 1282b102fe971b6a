//! Links: rates, delays, queues; queue limits that depend on the flows that cross them.

use ackclock_net::{LinkConfig, NodeId, QueueLimit, Router};
use ackclock_sim::{ApplianceConfig, FlowConfig};
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::Checker;
use super::queues::{PendingLimit, PendingQueue};
use super::splits::Splits;
use super::topology::BuiltTopology;
use super::traffic::FlowTraits;
use crate::file::{HalfLink, Limit, LinkTable, Overlay};
use crate::tree::FieldPath;

/// A day: light goes beyond the planets in it. Sums over any route stay within 64 bits of nanoseconds.
pub(crate) const MAX_DELAY: SimDuration = SimDuration::from_secs(24 * 3600);
pub(crate) const TOO_LONG: &str = "is longer than any path";

/// Octets of the IPv4 and TCP headers without options.
const HEADERS: u64 = 40;

/// Octets that timestamps take of each segment (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

/// The largest segment without payload: 60 octets of TCP header with options, 20 of IPv4.
const LARGEST_ACK: u64 = 80;

pub(super) const MAX_RATE: Bandwidth = Bandwidth(100_000_000_000_000);
const MAX_FRAMING: Bytes = Bytes(65_535);
const MILLIONTHS: u128 = 1_000_000;

/// What remains to be settled of a link when the flows are known.
#[derive(Clone)]
pub(crate) struct PendingLink {
    /// Where it is described.
    pub(crate) path: FieldPath,
    pub(crate) queue: PendingQueue,
    /// Where its own `discard` list stands, and the list.
    pub(crate) discard: Option<(FieldPath, crate::file::List<crate::file::DiscardRule>)>,
}

/// A cable to lay between two nodes.
pub(crate) struct Cable<'a> {
    pub(crate) name: String,
    pub(crate) reverse_name: String,
    pub(crate) ends: (NodeId, NodeId),
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
        // What looks at packets or hurts them is meant for the direction that it is written for.
        let base = HalfLink {
            discard: None,
            capture: None,
            loss: None,
            jitter: None,
            reorder: None,
            duplicate: None,
            policer: None,
            aggregate: None,
            ..forward
        };
        let own = cable.table.reverse.clone().unwrap_or_default();
        let is_own = cable.table.reverse.is_some();
        let path = if is_own { cable.path.key("reverse") } else { cable.path.clone() };
        self.add_link(&cable.reverse_name, (to, from), &base.overlaid_by(&own), &path, cable.default_limit, pending);
    }

    fn add_link(
        &mut self,
        name: &str,
        (from, to): (NodeId, NodeId),
        half: &HalfLink,
        path: &FieldPath,
        default_limit: Limit,
        pending: &mut Vec<PendingLink>,
    ) {
        let channel = self.channel(half, path);
        let rate = channel.rate.nominal();
        let framing = half.framing.map_or(Bytes::ZERO, |framing| framing.0);
        if framing > MAX_FRAMING {
            self.report(&path.key("framing"), "is more than any link layer adds", "use at most 65535 bytes");
        }
        let (queue, settled_later) = self.queue(half.queue.as_ref(), default_limit, rate, &path.key("queue"));
        let discard = half.discard.clone().map(|rules| (path.key("discard"), rules));
        pending.push(PendingLink { queue: settled_later, discard, path: path.clone() });
        self.network.links.push(LinkConfig {
            name: name.to_owned(),
            from,
            to,
            rate,
            delay: channel.delay.values().max().unwrap_or_default(),
            framing,
            queue,
            discarder: None,
            capture: half.capture.unwrap_or(false),
            channel: (!channel.is_plain()).then(|| Box::new(channel)),
        });
    }

    /// Turns limits into packets, bytes or time, now that every flow's path is known.
    pub(crate) fn resolve_queues(
        &mut self,
        topology: &BuiltTopology,
        flows: &[FlowConfig],
        appliances: &[ApplianceConfig],
        splits: &Splits,
    ) {
        if !self.diagnostics.is_empty() {
            return; // paths mean little in a network with mistakes
        }
        let crossings = self.crossings(flows, appliances, splits);
        for (index, pending) in topology.links.iter().enumerate() {
            let largest = Bytes(crossings[index].largest_packet + self.network.links[index].framing.0);
            self.check_policer(index, Bytes(crossings[index].largest_packet), &pending.path);
            for pending in &pending.queue.limits {
                if let Some(limit) = self.resolve(pending, index, crossings[index].base_rtt) {
                    if pending.holds_packets {
                        self.check_limit(limit, largest, pending);
                    }
                    pending.settle(limit, &mut self.network.links[index].queue);
                }
            }
            self.settle_bands(index, &pending.queue.flows, flows);
            self.check_settled(index, largest, &pending.queue.path);
        }
    }

    /// A limit in packets, bytes or time; `None` where the link has no round trip.
    fn resolve(&mut self, pending: &PendingLimit, link: usize, rtt: Option<SimDuration>) -> Option<QueueLimit> {
        Some(match pending.limit {
            Limit::Unlimited => QueueLimit::Unlimited,
            Limit::Packets(count) => QueueLimit::Packets(count),
            Limit::Bytes(bytes) => QueueLimit::Bytes(bytes),
            Limit::Time(time) => QueueLimit::Time(time),
            Limit::Bdp(millionths) => {
                let Some(rtt) = rtt else {
                    let remedy = "give the limit in packets, bytes or time, or send a flow over the link";
                    self.report(&pending.path, "no flow crosses the link, so it has no round trip", remedy);
                    return None;
                };
                let bdp = u128::from(self.network.links[link].rate.bytes_in(rtt).0);
                QueueLimit::Bytes(Bytes((bdp * u128::from(millionths) / MILLIONTHS) as u64))
            }
        })
    }

    fn check_limit(&mut self, limit: QueueLimit, largest: Bytes, pending: &PendingLimit) {
        let what = match limit {
            QueueLimit::Packets(0) | QueueLimit::Time(SimDuration::ZERO) => {
                "is a queue in which nothing could wait".into()
            }
            QueueLimit::Bytes(bytes) if bytes < largest => {
                format!("is {bytes}, less than one packet of {largest}, so none could ever wait")
            }
            _ => return,
        };
        self.report(&pending.path, what, "use at least \"1 packet\"");
    }

    /// What of the flows matters to the queue of each link. The round trip is that from end to end, over appliances too,
    /// so that a limit in bdp does not depend on them.
    fn crossings(&self, flows: &[FlowConfig], appliances: &[ApplianceConfig], splits: &Splits) -> Vec<Crossing> {
        let mut crossings = vec![Crossing::default(); self.network.links.len()];
        let mut router = Router::new(&self.network);
        for (flow, traits) in flows.iter().zip(&self.flow_traits) {
            let is_answered = flow.reply.is_some() || traits.has_answers;
            let mut crossed = Vec::new();
            for Section { from, to, data } in sections(flow, traits, appliances, splits) {
                let reply = if is_answered { data } else { LARGEST_ACK.min(data) };
                for (from, to, packet) in [(from, to, data), (to, from, reply)] {
                    let links = router.shortest_path(from, to).unwrap_or_default();
                    crossed.extend(links.into_iter().map(|link| (link, packet)));
                }
            }
            let rtt = SimDuration(crossed.iter().map(|&(link, _)| self.network.link(link).delay.0).sum());
            for (link, packet) in crossed {
                let crossing = &mut crossings[link.index()];
                crossing.base_rtt = crossing.base_rtt.max(Some(rtt));
                crossing.largest_packet = crossing.largest_packet.max(packet);
            }
        }
        crossings
    }
}

/// Of the flows whose data or ACKs cross a link: the largest two-way propagation delay, and the largest packet without
/// framing.
#[derive(Clone, Default)]
struct Crossing {
    base_rtt: Option<SimDuration>,
    largest_packet: u64,
}

/// A connection of a flow: from end to end, or between two appliances.
struct Section {
    from: NodeId,
    to: NodeId,
    /// Octets of IP of its full packets.
    data: u64,
}

/// The connections that a flow is made of, from its opener on.
fn sections(flow: &FlowConfig, traits: &FlowTraits, appliances: &[ApplianceConfig], splits: &Splits) -> Vec<Section> {
    let (mut from, mut opener) = (flow.from, &flow.sender);
    let mut sections = Vec::new();
    let (number, splits) = match traits.group {
        Some(group) => (group, &splits.groups),
        None => (traits.number.unwrap_or(usize::MAX), &splits.connections),
    };
    let own = &splits[splits.partition_point(|split| split.flow < number)..];
    for split in own.iter().take_while(|split| split.flow == number) {
        let to = appliances[split.appliance].node;
        sections.push(Section { from, to, data: data_packet(opener, &split.near.tcp) });
        (from, opener) = (to, &split.far.tcp);
    }
    let data = traits.datagram.unwrap_or_else(|| data_packet(opener, &flow.receiver));
    sections.push(Section { from, to: flow.to, data });
    sections
}

/// A full-sized segment between two ends, in octets of IP.
fn data_packet(one: &TcpConfig, other: &TcpConfig) -> u64 {
    let options = if one.timestamps && other.timestamps { TIMESTAMPS } else { 0 };
    u64::from(one.mss.min(other.mss)) + options + HEADERS
}

fn half(table: &LinkTable) -> HalfLink {
    HalfLink {
        rate: table.rate.clone(),
        delay: table.delay.clone(),
        framing: table.framing,
        queue: table.queue.clone(),
        discard: table.discard.clone(),
        capture: table.capture,
        keep_order: table.keep_order,
        handover: table.handover.clone(),
        loss: table.loss.clone(),
        jitter: table.jitter.clone(),
        reorder: table.reorder.clone(),
        duplicate: table.duplicate,
        policer: table.policer.clone(),
        aggregate: table.aggregate.clone(),
    }
}
