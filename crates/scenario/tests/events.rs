//! An observed run: it has the same results, and its events add up to the counters.

use std::path::{Path, PathBuf};

use ackclock_events::{DropCause, Event, Observer, Record, RecoveryCause, Source, SourceKind};
use ackclock_scenario::Scenario;
use ackclock_sim::{LinkSummary, Outcome, Simulation, Summary};
use ackclock_units::SimTime;

/// A time long enough for losses, timeouts and whole recoveries.
const UNTIL: SimTime = SimTime(6_000_000_000);

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Every example that needs nothing from outside.
fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios");
    let files = std::fs::read_dir(folder).expect("the examples").map(|entry| entry.expect("a file").path());
    let is_plain = |path: &PathBuf| {
        let calls_python = path.ends_with("own-controller.toml") || path.ends_with("own-parts.toml");
        path.extension().is_some_and(|extension| extension == "toml") && !calls_python
    };
    let mut examples: Vec<PathBuf> = files.filter(is_plain).collect();
    examples.sort();
    examples
}

fn load(path: &Path, overrides: &[String]) -> Scenario {
    Scenario::load(path, overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn everything(outcome: &Outcome) -> String {
    let Outcome { summary, flows, links, episodes, completions, appliances, engine, .. } = outcome;
    format!("{summary:?} {flows:?} {links:?} {episodes:?} {completions:?} {appliances:?} {engine:?}")
}

/// The events of a run up to [`UNTIL`] with their sources, and its outcome.
fn watch(scenario: &Scenario) -> (Told, Outcome) {
    watch_until(scenario, UNTIL)
}

fn watch_until(scenario: &Scenario, until: SimTime) -> (Told, Outcome) {
    let (mut simulation, mut told) = (Simulation::new(scenario.config()), Told::default());
    simulation.run_observed(until, &mut told);
    (told, simulation.stop())
}

/// An observer that keeps the events, and asserts that time does not go back.
#[derive(Default)]
struct Told {
    sources: Vec<Source>,
    records: Vec<Record>,
}

impl Observer for Told {
    fn begin(&mut self, sources: &[Source]) {
        assert!(self.records.is_empty(), "the sources come first");
        self.sources = sources.to_vec();
    }

    fn on_event(&mut self, record: &Record) {
        assert!(self.records.last().is_none_or(|last| last.time <= record.time), "time goes back to {record:?}");
        self.records.push(*record);
    }
}

impl Told {
    /// The events of the source of this kind and name.
    fn of(&self, kind: SourceKind, name: &str) -> impl Iterator<Item = &Event> {
        let place = self.sources.iter().position(|source| source.kind == kind && source.name == name);
        let place = place.unwrap_or_else(|| panic!("no {kind:?} {name}")) as u32;
        self.records.iter().filter(move |record| record.source.0 == place).map(|record| &record.event)
    }

    fn count(&self, kind: SourceKind, name: &str, is_meant: impl Fn(&Event) -> bool) -> u64 {
        self.of(kind, name).filter(|event| is_meant(event)).count() as u64
    }
}

/// The number of lost segments, each as large as the largest that was sent.
fn lost_segments(told: &Told, flow: &str) -> u64 {
    let (mut lost, mut largest) = (0, 1);
    for event in told.of(SourceKind::Flow, flow) {
        match event {
            Event::MarkedLost { lost: octets, .. } => lost += octets.0,
            Event::SegmentSent(sent) => largest = sent.size.0.max(largest),
            _ => {}
        }
    }
    lost.div_ceil(largest)
}

fn check_flows(told: &Told, summary: &Summary, name: &str) {
    for flow in &summary.flows {
        let count = |is_meant: &dyn Fn(&Event) -> bool| told.count(SourceKind::Flow, &flow.name, is_meant);
        let who = format!("{name}, {}", flow.name);
        assert_eq!(count(&|event| matches!(event, Event::SegmentSent(_))), flow.sent_segments, "{who}: sent");
        let again = |event: &Event| matches!(event, Event::SegmentSent(sent) if sent.is_retransmission);
        assert_eq!(count(&again), flow.retransmitted_segments, "{who}: retransmitted");
        assert_eq!(count(&|event| matches!(event, Event::TimedOut { .. })), flow.timeouts, "{who}: timeouts");
        let fast = |event: &Event| matches!(event, Event::RecoveryEntered { cause: RecoveryCause::Loss, .. });
        assert_eq!(count(&fast), flow.fast_recoveries, "{who}: fast recoveries");
        assert_eq!(lost_segments(told, &flow.name), flow.lost_segments, "{who}: lost");
    }
}

fn check_link(told: &Told, link: &LinkSummary, name: &str) {
    let count = |is_meant: &dyn Fn(&Event) -> bool| told.count(SourceKind::Link, &link.name, is_meant);
    let who = format!("{name}, {}", link.name);
    let dropped =
        |event: &Event| matches!(event, Event::PacketDropped { cause: DropCause::Queue | DropCause::Discarder, .. });
    assert_eq!(count(&dropped), link.drops, "{who}: drops");
    let lost = |event: &Event| matches!(event, Event::PacketDropped { cause: DropCause::Loss, .. });
    assert_eq!(count(&lost), link.losses, "{who}: losses");
    assert_eq!(count(&|event| matches!(event, Event::PacketMarked { .. })), link.marks, "{who}: marks");
    let delivered = count(&|event| matches!(event, Event::PacketDelivered { .. }));
    assert_eq!(delivered, link.delivered_packets, "{who}: delivered");
    let sent = count(&|event| matches!(event, Event::PacketSent { .. }));
    assert!(sent + link.duplicates >= delivered + link.losses, "{who}: {sent} sent, {delivered} delivered");
}

#[test]
fn events_add_up_to_what_is_counted_and_change_nothing() {
    for path in examples() {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut plain = Simulation::new(load(&path, &[]).config());
        // A second of these has as many packets as half a minute of others.
        let is_busy = ["appliance.toml", "web-search.toml"].contains(&name.as_str());
        let until = if is_busy { SimTime(UNTIL.0 / 4) } else { UNTIL };
        plain.run_until(until);
        let watched = load(&path, &["trace.events=all".to_owned()]);
        let (told, outcome) = watch_until(&watched, until);
        assert_eq!(everything(&outcome), everything(&plain.stop()), "{name}");
        check_flows(&told, &outcome.summary, &name);
        let measure = watched.config().measure;
        if measure.from.is_none() && measure.until.is_none() {
            outcome.summary.links.iter().for_each(|link| check_link(&told, link, &name));
        }
    }
}

/// A scenario with repairs of every kind: a large window, losses of data and of ACKs, packets late and twice.
const REPAIRED: &str = r#"
duration = "2 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
[topology.bottleneck]
rate = "100 Mbit/s"
delay = "15 ms"
queue = { kind = "drop_tail", limit = "1 bdp" }
discard = [{ kind = "probability", p = 0.002 }]
duplicate = 0.001
reorder = { kind = "probability", p = 0.002, extra = "2 ms" }
[[flow]]
name = "one"
controller = "cubic"
app = { kind = "bulk" }
"#;

/// Without an observer most ACKs take a fast path, also in repairs and with marks, and most new data leaves as a run.
/// The results are the same on every stack, with small changes of it.
#[test]
fn a_repair_that_nobody_watches_takes_shorter_ways_to_the_same_end() {
    let profiles = ackclock_scenario::profiles();
    let names = profiles.as_array().expect("a list").iter().map(|profile| profile["name"].as_str().expect("a name"));
    let marking = "topology.bottleneck.queue={ kind = \"codel\", ecn = true }";
    let asking = "tcp.ecn=\"request\"";
    let changes: [&[&str]; 10] = [
        &[],
        &["tcp.prr=false"],
        &["tcp.timestamps=false"],
        &["flow[0].controller={ kind = \"fixed\", window = \"400 segments\" }"],
        &["flow[0].controller=\"bbr3\""],
        &["tcp.pacing=true"],
        &[marking, asking, "tcp.accurate_ecn=false"],
        &[marking, asking, "tcp.accurate_ecn=true"],
        &[marking, asking, "tcp.accurate_ecn=true", "tcp.accurate_ecn_option=true"],
        &[marking, "flow[0].controller=\"dctcp\""],
    ];
    for name in names {
        for change in changes {
            let profile = format!("tcp.profile=\"{name}\"");
            let overrides = || std::iter::once(profile.clone()).chain(change.iter().map(|change| (*change).to_owned()));
            let parse = |overrides: Vec<String>| {
                Scenario::parse(REPAIRED, "test.toml", &overrides).unwrap_or_else(|error| panic!("{error}"))
            };
            let mut plain = Simulation::new(parse(overrides().collect()).config());
            plain.run_until(UNTIL);
            let (told, outcome) = watch(&parse(overrides().chain(["trace.events=all".to_owned()]).collect()));
            assert!(!told.records.is_empty());
            let plain = everything(&plain.stop());
            assert_eq!(everything(&outcome), plain, "{name} {change:?}");
            // What is seldom is told of without leaving those ways: the same as where all is.
            let (seldom, outcome) = watch(&parse(overrides().chain([format!("trace.events={SELDOM:?}")]).collect()));
            assert_eq!(everything(&outcome), plain, "{name} {change:?}, watched for what is seldom");
            assert_eq!(seldom.sources, told.sources, "{name} {change:?}");
            let of_all: Vec<&Record> = told.records.iter().filter(|record| is_seldom(&record.event)).collect();
            assert_eq!(seldom.records.iter().collect::<Vec<_>>(), of_all, "{name} {change:?}");
        }
    }
}

/// Kinds of events that happen neither with each segment nor with each packet.
const SELDOM: [&str; 10] = [
    "packet_dropped",
    "packet_marked",
    "marked_lost",
    "recovery_entered",
    "recovery_left",
    "timed_out",
    "undone",
    "probe_sent",
    "controller_state",
    "slow_start_exited",
];

fn is_seldom(event: &Event) -> bool {
    SELDOM.contains(&event.kind().name())
}

/// Ten segments at once over 10 Gbit/s and then 10 Mbit/s, through a queue that marks packets behind four or more
/// others.
const MARKED: &str = r#"
duration = "1 s"
[trace]
events = "all"
[topology]
kind = "dumbbell"
access = { rate = "10 Gbit/s", delay = "0 ns" }
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = { kind = "threshold", threshold = "4 packets" } }
[tcp]
ecn = "request"
accurate_ecn = true
delayed_ack = false
[[flow]]
name = "one"
controller = { kind = "fixed", window = "10 segments" }
app = { kind = "file", size = "14480 bytes" }
"#;

#[test]
fn marks_are_those_counted_by_hand() {
    // The ACK that ends the handshake is in service (41.6 us) while all ten come (12 us): the sixth finds five waiting.
    let (told, outcome) = watch(&scenario(MARKED));
    let sequence = |event: &Event, is_meant: fn(&Event) -> bool| match event {
        Event::PacketSent { packet, .. } | Event::PacketMarked { packet }
            if is_meant(event) && packet.payload.0 > 0 =>
        {
            Some(packet.sequence)
        }
        _ => None,
    };
    let link = outcome.summary.links.iter().find(|link| link.marks > 0).expect("a link that marks").name.clone();
    let of_link = |is_meant: fn(&Event) -> bool| -> Vec<u32> {
        told.of(SourceKind::Link, &link).filter_map(|event| sequence(event, is_meant)).collect()
    };
    let (sent, marked) = (
        of_link(|event| matches!(event, Event::PacketSent { .. })),
        of_link(|event| matches!(event, Event::PacketMarked { .. })),
    );
    assert_eq!((sent.len(), &marked[..]), (10, &sent[5..]), "the last five of ten");
    // When the first mark is told of, the ten are outstanding and the FIN behind them: the ACK of the tenth, too, comes before
    // all of that is acknowledged, and one episode has all five marks (RFC 3168 section 6.1.2).
    let column = outcome.episodes.columns.iter().find(|column| column.name == "marked_segments").expect("a column");
    assert_eq!(column.data, ackclock_sim::ColumnData::U64(vec![5]));
    let entered = told.count(SourceKind::Flow, "one", |event| {
        matches!(event, Event::RecoveryEntered { cause: RecoveryCause::Ecn, .. })
    });
    assert_eq!(entered, 1);
}

#[test]
fn a_lost_segment_is_told_of_step_by_step() {
    let text = "duration = \"5 s\"\n[trace]\nevents = [\"segment_sent\", \"marked_lost\", \"recovery_entered\", \
                \"recovery_left\", \"timed_out\", \"packet_dropped\"]\n[topology]\nkind = \"dumbbell\"\n\
             access = { rate = \"10 Gbit/s\", delay = \"0 ns\" }\n\
                bottleneck = { rate = \"10 Mbit/s\", delay = \"20 ms\", \
                discard = [{ kind = \"list\", positions = [1], of = \"data\" }] }\n[tcp]\nprofile = \"rfc\"\n[[flow]]\nname = \"one\"\n\
                controller = \"reno\"\napp = { kind = \"file\", size = \"1000 bytes\" }\n";
    let (told, _) = watch(&scenario(text));
    let names: Vec<&str> = told.records.iter().map(|record| record.event.kind().name()).collect();
    let expected = [
        "segment_sent",
        "packet_dropped",
        "timed_out",
        "marked_lost",
        "recovery_entered",
        "segment_sent",
        "recovery_left",
    ];
    assert_eq!(names, expected);
    let [sent, dropped, timed_out, lost, entered, again, _] = &told.records[..] else { unreachable!("seven") };
    assert!(matches!(sent.event, Event::SegmentSent(sent) if sent.offset == 1 && !sent.is_retransmission));
    assert!(matches!(dropped.event, Event::PacketDropped { cause: DropCause::Discarder, .. }));
    // A round trip of 40 ms leaves the least timeout of RFC 6298, 1 s, and its backoff 2 s.
    assert_eq!(timed_out.time, SimTime(sent.time.0 + 1_000_000_000));
    assert!(matches!(timed_out.event, Event::TimedOut { in_a_row: 1, rto } if rto.0 == 2_000_000_000));
    assert!(matches!(lost.event, Event::MarkedLost { by: ackclock_events::LossDetection::Timeout, .. }));
    assert!(matches!(entered.event, Event::RecoveryEntered { cause: RecoveryCause::Timeout, .. }));
    assert_eq!(again.time, timed_out.time);
    assert!(matches!(again.event, Event::SegmentSent(sent) if sent.offset == 1 && sent.is_retransmission));
}

#[test]
fn slow_start_ends_by_what_its_controller_says() {
    use ackclock_events::SlowStartExit::{AckTrain, Delay, Loss, PathFull, Threshold};
    // HyStart++ goes on for five rounds once the round trip has grown: in a queue of one BDP they end with a loss.
    let cases = [
        ("\"reno\"", "", "1 bdp", Loss),
        ("\"reno\"", "initial_ssthresh = \"20 segments\"", "1 bdp", Threshold),
        ("{ kind = \"cubic\", hystart = \"linux\" }", "", "1 bdp", AckTrain),
        ("{ kind = \"cubic\", hystart = \"rfc9406\" }", "", "20 bdp", Delay),
        ("\"bbr\"", "", "1 bdp", PathFull),
        ("\"bbr3\"", "", "1 bdp", PathFull),
    ];
    for (controller, tcp, limit, expected) in cases {
        let text = format!(
            "duration = \"6 s\"\n[trace]\nevents = [\"slow_start_exited\"]\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"10 Gbit/s\", delay = \"0 ns\" }}\n\
             bottleneck = {{ rate = \"100 Mbit/s\", delay = \"30 ms\", queue = {{ kind = \"drop_tail\", limit = \"{limit}\" }} }}\n[tcp]\n{tcp}\n\
             [[flow]]\nname = \"one\"\ncontroller = {controller}\n"
        );
        let (told, _) = watch(&scenario(&text));
        let first = told.records.first().map(|record| record.event);
        let Some(Event::SlowStartExited { cause, .. }) = first else { panic!("{controller}: {first:?}") };
        assert_eq!(cause, expected, "{controller} {tcp}");
    }
}

#[test]
fn pieces_and_clones_tell_the_same() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios/burst-loss.toml");
    let scenario = load(&path, &["trace.events=all".to_owned()]);
    let (whole, _) = watch(&scenario);
    let mut pieces = Simulation::new(scenario.config());
    let mut records = Vec::new();
    for step in 1..=100 {
        pieces.run_until(SimTime(step * UNTIL.0 / 100));
        let copy = pieces.clone().take_events();
        let taken = pieces.take_events();
        assert_eq!(copy, taken);
        records.extend(taken);
    }
    assert_eq!(records, whole.records);
}

