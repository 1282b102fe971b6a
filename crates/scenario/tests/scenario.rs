//! Scenario files: their meaning, and the messages of wrong ones.

use ackclock_cc::{ControllerConfig, CubicConfig, CubicVariant, Hystart, Increase, RenoConfig};
use ackclock_net::{LinkId, NodeId, QueueConfig, QueueLimit};
use ackclock_scenario::{Diagnostic, Scenario};
use ackclock_sim::{AppConfig, Sampling, SimulationConfig};
use ackclock_tcp::{LossRecovery, RtoEstimator};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use proptest::prelude::*;

/// The example in the documentation.
const TWO_ALGORITHMS: &str = r#"
name = "two algorithms share a link"
duration = "50 s"
seed = 1

[topology]
kind = "dumbbell"                       # also: chain, parking_lot, star, and explicit nodes and links
access = { rate = "100 Mbit/s", delay = "10 us" }
bottleneck = { rate = "100 Mbit/s", delay = "15 ms", framing = "38 bytes", queue = { kind = "drop_tail", limit = "1 bdp" } }

[tcp]                                   # defaults for every host; a flow or a host can override any of them
mss = 1448
window_scaling = true
rto = { estimator = "rfc6298" }

[[flow]]
name = "new"
controller = "cubic"
[[flow]]
name = "old"
controller = { kind = "reno" }
app = { kind = "file", size = "50 MB" }
start = "1 s"
rtt = "60 ms"
"#;

fn parse(text: &str) -> SimulationConfig {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}")).config().clone()
}

fn mistakes(text: &str) -> Vec<Diagnostic> {
    Scenario::parse(text, "test.toml", &[]).expect_err("the scenario is wrong").diagnostics
}

/// A dumbbell with `flows` in place of its flow table.
fn dumbbell(flows: &str) -> String {
    format!(
        "duration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"8 ms\" }}\n{flows}\n"
    )
}

fn limit(config: &SimulationConfig, link: &str) -> QueueLimit {
    let link = config.network.links.iter().find(|other| other.name == link).expect(link);
    let QueueConfig::DropTail(queue) = &link.queue else { panic!("{link:?} has another queue") };
    queue.limit
}

#[test]
fn the_example_says_what_it_says() {
    let config = parse(TWO_ALGORITHMS);
    assert_eq!((config.duration, config.seed), (SimDuration::from_secs(50), 1));
    assert_eq!(config.flows.len(), 2);
    assert_eq!(config.flows[1].start, SimTime(1_000_000_000));
    assert_eq!(config.flows[1].app, AppConfig::Files { sizes: vec![Bytes(50_000_000)], gap: SimDuration::ZERO });
    assert!(matches!(config.flows[1].controller, ControllerConfig::Reno(_)));
    assert_eq!(config.flows[1].sender.loss_recovery, LossRecovery::Sack);
    let delay = |name: &str| config.network.links.iter().find(|link| link.name == name).expect(name).delay;
    assert_eq!(delay("new.left"), SimDuration::from_micros(10));
    // 60 ms, less 2 * 15 ms, over four access links
    assert_eq!(delay("old.left"), SimDuration(7_500_000));
    assert_eq!(delay("old.right.reverse"), SimDuration(7_500_000));
    // the largest round trip, 60 ms, at 100 Mbit/s: 750 000 bytes
    assert_eq!(limit(&config, "bottleneck"), QueueLimit::Bytes(Bytes(750_000)));
    assert_eq!(limit(&config, "new.left"), QueueLimit::Unlimited);
}

#[test]
fn a_bdp_is_rate_times_the_two_way_propagation_delay() {
    // 10 Mbit/s * 2 * (8 + 1 + 1) ms / 8 = 25 000 bytes
    assert_eq!(limit(&parse(&dumbbell("[[flow]]")), "bottleneck"), QueueLimit::Bytes(Bytes(25_000)));
    let half =
        dumbbell("[[flow]]").replace("\"8 ms\"", "\"8 ms\", queue = { kind = \"drop_tail\", limit = \"0.5 bdp\" }");
    assert_eq!(limit(&parse(&half), "bottleneck"), QueueLimit::Bytes(Bytes(12_500)));
}

