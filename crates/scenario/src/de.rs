//! Reads the file types from the tree, with the path of each mistake.
//!
//! Beside plain values it knows one convention: an enum is a bare word ("cubic"), or a table whose `kind` names the
//! variant and whose other fields are the variant's own.

use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};

use crate::tree::{FieldPath, Node, Step, Value};

/// A mistake in a value, with its path.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub(crate) path: Option<FieldPath>,
    pub(crate) problem: Problem,
}

#[derive(Debug)]
pub(crate) enum Problem {
    /// An unknown key of a table; the path ends with it.
    UnknownField { known: &'static [&'static str] },
    /// An unknown kind; the path is the word's.
    UnknownKind { found: String, known: &'static [&'static str] },
    /// Any other mistake, in words: "what is wrong; what to do".
    Other(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.problem)
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    fn other(message: String) -> Self {
        Self { path: None, problem: Problem::Other(message) }
    }

    fn unexpected(found: &Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let (wanted, found) = (wanted(&expected.to_string()), in_words(found));
        Self::other(format!("must be {wanted}, not {found}; write {wanted}"))
    }

    fn at(mut self, path: &Place<'_>) -> Self {
        self.path.get_or_insert_with(|| path.to_path());
        self
    }
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::other(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::unexpected(&found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::unexpected(&found, expected)
    }

    fn unknown_field(_field: &str, known: &'static [&'static str]) -> Self {
        Self { path: None, problem: Problem::UnknownField { known } }
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self { path: None, problem: Problem::UnknownKind { found: found.to_owned(), known } }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::other(format!("must have a field {field:?}; add it"))
    }
}

fn in_words(found: &Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Float(value) if value.is_finite() => format!("{value:?}"), // a whole one as "1.0"
        Unexpected::Float(_) => "infinite or not a number".to_owned(),
        Unexpected::Str(_) => "a string".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        _ => "of another type".to_owned(),
    }
}

/// The type that serde expects, in the words of a scenario's writer.
fn wanted(expected: &str) -> String {
    match expected {
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number from 0 to 2^64 - 1".to_owned(),
        "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a string in quotes".to_owned(),
        other => other.to_owned(),
    }
}

/// The path of the value being read: a list on the stack.
#[derive(Clone, Copy)]
enum Place<'a> {
    Top,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn to_path(self) -> FieldPath {
        match self {
            Self::Top => FieldPath::default(),
            Self::Key(above, key) => {
                let mut path = above.to_path();
                path.0.push(Step::Key((*key).to_owned()));
                path
            }
            Self::Index(above, index) => above.to_path().index(index),
        }
    }
}

/// Reads a whole tree.
pub(crate) fn read<'tree, T: de::Deserialize<'tree>>(tree: &'tree Node) -> Result<T, ReadError> {
    let top = Place::Top;
    T::deserialize(Reader { node: tree, place: &top }).map_err(|error| error.at(&top))
}

struct Reader<'tree, 'place> {
    node: &'tree Node,
    place: &'place Place<'place>,
}

impl<'tree> Reader<'tree, '_> {
    fn visit<V: Visitor<'tree>>(&self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ if *value < 0 => Err(ReadError::other("must be at least -2^63; write a larger number".to_owned())),
                _ => Err(ReadError::other("must be at most 2^64 - 1; write a smaller number".to_owned())),
            },
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Null => Err(ReadError::other("must not be null; leave it out, or write a value".to_owned())),
            Value::Datetime(_) => Err(ReadError::other("must not be a date or time; put strings in quotes".to_owned())),
            Value::List(items) => visitor.visit_seq(ListReader { items, next: 0, place: self.place }),
            Value::Table(entries) => {
                visitor.visit_map(TableReader { entries, next: 0, place: self.place, skip_kind: false })
            }
            Value::Pruned => visitor.visit_none(),
        }
    }

    fn wants(&self, what: &str, write: &str) -> ReadError {
        ReadError::other(format!("must be {what}, not {}; write {write}", self.node.value.describe()))
    }
}