#[test]
fn only_what_is_chosen_is_told() {
    let text = |trace: &str| {
        format!(
            "duration = \"3 s\"\n[trace]\n{trace}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"10 Gbit/s\", delay = \"0 ns\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {{ kind = \"drop_tail\", limit = \"10 packets\" }} }}\n\
             [[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\n"
        )
    };
    let (told, _) = watch(&scenario(&text("events = \"all\"\nevent_flows = [\"b\"]\nevent_links = [\"bottleneck\"]")));
    let is_chosen = |record: &Record| {
        let source = &told.sources[record.source.0 as usize];
        match record.event {
            Event::PacketSent { packet, .. }
            | Event::PacketDropped { packet, .. }
            | Event::PacketMarked { packet }
            | Event::PacketDelivered { packet } => source.name == "bottleneck" && packet.flow == 1,
            _ => source.name == "b",
        }
    };
    assert!(told.records.len() > 1_000 && told.records.iter().all(is_chosen));
    let error = Scenario::parse(&text("event_flows = [\"b\"]"), "test.toml", &[]).expect_err("no events");
    assert!(error.to_string().contains("add events = \"all\""), "{error}");
    let error = Scenario::parse(&text("events = \"all\"\nevent_links = [\"bottlenec\"]"), "test.toml", &[])
        .expect_err("a name");
    assert!(error.to_string().contains("must be the name of a link"), "{error}");
}

