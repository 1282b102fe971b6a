//! Files that `PyTorch` wrote of policies with an LSTM, and its outputs for sequences, with which ONNX Runtime agrees:
//! `tests/vectors/recurrent`. And LSTMs that are refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prost::Message;
use serde::Deserialize;

use super::network::Work;
use super::onnx::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use super::write::{model, node, row, tensor};
use super::{Form, Policy};

/// The outputs of `PyTorch` for sequences, each from a state of zeros.
#[derive(Deserialize)]
pub(super) struct Expected {
    pub(super) observations: Vec<Vec<Vec<f32>>>,
    pub(super) outputs: Vec<Vec<Vec<f64>>>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/recurrent")
}

pub(super) fn expected() -> BTreeMap<String, Expected> {
    let text = std::fs::read_to_string(folder().join("expected.json")).expect("part of the tree");
    serde_json::from_str(&text).expect("as make.py wrote it")
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.onnx"))).expect("part of the tree")
}

pub(super) fn policy(name: &str) -> Policy {
    Policy::from_onnx(&bytes(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// True if forty steps, with sums of some dozens of products in another order, agree.
fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 2e-5 * (1.0 + expected.abs())
}

#[test]
fn each_exported_policy_gives_over_sequences_what_pytorch_gave() {
    let expected = expected();
    assert_eq!(expected.len(), 7);
    for (name, sequences) in expected {
        let policy = policy(&name);
        for (observations, outputs) in sequences.observations.iter().zip(&sequences.outputs) {
            // a flow of its own, and another beside it that sees the sequence backwards
            let (mut work, mut other) = (Work::new(), Work::new());
            for (step, outputs) in outputs.iter().enumerate() {
                policy.network.evaluate(&observations[observations.len() - 1 - step], &mut other);
                let found = policy.network.evaluate(&observations[step], &mut work);
                assert_eq!(found.len(), outputs.len(), "{name}");
                for (found, expected) in found.iter().zip(outputs) {
                    assert!(is_close(f64::from(*found), *expected), "{name}, step {step}: {found} for {expected}");
                }
            }
        }
    }
}

/// A memory without effect would prove nothing: the same observation has another output at another time.
#[test]
fn what_came_before_matters() {
    for (name, sequences) in expected() {
        let policy = policy(&name);
        let mut work = Work::new();
        let mut values = |row: &[f32]| policy.network.evaluate(row, &mut work).to_vec();
        let rows = &sequences.observations[0];
        let first = values(&rows[0]);
        rows[1..].iter().for_each(|row| drop(values(row)));
        let again = values(&rows[0]);
        let apart = first.iter().zip(&again).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // a choice by its number may be the same again
        assert!(apart > 0.01 || policy.form == Form::Action, "{name}: {first:?} and {again:?}");
    }
}

/// One cell worked by hand: all weights zero, only biases, given as halves.
#[test]
fn one_cell_by_hand() {
    let policy = lstm(|_| {}, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut work = Work::new();
    // sigmoid 0 = 1/2 for input and forgetting, tanh 0.5 = 0.462 117 16, sigmoid 1 = 0.731 058 58:
    // c = 0.231 058 58, tanh of it 0.227 032 61, h = 0.165 974 14
    let first = policy.network.evaluate(&[3.0, 4.0], &mut work)[0];
    assert!((first - 0.165_974_14).abs() < 2e-7, "{first}");
    // c = 0.115 529 29 + 0.231 058 58 = 0.346 587 87, tanh of it 0.333 346 02
    let second = policy.network.evaluate(&[3.0, 4.0], &mut work)[0];
    assert!((second - 0.243_695_47).abs() < 2e-7, "{second}");
}

/// A file of one LSTM with one cell, "x" to "y", after an edit, with further inputs of the node at their positions.
fn lstm(edit: impl FnOnce(&mut NodeProto), more: &[(usize, TensorProto)]) -> Result<Policy, super::PolicyError> {
    let mut cell = node("LSTM", &["x", "w", "r", "b", "", "", "", ""], "y");
    edit(&mut cell);
    let mut initializer = vec![
        tensor("w", &[1, 4, 2], &[0.0; 8]),
        tensor("r", &[1, 4, 1], &[0.0; 4]),
        tensor("b", &[1, 8], &[0.0, 0.5, 0.0, 0.25, 0.0, 0.5, 0.0, 0.25]),
    ];
    for (place, numbers) in more {
        cell.input[*place].clone_from(&numbers.name);
        initializer.push(numbers.clone());
    }
    of_graph(vec![cell], initializer, vec![])
}

fn of_graph(
    node: Vec<NodeProto>,
    initializer: Vec<TensorProto>,
    more: Vec<ValueInfoProto>,
) -> Result<Policy, super::PolicyError> {
    const AGENT: &str = r#"{"observations": ["cwnd_segments", "rtt_ms"], "action": "orca"}"#;
    let input = [vec![row("x", 2)], more].concat();
    let graph = GraphProto { name: String::new(), node, initializer, input, output: vec![row("y", 1)] };
    Policy::from_onnx(&model(graph, AGENT).encode_to_vec(), None)
}

fn with(name: &str, edit: impl FnOnce(&mut AttributeProto)) -> AttributeProto {
    let mut attribute = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
    edit(&mut attribute);
    attribute
}

#[test]
fn other_forms_are_refused_with_what_to_do() {
    type Edit = fn(&mut NodeProto);
    let edits: [(Edit, &str); 6] = [
        (
            |node| node.attribute.push(with("direction", |a| a.s = b"reverse".to_vec())),
            "runs reverse; export torch.nn.LSTM",
        ),
        (|node| node.attribute.push(with("direction", |a| a.s = b"bidirectional".to_vec())), "runs bidirectional"),
        (
            |node| {
                let names = ["Sigmoid", "Relu", "Tanh"].map(|name| name.as_bytes().to_vec()).to_vec();
                node.attribute.push(with("activations", |a| a.strings = names));
            },
            "has the activations sigmoid, relu, tanh",
        ),
        (|node| node.attribute.push(with("input_forget", |a| a.i = 1)), "couples the input and forget gates"),
        (|node| node.attribute.push(with("clip", |a| a.f = 3.0)), "clips its sums at 3"),
        (|node| node.attribute.push(with("hidden_size", |a| a.i = 2)), "hidden_size 2, and recurrent weights for 1"),
    ];
    for (edit, words) in edits {
        let error = lstm(edit, &[]).expect_err(words).to_string();
        assert!(error.contains(words) && error.contains("LSTM in node \"LSTM_y\""), "{error}");
    }
    for (place, numbers, words) in [
        (1, tensor("two", &[2, 4, 2], &[0.0; 16]), "has weights of the shape [2, 4, 2]"),
        (2, tensor("two", &[2, 4, 1], &[0.0; 8]), "has recurrent weights of the shape [2, 4, 1]"),
        (3, tensor("few", &[1, 4], &[0.0; 4]), "has 4 biases for 1 cells"),
        (4, tensor("lengths", &[1], &[1.0]), "takes a sequence length"),
        (5, tensor("start", &[1, 1, 1], &[0.5]), "begins from numbers that are not zero"),
        (7, tensor("p", &[1, 3], &[0.0; 3]), "has peepholes"),
    ] {
        let error = lstm(|_| {}, &[(place, numbers)]).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(lstm(|_| {}, &[(5, tensor("zero", &[1, 1, 1], &[0.0]))]).is_ok());
}

#[test]
fn a_state_that_is_not_handed_on_is_refused() {
    let initializer = || vec![tensor("w", &[1, 4, 2], &[0.0; 8]), tensor("r", &[1, 4, 1], &[0.0; 4])];
    let open = || vec![row("h", 1), row("c", 1)];
    let cell = |h: &str, c: &str| node("LSTM", &["x", "w", "r", "", "", h, c], "y");
    let error = of_graph(vec![cell("h", "c")], initializer(), open()).expect_err("c is not given back").to_string();
    assert!(error.contains("from the input \"c\", and no output returns its next value"), "{error}");
    let doubled = vec![node("Add", &["h", "h"], "twice"), cell("twice", "")];
    let error = of_graph(doubled, initializer(), open()).expect_err("computed").to_string();
    assert!(error.contains("2 inputs that decide the action: x, h"), "{error}");
    let computed = vec![node("Tanh", &["x"], "t"), cell("t", "")];
    let error = of_graph(computed, initializer(), vec![]).expect_err("computed").to_string();
    assert!(error.contains("begins from a state that is computed"), "{error}");
}

/// `PyTorch`'s present exporter writes the cells' state for both states; its file is another network than the trained
/// one.
#[test]
fn the_present_exporters_mistake_is_told() {
    let error = Policy::from_onnx(&bytes("wrong_both_from_c"), None).expect_err("both from c").to_string();
    assert!(error.contains("begins a second state from \"c\"") && error.contains("dynamo=False"), "{error}");
}

/// A history that is not in one row is refused.
#[test]
fn a_sequence_of_several_is_refused() {
    let mut model = ModelProto::decode(&bytes("first_old")[..]).expect("right");
    let agent = model.metadata_props.iter_mut().find(|entry| entry.key == super::AGENT_KEY).expect("it has one");
    agent.value = agent.value.replace("\"scaled\"", "\"history\": 2, \"scaled\"");
    let graph = model.graph.as_mut().expect("right");
    let seen = graph.input[0].r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()).expect("a tensor");
    seen.shape.as_mut().expect("declared").dim[1].dim_value = Some(2);
    let error = Policy::from_onnx(&model.encode_to_vec(), None).expect_err("two rows").to_string();
    assert!(error.contains("takes a sequence of the shape [1, 2, 3]") && error.contains("one row"), "{error}");
}
