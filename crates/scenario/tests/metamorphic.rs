//! Changes that must not matter do not matter: a no-op leaves a scenario's results, and a link changed to a rate ends
//! as one that always had it.
//!
//! Every queue discipline of the catalogue takes part. `ACKCLOCK_METAMORPHIC=long` runs each case for ten times as long.

use std::fmt::Write as _;

use ackclock_events::{Observer, Record, Source};
use ackclock_net::queue::queues;
use ackclock_scenario::Scenario;
use ackclock_sim::{Column, ColumnData, LinkSummary, Outcome, Simulation, Table};
use ackclock_units::SimTime;

/// Every discipline in a scenario's form; limits are times where a discipline takes one.
const QUEUES: [(&str, &str); 17] = [
    ("drop_tail", "limit = \"30 ms\""),
    ("sgpq", "limit = \"30 ms\""),
    ("threshold", "threshold = \"5 ms\", limit = \"30 ms\""),
    ("red", "min_threshold = \"10 ms\", max_threshold = \"30 ms\", ecn = true, limit = \"100 ms\""),
    ("tbf", "rate = \"3 Mbit/s\", burst = \"15 kB\", limit = \"30 ms\""),
    ("priority", "bands = [{ of = \"acks\", limit = \"30 ms\" }, { limit = \"30 ms\" }]"),
    ("drr", "limit = \"30 ms\""),
    ("sfq", "limit = \"30 ms\""),
    ("fq", "limit = \"30 ms\""),
    ("shared_buffer", "limit = \"30 ms\""),
    ("codel", "limit = \"30 ms\""),
    ("fq_codel", "limit = \"30 ms\""),
    ("pie", "limit = \"30 ms\""),
    ("fq_pie", "limit = \"30 ms\""),
    ("cake", ""),
    ("dualpi2", "limit = \"30 ms\""),
    ("abc", "limit = \"30 ms\""),
];

#[test]
fn every_discipline_takes_part() {
    let listed: Vec<&str> = QUEUES.iter().map(|(name, _)| *name).collect();
    let known: Vec<&str> = queues().iter().map(|part| part.about.name).collect();
    assert_eq!(listed, known, "give QUEUES a line of each discipline, in the order of the catalogue");
}

/// The rate of two octets in the 100 ms of a sample, bit/s.
const OCTETS_BPS: f64 = 160.0;

fn queue(kind: &str) -> String {
    let fields = QUEUES.iter().find(|(name, _)| *name == kind).expect("a discipline").1;
    let comma = if fields.is_empty() { "" } else { ", " };
    format!("queue = {{ kind = \"{kind}\"{comma}{fields} }}")
}

