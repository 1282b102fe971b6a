//! The meaning of a place in the format, from its own JSON Schema: whether a table there has a field of its own that is
//! called like a distribution, and whether a number there may have decimals.

use std::sync::LazyLock;

use ackclock_declare::{is_slip, known_as};
use serde_json::Value as Json;

use crate::check::suggest_described;
use crate::tree::{FieldPath, Node, Step, Value};

/// The most places in a remedy where a field may belong.
const MOST_MEANT: usize = 3;

static SCHEMA: LazyLock<Json> = LazyLock::new(|| schemars::schema_for!(crate::file::ScenarioFile).to_value());

/// The schemas that may apply at a place; none where the format takes anything, or has no such place.
#[derive(Clone, Debug)]
pub(crate) struct Meaning(Vec<&'static Json>);

impl Meaning {
    /// The meaning of a whole scenario.
    pub(crate) fn of_scenario() -> Self {
        Self::of(&SCHEMA)
    }

    /// The meaning of `node`, which stands at this place: a table with a `kind` is of this kind only.
    pub(crate) fn of_node(mut self, node: &Node) -> Self {
        let kind = node.child(&Step::Key("kind".to_owned())).map(|kind| &kind.value);
        if let Some(Value::Text(kind)) = kind {
            let is_other = |known: &Json| known.as_str() != Some(kind);
            self.0.retain(|schema| !kind_of(schema).is_some_and(is_other));
        }
        self
    }

    /// The meaning of the field `key` of this table.
    pub(crate) fn of_field(&self, key: &str) -> Self {
        self.found_by(|schema| schema.get("properties")?.get(key))
    }

    /// The meaning of each item of this list.
    pub(crate) fn of_item(&self) -> Self {
        self.found_by(|schema| schema.get("items"))
    }

    /// The meaning of the value at `step` of this table or list.
    pub(crate) fn below(&self, step: &Step) -> Self {
        match step {
            Step::Key(key) => self.of_field(key),
            Step::Index(_) => self.of_item(),
        }
    }

    /// True if a table has a field `key` here, or any field.
    pub(crate) fn has_field(&self, key: &str) -> bool {
        let has = |schema: &&Json| {
            let is_open = schema.get("additionalProperties").is_some_and(|more| *more != Json::Bool(false));
            is_open || schema.get("properties").is_some_and(|known| known.get(key).is_some())
        };
        self.0.iter().any(has)
    }

    /// True if a number may have decimals here: one is then drawn with them, whatever the ends of its range.
    pub(crate) fn is_real(&self) -> bool {
        let is = |schema: &&Json, name: &str| match schema.get("type") {
            Some(Json::String(only)) => only == name,
            Some(Json::Array(several)) => several.iter().any(|one| one == name),
            _ => false,
        };
        self.0.iter().any(|schema| is(schema, "number")) && !self.0.iter().any(|schema| is(schema, "integer"))
    }

    /// The meaning of the value at `path` in a scenario.
    pub(crate) fn at(scenario: &Node, path: &FieldPath) -> Self {
        let mut meaning = Self::of_scenario().of_node(scenario);
        for depth in 1..=path.0.len() {
            meaning = meaning.below(&path.0[depth - 1]);
            if let Some(node) = scenario.at(&FieldPath(path.0[..depth].to_vec())) {
                meaning = meaning.of_node(node);
            }
        }
        meaning
    }

    /// The kinds that may stand here, each with its description.
    pub(crate) fn kinds(&self) -> Vec<(&'static str, &'static str)> {
        let of_kind = |schema: &&'static Json| Some((kind_of(schema)?.as_str()?, said_of(schema)));
        self.0.iter().filter_map(of_kind).collect()
    }

    /// The remedy for an unknown `key` of `table`, whose fields are `known`; and the fields that the remedy names.
    pub(crate) fn instead_of<'a>(
        &self,
        key: &str,
        table: Option<&Node>,
        known: &[&'a str],
        path: &FieldPath,
    ) -> (String, Vec<&'a str>) {
        let said =
            |name: &str| self.fields().find(|(field, _)| *field == name).map_or("", |(_, schema)| said_of(schema));
        let described: Vec<(&'a str, &str)> = known.iter().map(|name| (*name, said(name))).collect();
        let own = |&(name, said): &(&'a str, &str)| Some((name, format!("{name} = ...{}", note(known_as(said, key)?))));
        let (names, written): (Vec<_>, Vec<_>) = described.iter().filter_map(own).unzip();
        let is_near = known.iter().any(|name| is_slip(key, name));
        let written = if names.is_empty() && key != "kind" && !is_near { self.in_tables(key, table) } else { written };
        if !written.is_empty() {
            return (format!("write {}", written[..written.len().min(MOST_MEANT)].join(", or ")), names);
        }
        let (remedy, meant) = suggest_described(key, &described);
        let keys = path.0.iter().filter_map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None });
        match meant[..] {
            [name] if self.of_field(name).is_list_of_tables() => {
                let table = keys.chain([name]).collect::<Vec<_>>().join(".");
                (format!("{remedy}; write [[{table}]] for each"), meant)
            }
            _ => (remedy, meant),
        }
    }

    /// The fields of tables within this one that `key` may mean, each as it is written.
    fn in_tables(&self, key: &str, table: Option<&Node>) -> Vec<String> {
        let within = |(name, field): (&String, &'static Json)| {
            let written = table.and_then(|table| table.child(&Step::Key(name.clone())));
            let meaning = Self::of(field);
            match written {
                Some(node) => meaning.of_node(node).meant_within(name, key, true),
                None if name == "controller" => None, // which of forty algorithms has it tells nothing
                None => meaning.meant_within(name, key, false),
            }
        };
        self.fields().filter_map(within).collect()
    }

    /// The field that `key` may mean in a table called `name`: in the first of its kinds with such a field.
    ///
    /// Words of the table and of a field of one of its kinds, as `loss_rate`, mean that field only if the kind is
    /// written.
    fn meant_within(&self, name: &str, key: &str, is_written: bool) -> Option<String> {
        self.0.iter().find_map(|table| {
            let is_certain = is_written || kind_of(table).is_none();
            let fields = table.get("properties").and_then(Json::as_object)?;
            let (field, other) = fields.iter().find_map(|(field, schema)| {
                let other = known_as(said_of(schema), key).map(note);
                let both = || known_as(&format!("({name} {field}, {field} {name})"), key).is_some();
                (field == key || other.is_some() || is_certain && both()).then(|| (field, other.unwrap_or_default()))
            })?;
            let kind = kind_of(table).map_or_else(String::new, |kind| format!("kind = {kind}, "));
            Some(format!("{name} = {{ {kind}{field} = ... }}{other}"))
        })
    }

    fn is_list_of_tables(&self) -> bool {
        let items = self.of_item().0;
        !items.is_empty() && items.iter().all(|item| item.get("properties").is_some())
    }

    /// Every field of the tables that may stand here.
    fn fields(&self) -> impl Iterator<Item = (&'static String, &'static Json)> {
        self.0.iter().filter_map(|table| table.get("properties")?.as_object()).flatten()
    }

    fn of(schema: &'static Json) -> Self {
        let mut found = Vec::new();
        collect(schema, &mut found);
        Self(found)
    }

    fn found_by(&self, find: impl Fn(&'static Json) -> Option<&'static Json>) -> Self {
        Self(self.0.iter().filter_map(|schema| find(schema)).flat_map(|schema| Self::of(schema).0).collect())
    }
}

/// A note such as ", which is OPNET's Initial RTO", if the mention names a system, another measure or a mechanism.
fn note(mention: &str) -> String {
    let is_telling = mention.contains("'s ") || mention.contains(' ') && mention.starts_with(char::is_lowercase);
    if is_telling { format!(", which is {mention}") } else { String::new() }
}

fn said_of(schema: &'static Json) -> &'static str {
    schema.get("description").and_then(Json::as_str).unwrap_or_default()
}

fn kind_of(schema: &'static Json) -> Option<&'static Json> {
    schema.pointer("/properties/kind/const")
}

/// Collects `schema`, or the schema that it refers to, or each of its alternatives.
fn collect(schema: &'static Json, found: &mut Vec<&'static Json>) {
    if let Some(name) = schema.get("$ref").and_then(Json::as_str) {
        if let Some(target) = name.strip_prefix('#').and_then(|pointer| SCHEMA.pointer(pointer)) {
            collect(target, found);
        }
        return;
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let before = found.len();
    alternatives.for_each(|alternative| collect(alternative, found));
    if found.len() == before {
        found.push(schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(keys: &[&str]) -> Meaning {
        keys.iter().fold(Meaning::of_scenario(), |meaning, key| match *key {
            "[]" => meaning.of_item(),
            key => meaning.of_field(key),
        })
    }

    #[test]
    fn sizes_have_a_uniform_of_their_own_and_rates_have_none() {
        assert!(at(&["flow", "[]", "arrivals", "size"]).has_field("uniform"));
        assert!(!at(&["flow", "[]", "arrivals", "size"]).has_field("choice"));
        assert!(!at(&["topology", "bottleneck", "rate"]).has_field("uniform"));
        assert!(!at(&["flow", "[]", "start"]).has_field("uniform"));
    }

    #[test]
    fn probabilities_have_decimals_and_counts_have_none() {
        assert!(at(&["topology", "bottleneck", "loss", "p"]).is_real());
        assert!(!at(&["flow", "[]", "count"]).is_real());
        assert!(!at(&["tcp", "mss"]).is_real());
        assert!(!at(&["no", "such", "place"]).is_real());
    }

    fn instead_of(keys: &[&str], key: &str) -> String {
        let meaning = at(keys);
        let known: Vec<&str> = meaning.fields().map(|(name, _)| name.as_str()).collect();
        meaning.instead_of(key, None, &known, &FieldPath::default()).0
    }

    #[test]
    fn a_name_of_another_system_leads_to_the_field() {
        for key in ["Initial RTO", "initial_rto", "INITIAL-RTO"] {
            assert_eq!(instead_of(&["tcp", "rto"], key), "write initial = ..., which is OPNET's Initial RTO", "{key}");
        }
        let in_rto = "write rto = { initial = ... }, which is OPNET's Initial RTO";
        assert_eq!(instead_of(&["tcp"], "initial_rto"), in_rto);
        assert_eq!(instead_of(&["tcp"], "rto_min"), "write rto = { min = ... }");
    }

    #[test]
    fn a_field_of_a_table_here_is_written_with_the_table() {
        assert!(instead_of(&["flow", "[]"], "size").contains("app = { kind = \"file\", size = ... }"));
        assert!(instead_of(&["topology"], "delay").contains("bottleneck = { delay = ... }"));
        assert!(!instead_of(&["flow", "[]"], "n").contains("powertcp"), "PowerTCP's N");
        assert!(!instead_of(&["topology", "bottleneck"], "loss_rate").contains("bit_errors"), "another loss");
    }

    #[test]
    fn a_kind_decides_between_fields_of_the_same_name() {
        let text = |word: &str| Node::new(Value::Text(word.to_owned()), crate::tree::Origin::Unknown);
        let app = |kind| Node::new(Value::Table(vec![("kind".to_owned(), text(kind))]), crate::tree::Origin::Unknown);
        let request = |kind| at(&["flow", "[]", "app"]).of_node(&app(kind)).of_field("request");
        assert!(request("request_response").has_field("uniform"), "each request's size");
        assert!(!request("video").has_field("uniform"), "one size");
    }
}
