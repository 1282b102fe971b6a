//! Operators that change only shapes.
//!
//! Source: the ONNX operator specification, opset 7 to 23. Departures: a shape is known when the file is read, since the
//! batch is one; nothing is expanded to more numbers than it has.

use super::super::error::PolicyError;
use super::super::graph::{Builder, Content, Value};
use super::super::onnx::NodeProto;
use super::super::tensor::{Tensor, Values, count};
use super::{DAMAGED, LAYERS, attribute, input, integer, optional, wrong};

/// The largest number of a constant's elements: more than any layer has.
const MOST_NUMBERS: usize = 1 << 20;

/// The shape of a value, as integers.
pub(super) fn shape(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    if attribute(node, "start").is_some() || attribute(node, "end").is_some() {
        return Err(wrong(node, "takes a part of a shape", LAYERS));
    }
    let dims: Vec<i64> = input(builder, node, 0)?.shape.iter().map(|dim| *dim as i64).collect();
    Ok(Value { shape: vec![dims.len()], content: Content::Integers(dims), index_below: None })
}

/// One number that fills a shape; zero by default.
pub(super) fn constant_of_shape(builder: &mut Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let shape = wanted(builder, node, 0)?.iter().map(|dim| usize::try_from(*dim).ok()).collect::<Option<Vec<_>>>();
    let filled = shape.and_then(|shape| Some((count(&shape)?, shape)));
    let Some((length, shape)) = filled.filter(|(length, _)| (1..=MOST_NUMBERS).contains(length)) else {
        return Err(wrong(node, "fills an invalid shape", LAYERS));
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
        return Err(wrong(node, &format!("repeats {length} numbers into the shape {wanted:?}"), LAYERS));
    }
    Ok(Value { shape, ..value.clone() })
}

/// A known shape.
fn wanted<'a>(builder: &'a Builder, node: &NodeProto, index: usize) -> Result<&'a [i64], PolicyError> {
    match &input(builder, node, index)?.content {
        Content::Integers(wanted) => Ok(wanted),
        Content::Floats(_) => Err(wrong(node, "has a shape that is computed", LAYERS)),
    }
}