impl<'tree> Deserializer<'tree> for Reader<'tree, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'tree>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.visit(visitor).map_err(|error| error.at(self.place))
    }

    fn deserialize_option<V: Visitor<'tree>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.value {
            Value::Pruned => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'tree>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'tree>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if !matches!(self.node.value, Value::Table(_)) {
            let fields = known.join(", ");
            return Err(self.wants("a table", &format!("{{ ... }} with fields out of: {fields}")).at(self.place));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_seq<V: Visitor<'tree>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if !matches!(self.node.value, Value::List(_)) {
            return Err(self.wants("a list", "[ ... ], or [[...]] for a list of tables").at(self.place));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'tree>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Text(_) => {
                let reader =
                    VariantReader { kind: self.node, kind_place: self.place, content: self.node, place: self.place };
                visitor.visit_enum(reader).map_err(|error| error.at(self.place))
            }
            Value::Table(_) => {
                let kind_place = Place::Key(self.place, "kind");
                match self.node.child(&Step::Key("kind".to_owned())) {
                    Some(kind) if matches!(kind.value, Value::Text(_)) => {
                        let reader =
                            VariantReader { kind, kind_place: &kind_place, content: self.node, place: self.place };
                        visitor.visit_enum(reader).map_err(|error| error.at(self.place))
                    }
                    kind => {
                        let what = if kind.is_some() { "must be a string" } else { "is missing" };
                        let kinds = quoted(known);
                        Err(ReadError::other(format!("{what}; write kind = one of {kinds}")).at(&kind_place))
                    }
                }
            }
            _ => Err(self.wants("a kind", &format!("one of {}, or a table with a kind", quoted(known))).at(self.place)),
        }
    }

    serde::forward_to_deserialize_any! {
        <W: Visitor<'tree>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map identifier ignored_any
    }
}

pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

struct ListReader<'tree, 'place> {
    items: &'tree [Node],
    next: usize,
    place: &'place Place<'place>,
}

impl<'tree> SeqAccess<'tree> for ListReader<'tree, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'tree>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(node) = self.items.get(self.next) else { return Ok(None) };
        let place = Place::Index(self.place, self.next);
        self.next += 1;
        let reader = Reader { node, place: &place };
        seed.deserialize(reader).map(Some).map_err(|error| error.at(&place))
    }
}

struct TableReader<'tree, 'place> {
    entries: &'tree [(String, Node)],
    next: usize,
    place: &'place Place<'place>,
    /// True if the table is the content of a variant whose `kind` has been read.
    skip_kind: bool,
}

impl<'tree> MapAccess<'tree> for TableReader<'tree, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'tree>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        while let Some((key, node)) = self.entries.get(self.next) {
            if !(matches!(node.value, Value::Pruned) || self.skip_kind && key == "kind") {
                let place = Place::Key(self.place, key);
                let key: de::value::BorrowedStrDeserializer<'_, ReadError> =
                    de::value::BorrowedStrDeserializer::new(key);
                return seed.deserialize(key).map(Some).map_err(|error| error.at(&place));
            }
            self.next += 1;
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'tree>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let (key, node) = &self.entries[self.next];
        self.next += 1;
        let place = Place::Key(self.place, key);
        seed.deserialize(Reader { node, place: &place }).map_err(|error| error.at(&place))
    }
}

struct VariantReader<'tree, 'place> {
    kind: &'tree Node,
    kind_place: &'place Place<'place>,
    content: &'tree Node,
    place: &'place Place<'place>,
}

impl<'tree> EnumAccess<'tree> for VariantReader<'tree, '_> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'tree>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let Value::Text(word) = &self.kind.value else {
            return Err(ReadError::other("must be a string; write a kind".to_owned()).at(self.kind_place));
        };
        let word: de::value::StrDeserializer<'_, ReadError> = word.as_str().into_deserializer();
        let variant = seed.deserialize(word).map_err(|error| error.at(self.kind_place))?;
        Ok((variant, self))
    }
}

impl<'tree> VariantAccess<'tree> for VariantReader<'tree, '_> {
    type Error = ReadError;

    /// A variant without parameters, written as a bare word.
    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content.value {
            Value::Text(_) => Ok(()),
            _ => {
                Err(ReadError::other("must be a bare word, not a table; write the word alone".to_owned())
                    .at(self.place))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'tree>>(self, seed: T) -> Result<T::Value, ReadError> {
        let entries: &[(String, Node)] = match &self.content.value {
            Value::Table(entries) => entries,
            _ => &[], // a bare word: the variant with its defaults
        };
        let table = TableReader { entries, next: 0, place: self.place, skip_kind: true };
        seed.deserialize(de::value::MapAccessDeserializer::new(table)).map_err(|error| error.at(self.place))
    }

    fn tuple_variant<V: Visitor<'tree>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(ReadError::other("must be a kind that a scenario can express; use another".to_owned()).at(self.place))
    }

    fn struct_variant<V: Visitor<'tree>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, ReadError> {
        let entries: &[(String, Node)] = match &self.content.value {
            Value::Table(entries) => entries,
            _ => &[],
        };
        visitor.visit_map(TableReader { entries, next: 0, place: self.place, skip_kind: true })
    }
}
