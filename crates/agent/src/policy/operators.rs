//! The ONNX operators that a policy may consist of, each checked and turned into a step.
//!
//! Source: the ONNX operator specification, opset 7 to 23. Departures: only one row of numbers is ever computed, so
//! that all dimensions but the last are one.

mod lstm;
mod shapes;

use super::error::PolicyError;
use super::graph::{Builder, Content, Value};
use super::network::{Binary, Operand, Operation, Step, Unary};
use super::onnx::{AttributeProto, DOUBLE, FLOAT, NodeProto};
use super::tensor::{Tensor, Values};
pub(super) use lstm::{CELLS, HIDDEN};

/// The supported operators.
pub const OPERATORS: &[&str] = &[
    "Add",
    "ArgMax",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Div",
    "Dropout",
    "Elu",
    "Exp",
    "Expand",
    "Flatten",
    "Gather",
    "Gelu",
    "Gemm",
    "Identity",
    "LSTM",
    "LeakyRelu",
    "MatMul",
    "Mul",
    "ReduceLogSumExp",
    "Relu",
    "Reshape",
    "Shape",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Squeeze",
    "Sub",
    "Tanh",
    "Transpose",
    "Unsqueeze",
];

/// Values of a node, output by output.
pub(crate) fn apply(builder: &mut Builder, node: &NodeProto) -> Result<Vec<Value>, PolicyError> {
    if !matches!(node.domain.as_str(), "" | "ai.onnx") {
        return Err(unsupported(node));
    }
    if node.op_type == "LSTM" {
        return lstm::lstm(builder, node);
    }
    single(builder, node).map(|value| vec![value])
}

fn single(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let unary = |unary| Operation::Each(unary);
    match node.op_type.as_str() {
        "Constant" => constant(builder, node),
        "ConstantOfShape" => shapes::constant_of_shape(builder, node),
        "Shape" => shapes::shape(builder, node),
        "Expand" => shapes::expand(builder, node),
        "Identity" | "Dropout" => input(builder, node, 0).cloned(),
        "Cast" => cast(builder, node),
        "Flatten" | "Reshape" => shapes::reshape(builder, node),
        "Squeeze" => shapes::squeeze(builder, node),
        "Unsqueeze" => shapes::unsqueeze(builder, node),
        "Transpose" => shapes::transpose(builder, node),
        "Slice" => shapes::slice(builder, node),
        "Gather" => shapes::gather(builder, node),
        "Concat" => shapes::concat(builder, node),
        "Gemm" => gemm(builder, node),
        "MatMul" => mat_mul(builder, node),
        "Add" => binary(builder, node, Binary::Add),
        "Sub" => binary(builder, node, Binary::Sub),
        "Mul" => binary(builder, node, Binary::Mul),
        "Div" => binary(builder, node, Binary::Div),
        "Relu" => each(builder, node, unary(Unary::Relu)),
        "LeakyRelu" => each(builder, node, unary(Unary::LeakyRelu(float(node, "alpha", 0.01)))),
        "Elu" => each(builder, node, unary(Unary::Elu(float(node, "alpha", 1.0)))),
        "Exp" => each(builder, node, unary(Unary::Exp)),
        "Tanh" => each(builder, node, unary(Unary::Tanh)),
        "Sigmoid" => each(builder, node, unary(Unary::Sigmoid)),
        "Softplus" => each(builder, node, unary(Unary::Softplus)),
        "Gelu" => gelu(builder, node),
        "Clip" => clip(builder, node),
        "Softmax" => {
            check_axis(builder, node, if builder.opset < 13 { 1 } else { -1 })?;
            each(builder, node, Operation::Softmax)
        }
        "ReduceLogSumExp" => log_sum_exp(builder, node),
        "ArgMax" => arg_max(builder, node),
        _ => Err(unsupported(node)),
    }
}

fn unsupported(node: &NodeProto) -> PolicyError {
    let what = format!("has the operator {} in {}", node.op_type, place(node));
    let known = OPERATORS.join(", ");
    let remedy = format!("{LAYERS}, up to the greedy action; known operators: {known}");
    PolicyError::of_file(what, remedy)
}

/// The name of a node in a message.
fn place(node: &NodeProto) -> String {
    let output = node.output.first().map_or("", String::as_str);
    format!("node {:?}", if node.name.is_empty() { output } else { &node.name })
}

pub(super) fn wrong(node: &NodeProto, what: &str, remedy: &str) -> PolicyError {
    PolicyError::of_file(format!("has a {} in {} that {what}", node.op_type, place(node)), remedy)
}

const DAMAGED: &str = "export it again; it is damaged";
const LAYERS: &str = "export a feed-forward network with at most one LSTM";

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

fn float(node: &NodeProto, name: &str, default: f32) -> f32 {
    attribute(node, name).map_or(default, |attribute| attribute.f)
}

