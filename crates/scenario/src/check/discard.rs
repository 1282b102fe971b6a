//! Discard rules of links and nodes.

use std::sync::Arc;

use ackclock_declare::Context;
use ackclock_net::{DiscardRule as Rule, DiscarderConfig, NamedRule, NetworkConfig};

use super::declarations::read_part;
use super::links::PendingLink;
use super::location::Location;
use super::suggest;
use super::topology::NodeDiscard;
use super::traffic::FlowNumbers;
use crate::diagnostic::Diagnostics;
use crate::file::{DiscardRule, List};

/// Builds the discarders of links and nodes, once the name of every flow is known.
pub(crate) fn resolve_discards(
    network: &mut NetworkConfig,
    pending: &[Arc<PendingLink>],
    nodes: &[NodeDiscard],
    flow_numbers: &FlowNumbers,
    sink: &Diagnostics<'_>,
) {
    for (index, pending) in pending.iter().enumerate() {
        if let Some((path, rules)) = &pending.discard {
            let rules = discard_rules(rules, &sink.at(path), flow_numbers);
            let name = format!("link {}", network.links[index].name);
            network.links[index].discarder = add_discarder(&mut network.discarders, name, rules);
        }
    }
    for (node, path, rules) in nodes {
        let rules = discard_rules(rules, &sink.at(path), flow_numbers);
        let name = format!("node {}", network.node(*node).name);
        network.node_mut(*node).discarder = add_discarder(&mut network.discarders, name, rules);
    }
}

fn add_discarder(discarders: &mut Vec<DiscarderConfig>, name: String, rules: Vec<Rule>) -> Option<usize> {
    if rules.is_empty() {
        return None;
    }
    discarders.push(DiscarderConfig { name, rules });
    Some(discarders.len() - 1)
}

fn discard_rules(rules: &List<DiscardRule>, at: &Location<'_>, flow_numbers: &FlowNumbers) -> Vec<Rule> {
    let rule = |rule, at: &Location<'_>| {
        let NamedRule { flow, rule } = read_part(rule, &Context::default(), at);
        let remedy = "remove flow, and choose packets by class, position or time";
        let flows = flow.map(|name| numbers_of_flow(&name, &at.key("flow"), remedy, flow_numbers));
        Rule { flows, ..rule }
    };
    rules.iter().map(|(index, one)| rule(one, &at.index(index))).collect()
}

/// The numbers in packets of the named flow, or of the flows in the named group.
///
/// The `remedy` is for a group of short flows, whose packets have none.
pub(super) fn numbers_of_flow(name: &str, at: &Location<'_>, remedy: &str, flow_numbers: &FlowNumbers) -> Vec<usize> {
    let meant = flow_numbers.iter().filter(|(known, _)| known == name).map(|(_, number)| *number);
    let meant: Vec<Option<usize>> = meant.collect();
    if !at.sink.may_lack_flows() {
        if meant.is_empty() {
            let names = flow_numbers.iter().map(|(known, _)| known.as_str());
            at.report("must be the name of a flow", suggest(name, names));
        } else if meant.contains(&None) {
            let what = "must not be a group of short flows, whose packets have no number of their own";
            at.report(what, remedy);
        }
    }
    meant.into_iter().flatten().collect()
}
