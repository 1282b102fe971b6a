//! The export of a trained network as an ONNX file.
//!
//! The normalisation has nodes of its own before the first layer: folded into the weights it would be rounded
//! differently, and its limit cannot be folded.

use ackclock_cc::{Controller, LearnedKind, learned};
use ackclock_learn::Normaliser;
use prost::Message;

use super::error::PolicyError;
use super::learner::{self, LEARNER_KEY};
use super::onnx::{
    AttributeProto, Dimension, FLOAT, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TensorType, TypeProto, ValueInfoProto,
};
use super::{AGENT_KEY, Policy};

/// IR version and operators of ONNX 1.8, of 2020, which every runtime still reads.
const IR_VERSION: i64 = 7;
const OPSET: i64 = 13;
/// The code of `AttributeProto.AttributeType.INT`.
const INT_ATTRIBUTE: i32 = 2;

const NEWRENO: &str = r#"{"observations": ["threshold_segments", "cwnd_segments", "rtt_ms"], "decide": "window", "action": {"kind": "deltas", "segments": [-10, -3, -1, 0, 1, 3, 10]}, "reward": "dqn"}"#;
const CUBIC: &str = r#"{"observations": ["threshold_segments", "cwnd_segments", "rtt_ms", "w_max_segments", "since_congestion_ms"], "decide": "cubic_pace", "action": "cubic_pace", "reward": "dqn"}"#;

/// The function between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The rectifier `max(x, 0)`.
    Relu,
    /// The hyperbolic tangent of `x`.
    Tanh,
}

impl Activation {
    /// The function of this name: `relu` or `tanh`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "relu" => Some(Self::Relu),
            "tanh" => Some(Self::Tanh),
            _ => None,
        }
    }

    fn operator(self) -> &'static str {
        match self {
            Self::Relu => "Relu",
            Self::Tanh => "Tanh",
        }
    }
}

/// The network of a controller that learns in its flow, with its observations and decisions, as a policy's file. `None`
/// if the controller does not learn.
pub fn learned_policy(controller: &Controller) -> Option<Vec<u8>> {
    let learned = learned(controller)?;
    let agent = match learned.kind {
        LearnedKind::NewReno => NEWRENO,
        LearnedKind::Cubic { .. } => CUBIC,
    };
    let graph = layers(Some(&learned.normaliser), Activation::Relu, learned.network.parameters_by_layer());
    let mut model = model(graph, agent);
    model.metadata_props.push(entry(LEARNER_KEY, &learner::written(&learned)));
    Some(model.encode_to_vec())
}

/// A policy's file for an agent of this configuration: layers with a rectifier between them, each with its weights (a
/// row for each output) and biases. There is at least one layer, and none is empty.
pub fn policy_file<'a>(
    agent: &str,
    normaliser: Option<&Normaliser>,
    layers: impl ExactSizeIterator<Item = (&'a [f32], &'a [f32])>,
) -> Vec<u8> {
    model(self::layers(normaliser, Activation::Relu, layers), agent).encode_to_vec()
}

/// A policy's file for a network that was trained elsewhere: each layer has weights and biases, as many weights for
/// each bias. Errors are those of reading a file.
pub fn trained_policy(
    agent: &str,
    activation: Activation,
    layers: &[(Vec<f32>, Vec<f32>)],
) -> Result<Vec<u8>, PolicyError> {
    let is_wrong = |(weights, biases): &&(Vec<f32>, Vec<f32>)| {
        biases.is_empty() || weights.is_empty() || !weights.len().is_multiple_of(biases.len())
    };
    let wrong = layers.iter().find(is_wrong).map(|(weights, biases)| (weights.len(), biases.len()));
    if let Some((weights, biases)) = wrong.or(layers.is_empty().then_some((0, 0))) {
        let what = format!("would have a layer of {weights} weights and {biases} biases");
        return Err(PolicyError::of_file(what, "give at least one layer, with as many weights for each bias"));
    }
    let parts = layers.iter().map(|(weights, biases)| (&weights[..], &biases[..]));
    let file = model(self::layers(None, activation, parts), agent).encode_to_vec();
    Policy::from_onnx(&file, None)?;
    Ok(file)
}

