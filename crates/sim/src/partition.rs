//! Partition of a run: the nodes of each part, the connections that begin and end at them, and the links that leave
//! them.
//!
//! The least time of packets from one part to another, the lookahead, is how far a part may run ahead of the others. So
//! parts are cut where delays are long, and where they are shorter only if the work would otherwise be very uneven.

mod borders;
mod synchronizer;
mod ties;

use std::collections::{BTreeMap, BTreeSet};

use ackclock_net::{ConnectionIndex, EndpointId, LinkId, NodeId};
use ackclock_units::SimDuration;

use crate::config::SimulationConfig;
use crate::ids::{FlowId, RelayId};
use crate::network::Network;

use ties::Groups;

pub(crate) use borders::{Borders, Crossing};
pub(crate) use synchronizer::Synchronizer;
pub(crate) use ties::Tie;

/// The work of a flow, in fifties of instructions a data packet, as counted on a hundred flows over one bottleneck. It
/// is counted at its sending and its receiving end, and where its packets or their ACKs enter or leave a stage.
const SENDER: u64 = 61;
const RECEIVER: u64 = 16;
const PASSING: u64 = 3;

/// The tolerance in hundredths: cuts whose longest part is at most this much longer than that of the most even cut are
/// as good.
const TOLERANCE: u64 = 105;

/// Largest number of parts, more than any machine has cores.
const MOST: usize = 1 << 12;

/// Largest number of lookaheads that are tried.
const TRIES: usize = 16;

/// Bits of a full packet for each event: it takes about four, and shares half with the ACKs that come back along as
/// fast a link.
const BITS_PER_EVENT: f64 = 6_000.0;

/// Least number of events in a lookahead. A part waits for others once in each; with fewer events it would mostly wait.
const ENOUGH: f64 = 10.0;

/// The way of packets from one event to the next: over a link, and over those behind it without waiting.
#[derive(Clone, Debug)]
struct Stage {
    links: Vec<LinkId>,
    from: NodeId,
    to: NodeId,
    delay: SimDuration,
    /// Number of routes through it.
    routes: u64,
}

/// Assignment of ends and links to parts.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    parts: usize,
    /// Part of each end of the connections that exist from the beginning.
    part_of_end: Vec<usize>,
    /// Parts where packets enter each link, and where they come out.
    part_before: Vec<u16>,
    part_behind: Vec<u16>,
    /// Lookahead from each part to each, where packets go from one to the other.
    lookahead: Vec<Vec<Option<SimDuration>>>,
    ties: Vec<Tie>,
    /// Share of the part with most work.
    largest_share: f64,
}

impl Partition {
    /// Partition into at most `most` parts; fewer if the network does not allow them.
    pub(crate) fn new(config: &SimulationConfig, network: &Network, most: usize) -> Self {
        if most == 1 {
            return Self::of_cut(config, &[], Cut::none(config), Vec::new());
        }
        let most = most.min(MOST);
        let stages = stages(config, network);
        let work = work(config, &stages);
        let mut groups = Groups::new(config.network.nodes.len());
        let pinned = groups.join_tied(config);
        for stage in stages.iter().filter(|stage| stage.delay.is_zero()) {
            groups.tie(Tie::NoDelay, [stage.from, stage.to]);
        }
        let events_per_second = events_per_second(config, network);
        let cut = best_cut(&Cutting { stages: &stages, work: &work, most, pinned, events_per_second }, &mut groups);
        Self::of_cut(config, &stages, cut, groups.ties().collect())
    }

