//! Numbers from an ONNX file, checked against their shape.

use super::error::PolicyError;
use super::onnx::{DOUBLE, FLOAT, INT32, INT64, TensorProto};

/// Constant numbers with their shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Values,
}

/// Numbers of either type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

impl Tensor {
    pub(crate) fn read(proto: &TensorProto) -> Result<Self, PolicyError> {
        let name = &proto.name;
        if proto.data_location == 1 {
            let what = format!("stores the numbers of {name:?} in another file");
            return Err(PolicyError::of_file(
                what,
                "export into one file (torch.onnx.export with external_data=False)",
            ));
        }
        let values = match proto.data_type {
            FLOAT => Values::Floats(floats(proto)?),
            DOUBLE => Values::Floats(doubles(proto)?.into_iter().map(|value| value as f32).collect()),
            INT32 => Values::Integers(int32s(proto)?.into_iter().map(i64::from).collect()),
            INT64 => Values::Integers(int64s(proto)?),
            other => {
                let what = format!("has numbers of ONNX type {other} in {name:?}");
                return Err(PolicyError::of_file(what, "export the network in 32-bit floats"));
            }
        };
        if let Values::Floats(values) = &values
            && let Some(value) = values.iter().find(|value| !value.is_finite())
        {
            let what = format!("holds {value} in {name:?}, which is not a weight");
            return Err(PolicyError::of_file(what, "export a network whose training did not diverge"));
        }
        let shape: Option<Vec<usize>> = proto.dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
        let shape = shape.filter(|shape| count(shape) == Some(values.len()));
        let Some(shape) = shape.filter(|_| values.len() > 0) else {
            let (dims, found) = (&proto.dims, values.len());
            let what = format!("has {found} numbers in {name:?}, which must have the shape {dims:?}");
            return Err(PolicyError::of_file(what, "export it again; it is damaged, or has an empty layer"));
        };
        Ok(Self { shape, values })
    }
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Integers(values) => values.len(),
        }
    }
}

/// The number of elements of a shape; `None` if it is too large.
pub(crate) fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim))
}

fn raw<const N: usize, T>(proto: &TensorProto, read: fn([u8; N]) -> T) -> Result<Vec<T>, PolicyError> {
    let (chunks, rest) = proto.raw_data.as_chunks::<N>();
    if !rest.is_empty() {
        let what = format!("ends in the middle of a number of {:?}", proto.name);
        return Err(PolicyError::of_file(what, "export it again; it is damaged"));
    }
    Ok(chunks.iter().map(|bytes| read(*bytes)).collect())
}

fn floats(proto: &TensorProto) -> Result<Vec<f32>, PolicyError> {
    if proto.raw_data.is_empty() { Ok(proto.float_data.clone()) } else { raw(proto, f32::from_le_bytes) }
}

fn doubles(proto: &TensorProto) -> Result<Vec<f64>, PolicyError> {
    if proto.raw_data.is_empty() { Ok(proto.double_data.clone()) } else { raw(proto, f64::from_le_bytes) }
}

fn int32s(proto: &TensorProto) -> Result<Vec<i32>, PolicyError> {
    if proto.raw_data.is_empty() { Ok(proto.int32_data.clone()) } else { raw(proto, i32::from_le_bytes) }
}

fn int64s(proto: &TensorProto) -> Result<Vec<i64>, PolicyError> {
    if proto.raw_data.is_empty() { Ok(proto.int64_data.clone()) } else { raw(proto, i64::from_le_bytes) }
}
