//! JSON text to a tree. JSON has no places, and `null` means absent.

use super::node::{Node, Origin, Value};
use crate::diagnostic::SyntaxError;

pub(crate) fn parse_json(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at line").map_or(message.as_str(), |(what, _)| what).to_owned();
        vec![SyntaxError::at(text, error.line(), error.column(), &message)]
    })?;
    Ok(Node::new(from_json(value).unwrap_or(Value::Table(Vec::new())), Origin::Unknown))
}

fn from_json(value: serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Value::Integer(number.into()),
            (_, Some(number)) => Value::Integer(number.into()),
            _ => Value::Float(number.as_f64().unwrap_or(f64::INFINITY)),
        },
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Array(items) => {
            Value::List(items.into_iter().map(|item| unplaced(from_json(item).unwrap_or(Value::Pruned))).collect())
        }
        serde_json::Value::Object(entries) => Value::Table(
            entries.into_iter().filter_map(|(key, value)| Some((key, unplaced(from_json(value)?)))).collect(),
        ),
    })
}

fn unplaced(value: Value) -> Node {
    Node::new(value, Origin::Unknown)
}

impl Value {
    /// The value as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => (*value as f64).into(),
            },
            Self::Float(value) => (*value).into(),
            Self::Text(text) | Self::Datetime(text) => text.as_str().into(),
            Self::List(items) => items.iter().map(|item| item.value.to_json()).collect(),
            Self::Table(entries) => entries
                .iter()
                .map(|(key, node)| (key.clone(), node.value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::Pruned => serde_json::Value::Null,
        }
    }
}