fn integer(node: &NodeProto, name: &str, default: i64) -> i64 {
    attribute(node, name).map_or(default, |attribute| attribute.i)
}

fn input<'a>(builder: &'a Builder, node: &NodeProto, index: usize) -> Result<&'a Value, PolicyError> {
    match node.input.get(index).filter(|name| !name.is_empty()) {
        Some(name) => builder.value(name),
        None => Err(wrong(node, "lacks an input", DAMAGED)),
    }
}

fn optional<'a>(builder: &'a Builder, node: &NodeProto, index: usize) -> Result<Option<&'a Value>, PolicyError> {
    let is_there = node.input.get(index).is_some_and(|name| !name.is_empty());
    if is_there { input(builder, node, index).map(Some) } else { Ok(None) }
}

fn floats(node: &NodeProto, value: &Value) -> Result<Operand, PolicyError> {
    match value.content {
        Content::Floats(operand) => Ok(operand),
        Content::Integers(_) => Err(wrong(node, "computes with whole numbers", LAYERS)),
    }
}

fn constants<'a>(builder: &'a Builder, node: &NodeProto, value: &Value) -> Result<&'a [f32], PolicyError> {
    match floats(node, value)? {
        Operand::Constant(constant) => Ok(&builder.network.constants[constant]),
        Operand::Slot(_) | Operand::Memory(_) => Err(wrong(node, "has parameters that are computed", LAYERS)),
    }
}

fn constant(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    if let Some(tensor) = attribute(node, "value").and_then(|attribute| attribute.t.as_ref()) {
        return Ok(builder.constant(Tensor::read(tensor)?));
    }
    let values = |attribute: &AttributeProto| match attribute.name.as_str() {
        "value_float" => Some((vec![], Values::Floats(vec![attribute.f]))),
        "value_floats" => Some((vec![attribute.floats.len()], Values::Floats(attribute.floats.clone()))),
        "value_int" => Some((vec![], Values::Integers(vec![attribute.i]))),
        "value_ints" => Some((vec![attribute.ints.len()], Values::Integers(attribute.ints.clone()))),
        _ => None,
    };
    let found = node.attribute.iter().find_map(values).filter(|(_, values)| values.len() > 0);
    let (shape, values) = found.ok_or_else(|| wrong(node, "holds no numbers", DAMAGED))?;
    Ok(builder.constant(Tensor { shape, values }))
}

/// Adds a cast. Integers are exact in floats up to the numbers of choices; a float that is cut to an integer is not
/// supported.
fn cast(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    if value.index_below.is_some()
        || matches!(integer(node, "to", 0), to if to == i64::from(FLOAT) || to == i64::from(DOUBLE))
    {
        return Ok(value.clone());
    }
    Err(wrong(node, "rounds what it computes", "export the network in 32-bit floats"))
}

/// The length of a row of numbers.
fn row(node: &NodeProto, value: &Value) -> Result<usize, PolicyError> {
    let (last, others) = value.shape.split_last().unwrap_or((&1, &[]));
    if others.iter().any(|dim| *dim != 1) {
        let what = format!("takes several rows, of the shape {:?}", value.shape);
        return Err(wrong(node, &what, "flatten the observation first"));
    }
    Ok(*last)
}

fn each(builder: &mut Builder, node: &NodeProto, operation: Operation) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let (from, shape) = (floats(node, value)?, value.shape.clone());
    Ok(builder.step(Step { operation, from }, shape))
}

fn affine(builder: &mut Builder, node: &NodeProto, weights: Vec<f32>, biases: Vec<f32>) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let (inputs, outputs) = (row(node, value)?, biases.len());
    if weights.len() != inputs * outputs {
        let what = format!("takes {} numbers, but gets {inputs}", weights.len() / outputs);
        let remedy = "let the agent have the observations and the history that it was trained with";
        return Err(wrong(node, &what, remedy));
    }
    let (from, mut shape) = (floats(node, value)?, value.shape.clone());
    if let Some(last) = shape.last_mut() {
        *last = outputs;
    }
    Ok(builder.step(Step { operation: Operation::Affine { weights, biases }, from }, shape))
}

/// The constant second factor as rows, one for each output.
fn matrix(builder: &Builder, node: &NodeProto, is_transposed: bool) -> Result<(Vec<f32>, usize), PolicyError> {
    let value = input(builder, node, 1)?;
    let numbers = constants(builder, node, value)?;
    let [rows, columns] = value.shape[..] else {
        return Err(wrong(node, &format!("multiplies by the shape {:?}", value.shape), LAYERS));
    };
    if is_transposed {
        return Ok((numbers.to_vec(), rows));
    }
    let transposed = (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns).copied());
    Ok((transposed.collect(), columns))
}

