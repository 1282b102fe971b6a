//! Wrong values: each is reported once, at its place, with the reason and a remedy that works.

use std::path::Path;

use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::Simulation;
use serde_json::{Value, json};

const DUMBBELL: &str = r#"duration = "3 s"
[topology]
kind = "dumbbell"
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }
"#;

fn mistakes(text: &str) -> Vec<Diagnostic> {
    Scenario::parse(text, "test.toml", &[]).err().map(|error| error.diagnostics).unwrap_or_default()
}

fn with_bottleneck(field: &str) -> String {
    DUMBBELL.replace("delay = \"10 ms\"", &format!("delay = \"10 ms\", {field}")) + "[[flow]]\nname = \"a\"\n"
}

fn with_flow(fields: &str) -> String {
    format!("{DUMBBELL}[[flow]]\nname = \"a\"\n{fields}\n")
}

/// Every place of a document that holds a value, as JSON pointers; `in_lists` has those of list items only.
fn places(value: &Value, at: &str, in_lists: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                if !in_lists && name != "kind" {
                    found.push(place.clone());
                }
                places(field, &place, in_lists, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let place = format!("{at}/{index}");
                found.push(place.clone());
                places(item, &place, in_lists, found);
            }
        }
        _ => {}
    }
}

/// The scenarios of the package that set many fields, each as JSON.
fn documents() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios");
    let names = ["two-algorithms", "parking-lot", "requests", "video", "satellite", "fair-queueing"];
    let mut documents = vec![("wide".to_owned(), super::diagnostics::WIDE.to_owned())];
    documents.extend(names.map(|name| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("a scenario");
        (name.to_owned(), text)
    }));
    let read = |(name, text): (String, String)| (name, toml::from_str(&text).expect("TOML"));
    documents.into_iter().map(read).collect()
}

fn put(document: &Value, place: &str, value: &Value) -> Vec<Diagnostic> {
    let mut changed = document.clone();
    *changed.pointer_mut(place).expect(place) = value.clone();
    mistakes(&changed.to_string())
}

