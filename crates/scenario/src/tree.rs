//! A scenario's text as a tree that remembers where each value was written, whatever the text's language.

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
pub(crate) use toml_text::parse_toml;
