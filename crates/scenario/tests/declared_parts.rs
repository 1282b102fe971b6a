//! Every declared field of buffer policies, effects of links and traffic, at every value that its declaration allows and just beyond it.

use ackclock_declare::{Context, Entry, FieldInfo, Part, Parts, Table};
use ackclock_net::{
    AggregateConfig, ChangingDelay, ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, PolicerConfig,
    discard_rules, jitters, losses, reorders,
};
use ackclock_relay::buffer_policies;
use ackclock_scenario::Scenario;
use ackclock_sim::{
    FileApp, FilesApp, LogNormalSizes, MediaApp, OnOffApp, ParetoSizes, QuicConfig, RateApp, UdpProtocol, VideoApp,
};
use serde_json::{Value, json};

/// A scenario around a part, and the part's place there.
struct Stand {
    scenario: fn(&'static str, Value) -> Value,
    field: &'static str,
    place: String,
    has_kind: bool,
}

fn buffer_policy() -> Stand {
    let scenario = |_: &str, policy| {
        let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms" });
        json!({
            "duration": "1 s",
            "topology": { "kind": "dumbbell", "access": link, "bottleneck": link },
            "tcp": { "ecn": "request" },
            "flow": [{}],
            "appliance": [{ "node": "left", "buffer_policy": policy }],
        })
    };
    Stand { scenario, field: "", place: "appliance[0].buffer_policy".to_owned(), has_kind: true }
}

/// A link's field with a kind and its parameters.
fn kind_of_link(field: &'static str) -> Stand {
    let scenario = |field: &str, value| chain(field, if field == "discard" { json!([value]) } else { value });
    let index = if field == "discard" { "[0]" } else { "" };
    Stand { scenario, field, place: format!("topology.link.{field}{index}"), has_kind: true }
}

/// A link's field that is a table.
fn table_of_link(field: &'static str) -> Stand {
    Stand { scenario: chain, field, place: format!("topology.link.{field}"), has_kind: false }
}

/// A link with the field.
fn link() -> Stand {
    let scenario = |_: &str, fields: Value| {
        let (name, value) = fields
            .as_object()
            .and_then(|fields| fields.iter().next())
            .map_or(("capture", json!(false)), |(name, value)| (name.as_str(), value.clone()));
        chain(name, value)
    };
    Stand { scenario, field: "", place: "topology.link".to_owned(), has_kind: false }
}

/// An application on a connection, or on datagrams.
fn app(is_udp: bool) -> Stand {
    let connection = |_: &str, app| flow(&json!({ "app": app }));
    let datagrams = |_: &str, app| flow(&json!({ "app": app, "protocol": "udp" }));
    let scenario = if is_udp { datagrams } else { connection };
    Stand { scenario, field: "", place: "flow[0].app".to_owned(), has_kind: true }
}

fn udp() -> Stand {
    let scenario =
        |_: &str, protocol| flow(&json!({ "app": { "kind": "cbr", "rate": "1 Mbit/s" }, "protocol": protocol }));
    Stand { scenario, field: "", place: "flow[0].protocol".to_owned(), has_kind: true }
}

fn quic() -> Stand {
    let scenario = |_: &str, protocol| flow(&json!({ "protocol": protocol }));
    Stand { scenario, field: "", place: "flow[0].protocol".to_owned(), has_kind: true }
}

fn sizes(field: &'static str) -> Stand {
    let scenario = |field: &str, sizes| flow(&json!({ "arrivals": { "rate": "1 /s", "size": { field: sizes } } }));
    Stand { scenario, field, place: format!("flow[0].arrivals.size.{field}"), has_kind: false }
}

fn flow(flow: &Value) -> Value {
    let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms" });
    let bottleneck =
        json!({ "rate": "10 Mbit/s", "delay": "1 ms", "queue": { "kind": "drop_tail", "limit": "unlimited" } });
    let topology = json!({ "kind": "dumbbell", "access": link, "bottleneck": bottleneck });
    json!({ "duration": "1 s", "topology": topology, "flow": [flow] })
}

fn chain(field: &str, value: Value) -> Value {
    let mut link = json!({ "rate": "10 Mbit/s", "delay": "1 ms", "reverse": { "rate": "1 Mbit/s", "delay": "1 ms" } });
    if field == "handover" && value.get("delay").is_some() {
        link["delay"] = Value::Null; // it says the delay itself
    }
    link[field] = value;
    json!({
        "duration": "1 s",
        "topology": { "kind": "chain", "nodes": ["a", "b"], "link": link },
        "flow": [{ "from": "a", "to": "b" }],
    })
}

impl Stand {
    /// The configuration of a scenario with this part, as text; else the field and message of each mistake.
    fn config(&self, part: &Table) -> Result<String, Vec<(String, String)>> {
        let scenario = (self.scenario)(self.field, Value::Object(part.clone()));
        let found = Scenario::from_json(&scenario.to_string(), &[]);
        let said = |error: ackclock_scenario::ScenarioError| {
            // what holds for the reverse path, too, is said there once more
            let there = error.diagnostics.into_iter().filter(|one| !one.field.contains(".reverse."));
            there.map(|one| (one.field, one.message)).collect()
        };
        found.map(|scenario| format!("{:?}", scenario.config())).map_err(said)
    }

