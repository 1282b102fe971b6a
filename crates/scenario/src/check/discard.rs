//! Discard rules of links and nodes.

use std::sync::Arc;

use ackclock_declare::Context;
use ackclock_net::{DiscardRule as Rule, DiscarderConfig, NamedRule};

use super::declarations::read_part;
use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{DiscardRule, List};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    /// Builds the discarders, once the name of every flow is known.
    pub(crate) fn resolve_discards(&mut self, topology: &BuiltTopology) {
        for (index, pending) in topology.cables.pending.iter().enumerate() {
            if let Some((path, rules)) = &pending.discard {
                let name = format!("link {}", self.network.links[index].name);
                self.network.links[index].discarder = self.add_discarder(name, path, rules);
            }
        }
        for (node, path, rules) in &topology.node_discards {
            let name = format!("node {}", self.network.node(*node).name);
            self.network.node_mut(*node).discarder = self.add_discarder(name, path, rules);
        }
    }

    fn add_discarder(&mut self, name: String, path: &FieldPath, rules: &List<DiscardRule>) -> Option<usize> {
        let rules: Vec<Rule> = rules.iter().map(|(index, rule)| self.discard_rule(rule, &path.index(index))).collect();
        if rules.is_empty() {
            return None;
        }
        self.network.discarders.push(DiscarderConfig { name, rules });
        Some(self.network.discarders.len() - 1)
    }

    fn discard_rule(&mut self, rule: &DiscardRule, path: &FieldPath) -> Rule {
        let NamedRule { flow, rule } = read_part(rule, &Context::default(), path, self.diagnostics);
        let remedy = "remove flow, and choose packets by class, position or time";
        let flows = flow.map(|name| self.numbers_of_flow(&name, &path.key("flow"), remedy));
        Rule { flows, ..rule }
    }

    /// The numbers in packets of the named flow, or of the flows in the named group.
    ///
    /// The `remedy` is for a group of short flows, whose packets have none.
    pub(super) fn numbers_of_flow(&mut self, name: &str, path: &FieldPath, remedy: &str) -> Vec<usize> {
        let known = Arc::clone(&self.flow_numbers);
        let meant = known.iter().filter(|(known, _)| known == name).map(|(_, number)| *number);
        let meant: Vec<Option<usize>> = meant.collect();
        if !self.diagnostics.may_lack_flows() {
            if meant.is_empty() {
                let names: Vec<&str> = known.iter().map(|(known, _)| known.as_str()).collect();
                self.report(path, "must be the name of a flow", suggest(name, &names));
            } else if meant.contains(&None) {
                let what = "must not be a group of short flows, whose packets have no number of their own";
                self.report(path, what, remedy);
            }
        }
        meant.into_iter().flatten().collect()
    }
}
