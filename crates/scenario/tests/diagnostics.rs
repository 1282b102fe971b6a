//! How mistakes are said: one for each wrong value, in the form of compilers, whatever the text holds.

use std::path::Path;

use ackclock_scenario::{Diagnostic, Scenario};

const RIGHT: &str = r#"duration = "10 s"
seed = 1

[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "8 ms", queue = { kind = "red", limit = "100 packets" } }

[measure]
from = "2 s"
to = "9 s"

[trace]
interval = "100 ms"

[tcp]
mss = 1448

[[flow]]
name = "first"
controller = "cubic"
start = "1 s"
rtt = "60 ms"
abort_at = "8 s"

[[flow]]
name = "short"
count = 3
start = { first = "1 s", spacing = "2 s" }
arrivals = { rate = "10 /s", size = "10 kB", until = "9 s", buckets = ["10 kB", "1 MB"] }

[[flow]]
name = "datagrams"
protocol = { kind = "udp", payload = "1200 bytes", until = "9 s" }
app = { kind = "cbr", rate = "1 Mbit/s" }
"#;

fn mistakes(text: &str) -> Vec<Diagnostic> {
    Scenario::parse(text, "test.toml", &[]).err().map(|error| error.diagnostics).unwrap_or_default()
}

fn with(old: &str, new: &str) -> String {
    assert!(RIGHT.contains(old), "{old}");
    RIGHT.replacen(old, new, 1)
}

#[test]
fn a_wrong_value_is_one_mistake_and_not_others_that_follow_from_it() {
    assert_eq!(mistakes(RIGHT), []);
    for (old, new) in [
        ("duration = \"10 s\"", "duration = \"0 s\""),
        ("duration = \"10 s\"", "duration = \"ten seconds\""),
        ("duration = \"10 s\"", "duration = \"400 days\""),
        ("duration = \"10 s\"", "duration = \"9000 h\""),
        ("duration = \"10 s\"", ""),
        ("rate = \"10 Mbit/s\"", "rate = \"0 bit/s\""),
        ("rate = \"10 Mbit/s\"", "rate = \"fast\""),
        ("delay = \"8 ms\"", "delay = \"soon\""),
        ("kind = \"dumbbell\"", "kind = \"dumbell\""),
        ("from = \"2 s\"", "from = 2"),
        ("to = \"9 s\"", "to = \"11 s\""),
        ("interval = \"100 ms\"", "interval = \"often\""),
        ("mss = 1448", "mss = \"large\""),
        ("controller = \"cubic\"", "controller = \"cubik\""),
        ("start = \"1 s\"\nrtt", "start = \"12 s\"\nrtt"),
        ("rtt = \"60 ms\"", "rtt = \"1 ms\""),
        ("abort_at = \"8 s\"", "abort_at = \"11 s\""),
        ("count = 3", "count = 0"),
        ("first = \"1 s\"", "first = \"12 s\""),
        ("spacing = \"2 s\"", "spacing = \"20 s\""),
        ("rate = \"10 /s\"", "rate = \"0 /s\""),
        ("rate = \"10 /s\", ", ""),
        ("size = \"10 kB\"", "size = \"0 B\""),
        ("payload = \"1200 bytes\"", "payload = \"90 kB\""),
        ("rate = \"1 Mbit/s\"", "rate = \"-1\""),
    ] {
        let found = mistakes(&with(old, new));
        assert_eq!(found.len(), 1, "{new}: {found:#?}");
    }
}

