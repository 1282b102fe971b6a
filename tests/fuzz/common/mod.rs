//! Common part of several targets: run a scenario that could be read for a while, and check its results.

#![allow(dead_code, reason = "no target uses all of it")]

use ackclock_scenario::Scenario;
use ackclock_sim::{Outcome, Simulation, SimulationConfig};
use ackclock_units::SimTime;
use serde_json::{Value, json};

/// A dumbbell of 10 Mbit/s with the flow given, for so long.
pub fn dumbbell(duration_ms: u32, bottleneck: Value, flow: Value) -> String {
    json!({
        "duration": format!("{duration_ms} ms"),
        "topology": {
            "kind": "dumbbell",
            "access": { "rate": "100 Mbit/s", "delay": "1 ms" },
            "bottleneck": bottleneck,
        },
        "flow": [flow],
    })
    .to_string()
}

/// A link whose rate does not change.
pub fn plain() -> Value {
    json!({ "rate": "10 Mbit/s", "delay": "2 ms" })
}

/// Runs a scenario, if the check takes it.
pub fn run_text(text: &str, most_events: u64) {
    match Scenario::from_json(text, &[]) {
        Ok(scenario) => run(scenario.config(), most_events),
        Err(error) => assert!(error.diagnostics.iter().all(|mistake| !mistake.message.is_empty())),
    }
}

/// Runs until the end, or until so many events have been handled, and checks what holds of any results.
pub fn run(config: &SimulationConfig, most_events: u64) {
    let mut simulation = Simulation::new(config);
    simulation.run_until_or(SimTime(config.duration.0), |simulation| simulation.counters().events >= most_events);
    check(config, &simulation.stop());
}

fn check(config: &SimulationConfig, outcome: &Outcome) {
    let summary = &outcome.summary;
    let text = format!("{summary:?}");
    assert!(!text.contains("NaN") && !text.contains(": inf") && !text.contains(": -"), "{text}");
    for link in &summary.links {
        assert!(link.utilization <= 1.0 + 1e-9, "{link:?}");
    }
    let is_split = !config.appliances.is_empty();
    for flow in &summary.flows {
        assert!(flow.retransmitted_segments <= flow.sent_segments, "{flow:?}");
        assert!(is_split || flow.goodput_bps <= flow.throughput_bps * 1.001 + 1.0, "{flow:?}");
    }
    let copies = |link: &ackclock_sim::LinkSummary| link.duplicates > 0;
    let has_copies = summary.links.iter().any(copies);
    for datagrams in &summary.datagrams {
        assert!(has_copies || datagrams.received <= datagrams.sent, "{datagrams:?}");
    }
    for group in &summary.groups {
        assert!(group.completed <= group.started, "{group:?}");
    }
}
