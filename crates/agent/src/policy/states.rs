//! States that a file takes as inputs and returns as outputs: which of its inputs are states.
//!
//! Source: the form in which recurrent networks are deployed, as `torch.onnx.export` writes it. An input is a state if
//! an LSTM begins from it, and the engine keeps it only if an output of the file is that LSTM's new state. Names and
//! order do not matter.

use std::collections::{BTreeMap, BTreeSet};

use super::error::PolicyError;
use super::onnx::{GraphProto, NodeProto};
use super::operators::{CELLS, HIDDEN, wrong};

/// The operators that change shapes and no numbers.
const MOVES: [&str; 8] = ["Cast", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"];

/// The nodes by the values that they compute.
struct Makers<'a>(BTreeMap<&'a str, &'a NodeProto>);

impl<'a> Makers<'a> {
    fn of(graph: &'a GraphProto) -> Self {
        let made = |node: &'a NodeProto| node.output.iter().map(move |name| (name.as_str(), node));
        Self(graph.node.iter().flat_map(made).collect())
    }

    /// The value with the same numbers, perhaps in another shape.
    fn origin(&self, name: &'a str) -> &'a str {
        let mut at = name;
        // as many moves as there are nodes, at most: a damaged file may have a circle
        for _ in 0..self.0.len() {
            match self.0.get(at).filter(|node| MOVES.contains(&node.op_type.as_str())) {
                Some(node) if !node.input.is_empty() => at = &node.input[0],
                _ => break,
            }
        }
        at
    }
}

/// The inputs of the file that are states of these nodes.
pub(super) fn given<'a>(graph: &'a GraphProto, nodes: &[&'a NodeProto]) -> Result<BTreeSet<&'a str>, PolicyError> {
    let makers = Makers::of(graph);
    let inputs: BTreeSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    let constants: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let returned: BTreeSet<&str> = graph.output.iter().map(|output| makers.origin(&output.name)).collect();
    let mut states: BTreeMap<&str, &String> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.op_type == "LSTM") {
        // what holds each state after the step: with a sequence of one all hidden states are the last
        for (index, after) in [(HIDDEN, &[0, 1][..]), (CELLS, &[2][..])] {
            let Some(name) = node.input.get(index).filter(|name| !name.is_empty()) else { continue };
            let from = makers.origin(name);
            if !inputs.contains(from) || constants.contains(from) {
                continue;
            }
            if let Some(other) = states.insert(from, &node.name) {
                return Err(begun_twice(node, from, *other == node.name));
            }
            let gives = |place: &usize| node.output.get(*place).is_some_and(|name| returned.contains(name.as_str()));
            if !after.iter().any(gives) {
                let what = format!("begins from the input {from:?}, and no output returns its next value");
                return Err(wrong(node, &what, "let the file return the state after the decision, or take none"));
            }
        }
    }
    Ok(states.into_keys().collect())
}

fn begun_twice(node: &NodeProto, from: &str, by_itself: bool) -> PolicyError {
    let remedy = if by_itself {
        "give each its own; PyTorch's exporter with dynamo=True takes the cells' state for both: export with dynamo=False"
    } else {
        "export one layer (num_layers=1), or give each LSTM its own"
    };
    wrong(node, &format!("begins a second state from {from:?}"), remedy)
}
