//! The operator LSTM, with one step of its sequence for each decision.
//!
//! Source: the ONNX operator specification, LSTM, opset 7 to 22: gates in the order input, output, forget, cell. Departures: one direction,
//! forwards, a sequence of one, sigmoid and tanh, no peepholes, nothing cut; the state is zero when a flow begins, and the engine
//! keeps it from one decision to the next, whether the file gives and takes it or begins from zeros each time.

use super::super::error::PolicyError;
use super::super::graph::{Builder, Content, Value};
use super::super::network::{Operand, Operation, Step};
use super::super::onnx::NodeProto;
use super::super::tensor::count;
use super::{DAMAGED, affine, attribute, constants, input, integer, optional, row, wrong};

/// Positions of its inputs.
const SEQUENCE_LENGTHS: usize = 4;
/// The position of the hidden state of the last step.
pub(crate) const HIDDEN: usize = 5;
/// The position of the cells' state of the last step.
pub(crate) const CELLS: usize = 6;
const PEEPHOLES: usize = 7;

const PLAIN: &str = "export torch.nn.LSTM as it is by default: one direction, no projection, sigmoid and tanh";

/// The three outputs: all hidden states, of which there is one; the last of them; the cells' state.
pub(super) fn lstm(builder: &mut Builder, node: &NodeProto) -> Result<Vec<Value>, PolicyError> {
    refuse_other_forms(builder, node)?;
    let (recurrent, cells) = recurrent_weights(builder, node)?;
    let biases = biases(builder, node, cells)?;
    let weights = constants(builder, node, input(builder, node, 1)?)?.to_vec();
    let hidden = state(builder, node, HIDDEN, cells)?;
    let cell = state(builder, node, CELLS, cells)?;
    if hidden == cell {
        return Err(wrong(node, "has one state for two", DAMAGED));
    }
    let sums = affine(builder, node, weights, biases)?;
    let operation = Operation::AddProducts { weights: recurrent, with: Operand::Memory(hidden) };
    let sums = following(builder, &sums, operation, 4 * cells);
    let after = following(builder, &sums, Operation::CellState { before: Operand::Memory(cell) }, cells);
    let out = following(builder, &after, Operation::CellOutput { sums: operand(&sums) }, cells);
    builder.remember(cell, &after);
    builder.remember(hidden, &out);
    let all = Value { shape: vec![1, 1, 1, cells], ..out.clone() };
    Ok(vec![all, out, after])
}

fn operand(value: &Value) -> Operand {
    match value.content {
        Content::Floats(operand) => operand,
        Content::Integers(_) => unreachable!("a step gives floats"),
    }
}

fn following(builder: &mut Builder, value: &Value, operation: Operation, length: usize) -> Value {
    builder.step(Step { operation, from: operand(value) }, vec![1, 1, length])
}

fn refuse_other_forms(builder: &Builder, node: &NodeProto) -> Result<(), PolicyError> {
    let direction = attribute(node, "direction").map_or(&b"forward"[..], |attribute| &attribute.s);
    if direction != b"forward" {
        return Err(wrong(node, &format!("runs {}", String::from_utf8_lossy(direction)), PLAIN));
    }
    if let Some(activations) = attribute(node, "activations") {
        let names: Vec<String> =
            activations.strings.iter().map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()).collect();
        if names != ["sigmoid", "tanh", "tanh"] {
            return Err(wrong(node, &format!("has the activations {}", names.join(", ")), PLAIN));
        }
    }
    if integer(node, "input_forget", 0) != 0 {
        return Err(wrong(node, "couples the input and forget gates", PLAIN));
    }
    if let Some(clip) = attribute(node, "clip") {
        return Err(wrong(node, &format!("clips its sums at {}", clip.f), PLAIN));
    }
    if optional(builder, node, PEEPHOLES)?.is_some() {
        return Err(wrong(node, "has peepholes", PLAIN));
    }
    if let Some(lengths) = optional(builder, node, SEQUENCE_LENGTHS)?
        && !matches!(&lengths.content, Content::Integers(lengths) if lengths[..] == [1])
    {
        return Err(wrong(node, "takes a sequence length", "export it for a sequence of one"));
    }
    let value = input(builder, node, 0)?;
    row(node, value).map(|_| ()).map_err(|_| {
        let what = format!("takes a sequence of the shape {:?}", value.shape);
        wrong(node, &what, "let it take one row, [1, 1, n], a decision: what came before is in its state")
    })
}

/// The weights of the last step's hidden state, and the number of cells.
fn recurrent_weights(builder: &Builder, node: &NodeProto) -> Result<(Vec<f32>, usize), PolicyError> {
    let value = input(builder, node, 2)?;
    let cells = match value.shape[..] {
        [1, rows, cells] if Some(rows) == cells.checked_mul(4) => cells,
        _ => return Err(wrong(node, &format!("has recurrent weights of the shape {:?}", value.shape), PLAIN)),
    };
    let named = integer(node, "hidden_size", cells as i64);
    if named != cells as i64 {
        return Err(wrong(node, &format!("has hidden_size {named}, and recurrent weights for {cells}"), DAMAGED));
    }
    let of_inputs = input(builder, node, 1)?;
    match of_inputs.shape[..] {
        [1, rows, _] if rows == 4 * cells => Ok((constants(builder, node, value)?.to_vec(), cells)),
        _ => Err(wrong(node, &format!("has weights of the shape {:?}", of_inputs.shape), PLAIN)),
    }
}

/// The biases of the inputs and of the state, added up.
fn biases(builder: &Builder, node: &NodeProto, cells: usize) -> Result<Vec<f32>, PolicyError> {
    let Some(value) = optional(builder, node, 3)? else { return Ok(vec![0.0; 4 * cells]) };
    let numbers = constants(builder, node, value)?;
    if numbers.len() != 8 * cells {
        return Err(wrong(node, &format!("has {} biases for {cells} cells", numbers.len()), DAMAGED));
    }
    let (of_inputs, of_state) = numbers.split_at(4 * cells);
    Ok(of_inputs.iter().zip(of_state).map(|(a, b)| a + b).collect())
}

/// The place of a state in the flow's memory.
fn state(builder: &mut Builder, node: &NodeProto, index: usize, cells: usize) -> Result<usize, PolicyError> {
    let Some(value) = optional(builder, node, index)? else { return Ok(builder.memory()) };
    match value.content {
        Content::Floats(Operand::Memory(place)) if count(&value.shape) == Some(cells) => Ok(place),
        Content::Floats(Operand::Memory(_)) => {
            Err(wrong(node, &format!("has {cells} cells and a state of the shape {:?}", value.shape), DAMAGED))
        }
        Content::Floats(Operand::Constant(constant))
            if builder.network.constants[constant].iter().all(|number| number.abs() <= 0.0) =>
        {
            Ok(builder.memory())
        }
        Content::Floats(Operand::Constant(_)) => Err(wrong(
            node,
            "begins from numbers that are not zero",
            "let the state be zero at the beginning of a flow",
        )),
        _ => {
            let remedy = "give it the state as it is: an input of the file, or none";
            Err(wrong(node, "begins from a state that is computed", remedy))
        }
    }
}
