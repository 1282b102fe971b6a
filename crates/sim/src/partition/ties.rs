//! Ties: nodes that must stay together when a network is run in parts, and the reason.

use std::collections::BTreeSet;

use ackclock_cc::ControllerConfig;
use ackclock_net::NodeId;

use crate::config::{AppConfig, FlowConfig, Sampling, SimulationConfig};

/// Reason for which nodes must stay together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tie {
    /// A link without delay: events at one end take effect at the other immediately.
    NoDelay,
    /// Short delays: parts would wait for each other more than they would work.
    ShortDelays,
    /// A served link: both its ends know its state.
    ServedLink,
    /// A discarder that counts packets at several nodes.
    SharedDiscarder,
    /// An application that waits for the reader at the other end.
    WaitsForReader,
    /// An appliance, which works on both connections that it joins.
    Appliance,
    /// Short flows, which take the places of those before them.
    ShortFlows,
    /// A flow of datagrams, whose ends share one account.
    Datagrams,
    /// External parts, which are called one at a time.
    ExternalParts,
    /// A trace at each event, with values of both ends.
    EventTrace,
    /// Observed events, which are reported in order.
    Watched,
    /// Telemetry, which lies in one table for all packets.
    Telemetry,
    /// ACK ranges of QUIC, which lie in the same table.
    Quic,
    /// Changes of links during the run.
    Changes,
    /// Controllers that share an agent.
    SharedAgents,
}

impl Tie {
    /// The reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::NoDelay => "links without delay",
            Self::ShortDelays => "links with too little delay for what there is to do in it",
            Self::ServedLink => "links with a queue other than drop_tail or with a channel",
            Self::SharedDiscarder => "discarders",
            Self::WaitsForReader => "applications that wait until the other end has read",
            Self::Appliance => "appliances",
            Self::ShortFlows => "arrivals of short flows",
            Self::Datagrams => "datagrams",
            Self::ExternalParts => "controllers, queues, effects or sources from outside",
            Self::EventTrace => "a trace at each event",
            Self::Watched => "events that are watched",
            Self::Telemetry => "links that write telemetry",
            Self::Quic => "connections of QUIC",
            Self::Changes => "links that are changed",
            Self::SharedAgents => "agents that flows have in common",
        }
    }
}

/// Sets of nodes that stay together.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Another node of the same group, or the node itself.
    parent: Vec<usize>,
    /// The ties by which nodes were joined.
    ties: BTreeSet<Tie>,
}

impl Groups {
    /// Groups of one node each.
    pub(super) fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes).collect(), ties: BTreeSet::new() }
    }

    /// The representative of a node's group.
    pub(super) fn of(&self, node: NodeId) -> usize {
        let mut at = node.index();
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    /// The root of the node's group; shortens the path to it.
    fn find(&mut self, node: NodeId) -> usize {
        let mut at = node.index();
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    /// Joins the groups of two nodes. Returns false if they are already one.
    pub(super) fn join(&mut self, a: NodeId, b: NodeId) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
        a != b
    }

    /// Joins nodes for a reason.
    pub(super) fn tie(&mut self, tie: Tie, nodes: impl IntoIterator<Item = NodeId>) {
        let mut nodes = nodes.into_iter();
        let Some(first) = nodes.next() else { return };
        for node in nodes {
            if self.join(first, node) {
                self.ties.insert(tie);
            }
        }
    }

    /// Notes another reason not to part nodes.
    pub(crate) fn note(&mut self, tie: Tie) {
        self.ties.insert(tie);
    }

    /// The ties by which nodes were joined.
    pub(super) fn ties(&self) -> impl Iterator<Item = Tie> {
        self.ties.iter().copied()
    }

    /// Joins the nodes that a scenario ties together. Returns a node of those that must be in the first part, if there
    /// are any.
    pub(super) fn join_tied(&mut self, config: &SimulationConfig) -> Option<NodeId> {
        self.join_served_links(config);
        self.join_discarders(config);
        for flow in &config.flows {
            if waits_for_reader(flow) {
                self.tie(Tie::WaitsForReader, [flow.from, flow.to]);
            }
        }
        let pinned = pinned(config);
        for (tie, nodes) in &pinned {
            self.tie(*tie, pinned.iter().flat_map(|(_, nodes)| nodes).take(1).chain(nodes).copied());
        }
        pinned.first().and_then(|(_, nodes)| nodes.first()).copied()
    }

    fn join_served_links(&mut self, config: &SimulationConfig) {
        for link in config.network.links.iter().filter(|link| link.is_served()) {
            self.tie(Tie::ServedLink, [link.from, link.to]);
        }
    }

    fn join_discarders(&mut self, config: &SimulationConfig) {
        let network = &config.network;
        for discarder in 0..network.discarders.len() {
            let of_nodes = (0..network.nodes.len()).map(NodeId::new);
            let of_nodes = of_nodes.filter(|node| network.node(*node).discarder == Some(discarder));
            let of_links = network.links.iter().filter(|link| link.discarder == Some(discarder)).map(|link| link.from);
            self.tie(Tie::SharedDiscarder, of_nodes.chain(of_links));
        }
    }
}