/// The format has no list of a list of an empty table. Consequences of a value that could not be read are not reported.
#[test]
fn a_value_that_cannot_be_read_is_one_mistake_wherever_it_stands() {
    let mut wrong = Vec::new();
    for (name, document) in documents() {
        assert_eq!(mistakes(&document.to_string()), [], "{name}");
        let mut found = Vec::new();
        places(&document, "", false, &mut found);
        for place in found {
            let told = put(&document, &place, &json!([[{}]]));
            if told.len() != 1 || told[0].remedy.is_empty() {
                wrong.push(format!("{name}{place}: {:?}", fields(&told)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// RFC 8259 section 3: null is a value; the format's schema has it nowhere.
#[test]
fn null_in_a_list_is_a_mistake() {
    let mut wrong = Vec::new();
    for (name, document) in documents() {
        let mut found = Vec::new();
        places(&document, "", true, &mut found);
        for place in found {
            let told = put(&document, &place, &Value::Null);
            if told.len() != 1 || !told[0].message.contains("null") {
                wrong.push(format!("{name}{place}: {told:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    let drawn = json!({ "choice": [null, "test"] });
    let told = put(&documents()[0].1, "/duration", &drawn);
    assert!(told.iter().any(|one| one.message.contains("null")), "{told:?}");
}

fn fields(told: &[Diagnostic]) -> Vec<&str> {
    told.iter().map(|one| one.field.as_str()).collect()
}

/// Each part of a message is written by hand.
#[test]
fn a_message_has_the_place_the_value_and_a_remedy_that_is_one() {
    let explicit = "duration = \"1 s\"\n[topology]\nkind = \"explicit\"\nnode = [{ name = \"A\", kind = \"host\" }, \
                    { name = \"B\", kind = \"host\" }]\nlink = [{ from = \"A\", to = \"B\", rate = \"1 Mbit/s\", delay = \
                    \"1 ms\" }]\n[[flow]]\nfrom = \"A\"\n";
    let chain = "duration = \"1 s\"\n[topology]\nkind = \"chain\"\nnodes = [\"A\", 1]\nlink = { rate = \"1 Mbit/s\", \
                 delay = \"1 ms\" }\n[[flow]]\n";
    let change = |field: &str| with_flow(&format!("[[change]]\nat = \"1 s\"\nlink = \"bottleneck\"\n{field}"));
    let hex = format!("seed = 0x{}\n", "F".repeat(40));
    for (text, field, message, remedy) in [
        (format!("\"x.y\" = 1\n{}", with_flow("")), "\"x.y\"", "is not a known field", "\"name\""),
        (format!("seed = 1.0\n{}", with_flow("")), "seed", "not 1.0", "whole number from 0 to 2^64 - 1"),
        (format!("{hex}{}", with_flow("")), "seed", "at most 2^64 - 1", "a smaller number"),
        (format!("seed = -{}\n{}", "9".repeat(40), with_flow("")), "seed", "at least -2^63", "a larger number"),
        (chain.to_owned(), "topology.nodes[1]", "a string in quotes, or a table, not 1", "a string in quotes"),
        (with_flow("").replace("\"10 Mbit/s\"", "1e7"), "topology.bottleneck.rate", "a rate as a string", "100 Mbit/s"),
        (with_flow("").replace("\"10 ms\"", "-1"), "topology.bottleneck.delay", "a duration as a string", "30 ms"),
        (explicit.to_owned(), "flow[0].to", "is missing", "to = \"B\""),
        (change("limit = \"x\""), "change[0].limit", "must be a queue limit", "\"20 ms\" or \"unlimited\""),
        (
            with_bottleneck("effect = \"x\""),
            "topology.bottleneck.effect",
            "must be a known name",
            "an entry of `use` provides",
        ),
        (
            with_bottleneck("queue = { kind = \"drop_tail\", limit = \"18446744073709551616 packets\" }"),
            "topology.bottleneck.queue.limit",
            "less than 2^64",
            "10 packets",
        ),
    ] {
        let told = mistakes(&text);
        assert_eq!(fields(&told), [field], "{told:#?}");
        assert!(told[0].message.contains(message), "{}", told[0]);
        assert!(told[0].remedy.contains(remedy), "{}", told[0]);
    }
}

/// A key without effect is refused, wherever it stands: a switch that does nothing is not what its writer meant.
#[test]
fn what_would_have_no_effect_is_refused() {
    let queue = |fields: &str| with_bottleneck(&format!("queue = {{ {fields} }}"));
    let quic = |fields: &str| with_flow(&format!("protocol = {{ kind = \"quic\", {fields} }}"));
    for (text, right, field) in [
        (
            queue("kind = \"pie\", ecn = false, mark_threshold = 0.2"),
            queue("kind = \"pie\", mark_threshold = 0.2"),
            "topology.bottleneck.queue.mark_threshold".to_owned(),
        ),
        (
            queue("kind = \"dualpi2\", shift = \"9 ms\""),
            queue("kind = \"dualpi2\", scheduler = \"time_shifted\", shift = \"9 ms\""),
            "topology.bottleneck.queue.shift".to_owned(),
        ),
        (quic("ect1 = true"), quic("ecn = true, ect1 = true"), "flow[0].protocol.ect1".to_owned()),
        (
            quic("pacing = false, pacing_gain = 2.0"),
            quic("pacing_gain = 2.0"),
            "flow[0].protocol.pacing_gain".to_owned(),
        ),
    ] {
        let told = mistakes(&text);
        assert_eq!(fields(&told), [field], "{told:#?}");
        assert!(!told[0].remedy.is_empty(), "{}", told[0]);
        assert_eq!(mistakes(&right), [], "{right}");
    }
}

/// 8,000 hours of samples of 1,000 flows: 250 million values are allowed.
#[test]
fn the_interval_that_a_message_asks_for_is_enough() {
    let text = |interval: &str| {
        let text = with_flow("count = 1000").replace("\"3 s\"", "\"8000 h\"");
        format!("trace = {{ interval = \"{interval}\", flows = [\"cwnd\"] }}\n{text}")
    };
    let told = mistakes(&text("1 ms"));
    let asked = told[0].remedy.split_once("use at least ").and_then(|(_, rest)| rest.split_once(" as interval"));
    assert_eq!(mistakes(&text(asked.expect("a remedy").0)), []);
}

#[test]
fn of_queues_in_both_directions_and_beside_many_flows_one_mistake_is_told() {
    for queue in [
        "{ kind = \"drop_tail\", limit = \"0 bdp\" }",
        "{ kind = \"red\", limit = \"0.0001 bdp\" }",
        "{ kind = \"tbf\", rate = \"1 Mbit/s\", burst = \"1 B\" }",
        "{ kind = \"priority\", bands = [{ limit = \"0.001 bdp\" }, {}] }",
    ] {
        let told = mistakes(&with_bottleneck(&format!("queue = {queue}")));
        assert_eq!(told.len(), 1, "{told:#?}");
        // 1448 octets of payload, 32 of TCP header with timestamps, 20 of IPv4: an acknowledgment needs less.
        assert!(told[0].message.contains("1.5 kB"), "{}", told[0]);
    }
    let access = with_flow("[[flow]]\nrtt = \"50 ms\"\n[[flow]]\nrtt = \"70 ms\"\n")
        .replace("delay = \"1 ms\"", "delay = \"1 ms\", queue = { kind = \"drop_tail\", limit = \"0.00001 bdp\" }");
    assert_eq!(mistakes(&access).len(), 1, "{:#?}", mistakes(&access));
}

#[test]
fn json_is_told_of_as_json_and_may_begin_with_a_mark_of_the_order_of_octets() {
    let told = mistakes("{\"seed\": 1,}");
    assert!(told[0].remedy.contains("https://www.json.org"), "{}", told[0]);
    let document: Value = toml::from_str(&with_flow("")).expect("TOML");
    assert_eq!(mistakes(&format!("\u{feff}{document}")), []);
}

/// The seed decides which flows of a group start too late to send anything; that is not a mistake.
#[test]
fn no_seed_makes_a_right_scenario_wrong() {
    let groups = [
        "protocol = { kind = \"udp\", until = \"1 s\" }\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
        "protocol = { kind = \"udp\", until = \"1 s\" }\napp = { kind = \"media\", max_rate = \"1 Mbit/s\" }",
        "arrivals = { rate = \"10 /s\", size = \"1 kB\", until = \"1 s\" }",
        "arrivals = { rate = \"10 /s\", size = \"1 kB\" }",
    ];
    for group in groups {
        let text = with_flow(&format!("count = 3\nstart = {{ spacing = {{ exponential = \"1 s\" }} }}\n{group}"));
        let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        for seed in 0..100 {
            scenario.draw(seed).unwrap_or_else(|error| panic!("{group}, seed {seed}: {error}"));
        }
        let late = (0..100).find(|&seed| {
            let drawn = scenario.draw(seed).expect("a scenario");
            let traffic = &drawn.config().traffic;
            let datagrams = traffic.datagrams.iter().any(|one| one.start >= one.until);
            datagrams || traffic.arrivals.iter().any(|one| one.flow.start >= one.until)
        });
        let late = scenario.draw(late.expect("some start is late")).expect("a scenario");
        Simulation::new(late.config()).finish();
    }
    let told = mistakes(&with_flow(
        "count = 3\nstart = { first = \"2 s\", spacing = { exponential = \"1 s\" } }\n\
         protocol = { kind = \"udp\", until = \"1 s\" }\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
    ));
    assert_eq!(fields(&told), ["flow[0].protocol.until"], "the first start is not drawn");
}

#[test]
fn an_override_reaches_flows_of_any_name() {
    for name in ["a=b", "a[0]", "a..b", "a.", "a . b", "=", "ä\"'b"] {
        let text = with_flow("").replace("\"a\"", &toml::Value::from(name).to_string());
        let set = format!("flow.{name}.start=\"1 s\"");
        let scenario = Scenario::parse(&text, "test.toml", &[set]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.config().flows[0].start.0, 1_000_000_000, "{name}");
    }
    // A field of a flow, not the whole of another whose name is longer.
    let text = with_flow("[[flow]]\nname = \"a.start\"");
    let sets = ["flow.a.start=\"1 s\"".to_owned(), "flow.a.start.start=\"2 s\"".to_owned()];
    let scenario = Scenario::parse(&text, "test.toml", &sets).unwrap_or_else(|error| panic!("{error}"));
    let starts: Vec<u64> = scenario.config().flows.iter().map(|flow| flow.start.0 / 1_000_000_000).collect();
    assert_eq!(starts, [1, 2]);
    let error = Scenario::parse(&with_flow(""), "test.toml", &["flow.b.start=1".to_owned()]).expect_err("no such flow");
    assert!(error.to_string().contains("known: flow.a, flow[0]"), "{error}");
}

/// docs/reference/scenario.md: a group also goes by the name of its entry.
#[test]
fn the_name_of_a_group_stands_for_its_flows() {
    let read = |bottleneck: &str, trace: &str| {
        let text = with_bottleneck(if bottleneck.is_empty() { "capture = false" } else { bottleneck })
            .replace("name = \"a\"", "name = \"a\"\ncount = 2\n[[flow]]\nname = \"b\"");
        Scenario::parse(&format!("{trace}\n{text}"), "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    let names = |list: &str| format!("trace = {{ events = \"all\", event_flows = [{list}] }}");
    let watched = read("", &names("\"a\"")).config().trace.events.as_ref().expect("events").flows.clone();
    assert_eq!(watched, Some(vec![0, 1]));
    let twice = read("", &names("\"a.2\", \"a\"")).config().trace.events.as_ref().expect("events").flows.clone();
    assert_eq!(twice, watched, "a flow may be named beside its group");
    let discards = read("discard = [{ kind = \"every\", k = 2, flow = \"a\" }]", "");
    assert_eq!(discards.config().network.discarders[0].rules[0].flows, Some(vec![0, 1]));
    let band =
        |flows: &str| read(&format!("queue = {{ kind = \"priority\", bands = [{{ flows = [{flows}] }}, {{}}] }}"), "");
    let queue = |scenario: &Scenario| format!("{:?}", scenario.config().network.links[0].queue);
    assert_eq!(queue(&band("\"a\"")), queue(&band("\"a.1\", \"a.2\"")));
    assert_ne!(queue(&band("\"a\"")), queue(&band("\"b\"")));
}

/// Unknown keys are named in messages, whatever their characters.
#[test]
fn an_unknown_key_is_called_by_its_name() {
    for written in ["\"a.b\"", "\"\"", "\"a b\"", "\"a[0]\"", "ä"] {
        let told = mistakes(&with_flow(&format!("\"{}\" = 1", written.replace('"', ""))));
        assert_eq!(fields(&told), [format!("flow[0].{written}")]);
        assert!(told[0].to_string().contains(&format!("flow[0].{written} is not a known field")), "{}", told[0]);
    }
}
