//! Every declared field of every controller, at every value that its declaration allows and just beyond it.

use ackclock_cc::{ControllerConfig, controllers};
use ackclock_scenario::Scenario;
use serde_json::{Map, Value, json};

/// The configuration of a scenario with this controller, or the field and message of each mistake.
fn config(kind: &str, fields: &Map<String, Value>) -> Result<ControllerConfig, Vec<(String, String)>> {
    let mut controller = fields.clone();
    controller.insert("kind".to_owned(), kind.into());
    let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms", "telemetry": true });
    let scenario = json!({
        "duration": "1 s",
        "topology": { "kind": "dumbbell", "access": link, "bottleneck": link },
        "tcp": { "profile": "rfc", "timestamps": true },
        "flow": [{ "controller": controller }],
    });
    let found = Scenario::from_json(&scenario.to_string(), &[]);
    let said = |error: ackclock_scenario::ScenarioError| {
        error.diagnostics.into_iter().map(|one| (one.field, one.message)).collect()
    };
    found.map(|scenario| scenario.config().flows[0].controller.clone()).map_err(said)
}

/// The required fields, as in their examples.
fn required(kind: &str) -> Map<String, Value> {
    let examples =
        [("base_target", json!("50 ms")), ("window", json!("100 segments")), ("line_rate", json!("10 Gbit/s"))];
    let part = controllers().find(kind).expect("a controller");
    let is_required = |name: &str| part.field(name).is_some_and(|field| field.is_required);
    examples.into_iter().filter(|(name, _)| is_required(name)).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The fields of a controller with this one; a field alone may contradict the defaults of others.
fn with(kind: &str, field: &str, value: &Value) -> Map<String, Value> {
    let mut fields = required(kind);
    fields.insert(field.to_owned(), value.clone());
    fields
}

#[test]
fn a_default_that_is_written_is_the_default() {
    for part in controllers() {
        let kind = part.about.name;
        let default = config(kind, &required(kind)).expect(kind);
        let mut all = required(kind);
        for field in part.fields.iter().filter(|field| !field.is_required) {
            let Some(value) = &field.default else { continue };
            // as the catalogue prints it: read back as TOML
            let printed = field.default_text.split("; ").next().expect("a text");
            let read: toml::Table = format!("x = {printed}").parse().expect("TOML");
            let read = serde_json::to_value(&read["x"]).expect("a plain value");
            assert_eq!(field.read(&read), Ok(value.clone()), "{kind}.{}", field.name);
            assert_eq!(config(kind, &with(kind, field.name, &read)), Ok(default.clone()), "{kind}.{}", field.name);
            all.insert(field.name.to_owned(), read);
        }
        assert_eq!(config(kind, &all), Ok(default), "{kind}");
    }
}

#[test]
fn a_value_in_its_range_is_taken_and_read_back() {
    for part in controllers() {
        let kind = part.about.name;
        for (field, value) in part.fields.iter().flat_map(|field| field.inside.iter().map(move |value| (field, value)))
        {
            let place = format!("{kind}.{} = {value}", field.name);
            assert_eq!(field.read(value), Ok(value.clone()), "{place}");
            let fields = with(kind, field.name, value);
            let reading = part.read(&fields, &ackclock_declare::Context::default());
            let of_ranges: Vec<_> = reading.mistakes.iter().filter(|mistake| !mistake.is_of_rule).collect();
            assert!(of_ranges.is_empty(), "{place}: {of_ranges:?}");
            match config(kind, &fields) {
                Ok(config) => assert_eq!(config.seeded(0), reading.config.seeded(0), "{place}"),
                Err(found) => assert_eq!(found.len(), reading.mistakes.len(), "{place}: {found:?}"),
            }
        }
    }
}

#[test]
fn a_value_just_outside_is_one_mistake_at_its_field() {
    let mut tried = 0;
    for part in controllers() {
        let kind = part.about.name;
        for (field, value) in part.fields.iter().flat_map(|field| field.outside.iter().map(move |value| (field, value)))
        {
            let found = config(kind, &with(kind, field.name, value)).expect_err(field.name);
            let place = format!("flow[0].controller.{}", field.name);
            assert_eq!(found.len(), 1, "{kind}.{} = {value}: {found:?}", field.name);
            assert!(found[0].0 == place && found[0].1.starts_with("must be "), "{kind} {value}: {found:?}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} values");
}

#[test]
fn a_wrong_type_and_an_unknown_field_are_mistakes_at_their_places() {
    let found = config("ledbat", json!({ "gain": "much", "aim": 1 }).as_object().expect("a table")).expect_err("two");
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["flow[0].controller.gain", "flow[0].controller.aim"]);
    assert_eq!(found[0].1, "is a string, and must be a number");
}
