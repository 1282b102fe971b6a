//! The tree: values and their origins.

use std::ops::Range;

use super::path::{FieldPath, Step};

/// The place at which a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the text, at these octets.
    Text(Range<usize>),
    /// In the override of this index.
    Override(usize),
    /// Unknown, as in JSON.
    Unknown,
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// Place at which the key that holds the value was written.
    pub(crate) key_origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    /// JSON's `null` in a list, which no scenario field takes.
    Null,
    /// A TOML date or time, which no scenario field takes.
    Datetime(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
    /// A value that was wrong and has been reported: it counts as absent.
    Pruned,
}

impl Value {
    /// The kind of value in words, for errors.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::Datetime(_) => "a date or time",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Null => "null",
            Self::Pruned => "nothing",
        }
    }
}

impl Node {
    pub(crate) fn new(value: Value, origin: Origin) -> Self {
        Self { value, key_origin: origin.clone(), origin }
    }

    pub(crate) fn child(&self, step: &Step) -> Option<&Self> {
        match (&self.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
            }
            (Value::List(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    pub(crate) fn child_mut(&mut self, step: &Step) -> Option<&mut Self> {
        match (&mut self.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
            }
            (Value::List(items), Step::Index(index)) => items.get_mut(*index),
            _ => None,
        }
    }

    pub(crate) fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.0.iter().try_fold(self, |node, step| node.child(step))
    }

    pub(crate) fn at_mut(&mut self, path: &FieldPath) -> Option<&mut Self> {
        path.0.iter().try_fold(self, |node, step| node.child_mut(step))
    }

    /// The node at `path`, or the deepest node above it.
    pub(crate) fn deepest(&self, path: &FieldPath) -> &Self {
        let mut node = self;
        for step in &path.0 {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    /// Removes the value at `path`; false if it has none.
    pub(crate) fn prune(&mut self, path: &FieldPath) -> bool {
        let mut node = self;
        for step in &path.0 {
            match node.child_mut(step) {
                Some(child) => node = child,
                None => return false,
            }
        }
        let was_there = !matches!(node.value, Value::Pruned);
        node.value = Value::Pruned;
        was_there
    }

    /// The value as a reader would write it.
    pub(crate) fn to_text(&self) -> String {
        match &self.value {
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"), // a whole one as "1.0", which is not "1"
            Value::Text(text) => format!("{text:?}"),
            Value::Datetime(text) => text.clone(),
            Value::List(items) => {
                format!("[{}]", first_of(items, Self::to_text))
            }
            Value::Table(entries) => {
                format!("{{ {} }}", first_of(entries, |(key, node)| format!("{key} = {}", node.to_text())))
            }
            Value::Null => "null".to_owned(),
            Value::Pruned => String::new(),
        }
    }
}

/// The most parts of a value that an error shows.
const MOST_SHOWN: usize = 8;

fn first_of<T>(parts: &[T], to_text: impl Fn(&T) -> String) -> String {
    let rest = (parts.len() > MOST_SHOWN).then(|| "...".to_owned());
    parts.iter().take(MOST_SHOWN).map(to_text).chain(rest).collect::<Vec<_>>().join(", ")
}
