//! Measurements over a window do not depend on what follows it, and parts of a window add up to the whole.
//!
//! Every number of the summary is classified here, so that a new one is noticed: it is of the whole run, of the window,
//! or of traffic that began in the window, whenever that ends.

use std::collections::BTreeMap;

use ackclock_scenario::Scenario;
use ackclock_sim::{ColumnData, Outcome, Simulation, Summary, Table};
use serde_json::Value;

/// The period of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The scenario or the whole run, as the reference says.
    Run,
    /// The window.
    Window(Parts),
    /// Datagrams, frames, requests and flows that began in the window; they may end after it.
    Begun(Parts),
}

/// The combination of the numbers of two consecutive windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Sum,
    /// The mean weighted by time.
    Mean,
    Max,
    /// No combination.
    Apart,
}

use Of::{Begun, Run, Window};
use Parts::{Apart, Max, Mean, Sum};

/// Numbers by their places, without positions in lists; a place includes all below it.
const FIELDS: &[(&str, Of)] = &[
    ("scenario", Run),
    ("seed", Run),
    ("duration_s", Run),
    ("measure_s", Window(Apart)),
    ("jain_index", Window(Apart)),
    ("flows.goodput_bps", Window(Mean)),
    ("flows.throughput_bps", Window(Mean)),
    ("flows.rtt_ms", Window(Apart)),
    ("flows.window.limited_by", Window(Mean)),
    ("flows.window", Window(Sum)),
    ("flows.exchanges.completed", Begun(Sum)),
    ("flows.exchanges.mean_bytes", Begun(Apart)),
    ("flows.exchanges.time_ms", Begun(Apart)),
    ("flows.exchanges.slowdown", Begun(Apart)),
    ("flows.video", Run),
    ("flows.name", Run),
    ("flows.controller", Run),
    ("flows.profile", Run),
    ("flows.start_s", Run),
    ("flows.completion_s", Run),
    ("flows.delivered_bytes", Run),
    ("flows.sent_segments", Run),
    ("flows.retransmitted_segments", Run),
    ("flows.lost_segments", Run),
    ("flows.timeouts", Run),
    ("flows.fast_recoveries", Run),
    ("flows.limited_by", Run),
    ("flows.aborted", Run),
    ("links.name", Run),
    ("links.utilization", Window(Mean)),
    ("links.delivered_packets", Window(Sum)),
    ("links.drops", Window(Sum)),
    ("links.marks", Window(Sum)),
    ("links.losses", Window(Sum)),
    ("links.duplicates", Window(Sum)),
    ("links.reordered", Window(Sum)),
    ("links.queue_packets.mean", Window(Mean)),
    ("links.queue_packets.p95", Window(Apart)),
    ("links.queue_packets.max", Window(Max)),
    ("links.queueing_delay_ms.mean", Window(Apart)),
    ("links.queueing_delay_ms.p95", Window(Apart)),
    ("links.queueing_delay_ms.max", Window(Max)),
    ("appliances.name", Run),
    ("appliances.added_latency_ms", Window(Apart)),
    ("appliances.flows.flow", Run),
    ("appliances.flows.short_flows", Run),
    ("appliances.flows.near_controller", Run),
    ("appliances.flows.far_controller", Run),
    ("appliances.flows.reset", Run),
    ("appliances.flows.DIRECTION.arrived_bytes", Run),
    ("appliances.flows.DIRECTION.acknowledged_bytes", Run),
    ("appliances.flows.DIRECTION.added_latency_ms", Window(Apart)),
    ("appliances.flows.DIRECTION.backlog_bytes.mean", Window(Mean)),
    ("appliances.flows.DIRECTION.backlog_bytes.p95", Window(Apart)),
    ("appliances.flows.DIRECTION.backlog_bytes.max", Window(Max)),
    ("appliances.flows.DIRECTION.in_socket_bytes.mean", Window(Mean)),
    ("appliances.flows.DIRECTION.in_socket_bytes.p95", Window(Apart)),
    ("appliances.flows.DIRECTION.in_socket_bytes.max", Window(Max)),
    ("appliances.flows.DIRECTION.ece_raised", Run),
    ("appliances.flows.DIRECTION.sent_segments", Run),
    ("appliances.flows.DIRECTION.retransmitted_segments", Run),
    ("appliances.flows.DIRECTION.timeouts", Run),
    ("appliances.flows.DIRECTION.fast_recoveries", Run),
    ("appliances.flows.DIRECTION.blocking.episodes", Window(Sum)),
    ("appliances.flows.DIRECTION.blocking.total_s", Window(Sum)),
    ("appliances.flows.DIRECTION.blocking.duration_ms", Window(Apart)),
    ("groups.name", Run),
    ("groups.controller", Run),
    ("groups.profile", Run),
    ("groups.started", Window(Sum)),
    ("groups.completed", Begun(Sum)),
    ("groups.aborted", Run),
    ("groups.max_concurrent", Run),
    ("groups.retransmitted_segments", Run),
    ("groups.timeouts", Run),
    ("groups.mean_bytes", Begun(Apart)),
    ("groups.fct_ms", Begun(Apart)),
    ("groups.slowdown", Begun(Apart)),
    ("groups.buckets.above_bytes", Run),
    ("groups.buckets.up_to_bytes", Run),
    ("groups.buckets.completed", Begun(Sum)),
    ("groups.buckets.fct_ms", Begun(Apart)),
    ("groups.buckets.slowdown", Begun(Apart)),
    ("datagrams.name", Run),
    ("datagrams.sent", Window(Sum)),
    ("datagrams.received", Begun(Sum)),
    ("datagrams.lost", Begun(Sum)),
    ("datagrams.out_of_order", Begun(Sum)),
    ("datagrams.marked", Begun(Sum)),
    ("datagrams.duplicates", Begun(Sum)),
    ("datagrams.sent_bps", Window(Mean)),
    ("datagrams.goodput_bps", Begun(Mean)),
    ("datagrams.one_way_delay_ms", Begun(Apart)),
    ("datagrams.jitter_ms", Begun(Apart)),
    ("datagrams.media.controller", Run),
    ("datagrams.media.target_bps", Window(Mean)),
    ("datagrams.media.frames", Window(Sum)),
    ("datagrams.media.frames_received", Begun(Sum)),
    ("datagrams.media.frames_discarded", Run),
    ("datagrams.media.frame_delay_ms", Begun(Apart)),
    ("datagrams.media.queue_ms", Window(Apart)),
    ("datagrams.media.reports", Run),
    ("datagrams.media.reports_bps", Run),
];

