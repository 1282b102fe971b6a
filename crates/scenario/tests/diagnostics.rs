//! Messages of mistakes: one for each wrong value, in the form of compilers, whatever the text holds.

use std::collections::BTreeSet;
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
        ("{ kind = \"udp\", payload = \"1200 bytes\", until = \"9 s\" }", "{ kind = \"ucp\" }"),
        ("{ kind = \"udp\", payload = \"1200 bytes\", until = \"9 s\" }", "{ payload = \"1200 bytes\" }"),
        ("rate = \"10 /s\"", "load = \"50 %\""),
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

/// Names that papers, Linux, ns-2, ns-3 and OPNET use for these parts and keys.
///
/// HSTCP is the TCP of RFC 3649, Linux's pfifo a queue that drops at its tail, ns-2's FTP data without end, and the RTT
/// twice a one-way delay.
#[test]
fn names_of_elsewhere_lead_to_the_part_or_key_that_is_meant() {
    let controllers = [
        ("CUBIC", "cubic"),
        ("BBR", "bbr"),
        ("BBRv1", "bbr"),
        ("BBRv3", "bbr3"),
        ("BBRv2", "bbr\" or \"bbr3"),
        ("pcc", "pcc_allegro\" or \"pcc_vivace"),
        ("DQN-CUBIC", "dqn_cubic"),
        ("hstcp", "highspeed"),
        ("HSTCP", "highspeed"),
        ("TcpHighSpeed", "highspeed"),
        ("TcpNewReno", "newreno"),
        ("LEDBAT++", "ledbat_plus_plus"),
    ];
    let queues = [
        ("FQ-CoDel", "fq_codel"),
        ("DropTail", "drop_tail"),
        ("tail drop", "drop_tail"),
        ("FIFO", "drop_tail"),
        ("pfifo", "drop_tail"),
        ("bfifo", "drop_tail"),
        ("random early detection", "red"),
    ];
    let apps = [("ftp", "bulk"), ("BulkSend", "bulk"), ("http", "request_response"), ("OnOff", "on_off")];
    let cases =
        controllers.map(|(given, meant)| ("controller = \"cubic\"", format!("controller = \"{given}\""), meant));
    let cases =
        cases.into_iter().chain(queues.map(|(given, meant)| ("kind = \"red\"", format!("kind = \"{given}\""), meant)));
    let app = |(given, meant)| ("controller = \"cubic\"", format!("app = {{ kind = \"{given}\" }}"), meant);
    for (old, new, meant) in cases.chain(apps.map(app)) {
        let found = mistakes(&with(old, &new));
        let remedy = found.first().map_or("", |one| &one.remedy);
        assert!(found.len() == 1 && remedy.starts_with(&format!("did you mean \"{meant}\"?")), "{new}: {found:#?}");
    }
    for (old, new, remedy) in [
        ("delay = \"8 ms\"", "rtt = \"16 ms\"", "write delay = ..., which is half of the RTT"),
        ("delay = \"8 ms\"", "latency = \"8 ms\"", "write delay = ..."),
        ("rate = \"10 Mbit/s\"", "bandwidth = \"10 Mbit/s\"", "write rate = ..."),
        ("rate = \"10 Mbit/s\"", "DataRate = \"10 Mbit/s\"", "write rate = ..., which is ns-3's data rate"),
        ("mss = 1448", "selective_ack = true", "write sack = ..., which is OPNET's Selective ACK"),
        ("mss = 1448", "maximum_segment_size = 1448", "write mss = ..., which is OPNET's Maximum Segment Size"),
        ("mss = 1448", "fast_retransmit = 3", "write dup_thresh = ..., which is fast retransmit"),
        ("mss = 1448", "rto_min = \"200 ms\"", "write rto = { min = ... }"),
        (
            "mss = 1448",
            "slow_start_initial_count = 2",
            "write initial_window = ..., which is OPNET's Slow-Start Initial Count",
        ),
        ("mss = 1448", "mss = \"1448 B\"", "write 1448, in bytes, without quotes"),
        ("mss = 1448", "profile = \"ns-3\"", "did you mean \"ns3-3.4x\"? known: "),
        ("controller = \"cubic\"", "congestion_control = \"cubic\"", "write controller = ..."),
        ("controller = \"cubic\"", "cc = \"cubic\"", "write controller = ..."),
        ("count = 3", "count = 0", "write 1 or more, or remove this flow"),
    ] {
        let found = mistakes(&with(old, new));
        let is_told = |one: &Diagnostic| one.remedy.starts_with(remedy);
        assert!(found.len() == 1 && found.iter().all(is_told), "{new}: {found:#?}");
    }
}

