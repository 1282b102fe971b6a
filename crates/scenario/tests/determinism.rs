//! The same scenario and seed give the same bytes: again and again, in pieces, and in every kind of build.

use ackclock_scenario::Scenario;
use ackclock_sim::{Outcome, Simulation};
use ackclock_units::SimTime;
use sha2::{Digest, Sha256};

const SCENARIO: &str = include_str!("../../../benches/speed/scenarios/a.toml");

/// `tests/python/test_determinism.py` holds the release build against the same record.
const RECORDED: &str = include_str!("../../../tests/vectors/bench-a-summary.sha256");

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO, "a.toml", &["trace=true".to_owned()]).unwrap_or_else(|error| panic!("{error}"))
}

fn sha256(bytes: &[u8]) -> String {
    let digits: Vec<String> = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

fn everything(outcome: &Outcome) -> String {
    sha256(format!("{:?} {:?} {:?} {:?}", outcome.summary, outcome.flows, outcome.links, outcome.episodes).as_bytes())
}

#[test]
fn every_repetition_and_every_build_gives_the_same_bytes() {
    let scenario = scenario();
    let first = Simulation::new(scenario.config()).finish();
    let summary = serde_json::to_string(&first.summary).expect("a summary is JSON");
    assert_eq!(sha256(summary.as_bytes()), RECORDED.trim(), "the results of benchmark (a) have changed");
    assert_eq!(everything(&first), everything(&Simulation::new(scenario.config()).finish()));
}

#[test]
fn running_in_pieces_or_from_a_clone_changes_nothing() {
    let scenario = scenario();
    let whole = Simulation::new(scenario.config()).finish();
    let mut pieces = Simulation::new(scenario.config());
    for step in 1..500 {
        pieces.run_until(SimTime(step * 100_000_007));
    }
    let copy = pieces.clone();
    assert_eq!(everything(&pieces.finish()), everything(&whole));
    assert_eq!(everything(&copy.finish()), everything(&whole));
}

#[test]
fn another_seed_gives_other_results_where_chance_has_a_part() {
    let text = SCENARIO.replace("queue =", "discard = [{ kind = \"probability\", p = 0.001 }], queue =");
    let scenario = Scenario::parse(&text, "a.toml", &["duration=5 s".to_owned()]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let result = |seed| everything(&Simulation::new(scenario.with_seed(seed).expect("a scenario").config()).finish());
    assert_ne!(result(1), result(2));
}
