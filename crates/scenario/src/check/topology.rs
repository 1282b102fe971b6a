//! Builds the nodes and links of each kind of topology.

use std::collections::BTreeSet;
use std::sync::Arc;

use ackclock_net::queue::Limit;
use ackclock_net::{LinkId, NetworkConfig, NodeConfig, NodeId};
use ackclock_units::SimDuration;

use super::flows::FlowPlan;
use super::links::{Cable, MAX_DELAY, PendingLink, TOO_LONG};
use super::{Checker, suggest};
use crate::file::{
    Chain, CountOrNames, DiscardRule, Dumbbell, Duration, Explicit, LinkTable, List, NodeKind, NodeTable, ParkingLot,
    Star, TextOr, Topology,
};
use crate::tree::FieldPath;

const MAX_HOSTS: u64 = 100_000;
const MAX_HOPS: u64 = 1_000;

/// The network as built, with facts for later steps.
#[derive(Default)]
pub(crate) struct BuiltTopology {
    /// The pending parts of each link, in the order of the network.
    pub(crate) links: Vec<Arc<PendingLink>>,
    /// Discard lists of nodes.
    pub(crate) node_discards: Vec<(NodeId, FieldPath, List<DiscardRule>)>,
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

impl BuiltTopology {
    pub(crate) fn host_names<'a>(&self, network: &'a NetworkConfig) -> Vec<&'a str> {
        self.hosts.iter().map(|&host| network.node(host).name.as_str()).collect()
    }
}

