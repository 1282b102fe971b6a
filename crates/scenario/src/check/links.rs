//! Checks of links: rates, delays, queues, and queue limits that depend on the flows.

use std::cmp::Reverse;
use std::sync::Arc;

use ackclock_declare::{Context, Crossing, LinkContext};
use ackclock_net::queue::Limit;
use ackclock_net::{LinkConfig, LinkId, NetworkConfig, NodeId, Router};
use ackclock_sim::{ApplianceConfig, FlowConfig};
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use super::channel::{channel, check_policer};
use super::declarations::read_part;
use super::location::Location;
use super::splits::Splits;
use super::traffic::{FlowNumbers, FlowTraits};
use crate::diagnostic::Diagnostics;
use crate::file::{HalfLink, LinkTable, Overlay, Queue};
use crate::tree::FieldPath;

pub(crate) use ackclock_net::{MAX_DELAY, MAX_RATE};

pub(crate) const TOO_LONG: &str = "is longer than any path";

/// Size of the IPv4 and TCP headers without options, octets.
const HEADERS: u64 = 40;

/// Size of the timestamps option in each segment (RFC 7323 appendix A), octets.
const TIMESTAMPS: u64 = 12;

/// The largest segment without payload, octets: 60 of TCP header with options, 20 of IPv4.
const LARGEST_ACK: u64 = 80;

const MAX_FRAMING: Bytes = Bytes(65_535);

/// The parts of a link that are decided when the flows are known.
pub(crate) struct PendingLink {
    /// Path of its description.
    pub(crate) path: FieldPath,
    queue: PendingQueue,
    /// Path of its own `discard` list, and the list.
    pub(crate) discard: Option<(FieldPath, crate::file::List<crate::file::DiscardRule>)>,
}

/// A queue whose limits may depend on the flows that cross its link.
struct PendingQueue {
    queue: Queue,
    default_limit: Limit,
    path: FieldPath,
}

impl PendingQueue {
    fn context(&self, rate: Bandwidth, crossing: Option<Crossing>) -> Context {
        let default_limit = self.default_limit.to_string().into();
        Context { link: Some(LinkContext { rate, default_limit, crossing }), ..Context::default() }
    }
}

/// A cable to lay between two nodes.
pub(crate) struct Cable<'a> {
    pub(crate) name: String,
    pub(crate) reverse_name: String,
    pub(crate) ends: (NodeId, NodeId),
    pub(crate) table: &'a LinkTable,
    pub(crate) at: Location<'a>,
    pub(crate) default_limit: Limit,
    pub(crate) duplex: bool,
}

/// A correct cable: others with the same description are built like it.
pub(crate) struct Laid {
    table: LinkTable,
    path: FieldPath,
    default_limit: Limit,
    duplex: bool,
    first: LinkId,
}

impl Laid {
    fn is_like(&self, cable: &Cable<'_>) -> bool {
        let of_cable = (&cable.at.path, cable.default_limit, cable.duplex);
        (&self.path, self.default_limit, self.duplex) == of_cable && self.table == *cable.table
    }
}

/// The links of a network as they are laid.
#[derive(Default)]
pub(crate) struct Cables {
    /// The pending parts of each link, in the order of the network.
    pub(crate) pending: Vec<Arc<PendingLink>>,
    /// The last cable that was built: the cables of a group's flows are alike.
    last: Option<Laid>,
}

impl Cables {
    /// Builds a cable: a link and, if it is full duplex, its reverse direction.
    pub(crate) fn lay(&mut self, cable: &Cable<'_>, links: &mut Vec<LinkConfig>) {
        if let Some(first) = self.last.as_ref().filter(|laid| laid.is_like(cable)).map(|laid| laid.first) {
            return self.lay_like(first, cable, links);
        }
        let first = LinkId::new(links.len());
        for (link, pending) in directions(cable, first) {
            links.push(link);
            self.pending.push(Arc::new(pending));
        }
        if cable.at.sink.is_empty() {
            let Cable { table, at, default_limit, duplex, .. } = cable;
            let (table, path) = ((*table).clone(), at.path.clone());
            self.last = Some(Laid { table, path, default_limit: *default_limit, duplex: *duplex, first });
        }
    }