    /// Tries every field of every part; returns the number of values.
    fn try_all<C: 'static>(&self, parts: &Parts<C>) -> usize {
        parts.iter().map(|part| self.try_part(part)).sum()
    }

    /// Tries every field of a part; lists of tables have tests of their own.
    fn try_part<C: 'static>(&self, part: &Part<C>) -> usize {
        let fields = part.fields.iter().filter(|field| field.items.is_none());
        fields.map(|field| self.try_field(part, field)).sum()
    }

    fn try_field<C: 'static>(&self, part: &Part<C>, field: &FieldInfo) -> usize {
        let place = |value: &Value| format!("{} {} = {value}", part.about.name, field.name);
        if let Some(default) = field.default.as_ref().filter(|default| self.goes_together(part, field, default)) {
            let printed: toml::Table = format!("x = {}", field.default_text).parse().expect("TOML");
            let printed = serde_json::to_value(&printed["x"]).expect("a plain value");
            assert_eq!(field.read(&printed), Ok(default.clone()), "{}", place(default));
            assert_eq!(
                self.config(&self.with(part, field, default)),
                self.config(&self.required(part)),
                "{}",
                place(default)
            );
        }
        for value in &field.inside {
            let table = self.with(part, field, value);
            let mistakes = part.read(&table, &Context::default()).mistakes;
            assert!(mistakes.iter().all(|mistake| mistake.is_of_rule), "{}: {mistakes:?}", place(value));
            let found = self.config(&table).err().unwrap_or_default();
            // what is around it may want something else: said at this part, too
            assert!(found.iter().all(|(field, _)| field.starts_with(&self.place)), "{}: {found:?}", place(value));
            assert!(mistakes.is_empty() || found.len() == mistakes.len(), "{}: {found:?}", place(value));
        }
        for value in &field.outside {
            let mut found = self.config(&self.with(part, field, value)).expect_err(field.name);
            // what the part lacks without this field, too, is no matter of its value
            let lacks = self.config(&self.required(part)).err().unwrap_or_default();
            found.retain(|mistake| !lacks.contains(mistake));
            assert_eq!(found.len(), 1, "{}: {found:?}", place(value));
            assert_eq!(found[0].0, format!("{}.{}", self.place, field.name), "{}", place(value));
            assert!(found[0].1.starts_with("must be "), "{}: {found:?}", place(value));
        }
        field.inside.len() + field.outside.len()
    }

    /// The part with its required fields, as in their examples.
    fn required<C: 'static>(&self, part: &Part<C>) -> Table {
        let mistakes = part.read(&Table::new(), &Context::default()).mistakes;
        let kind = self.has_kind.then(|| ("kind".to_owned(), part.about.name.into()));
        let mut table: Table = kind.into_iter().collect();
        for mistake in mistakes.iter().filter(|mistake| !mistake.is_of_rule) {
            let example = mistake.remedy.strip_prefix("add it, such as ").expect("an example");
            let example: toml::Table = example.parse().expect("TOML");
            table.extend(example.into_iter().map(|(name, value)| (name, serde_json::to_value(value).expect("plain"))));
        }
        table
    }

    /// False for a field that needs others which are not required.
    fn goes_together<C: 'static>(&self, part: &Part<C>, field: &FieldInfo, value: &Value) -> bool {
        let mistakes = |table: &Table| part.read(table, &Context::default()).mistakes.len();
        mistakes(&self.with(part, field, value)) == mistakes(&self.required(part))
    }

    fn with<C: 'static>(&self, part: &Part<C>, field: &FieldInfo, value: &Value) -> Table {
        let mut table = self.required(part);
        table.insert(field.name.to_owned(), value.clone());
        table
    }
}