#[test]
fn a_mistake_is_printed_as_compilers_do() {
    let shown = mistakes(&with("\"10 s\"", "\"0 s\""))[0].to_string();
    let wanted = "test.toml:1:12: duration must be more than zero\n    duration = \"0 s\"\n               ^^^^^\n  \
                  remedy: simulate at least 1 ns";
    assert_eq!(shown, wanted);
    let error = Scenario::parse(RIGHT, "test.toml", &["duration=\"0 s\"".to_owned()]).expect_err("no time");
    let wanted = "--set: duration must be more than zero\n    duration = \"0 s\"\n               ^^^^^\n  remedy: simulate at least 1 ns";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn what_is_missing_from_the_whole_points_at_no_line() {
    let found = mistakes(&with("duration = \"10 s\"\n", ""));
    assert_eq!((found[0].message.as_str(), &found[0].source_line), ("is missing", &None));
}

#[test]
fn of_a_table_that_is_missing_nothing_more_is_said() {
    let flow = "[[flow]]\nname = \"a\"\ncontroller = \"cubic\"\n";
    let fields = |kind: &str| -> Vec<String> {
        let text = format!("duration = \"1 s\"\n[topology]\nkind = \"{kind}\"\n{flow}");
        mistakes(&text).into_iter().map(|one| one.field).collect()
    };
    assert_eq!(fields("dumbbell"), ["topology.bottleneck", "topology.access"]);
    for kind in ["chain", "parking_lot", "star"] {
        let found = fields(kind);
        let is_in = |field: &String, table: &String| field.starts_with(&format!("{table}."));
        assert!(!found.iter().any(|field| found.iter().any(|table| is_in(field, table))), "{kind}: {found:?}");
    }
}

#[test]
fn text_of_a_stranger_reaches_no_terminal() {
    let hostile = "\u{1b}[2J\u{7}\u{202e}";
    let texts = [
        with("name = \"first\"", &format!("name = \"first{}\"\nrtt2 = 1", hostile.escape_unicode())),
        with("seed = 1", &format!("seed = 1\nx{hostile} = 2")),
        with("seed = 1", &format!("seed = \"{hostile}\"")),
        with("\"cubic\"", "\"cu\\u001b[31mbik\""),
        with("seed = 1", &format!("\"a\\u001b[31m\" = \"{}\"", "b".repeat(100_000))),
    ];
    for text in texts {
        let error = Scenario::parse(&text, "te\u{1b}st.toml", &[]).expect_err("it is wrong");
        let shown = error.to_string();
        let obeyed = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(obeyed, None, "{shown:?}");
        assert!(shown.lines().all(|line| line.chars().count() < 2_000), "{shown}");
    }
}

#[test]
fn a_hundred_mistakes_say_that_there_are_more() {
    let lines =
        |count: usize| (0..count).map(|index| format!("x{index} = 1")).collect::<Vec<_>>().join("\n") + "\n" + RIGHT;
    let hundred = Scenario::parse(&lines(100), "test.toml", &[]).expect_err("100 unknown fields");
    assert_eq!((hundred.diagnostics.len(), hundred.has_more), (100, false));
    let more = Scenario::parse(&lines(101), "test.toml", &[]).expect_err("101 unknown fields");
    assert_eq!((more.diagnostics.len(), more.has_more), (100, true));
    assert!(more.to_string().ends_with("there are more than 100 mistakes; these are the first"));
}

/// Every value of every scenario of ours is put wrong in turn: one mistake each.
#[test]
fn a_value_that_cannot_be_read_is_one_mistake_in_every_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for name in ["two-algorithms", "parking-lot", "requests", "video", "web-search", "satellite", "fair-queueing"] {
        let file = folder.join(format!("{name}.toml"));
        let text = std::fs::read_to_string(&file).expect("a scenario");
        let file = file.to_string_lossy();
        for (line, content) in text.lines().enumerate() {
            let Some((key, value)) = content.split_once(" = \"").filter(|(key, _)| !key.starts_with('#')) else {
                continue;
            };
            let Some((_, rest)) = value.split_once('"') else { continue };
            let wrong = format!("{key} = [\"?!\"]{rest}");
            let changed: Vec<&str> =
                text.lines().enumerate().map(|(at, old)| if at == line { &*wrong } else { old }).collect();
            let found = Scenario::parse(&changed.join("\n"), &file, &[]).err().map(|error| error.diagnostics);
            let found = found.unwrap_or_default();
            assert!(found.len() <= 1, "{name}, {wrong}: {found:#?}");
        }
    }
}