/// All kinds of traffic over links that lose, delay, copy and reorder, and over an appliance.
const TRAFFIC: &str = r#"
trace = { interval = "100 ms" }
[topology]
kind = "chain"
nodes = ["A", { name = "box", kind = "router" }, { name = "R", kind = "router" }, "B"]
[[topology.links]]
rate = "20 Mbit/s"
delay = "2 ms"
queue = { kind = "fq_codel" }
[[topology.links]]
rate = "4 Mbit/s"
delay = "10 ms"
loss = { kind = "random", p = 0.01 }
queue = { kind = "drop_tail", limit = "60 packets" }
[[topology.links]]
rate = "8 Mbit/s"
delay = "5 ms"
duplicate = 0.01
reorder = { kind = "probability", p = 0.01, extra = "20 ms" }
[[appliance]]
node = "box"
take = { flows = ["bulk", "short"] }
[[flow]]
name = "bulk"
[[flow]]
name = "quic"
protocol = "quic"
start = "500 ms"
[[flow]]
name = "ask"
app = { kind = "request_response", response = "20 kB", think = "100 ms" }
[[flow]]
name = "video"
app = { kind = "video", ladder = ["100 kbit/s", "300 kbit/s"], segment = "1 s", buffer = "5 s" }
[[flow]]
name = "periods"
app = { kind = "on_off", on = "700 ms", off = "400 ms" }
[[flow]]
name = "there and back"
app = { kind = "on_off", on = "300 ms", off = "200 ms", rate = "200 kbit/s" }
reply = { kind = "on_off", on = "300 ms", off = "200 ms", rate = "200 kbit/s" }
[[flow]]
name = "short"
arrivals = { rate = "10 /s", size = "6 kB", reply = "3 kB", buckets = ["5 kB"] }
[[flow]]
name = "datagrams"
protocol = "udp"
app = { kind = "poisson", rate = "200 kbit/s" }
[[flow]]
name = "bursts"
protocol = "udp"
app = { kind = "on_off", on = "50 ms", off = "70 ms", rate = "300 kbit/s" }
[[flow]]
name = "call"
protocol = "udp"
app = { kind = "media", max_rate = "400 kbit/s" }
"#;

