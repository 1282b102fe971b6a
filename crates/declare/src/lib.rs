//! Parameters declared once, beside the algorithm that has them.
//!
//! [`declare!`] takes one struct: each field with what it means, its default, its range, its unit and its source. From that
//! come the struct, its `Default`, reading from a table of plain values with every mistake at its field, the words of the
//! range, the JSON Schema, the entry of a catalogue with defaults written from the values themselves, and values just
//! inside and just outside of every range for tests.
//!
//! A [`Part`] is something that a scenario names: a controller, a queue. It has a name, prose and the fields of one such
//! struct. [`Parts`] are all of one kind, looked up by name.
//!
//! This crate knows of no TCP. See docs/decisions/0008-declare-once.md.

mod declared;
mod field;
mod kinds;
mod macros;
mod markdown;
mod part;
mod range;
mod settled;
mod spec;
mod table;
mod text;
mod value;
mod words;

pub use declared::{Base, Check, Declared, Settle, Switched, Tabled, table_of};
pub use field::Field;
pub use kinds::{canonical_kind, kind_and_fields, schemas_of_fields, wanted_kind, with_kind};
pub use markdown::{entry_table, parameter_table, summary_table, word_table};
pub use part::{About, Describe, Entry, FieldInfo, Part, Parts, Reading, TableInfo, kinds_schema};
pub use range::{Bound, Range, Unordered};
pub use serde_json::Value as Json;
pub use settled::Settles;
pub use spec::{InContext, Spec, default, required, unset};
pub use table::{Context, Crossing, LinkContext, Mistake, Review, Table};
pub use value::{Value, written};
pub use words::{Words, read_word, schema_of_words, words_of};