    fn of_cut(config: &SimulationConfig, stages: &[Stage], cut: Cut, ties: Vec<Tie>) -> Self {
        let Cut { part_of_node, loads } = cut;
        let part = |node: NodeId| part_of_node[node.index()];
        let links = &config.network.links;
        let short = |part: usize| u16::try_from(part).expect("there are fewer parts than 2^16");
        let mut part_before: Vec<u16> = links.iter().map(|link| short(part(link.from))).collect();
        let part_behind = links.iter().map(|link| short(part(link.to))).collect();
        let mut lookahead = vec![vec![None; loads.len()]; loads.len()];
        for stage in stages {
            let (from, to) = (part(stage.from), part(stage.to));
            stage.links.iter().for_each(|link| part_before[link.index()] = short(from));
            if from != to {
                let known: &mut Option<SimDuration> = &mut lookahead[from][to];
                *known = Some(known.map_or(stage.delay, |known| known.min(stage.delay)));
            }
        }
        let (all, largest) = (loads.iter().sum::<u64>(), loads.iter().copied().max().unwrap_or(0));
        Self {
            parts: loads.len(),
            part_of_end: ends(config).map(part).collect(),
            part_before,
            part_behind,
            lookahead,
            ties,
            largest_share: if all > 0 { largest as f64 / all as f64 } else { 1.0 },
        }
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Number of links of the network.
    pub(crate) fn links(&self) -> usize {
        self.part_before.len()
    }

    /// Part in which packets enter a link.
    pub(crate) fn part_before(&self, link: LinkId) -> usize {
        usize::from(self.part_before[link.index()])
    }

    /// Part in which packets come out of a link.
    #[inline]
    pub(crate) fn part_behind(&self, link: LinkId) -> usize {
        usize::from(self.part_behind[link.index()])
    }

    /// Part of an end of a connection; ends that come later are in the first part.
    pub(crate) fn part_of(&self, end: EndpointId) -> usize {
        self.part_of_end.get(end.index()).copied().unwrap_or(0)
    }

    /// The least time that packets take from a part to another, if there are any.
    pub(crate) fn lookahead(&self, from: usize, to: usize) -> Option<SimDuration> {
        self.lookahead[from][to]
    }

    /// The least lookahead of all.
    pub(crate) fn least_lookahead(&self) -> Option<SimDuration> {
        self.lookahead.iter().flatten().flatten().copied().min()
    }

    pub(crate) fn ties(&self) -> &[Tie] {
        &self.ties
    }

    pub(crate) fn largest_share(&self) -> f64 {
        self.largest_share
    }
}

/// The nodes of both ends of each connection that exists from the beginning.
fn ends(config: &SimulationConfig) -> impl Iterator<Item = NodeId> {
    let connections = (0..config.connections()).map(ConnectionIndex::new);
    connections.flat_map(|connection| {
        let appliance = |relay: RelayId| config.appliances[config.splits[relay.index()].appliance].node;
        let flow = &config.flows[config.flow_of(connection).index()];
        let from = config.relay_before(connection).map_or(flow.from, appliance);
        [from, config.relay_after(connection).map_or(flow.to, appliance)]
    })
}

/// The stages, each once, by the last of its links.
fn stages(config: &SimulationConfig, network: &Network) -> Vec<Stage> {
    let mut stages: BTreeMap<LinkId, Stage> = BTreeMap::new();
    for links in network.routes().flatten() {
        let (first, last) = (links[0], links[links.len() - 1]);
        let delay = links.iter().fold(SimDuration::ZERO, |sum, link| sum + config.network.link(*link).delay);
        let (from, to) = (config.network.link(first).from, config.network.link(last).to);
        stages.entry(last).or_insert(Stage { links, from, to, delay, routes: 0 }).routes += 1;
    }
    stages.into_values().collect()
}

/// The number of events a second, roughly: where routes are narrowest, links are full.
fn events_per_second(config: &SimulationConfig, network: &Network) -> f64 {
    let rate = |link: &LinkId| config.network.link(*link).rate;
    let narrowest = network.routes().filter_map(|route| route.into_iter().flatten().min_by_key(rate));
    let narrowest: BTreeSet<LinkId> = narrowest.collect();
    narrowest.iter().map(|link| rate(link).0 as f64).sum::<f64>() / BITS_PER_EVENT
}

/// Work at each node.
fn work(config: &SimulationConfig, stages: &[Stage]) -> Vec<u64> {
    let mut work = vec![0; config.network.nodes.len()];
    for stage in stages {
        work[stage.from.index()] += PASSING * stage.routes;
        work[stage.to.index()] += PASSING * stage.routes;
    }
    for flow in (0..config.flows.len()).map(FlowId::new) {
        let flow = &config.flows[flow.index()];
        work[flow.from.index()] += SENDER;
        work[flow.to.index()] += RECEIVER;
    }
    work
}

/// Problem of cutting the network.
struct Cutting<'a> {
    stages: &'a [Stage],
    work: &'a [u64],
    /// Most allowed parts.
    most: usize,
    /// Node that must be in the first part.
    pinned: Option<NodeId>,
    events_per_second: f64,
}

/// A cut of the network into parts.
struct Cut {
    part_of_node: Vec<usize>,
    /// The work of each part.
    loads: Vec<u64>,
}

impl Cutting<'_> {
    /// True if parts that are `lookahead` ahead of each other have enough work in between.
    fn pays(&self, lookahead: SimDuration, cut: &Cut) -> bool {
        cut.loads.len() == 1 || self.events_per_second * lookahead.as_secs_f64() >= ENOUGH * cut.loads.len() as f64
    }
}

impl Cut {
    /// The cut with all nodes in one part.
    fn none(config: &SimulationConfig) -> Self {
        Self { part_of_node: vec![0; config.network.nodes.len()], loads: vec![1] }
    }

    fn largest(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }
}