fn run(duration: u32, from: u32, to: u32) -> Outcome {
    let text = format!("duration = \"{duration} s\"\nmeasure = {{ from = \"{from} s\", to = \"{to} s\" }}\n{TRAFFIC}");
    let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish()
}

/// Every value of a summary by its place.
fn values(outcome: &Outcome) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect(&serde_json::to_value(&outcome.summary).expect("it is written as JSON"), String::new(), &mut found);
    found
}

fn collect(value: &Value, place: String, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let point = if place.is_empty() { "" } else { "." };
                collect(value, format!("{place}{point}{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{place}[{index}]"), found);
            }
        }
        value => _ = found.insert(place, value.clone()),
    }
}

/// The period of the number at a place.
fn of(place: &str) -> Of {
    let without: String = place.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let without = without.replace(".forward", ".DIRECTION").replace(".backward", ".DIRECTION");
    let is_said = |said: &str| without.strip_prefix(said).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    // A distribution of nothing is null as a whole.
    let is_nothing = |said: &str| said.strip_prefix(&without).is_some_and(|rest| rest.starts_with('.'));
    let known =
        FIELDS.iter().find(|(said, _)| is_said(said)).or_else(|| FIELDS.iter().find(|(said, _)| is_nothing(said)));
    known.unwrap_or_else(|| panic!("say in this file what {without} is of")).1
}

#[test]
fn a_number_over_a_window_does_not_depend_on_what_follows() {
    let [ends_with_it, later, latest] = [6, 14, 17].map(|duration| values(&run(duration, 2, 6)));
    assert!(later.keys().eq(latest.keys()));
    for (place, value) in &later {
        let of = of(place);
        if of != Run {
            assert_eq!(value, &latest[place], "{place} depends on what comes after 14 s");
        }
        if matches!(of, Window(_)) {
            assert_eq!(Some(value), ends_with_it.get(place), "{place} depends on what comes after the window");
        }
    }
}

#[test]
fn parts_of_a_window_add_up_to_the_whole() {
    let [first, second, both] = [(2, 3), (3, 6), (2, 6)].map(|(from, to)| values(&run(14, from, to)));
    let mut apart = Vec::new();
    for (place, whole) in &both {
        let (Window(parts) | Begun(parts)) = of(place) else { continue };
        let numbers = [&first, &second].map(|values| values.get(place).and_then(Value::as_f64).unwrap_or(0.0));
        let [one, other] = numbers;
        let expected = match parts {
            Apart => continue,
            Sum => one + other,
            Mean => (one + 3.0 * other) / 4.0,
            Max => one.max(other),
        };
        let Some(whole) = whole.as_f64() else { continue }; // there is none of it, and so in the parts
        if (whole - expected).abs() > 1e-9 * whole.abs().max(1.0) {
            apart.push(format!("{place} is {whole} over both, and {one} and {other} over the parts"));
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

fn column<'a>(table: &'a Table, name: &str) -> &'a ColumnData {
    &table.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}")).data
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let ColumnData::F64(values) = column(table, name) else { panic!("{name} holds numbers") };
    values.clone()
}

/// Octets that a sampled rate amounts to, by the names in a column. What is not among `starts` starts with the run.
fn octets(table: &Table, who: &str, rate: &str, starts: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let ColumnData::Name { codes, names } = column(table, who) else { panic!("{who} holds names") };
    let mut sums = BTreeMap::new();
    let mut before: BTreeMap<u32, f64> = BTreeMap::new();
    for ((code, time), rate) in codes.iter().zip(numbers(table, "time_s")).zip(numbers(table, rate)) {
        // The first row, which comes when the connection is open, tells of the time since the start.
        let name = &names[*code as usize];
        let since = before.insert(*code, time).or_else(|| starts.get(name).copied()).unwrap_or(0.0);
        *sums.entry(name.clone()).or_insert(0.0) += if rate.is_nan() { 0.0 } else { rate * (time - since) / 8.0 };
    }
    sums
}