#[test]
fn options_are_layered_from_general_to_particular() {
    let text = dumbbell(
        r#"
        [tcp]
        rto = { estimator = "opnet", min = "2 s" }
        delayed_ack = false
        [[host]]
        name = "a.right"
        tcp = { window_scaling = false }
        [[flow]]
        name = "a"
        tcp = { rto = { min = "200 ms" } }
        sender_tcp = { initial_window = "4 segments", initial_ssthresh = "65535 bytes" }
        [[flow]]
        name = "b"
        controller = "tahoe""#,
    );
    let config = parse(&text);
    let (sender, receiver) = (&config.flows[0].sender, &config.flows[0].receiver);
    assert_eq!(sender.rto.estimator, RtoEstimator::Opnet); // from [tcp]
    assert_eq!(sender.rto.initial, SimDuration::from_secs(3)); // the estimator's own default
    assert_eq!(sender.rto.min, SimDuration::from_millis(200)); // from the flow
    assert_eq!(sender.initial_window, Bytes(4 * 1448));
    assert_eq!(sender.initial_ssthresh, Some(Bytes(65_535)));
    assert_eq!(receiver.initial_window, Bytes(10 * 1448));
    assert_eq!(receiver.receive_buffer, Bytes(65_535)); // no scaling on this host
    assert_eq!(sender.receive_buffer, Bytes(65_535 << 14));
    assert_eq!(sender.delayed_ack.segments, 1);
    assert_eq!(config.flows[1].sender.loss_recovery, LossRecovery::Tahoe);
    assert_eq!(config.flows[1].sender.rto.min, SimDuration::from_secs(2));
}

#[test]
fn a_group_spreads_its_starts() {
    let flow = "[[flow]]\nname = \"g\"\ncount = 3\nstart = { first = \"3 s\", spacing = \"100 ms\" }";
    let config = parse(&dumbbell(flow));
    let starts: Vec<(&str, u64)> =
        config.flows.iter().map(|flow| (flow.name.as_str(), flow.start.0 / 1_000_000)).collect();
    assert_eq!(starts, [("g.1", 3_000), ("g.2", 3_100), ("g.3", 3_200)]);
    let random = flow.replace("\"100 ms\"", "{ exponential = \"50 ms\" }");
    let scenario = Scenario::parse(&dumbbell(&random), "test.toml", &[]).expect("a scenario");
    let second = |scenario: &Scenario| scenario.config().flows[1].start;
    assert_ne!(second(&scenario), second(&scenario.with_seed(2).expect("a scenario")));
    assert_eq!(
        second(&scenario),
        second(&scenario.with_seed(2).expect("a scenario").with_seed(1).expect("a scenario"))
    );
}

#[test]
fn a_chain_with_discarders_and_its_default_flow() {
    let config = parse(
        r#"
        duration = "1 s"
        [topology]
        kind = "chain"
        nodes = ["Server", { name = "D1", kind = "discarder", discard = [{ kind = "nth", n = 5, of = "data" }] }, "STA"]
        link = { rate = "44.736 Mbit/s", delay = "12.5 ms", framing = "ppp" }
        [[flow]]
        "#,
    );
    assert_eq!([config.flows[0].from, config.flows[0].to], [0, 2].map(NodeId::new));
    assert_eq!(config.network.nodes[1].discarder, Some(0));
    let names: Vec<&str> = config.network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["Server->D1", "D1->Server", "D1->STA", "STA->D1"]);
    assert_eq!(config.network.links[0].framing, Bytes(8));
}

