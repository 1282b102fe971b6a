//! What the format says of a place, from its own JSON Schema: whether a table there has a field of its own that is called
//! like a distribution, and whether a number there may have decimals.

use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::tree::{FieldPath, Node, Step, Value};

static SCHEMA: LazyLock<Json> = LazyLock::new(|| schemars::schema_for!(crate::file::ScenarioFile).to_value());

/// Schemas that may hold at a place; none where the format takes anything, or has no such place.
#[derive(Clone, Debug)]
pub(crate) struct Meaning(Vec<&'static Json>);

impl Meaning {
    /// That of a whole scenario.
    pub(crate) fn of_scenario() -> Self {
        Self::of(&SCHEMA)
    }

    /// That of `node`, which stands at this place: a table with a `kind` is of this kind only.
    pub(crate) fn of_node(mut self, node: &Node) -> Self {
        let kind = node.child(&Step::Key("kind".to_owned())).map(|kind| &kind.value);
        if let Some(Value::Text(kind)) = kind {
            let is_other = |known: &Json| known.as_str() != Some(kind);
            self.0.retain(|schema| !schema.pointer("/properties/kind/const").is_some_and(is_other));
        }
        self
    }

    /// That of the field `key` of this table.
    pub(crate) fn of_field(&self, key: &str) -> Self {
        self.below(|schema| schema.get("properties")?.get(key))
    }

    /// That of each item of this list.
    pub(crate) fn of_item(&self) -> Self {
        self.below(|schema| schema.get("items"))
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
            meaning = match &path.0[depth - 1] {
                Step::Key(key) => meaning.of_field(key),
                Step::Index(_) => meaning.of_item(),
            };
            if let Some(node) = scenario.at(&FieldPath(path.0[..depth].to_vec())) {
                meaning = meaning.of_node(node);
            }
        }
        meaning
    }

    /// The fields that `key`, which is not in this table, may stand for: those that say that another system calls them so, and
    /// those of tables that stand here. Each as it is written, with the system's name.
    pub(crate) fn meant_by(&self, key: &str) -> Vec<String> {
        let own = self.fields().filter_map(|(name, field)| Some(format!("{name} = ..., {}", known_as(field, key)?)));
        let own: Vec<String> = own.collect();
        if !own.is_empty() || key == "kind" {
            return own;
        }
        self.fields().filter_map(|(name, field)| Self::of(field).meant_within(name, key)).collect()
    }

    /// The same of a table called `name`: the first of its kinds with such a field.
    fn meant_within(&self, name: &str, key: &str) -> Option<String> {
        self.0.iter().find_map(|table| {
            let fields = table.get("properties").and_then(Json::as_object)?;
            let (field, other) = fields.iter().find_map(|(field, schema)| {
                let other = known_as(schema, key).map(|other| format!(", {other}"));
                (field == key || other.is_some()).then(|| (field, other.unwrap_or_default()))
            })?;
            let kind =
                table.pointer("/properties/kind/const").map_or_else(String::new, |kind| format!("kind = {kind}, "));
            Some(format!("{name} = {{ {kind}{field} = ... }}{other}"))
        })
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

    fn below(&self, find: impl Fn(&'static Json) -> Option<&'static Json>) -> Self {
        Self(self.0.iter().filter_map(|schema| find(schema)).flat_map(|schema| Self::of(schema).0).collect())
    }
}

/// "which is OPNET's Initial RTO", if the description of `field` says that another system calls it `key`, however that is spelt:
/// `initial_rto`.
fn known_as(field: &Json, key: &str) -> Option<String> {
    let said = field.get("description")?.as_str()?;
    said.match_indices("'s ").find_map(|(at, mark)| {
        let system = said[..at].rsplit(|letter: char| !letter.is_alphanumeric() && letter != '-').next()?;
        let name = said[at + mark.len()..].split([',', ')', '.', ';', ':']).next()?;
        let is_name = name.starts_with(char::is_uppercase) || name.contains('_');
        (is_name && words(name).eq(words(key))).then(|| format!("which is {system}'s {name}"))
    })
}

/// The words of a name in small letters: `initial`, `rto` of "Initial RTO" and of `initial_rto`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let words = name.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').filter(|word| !word.is_empty());
    words.map(|word| word.replace('\'', "").to_lowercase()).collect::<Vec<_>>().into_iter()
}

/// `schema`, or what it refers to, or each that it is any of.
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

    #[test]
    fn a_name_of_another_system_is_known_however_it_is_spelt() {
        let rto = at(&["tcp", "rto"]);
        for key in ["Initial RTO", "initial_rto", "INITIAL-RTO"] {
            assert_eq!(rto.meant_by(key), ["initial = ..., which is OPNET's Initial RTO"], "{key}");
        }
        assert_eq!(at(&["tcp"]).meant_by("initial_rto"), ["rto = { initial = ... }, which is OPNET's Initial RTO"]);
        // The words of a sentence are not a name: "Karn's rule", "the host's own link".
        assert_eq!((rto.meant_by("rule"), at(&["tcp"]).meant_by("own_link")), (vec![], vec![]));
    }

    #[test]
    fn a_field_of_a_table_here_is_written_with_the_table() {
        let app = "app = { kind = \"file\", size = ... }";
        assert!(at(&["flow", "[]"]).meant_by("size").iter().any(|written| written == app));
        let of_dumbbell = at(&["topology"]).meant_by("delay");
        assert!(of_dumbbell.contains(&"bottleneck = { delay = ... }".to_owned()), "{of_dumbbell:?}");
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