impl Checker<'_, '_> {
    pub(crate) fn build_topology(&mut self, plans: &[FlowPlan<'_>]) -> BuiltTopology {
        let path = FieldPath::of("topology");
        let mut built = BuiltTopology::default();
        match &self.file.topology {
            None => self.missing(&path, "[topology] with kind = \"dumbbell\", access and bottleneck"),
            Some(Topology::Dumbbell(table)) => self.build_dumbbell(table, plans, &path, &mut built),
            Some(Topology::Chain(table)) => self.build_chain(table, &path, &mut built),
            Some(Topology::Star(table)) => self.build_star(table, &path, &mut built),
            Some(Topology::ParkingLot(table)) => self.build_parking_lot(table, &path, &mut built),
            Some(Topology::Explicit(table)) => self.build_explicit(table, &path, &mut built),
        }
        let has_own_names = !matches!(self.file.topology, Some(Topology::Dumbbell(_) | Topology::ParkingLot(_)));
        if has_own_names && self.is_network_whole() {
            self.check_link_names(&path);
        }
        built
    }

    /// Reports names that two links would share: links are named by their ends, and an end may have any name.
    fn check_link_names(&mut self, path: &FieldPath) {
        let mut names = BTreeSet::new();
        let twice = self.network.links.iter().find(|link| !names.insert(&link.name)).map(|link| link.name.clone());
        if let Some(name) = twice {
            let what = format!("must give each link a unique name: two are named {name:?}");
            self.report(path, what, "give nodes names without \"->\"");
        }
    }

    fn add_node(&mut self, name: &str) -> NodeId {
        let node = NodeId::new(self.network.nodes.len());
        self.network.nodes.push(NodeConfig { name: name.to_owned(), discarder: None });
        self.node_ids.entry(name.to_owned()).or_insert(node);
        node
    }

    /// A link that the topology requires. If it is missing, that is reported once, and a default takes its place.
    fn required_link(&mut self, link: Option<&LinkTable>, path: &FieldPath) -> LinkTable {
        link.cloned().unwrap_or_else(|| {
            self.missing(path, "{ rate = \"100 Mbit/s\", delay = \"15 ms\" }");
            self.diagnostics.blame(path.clone());
            LinkTable::default()
        })
    }

    fn build_dumbbell(
        &mut self,
        table: &Dumbbell,
        plans: &[FlowPlan<'_>],
        path: &FieldPath,
        built: &mut BuiltTopology,
    ) {
        let (left, right) = (self.add_node("left"), self.add_node("right"));
        let bottleneck = self.required_link(table.bottleneck.as_ref(), &path.key("bottleneck"));
        let access = self.required_link(table.access.as_ref(), &path.key("access"));
        let cable = Cable {
            name: "bottleneck".to_owned(),
            reverse_name: "bottleneck.reverse".to_owned(),
            ends: (left, right),
            table: &bottleneck,
            path: path.key("bottleneck"),
            default_limit: Limit::ONE_BDP,
            duplex: true,
        };
        self.lay(&cable, &mut built.links);
        built.bottlenecks.push(LinkId::new(0));
        let mut pairs = Vec::with_capacity(plans.len());
        for plan in plans {
            let access = self.access_for(plan, &access);
            let hosts = (self.add_node(&format!("{}.left", plan.name)), self.add_node(&format!("{}.right", plan.name)));
            for (side, ends) in [("left", (hosts.0, left)), ("right", (right, hosts.1))] {
                let name = format!("{}.{side}", plan.name);
                self.lay(&access_cable(name, ends, &access, path), &mut built.links);
            }
            built.hosts.extend([hosts.0, hosts.1]);
            pairs.push(hosts);
        }
        built.pairs = Some(pairs);
    }

    /// The access links of a flow with its own round trip: they have the delay that the bottleneck leaves.
    fn access_for(&mut self, plan: &FlowPlan<'_>, access: &LinkTable) -> LinkTable {
        let Some(rtt) = plan.table.rtt else { return access.clone() };
        let bottleneck = self.network.links[0].delay + self.network.links[1].delay;
        if rtt.0 < bottleneck {
            let remedy = format!("use at least {bottleneck}, the bottleneck's two-way propagation delay");
            self.report(&plan.path.key("rtt"), "must be at least what the bottleneck alone takes", remedy);
            return access.clone();
        }
        if rtt.0 > MAX_DELAY * 4 {
            self.report(&plan.path.key("rtt"), TOO_LONG, format!("use at most {}", MAX_DELAY * 4));
            return access.clone();
        }
        let mut access = access.clone();
        access.delay = Some(TextOr::Text(Duration(SimDuration((rtt.0 - bottleneck).0 / 4))));
        if let Some(reverse) = &mut access.reverse {
            reverse.delay = None;
        }
        access
    }

    fn build_chain(&mut self, table: &Chain, path: &FieldPath, built: &mut BuiltTopology) {
        let nodes = table.nodes.clone().unwrap_or_default();
        let nodes_path = path.key("nodes");
        if nodes.0.len() < 2 {
            self.report(
                &nodes_path,
                "must hold two nodes or more",
                "name at least two nodes, such as nodes = [\"A\", \"B\"]",
            );
            return;
        }
        for (index, node) in nodes.iter() {
            let node_path = nodes_path.index(index);
            match node {
                TextOr::Text(name) => {
                    let table = NodeTable { name: Some(name.clone()), ..NodeTable::default() };
                    self.named_node(&table, &node_path, built);
                }
                TextOr::Table(table) => self.named_node(table, &node_path, built),
            }
        }
        let links = self.chain_links(table, nodes.0.len() - 1, path);
        let count = self.network.nodes.len();
        let Some(links) = links.filter(|_| count == nodes.0.len()) else {
            return; // an item was wrong, so that the neighbours of the others are not known
        };
        let nodes: Vec<NodeId> = (0..count).map(NodeId::new).collect();
        for (ends, (link, link_path)) in nodes.windows(2).zip(&links) {
            self.lay(&self.between(ends[0], ends[1], link, link_path, Limit::UNLIMITED), &mut built.links);
        }
        let is_end = |node: &&NodeId| built.hosts.contains(node);
        if let (Some(&first), Some(&last)) = (nodes.iter().find(is_end), nodes.iter().rev().find(is_end))
            && first != last
        {
            built.default_ends.push((first, last));
        }
    }

    /// One link for each pair of neighbours, with its place in the file.
    fn chain_links(&mut self, table: &Chain, hops: usize, path: &FieldPath) -> Option<Vec<(LinkTable, FieldPath)>> {
        match (&table.link, &table.links) {
            (Some(_), Some(_)) => {
                self.report(&path.key("links"), "must not be combined with link", "keep one of the two")
            }
            (None, None) if self.diagnostics.is_unread(&path.key("links")) => {}
            (None, None) => self.missing(&path.key("link"), "link = { rate = \"100 Mbit/s\", delay = \"15 ms\" }"),
            (Some(link), None) => return Some(vec![(link.clone(), path.key("link")); hops]),
            (None, Some(links)) if links.0.len() != hops => {
                let what = format!("holds {} links for {} nodes", links.0.len(), hops + 1);
                self.report(&path.key("links"), what, format!("give one for each pair of neighbours: {hops}"));
            }
            (None, Some(links)) => {
                let item = |(index, link): (usize, &LinkTable)| (link.clone(), path.key("links").index(index));
                return Some(links.iter().map(item).collect());
            }
        }
        None
    }

    fn between<'a>(&self, from: NodeId, to: NodeId, table: &'a LinkTable, path: &FieldPath, limit: Limit) -> Cable<'a> {
        let (a, b) = (&self.network.node(from).name, &self.network.node(to).name);
        Cable {
            name: format!("{a}->{b}"),
            reverse_name: format!("{b}->{a}"),
            ends: (from, to),
            table,
            path: path.clone(),
            default_limit: limit,
            duplex: true,
        }
    }