    /// Builds a cable like the one whose first link is `first`.
    fn lay_like(&mut self, first: LinkId, cable: &Cable<'_>, links: &mut Vec<LinkConfig>) {
        let (from, to) = cable.ends;
        let link = LinkId::new(links.len());
        let forward = (&cable.name, (from, to), None);
        let back = cable.duplex.then_some((&cable.reverse_name, (to, from), Some(link)));
        for (alike, (name, (from, to), way_back_of)) in (first.index()..).zip([forward].into_iter().chain(back)) {
            let config = links[alike].clone();
            links.push(LinkConfig { name: name.clone(), from, to, way_back_of, ..config });
            self.pending.push(Arc::clone(&self.pending[alike]));
        }
    }
}

/// Each direction of a cable whose first link is `first`.
fn directions(cable: &Cable<'_>, first: LinkId) -> Vec<(LinkConfig, PendingLink)> {
    let (from, to) = cable.ends;
    let forward = half(cable.table);
    let mut built = vec![direction(&cable.name, (from, to), &forward, &cable.at, cable.default_limit)];
    if !cable.duplex {
        return built;
    }
    // What takes packets out or hurts them is meant for the direction that it is written for.
    let base = HalfLink {
        discard: None,
        loss: None,
        jitter: None,
        reorder: None,
        duplicate: None,
        effect: None,
        policer: None,
        aggregate: None,
        ..forward
    };
    let own = cable.table.reverse.clone().unwrap_or_default();
    let at = if cable.table.reverse.is_some() { cable.at.key("reverse") } else { cable.at.clone() };
    let mut back = base.overlaid_by(&own);
    if own.handover.is_some() {
        back.handover = own.handover; // as a whole, not field by field
    }
    let (link, pending) = direction(&cable.reverse_name, (to, from), &back, &at, cable.default_limit);
    built.push((LinkConfig { way_back_of: Some(first), ..link }, pending));
    built
}

fn direction(
    name: &str,
    (from, to): (NodeId, NodeId),
    half: &HalfLink,
    at: &Location<'_>,
    default_limit: Limit,
) -> (LinkConfig, PendingLink) {
    let channel = channel(half, at);
    let rate = channel.rate.nominal();
    let framing = half.framing.map_or(Bytes::ZERO, |framing| framing.0);
    if framing > MAX_FRAMING {
        at.key("framing").report("must be at most 65535 bytes", "an Ethernet frame adds 38");
    }
    if half.device_queue == Some(0) {
        at.key("device_queue").report("must be at least 1 packet", "leave it out for a link without one");
    }
    let place = at.key("queue");
    let queue = PendingQueue { queue: half.queue.clone().unwrap_or_default(), default_limit, path: place.path.clone() };
    let config = read_part(&queue.queue, &queue.context(rate, None), &place);
    let discard = half.discard.clone().map(|rules| (at.path.key("discard"), rules));
    let link = LinkConfig {
        name: name.to_owned(),
        from,
        to,
        rate,
        delay: channel.delay.values().max().unwrap_or_default(),
        framing,
        queue: config,
        device_queue: half.device_queue,
        discarder: None,
        capture: half.capture.unwrap_or(false),
        telemetry: half.telemetry.unwrap_or(false),
        way_back_of: None,
        channel: Some(Box::new(channel)), // which goes if it comes to nothing, once changes are known
    };
    (link, PendingLink { queue, discard, path: at.path.clone() })
}

