//! Every declared field of every queue discipline, at every value that its declaration allows and just beyond it.

use ackclock_declare::{Context, FieldInfo};
use ackclock_net::QueueConfig;
use ackclock_net::queue::queues;
use ackclock_scenario::Scenario;
use serde_json::{Map, Value, json};

/// The configuration of a scenario with this queue; else the field and message of each mistake, once.
fn config(kind: &str, fields: &Map<String, Value>) -> Result<QueueConfig, Vec<(String, String)>> {
    let mut queue = fields.clone();
    queue.insert("kind".to_owned(), kind.into());
    let scenario = json!({
        "duration": "1 s",
        "topology": { "kind": "chain", "nodes": ["a", "b"], "link": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": queue,
            "reverse": { "queue": "drop_tail" } } },
        "flow": [{ "from": "a", "to": "b" }],
    });
    let found = Scenario::from_json(&scenario.to_string(), &[]);
    let said = |error: ackclock_scenario::ScenarioError| {
        error.diagnostics.into_iter().map(|one| (one.field, one.message)).collect()
    };
    found.map(|scenario| scenario.config().network.links[0].queue.clone()).map_err(said)
}

/// The required fields, and this one.
fn with(kind: &str, written: Option<(&str, &Value)>) -> Map<String, Value> {
    let examples = [
        ("threshold", json!("20 packets")),
        ("rate", json!("5 Mbit/s")),
        ("burst", json!("15 kB")),
        ("bands", json!([{ "of": "acks" }, {}])),
    ];
    let part = queues().find(kind).expect("a queue");
    let is_required = |name: &str| part.field(name).is_some_and(|field| field.is_required);
    let examples = examples.into_iter().filter(|(name, _)| is_required(name));
    let fields = examples.chain(written.map(|(name, value)| (name, value.clone())));
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Visits every field of every discipline with each of the values that `values` takes of it.
fn each(values: fn(&FieldInfo) -> &[Value], mut visit: impl FnMut(&'static str, &'static FieldInfo, &Value)) {
    for part in queues() {
        for field in part.fields.iter() {
            for value in values(field) {
                visit(part.about.name, field, value);
            }
        }
    }
}

#[test]
fn a_default_that_is_written_is_the_default() {
    let mut compared = 0;
    each(
        |field| field.default.as_slice(),
        |kind, field, value| {
            let printed: toml::Table = format!("x = {}", field.default_text).parse().expect("TOML");
            let printed = serde_json::to_value(&printed["x"]).expect("a plain value");
            assert_eq!(field.read(&printed), Ok(value.clone()), "{kind}.{}", field.name);
            let default = config(kind, &with(kind, None)).expect(kind);
            if let Ok(config) = config(kind, &with(kind, Some((field.name, &printed)))) {
                assert_eq!(config, default, "{kind}.{}", field.name);
            } else {
                // fields that mean nothing where another is as by default
                let stray = [("dualpi2", "shift"), ("cake", "overhead"), ("cake", "minimum"), ("cake", "cells")];
                assert!(stray.contains(&(kind, field.name)), "{kind}.{}", field.name);
            }
            compared += 1;
        },
    );
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_value_in_its_range_is_taken() {
    each(
        |field| &field.inside,
        |kind, field, value| {
            let place = format!("{kind}.{} = {value}", field.name);
            let fields = with(kind, Some((field.name, value)));
            let reading = queues().find(kind).expect("a queue").read(&fields, &Context::default());
            assert!(reading.mistakes.iter().all(|mistake| mistake.is_of_rule), "{place}: {:?}", reading.mistakes);
            if let Err(found) = config(kind, &fields) {
                // it does not go together with others, or with the flows: said of this queue, and in the same form
                let is_said = |(field, message): &(String, String)| {
                    field.starts_with("topology.link.queue.") && message.starts_with("must ")
                };
                assert!(found.iter().all(is_said), "{place}: {found:?}");
            }
        },
    );
}

#[test]
fn a_value_just_outside_is_one_mistake_at_its_field() {
    let mut tried = 0;
    each(
        |field| &field.outside,
        |kind, field, value| {
            let found = config(kind, &with(kind, Some((field.name, value)))).expect_err(field.name);
            let place = format!("topology.link.queue.{}", field.name);
            assert_eq!(found.len(), 1, "{kind}.{} = {value}: {found:?}", field.name);
            assert!(found[0].0.starts_with(&place) && found[0].1.starts_with("must be "), "{kind} {value}: {found:?}");
            tried += 1;
        },
    );
    assert!(tried > 50, "{tried}");
}

#[test]
fn a_limit_below_one_packet_is_refused_of_every_discipline_that_has_one() {
    for part in queues().iter().filter(|part| part.field("limit").is_some()) {
        let kind = part.about.name;
        for limit in ["0 packets", "0 s", "1499 bytes"] {
            let found = config(kind, &with(kind, Some(("limit", &json!(limit))))).expect_err(kind);
            assert_eq!(found.len(), 1, "{kind} {limit}: {found:?}");
            let (field, message) = &found[0];
            assert!(field == "topology.link.queue.limit" && message.starts_with("must be at least one packet"));
        }
        // at 10 Mbit/s and 40 ms both ways, a tenth of a bdp is 5000 octets
        let tenth = config(kind, &with(kind, Some(("limit", &json!("0.1 bdp"))))).expect(kind);
        let octets = config(kind, &with(kind, Some(("limit", &json!("5000 bytes"))))).expect(kind);
        assert_eq!(tenth, octets, "{kind}");
    }
}

#[test]
fn what_is_wrong_in_a_list_is_at_its_place() {
    let bands = json!([{ "of": "some" }, { "max_size": "0 bytes", "size": 1 }, {}]);
    let found = config("priority", &with("priority", Some(("bands", &bands)))).expect_err("three");
    let mut places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    places.sort_unstable();
    let queue = "topology.link.queue.bands";
    assert_eq!(places, [format!("{queue}[0].of"), format!("{queue}[1].max_size"), format!("{queue}[1].size")]);
}
