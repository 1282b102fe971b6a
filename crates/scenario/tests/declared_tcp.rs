//! Every declared switch of TCP, those in tables within too, at values that its declaration allows and just beyond them.

use ackclock_declare::{About, Context, FieldInfo, Part, Table};
use ackclock_scenario::{ScenarioError, endpoint_config};
use ackclock_tcp::{PacedBy, PacingConfig, TcpConfig};
use serde_json::{Value, json};

fn part() -> Part<TcpConfig> {
    let about = About { name: "tcp", aliases: &[], summary: "TCP", source: "", departures: "" };
    Part::new(about, (), &[], |_| (), |config: TcpConfig| config)
}

/// The configuration of an endpoint with these switches; else the field and message of each mistake.
fn config(tcp: &Table) -> Result<TcpConfig, Vec<(String, String)>> {
    let said = |error: ScenarioError| error.diagnostics.into_iter().map(|one| (one.field, one.message)).collect();
    let mut table = Table::from_iter([("profile".to_owned(), "rfc".into())]);
    table.extend(tcp.clone());
    endpoint_config(&json!({ "tcp": table }).to_string(), &[]).map(|(config, _)| config).map_err(said)
}

/// Every field with its path.
fn every<'a>(fields: &'a [FieldInfo], above: &[&'a str]) -> Vec<(Vec<&'a str>, &'a FieldInfo)> {
    let mut all = Vec::new();
    for field in fields {
        let path = [above, &[field.name]].concat();
        all.extend(field.table.iter().flat_map(|table| every(&table.fields, &path)));
        all.push((path, field));
    }
    all
}

/// A table with one value, and with the values that it requires.
fn with(path: &[&str], value: &Value) -> Table {
    let mut tcp = Table::new();
    match path {
        [table, field] => {
            let mut within =
                if *table == "timestamp_step" { json!({ "at": "20 s", "back": "1 s" }) } else { json!({}) };
            within[*field] = value.clone();
            tcp.insert((*table).to_owned(), within);
        }
        path => drop(tcp.insert(path[0].to_owned(), value.clone())),
    }
    tcp
}

#[test]
fn a_default_that_is_written_is_the_default() {
    for (path, field) in every(&part().fields, &[]).into_iter().filter(|(path, _)| path.len() == 1) {
        let Some(value) = &field.default else { continue };
        assert_eq!(config(&with(&path, value)), Ok(TcpConfig::default()), "{path:?} = {value}");
    }
}

#[test]
fn a_value_in_its_range_is_taken() {
    let part = part();
    for (path, field) in every(&part.fields, &[]) {
        for value in &field.inside {
            let tcp = with(&path, value);
            let reading = part.read(&tcp, &Context::default());
            let of_ranges: Vec<_> = reading.mistakes.iter().filter(|mistake| !mistake.is_of_rule).collect();
            assert!(of_ranges.is_empty(), "{path:?} = {value}: {of_ranges:?}");
            match config(&tcp) {
                Ok(config) => assert_eq!(config, reading.config, "{path:?} = {value}"),
                Err(found) => assert_eq!(found.len(), reading.mistakes.len(), "{path:?} = {value}: {found:?}"),
            }
        }
    }
}

#[test]
fn a_value_just_outside_is_one_mistake_at_its_field() {
    let mut tried = 0;
    for (path, field) in every(&part().fields, &[]) {
        for value in &field.outside {
            let found = config(&with(&path, value)).expect_err(field.name);
            assert_eq!(found.len(), 1, "{path:?} = {value}: {found:?}");
            assert_eq!(found[0].0, format!("tcp.{}", path.join(".")), "{value}");
            assert!(found[0].1.starts_with("must be "), "{path:?} = {value}: {found:?}");
            tried += 1;
        }
    }
    assert!(tried > 25, "{tried} values");
}

#[test]
fn wrong_types_and_unknown_fields_are_mistakes_at_their_places() {
    for (tcp, place) in [
        (json!({ "sack": 1 }), "tcp.sack"),
        (json!({ "profile": 1 }), "tcp.profile"),
        (json!({ "sak": true }), "tcp.sak"),
        (json!({ "rto": true }), "tcp.rto"),
        (json!({ "rto": { "mi": "1 s" } }), "tcp.rto.mi"),
        (json!({ "tso": "on" }), "tcp.tso"),
        (json!({ "tso": { "max_size": 5 } }), "tcp.tso.max_size"),
        (json!({ "timestamp_step": { "at": "1 s" } }), "tcp.timestamp_step"),
        (json!({ "timestamp_step": { "back": "1 s" } }), "tcp.timestamp_step.at"),
        (json!({ "initial_window": "10 B" }), "tcp.initial_window"),
    ] {
        let found = config(tcp.as_object().expect("a table")).expect_err(place);
        assert_eq!(found.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), [place]);
    }
}

#[test]
fn what_several_switches_decide_is_settled_together() {
    let of = |tcp: Value| config(tcp.as_object().expect("a table")).expect("no mistake");
    let unscaled = of(json!({ "window_scaling": false, "receive_autotuning": { "max": "1 MB" } }));
    assert_eq!((unscaled.receive_buffer.0, unscaled.send_buffer.0), (65_535, 65_535));
    assert_eq!(unscaled.receive_autotuning.map(|tuning| tuning.max.0), Some(65_535));
    assert_eq!(of(json!({ "receive_buffer": "1 MB", "receive_autotuning": true })).receive_autotuning, None);
    let large = of(json!({ "initial_ssthresh": "20 segments", "mss": 1000, "initial_window": "4 segments" }));
    assert_eq!((large.initial_window.0, large.initial_ssthresh.map(|bytes| bytes.0)), (4_000, Some(20_000)));
    assert_eq!(of(json!({ "dup_thresh": 5 })).max_dup_thresh, 5);
    assert_eq!(of(json!({ "user_timeout": "0 s" })).user_timeout, None);
    assert_eq!(of(json!({ "delayed_ack": false })).delayed_ack.segments, 1);
}

#[test]
fn pacing_by_fq_is_a_word_and_refused_where_it_makes_no_sense() {
    let read = |tcp: Value| config(tcp.as_object().expect("a table"));
    let by_fq = read(json!({ "pacing": "fq", "small_queues": true })).expect("goes together");
    assert_eq!(read(json!({ "pacing": { "by": "fq" }, "small_queues": true })), Ok(by_fq));
    assert_eq!(by_fq.pacing, PacingConfig { enabled: true, by: PacedBy::Fq, ..TcpConfig::default().pacing });
    assert_eq!(read(json!({ "pacing": "tcp" })), read(json!({ "pacing": true })));
    for (tcp, field, said) in [
        (json!({ "pacing": "fq" }), "tcp.pacing", "by fq needs small_queues"),
        (
            json!({ "pacing": "fq", "small_queues": true, "device_queue": true }),
            "tcp.pacing",
            "must not be combined with device_queue",
        ),
        (json!({ "pacing": { "horizon": "5 s" } }), "tcp.pacing.horizon", "belongs to fq"),
        (json!({ "pacing": { "beyond_horizon": "cap" } }), "tcp.pacing.beyond_horizon", "belongs to fq"),
        (json!({ "pacing": "netem" }), "tcp.pacing", "true, false, \"tcp\", \"fq\" or a table"),
    ] {
        let found = read(tcp.clone()).expect_err(field);
        assert!(found[0].0 == field && found[0].1.contains(said), "{tcp}: {found:?}");
    }
}
