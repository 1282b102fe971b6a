//! Builds the nodes and links of each kind of topology.

use std::collections::{BTreeMap, BTreeSet};

use ackclock_net::queue::Limit;
use ackclock_net::{LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId};
use ackclock_units::SimDuration;

use super::links::{Cable, Cables, MAX_DELAY, TOO_LONG};
use super::location::Location;
use super::plans::FlowPlan;
use super::suggest;
use crate::diagnostic::Diagnostics;
use crate::file::{
    Chain, CountOrNames, DiscardRule, Dumbbell, Duration, Explicit, LinkTable, List, NodeKind, NodeTable, ParkingLot,
    Star, TextOr, Topology,
};
use crate::tree::FieldPath;

const MAX_HOSTS: u64 = 100_000;
const MAX_HOPS: u64 = 1_000;

/// A node with a discard list, and the place of the list.
pub(crate) type NodeDiscard = (NodeId, FieldPath, List<DiscardRule>);

/// The network as built, with facts for later steps.
#[derive(Default)]
pub(crate) struct BuiltTopology {
    pub(crate) network: NetworkConfig,
    /// Every node of the network by its name.
    pub(crate) node_ids: BTreeMap<String, NodeId>,
    /// Some of the topology could not be read, so that nodes or links may be missing.
    is_unread: bool,
    pub(crate) cables: Cables,
    /// Discard lists of nodes.
    pub(crate) node_discards: Vec<NodeDiscard>,
    /// The nodes that are appliances, and their places in the file.
    pub(crate) appliances: Vec<(NodeId, FieldPath)>,
    /// The links to trace by default.
    pub(crate) bottlenecks: Vec<LinkId>,
    /// Nodes at which flows may begin and end.
    pub(crate) hosts: Vec<NodeId>,
    /// The hosts whose kind the scenario leaves open: they become routers where no flow begins or ends.
    pub(crate) undecided: Vec<NodeId>,
    /// Dumbbell: the left and right host of each flow.
    pub(crate) pairs: Option<Vec<(NodeId, NodeId)>>,
    /// The ends of a flow that names no hosts, by its position.
    pub(crate) default_ends: Vec<(NodeId, NodeId)>,
}

