//! Decides which flows an appliance takes.

use std::collections::BTreeSet;

use ackclock_net::NodeId;
use ackclock_sim::FlowConfig;

use super::appliances::AppliancePlan;
use super::location::Location;
use super::plans::FlowPlan;
use super::splits::OnTheWay;
use super::suggest;
use super::topology::BuiltTopology;
use crate::file::{List, Names};

/// The flows that an appliance may take, if they cross it.
pub(crate) struct Taken<'a> {
    /// The permission for each planned flow.
    allowed: Vec<bool>,
    /// The flows that are named, and their places.
    named: Vec<(usize, Location<'a>)>,
}

impl Taken<'_> {
    /// True if the flow at this position may be taken.
    pub(crate) fn holds(&self, position: usize) -> bool {
        self.allowed[position]
    }

    /// Withdraws the permission of flows for which `is_wanted` is false.
    fn keep(&mut self, is_wanted: impl Fn(usize) -> bool) {
        for (position, allowed) in self.allowed.iter_mut().enumerate() {
            *allowed &= is_wanted(position);
        }
    }
}

/// The flows that the appliance's entry allows; unknown names are mistakes.
pub(super) fn taken<'a>(
    appliance: &AppliancePlan<'a>,
    plans: &[FlowPlan<'_>],
    flows: &[FlowConfig],
    topology: &BuiltTopology,
) -> Taken<'a> {
    let allowed = plans.iter().map(FlowPlan::is_tcp).collect();
    let mut taken = Taken { allowed, named: Vec::new() };
    let Some(table) = appliance.table.and_then(|table| table.take.as_ref()) else { return taken };
    let at = appliance.at.key("take");
    if let Some(names) = &table.flows {
        taken.named = named_flows(names, &at.key("flows"), plans);
        let wanted: BTreeSet<usize> = taken.named.iter().map(|(position, _)| *position).collect();
        taken.keep(|position| wanted.contains(&position));
    }
    if let Some(names) = &table.from {
        let hosts = named_hosts(names, &at.key("from"), topology);
        taken.keep(|position| flows.get(position).is_some_and(|flow| hosts.contains(&flow.from)));
    }
    if let Some(names) = &table.to {
        let hosts = named_hosts(names, &at.key("to"), topology);
        taken.keep(|position| flows.get(position).is_some_and(|flow| hosts.contains(&flow.to)));
    }
    if let Some(names) = &table.controller {
        check_controllers(names, &at.key("controller"), plans);
        taken.keep(|position| names.each().iter().any(|(_, name)| has_controller(&plans[position], name)));
    }
    if let Some(ports) = &table.port {
        check_ports(ports, &at.key("port"), plans);
        taken.keep(|position| ports.iter().any(|(_, port)| *port == plans[position].port()));
    }
    taken
}

fn named_flows<'a>(names: &Names, at: &Location<'a>, plans: &[FlowPlan<'_>]) -> Vec<(usize, Location<'a>)> {
    let mut found = Vec::new();
    for (place, name) in at.each(names) {
        let is_meant = |plan: &FlowPlan<'_>| plan.name == name || plan.entry_name() == name;
        let positions: Vec<usize> = (0..plans.len()).filter(|&position| is_meant(&plans[position])).collect();
        if positions.is_empty() && !at.sink.may_lack_flows() {
            let mut known: Vec<&str> = plans.iter().flat_map(|plan| [plan.entry_name(), &plan.name]).collect();
            known.dedup();
            place.report("must be the name of a flow", suggest(name, known));
        }
        if positions.iter().any(|&position| !plans[position].is_tcp()) {
            let what = format!("must name flows of TCP: {name:?} sends datagrams, which cannot be split");
            place.report(what, "remove it; name flows of TCP, or groups of short ones");
        }
        found.extend(positions.into_iter().map(|position| (position, place.clone())));
    }
    found
}

fn named_hosts(names: &Names, at: &Location<'_>, topology: &BuiltTopology) -> Vec<NodeId> {
    at.each(names).filter_map(|(place, name)| topology.host(name, &place)).collect()
}

fn check_controllers(names: &Names, at: &Location<'_>, plans: &[FlowPlan<'_>]) {
    for (place, name) in at.each(names) {
        if !plans.iter().any(|plan| has_controller(plan, name)) {
            let known: BTreeSet<String> = plans.iter().map(|plan| plan.controller.name()).collect();
            let remedy = suggest(name, known.iter().map(String::as_str));
            place.report("must be the controller of some flow", remedy);
        }
    }
}

fn check_ports(ports: &List<u16>, at: &Location<'_>, plans: &[FlowPlan<'_>]) {
    let known: BTreeSet<u16> = plans.iter().map(FlowPlan::port).collect();
    for (index, port) in ports.iter().filter(|(_, port)| !known.contains(port)) {
        let remedy = format!("write port = {port} at a flow, or use one of {known:?}");
        at.index(index).report("must be the port of some flow", remedy);
    }
}

/// Reports an appliance that takes no flow, and a named flow that does not cross it.
pub(super) fn check_crossings(
    appliance: &AppliancePlan<'_>,
    index: usize,
    node: &str,
    taken: &Taken<'_>,
    plans: &[FlowPlan<'_>],
    ways: &[OnTheWay],
) {
    let mut named = taken.named.iter().filter(|(position, _)| !ways[*position].crosses(index)).peekable();
    let is_any_astray = named.peek().is_some();
    for (position, place) in named {
        let way = &ways[*position];
        let what = match (way.there.contains(&index), way.back.contains(&index)) {
            (true, false) => "does not come back over",
            (false, true) => "crosses on the reverse path only",
            _ => "does not cross",
        };
        let remedy = "remove it, or let both of its ways lead over the node";
        place.report(format!("the flow {:?} {what} the node {node:?}", plans[*position].name), remedy);
    }
    let is_taken = |position: usize| taken.holds(position) && ways[position].crosses(index);
    if !is_any_astray && !(0..plans.len()).any(is_taken) {
        let (field, what) = match appliance.table {
            None => ("kind", format!("must be crossed by some connection there and back: none crosses {node:?}")),
            Some(table) if table.take.is_none() => {
                ("node", format!("must be crossed by some connection there and back: none crosses {node:?}"))
            }
            Some(_) => ("take", format!("must allow some connection that crosses the node {node:?} there and back")),
        };
        let remedy = "let a flow cross it, or remove the appliance";
        appliance.at.key(field).report(what, remedy);
    }
}

fn has_controller(plan: &FlowPlan<'_>, name: &str) -> bool {
    plan.controller.name() == name || plan.controller.kind() == name
}
