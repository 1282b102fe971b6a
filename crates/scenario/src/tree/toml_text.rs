//! Turns TOML text into a tree.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::node::{Node, Origin, Value};
use crate::diagnostic::SyntaxError;

/// Reads a whole document; every syntax error that the parser can separate is reported.
pub(crate) fn parse_toml(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let of = |error: &Error| {
            SyntaxError::of_toml(text, error.span().or_else(|| line_of(text, error.message())), error.message())
        };
        return Err(errors.iter().map(of).collect());
    }
    let span = table.span();
    Ok(Node::new(from_table(table.get_ref()), Origin::Text(span)))
}

/// The first line with the error, for an error without a place: the text up to this line has it.
fn line_of(text: &str, message: &str) -> Option<Range<usize>> {
    let end_of = |end: &mut usize, line: &str| {
        *end += line.len();
        Some(*end)
    };
    let ends: Vec<usize> = text.split_inclusive('\n').scan(0, end_of).collect();
    let lacks =
        |&end: &usize| DeTable::parse_recoverable(&text[..end]).1.iter().all(|error| error.message() != message);
    let line = ends.partition_point(lacks);
    let start = line.checked_sub(1).map_or(0, |before| ends[before]);
    ends.get(line).map(|&end| start..start + text[start..end].trim_end().len())
}

/// The offset at which a further item belongs in the list `key` at the top of a document, and whether the list is
/// empty.
///
/// `None` for a list that is not written within brackets, or not at all.
pub(crate) fn end_of_inline_list(text: &str, key: &str) -> Option<(usize, bool)> {
    let (table, _) = DeTable::parse_recoverable(text);
    let (_, list) = table.get_ref().iter().find(|(name, _)| name.get_ref() == key)?;
    let DeValue::Array(items) = list.get_ref() else { return None };
    let brackets = list.span();
    let written = text.get(brackets.clone())?;
    // Two brackets are the header of a table of the list.
    let is_inline = written.starts_with('[') && !written.starts_with("[[");
    is_inline.then(|| items.last().map_or((brackets.start + 1, true), |last| (last.span().end, false)))
}

/// Reads one value of an override; a bare word counts as a text.
pub(crate) fn parse_toml_value(text: &str) -> Value {
    match DeValue::parse(text) {
        Ok(value) => from_value(value.get_ref()),
        Err(_) => Value::Text(text.trim().to_owned()),
    }
}

fn from_table(table: &DeTable<'_>) -> Value {
    let mut entries: Vec<(String, Node)> =
        table.iter().map(|(key, value)| (key.get_ref().to_string(), from_entry(key.span(), value))).collect();
    entries.sort_by_key(|(_, node)| match &node.key_origin {
        Origin::Text(span) => span.start,
        _ => usize::MAX,
    });
    Value::Table(entries)
}

fn from_entry(key_span: std::ops::Range<usize>, value: &Spanned<DeValue<'_>>) -> Node {
    let mut node = from_spanned(value);
    node.key_origin = Origin::Text(key_span);
    node
}

fn from_spanned(value: &Spanned<DeValue<'_>>) -> Node {
    Node::new(from_value(value.get_ref()), Origin::Text(value.span()))
}

fn from_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str();
            // One that no field holds is larger than all, but a whole number none the less.
            let most = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
            Value::Integer(i128::from_str_radix(digits, number.radix()).unwrap_or(most))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(value) => Value::Datetime(value.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(from_spanned).collect()),
        DeValue::Table(table) => from_table(table),
    }
}
