//! Discard rules of links and nodes.

use ackclock_net::{DiscardRule as Rule, DiscarderConfig, PacketClass, Selection};
use ackclock_sim::FlowConfig;
use ackclock_units::SimTime;

use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{DiscardRule, Duration, List};
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
        let filter = rule.filter();
        let flow = filter.flow.as_ref().and_then(|name| {
            let found = flows.iter().position(|flow| flow.name == *name);
            if found.is_none() {
                let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
                if !self.diagnostics.has_mistake_in("flow") {
                    self.report(&path.key("flow"), "must be the name of a flow", suggest(name, &names));
                }
            }
            found.and_then(|position| self.flow_number(position, &path.key("flow")))
        });
        let time = |time: Option<Duration>, default| time.map_or(default, |time| SimTime(time.0.0));
        let (from, until) = (time(filter.from, SimTime::ZERO), time(filter.until, SimTime::NEVER));
        if from >= until {
            self.report(&path.key("until"), "must be later than from", "let until be later than from");
        }
        let selection = self.selection(rule, path);
        Rule {
            class: filter.of.map_or(PacketClass::Any, Into::into),
            flows: flow.map(|flow| vec![flow]),
            from,
            until,
            selection,
        }
    }

    /// The number by which packets of the flow at this position are known.
    pub(crate) fn flow_number(&mut self, position: usize, path: &FieldPath) -> Option<usize> {
        let number = self.flow_traits.get(position).and_then(|traits| traits.number);
        if number.is_none() && self.diagnostics.is_empty() {
            let remedy = "remove flow, and choose packets by class, position or time";
            self.report(path, "must not be a group of short flows, which a rule cannot tell from others", remedy);
        }
        number
    }

    fn selection(&mut self, rule: &DiscardRule, path: &FieldPath) -> Selection {
        match rule {
            DiscardRule::Nth(rule) => Selection::Positions(vec![self.position(rule.n, &path.key("n"))]),
            DiscardRule::List(rule) => {
                let positions = rule.positions.clone().unwrap_or_default();
                let list_path = path.key("positions");
                if positions.0.is_empty() {
                    self.missing(&list_path, "positions = [5, 9]");
                }
                let checked =
                    positions.iter().map(|(index, n)| self.position(Some(*n), &list_path.index(index))).collect();
                Selection::Positions(checked)
            }
            DiscardRule::Range(rule) => {
                let first = self.position(rule.first, &path.key("first"));
                let last = self.position(rule.last, &path.key("last"));
                if last < first {
                    self.report(&path.key("last"), "must be no less than first", format!("use at least {first}"));
                }
                Selection::Range(first, last)
            }
            DiscardRule::Every(rule) => Selection::Every(self.position(rule.k, &path.key("k"))),
            DiscardRule::Probability(rule) => {
                let p = rule.p.unwrap_or_else(|| {
                    self.missing(&path.key("p"), "p = 0.01");
                    0.0
                });
                if !(0.0..=1.0).contains(&p) {
                    self.report(&path.key("p"), "must be 0 to 1", "write the probability of a loss, such as 0.01");
                }
                Selection::Probability(p)
            }
            DiscardRule::Window(rule) => {
                if rule.from.is_none() && rule.until.is_none() {
                    self.missing(&path.key("from"), "from = \"1 s\" or until = \"2 s\", or both");
                }
                Selection::All
            }
        }
    }

    /// A count from 1.
    fn position(&mut self, position: Option<u64>, path: &FieldPath) -> u64 {
        match position {
            None => self.missing(path, "5"),
            Some(0) => self.report(path, "must be at least 1", "write which packet, counted from 1"),
            Some(position) => return position,
        }
        1
    }
}
