//! Every declared field of buffer policies, at every value that its declaration allows and just beyond it.

use ackclock_declare::{Context, FieldInfo, Part, Parts, Table};
use ackclock_relay::buffer_policies;
use ackclock_scenario::Scenario;
use serde_json::{Value, json};

/// Where a part stands: the scenario around it, and its place there.
struct Stand {
    scenario: fn(Value) -> Value,
    place: &'static str,
}

const BUFFER_POLICY: Stand = Stand {
    scenario: |policy| {
        let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms" });
        json!({
            "duration": "1 s",
            "topology": { "kind": "dumbbell", "access": link, "bottleneck": link },
            "tcp": { "ecn": "request" },
            "flow": [{}],
            "appliance": [{ "node": "left", "buffer_policy": policy }],
        })
    },
    place: "appliance[0].buffer_policy",
};

impl Stand {
    /// What a scenario with this part comes to, in words; else the field and message of each mistake.
    fn config(&self, part: &Table) -> Result<String, Vec<(String, String)>> {
        let scenario = (self.scenario)(Value::Object(part.clone()));
        let found = Scenario::from_json(&scenario.to_string(), &[]);
        let said = |error: ackclock_scenario::ScenarioError| {
            error.diagnostics.into_iter().map(|one| (one.field, one.message)).collect()
        };
        found.map(|scenario| format!("{:?}", scenario.config())).map_err(said)
    }

    /// Tries every field of every part; returns how many values were.
    fn try_all<C: 'static>(&self, parts: &Parts<C>) -> usize {
        parts.iter().flat_map(|part| part.fields.iter().map(move |field| self.try_field(part, field))).sum()
    }

    fn try_field<C: 'static>(&self, part: &Part<C>, field: &FieldInfo) -> usize {
        let place = |value: &Value| format!("{} {} = {value}", part.about.name, field.name);
        if let Some(default) = &field.default {
            let printed: toml::Table = format!("x = {}", field.default_text).parse().expect("TOML");
            let printed = serde_json::to_value(&printed["x"]).expect("a plain value");
            assert_eq!(field.read(&printed), Ok(default.clone()), "{}", place(default));
            assert_eq!(self.config(&with(part, field, default)), self.config(&required(part)), "{}", place(default));
        }
        for value in &field.inside {
            let table = with(part, field, value);
            let mistakes = part.read(&table, &Context::default()).mistakes;
            assert!(mistakes.iter().all(|mistake| mistake.is_of_rule), "{}: {mistakes:?}", place(value));
            let found = self.config(&table).err().map_or(0, |found| found.len());
            assert_eq!(found, mistakes.len(), "{}: {mistakes:?}", place(value));
        }
        for value in &field.outside {
            let found = self.config(&with(part, field, value)).expect_err(field.name);
            assert_eq!(found.len(), 1, "{}: {found:?}", place(value));
            assert_eq!(found[0].0, format!("{}.{}", self.place, field.name), "{}", place(value));
            assert!(found[0].1.starts_with("must be "), "{}: {found:?}", place(value));
        }
        field.inside.len() + field.outside.len()
    }
}

/// The part with the fields that have to be written, as in their examples.
fn required<C: 'static>(part: &Part<C>) -> Table {
    let mistakes = part.read(&Table::new(), &Context::default()).mistakes;
    let mut table: Table = std::iter::once(("kind".to_owned(), part.about.name.into())).collect();
    for mistake in mistakes.iter().filter(|mistake| !mistake.is_of_rule) {
        let example = mistake.remedy.strip_prefix("add it, such as ").expect("an example");
        let example: toml::Table = example.parse().expect("TOML");
        table.extend(example.into_iter().map(|(name, value)| (name, serde_json::to_value(value).expect("plain"))));
    }
    table
}

fn with<C: 'static>(part: &Part<C>, field: &FieldInfo, value: &Value) -> Table {
    let mut table = required(part);
    table.insert(field.name.to_owned(), value.clone());
    table
}

#[test]
fn buffer_policies_are_as_declared() {
    let tried = BUFFER_POLICY.try_all(buffer_policies());
    assert!(tried > 50, "{tried}");
}
