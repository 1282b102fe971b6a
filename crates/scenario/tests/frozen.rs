//! A learner that is saved and frozen continues as one that no longer learns: the same course, number for number.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ackclock_agent::policy::learned_policy;
use ackclock_cc::{ControllerConfig, DqnConfig};
use ackclock_scenario::Scenario;
use ackclock_sim::{FlowId, Simulation, SimulationConfig};
use ackclock_units::SimTime;

/// A scenario of 10 Mbit/s, 40 ms, a buffer of half a bandwidth-delay product, and another flow that comes and goes.
fn scenario(controller: &str, seed: u64) -> Result<Scenario, String> {
    let text = format!(
        r#"
        duration = "10 s"
        seed = {seed}
        trace = false
        [topology]
        kind = "dumbbell"
        access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
        bottleneck = {{ rate = "10 Mbit/s", delay = "18 ms", queue = {{ kind = "drop_tail", limit = "0.5 bdp" }} }}
        [[flow]]
        name = "learner"
        controller = {controller}
        [[flow]]
        name = "other"
        controller = "cubic"
        start = "3 s"
        app = {{ kind = "file", size = "2 MB" }}
        "#
    );
    Scenario::parse(&text, "test.toml", &[]).map_err(|error| error.to_string())
}

fn config(controller: &str, seed: u64) -> SimulationConfig {
    scenario(controller, seed).unwrap_or_else(|error| panic!("{error}")).config().clone()
}

/// A learner that is greedy from the beginning, and whose learning steps change nothing.
fn at_rest(controller: &str, seed: u64) -> SimulationConfig {
    let still = |dqn: &mut DqnConfig| {
        (dqn.learning.warm_up, dqn.learning.epsilon, dqn.learning.learning_rate) = (0, 0.0, 0.0);
    };
    let mut config = config(controller, seed);
    match &mut config.flows[0].controller {
        ControllerConfig::DqnNewReno(learner) => still(&mut learner.dqn),
        ControllerConfig::DqnCubic(learner) => still(&mut learner.dqn),
        other => panic!("{other:?} does not learn"),
    }
    config
}

