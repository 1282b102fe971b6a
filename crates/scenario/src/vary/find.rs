//! Finds the places of a scenario whose values are drawn: tables with `uniform`, `log_uniform` or `choice`, except where
//! the format has a field of that name itself.

use super::meaning::Meaning;
use super::place::{Alternative, Distribution, Place, rounds};
use super::quantity::{Number, Unit, read_number};
use super::range::{Law, Range};
use crate::diagnostic::Diagnostics;
use crate::tree::{FieldPath, Node, Step, Value};

/// The most alternatives, each of which is tried when the scenario is loaded.
const MAX_ALTERNATIVES: usize = 1_000;

const WORDS: [&str; 3] = ["uniform", "log_uniform", "choice"];

/// Every place in `tree` whose value is drawn; mistakes in distributions go to `diagnostics`.
pub(crate) fn find_places(tree: &Node, diagnostics: &Diagnostics<'_>) -> Vec<Place> {
    if !mentions_a_distribution(tree) {
        return Vec::new();
    }
    let mut finder = Finder { diagnostics, found: Vec::new() };
    finder.look(tree, &FieldPath::default(), &FieldPath::default(), Meaning::of_scenario());
    finder.found
}

/// True if a table may be a distribution; false for most scenarios, which need no further search.
fn mentions_a_distribution(node: &Node) -> bool {
    match &node.value {
        Value::Table(entries) => {
            entries.iter().any(|(key, node)| WORDS.contains(&key.as_str()) || mentions_a_distribution(node))
        }
        Value::List(items) => items.iter().any(mentions_a_distribution),
        _ => false,
    }
}

struct Finder<'a, 'source> {
    diagnostics: &'a Diagnostics<'source>,
    found: Vec<Place>,
}

impl Finder<'_, '_> {
    /// Searches `node`, at `path` in the scenario or alternative, and at `name` in the whole text.
    fn look(&mut self, node: &Node, path: &FieldPath, name: &FieldPath, meaning: Meaning) {
        match &node.value {
            Value::Table(entries) => {
                let meaning = meaning.of_node(node);
                let word = WORDS.iter().find(|word| node.child(&key(word)).is_some() && !meaning.has_field(word));
                if let Some(word) = word {
                    let distribution = self.distribution(word, node, name, &meaning);
                    let (path, name) = (path.clone(), name.to_string());
                    return self.found.push(Place { path, name, text: node.to_text(), distribution });
                }
                for (field, child) in entries {
                    let step = key(field);
                    self.look(child, &path.step(step.clone()), &name.step(step), meaning.of_field(field));
                }
            }
            Value::List(items) => {
                let meaning = meaning.of_item();
                for (index, item) in items.iter().enumerate() {
                    self.look(item, &path.index(index), &name.index(index), meaning.clone());
                }
            }
            _ => {}
        }
    }

    /// The distribution that `node` is, by its field `word`.
    fn distribution(&mut self, word: &str, node: &Node, name: &FieldPath, meaning: &Meaning) -> Distribution {
        let place = name.to_string();
        if place == "seed" {
            self.report(name, "must not be drawn: it is the seed of all draws", "write a number");
            return Distribution::Wrong;
        }
        if name.0.first() == Some(&key("use")) {
            let remedy = "write the modules themselves, as in use = [\"mine.py\"]";
            self.report(name, "must not be drawn: every draw has the parts that it brings", remedy);
            return Distribution::Wrong;
        }
        if name.0.is_empty() {
            let remedy = "draw values within it, such as duration = { choice = [\"10 s\", \"20 s\"] }";
            self.diagnostics.report_key(&name.step(key(word)), "must not replace the whole scenario", remedy);
            return Distribution::Wrong;
        }
        if name.0.last() == Some(&key("kind")) {
            let remedy = "draw the whole table: { choice = [{ kind = ..., ... }, { kind = ..., ... }] }";
            self.report(name, "must not be drawn alone, since each kind has fields of its own", remedy);
            return Distribution::Wrong;
        }
        if let Some(other) = other_field(node, word) {
            let remedy = format!("keep one of the two; a table with {word} is a value, and has no other field");
            let what = format!("must not be combined with {word:?}");
            self.diagnostics.report_key(&name.step(key(other)), what, remedy);
            return Distribution::Wrong;
        }
        let (Some(content), name) = (node.child(&key(word)), name.step(key(word))) else { return Distribution::Wrong };
        match word {
            "choice" => self.choice(content, &name, meaning),
            "uniform" => self.range(Law::Uniform, content, &name, meaning),
            _ => self.range(Law::LogUniform, content, &name, meaning),
        }
    }

    fn choice(&mut self, content: &Node, name: &FieldPath, meaning: &Meaning) -> Distribution {
        let Value::List(items) = &content.value else {
            self.report(name, "must be a list", "write it like choice = [\"10 ms\", \"50 ms\"]");
            return Distribution::Wrong;
        };
        if items.is_empty() {
            self.report(name, "must hold at least one value", "give at least one value");
            return Distribution::Wrong;
        }
        let mut alternatives = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let outer = std::mem::take(&mut self.found);
            self.look(item, &FieldPath::default(), &name.index(index), meaning.clone());
            let places = std::mem::replace(&mut self.found, outer);
            alternatives.push(Alternative { node: item.clone(), places });
        }
        let all: usize = alternatives.iter().map(|one| rounds(&one.places)).sum();
        if all > MAX_ALTERNATIVES {
            let what =
                format!("must hold at most 1000 alternatives: it has {all}, those of choices within it included");
            self.report(name, &what, "give at most 1000, or draw a number from a range");
            return Distribution::Wrong;
        }
        Distribution::Choice(alternatives)
    }

    fn range(&mut self, law: Law, content: &Node, name: &FieldPath, meaning: &Meaning) -> Distribution {
        let ends = match &content.value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        let [low, high] = ends else {
            self.report(name, "must be a range", "give its two ends, like [\"10 ms\", \"50 ms\"] or [1, 8]");
            return Distribution::Wrong;
        };
        let (low, high) = (self.end(low, &name.index(0)), self.end(high, &name.index(1)));
        let (Some(low), Some(high)) = (low, high) else { return Distribution::Wrong };
        match Range::new(law, low, high, meaning.is_real()) {
            Ok(range) => Distribution::Range(range),
            Err((what, remedy)) => {
                self.report(name, &what, &remedy);
                Distribution::Wrong
            }
        }
    }

    fn end(&mut self, node: &Node, name: &FieldPath) -> Option<(Unit, Number)> {
        let number = read_number(&node.value);
        if number.is_none() {
            let remedy = "write a number, or a string like \"30 ms\", \"10 Mbit/s\", \"64 kB\", \"100 packets\", \
                          \"1 bdp\"; draw anything else with choice";
            self.report(name, "must be the end of a range", remedy);
        }
        number
    }

    fn report(&mut self, name: &FieldPath, what: &str, remedy: &str) {
        self.diagnostics.report(name, what, remedy);
    }
}

fn key(word: &str) -> Step {
    Step::Key(word.to_owned())
}

/// The first field of `node` that is not `word`.
fn other_field<'a>(node: &'a Node, word: &str) -> Option<&'a str> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().map(|(field, _)| field.as_str()).find(|field| *field != word)
}