#[test]
fn a_star_a_parking_lot_and_an_explicit_network() {
    let link = r#"{ rate = "1 Gbit/s", delay = "1 ms" }"#;
    let star = parse(&format!(
        "duration = \"1 s\"\ntopology = {{ kind = \"star\", hosts = 3, link = {link} }}\n[[flow]]\n[[flow]]"
    ));
    assert_eq!((star.network.nodes.len(), star.network.links.len()), (4, 6));
    assert_eq!([star.flows[1].from, star.flows[1].to], [3, 1].map(NodeId::new)); // the third host to the first; node 0 is the hub
    let lot = parse(&format!(
        "duration = \"1 s\"\ntopology = {{ kind = \"parking_lot\", hops = 2, bottleneck = {link}, access = {link} }}\n\
         [[flow]]\n[[flow]]\nfrom = \"H2\"\nto = \"H3\""
    ));
    assert_eq!(lot.network.nodes.len(), 6);
    assert_eq!(limit(&lot, "R1->R2"), QueueLimit::Bytes(Bytes(1_000_000))); // 1 Gbit/s * 8 ms / 8
    let explicit = parse(
        r#"
        duration = "1 s"
        [topology]
        kind = "explicit"
        [[topology.node]]
        name = "A"
        [[topology.node]]
        name = "B"
        [[topology.link]]
        from = "A"
        to = "B"
        rate = "10 Mbit/s"
        delay = "1 ms"
        reverse = { rate = "1 Mbit/s" }
        [[flow]]
        from = "B"
        to = "A"
        "#,
    );
    assert_eq!(explicit.network.links[1].rate, Bandwidth(1_000_000));
    assert_eq!([explicit.flows[0].from, explicit.flows[0].to], [1, 0].map(NodeId::new));
}

#[test]
fn overrides_reach_every_field() {
    let overrides =
        ["seed=7", "topology.bottleneck.rate=\"50 Mbit/s\"", "flow.old.start=2 s", "flow[0].controller=\"reno\""];
    let overrides: Vec<String> = overrides.map(str::to_owned).into();
    let scenario = Scenario::parse(TWO_ALGORITHMS, "test.toml", &overrides).expect("a scenario");
    let config = scenario.config();
    assert_eq!((config.seed, config.network.links[0].rate), (7, Bandwidth(50_000_000)));
    assert_eq!(config.flows[1].start, SimTime(2_000_000_000));
    assert!(matches!(config.flows[0].controller, ControllerConfig::Reno(_)));
}

/// A wrong override is one mistake, and the message names it.
#[test]
fn overrides_are_told_what_they_lack() {
    let with = |text: &str| {
        Scenario::parse(TWO_ALGORITHMS, "test.toml", &[text.to_owned()]).map_err(|error| error.diagnostics)
    };
    assert_eq!(with("seed = 7").expect("blanks do not belong to a number").config().seed, 7);
    for (text, what) in [
        ("change[0].rate=1 Mbit/s", "asks for item [0] of a list that is not there"),
        ("host[0].name=x", "asks for item [0] of a list that is not there"),
        ("topology.bottleneck.rate.schedule=[]", "asks for \"schedule\" in a string"),
    ] {
        let found = with(text).expect_err(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].message, what, "{text}");
    }
}

#[test]
fn its_json_is_the_same_scenario() {
    let scenario = Scenario::parse(TWO_ALGORITHMS, "test.toml", &["seed=3".to_owned()]).expect("a scenario");
    let again = Scenario::from_json(&scenario.to_json(), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.config(), scenario.config());
    assert_eq!(again.hash(), scenario.hash());
    assert_ne!(scenario.hash(), scenario.with_seed(4).expect("a scenario").hash());
}

#[test]
fn trace_settings() {
    let config = parse(&dumbbell("[[flow]]"));
    assert_eq!(config.trace.sampling, Sampling::Interval(SimDuration::from_millis(10)));
    assert_eq!(config.trace.traced_links, [LinkId::new(0)]);
    assert_eq!(config.trace.flows.len(), 10);
    let off = parse(&dumbbell("trace = false\n[[flow]]").replace("trace = false\n", "").replacen(
        "duration",
        "trace = false\nduration",
        1,
    ));
    assert!(off.trace.flows.is_empty() && off.trace.links.is_empty());
}

