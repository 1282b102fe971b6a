//! Decides which flows each appliance splits, and builds the ends of their connections.

use std::collections::{BTreeMap, BTreeSet};

use ackclock_cc::Stack;
use ackclock_net::{LinkConfig, NetworkConfig, NodeId, RandomStream, Router};
use ackclock_sim::{FlowConfig, SideConfig, SplitConfig};
use ackclock_tcp::{EcnMode, TcpConfig};

use super::appliances::{AppliancePlan, SidePlan};
use super::controllers::check_needs;
use super::plans::FlowPlan;
use super::take::{Taken, check_crossings, taken};
use super::tcp::tcp;
use super::topology::BuiltTopology;
use super::traffic::{Role, role};
use crate::diagnostic::Diagnostics;

/// Connections that appliances split: each kind is in order of the flow, then along the flow's path.
#[derive(Default)]
pub(crate) struct Splits {
    pub(crate) connections: Vec<SplitConfig>,
    /// Splits of groups of short flows, which are numbered separately.
    pub(crate) groups: Vec<SplitConfig>,
}

impl Splits {
    /// The splits of one group.
    pub(crate) fn of_group(&self, group: usize) -> Vec<SplitConfig> {
        self.groups.iter().filter(|split| split.flow == group).cloned().collect()
    }
}

/// The appliances on the path of a flow, forward and on the reverse path, in order.
#[derive(Default)]
pub(crate) struct OnTheWay {
    pub(crate) there: Vec<usize>,
    pub(crate) back: Vec<usize>,
}

impl OnTheWay {
    pub(crate) fn crosses(&self, appliance: usize) -> bool {
        self.there.contains(&appliance) && self.back.contains(&appliance)
    }
}