/// The cut with the longest lookahead, among those that are about as even as the most even one.
fn best_cut(cutting: &Cutting<'_>, groups: &mut Groups) -> Cut {
    let cuts = lookaheads(cutting.stages).into_iter().map(|least| (least, cut(cutting, groups.clone(), least)));
    let (good, other): (Vec<_>, Vec<_>) = cuts.partition(|(least, cut)| cutting.pays(*least, cut));
    if other.iter().any(|(_, cut)| cut.loads.len() > 1) {
        groups.note(Tie::ShortDelays);
    }
    let best = good.iter().map(|(_, cut)| cut.largest()).min().unwrap_or(0);
    let is_even = |cut: &Cut| 100 * cut.largest() <= TOLERANCE * best;
    let even = good.into_iter().map(|(_, cut)| cut).find(is_even);
    even.unwrap_or_else(|| cut(cutting, groups.clone(), SimDuration(u64::MAX)))
}

/// The delays, the longest first, evenly chosen if there are many.
fn lookaheads(stages: &[Stage]) -> Vec<SimDuration> {
    let delays: BTreeSet<SimDuration> =
        stages.iter().map(|stage| stage.delay).filter(|delay| !delay.is_zero()).collect();
    let delays: Vec<SimDuration> = delays.into_iter().rev().collect();
    let tries = delays.len().min(TRIES);
    let gaps = tries.saturating_sub(1).max(1);
    (0..tries).map(|number| delays[number * (delays.len() - 1) / gaps]).collect()
}

/// The cut with every stage of less than `least` delay within one part.
fn cut(cutting: &Cutting<'_>, mut groups: Groups, least: SimDuration) -> Cut {
    for stage in cutting.stages.iter().filter(|stage| stage.delay < least) {
        groups.join(stage.from, stage.to);
    }
    let nodes = || (0..cutting.work.len()).map(NodeId::new);
    let mut loads_of_groups: BTreeMap<usize, u64> = BTreeMap::new();
    for node in nodes() {
        *loads_of_groups.entry(groups.of(node)).or_default() += cutting.work[node.index()];
    }
    let first = cutting.pinned.map(|node| groups.of(node));
    let mut order: Vec<(usize, u64)> = loads_of_groups.into_iter().collect();
    order.sort_by_key(|(group, load)| (Some(*group) != first, u64::MAX - load, *group));
    let near = neighbours(cutting.stages, &groups);
    let mut assignment = Assignment::new(cutting.most, cutting.work.iter().sum());
    for (group, load) in order {
        assignment.assign(group, load, near.get(&group).map_or(&[], Vec::as_slice));
    }
    let part_of_node = nodes().map(|node| assignment.part_of[&groups.of(node)]).collect();
    Cut { part_of_node, loads: assignment.loads }
}

/// The groups at the other ends of each group's stages, with the number of routes between them.
fn neighbours(stages: &[Stage], groups: &Groups) -> BTreeMap<usize, Vec<(usize, u64)>> {
    let mut near: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
    for stage in stages {
        let (from, to) = (groups.of(stage.from), groups.of(stage.to));
        near.entry(from).or_default().push((to, stage.routes));
        near.entry(to).or_default().push((from, stage.routes));
    }
    near
}

/// The assignment of groups to parts, one after the other, the largest first.
struct Assignment {
    part_of: BTreeMap<usize, usize>,
    loads: Vec<u64>,
    most: usize,
    /// The work beyond which a part takes no neighbours.
    enough: u64,
}

impl Assignment {
    fn new(most: usize, work: u64) -> Self {
        Self { part_of: BTreeMap::new(), loads: vec![0], most, enough: TOLERANCE * work / (100 * most as u64) }
    }

    /// Assigns a group to the part with most of its neighbours if there is room, or else to the part with the least
    /// work.
    fn assign(&mut self, group: usize, load: u64, near: &[(usize, u64)]) {
        let mut routes = vec![0; self.loads.len()];
        for (neighbour, count) in near {
            if let Some(part) = self.part_of.get(neighbour) {
                routes[*part] += count;
            }
        }
        let is_first = self.part_of.is_empty();
        let has_room = |part: &usize| is_first || self.loads[*part] + load <= self.enough;
        let nearest =
            (0..self.loads.len()).filter(has_room).max_by_key(|part| (routes[*part], u64::MAX - self.loads[*part]));
        let part = nearest.unwrap_or_else(|| self.least());
        self.loads[part] += load;
        self.part_of.insert(group, part);
    }

    /// An empty part, or the one with the least work.
    fn least(&mut self) -> usize {
        if self.loads.len() < self.most {
            self.loads.push(0);
            return self.loads.len() - 1;
        }
        (0..self.loads.len()).min_by_key(|part| self.loads[*part]).unwrap_or(0)
    }
}