fn scaled(seconds: f64) -> f64 {
    let is_long = std::env::var("ACKCLOCK_METAMORPHIC").is_ok_and(|value| value == "long");
    if is_long { 10.0 * seconds } else { seconds }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> Outcome {
    Simulation::new(scenario(text).config()).finish()
}

/// Flows of each transport, and small packets between large ones.
const FLOWS: &str = "
[[flow]]
name = \"tcp\"
[[flow]]
name = \"bbr\"
controller = \"bbr\"
[[flow]]
name = \"quic\"
protocol = \"quic\"
[[flow]]
name = \"large\"
protocol = { kind = \"udp\", payload = \"1200 B\" }
app = { kind = \"poisson\", rate = \"1 Mbit/s\" }
[[flow]]
name = \"small\"
protocol = { kind = \"udp\", payload = \"40 B\" }
app = { kind = \"poisson\", rate = \"200 kbit/s\" }
";

/// A chain whose second link is under test. The third has its rate, so that packets of different sizes feed an equal
/// one.
fn chain(seconds: f64, link: &str, tail: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\nmeasure = {{ from = \"{from} s\" }}\ntrace = {{ interval = \"100 ms\" }}\ntcp = {{ ecn = \"request\" }}\n\
         [topology]\nkind = \"chain\"\nnodes = [\"a\", {{ name = \"b\", kind = \"router\" }}, {{ name = \"c\", kind = \"router\" }}, \"d\"]\n\
         links = [{{ rate = \"20 Mbit/s\", delay = \"1 ms\" }}, {{ rate = \"4 Mbit/s\", delay = \"5 ms\", {link} }}, \
         {{ rate = \"4 Mbit/s\", delay = \"1 ms\" }}]\n{tail}{FLOWS}",
        from = 0.3 * seconds
    )
}

/// Compares all results; of series, the columns that both have.
fn compare(one: &Outcome, other: &Outcome, what: &str, texts: [&str; 2]) {
    let summaries = [one, other].map(|outcome| serde_json::to_string_pretty(&outcome.summary).expect("JSON"));
    let mut found = String::new();
    if let Some((a, b)) = summaries[0].lines().zip(summaries[1].lines()).find(|(a, b)| !is_same_line(a, b)) {
        let _ = writeln!(found, "summary: {} is not {}", a.trim(), b.trim());
    }
    for (name, a, b) in [("flows", &one.flows, &other.flows), ("links", &one.links, &other.links)] {
        if let Some(column) = other_column(a, b) {
            let _ = writeln!(found, "{name}: column {column} differs");
        }
    }
    let is_same = [one, other].map(|outcome| format!("{:?} {:?}", outcome.episodes, outcome.completions));
    if is_same[0] != is_same[1] {
        let _ = writeln!(found, "episodes or completions differ");
    }
    assert!(found.is_empty(), "{what}:\n{found}--- one:\n{}\n--- other:\n{}", texts[0], texts[1]);
}

/// True for equal texts, or equal numbers but for the rounding of a quotient: octets over capacity, or time over time.
fn is_same_line(one: &str, other: &str) -> bool {
    let number =
        |line: &str| line.split(':').next_back().and_then(|text| text.trim().trim_end_matches(',').parse::<f64>().ok());
    one == other || number(one).zip(number(other)).is_some_and(|(a, b)| (a - b).abs() <= 1e-12 * b.abs())
}

/// The first column that differs between the tables; NaN equals itself.
///
/// A link with a clock reports its throughput as time times rate, other links as whole octets. They are known to differ
/// by less than a packet's last octet.
fn other_column(one: &Table, other: &Table) -> Option<String> {
    let pairs = one.columns.iter().filter_map(|a| Some((a, other.columns.iter().find(|b| b.name == a.name)?)));
    let is_of_links = one.columns.iter().any(|column| column.name == "link");
    let differs = |(Column { name, data: a }, Column { data: b, .. }): &(&Column, &Column)| match (a, b) {
        (ColumnData::F64(a), ColumnData::F64(b)) => {
            let tolerance = if is_of_links && name == "throughput_bps" { OCTETS_BPS } else { 0.0 };
            a.len() != b.len() || a.iter().zip(b).any(|(a, b)| (a - b).abs() > tolerance)
        }
        (a, b) => format!("{a:?}") != format!("{b:?}"),
    };
    pairs.into_iter().find(differs).map(|(a, _)| a.name.to_string())
}

/// Changes of a link that must not matter: the field, and the text behind the topology.
const NO_OPS: [(&str, &str, &str); 7] = [
    ("a loss that never happens", "loss = { kind = \"random\", p = 0.0 },", ""),
    ("jitter of nothing", "jitter = { kind = \"uniform\", max = \"0 ns\" },", ""),
    ("order that nothing breaks", "keep_order = false,", ""),
    ("telemetry that nobody reads", "telemetry = true,", ""),
    ("a change to the same rate", "", "[[change]]\nat = \"0.5 s\"\nlink = \"b->c\"\nrate = \"4 Mbit/s\"\n"),
    ("a change to the same delay", "", "[[change]]\nat = \"0.5 s\"\nlink = \"b->c\"\ndelay = \"5 ms\"\n"),
    ("a change to no loss", "", "[[change]]\nat = \"0.5 s\"\nlink = \"b->c\"\nloss = 0.0\n"),
];

#[test]
fn a_no_op_on_a_link_changes_no_result() {
    for (kind, _) in QUEUES {
        let plain = chain(scaled(1.0), &queue(kind), "");
        let expected = run(&plain);
        for (what, link, tail) in NO_OPS {
            let text = chain(scaled(1.0), &format!("{link} {}", queue(kind)), tail);
            compare(&expected, &run(&text), &format!("{kind}: {what}"), [&plain, &text]);
        }
    }
}

/// Behind a link of its own rate small packets wait for large ones, whether or not packets enter ahead of time.
#[test]
fn a_no_op_behind_an_equal_link_changes_no_result() {
    let plain = chain(scaled(2.0), &queue("drop_tail"), "");
    let text = plain.replace("delay = \"1 ms\" }]", "delay = \"1 ms\", loss = { kind = \"random\", p = 0.0 } }]");
    let (one, other) = (run(&plain), run(&text));
    compare(&one, &other, "loss of nothing behind an equal link", [&plain, &text]);
    let link = &one.summary.links.iter().find(|link| link.name == "c->d").expect("the link");
    assert!(link.queue_packets.max > 0.0, "small packets wait: {link:?}");
}

/// Services of less than a nanosecond end, and their packets arrive, at the instant at which they begin.
#[test]
fn a_link_whose_services_take_no_time_delivers_every_packet() {
    let link = "{ rate = \"RATE\", delay = \"0 s\", queue = { kind = \"codel\" } }";
    let network = format!(
        "duration = \"10 ms\"\n[topology]\nkind = \"chain\"\nnodes = [\"a\", {{ name = \"r\", kind = \"router\" }}, \"z\"]\n\
         links = [{{ rate = \"10 Tbit/s\", delay = \"1 us\" }}, {link}]\n"
    );
    let flow =
        "[[flow]]\nprotocol = { kind = \"udp\", payload = \"12 B\" }\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    for rate in ["400 Gbit/s", "800 Gbit/s", "1600 Gbit/s", "10 Tbit/s"] {
        let outcome = run(&format!("{}{}", network.replace("RATE", rate), flow.repeat(10)));
        let link = outcome.summary.links.iter().find(|link| link.name == "r->z").expect("the link");
        assert_eq!(link.delivered_packets, 1_050, "{rate}: ten flows, a packet each 96 us from 0 to 10 ms");
    }
}

struct Deaf;

impl Observer for Deaf {
    fn begin(&mut self, _sources: &[Source]) {}

    fn on_event(&mut self, _record: &Record) {}
}

#[test]
fn a_run_that_is_watched_is_the_run() {
    for (kind, _) in QUEUES {
        let text = chain(scaled(1.0), &queue(kind), "");
        let mut watched = Simulation::new(scenario(&text).config());
        watched.run_observed(SimTime((scaled(1.0) * 1e9) as u64), &mut Deaf);
        compare(&run(&text), &watched.finish(), &format!("{kind}: watched"), [&text, &text]);
    }
}

/// A host counts what waits at its own link, and asks whether its device has room, whatever the link knows of its rate ahead.
#[test]
fn a_no_op_on_a_hosts_own_link_changes_no_result() {
    let own = "links = [{ rate = \"20 Mbit/s\", delay = \"1 ms\"";
    let handover = "handover = { period = \"200 ms\", outage = \"40 ms\" }";
    for (what, tcp) in [("small queues", "small_queues = true"), ("a device", "device_queue = { limit = 5 }")] {
        let chain = chain(scaled(2.0), &queue("drop_tail"), "");
        let chain = chain.replace("tcp = { ecn = \"request\" }", &format!("tcp = {{ ecn = \"request\", {tcp} }}"));
        let plain = chain.replace(own, &format!("{own}, {handover}"));
        let text = chain.replace(own, &format!("{own}, {handover}, loss = {{ kind = \"random\", p = 0.0 }}"));
        compare(&run(&plain), &run(&text), what, [&plain, &text]);
    }
}

/// Numbers over a window do not depend on what follows it. `rtt_ms` of flows is known to go on.
#[test]
fn numbers_over_a_window_do_not_depend_on_what_follows_it() {
    for (kind, _) in QUEUES {
        let window = "measure = { from = \"0.3 s\", to = \"1 s\" }";
        let text = |seconds| {
            chain(seconds, &queue(kind), "").replacen(
                &format!("measure = {{ from = \"{} s\" }}", 0.3 * seconds),
                window,
                1,
            )
        };
        let (short, long) = (text(1.5), text(2.0));
        let links = [&short, &long].map(|text| serde_json::to_string(&run(text).summary.links).expect("JSON"));
        assert_eq!(links[0], links[1], "{kind}:\n{short}\n{long}");
    }
}

/// The counters of a link of this rate under datagrams at 1.3 times 4 Mbit/s, measured from 3 s on.
fn overload(kind: &str, rate: &str, change: &str) -> LinkSummary {
    let duration = scaled(6.0);
    let text = format!(
        "duration = \"{duration} s\"\nmeasure = {{ from = \"3 s\" }}\ntrace = false\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\nbottleneck = {{ rate = \"{rate}\", delay = \"5 ms\", {} }}\n{change}\
         [[flow]]\nprotocol = {{ kind = \"udp\", payload = \"972 B\" }}\napp = {{ kind = \"poisson\", rate = \"5.2 Mbit/s\" }}\n",
        queue(kind)
    );
    run(&text).summary.links.into_iter().find(|link| link.name == "bottleneck").expect("the link")
}

#[test]
fn after_a_change_a_link_is_as_one_that_always_had_its_rate() {
    let change = "[[change]]\nat = \"0.5 s\"\nlink = \"bottleneck\"\nrate = \"4 Mbit/s\"\n";
    for (kind, _) in QUEUES {
        let always = overload(kind, "4 Mbit/s", "");
        for before in ["1 Mbit/s", "40 Mbit/s"] {
            let changed = overload(kind, before, change);
            let near = |a: f64, b: f64, part: f64| (a - b).abs() <= part * b.abs().max(1e-3);
            // CAKE's memory is larger than what comes in this time, and BLUE takes minutes to settle on an unresponsive flow.
            let is_settled = kind != "cake";
            let is_near = near(changed.utilization, always.utilization, 0.02)
                && (!is_settled
                    || (near(changed.queueing_delay_ms.mean, always.queueing_delay_ms.mean, 0.15)
                        && near(changed.drops as f64, always.drops as f64, 0.15)));
            assert!(is_near, "{kind}, {before} before:\n{changed:?}\n{always:?}");
        }
    }
}
