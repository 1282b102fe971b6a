//! Can any file of a policy make its reader panic, or its network when a flow asks it?

#![no_main]

use std::sync::Arc;

use ackclock_agent::policy::{Policy, PolicyController};
use ackclock_cc::{Controller, ControllerConfig, CubicConfig, ExternalConfig};
use ackclock_scenario::Scenario;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

#[path = "../common/mod.rs"]
mod common;

/// For files that do not say what they were trained with.
const SETTINGS: [&str; 2] = [
    r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": {"kind": "deltas", "segments": [-1, 1]}}"#,
    r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": "orca"}"#,
];

fuzz_target!(|bytes: &[u8]| {
    for settings in [None, Some(SETTINGS[0]), Some(SETTINGS[1])] {
        if let Ok(policy) = Policy::from_onnx(bytes, settings) {
            ask(policy);
        }
    }
});

/// A flow is moved by it for some round trips.
fn ask(policy: Policy) {
    let text = common::dumbbell(100, common::plain(), json!({}));
    let mut config = Scenario::from_json(&text, &[]).expect("a plain dumbbell").config().clone();
    let policy = Arc::new(policy);
    let controller = ExternalConfig::new("policy", move |start| {
        let cubic = ControllerConfig::Cubic(CubicConfig::default()).seeded(start.seed);
        let own = Controller::new(&cubic, start.mss, start.initial_window, start.initial_ssthresh);
        PolicyController::new(&policy, own, start.mss)
    });
    config.flows[0].controller = ControllerConfig::External(controller.that_decides());
    common::run(&config, 2_000);
}
