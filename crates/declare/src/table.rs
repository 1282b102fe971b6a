//! What was written of a part, and what is wrong with it.

use serde_json::{Map, Value as Json};

use crate::range::Bound;

/// Fields as they were written, each of its type already.
pub type Table = Map<String, Json>;

/// What holds around a part and bears on its values.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Payload of a full segment, octets.
    pub mss: u64,
}

impl Default for Context {
    /// A segment of 1500 octets on the wire.
    fn default() -> Self {
        Self { mss: 1_448 }
    }
}

/// Something wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The field, "rto.min" for one of a table within; empty for the part as a whole.
    pub field: String,
    /// What is wrong: "must be ...".
    pub message: String,
    /// What to write instead.
    pub remedy: String,
    /// True if the field does not go together with others, by themselves in range.
    pub is_of_rule: bool,
}

impl Mistake {
    pub(crate) fn new(message: String, remedy: String) -> Self {
        Self { field: String::new(), message, remedy, is_of_rule: false }
    }

    /// The same, of a field of the table that `name` is.
    pub(crate) fn within(mut self, name: &str) -> Self {
        self.field = if self.field.is_empty() { name.to_owned() } else { format!("{name}.{}", self.field) };
        self
    }
}

/// Collects what is wrong with values that are in range each, and do not go together.
#[derive(Debug)]
pub struct Review<'a> {
    given: &'a Table,
    /// What holds around the part.
    pub context: &'a Context,
    mistakes: Vec<Mistake>,
}

impl<'a> Review<'a> {
    pub(crate) fn new(given: &'a Table, context: &'a Context) -> Self {
        Self { given, context, mistakes: Vec::new() }
    }

    pub(crate) fn into_mistakes(self) -> Vec<Mistake> {
        self.mistakes
    }

    /// True if the field was written.
    pub fn is_given(&self, field: &str) -> bool {
        self.given.contains_key(field)
    }

    /// Says what is wrong with `field`.
    pub fn report(&mut self, field: &'static str, message: impl Into<String>, remedy: impl Into<String>) {
        self.mistakes.push(Mistake {
            field: field.to_owned(),
            message: message.into(),
            remedy: remedy.into(),
            is_of_rule: true,
        });
    }

    /// The value of the first field must not be more than that of the second. Of the two, one that was written is at fault.
    pub fn at_most<T: Bound>(&mut self, (low, less): (&'static str, &T), (high, more): (&'static str, &T)) {
        if less > more {
            self.misordered((low, less), (high, more), "at most", "at least");
        }
    }

    /// The value of the first field must be less than that of the second.
    pub fn below<T: Bound>(&mut self, (low, less): (&'static str, &T), (high, more): (&'static str, &T)) {
        if less >= more {
            self.misordered((low, less), (high, more), "less than", "more than");
        }
    }

    fn misordered<T: Bound>(
        &mut self,
        (low, less): (&'static str, &T),
        (high, more): (&'static str, &T),
        must: &str,
        other: &str,
    ) {
        let (field, message, of) = if self.is_given(high) {
            (high, format!("must be {other} {low}, which is {}", less.in_words()), low)
        } else {
            (low, format!("must be {must} {high}, which is {}", more.in_words()), high)
        };
        self.report(field, message, format!("change one of the two; {of} may be written beside it"));
    }
}