/// The value in another shape; its numbers stay.
pub(super) fn reshape(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let length = count(&value.shape).unwrap_or(usize::MAX);
    let shape = match node.op_type.as_str() {
        "Flatten" => {
            let (axis, rank) = (integer(node, "axis", 1), value.shape.len() as i64);
            let at = if axis < 0 { axis + rank } else { axis }.clamp(0, rank) as usize;
            let rows = count(&value.shape[..at]).unwrap_or(1);
            let shape = vec![rows, length.checked_div(rows).unwrap_or(0)];
            if count(&shape) != Some(length) {
                return Err(wrong(node, "flattens a shape without numbers", "export with a batch of one"));
            }
            shape
        }
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

/// The axes, from the second input or, before opset 13, an attribute; negative ones count from the end of `rank`.
pub(super) fn axes(builder: &Builder, node: &NodeProto, rank: usize) -> Result<Option<Vec<usize>>, PolicyError> {
    let told = match optional(builder, node, 1)? {
        Some(_) => wanted(builder, node, 1)?.to_vec(),
        None => match attribute(node, "axes") {
            Some(attribute) => attribute.ints.clone(),
            None => return Ok(None),
        },
    };
    let place = |axis: &i64| axis_of(node, *axis, rank);
    told.iter().map(place).collect::<Result<Vec<_>, _>>().map(Some)
}

fn axis_of(node: &NodeProto, axis: i64, rank: usize) -> Result<usize, PolicyError> {
    let place = if axis < 0 { axis + rank as i64 } else { axis };
    let found = usize::try_from(place).ok().filter(|place| *place < rank);
    found.ok_or_else(|| wrong(node, &format!("works along axis {axis} of {rank}"), DAMAGED))
}

/// The value without dimensions of one.
pub(super) fn squeeze(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let axes = axes(builder, node, value.shape.len())?;
    let goes = |(place, dim): (usize, usize)| match &axes {
        Some(axes) => axes.contains(&place),
        None => dim == 1,
    };
    let (gone, kept): (Vec<_>, Vec<_>) = value.shape.iter().copied().enumerate().partition(|entry| goes(*entry));
    if let Some((axis, dim)) = gone.iter().find(|(_, dim)| *dim != 1) {
        return Err(wrong(node, &format!("leaves out axis {axis}, of {dim} numbers"), "export with a batch of one"));
    }
    Ok(Value { shape: kept.into_iter().map(|(_, dim)| dim).collect(), ..value.clone() })
}

/// The value with more dimensions of one.
pub(super) fn unsqueeze(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let more = optional(builder, node, 1)?.map_or(0, |axes| axes.shape.first().copied().unwrap_or(1));
    let more = more + attribute(node, "axes").map_or(0, |attribute| attribute.ints.len());
    let rank = value.shape.len() + more;
    let axes = axes(builder, node, rank)?.unwrap_or_default();
    let mut rest = value.shape.iter().copied();
    let shape: Vec<usize> =
        (0..rank).map(|place| if axes.contains(&place) { 1 } else { rest.next().unwrap_or(1) }).collect();
    if rest.next().is_some() || count(&shape) != count(&value.shape) {
        return Err(wrong(node, "names an axis twice", DAMAGED));
    }
    Ok(Value { shape, ..value.clone() })
}

/// The value with its dimensions of one moved, so that its numbers stay.
pub(super) fn transpose(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let rank = value.shape.len();
    let order: Vec<i64> = match attribute(node, "perm") {
        Some(attribute) => attribute.ints.clone(),
        None => (0..rank as i64).rev().collect(),
    };
    let order = order.iter().map(|axis| axis_of(node, *axis, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return Err(wrong(node, "leaves out an axis", DAMAGED));
    }
    let long: Vec<usize> = order.iter().copied().filter(|axis| value.shape[*axis] != 1).collect();
    if !long.is_sorted() {
        let what = format!("turns rows of the shape {:?} into columns", value.shape);
        return Err(wrong(node, &what, "export with a batch of one, for a sequence of one"));
    }
    Ok(Value { shape: order.iter().map(|axis| value.shape[*axis]).collect(), ..value.clone() })
}

/// The whole value; a part of one is not supported.
pub(super) fn slice(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let value = input(builder, node, 0)?;
    let told = |index: usize, name: &str| -> Result<Option<Vec<i64>>, PolicyError> {
        match optional(builder, node, index)? {
            Some(_) => Ok(Some(wanted(builder, node, index)?.to_vec())),
            None => Ok(attribute(node, name).map(|attribute| attribute.ints.clone())),
        }
    };
    let (starts, ends) = (told(1, "starts")?.unwrap_or_default(), told(2, "ends")?.unwrap_or_default());
    let axes = told(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = told(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(wrong(node, "has different numbers of starts and ends", DAMAGED));
    }
    for (place, axis) in axes.iter().enumerate() {
        let length = value.shape[axis_of(node, *axis, value.shape.len())?] as i64;
        let (start, end, step) = (starts[place], ends[place], steps[place]);
        if !(start == 0 || start == -length) || end < length || step != 1 {
            let what = format!("takes {start} to {end} of {length} numbers");
            return Err(wrong(node, &what, "export one layer of an LSTM, and nothing that splits vectors"));
        }
    }
    Ok(value.clone())
}

/// Integers at some positions; of other values all, where the axis has only one.
pub(super) fn gather(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let (value, places) = (input(builder, node, 0)?, input(builder, node, 1)?);
    let told = wanted(builder, node, 1)?;
    let axis = axis_of(node, integer(node, "axis", 0), value.shape.len())?;
    let places_at = |length: usize| told.iter().map(move |place| axis_of(node, *place, length));
    let shape = [&value.shape[..axis], &places.shape, &value.shape[axis + 1..]].concat();
    let content = match &value.content {
        Content::Integers(numbers) if value.shape.len() == 1 => {
            let found = places_at(numbers.len()).map(|place| place.map(|place| numbers[place]));
            Content::Integers(found.collect::<Result<_, _>>()?)
        }
        content if value.shape[axis] == 1 && told.len() == 1 => {
            places_at(1).try_for_each(|place| place.map(|_| ()))?;
            content.clone()
        }
        _ => {
            let what = format!("picks numbers out of the shape {:?}", value.shape);
            return Err(wrong(node, &what, "export for a sequence of one, and nothing that splits vectors"));
        }
    };
    Ok(Value { shape, content, index_below: value.index_below })
}

/// The concatenation of integers.
pub(super) fn concat(builder: &Builder, node: &NodeProto) -> Result<Value, PolicyError> {
    let mut all = Vec::new();
    for index in 0..node.input.len() {
        match &input(builder, node, index)?.content {
            Content::Integers(numbers) => all.extend(numbers),
            Content::Floats(_) => return Err(wrong(node, "joins what it computes", LAYERS)),
        }
    }
    Ok(Value { shape: vec![all.len()], content: Content::Integers(all), index_below: None })
}