/// A file of this test's own, removed when it is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("ackclock-frozen-{}-{name}.onnx", std::process::id()));
        std::fs::write(&path, content).expect("a folder for temporary files");
        Self(path)
    }

    fn controller(&self, rest: &str) -> String {
        format!("{{ kind = \"policy\", file = '{}'{rest} }}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The course of a run: all reported values, by the controllers' names, and the actions taken.
#[derive(Debug, PartialEq)]
struct Course {
    told: String,
    decisions: u64,
    actions: BTreeSet<u64>,
}

fn course(config: &SimulationConfig) -> Course {
    let mut simulation = Simulation::new(config);
    let mut actions = BTreeSet::new();
    for step in 1..=1_000 {
        simulation.run_until(SimTime(step * 10_000_000));
        actions.insert(simulation.controller(FlowId::new(0)).internal("action").unwrap_or_default() as u64);
    }
    let decisions = simulation.controller(FlowId::new(0)).internal("decisions").expect("a report") as u64;
    let outcome = simulation.finish();
    let told = format!("{:?} {:?}", outcome.engine, outcome.summary);
    let told = ["dqn_newreno", "dqn_cubic", "policy"].iter().fold(told, |told, name| told.replace(name, "controller"));
    Course { told, decisions, actions }
}

fn saved(config: &SimulationConfig) -> Vec<u8> {
    let mut simulation = Simulation::new(config);
    simulation.run_until(SimTime(200_000_000)); // the handshake is over, and nothing learnt
    learned_policy(simulation.sender(FlowId::new(0)).controller()).expect("it learns")
}

/// The courses of a frozen and a learning run, from the same network.
fn both(name: &str, controller: &str, seed: u64) -> (Course, Course) {
    let learner = at_rest(controller, seed);
    let file = File::new(name, &saved(&learner));
    (course(&config(&file.controller(""), seed)), course(&learner))
}

#[test]
fn a_frozen_learner_is_the_learner_that_stopped() {
    let settings = [
        "",
        ", normalisation = \"raw\"",
        ", min_window = 12, beta = 0.5",
        ", below_ssthresh = \"avoidance\", hidden = [8]",
    ];
    let cubic = [", c = 4.0", ", formula_c = false"];
    let of =
        |kind: &'static str, settings: &[&'static str]| settings.iter().map(|rest| (kind, *rest)).collect::<Vec<_>>();
    let kinds = [of("dqn_newreno", &settings), of("dqn_cubic", &settings), of("dqn_cubic", &cubic)].concat();
    let mut actions = BTreeSet::new();
    for (index, (kind, rest)) in kinds.into_iter().enumerate() {
        for seed in 1..=2 {
            let normalisation = if rest.contains("raw") { "" } else { ", normalisation = \"fixed\"" };
            let controller = format!("{{ kind = {kind:?}{normalisation}{rest} }}");
            let (frozen, learner) = both(&format!("{index}-{seed}"), &controller, seed);
            assert!(frozen.decisions > 20, "{controller}: {frozen:?}");
            assert_eq!(frozen, learner, "{controller}, seed {seed}");
            actions.extend(frozen.actions.iter().map(|action| (kind, *action)));
        }
    }
    // Networks that always choose the same would say little.
    assert!(actions.len() >= 6, "{actions:?}");
}

/// The test above would pass if nothing depended on the settings.
#[test]
fn each_setting_is_carried() {
    for (kind, rest) in [
        ("dqn_newreno", "min_window = 40"),
        ("dqn_newreno", "beta = 0.5"),
        ("dqn_newreno", "below_ssthresh = \"avoidance\""),
        ("dqn_cubic", "c = 4.0"),
        ("dqn_cubic", "formula_c = false"),
    ] {
        let differs = (1..=8).any(|seed| {
            let learner =
                |rest: &str| at_rest(&format!("{{ kind = {kind:?}, normalisation = \"fixed\"{rest} }}"), seed);
            let name = format!("carried-{}-{seed}", rest.split(' ').next().expect("a name"));
            let plain = File::new(&format!("{name}-plain"), &saved(&learner("")));
            let other = File::new(&name, &saved(&learner(&format!(", {rest}"))));
            let [plain, other] = [plain, other].map(|file| course(&config(&file.controller(""), seed)));
            plain != other
        });
        assert!(differs, "{kind}: {rest} makes no difference");
    }
}

#[test]
fn what_a_file_says_of_its_learner_is_checked() {
    let file = File::new("checked", &saved(&at_rest("\"dqn_cubic\"", 1)));
    let error = scenario(&file.controller(", controller = \"reno\""), 1).expect_err("two controllers");
    for words in ["flow[0].controller.controller", "ackclock.learner", "remove it"] {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    let content = std::fs::read(&file.0).expect("it was written");
    for (from, to, words) in [
        ("\"c\":0.4", "\"c\":-.4", "ackclock.learner"),
        ("\"c\":0.4", "\"c\":0e4", "c = 0 is out of range"),
        ("\"beta\":0.7", "\"beta\":1.7", "beta = 1.7 is out of range"),
        ("\"min_window\":2", "\"min_window\":0", "min_window = 0 is out of range"),
        ("dqn_cubic", "dqn_quick", "dqn_quick"),
    ] {
        let wrong = File::new("wrong", &replaced(&content, from, to));
        let error = scenario(&wrong.controller(""), 1).expect_err(to);
        assert!(error.contains("flow[0].controller.file") && error.contains(words), "{words:?} is not in: {error}");
    }
}

/// The content with one text replaced by another of the same length.
fn replaced(content: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = content.windows(from.len()).position(|window| window == from.as_bytes()).expect("it is there");
    [&content[..at], to.as_bytes(), &content[at + from.len()..]].concat()
}
