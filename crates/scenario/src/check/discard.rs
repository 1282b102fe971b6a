//! Discard rules of links and nodes.

use ackclock_declare::Context;
use ackclock_net::{DiscardRule as Rule, DiscarderConfig, NamedRule};
use ackclock_sim::FlowConfig;
use ackclock_units::SimTime;

use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{DiscardRule, List};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    /// Makes the discarders, now that every flow's name is known.
    pub(crate) fn resolve_discards(&mut self, topology: &BuiltTopology, flows: &[FlowConfig]) {
        for (index, pending) in topology.links.iter().enumerate() {
            if let Some((path, rules)) = &pending.discard {
                let name = format!("link {}", self.network.links[index].name);
                self.network.links[index].discarder = self.add_discarder(name, path, rules, flows);
            }
        }
        for (node, path, rules) in &topology.node_discards {
            let name = format!("node {}", self.network.node(*node).name);
            self.network.node_mut(*node).discarder = self.add_discarder(name, path, rules, flows);
        }
    }

    fn add_discarder(
        &mut self,
        name: String,
        path: &FieldPath,
        rules: &List<DiscardRule>,
        flows: &[FlowConfig],
    ) -> Option<usize> {
        let rules: Vec<Rule> =
            rules.iter().map(|(index, rule)| self.discard_rule(rule, &path.index(index), flows)).collect();
        if rules.is_empty() {
            return None;
        }
        self.network.discarders.push(DiscarderConfig { name, rules });
        Some(self.network.discarders.len() - 1)
    }

    fn discard_rule(&mut self, rule: &DiscardRule, path: &FieldPath, flows: &[FlowConfig]) -> Rule {
        let NamedRule { flow, rule } = self.chosen(rule, &Context::default(), path);
        if self.is_over_at(rule.from.saturating_since(SimTime::ZERO)) {
            let remedy = format!("use a time before the end of the run at {}, or remove the rule", self.run_end());
            self.report(&path.key("from"), "must be before the end of the run", remedy);
        }
        let remedy = "remove flow, and choose packets by class, position or time";
        let flow = flow.and_then(|name| self.number_of_flow(&name, &path.key("flow"), flows, remedy));
        Rule { flows: flow.map(|flow| vec![flow]), ..rule }
    }

    /// The number by which packets of the named flow are known; `remedy` is for a group of short flows, whose packets have none.
    pub(super) fn number_of_flow(
        &mut self,
        name: &str,
        path: &FieldPath,
        flows: &[FlowConfig],
        remedy: &str,
    ) -> Option<usize> {
        let found = flows.iter().position(|flow| flow.name == name);
        if found.is_none() && !self.diagnostics.may_lack_flows() {
            let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
            self.report(path, "must be the name of a flow", suggest(name, &names));
        }
        let number = self.flow_traits.get(found?).and_then(|traits| traits.number);
        if number.is_none() && !self.diagnostics.may_lack_flows() {
            self.report(path, "must not be a group of short flows, whose packets have no number of their own", remedy);
        }
        number
    }
}