#[test]
fn every_mistake_is_reported_at_once_with_its_place() {
    let text = r#"durration = "10 s"
[topology]
kind = "dumbell"
[tcp]
mss = 0
rto = { estimator = "rfc6298", min = "5 parsec" }
[[flow]]
controller = { kind = "cubic", beta = 1.5 }
start = "-1 s"
[[flow]]
controler = "reno"
app = { kind = "file" }
"#;
    let found: Vec<(Option<usize>, String)> =
        mistakes(text).into_iter().map(|mistake| (mistake.line, mistake.field)).collect();
    let expected = [
        (Some(1), "durration"),
        (Some(3), "topology.kind"),
        (Some(5), "tcp.mss"),
        (Some(6), "tcp.rto.min"),
        (Some(8), "flow[0].controller.beta"),
        (Some(9), "flow[0].start"),
        (Some(11), "flow[1].controler"),
        (Some(12), "flow[1].app.size"),
    ];
    for (line, field) in expected {
        assert!(found.contains(&(line, field.to_owned())), "{field} on line {line:?} is not in {found:?}");
    }
}

fn controller(text: &str) -> ControllerConfig {
    parse(&dumbbell(&format!("[[flow]]\ncontroller = {text}"))).flows[0].controller.clone()
}

#[test]
fn a_controller_takes_linuxs_rules_with_linuxs_constants() {
    let ControllerConfig::Cubic(cubic) = controller(r#"{ kind = "cubic", variant = "linux", hystart = "linux" }"#)
    else {
        panic!("CUBIC")
    };
    assert_eq!((cubic.variant, cubic.hystart), (CubicVariant::Linux, Hystart::Linux));
    // bic_scale 41: 410/1024; 717/1024
    assert_eq!((cubic.c, cubic.beta), (0.400_390_625, 0.700_195_312_5));
    let ControllerConfig::Reno(reno) = controller(r#"{ kind = "newreno", increase = "segments", beta_ecn = 0.8 }"#)
    else {
        panic!("Reno")
    };
    assert_eq!((reno.increase, reno.beta_ecn), (Increase::Segments, Some(0.8)));
}

#[test]
fn a_controller_that_says_nothing_more_is_linuxs_and_the_rfcs_under_rfc() {
    let of_rfc = |name: &str| {
        let text = dumbbell(&format!("[tcp]\nprofile = \"rfc\"\n[[flow]]\ncontroller = \"{name}\""));
        parse(&text).flows[0].controller.clone()
    };
    assert_eq!(of_rfc("cubic"), ControllerConfig::Cubic(CubicConfig::default()));
    assert_eq!(of_rfc("reno"), ControllerConfig::Reno(RenoConfig::default()));
    assert_eq!(controller("\"cubic\""), controller(r#"{ kind = "cubic", variant = "linux", hystart = "linux" }"#));
    assert_ne!(controller("\"reno\""), ControllerConfig::Reno(RenoConfig::default()));
}

#[test]
fn a_controllers_mistakes_are_blamed_on_their_fields() {
    let blamed = |controller: &str| blamed(&dumbbell(&format!("[[flow]]\ncontroller = {controller}")));
    assert_eq!(blamed(r#"{ kind = "reno", beta_ecn = 1.0 }"#), ["flow[0].controller.beta_ecn"]);
    assert_eq!(blamed(r#"{ kind = "cubic", hystart = "on" }"#), ["flow[0].controller.hystart"]);
    assert_eq!(blamed(r#"{ kind = "cubic", variant = "linux", c = 0.0005 }"#), ["flow[0].controller.c"]);
    assert_eq!(
        blamed(r#"{ kind = "cubic", beta = 0.0, beta_ecn = 2.0 }"#),
        ["flow[0].controller.beta", "flow[0].controller.beta_ecn"]
    );
}

#[test]
fn a_mistake_names_value_and_remedy() {
    let [mistake] = &mistakes(&dumbbell("[[flow]]\ncontroller = \"cubik\""))[..] else { panic!("one mistake") };
    assert_eq!(mistake.file, "test.toml");
    assert_eq!((mistake.line, mistake.column), (Some(7), Some(14)));
    assert_eq!(mistake.value.as_deref(), Some("\"cubik\""));
    assert!(mistake.remedy.contains("did you mean \"cubic\"?"), "{}", mistake.remedy);
    let [mistake] = &mistakes(&dumbbell("[[flow]]\nrtt = \"10 ms\""))[..] else { panic!("one mistake") };
    assert!(mistake.remedy.contains("16 ms"), "{}", mistake.remedy); // 2 * 8 ms
}

#[test]
fn what_would_eat_the_machine_is_refused() {
    for flows in [
        "[[flow]]\ncount = 1000000000000",
        "[[flow]]\napp = { kind = \"files\", size = \"1 MB\", count = 99999999999 }",
        "[[flow]]\n[trace]\ninterval = \"1 ns\"",
    ] {
        assert!(!mistakes(&dumbbell(flows)).is_empty(), "{flows}");
    }
    let star = "duration = \"1 s\"\ntopology = { kind = \"star\", hosts = 1000000000, link = { rate = \"1 Mbit/s\", delay = \"1 ms\" } }\n[[flow]]";
    assert!(!mistakes(star).is_empty());
    assert!(!mistakes(&dumbbell("[[flow]]").replace("10 s", "9999999 h")).is_empty());
}

/// The fields of a scenario's mistakes.
fn blamed(text: &str) -> Vec<String> {
    mistakes(text).into_iter().map(|mistake| mistake.field).collect()
}

#[test]
fn numbers_beyond_any_network_are_refused() {
    let flow = |line: &str| blamed(&dumbbell(&format!("[[flow]]\n[[flow]]\n{line}")));
    assert_eq!(
        flow("controller = { kind = \"fixed\", window = \"99999999999999 segments\" }"),
        ["flow[1].controller.window"]
    );
    assert_eq!(flow("tcp = { initial_window = \"999 TB\" }"), ["flow[1].tcp.initial_window"]);
    assert_eq!(flow("sender_tcp = { send_buffer = \"0 bytes\" }"), ["flow[1].sender_tcp.send_buffer"]);
    assert_eq!(flow("rtt = \"5000000 h\""), ["flow[1].rtt"]);
    assert_eq!(blamed(&dumbbell("[[flow]]").replace("\"8 ms\"", "\"5000000 h\"")), ["topology.bottleneck.delay"]);
    // The count of the second flow makes a sum that 64 bits cannot hold.
    let topology = r#"{"kind": "star", "hosts": 1, "link": {"rate": "1 Mbit/s", "delay": "1 ms"}}"#;
    let json =
        format!(r#"{{"duration": "1 s", "topology": {topology}, "flow": [{{}}, {{"count": 18446744073709551615}}]}}"#);
    let error = Scenario::from_json(&json, &[]).expect_err("too many flows");
    assert_eq!(error.diagnostics[0].field, "flow[1].count");
}

#[test]
fn files_are_counted_over_all_flows() {
    let flows = "[[flow]]\ncount = 100\napp = { kind = \"files\", size = \"1 kB\", count = 1000000 }";
    assert_eq!(blamed(&dumbbell(flows)), ["flow[0].app.count"]);
}

#[test]
fn a_queue_must_hold_a_packet() {
    let with = |limit: &str| {
        let queue = format!("\"8 ms\", queue = {{ kind = \"drop_tail\", limit = \"{limit}\" }}");
        dumbbell("[[flow]]").replace("\"8 ms\"", &queue)
    };
    // 1448 bytes of payload, 12 of timestamps, 20 of TCP, 20 of IP: 1500; no framing
    assert_eq!(blamed(&with("1499 bytes")), ["topology.bottleneck.queue.limit"]);
    assert_eq!(limit(&parse(&with("1500 bytes")), "bottleneck"), QueueLimit::Bytes(Bytes(1_500)));
    assert_eq!(blamed(&with("0 packets")), ["topology.bottleneck.queue.limit"]);
    // 0.05 * 25 000 bytes = 1250
    assert_eq!(blamed(&with("0.05 bdp")), ["topology.bottleneck.queue.limit"]);
}

#[test]
fn a_wrong_item_of_a_list_leaves_the_others_their_places() {
    let text = "duration = \"1 s\"\ntopology = { kind = \"chain\", nodes = [\"A\", 5, \"C\"], \
                link = { rate = \"1 Mbit/s\", delay = \"1 ms\" } }\n[[flow]]\n[[flow]]\ncontroler = 1";
    assert_eq!(blamed(text), ["topology.nodes[1]", "flow[1].controler"]);
}

#[test]
fn a_recovery_that_contradicts_the_controller_is_a_mistake() {
    let flow = "[[flow]]\ncontroller = \"tahoe\"\ntcp = { loss_recovery = \"sack\" }";
    assert_eq!(blamed(&dumbbell(flow)), ["flow[0].tcp.loss_recovery"]);
    let general = "[tcp]\nloss_recovery = \"sack\"\n[[flow]]\ncontroller = \"tahoe\"";
    assert_eq!(parse(&dumbbell(general)).flows[0].sender.loss_recovery, LossRecovery::Tahoe);
}

#[test]
fn a_timer_is_blamed_where_it_was_set() {
    let text = "[tcp]\nrto = { rtt_gain = 2.0 }\n[[flow]]\ntcp = { rto = { min = \"2 s\" } }";
    assert_eq!(blamed(&dumbbell(text)), ["tcp.rto.rtt_gain"]);
    let text = "[tcp]\ndelayed_ack = { segments = 0 }\n[[flow]]\ntcp = { delayed_ack = { quickacks = 4 } }";
    assert_eq!(blamed(&dumbbell(text)), ["tcp.delayed_ack.segments"]);
    let text = "[tcp]\ntimestamp_step = { at = \"1 s\", back = \"1 s\" }\n[[flow]]\ntcp = { timestamp_step = { forward = \"1 s\" } }";
    assert_eq!(blamed(&dumbbell(text)), ["flow[0].tcp.timestamp_step"]);
}

#[test]
fn an_override_of_endless_depth_is_refused() {
    let path = "a.".repeat(100_000) + "a=1";
    let error = Scenario::parse(TWO_ALGORITHMS, "test.toml", &[path]).expect_err("no such depth");
    assert!(error.diagnostics[0].message.contains("parts"), "{error}");
}

#[test]
fn an_empty_file_asks_for_what_is_required() {
    let fields: Vec<String> = mistakes("").into_iter().map(|mistake| mistake.field).collect();
    assert_eq!(fields, ["duration", "flow", "topology"]);
}

#[test]
fn a_syntax_error_has_its_place() {
    let mistakes = mistakes("duration = 50 s\n");
    assert_eq!(mistakes[0].line, Some(1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = Scenario::parse(&text, "test.toml", &[]);
        let _ = Scenario::from_json(&text, &[]);
    }

    /// A valid scenario with a part removed, doubled or replaced.
    #[test]
    fn no_damaged_scenario_makes_it_panic(
        from in 0_usize..900, length in 0_usize..60, with in "[a-z0-9\"=.{}\\[\\] \n-]{0,12}"
    ) {
        let characters: Vec<char> = TWO_ALGORITHMS.chars().collect();
        let from = from.min(characters.len());
        let to = (from + length).min(characters.len());
        let damaged: String =
            characters[..from].iter().copied().chain(with.chars()).chain(characters[to..].iter().copied()).collect();
        if let Err(error) = Scenario::parse(&damaged, "test.toml", &[]) {
            prop_assert!(!error.diagnostics.is_empty());
        }
    }

    #[test]
    fn no_override_makes_it_panic(path in "[a-z.\\[\\]0-9]{0,30}", value in ".{0,20}") {
        let _ = Scenario::parse(TWO_ALGORITHMS, "test.toml", &[format!("{path}={value}")]);
    }
}