    /// Adds a node of the file.
    fn named_node(&mut self, table: &NodeTable, path: &FieldPath, built: &mut BuiltTopology) {
        self.review_name(&path.key("name"), table.name.as_deref());
        let name = table.name.clone().unwrap_or_else(|| {
            self.missing(&path.key("name"), "name = \"A\"");
            format!("node{}", self.network.nodes.len() + 1)
        });
        if self.node_ids.contains_key(&name) {
            self.report(
                path,
                format!("must be unique: another node is named {name:?}"),
                "give each node a unique name",
            );
        }
        let node = self.add_node(&name);
        let kind = table.kind.or(table.discard.as_ref().map(|_| NodeKind::Discarder));
        if matches!(kind, None | Some(NodeKind::Host)) {
            built.hosts.push(node);
        }
        if kind.is_none() {
            built.undecided.push(node);
        }
        if kind == Some(NodeKind::Appliance) {
            built.appliances.push((node, path.clone()));
        }
        if let Some(rules) = &table.discard {
            if kind != Some(NodeKind::Discarder) {
                self.report(&path.key("discard"), "must stand at a discarder only", "write kind = \"discarder\"");
            }
            built.node_discards.push((node, path.key("discard"), rules.clone()));
        }
    }

    fn build_star(&mut self, table: &Star, path: &FieldPath, built: &mut BuiltTopology) {
        self.review_name(&path.key("hub"), table.hub.as_deref());
        let hub = self.add_node(table.hub.as_deref().unwrap_or("hub"));
        let names = match &table.hosts {
            None => {
                self.missing(&path.key("hosts"), "hosts = 4");
                return;
            }
            Some(CountOrNames::Count(count)) if (1..=MAX_HOSTS).contains(count) => {
                (1..=*count).map(|number| format!("host{number}")).collect()
            }
            Some(CountOrNames::Count(_)) => {
                self.report(
                    &path.key("hosts"),
                    format!("must be 1 to {MAX_HOSTS}"),
                    "write the number of hosts, or a list of their names",
                );
                return;
            }
            Some(CountOrNames::Names(names)) if names.0.is_empty() => {
                self.report(&path.key("hosts"), "must hold at least one host", "name at least one");
                return;
            }
            Some(CountOrNames::Names(names)) => names.iter().map(|(_, name)| name.clone()).collect::<Vec<String>>(),
        };
        let link = self.required_link(table.link.as_ref(), &path.key("link"));
        for name in names {
            self.review_name(&path.key("hosts"), Some(&name));
            if self.node_ids.contains_key(&name) {
                let remedy = "give each host a unique name, other than the hub's";
                self.report(
                    &path.key("hosts"),
                    format!("must differ from one another and from the hub: {name:?} is taken"),
                    remedy,
                );
                continue;
            }
            let host = self.add_node(&name);
            built.hosts.push(host);
            self.lay(&self.between(host, hub, &link, &path.key("link"), Limit::UNLIMITED), &mut built.links);
        }
        // Incast: all others send to the first.
        if let Some((&first, others)) = built.hosts.split_first() {
            built.default_ends = others.iter().map(|&host| (host, first)).collect();
        }
    }

