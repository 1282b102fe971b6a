//! A scenario's text as a tree that knows the place of each value, whatever the text's language.

mod json;
mod node;
mod overrides;
mod path;
mod renamed;
mod shorthand;
mod toml_text;

pub(crate) use json::parse_json;
pub(crate) use node::{Node, Origin, Value};
pub(crate) use overrides::apply_overrides;
pub(crate) use path::{FieldPath, Step};
pub(crate) use renamed::rename_fields;
pub(crate) use shorthand::expand_controllers;
pub(crate) use toml_text::{end_of_inline_list, parse_toml};

use crate::attachments::BYTE_ORDER_MARK;
use crate::diagnostic::SyntaxError;

/// Reads a text as JSON if it begins with a brace, else as TOML.
pub(crate) fn parse_text(text: &str) -> Result<Node, Vec<SyntaxError>> {
    if is_json(text) { parse_json(text) } else { parse_toml(text) }
}

/// True if a text is read as JSON.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start_matches(BYTE_ORDER_MARK).trim_start().starts_with('{')
}