#[test]
fn a_list_of_tables_by_another_name_is_the_only_mistake() {
    let text = "duration = \"1 s\"\n[topology]\nkind = \"explicit\"\nnodes = [\"a\", \"b\"]\n\
                link = [{ from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let found = mistakes(text);
    let remedy = "did you mean \"node\"? known: \"node\", \"link\"; write [[topology.node]] for each";
    assert_eq!((found.len(), found[0].remedy.as_str()), (1, remedy), "{found:#?}");
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

/// Every value of every scenario of the package is made wrong in turn: one mistake each.
#[test]
fn a_value_that_cannot_be_read_is_one_mistake_in_every_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios");
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

/// A scenario that sets much of what a scenario may set, in places that have little to do with each other.
pub(super) const WIDE: &str = r#"duration = "10 s"
seed = 1
measure = { from = "2 s", to = "9 s" }
trace = { interval = "100 ms", which_links = ["bottleneck"] }
tcp = { mss = 1448 }

[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "8 ms"
loss = { kind = "random", p = 0.01 }
discard = [{ kind = "list", positions = [5], of = "data", flow = "first" }]
queue = { kind = "priority", bands = [{ of = "acks" }, { flows = ["video", "datagrams"], limit = "90 packets" }, {}] }

[topology.bottleneck.reverse]
queue = { kind = "red", limit = "100 packets" }

[[host]]
name = ["first.left", "short.right"]
tcp = { ecn = "accept" }

[[appliance]]
node = "left"
take = { flows = ["first"] }
near = { controller = "reno" }
copying = { delay = "1 ms", rate = "1 Gbit/s" }

[[change]]
at = "5 s"
link = "bottleneck"
delay = "9 ms"

[[flow]]
name = "first"
controller = { kind = "cubic", beta = 0.7 }
start = "1 s"
rtt = "60 ms"
abort_at = "8 s"

[[flow]]
name = "short"
arrivals = { rate = "10 /s", size = { uniform = ["1 kB", "9 kB"] }, until = "9 s", buckets = ["10 kB", "1 MB"] }

[[flow]]
name = "datagrams"
protocol = { kind = "udp", payload = "1200 bytes", until = "8 s" }
app = { kind = "on_off", on = "1 s", off = "2 s", rate = "1 Mbit/s" }

[[flow]]
name = "video"
app = { kind = "video", segment = "2 s", buffer = "10 s", playback = "4 s" }

[[flow]]
name = "ask"
app = { kind = "request_response", request = "300 B", response = "10 kB", think = "1 s" }

[[flow]]
name = "call"
protocol = { kind = "udp", ecn = "ect0" }
app = { kind = "media", max_rate = "1 Mbit/s", frame_rate = 30 }
"#;

/// Independent mistakes; none hides another, except mistakes in the name or the kind of a flow.
const INDEPENDENT: [(&str, &str); 40] = [
    ("\"10 s\"\nseed", "\"ten s\"\nseed"),
    ("seed = 1", "sead = 1"),
    ("from = \"2 s\"", "from = 2"),
    ("interval = \"100 ms\"", "interval = \"often\""),
    ("which_links = [\"bottleneck\"]", "which_links = [\"ghost\"]"),
    ("mss = 1448", "mss = 0"),
    ("rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\n", "rate = \"1 Gbit/s\", delay = \"1 m\" }\n\n"),
    ("rate = \"10 Mbit/s\"", "rate = \"0 bit/s\""),
    ("delay = \"8 ms\"", "delay = \"8 parsec\""),
    ("p = 0.01", "p = 2"),
    ("positions = [5]", "positions = [\"x\"]"),
    ("flow = \"first\"", "flow = \"ghost\""),
    ("of = \"acks\"", "of = \"pings\""),
    ("\"video\", \"datagrams\"", "\"video\", \"ghost\""),
    ("limit = \"90 packets\"", "limit = \"90 sheep\""),
    ("limit = \"100 packets\"", "limt = \"100 packets\""),
    ("[\"first.left\", \"short.right\"]", "[\"first.left\", \"first.left\"]"),
    ("ecn = \"accept\"", "ecn = \"perhaps\""),
    ("node = \"left\"", "node = \"lleft\""),
    ("flows = [\"first\"]", "flows = [\"furst\"]"),
    ("controller = \"reno\"", "controller = \"renno\""),
    ("copying = { delay = \"1 ms\"", "copying = { delay = \"9 days\""),
    ("copying = { delay = \"1 ms\", rate = \"1 Gbit/s\"", "copying = { delay = \"1 ms\", rate = \"0 bit/s\""),
    ("at = \"5 s\"", "at = \"0 s\""),
    ("link = \"bottleneck\"", "link = \"ghost\""),
    ("delay = \"9 ms\"", "delay = \"9 days\""),
    ("beta = 0.7", "beta = 7.0"),
    ("rtt = \"60 ms\"", "rtt = \"60\""),
    ("rate = \"10 /s\"", "rate = \"0 /s\""),
    ("uniform = [\"1 kB\", \"9 kB\"]", "uniform = [\"9 kB\", \"1 kB\"]"),
    ("buckets = [\"10 kB\", \"1 MB\"]", "buckets = [\"1 MB\", \"10 kB\"]"),
    ("payload = \"1200 bytes\"", "payload = \"90 kB\""),
    ("off = \"2 s\"", "off = \"0 s\""),
    ("segment = \"2 s\"", "segment = \"0 s\""),
    ("request = \"300 B\"", "request = \"0 B\""),
    ("response = \"10 kB\"", "response = { cdf = \"web_serch\" }"),
    ("think = \"1 s\"", "thing = \"1 s\""),
    ("ecn = \"ect0\"", "ecn = \"ce\""),
    ("max_rate = \"1 Mbit/s\"", "max_rate = \"9000 Gbit/s\""),
    ("frame_rate = 30", "frame_rate = 0"),
];

/// Every mistake is reported at once: two unrelated mistakes are both reported.
#[test]
fn no_mistake_hides_another() {
    assert_eq!(mistakes(WIDE), []);
    let fields = |text: &str| mistakes(text).into_iter().map(|one| one.field).collect::<BTreeSet<String>>();
    let put = |text: &str, (old, new): (&str, &str)| {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        text.replacen(old, new, 1)
    };
    let alone: Vec<BTreeSet<String>> = INDEPENDENT.iter().map(|edit| fields(&put(WIDE, *edit))).collect();
    for (edit, found) in INDEPENDENT.iter().zip(&alone) {
        assert_eq!(found.len(), 1, "{edit:?}: {found:?}");
    }
    let mut hidden = Vec::new();
    for (one, first) in INDEPENDENT.iter().enumerate() {
        for (other, second) in INDEPENDENT.iter().enumerate().skip(one + 1) {
            let text = put(WIDE, *first);
            if text.matches(second.0).count() != 1 {
                continue; // of the same words
            }
            let wanted: BTreeSet<String> = alone[one].union(&alone[other]).cloned().collect();
            let found = fields(&put(&text, *second));
            if found != wanted {
                hidden.push(format!("{wanted:?}: {found:?}"));
            }
        }
    }
    assert!(hidden.is_empty(), "{} of them:\n{}", hidden.len(), hidden.join("\n"));
}

#[test]
fn a_key_stands_once_in_json_as_in_toml() {
    let json = "{\"duration\": \"2 s\",\n \"duration\": \"3 s\"}";
    let error = Scenario::parse(json, "test.json", &[]).expect_err("a key twice");
    assert_eq!((error.diagnostics[0].line, error.diagnostics.len()), (Some(2), 1), "{error}");
    assert!(error.to_string().contains("duplicate key \"duration\""), "{error}");
}

#[test]
fn what_is_nested_too_deeply_is_told_with_its_line() {
    let (dots, lists) = (".a".repeat(60_000), "[".repeat(60_000));
    for (file, deep) in [
        ("test.toml", format!("duration = \"1 s\"\n[a{dots}]\nx = 1\n")),
        ("test.toml", format!("duration = \"1 s\"\na{dots} = 1\n")),
        ("test.toml", format!("duration = \"1 s\"\na = {lists}{}\n", "]".repeat(60_000))),
        ("test.toml", format!("duration = \"1 s\"\na = {}1{}\n", "{ a = ".repeat(60_000), "}".repeat(60_000))),
        ("test.json", format!("{{\"duration\": \"1 s\",\n\"a\": {lists}{}}}", "]".repeat(60_000))),
    ] {
        let error = Scenario::parse(&deep, file, &[]).expect_err("it is too deep");
        let first = &error.diagnostics[0];
        assert_eq!(first.line, Some(2), "{error}");
        assert_eq!((&*first.message, &*first.remedy), ("lists or tables are nested too deeply", "nest them less"));
    }
}

/// A key either has an effect, or is refused at its place with a remedy.
#[test]
fn a_key_that_can_have_no_effect_is_refused() {
    let of = |old: &str, new: &str| mistakes(&with(old, new)).into_iter().map(|found| found.field).collect::<Vec<_>>();
    for (old, new, place) in [
        ("interval = \"100 ms\"", "links = \"none\"\nwhich_links = [\"bottleneck\"]", "trace.which_links"),
        ("interval = \"100 ms\"", "flows = \"none\"\nper = \"event\"", "trace.per"),
        ("[tcp]", "[[host]]\nname = \"datagrams.left\"\ntcp = { mss = 500 }\n[tcp]", "host[0].tcp"),
        ("[tcp]", "[[host]]\nname = \"first.left\"\n[tcp]", "host[0]"),
    ] {
        assert_eq!(of(old, new), [place], "{new}");
    }
    assert_eq!(
        of("[tcp]", "[[host]]\nname = [\"datagrams.left\", \"first.left\"]\ntcp = { mss = 500 }\n[tcp]"),
        [""; 0]
    );
}
