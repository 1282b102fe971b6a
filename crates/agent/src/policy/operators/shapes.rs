//! Operators that move no number: shapes, and numbers put into another shape.
//!
//! Source: the ONNX operator specification, opset 7 to 23. Departures: a shape is known when the file is read, since the
//! batch is one; nothing is expanded to more numbers than it has.

use super::super::error::PolicyError;
use super::super::graph::{Builder, Content, Value};
use super::super::onnx::NodeProto;
use super::super::tensor::{Tensor, Values, count};
use super::{FEED_FORWARD, attribute, input, integer, wrong};

/// The most numbers that a constant is filled with: more than any layer has.
const MOST_NUMBERS: usize = 1 << 20;

/// The shape of a value, as whole numbers.
pub(super) fn shape(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    if attribute(node, "start").is_some() || attribute(node, "end").is_some() {
        return Err(wrong(node, "takes a part of a shape", FEED_FORWARD));
    }
    let dims: Vec<i64> = input(builder, node, 0)?.shape.iter().map(|dim| *dim as i64).collect();
    Ok(Value { shape: vec![dims.len()], content: Content::Integers(dims), is_index: false })
}

/// One number, as often as a shape has room; by default zero.
pub(super) fn constant_of_shape(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let shape = wanted(builder, node, 0)?.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<Vec<_>>>();
    let filled = shape.and_then(|shape| Some((count(&shape)?, shape)));
    let Some((length, shape)) = filled.filter(|(length, _)| (1..=MOST_NUMBERS).contains(length)) else {
        return Err(wrong(node, "fills a shape that is none", FEED_FORWARD));
    };
    let values = match attribute(node, "value").and_then(|attribute| attribute.t.as_ref()).map(Tensor::read) {
        None => Values::Floats(vec![0.0; length]),
        Some(tensor) => match tensor?.values {
            Values::Floats(one) => Values::Floats(vec![one[0]; length]),
            Values::Integers(one) => Values::Integers(vec![one[0]; length]),
        },
    };
    Ok(builder.constant(Tensor { shape, values }))
}

/// A value in a shape with ones before its own.
pub(super) fn expand(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let wanted = wanted(builder, node, 1)?;
    let length = count(&value.shape).unwrap_or(usize::MAX);
    let shape: Vec<usize> = wanted.iter().map(|dim| usize::try_from(*dim).unwrap_or(0)).collect();
    if count(&shape) != Some(length) {
        return Err(wrong(node, &format!("repeats {length} numbers into the shape {wanted:?}"), FEED_FORWARD));
    }
    Ok(Value { shape, ..value.clone() })
}

/// A shape that is known.
fn wanted<'a>(builder: &'a Builder, node: &NodeProto, index: usize) -> Result<&'a [i64], PolicyError> {
    match &input(builder, node, index)?.content {
        Content::Integers(wanted) => Ok(wanted),
        Content::Floats(_) => Err(wrong(node, "has a shape that is computed", FEED_FORWARD)),
    }
}

/// Numbers stay where they are.
pub(super) fn reshape(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let length = count(&value.shape).unwrap_or(usize::MAX);
    let shape = match node.op_type.as_str() {
        "Flatten" => {
            let (axis, rank) = (integer(node, "axis", 1), value.shape.len() as i64);
            let at = if axis < 0 { axis + rank } else { axis }.clamp(0, rank) as usize;
            let rows = count(&value.shape[..at]).unwrap_or(1);
            vec![rows, length / rows]
        }
        "Squeeze" => value.shape.iter().copied().filter(|dim| *dim != 1).collect(),
        _ => reshaped(builder, node, value, length)?,
    };
    Ok(Value { shape, ..value.clone() })
}

fn reshaped(builder: &Builder, node: &NodeProto, value: &Value, length: usize) -> Result<Vec<usize>, PolicyError> {
    let wanted = wanted(builder, node, 1)?;
    let keep =
        |(at, dim): (usize, &i64)| if *dim == 0 { value.shape.get(at).copied() } else { usize::try_from(*dim).ok() };
    let known: Vec<Option<usize>> = wanted.iter().enumerate().map(keep).collect();
    let product = count(&known.iter().map(|dim| dim.unwrap_or(1)).collect::<Vec<_>>()).unwrap_or(0);
    let rest = length.checked_div(product).unwrap_or(0);
    let shape: Vec<usize> = known.into_iter().map(|dim| dim.unwrap_or(rest)).collect();
    if count(&shape) != Some(length) {
        return Err(wrong(
            node,
            &format!("makes the shape {wanted:?} of {length} numbers"),
            "export with a batch of one",
        ));
    }
    Ok(shape)
}