    fn build_parking_lot(&mut self, table: &ParkingLot, path: &FieldPath, built: &mut BuiltTopology) {
        let hops = match table.hops {
            Some(hops) if (1..=MAX_HOPS).contains(&hops) => hops,
            Some(_) => {
                return self.report(
                    &path.key("hops"),
                    format!("must be 1 to {MAX_HOPS}"),
                    "write the number of hops, such as 3",
                );
            }
            None => return self.missing(&path.key("hops"), "hops = 3"),
        };
        let bottleneck = self.required_link(table.bottleneck.as_ref(), &path.key("bottleneck"));
        let access = self.required_link(table.access.as_ref(), &path.key("access"));
        let routers: Vec<NodeId> = (1..=hops + 1).map(|number| self.add_node(&format!("R{number}"))).collect();
        for pair in routers.windows(2) {
            built.bottlenecks.push(LinkId::new(self.network.links.len()));
            let cable = self.between(pair[0], pair[1], &bottleneck, &path.key("bottleneck"), Limit::ONE_BDP);
            self.lay(&cable, &mut built.links);
        }
        for (number, &router) in (1..).zip(&routers) {
            let host = self.add_node(&format!("H{number}"));
            built.hosts.push(host);
            self.lay(&self.between(host, router, &access, &path.key("access"), Limit::UNLIMITED), &mut built.links);
        }
        if let (Some(&first), Some(&last)) = (built.hosts.first(), built.hosts.last()) {
            built.default_ends.push((first, last));
        }
    }

    fn build_explicit(&mut self, table: &Explicit, path: &FieldPath, built: &mut BuiltTopology) {
        let nodes = table.node.clone().unwrap_or_default();
        if nodes.0.is_empty() {
            self.missing(&path.key("node"), "[[topology.node]] with name = \"A\"");
        }
        for (index, node) in nodes.iter() {
            self.named_node(node, &path.key("node").index(index), built);
        }
        let mut joined = BTreeSet::new();
        let links = table.link.clone().unwrap_or_default();
        if links.0.is_empty() {
            self.missing(&path.key("link"), "[[topology.link]] with from, to, rate and delay");
        }
        let mut names = (0..nodes.0.len()).map(|index| path.key("node").index(index).key("name"));
        let are_named = !nodes.0.is_empty() && names.all(|name| !self.diagnostics.is_unread(&name));
        for (index, link) in links.iter() {
            let link_path = path.key("link").index(index);
            let ends = [("from", link.from.as_ref()), ("to", link.to.as_ref())]
                .map(|(field, name)| self.end(field, name, &link_path, are_named));
            let [Some(from), Some(to)] = ends else { continue };
            if from == to {
                self.report(&link_path.key("to"), "must be another node than from", "connect two different nodes");
                continue;
            }
            let table = link.link();
            let duplex = link.duplex.unwrap_or(true);
            if !duplex && link.reverse.is_some() {
                let what = "must not be set for a link without a reverse path";
                self.report(&link_path.key("reverse"), what, "remove it, or remove duplex = false");
            }
            let cable = Cable { duplex, ..self.between(from, to, &table, &link_path, Limit::UNLIMITED) };
            if !joined.insert((from, to)) || (duplex && !joined.insert((to, from))) {
                self.report(
                    &link_path,
                    "must connect two nodes that no other link connects",
                    "remove one of the two links",
                );
                continue;
            }
            self.lay(&cable, &mut built.links);
        }
    }

    /// The node at an end of a link; `are_named` is false if nodes or their names could not be read.
    fn end(&mut self, field: &str, name: Option<&String>, path: &FieldPath, are_named: bool) -> Option<NodeId> {
        let path = path.key(field);
        let Some(name) = name else {
            self.missing(&path, &format!("{field} = \"A\""));
            return None;
        };
        let found = self.node_ids.get(name).copied();
        if found.is_none() && are_named {
            let names: Vec<&str> = self.network.nodes.iter().map(|node| node.name.as_str()).collect();
            let remedy = suggest(name, &names);
            self.report(&path, "must be the name of a node", remedy);
        }
        found
    }
}

fn access_cable<'a>(name: String, ends: (NodeId, NodeId), table: &'a LinkTable, path: &FieldPath) -> Cable<'a> {
    Cable {
        reverse_name: format!("{name}.reverse"),
        name,
        ends,
        table,
        path: path.key("access"),
        default_limit: Limit::UNLIMITED,
        duplex: true,
    }
}