/// Reads queues once more, now that every flow's path is known, and returns the largest packet that crosses each link,
/// framing included.
///
/// Without `crossings`, after mistakes on which paths or packets depend, only the names of flows in queues are checked.
pub(crate) fn resolve_queues(
    network: &mut NetworkConfig,
    pending: &[Arc<PendingLink>],
    crossings: Option<Vec<Crossed>>,
    flow_numbers: &Arc<FlowNumbers>,
    sink: &Diagnostics<'_>,
) -> Vec<Bytes> {
    let Some(crossings) = crossings else {
        review_flows_of_queues(pending, flow_numbers, sink);
        return Vec::new();
    };
    let mut largest_packets = Vec::with_capacity(pending.len());
    for ((link, pending), crossing) in network.links.iter().zip(pending).zip(&crossings) {
        check_policer(link, Bytes(crossing.largest_packet), &sink.at(&pending.path));
        largest_packets.push(Bytes(crossing.largest_packet + link.framing.0));
    }
    // Links that one table describes differ in their packets and paths: of each table the link that asks for most is told of.
    let mut order: Vec<usize> = (0..pending.len()).collect();
    order.sort_by_key(|&index| Reverse(largest_packets[index]));
    for index in order {
        let (largest_packet, rtt) = (largest_packets[index], crossings[index].base_rtt);
        let crossing = Crossing { rtt, largest_packet, flows: Arc::clone(flow_numbers) };
        let PendingLink { queue, .. } = &*pending[index];
        let context = queue.context(network.links[index].rate, Some(crossing));
        let mistakes = sink.count();
        network.links[index].queue = read_part(&queue.queue, &context, &sink.at(&queue.path));
        if sink.count() > mistakes {
            sink.blame_where_written(&queue.path);
        }
    }
    largest_packets
}

fn review_flows_of_queues(pending: &[Arc<PendingLink>], flow_numbers: &Arc<FlowNumbers>, sink: &Diagnostics<'_>) {
    if sink.may_lack_flows() {
        return; // it may be the name of one
    }
    // Of some path and packets that no limit is too small for.
    let crossing = || Crossing { rtt: Some(MAX_DELAY), largest_packet: Bytes::ZERO, flows: Arc::clone(flow_numbers) };
    for PendingLink { queue, .. } in pending.iter().map(Arc::as_ref) {
        _ = read_part(&queue.queue, &queue.context(MAX_RATE, Some(crossing())), &sink.at(&queue.path));
    }
}

/// The properties of flows that matter to the queue of each link. The round trip is from end to end, over
/// appliances too, so that a limit in bdp does not depend on appliances.
pub(crate) fn crossings(
    network: &NetworkConfig,
    flows: &[FlowConfig],
    traits: &[FlowTraits],
    appliances: &[ApplianceConfig],
    splits: &Splits,
) -> Vec<Crossed> {
    let mut crossings = vec![Crossed::default(); network.links.len()];
    let mut router = Router::new(network);
    for (flow, traits) in flows.iter().zip(traits) {
        let is_answered = flow.reply.is_some() || traits.has_answers;
        let mut crossed = Vec::new();
        for Section { from, to, data } in sections(flow, traits, appliances, splits) {
            let reply = if is_answered { data } else { LARGEST_ACK.min(data) };
            for (from, to, packet) in [(from, to, data), (to, from, reply)] {
                let links = router.shortest_path(from, to).unwrap_or_default();
                crossed.extend(links.into_iter().map(|link| (link, packet)));
            }
        }
        let rtt = SimDuration(crossed.iter().map(|&(link, _)| network.link(link).delay.0).sum());
        for (link, packet) in crossed {
            let crossing = &mut crossings[link.index()];
            crossing.base_rtt = crossing.base_rtt.max(Some(rtt));
            crossing.largest_packet = crossing.largest_packet.max(packet);
        }
    }
    crossings
}

/// The properties of flows whose data or ACKs cross a link: the largest two-way propagation delay, and the largest
/// packet without framing.
#[derive(Clone, Default)]
pub(crate) struct Crossed {
    base_rtt: Option<SimDuration>,
    largest_packet: u64,
}

/// One connection of a flow: from end to end, or between two appliances.
struct Section {
    from: NodeId,
    to: NodeId,
    /// Size of its full packets, octets of IP.
    data: u64,
}

/// The connections of a flow, in order from its opener.
fn sections(flow: &FlowConfig, traits: &FlowTraits, appliances: &[ApplianceConfig], splits: &Splits) -> Vec<Section> {
    let (mut from, mut opener) = (flow.from, &*flow.sender);
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

/// Size of a full segment between two ends, octets of IP.
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
        device_queue: table.device_queue,
        discard: table.discard.clone(),
        capture: table.capture,
        telemetry: table.telemetry,
        keep_order: table.keep_order,
        handover: table.handover.clone(),
        loss: table.loss.clone(),
        jitter: table.jitter.clone(),
        reorder: table.reorder.clone(),
        duplicate: table.duplicate,
        effect: table.effect.clone(),
        policer: table.policer.clone(),
        aggregate: table.aggregate.clone(),
    }
}
