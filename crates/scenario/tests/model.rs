//! Controllers that model their path, and DCTCP's relatives, in scenarios.

use ackclock_cc::{ControllerConfig, DctcpConfig, SiadConfig, controllers};
use ackclock_net::{QueueConfig, QueueLimit, ThresholdConfig};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowConfig, LinkSummary, Simulation, SimulationConfig};
use ackclock_tcp::{EcnConfig, EcnMode};
use ackclock_units::{Bytes, SimDuration};

fn text(queue: &str, flow: &str) -> String {
    format!(
        "duration = \"5 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", queue = {queue} }}\n[[flow]]\n{flow}\n"
    )
}

fn parse(text: &str) -> SimulationConfig {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}")).config().clone()
}

fn flow(controller: &str) -> FlowConfig {
    parse(&text("\"drop_tail\"", &format!("controller = {controller}"))).flows[0].clone()
}

/// The message of the mistake in a controller.
fn mistake(controller: &str) -> String {
    let text = text("\"drop_tail\"", &format!("controller = {controller}"));
    Scenario::parse(&text, "test.toml", &[]).expect_err("a mistake").to_string()
}

#[test]
fn every_one_is_in_the_catalogue_and_fills_a_link() {
    // Rates that do not heed losses lose retransmissions too, which only RACK finds.
    let queue = "{ kind = \"threshold\", threshold = \"8 packets\" }";
    for name in ["bbr", "bbr3", "dctcp", "prague", "pcc_allegro", "pcc_vivace", "siad"] {
        assert!(controllers().find(name).is_some(), "{name}");
        let config = parse(&text(queue, &format!("controller = {name:?}\ntcp = {{ loss_detection = \"rack\" }}")));
        let goodput = Simulation::new(&config).finish().summary.flows[0].goodput_bps;
        // More than half over 5 s, with the start in them; all of the link is 9.65 Mbit/s.
        assert!(goodput > 4.83e6 && goodput < 9.66e6, "{name}: {goodput}");
    }
}

#[test]
fn parameters_are_what_they_are_set_to() {
    let ControllerConfig::Bbr(bbr) =
        flow("{ kind = \"bbr\", high_gain = 3.0, probe_rtt_duration = \"50 ms\" }").controller
    else {
        panic!("BBR")
    };
    assert_eq!((bbr.high_gain.to_bits(), bbr.bandwidth_window), (3.0_f64.to_bits(), 10));
    assert_eq!(bbr.probe_rtt_duration, SimDuration::from_millis(50));
    let ControllerConfig::Siad(siad) = flow("{ kind = \"siad\", rounds = 40 }").controller else { panic!("SIAD") };
    assert_eq!(siad, SiadConfig { rounds: 40, ..SiadConfig::default() });
}

#[test]
fn marks_are_on_at_both_ends_unless_a_table_says_otherwise() {
    let on = EcnConfig {
        mode: EcnMode::Request,
        accurate: false,
        accurate_option: false,
        ect1: false,
        dctcp_feedback: true,
        fallback: true, // the profile's
    };
    let dctcp = flow("\"dctcp\"");
    assert_eq!((dctcp.sender.ecn, dctcp.receiver.ecn), (on, on));
    assert_eq!(dctcp.controller, ControllerConfig::Dctcp(DctcpConfig::default()));
    let prague = flow("\"prague\"").sender.ecn;
    assert_eq!(prague, EcnConfig { accurate: true, ect1: true, dctcp_feedback: false, ..on });
    let own = flow("\"dctcp\"\nsender_tcp = { ecn = \"off\" }");
    assert_eq!((own.sender.ecn.mode, own.receiver.ecn.mode), (EcnMode::Off, EcnMode::Request));
}