/// Connections are numbered before datagrams, wherever they stand; appliances insert connections between the two.
#[test]
fn flows_are_chosen_by_name_wherever_they_stand() {
    let text = |chosen: &str| {
        format!(
            "duration = \"1 s\"\n[trace]\nevents = [\"packet_sent\"]\nevent_flows = [\"{chosen}\"]\n[topology]\nkind = \"chain\"\n\
             nodes = [\"A\", {{ name = \"R\", kind = \"router\" }}, \"B\"]\nlink = {{ rate = \"10 Mbit/s\", delay = \"5 ms\" }}\n\
             [[appliance]]\nnode = \"R\"\n[[flow]]\nname = \"short\"\narrivals = {{ rate = \"20 /s\", size = \"1 kB\" }}\n\
             [[flow]]\nname = \"small\"\nprotocol = {{ kind = \"udp\", payload = \"72 B\" }}\napp = {{ kind = \"cbr\", rate = \"10 kbit/s\" }}\n\
             [[flow]]\nname = \"tcp\"\n"
        )
    };
    let sizes = |chosen: &str| -> Vec<u64> {
        let (told, _) = watch(&scenario(&text(chosen)));
        told.records
            .iter()
            .map(|record| match record.event {
                Event::PacketSent { packet, .. } => packet.size.0,
                ref other => panic!("{other:?}"),
            })
            .collect()
    };
    // 72 octets of payload, 8 of UDP and 20 of IP; 18 a second over two links.
    let small = sizes("small");
    assert!(small.len() > 30 && small.iter().all(|&size| size == 100), "{small:?}");
    let tcp = sizes("tcp");
    assert!(tcp.contains(&1_500) && !tcp.contains(&100), "{}", tcp.len());
    let error = Scenario::parse(&text("short"), "test.toml", &[]).expect_err("a group");
    assert_eq!(error.diagnostics[0].field, "trace.event_flows[0]");
}

