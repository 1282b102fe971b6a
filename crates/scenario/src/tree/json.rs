//! Turns JSON text into a tree. JSON has no places, and a key whose value is `null` is absent.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::node::{Node, Origin, Value};
use crate::attachments::BYTE_ORDER_MARK;
use crate::diagnostic::SyntaxError;

pub(crate) fn parse_json(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    let Json(value) = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at line").map_or(message.as_str(), |(what, _)| what).to_owned();
        vec![SyntaxError::of_json(text, error.line(), error.column(), &message)]
    })?;
    Ok(Node::new(value.unwrap_or(Value::Table(Vec::new())), Origin::Unknown))
}

/// A value; `None` stands for `null`.
struct Json(Option<Value>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Self)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Bool(value)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(Value::Integer(value.into())))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(Value::Integer(value.into())))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(Value::Float(value)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Json(item)) = list.next_element()? {
            items.push(unplaced(item.unwrap_or(Value::Null)));
        }
        Ok(Some(Value::List(items)))
    }

    /// Reads an object as TOML reads a table: no key occurs twice.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut keys) = (Vec::new(), BTreeSet::new());
        while let Some(key) = map.next_key::<String>()? {
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
            }
            if let Json(Some(value)) = map.next_value()? {
                entries.push((key, unplaced(value)));
            }
        }
        Ok(Some(Value::Table(entries)))
    }
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
            Self::Null | Self::Pruned => serde_json::Value::Null,
        }
    }
}