#[test]
fn series_add_up_to_the_counts() {
    let outcome = run(14, 2, 6);
    let starts = outcome.summary.flows.iter().map(|flow| (flow.name.clone(), flow.start_s)).collect();
    let read = octets(&outcome.flows, "flow", "goodput_bps", &starts);
    for flow in &outcome.summary.flows {
        let (series, count) = (read[&flow.name], flow.delivered_bytes as f64);
        // Of what comes at the very end the last sample may know nothing.
        assert!((series - count).abs() < 3_000.0, "{}: {series} and {count}", flow.name);
    }
    let forward = |table: &Table| -> Table {
        let ColumnData::Name { codes, .. } = column(table, "direction") else { panic!("names") };
        let keep: Vec<bool> = codes.iter().map(|code| *code == 0).collect();
        let mut table = table.clone();
        for column in &mut table.columns {
            match &mut column.data {
                ColumnData::F64(values) => retain(values, &keep),
                ColumnData::Name { codes, .. } => retain(codes, &keep),
                _ => {}
            }
        }
        table
    };
    let arrived = octets(&forward(&outcome.appliances), "flow", "arrived_bps", &starts);
    let count = outcome.summary.appliances[0].flows[0].forward.arrived_bytes as f64;
    assert!((arrived["bulk"] - count).abs() < 3_000.0, "{} and {count}", arrived["bulk"]);
}

fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| *keep.next().expect("as many"));
}

/// A file is complete while its ACKs are lost, and the sender goes on.
///
/// Over a window that is the whole run, the window's counters are those of the run.
#[test]
fn a_window_goes_on_when_a_stream_is_complete() {
    let text = |measure: &str| {
        format!(
            "duration = \"8 s\"\n{measure}\ntrace = false\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"9 ms\", reverse = {{ discard = [{{ kind = \"range\", first = 2, last = 6 }}] }} }}\n\
             [[flow]]\ncontroller = \"reno\"\napp = {{ kind = \"file\", size = \"1 kB\" }}\n"
        )
    };
    for measure in ["measure = { from = \"0 s\" }", "measure = { to = \"8 s\" }"] {
        let flow = &crate::common::run(&text(measure)).flows[0];
        let window = flow.window.as_ref().expect("there is a window");
        assert!(flow.completion_s.expect("the file is there") < 0.1 && flow.timeouts > 1, "{flow:?}");
        assert_eq!(
            (window.sent_segments, window.retransmitted_segments, window.lost_segments, window.timeouts),
            (flow.sent_segments, flow.retransmitted_segments, flow.lost_segments, flow.timeouts)
        );
    }
}

/// An application that reads 80 kbit/s for 5 s has read 50 kB at most, however much has arrived. The reference says
/// that `goodput_bps` and `delivered_bytes` count data that was read.
#[test]
fn what_is_delivered_is_what_was_read() {
    let flow = crate::common::run(
        "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
         bottleneck = { rate = \"10 Mbit/s\", delay = \"9 ms\" }\n[[flow]]\nread_rate = \"80 kbit/s\"\n",
    )
    .flows
    .remove(0);
    assert!((flow.goodput_bps * 5.0 / 8.0 - flow.delivered_bytes as f64).abs() < 1.0, "{flow:?}");
    assert!((45_000..=50_000).contains(&flow.delivered_bytes), "{flow:?}");
}

/// The SYN is lost: RFC 6298 sends it again after 1 s and 2 s (section 2.1, 5.5). Two lost SYN-ACKs also expire the
/// opener's timer. Linux counts such expiries among its timeouts (`tcpi_total_rto`: "including SYN/SYN-ACK and
/// recurring timeouts").
#[test]
fn timeouts_of_the_handshake_are_counted() {
    let text = |link: &str| {
        format!(
            "duration = \"9 s\"\n[topology]\nkind = \"chain\"\nnodes = [\"A\", \"B\"]\nlink = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", {link} }}\n\
             [tcp]\nprofile = \"rfc\"\n[[flow]]\napp = {{ kind = \"file\", size = \"10 kB\" }}\n[trace]\nevents = [\"timed_out\"]\n"
        )
    };
    let outcome = crate::common::simulate(&text("discard = [{ kind = \"range\", first = 1, last = 2 }]"));
    let flow = &outcome.summary.flows[0];
    assert!((3.0..3.2).contains(&flow.completion_s.expect("it is there")), "{flow:?}");
    assert_eq!((flow.timeouts, outcome.events.records.len(), flow.retransmitted_segments), (2, 2, 0));
    let flow = &crate::common::run(&text("")).flows[0];
    assert_eq!(flow.timeouts, 0);
}