/// The splits of all flows.
pub(crate) fn splits(
    appliances: &[AppliancePlan<'_>],
    plans: &[FlowPlan<'_>],
    flows: &[FlowConfig],
    topology: &BuiltTopology,
    seed: u64,
    is_whole: bool,
    sink: &Diagnostics<'_>,
) -> Splits {
    if appliances.is_empty() {
        return Splits::default();
    }
    let network = &topology.network;
    if is_whole {
        check_no_ends(appliances, flows, network);
    }
    let taken: Vec<Taken<'_>> = appliances.iter().map(|plan| taken(plan, plans, flows, topology)).collect();
    if !is_whole || sink.has_mistake_in("flow") || sink.has_mistake_in("appliance") {
        return Splits::default(); // a network with mistakes lacks links, a scenario with mistakes flows
    }
    let ways = ways(appliances, flows, network);
    for (index, (appliance, taken)) in appliances.iter().zip(&taken).enumerate() {
        let node = &network.node(appliance.config.node).name;
        check_crossings(appliance, index, node, taken, plans, &ways);
    }
    let mut splits = Splits::default();
    for kind in [Kind::Connection, Kind::Group] {
        let mut found = Vec::new();
        let positions: Vec<usize> =
            (0..plans.len()).filter(|&position| kind_of(&plans[position]) == Some(kind)).collect();
        for (number, &position) in positions.iter().enumerate() {
            let is_split_by = |appliance: &usize| {
                plans[position].is_tcp() && taken[*appliance].holds(position) && ways[position].crosses(*appliance)
            };
            let there = along(&plans[position], &ways[position], is_split_by);
            found.extend(split(number, &plans[position], &there, appliances, seed));
        }
        let flows: Vec<_> = positions.iter().map(|&position| (&plans[position], &flows[position])).collect();
        check_sections(&found, appliances, &flows, &network.links);
        match kind {
            Kind::Connection => splits.connections = found,
            Kind::Group => splits.groups = found,
        }
    }
    splits
}

/// The appliances that split a flow, in the order of its path.
fn along(plan: &FlowPlan<'_>, way: &OnTheWay, is_split_by: impl Fn(&usize) -> bool) -> Vec<usize> {
    let there: Vec<usize> = way.there.iter().filter(|index| is_split_by(index)).copied().collect();
    if !there.iter().rev().eq(way.back.iter().filter(|index| is_split_by(index))) {
        let what = "must cross its appliances in the same order both ways";
        plan.at.report(what, "let both directions be routed over the same nodes");
    }
    there
}

/// Splits one flow at the appliances that take it.
fn split(
    number: usize,
    plan: &FlowPlan<'_>,
    there: &[usize],
    appliances: &[AppliancePlan<'_>],
    seed: u64,
) -> Vec<SplitConfig> {
    let split = |(place, &index): (usize, &usize)| {
        let appliance = &appliances[index];
        let (mut near, far) = (side_for(plan, appliance, "near", seed), side_for(plan, appliance, "far", seed));
        if place == 0 {
            // It tells the sender of marks as that one's controller wants to be told.
            let marks = Stack { loss_recovery: None, ..plan.controller.stack() };
            let stacks = [appliance.near.controller.stack(), marks];
            near.tcp = tcp(&appliance.near.layers, &stacks, plan.at.sink);
        }
        SplitConfig { flow: number, appliance: index, near, far }
    };
    there.iter().enumerate().map(split).collect()
}

/// Rejects an appliance on a node at which flows begin or end.
fn check_no_ends(appliances: &[AppliancePlan<'_>], flows: &[FlowConfig], network: &NetworkConfig) {
    for appliance in appliances {
        let node = appliance.config.node;
        let is_found = network.nodes.get(node.index()).is_some_and(|node| appliance.node_name() == Some(&node.name));
        if is_found && let Some(flow) = flows.iter().find(|flow| flow.from == node || flow.to == node) {
            let what = format!("must be a router: the flow {:?} begins or ends there", flow.name);
            appliance.at.key("node").report(what, "choose a node between the hosts");
        }
    }
}

fn ways(appliances: &[AppliancePlan<'_>], flows: &[FlowConfig], network: &NetworkConfig) -> Vec<OnTheWay> {
    let by_node: BTreeMap<NodeId, usize> =
        appliances.iter().enumerate().map(|(index, plan)| (plan.config.node, index)).collect();
    let mut router = Router::new(network);
    let mut between = |from: NodeId, to: NodeId| -> Vec<usize> {
        let links = router.shortest_path(from, to).unwrap_or_default();
        links.iter().filter_map(|&link| by_node.get(&network.link(link).to).copied()).collect()
    };
    let way = |flow: &FlowConfig| OnTheWay { there: between(flow.from, flow.to), back: between(flow.to, flow.from) };
    flows.iter().map(way).collect()
}

/// The end of an appliance for one flow, with a random stream of its own.
fn side_for(plan: &FlowPlan<'_>, appliance: &AppliancePlan<'_>, which: &str, seed: u64) -> SideConfig {
    let side = if which == "near" { &appliance.near.side } else { &appliance.far.side };
    let stream = format!("appliance {} {which} {}", appliance.config.name, plan.name);
    let seed = RandomStream::new(seed, &stream).bits();
    SideConfig { controller: side.controller.clone().seeded(seed), ..side.clone() }
}

/// Checks the requirements that both ends of each connection must share.
fn check_sections(
    splits: &[SplitConfig],
    appliances: &[AppliancePlan<'_>],
    flows: &[(&FlowPlan<'_>, &FlowConfig)],
    links: &[LinkConfig],
) {
    let mut without_ecn = BTreeSet::new();
    for (index, split) in splits.iter().enumerate() {
        let (plan, flow) = flows[split.flow];
        let appliance = &appliances[split.appliance];
        let before = index.checked_sub(1).map(|index| &splits[index]).filter(|before| before.flow == split.flow);
        let ends = [before.map_or(*flow.sender, |before| before.far.tcp), split.near.tcp];
        match before {
            None => check_needs(&plan.controller, &ends, &plan.at.key("controller"), links),
            Some(before) => check_side(&appliances[before.appliance].far, &ends, links),
        }
        check_side(&appliance.near, &ends, links);
        if splits.get(index + 1).is_none_or(|next| next.flow != split.flow) {
            check_side(&appliance.far, &[split.far.tcp, *flow.receiver], links);
        }
        if appliance.config.discipline.raises_ece() && !agrees_on_ecn(&ends) && without_ecn.insert(split.appliance) {
            let what = format!(
                "must have ECN on the near side, as it raises ECE: there is none with the sender of {:?}",
                flow.name
            );
            let remedy = "write tcp = { ecn = \"request\" } at the top; or give the flow's sender_tcp ecn = \"request\" \
                          and near.tcp ecn = \"accept\"";
            appliance.at.key("buffer_policy").report(what, remedy);
        }
    }
}

fn check_side(side: &SidePlan<'_>, ends: &[TcpConfig; 2], links: &[LinkConfig]) {
    check_needs(&side.controller, ends, &side.at.key("controller"), links);
}

/// The kind of traffic that an appliance can split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connection,
    Group,
}

/// The kind of a flow's traffic; `None` for datagrams.
fn kind_of(plan: &FlowPlan<'_>) -> Option<Kind> {
    match role(plan.table) {
        Role::Connection => Some(Kind::Connection),
        Role::Arrivals(_) => Some(Kind::Group),
        Role::Datagrams(_) => None,
    }
}

/// True if ECN is negotiated: the opener asks for it, and the acceptor agrees.
fn agrees_on_ecn([opener, acceptor]: &[TcpConfig; 2]) -> bool {
    opener.ecn.mode == EcnMode::Request && acceptor.ecn.mode != EcnMode::Off
}