/// True if actions at one end of the flow follow from those at the other, beside arriving packets.
fn waits_for_reader(flow: &FlowConfig) -> bool {
    let waits = |app: &AppConfig| !matches!(app, AppConfig::Bulk | AppConfig::OnOff { .. });
    waits(&flow.app) || flow.reply.as_ref().is_some_and(waits)
}

/// True if a controller or an application of the flow is external.
fn has_external(flow: &FlowConfig) -> bool {
    let is_external = |app: &AppConfig| matches!(app, AppConfig::External(_));
    matches!(flow.controller, ControllerConfig::External(_))
        || is_external(&flow.app)
        || flow.reply.as_ref().is_some_and(is_external)
}

/// The nodes of the items that run in the first part as a whole.
fn pinned(config: &SimulationConfig) -> Vec<(Tie, Vec<NodeId>)> {
    let ends = |flow: &FlowConfig| [flow.from, flow.to];
    let mut pinned: Vec<(Tie, Vec<NodeId>)> = Vec::new();
    for split in &config.splits {
        let nodes = [config.appliances[split.appliance].node].into_iter().chain(ends(&config.flows[split.flow]));
        pinned.push((Tie::Appliance, nodes.collect()));
    }
    for arrivals in &config.traffic.arrivals {
        let appliances = arrivals.splits.iter().map(|split| config.appliances[split.appliance].node);
        pinned.push((Tie::ShortFlows, appliances.chain(ends(&arrivals.flow)).collect()));
    }
    for datagrams in &config.traffic.datagrams {
        pinned.push((Tie::Datagrams, vec![datagrams.from, datagrams.to]));
    }
    let flows = config.flows.iter().filter(|flow| has_external(flow));
    pinned.extend(flows.map(|flow| (Tie::ExternalParts, ends(flow).into())));
    let flows = config.flows.iter().filter(|flow| flow.controller.shared_agent().is_some());
    pinned.extend(flows.map(|flow| (Tie::SharedAgents, ends(flow).into())));
    let links = config.network.links.iter().filter(|link| link.has_external());
    pinned.extend(links.map(|link| (Tie::ExternalParts, vec![link.from, link.to])));
    let is_told = !(config.trace.flows.is_empty() && config.trace.internals.is_empty());
    if is_told && matches!(config.trace.sampling, Sampling::Events(_)) {
        pinned.extend(config.flows.iter().map(|flow| (Tie::EventTrace, ends(flow).into())));
    }
    let all_nodes = || (0..config.network.nodes.len()).map(NodeId::new).collect();
    if config.trace.events.is_some() {
        pinned.push((Tie::Watched, all_nodes()));
    }
    if config.network.links.iter().any(|link| link.telemetry) {
        pinned.push((Tie::Telemetry, all_nodes()));
    }
    if config.has_quic() {
        pinned.push((Tie::Quic, all_nodes()));
    }
    if !config.network.changes.is_empty() {
        pinned.push((Tie::Changes, all_nodes()));
    }
    pinned
}
