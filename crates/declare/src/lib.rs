//! Parameters that are declared once, beside their algorithm.
//!
//! [`declare!`] takes one struct: each field with its meaning, its default, its range, its unit and its source. From
//! that come the struct, its `Default`, and its reading from a table of plain values, with every mistake at its field.
//! The words of the range, the JSON Schema, and the entry of a catalogue with the default values follow from it, too,
//! and so do values just inside and outside of every range for tests.
//!
//! A [`Part`] is something that a scenario names: a controller, a queue. It has a name, prose and the fields of one such
//! struct. [`Parts`] are all of one kind, looked up by name.
//!
//! ```
//! use ackclock_declare::{About, Context, Entry, Table, declare, default};
//!
//! declare! {
//!     /// Parameters of AIMD.
//!     pub struct Aimd {
//!         /// Fraction of the window that is kept on congestion.
//!         beta: f64 = default(0.5).above(0.0).below(1.0).source("RFC 5681"),
//!     }
//! }
//!
//! impl Entry for Aimd {
//!     const ABOUT: About =
//!         About { name: "aimd", aliases: &[], summary: "AIMD", source: "Chiu and Jain 1989", departures: "none" };
//! }
//!
//! let mut table = Table::new();
//! table.insert("beta".to_owned(), 1.5.into());
//! let reading = Aimd::part().read(&table, &Context::default());
//! let mistake = &reading.mistakes[0];
//! assert_eq!(mistake.message, "must be more than 0 and less than 1");
//! assert_eq!(mistake.remedy, "the default is 0.5 (RFC 5681)");
//! ```
//!
//! This crate is independent of TCP. The repository's docs/decisions/0008-declare-once.md gives the reasons for this
//! kind of declaration.

mod declaration;
mod excerpt;
mod external;
mod field;
mod kinds;
mod library;
mod macros;
mod markdown;
mod names;
mod own;
mod part;
mod range;
mod settled;
mod spec;
mod table;
mod text;
mod value;
mod words;

pub use declaration::{Base, Check, Declared, Settle, Switched, Tabled, table_of};
pub use excerpt::{Excerpt, harmless};
pub use external::External;
pub use field::Field;
pub use kinds::{canonical_kind, kind_and_fields, schemas_of_fields, wanted_kind, with_kind};
pub use library::Library;
pub use markdown::{entry_table, parameter_table, summary_table, word_table};
pub use names::{is_slip, known_as, meant};
pub use own::OwnField;
pub use part::{About, Canonical, Describe, Entry, FieldInfo, Part, Parts, Reading, TableInfo, kinds_schema};
pub use range::{Bound, Range, Unordered};
pub use serde_json::Value as Json;
pub use settled::Settles;
pub use spec::{InContext, Spec, default, required, unset};
pub use table::{Context, Crossing, LinkContext, Mistake, Review, Table};
pub use value::{Value, written};
pub use words::{Words, read_word, schema_of_words, words_of};