/// Builds the network; a part with mistakes is left out, or a default takes its place.
pub(crate) fn build_topology(kind: Option<&Topology>, plans: &[FlowPlan<'_>], sink: &Diagnostics<'_>) -> BuiltTopology {
    let at = sink.root("topology");
    let mut built = BuiltTopology { is_unread: sink.may_lack_nodes(), ..BuiltTopology::default() };
    match kind {
        None => at.missing("[topology] with kind = \"dumbbell\", access and bottleneck"),
        Some(Topology::Dumbbell(table)) => built.build_dumbbell(table, plans, &at),
        Some(Topology::Chain(table)) => built.build_chain(table, &at),
        Some(Topology::Star(table)) => built.build_star(table, &at),
        Some(Topology::ParkingLot(table)) => built.build_parking_lot(table, &at),
        Some(Topology::Explicit(table)) => built.build_explicit(table, &at),
    }
    let has_own_names = !matches!(kind, Some(Topology::Dumbbell(_) | Topology::ParkingLot(_)));
    if has_own_names && !sink.has_mistake_in("topology") {
        check_link_names(&built.network.links, &at);
    }
    built
}

impl BuiltTopology {
    /// The host with this name; a name that is not known is reported.
    pub(crate) fn host(&self, name: &str, at: &Location<'_>) -> Option<NodeId> {
        // Hosts are listed in the order of their nodes.
        let host = self.node_ids.get(name).filter(|node| self.hosts.binary_search(node).is_ok()).copied();
        if host.is_none() {
            self.report_unknown(at, "must be the name of a host", suggest(name, self.host_names()));
        }
        host
    }

    pub(crate) fn host_names(&self) -> Vec<&str> {
        self.hosts.iter().map(|&host| self.network.node(host).name.as_str()).collect()
    }

    /// The link with this name; a name that is not known is reported.
    pub(crate) fn link(&self, name: &str, at: &Location<'_>) -> Option<LinkId> {
        let link = self.network.links.iter().position(|link| link.name == name);
        if link.is_none() {
            let known = self.network.links.iter().map(|link| link.name.as_str());
            self.report_unknown(at, "must be the name of a link", suggest(name, known));
        }
        link.map(LinkId::new)
    }

    /// Reports a name that the network lacks, unless it may lack the name because parts of it could not be read.
    pub(crate) fn report_unknown(&self, at: &Location<'_>, message: &str, remedy: String) {
        // Hosts of a dumbbell have the names of its flows.
        if !self.is_unread && !self.network.nodes.is_empty() && !at.sink.may_lack_flows() {
            at.report(message, remedy);
        }
    }

    fn add_node(&mut self, name: &str) -> NodeId {
        let node = NodeId::new(self.network.nodes.len());
        self.network.nodes.push(NodeConfig { name: name.to_owned(), discarder: None });
        self.node_ids.entry(name.to_owned()).or_insert(node);
        node
    }

    fn build_dumbbell(&mut self, table: &Dumbbell, plans: &[FlowPlan<'_>], at: &Location<'_>) {
        let (left, right) = (self.add_node("left"), self.add_node("right"));
        let bottleneck = required_link(table.bottleneck.as_ref(), &at.key("bottleneck"));
        let access = required_link(table.access.as_ref(), &at.key("access"));
        let (name, limit) = ("bottleneck".to_owned(), Limit::ONE_BDP);
        self.lay(&cable(name, (left, right), &bottleneck, at.key("bottleneck"), limit));
        self.bottlenecks.push(LinkId::new(0));
        let mut pairs = Vec::with_capacity(plans.len());
        for plan in plans {
            let access = self.access_for(plan, &access);
            let hosts = (self.add_node(&format!("{}.left", plan.name)), self.add_node(&format!("{}.right", plan.name)));
            for (side, ends) in [("left", (hosts.0, left)), ("right", (right, hosts.1))] {
                let name = format!("{}.{side}", plan.name);
                self.lay(&cable(name, ends, &access, at.key("access"), Limit::UNLIMITED));
            }
            self.hosts.extend([hosts.0, hosts.1]);
            pairs.push(hosts);
        }
        self.pairs = Some(pairs);
    }

    /// The access links of a flow with its own round trip: they have the delay that the bottleneck leaves.
    fn access_for(&self, plan: &FlowPlan<'_>, access: &LinkTable) -> LinkTable {
        let Some(rtt) = plan.table.rtt else { return access.clone() };
        let bottleneck = self.network.links[0].delay + self.network.links[1].delay;
        if rtt.0 < bottleneck {
            let remedy = format!("use at least {bottleneck}, the bottleneck's two-way propagation delay");
            plan.at.key("rtt").report("must be at least what the bottleneck alone takes", remedy);
            return access.clone();
        }
        if rtt.0 > MAX_DELAY * 4 {
            plan.at.key("rtt").report(TOO_LONG, format!("use at most {}", MAX_DELAY * 4));
            return access.clone();
        }
        let mut access = access.clone();
        access.delay = Some(TextOr::Text(Duration(SimDuration((rtt.0 - bottleneck).0 / 4))));
        if let Some(reverse) = &mut access.reverse {
            reverse.delay = None;
        }
        access
    }

    fn build_chain(&mut self, table: &Chain, at: &Location<'_>) {
        let nodes = table.nodes.clone().unwrap_or_default();
        let nodes_at = at.key("nodes");
        if nodes.0.len() < 2 {
            nodes_at.report("must hold two nodes or more", "name at least two nodes, such as nodes = [\"A\", \"B\"]");
            return;
        }
        for (index, node) in nodes.iter() {
            let table = match node {
                TextOr::Text(name) => NodeTable { name: Some(name.clone()), ..NodeTable::default() },
                TextOr::Table(table) => table.clone(),
            };
            self.named_node(&table, &nodes_at.index(index));
        }
        let links = chain_links(table, nodes.0.len() - 1, at);
        let count = self.network.nodes.len();
        let Some(links) = links.filter(|_| count == nodes.0.len()) else {
            return; // an item was wrong, so that the neighbours of the others are not known
        };
        let nodes: Vec<NodeId> = (0..count).map(NodeId::new).collect();
        for (ends, (link, link_at)) in nodes.windows(2).zip(&links) {
            self.lay(&self.between(ends[0], ends[1], link, link_at, Limit::UNLIMITED));
        }
        let is_end = |node: &&NodeId| self.hosts.contains(node);
        if let (Some(&first), Some(&last)) = (nodes.iter().find(is_end), nodes.iter().rev().find(is_end))
            && first != last
        {
            self.default_ends.push((first, last));
        }
    }

    fn lay(&mut self, cable: &Cable<'_>) {
        self.cables.lay(cable, &mut self.network.links);
    }

    fn between<'a>(&self, from: NodeId, to: NodeId, link: &'a LinkTable, at: &Location<'a>, limit: Limit) -> Cable<'a> {
        let (a, b) = (&self.network.node(from).name, &self.network.node(to).name);
        let cable = cable(format!("{a}->{b}"), (from, to), link, at.clone(), limit);
        Cable { reverse_name: format!("{b}->{a}"), ..cable }
    }

    /// Adds a node of the file.
    fn named_node(&mut self, table: &NodeTable, at: &Location<'_>) {
        at.key("name").review_name(table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| {
            at.key("name").missing("name = \"A\"");
            format!("node{}", self.network.nodes.len() + 1)
        });
        if self.node_ids.contains_key(&name) {
            at.report(format!("must be unique: another node is named {name:?}"), "give each node a unique name");
        }
        let node = self.add_node(&name);
        let kind = table.kind.or(table.discard.as_ref().map(|_| NodeKind::Discarder));
        if matches!(kind, None | Some(NodeKind::Host)) {
            self.hosts.push(node);
        }
        if kind.is_none() {
            self.undecided.push(node);
        }
        if kind == Some(NodeKind::Appliance) {
            self.appliances.push((node, at.path.clone()));
        }
        if let Some(rules) = &table.discard {
            if kind != Some(NodeKind::Discarder) {
                at.key("discard").report("must stand at a discarder only", "write kind = \"discarder\"");
            }
            self.node_discards.push((node, at.path.key("discard"), rules.clone()));
        }
    }

    fn build_star(&mut self, table: &Star, at: &Location<'_>) {
        at.key("hub").review_name(table.hub.as_deref());
        let hub = self.add_node(table.hub.as_deref().unwrap_or("hub"));
        let names = match &table.hosts {
            None => {
                at.key("hosts").missing("hosts = 4");
                return;
            }
            Some(CountOrNames::Count(count)) if (1..=MAX_HOSTS).contains(count) => {
                (1..=*count).map(|number| format!("host{number}")).collect()
            }
            Some(CountOrNames::Count(_)) => {
                at.key("hosts")
                    .report(format!("must be 1 to {MAX_HOSTS}"), "write the number of hosts, or a list of their names");
                return;
            }
            Some(CountOrNames::Names(names)) if names.0.is_empty() => {
                at.key("hosts").report("must hold at least one host", "name at least one");
                return;
            }
            Some(CountOrNames::Names(names)) => names.iter().map(|(_, name)| name.clone()).collect::<Vec<String>>(),
        };
        let link = required_link(table.link.as_ref(), &at.key("link"));
        for name in names {
            at.key("hosts").review_name(Some(&name));
            if self.node_ids.contains_key(&name) {
                let remedy = "give each host a unique name, other than the hub's";
                at.key("hosts")
                    .report(format!("must differ from one another and from the hub: {name:?} is taken"), remedy);
                continue;
            }
            let host = self.add_node(&name);
            self.hosts.push(host);
            self.lay(&self.between(host, hub, &link, &at.key("link"), Limit::UNLIMITED));
        }
        // Incast: all others send to the first.
        if let Some((&first, others)) = self.hosts.split_first() {
            self.default_ends = others.iter().map(|&host| (host, first)).collect();
        }
    }

    fn build_parking_lot(&mut self, table: &ParkingLot, at: &Location<'_>) {
        let hops = match table.hops {
            Some(hops) if (1..=MAX_HOPS).contains(&hops) => hops,
            Some(_) => {
                return at
                    .key("hops")
                    .report(format!("must be 1 to {MAX_HOPS}"), "write the number of hops, such as 3");
            }
            None => return at.key("hops").missing("hops = 3"),
        };
        let bottleneck = required_link(table.bottleneck.as_ref(), &at.key("bottleneck"));
        let access = required_link(table.access.as_ref(), &at.key("access"));
        let routers: Vec<NodeId> = (1..=hops + 1).map(|number| self.add_node(&format!("R{number}"))).collect();
        for pair in routers.windows(2) {
            self.bottlenecks.push(LinkId::new(self.network.links.len()));
            let hop = self.between(pair[0], pair[1], &bottleneck, &at.key("bottleneck"), Limit::ONE_BDP);
            self.lay(&hop);
        }
        for (number, &router) in (1..).zip(&routers) {
            let host = self.add_node(&format!("H{number}"));
            self.hosts.push(host);
            self.lay(&self.between(host, router, &access, &at.key("access"), Limit::UNLIMITED));
        }
        if let (Some(&first), Some(&last)) = (self.hosts.first(), self.hosts.last()) {
            self.default_ends.push((first, last));
        }
    }

    fn build_explicit(&mut self, table: &Explicit, at: &Location<'_>) {
        let nodes = table.node.clone().unwrap_or_default();
        if nodes.0.is_empty() {
            at.key("node").missing("[[topology.node]] with name = \"A\"");
        }
        for (index, node) in nodes.iter() {
            self.named_node(node, &at.key("node").index(index));
        }
        let mut joined = BTreeSet::new();
        let links = table.link.clone().unwrap_or_default();
        if links.0.is_empty() {
            at.key("link").missing("[[topology.link]] with from, to, rate and delay");
        }
        let mut names = (0..nodes.0.len()).map(|index| at.key("node").index(index).key("name"));
        let are_named = !nodes.0.is_empty() && names.all(|name| !name.is_unread());
        for (index, link) in links.iter() {
            let link_at = at.key("link").index(index);
            let ends = [("from", link.from.as_ref()), ("to", link.to.as_ref())]
                .map(|(field, name)| self.end(field, name, &link_at, are_named));
            let [Some(from), Some(to)] = ends else { continue };
            if from == to {
                link_at.key("to").report("must be another node than from", "connect two different nodes");
                continue;
            }
            let table = link.link();
            let duplex = link.duplex.unwrap_or(true);
            if !duplex && link.reverse.is_some() {
                let what = "must not be set for a link without a reverse path";
                link_at.key("reverse").report(what, "remove it, or remove duplex = false");
            }
            let cable = Cable { duplex, ..self.between(from, to, &table, &link_at, Limit::UNLIMITED) };
            if !joined.insert((from, to)) || (duplex && !joined.insert((to, from))) {
                link_at.report("must connect two nodes that no other link connects", "remove one of the two links");
                continue;
            }
            self.lay(&cable);
        }
    }

    /// The node at an end of a link; `are_named` is false if nodes or their names could not be read.
    fn end(&self, field: &str, name: Option<&String>, at: &Location<'_>, are_named: bool) -> Option<NodeId> {
        let at = at.key(field);
        let Some(name) = name else {
            at.missing(&format!("{field} = \"A\""));
            return None;
        };
        let found = self.node_ids.get(name).copied();
        if found.is_none() && are_named {
            let names = self.network.nodes.iter().map(|node| node.name.as_str());
            at.report("must be the name of a node", suggest(name, names));
        }
        found
    }
}

/// Reports names that two links would share: links are named by their ends, and an end may have any name.
fn check_link_names(links: &[LinkConfig], at: &Location<'_>) {
    let mut names = BTreeSet::new();
    let twice = links.iter().find(|link| !names.insert(&link.name)).map(|link| link.name.clone());
    if let Some(name) = twice {
        let what = format!("must give each link a unique name: two are named {name:?}");
        at.report(what, "give nodes names without \"->\"");
    }
}

/// A link that the topology requires. If it is missing, that is reported once, and a default takes its place.
fn required_link(link: Option<&LinkTable>, at: &Location<'_>) -> LinkTable {
    link.cloned().unwrap_or_else(|| {
        at.missing("{ rate = \"100 Mbit/s\", delay = \"15 ms\" }");
        at.sink.blame(at.path.clone());
        LinkTable::default()
    })
}

/// One link for each pair of neighbours, with its place in the file.
fn chain_links<'a>(table: &Chain, hops: usize, at: &Location<'a>) -> Option<Vec<(LinkTable, Location<'a>)>> {
    match (&table.link, &table.links) {
        (Some(_), Some(_)) => at.key("links").report("must not be combined with link", "keep one of the two"),
        (None, None) if at.key("links").is_unread() => {}
        (None, None) => at.key("link").missing("link = { rate = \"100 Mbit/s\", delay = \"15 ms\" }"),
        (Some(link), None) => return Some(vec![(link.clone(), at.key("link")); hops]),
        (None, Some(links)) if links.0.len() != hops => {
            let what = format!("holds {} links for {} nodes", links.0.len(), hops + 1);
            at.key("links").report(what, format!("give one for each pair of neighbours: {hops}"));
        }
        (None, Some(links)) => {
            let item = |(index, link): (usize, &LinkTable)| (link.clone(), at.key("links").index(index));
            return Some(links.iter().map(item).collect());
        }
    }
    None
}

fn cable<'a>(name: String, ends: (NodeId, NodeId), table: &'a LinkTable, at: Location<'a>, limit: Limit) -> Cable<'a> {
    Cable { reverse_name: format!("{name}.reverse"), name, ends, table, at, default_limit: limit, duplex: true }
}