fn summary(text: &str) -> Summary {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary
}

/// Pairs of packets of 1 ms, one pair each 10 ms until 95 ms, over three links of 9 ms; the second waits for the first.
fn pairs(window: &str, further: &str) -> Summary {
    let link = format!("{{ rate = \"8 Mbit/s\", delay = \"9 ms\"{further} }}");
    let flow = |name: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nprotocol = {{ kind = \"udp\", payload = \"972 B\", until = \"95 ms\" }}\n\
             app = {{ kind = \"cbr\", rate = \"777.6 kbit/s\" }}\n"
        )
    };
    summary(&format!(
        "duration = \"1 s\"\n{window}\n[topology]\nkind = \"chain\"\nlinks = [{link}, {link}, {link}]\n\
         nodes = [\"A\", {{ name = \"R\", kind = \"router\" }}, {{ name = \"S\", kind = \"router\" }}, \"B\"]\n{}{}",
        flow("first"),
        flow("second")
    ))
}

/// The reference: a window has what happens from its beginning on and before its end.
///
/// The firsts of the pairs come out of the links at 10, 20, 30, ... ms, each later by 10 ms for each link before, ten
/// in all; the seconds a millisecond later. It does not matter whether packets enter a link ahead of time.
#[test]
fn a_window_has_what_happens_at_its_beginning_and_not_what_happens_at_its_end() {
    for further in ["", ", loss = { kind = \"random\", p = 0.0 }"] {
        let delivered = |window: &str| {
            let links = pairs(window, further).links.into_iter();
            links
                .filter(|link| ["A->R", "R->S", "S->B"].contains(&link.name.as_str()))
                .map(|link| link.delivered_packets)
        };
        let counts = |window: &str| delivered(window).collect::<Vec<_>>();
        assert_eq!(counts("measure = { from = \"100 ms\" }"), [2, 4, 6], "{further}");
        assert_eq!(counts("measure = { to = \"100 ms\" }"), [18, 16, 14], "{further}");
        assert_eq!(counts("measure = { from = \"90 ms\", to = \"91 ms\" }"), [1, 1, 1], "{further}");
        // The second of a pair begins to leave at 81 ms, when it has waited for a millisecond.
        let wait = |window: &str| pairs(window, further).links[0].queueing_delay_ms.mean;
        assert!((wait("measure = { from = \"81 ms\", to = \"82 ms\" }") - 1.0).abs() < 1e-9, "{further}");
        assert_eq!(wait("measure = { from = \"80 ms\", to = \"81 ms\" }").to_bits(), 0, "{further}");
    }
}

/// Before a flow starts, no packets are to be left out.
#[test]
fn a_window_that_begins_with_all_flows_has_their_first_packets() {
    let links = |window: &str| {
        let text = format!(
            "duration = \"3 s\"\n{window}\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n[[flow]]\nname = \"tcp\"\nstart = \"1 s\"\n\
             [[flow]]\nname = \"quic\"\nprotocol = \"quic\"\nstart = \"1 s\"\n"
        );
        let links = summary(&text).links.into_iter();
        links.map(|link| (link.name, link.delivered_packets, link.drops, link.queueing_delay_ms)).collect::<Vec<_>>()
    };
    let whole = format!("{:?}", links(""));
    assert_eq!(format!("{:?}", links("measure = { from = \"1 s\" }")), whole);
    assert_eq!(format!("{:?}", links("measure = { from = \"0 s\" }")), whole);
}

/// Jain, Chiu, Hawe 1984: the index of one user alone is 1. A flow reset before the window is not a user in it.
#[test]
fn who_was_reset_before_the_window_shares_nothing_in_it() {
    let jain = |from: u32| {
        let text = format!(
            "duration = \"6 s\"\nmeasure = {{ from = \"{from} s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\nbottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
             [[flow]]\nname = \"stays\"\n[[flow]]\nname = \"goes\"\nabort_at = \"2 s\"\n"
        );
        summary(&text).jain_index.expect("one of them has goodput")
    };
    assert!((jain(3) - 1.0).abs() < 1e-12, "{}", jain(3));
    assert!(jain(1) < 0.999, "{}", jain(1));
}