#[test]
fn buffer_policies_are_as_declared() {
    let tried = buffer_policy().try_all(buffer_policies());
    assert!(tried > 50, "{tried}");
}

#[test]
fn kinds_of_effects_of_links_are_as_declared() {
    let mut tried = kind_of_link("loss").try_all(losses());
    tried += kind_of_link("jitter").try_all(jitters());
    tried += kind_of_link("reorder").try_all(reorders());
    tried += kind_of_link("discard").try_all(discard_rules());
    assert!(tried > 100, "{tried}");
}

#[test]
fn tables_and_fields_of_links_are_as_declared() {
    let mut tried = table_of_link("rate").try_part(&ChangingRate::part());
    tried += table_of_link("delay").try_part(&ChangingDelay::part());
    tried += table_of_link("handover").try_part(&HandoverConfig::part());
    tried += table_of_link("policer").try_part(&PolicerConfig::part());
    tried += table_of_link("aggregate").try_part(&AggregateConfig::part());
    tried += link().try_part(&ImpairmentConfig::part());
    tried += link().try_part(&ChannelConfig::part());
    assert!(tried > 50, "{tried}");
}

#[test]
fn traffic_is_as_declared() {
    let mut tried = app(false).try_part(&FileApp::part());
    tried += app(false).try_part(&FilesApp::part());
    tried += app(false).try_part(&OnOffApp::part());
    tried += app(false).try_part(&VideoApp::part());
    tried += app(true).try_part(&RateApp::part());
    tried += app(true).try_part(&MediaApp::part());
    tried += udp().try_part(&UdpProtocol::part());
    tried += quic().try_part(&QuicConfig::part());
    tried += sizes("pareto").try_part(&ParetoSizes::part());
    tried += sizes("log_normal").try_part(&LogNormalSizes::part());
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_kind_within_has_its_mistakes_at_its_fields() {
    let found = |choose: Value| {
        let app = json!({ "kind": "video", "choose": choose });
        let error = Scenario::from_json(&flow(&json!({ "app": app })).to_string(), &[]).expect_err("a mistake");
        error.diagnostics.into_iter().map(|one| one.field).collect::<Vec<_>>()
    };
    assert_eq!(found(json!({ "kind": "rate", "window": 0 })), ["flow[0].app.choose.window"]);
    assert_eq!(found(json!({ "kind": "buffer", "reservoir": "240 s" })), ["flow[0].app.choose.reservoir"]);
    assert_eq!(found(json!({ "kind": "rate", "reservoir": "240 s" })), ["flow[0].app.choose"]);
    assert_eq!(found(json!("luck")), ["flow[0].app.choose"]);
}