//= rfc9331-4.2-counted-marks
/// Evidence for the controller `prague`: without counted marks Reno's own course, and none marked.
#[test]
fn prague_to_a_peer_that_does_not_count_marks_is_reno_without_ecn() {
    // The authors' module: prague_reno, and TCP_CONG_NO_FALLBACK_RFC3168. What allows no mark waits to the limit and is dropped there.
    let queue = "{ kind = \"threshold\", threshold = \"8 packets\", limit = \"40 packets\" }";
    let run = |flow: &str| {
        let config = parse(&text(queue, &format!("{flow}\ntcp = {{ profile = \"rfc\" }}")));
        let summary = Simulation::new(&config).finish().summary;
        let [drops, marks] = [|link: &LinkSummary| link.drops, |link: &LinkSummary| link.marks]
            .map(|count| summary.links.iter().map(count).sum::<u64>());
        (summary.flows[0].goodput_bps.to_bits(), drops, marks)
    };
    let reno = run("controller = \"reno\"");
    assert!(reno.1 > 0 && reno.2 == 0, "{reno:?}");
    for peer in ["accurate_ecn = false", "ecn = \"off\""] {
        assert_eq!(run(&format!("controller = \"prague\"\nreceiver_tcp = {{ {peer} }}")), reno, "{peer}");
    }
    let (_, drops, marks) = run("controller = \"prague\"");
    assert!(drops == 0 && marks > 0, "{drops} drops, {marks} marks");
}

#[test]
fn each_flow_and_seed_has_a_random_stream_of_its_own() {
    let seed = |config: &SimulationConfig, flow: usize| match &config.flows[flow].controller {
        ControllerConfig::Bbr3(config) => config.seed,
        other => panic!("{other:?}"),
    };
    let two = text("\"drop_tail\"", "controller = \"bbr3\"\ncount = 2");
    let (one, other) = (parse(&two), parse(&format!("seed = 2\n{two}")));
    assert_ne!(seed(&one, 0), seed(&one, 1));
    assert_ne!(seed(&one, 0), seed(&other, 0));
    let reseeded = Scenario::parse(&two, "test.toml", &[]).expect("no mistake").with_seed(2).expect("a scenario");
    assert_eq!(seed(reseeded.config(), 0), seed(&other, 0));
}

#[test]
fn a_threshold_is_a_limit_of_its_own() {
    let config = parse(&text("{ kind = \"threshold\", threshold = \"0.25 bdp\", limit = \"50 packets\" }", ""));
    let QueueConfig::Threshold(queue) = &config.network.links[0].queue else { panic!("a threshold queue") };
    // 10 Mbit/s * 40.04 ms / 4
    let threshold = QueueLimit::Bytes(Bytes(12_512));
    assert_eq!(*queue, ThresholdConfig { threshold, limit: QueueLimit::Packets(50) });
}

#[test]
fn mistakes_name_the_place_the_value_and_the_remedy() {
    for (controller, parts) in [
        ("{ kind = \"bbr\", high_gain = 1.0 }", ["high_gain", "must be at least 1.01 and at most 100", "2.88"]),
        ("{ kind = \"bbr3\", beta = 1.5 }", ["beta", "must be more than 0 and less than 1", "the default is 0.7"]),
        ("{ kind = \"prague\", reference_rtt = \"0 s\" }", ["reference_rtt", "must be more than 0 ns", "25 ms"]),
        (
            "{ kind = \"pcc_allegro\", min_epsilon = 0.1 }",
            ["min_epsilon", "0.1", "must be at most max_epsilon, which is 0.05"],
        ),
        (
            "{ kind = \"siad\", rounds = 1 }",
            ["rounds", "must be at least 2 and at most 100000 round trips", "20 (TIK report 367)"],
        ),
    ] {
        let said = mistake(controller);
        for part in parts {
            assert!(said.contains(part), "{part:?} is not in: {said}");
        }
    }
}

/// Goodputs of an example's flows, bit/s.
fn example(name: &str) -> Vec<f64> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ackclock/scenarios").join(name);
    let scenario = Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(scenario.config()).finish().summary.flows.iter().map(|flow| flow.goodput_bps).collect()
}

#[test]
fn the_examples_show_what_they_say() {
    let bbr = example("bbr-random-loss.toml");
    assert!(bbr[0] > 0.9 * 96.5e6, "{bbr:?}");
    let dctcp = example("dctcp-sawtooth.toml");
    assert!(dctcp.iter().sum::<f64>() > 0.999 * 965.3e6, "{dctcp:?}");
    let prague = example("prague-round-trips.toml");
    let ratio = prague[..5].iter().sum::<f64>() / prague[5..].iter().sum::<f64>();
    assert!((0.9..1.1).contains(&ratio) && prague.iter().sum::<f64>() > 85e6, "{prague:?}");
}
