//! Files that `PyTorch` wrote of policies of Stable-Baselines3, and the outputs of `PyTorch`: `tests/vectors/policies`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::network::Work;
use super::{Form, Policy};

/// The outputs of `PyTorch` for observations.
#[derive(Deserialize)]
struct Expected {
    observations: Vec<Vec<f32>>,
    outputs: Vec<Vec<f64>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/policies")
}

fn expected() -> BTreeMap<String, Expected> {
    let text = std::fs::read_to_string(folder().join("expected.json")).expect("part of the tree");
    serde_json::from_str(&text).expect("as make.py wrote it")
}

fn policy(name: &str) -> Policy {
    let bytes = std::fs::read(folder().join(format!("{name}.onnx"))).expect("part of the tree");
    Policy::from_onnx(&bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// True if sums of a dozen products of numbers below 12, in another order, agree to a few units of the seventh digit.
fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 2e-6 * (1.0 + expected.abs())
}

#[test]
fn each_exported_policy_gives_what_pytorch_gave() {
    let expected = expected();
    assert_eq!(expected.len(), 10);
    for (name, rows) in expected {
        let (policy, mut work) = (policy(&name), Work::new());
        assert_eq!(rows.observations.len(), rows.outputs.len());
        for (observation, outputs) in rows.observations.iter().zip(&rows.outputs) {
            let found = policy.network.evaluate(observation, &mut work).to_vec();
            assert_eq!(found.len(), outputs.len(), "{name}");
            for (found, expected) in found.iter().zip(outputs) {
                assert!(is_close(f64::from(*found), *expected), "{name}: {found} for {expected}");
            }
            let best = (0..outputs.len()).rev().max_by(|a, b| outputs[*a].total_cmp(&outputs[*b])).expect("an output");
            let action = policy.action(observation, &mut work);
            match policy.form {
                Form::Values => assert!(is_close(action, best as f64), "{name}: {action} for {best}"),
                Form::Action => assert!(is_close(action, outputs[0]), "{name}: {action} for {outputs:?}"),
            }
        }
    }
}

/// A network with a constant output would prove little.
#[test]
fn exported_policies_choose_now_this_and_now_that() {
    let mut actions = BTreeMap::new();
    for (name, rows) in expected() {
        let policy = policy(&name);
        let of = |row: &Vec<f32>| policy.action(row, &mut Work::new()).to_bits();
        let kind = if name.starts_with("dqn") { "choices" } else { "numbers" };
        actions.entry(kind).or_insert_with(BTreeSet::new).extend(rows.observations.iter().map(of));
        assert_eq!(policy.form == Form::Action, name.contains("greedy") || name.contains("mean"), "{name}");
    }
    // All five choices, and each of the two policies for a number a number of its own for each of 8 observations.
    assert_eq!((actions["choices"].len(), actions["numbers"].len()), (5, 16));
}
