//! Frozen policies in scenarios: read once, checked against their hash, trained in one run and replayed in another.

use std::path::PathBuf;

use ackclock_agent::policy::{learned_policy, policy_file};
use ackclock_cc::{ControllerConfig, DecreaseFrom, Hystart};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowId, Simulation};
use ackclock_units::SimTime;

/// An agent that sends a segment less or a segment more, by two numbers.
const AGENT: &str =
    r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": {"kind": "deltas", "segments": [-1, 1]}}"#;

/// A file of this test's own, removed when it is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("ackclock-scenario-{}-{name}.onnx", std::process::id()));
        std::fs::write(&path, content).expect("a folder for temporary files");
        Self(path)
    }

    fn name(&self) -> String {
        format!("'{}'", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A policy that takes a segment away above `segments` segments.
fn up_to(segments: f32) -> Vec<u8> {
    let layer: [(&[f32], &[f32]); 1] = [(&[1.0, 0.0, 0.0, 0.0], &[0.0, segments])];
    policy_file(AGENT, None, layer.into_iter())
}

fn read(flow: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"20 s\"\n[topology]\nkind = \"dumbbell\"\naccess = {{ rate = \"1 Gbit/s\", delay = \"10 us\" }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", delay = \"20 ms\" }}\n[tcp]\ninitial_ssthresh = \"16 segments\"\n[[flow]]\n{flow}\n"
    );
    Scenario::parse(&text, "test.toml", &[]).map_err(|error| error.to_string())
}

fn scenario(flow: &str) -> Scenario {
    read(flow).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_policy_holds_the_window_that_its_weights_say() {
    let file = File::new("thirty", &up_to(30.5));
    let scenario = scenario(&format!("controller = {{ kind = \"policy\", file = {} }}", file.name()));
    let mut simulation = Simulation::new(scenario.config());
    simulation.run_until(SimTime(10_000_000_000));
    let mss = f64::from(scenario.config().flows[0].sender.mss);
    // A segment more while cwnd < 30.5, a segment less beyond: from 29.5 to 31.5 in the steady state.
    for ms in 10_001..11_000 {
        simulation.run_until(SimTime(ms * 1_000_000));
        let segments = simulation.sender(FlowId::new(0)).cwnd().0 as f64 / mss;
        assert!((29.5..=31.5).contains(&segments), "{segments} at {ms} ms");
    }
    // 10 s after slow start in round trips of 40 ms are at most 275 windows.
    let decisions = simulation.controller(FlowId::new(0)).internal("decisions").expect("a report");
    assert!((150.0..=275.0).contains(&decisions), "{decisions}");
}

/// A policy with an LSTM that counts: a segment more at each of a flow's first twenty decisions, then none
/// (tests/vectors/recurrent/make.py).
///
/// Evidence for the controller `policy`.
#[test]
fn a_memory_is_each_flows_own_and_empty_when_it_begins() {
    let file = format!("{}/../../tests/vectors/recurrent/counting_old.onnx", env!("CARGO_MANIFEST_DIR"));
    let flow = format!("controller = {{ kind = \"policy\", file = '{file}' }}");
    let scenario = scenario(&format!("{flow}\n[[flow]]\n{flow}\nstart = \"5 s\""));
    let mut simulation = Simulation::new(scenario.config());
    simulation.run_until(SimTime(19_000_000_000));
    for flow in 0..2 {
        let sender = simulation.sender(FlowId::new(flow));
        let segments = sender.cwnd().0 as f64 / f64::from(scenario.config().flows[0].sender.mss);
        // Slow start ends with the ACK that brings the window to 16 segments, or one more.
        assert!((36.0..=37.0).contains(&segments), "flow {flow}: {segments} segments");
    }
}

#[test]
fn short_flows_have_policies_too() {
    let file = File::new("short", &up_to(30.5));
    let arrivals = "arrivals = { rate = \"4/s\", size = \"200 kB\" }";
    let scenario = scenario(&format!("controller = {{ kind = \"policy\", file = {} }}\n{arrivals}", file.name()));
    let outcome = Simulation::new(scenario.config()).finish();
    let group = &outcome.summary.groups[0];
    // 4 a second for 20 s are 80, with a deviation of 9.
    assert!((50..=110).contains(&group.completed) && group.aborted == 0, "{group:?}");
}

#[test]
fn what_was_learnt_in_one_run_is_replayed_in_another() {
    for name in ["dqn_newreno", "dqn_cubic"] {
        let mut learning =
            Simulation::new(scenario(&format!("controller = {{ kind = {name:?}, warm_up = 200 }}")).config());
        learning.run_until(SimTime(20_000_000_000));
        let learnt = learned_policy(learning.sender(FlowId::new(0)).controller()).expect("it learns");
        let file = File::new(name, &learnt);
        let frozen = scenario(&format!("controller = {{ kind = \"policy\", file = {} }}", file.name()));
        let run = || {
            let mut simulation = Simulation::new(frozen.config());
            simulation.run_until(SimTime(20_000_000_000));
            let decisions = simulation.controller(FlowId::new(0)).internal("decisions").expect("a report");
            (decisions, format!("{:?}", simulation.finish().summary))
        };
        let once = run();
        assert!(once.0 > 50.0, "{name}: {} decisions", once.0);
        assert_eq!(once, run(), "{name}");
    }
    let mut newreno = Simulation::new(scenario("controller = \"newreno\"").config());
    newreno.run_until(SimTime(1_000_000_000));
    assert!(learned_policy(newreno.sender(FlowId::new(0)).controller()).is_none());
}

#[test]
fn what_holds_of_the_window_goes_with_what_was_learnt() {
    let settings = "kind = \"dqn_cubic\", warm_up = 50, hystart = \"ns3\", decrease_from = \"flight_size\"";
    let mut learning = Simulation::new(scenario(&format!("controller = {{ {settings} }}")).config());
    learning.run_until(SimTime(10_000_000_000));
    let learnt = learned_policy(learning.sender(FlowId::new(0)).controller()).expect("it learns");
    let file = File::new("window", &learnt);
    let frozen = scenario(&format!("controller = {{ kind = \"policy\", file = {} }}", file.name()));
    let ControllerConfig::DqnCubic(config) = &frozen.config().flows[0].controller else { panic!("it is DQN-CUBIC") };
    assert_eq!((config.hystart, config.dqn.decrease_from), (Hystart::Ns3, DecreaseFrom::FlightSize));
}

#[test]
fn the_file_is_part_of_the_scenario_and_of_its_hash() {
    let file = File::new("hash", &up_to(30.0));
    let flow = format!("controller = {{ kind = \"policy\", file = {} }}", file.name());
    let first = scenario(&flow);
    assert!(first.to_json().contains("\"sha256\""), "{}", first.to_json());
    std::fs::write(&file.0, up_to(40.0)).expect("it was written before");
    assert_ne!(first.hash(), scenario(&flow).hash());
    // Read again as it was kept, it is not the file that it was.
    let error = Scenario::from_json(&first.to_json(), &[]).expect_err("another file").to_string();
    assert!(error.contains("flow[0].controller.file") && error.contains("SHA-256"), "{error}");
    // A seed draws no other file.
    assert_eq!(first.with_seed(9).expect("a scenario").config().flows.len(), 1);
}

#[test]
fn mistakes_name_the_place_the_value_and_the_remedy() {
    let right = File::new("right", &up_to(30.0));
    let wrong = File::new("wrong", b"\x08\x07 this is not a graph");
    let policy = |rest: &str| format!("controller = {{ kind = \"policy\"{rest} }}");
    let in_file = |file: &File, rest: &str| policy(&format!(", file = {}{rest}", file.name()));
    for (flow, words) in [
        (policy(""), vec!["flow[0].controller.file", "is missing", "policy.onnx"]),
        (policy(", file = \"no-such.onnx\""), vec!["flow[0].controller.file", "can be read", "scenario's folder"]),
        (in_file(&wrong, ""), vec!["flow[0].controller.file", "must be an ONNX file", "torch.onnx.export"]),
        (in_file(&right, ", agent = { history = 2 }"), vec!["flow[0].controller.agent", "ackclock.agent", "remove"]),
        (
            in_file(&right, &format!(", controller = {{ kind = \"policy\", file = {} }}", right.name())),
            vec!["flow[0].controller.controller", "must be no policy itself", "cubic"],
        ),
        (in_file(&right, ", controller = { kind = \"reno\", beta = 2 }"), vec!["flow[0].controller.controller.beta"]),
        (in_file(&right, ", sha256 = \"00\""), vec!["flow[0].controller.file", "SHA-256"]),
        (in_file(&right, ", network = 3"), vec!["flow[0].controller", "network"]),
    ] {
        let error = read(&flow).expect_err(&flow);
        for word in words {
            assert!(error.contains(word), "{word:?} is not in: {error}");
        }
    }
}

#[test]
fn an_end_of_an_appliance_may_be_a_policy() {
    let file = File::new("appliance", &up_to(20.0));
    let policy = format!("{{ kind = \"policy\", file = {}, controller = \"reno\" }}", file.name());
    let far = format!("[[appliance]]\nnode = \"left\"\nfar = {{ controller = {policy} }}");
    let split = scenario(&far).config().splits[0].clone();
    assert_eq!(split.far.controller_name, "policy");
    assert!(split.far.controller.decides());
}