fn gemm(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    if integer(node, "transA", 0) != 0 {
        return Err(wrong(node, "transposes its input", LAYERS));
    }
    let (mut weights, outputs) = matrix(builder, node, integer(node, "transB", 0) != 0)?;
    let (alpha, beta) = (float(node, "alpha", 1.0), float(node, "beta", 1.0));
    for weight in &mut weights {
        *weight *= alpha;
    }
    let biases = match optional(builder, node, 2)? {
        None => vec![0.0; outputs],
        Some(value) => {
            let numbers = constants(builder, node, value)?;
            if numbers.len() != outputs && numbers.len() != 1 {
                return Err(wrong(node, &format!("has {} biases for {outputs} outputs", numbers.len()), DAMAGED));
            }
            numbers.iter().cycle().take(outputs).map(|bias| bias * beta).collect()
        }
    };
    affine(builder, node, weights, biases)
}

fn mat_mul(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let (weights, outputs) = matrix(builder, node, false)?;
    affine(builder, node, weights, vec![0.0; outputs])
}

fn binary(builder: &mut Builder, node: &NodeProto, binary: Binary) -> Result<Value, PolicyError> {
    let (a, b) = (input(builder, node, 0)?, input(builder, node, 1)?);
    let (mut from, mut with) = (floats(node, a)?, floats(node, b)?);
    // what is computed comes first, so that it is seen to follow the step before
    if matches!((binary, from), (Binary::Add | Binary::Mul, Operand::Constant(_))) {
        (from, with) = (with, from);
    }
    let (of_a, of_b) = (stripped(&a.shape), stripped(&b.shape));
    let shape = if of_a.ends_with(of_b) && (of_a.len() > of_b.len() || a.shape.len() >= b.shape.len()) {
        a.shape.clone()
    } else if of_b.ends_with(of_a) {
        b.shape.clone()
    } else {
        let what = format!("joins the shapes {:?} and {:?}", a.shape, b.shape);
        return Err(wrong(node, &what, LAYERS));
    };
    Ok(builder.step(Step { operation: Operation::With(binary, with), from }, shape))
}

/// The shape without ones at the front, which have no meaning.
fn stripped(shape: &[usize]) -> &[usize] {
    let ones = shape.iter().take_while(|dim| **dim == 1).count();
    &shape[ones..]
}

fn gelu(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let by_tanh = match attribute(node, "approximate").map(|attribute| attribute.s.as_slice()) {
        None | Some(b"none") => false,
        Some(b"tanh") => true,
        Some(other) => {
            let what = format!("approximates by {:?}", String::from_utf8_lossy(other));
            return Err(wrong(node, &what, "export it with approximate = \"none\" or \"tanh\""));
        }
    };
    each(builder, node, Operation::Each(Unary::Gelu(by_tanh)))
}

fn clip(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let bound = |index: usize, name: &str, default: f32| -> Result<f32, PolicyError> {
        match optional(builder, node, index)? {
            None => Ok(float(node, name, default)),
            Some(value) => Ok(constants(builder, node, value)?[0]),
        }
    };
    let (low, high) = (bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?);
    each(builder, node, Operation::Each(Unary::Clip(low, high)))
}

/// Checks that the axis is the last one.
fn check_axis(builder: &Builder, node: &NodeProto, default: i64) -> Result<(), PolicyError> {
    let value = input(builder, node, 0)?;
    row(node, value)?;
    let (axis, rank) = (integer(node, "axis", default), value.shape.len() as i64);
    if axis == -1 || axis == rank - 1 {
        return Ok(());
    }
    Err(wrong(node, &format!("works along axis {axis} of {rank}"), "let it work along the last axis, -1"))
}

/// The logarithm of the summed exponentials of a row, which becomes one number.
fn log_sum_exp(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    row(node, value)?;
    let (rank, keeps) = (value.shape.len(), integer(node, "keepdims", 1) != 0);
    let is_last = shapes::axes(builder, node, rank)?.is_some_and(|axes| axes.len() == 1 && axes[0] + 1 == rank);
    if !is_last || !keeps {
        return Err(wrong(
            node,
            "adds along other axes than the last, or drops it",
            "let it have axes = [-1] and keepdims = 1",
        ));
    }
    let value = each(builder, node, Operation::LogSumExp)?;
    Ok(Value { shape: vec![1; rank], ..value })
}

fn arg_max(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    check_axis(builder, node, 0)?;
    if integer(node, "select_last_index", 0) != 0 {
        return Err(wrong(node, "takes the last of equals", "export it with select_last_index = 0"));
    }
    let index_below = Some(row(node, input(builder, node, 0)?)?);
    let value = each(builder, node, Operation::ArgMax)?;
    Ok(Value { shape: vec![1; value.shape.len()], index_below, ..value })
}