#[test]
fn an_appliance_holds_and_lets_go_in_turn() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios/appliance.toml");
    let policy = "appliance.box.buffer_policy=credit".to_owned();
    let scenario = load(&path, &[policy, "trace.events=[\"relay_held\", \"relay_released\"]".to_owned()]);
    let (told, _) = watch(&scenario);
    let mut since = std::collections::BTreeMap::new();
    for record in &told.records {
        assert_eq!(told.sources[record.source.0 as usize].kind, SourceKind::Relay);
        match record.event {
            Event::RelayHeld { .. } => assert_eq!(since.insert(record.source, record.time), None),
            Event::RelayReleased { held, .. } => {
                assert_eq!(since.remove(&record.source), Some(SimTime(record.time.0 - held.0)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(told.records.len() > 10, "{} events", told.records.len());
}

#[test]
fn a_watched_run_is_one_part_and_says_why() {
    let threads = std::num::NonZeroUsize::new(4).expect("four");
    let text = |events: &str| {
        format!(
            "duration = \"1 s\"\ntrace = {{ events = {events} }}\n[topology]\nkind = \"dumbbell\"\n\
             access = {{ rate = \"10 Gbit/s\", delay = \"0 ns\" }}\n\
             bottleneck = {{ rate = \"100 Mbit/s\", delay = \"20 ms\" }}\n[[flow]]\ncount = 20\n"
        )
    };
    let partition =
        |events: &str| ackclock_sim::ParallelSimulation::new(scenario(&text(events)).config(), threads).partition();
    assert_eq!(partition("\"none\"").parts, 2);
    let watched = partition("\"all\"");
    assert_eq!(watched.parts, 1);
    assert!(watched.ties.contains(&"events that are watched"), "{:?}", watched.ties);
}

/// A device without room, beside small queues: the next ACK asks it again, and no timer is set to a past time.
#[test]
fn a_refusing_device_beside_small_queues_lets_time_pass() {
    let text = r#"
duration = "2 s"
[topology]
kind = "dumbbell"
access = { rate = "300 Mbit/s", delay = "0 ms" }
bottleneck = { rate = "1 Mbit/s", delay = "0 ms", queue = "cake" }
[[flow]]
controller = "prague"
tcp = { device_queue = { limit = 1 } }
[[appliance]]
node = "left"
"#;
    let outcome = Simulation::new(scenario(text).config()).finish();
    assert!(outcome.engine.events < 100_000, "{:?}", outcome.engine);
}

/// The reference: `rtt_ms` is of samples, each from an ACK. The handshake's sample, one of some 2,000, has no ACK of
/// data.
#[test]
fn round_trips_are_those_that_acks_told_of() {
    for controller in ["bbr", "cubic"] {
        let text = format!(
            "duration = \"5 s\"\ntrace = {{ events = \"all\" }}\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n[[flow]]\nname = \"f\"\ncontroller = \"{controller}\"\n"
        );
        let (told, outcome) = watch(&scenario(&text));
        let samples: Vec<f64> = told
            .of(SourceKind::Flow, "f")
            .filter_map(|event| match event {
                Event::AckArrived(ack) => Some(ack.rtt_sample?.as_millis_f64()),
                _ => None,
            })
            .collect();
        let expected = samples.iter().sum::<f64>() / samples.len() as f64;
        let mean = outcome.summary.flows[0].rtt_ms.as_ref().expect("samples").mean;
        assert!((mean / expected - 1.0).abs() < 5e-4, "{controller}: {mean} ms, and {expected} ms by the events");
    }
}

/// RFC 6298 section 2.1: the first timeout comes after 1 s and is reported then, whether or not the connection opens.
#[test]
fn timeouts_of_a_syn_are_told_of_when_they_are() {
    for lost in ["kind = \"nth\", n = 1", "kind = \"every\", k = 1"] {
        let text = format!(
            "duration = \"5 s\"\ntrace = {{ events = \"all\" }}\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", discard = [{{ {lost} }}] }}\n[tcp]\nprofile = \"rfc\"\n[[flow]]\nname = \"f\"\n"
        );
        let (told, outcome) = watch(&scenario(&text));
        check_flows(&told, &outcome.summary, lost);
        let first = told.records.iter().find(|record| matches!(record.event, Event::TimedOut { .. }));
        assert_eq!(first.map(|record| record.time), Some(SimTime(1_000_000_000)), "{lost}");
    }
}