/// The graph of a normalisation and of layers.
fn layers<'a>(
    normaliser: Option<&Normaliser>,
    activation: Activation,
    layers: impl ExactSizeIterator<Item = (&'a [f32], &'a [f32])>,
) -> GraphProto {
    let mut graph = GraphProto { name: "policy".to_owned(), ..GraphProto::default() };
    let mut at = normaliser.map_or("observation".to_owned(), |normaliser| normalise(normaliser, &mut graph));
    let last = layers.len() - 1;
    for (index, (weights, biases)) in layers.enumerate() {
        if index == 0 {
            graph.input.push(row("observation", weights.len() / biases.len()));
        }
        if index == last {
            graph.output.push(row("values", biases.len()));
        }
        let [weight, bias] = ["weight", "bias"].map(|name| format!("layer{index}.{name}"));
        let outputs = biases.len();
        graph.initializer.push(tensor(&weight, &[outputs, weights.len() / outputs], weights));
        graph.initializer.push(tensor(&bias, &[outputs], biases));
        let out = if index == last { "values".to_owned() } else { format!("sums{index}") };
        let mut node = node("Gemm", &[&at, &weight, &bias], &out);
        node.attribute.push(AttributeProto {
            name: "transB".to_owned(),
            i: 1,
            r#type: INT_ATTRIBUTE,
            ..AttributeProto::default()
        });
        graph.node.push(node);
        at = out;
        if index < last {
            let out = format!("hidden{index}");
            graph.node.push(self::node(activation.operator(), &[&at], &out));
            at = out;
        }
    }
    graph
}

/// A line of metadata.
fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: key.to_owned(), value: value.to_owned() }
}

/// A file with this graph.
pub(super) fn model(graph: GraphProto, agent: &str) -> ModelProto {
    ModelProto {
        ir_version: IR_VERSION,
        producer_name: "ackclock".to_owned(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
        metadata_props: vec![entry(AGENT_KEY, agent)],
    }
}

/// Adds the nodes that normalise an observation; returns the name of the last one's output.
fn normalise(normaliser: &Normaliser, graph: &mut GraphProto) -> String {
    let (shifts, factors, farthest) = normaliser.parameters();
    graph.initializer.push(tensor("shifts", &[shifts.len()], shifts));
    graph.initializer.push(tensor("factors", &[factors.len()], factors));
    graph.node.push(node("Sub", &["observation", "shifts"], "shifted"));
    graph.node.push(node("Mul", &["shifted", "factors"], "scaled"));
    let Some(farthest) = farthest else { return "scaled".to_owned() };
    graph.initializer.push(tensor("least", &[], &[-farthest]));
    graph.initializer.push(tensor("greatest", &[], &[farthest]));
    graph.node.push(node("Clip", &["scaled", "least", "greatest"], "seen"));
    "seen".to_owned()
}

/// A node with one output.
pub(super) fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: operator.to_owned(),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        name: format!("{operator}_{output}"),
        ..NodeProto::default()
    }
}

/// Tensor of constant numbers.
pub(super) fn tensor(name: &str, shape: &[usize], numbers: &[f32]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: shape.iter().map(|dim| *dim as i64).collect(),
        data_type: FLOAT,
        raw_data: numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
        ..TensorProto::default()
    }
}

/// An input or output of one row.
pub(super) fn row(name: &str, width: usize) -> ValueInfoProto {
    let dim = |value: usize| Dimension { dim_value: Some(value as i64), dim_param: None };
    let shape = Some(TensorShapeProto { dim: vec![dim(1), dim(width)] });
    let tensor_type = Some(TensorType { elem_type: FLOAT, shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}
