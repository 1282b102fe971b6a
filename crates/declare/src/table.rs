//! Table of a part as written, and its mistakes.

use std::sync::Arc;

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use serde_json::{Map, Value as Json};

use crate::range::Bound;

/// Fields as they were written, each of its type already.
pub type Table = Map<String, Json>;

/// Context of a part that bears on its values.
#[derive(Clone, Debug)]
pub struct Context {
    /// Payload of a full segment, octets.
    pub mss: u64,
    /// The link that a queue stands before.
    pub link: Option<LinkContext>,
}

/// A link, as far as it matters to what waits for it.
#[derive(Clone, Debug)]
pub struct LinkContext {
    /// The rate of the link.
    pub rate: Bandwidth,
    /// Limit of a queue that does not have one of its own.
    pub default_limit: Json,
    /// Flows that cross it; unknown until they are routed.
    pub crossing: Option<Crossing>,
}

/// The flows that cross a link.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The longest of their round trips, without queues; none if there are no flows.
    pub rtt: Option<SimDuration>,
    /// The largest of their packets, framing included.
    pub largest_packet: Bytes,
    /// Every flow of the network, the same for each link: its name, and the number of its connection if it has one. The name of a
    /// group of flows stands there once for each of them.
    pub flows: Arc<[(String, Option<usize>)]>,
}

impl Context {
    /// Flows that cross the link, once they are known.
    pub fn crossing(&self) -> Option<&Crossing> {
        self.link.as_ref()?.crossing.as_ref()
    }

    /// The link's rate, once parts of a round trip are amounts of data.
    pub fn settled_rate(&self) -> Option<Bandwidth> {
        self.crossing().and(self.link.as_ref()).map(|link| link.rate)
    }
}

impl Default for Context {
    /// A segment of 1500 octets on the wire.
    fn default() -> Self {
        Self { mss: 1_448, link: None }
    }
}

/// Message for a field that has to be written and was not.
pub(crate) const MISSING: &str = "is missing";

/// Something wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The field, `rto.min` or `bands[0].limit` for one of a table within; empty for the part as a whole.
    pub field: String,
    /// The mistake: "must be ...".
    pub message: String,
    /// Instruction what to write instead.
    pub remedy: String,
    /// True if the field does not go together with others, by themselves in range.
    pub is_of_rule: bool,
}

impl Mistake {
    /// Mistake in the value at hand; without a remedy the message suggests the field's default.
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: String::new(), message: message.into(), remedy: remedy.into(), is_of_rule: false }
    }

    /// True if a field has to be written and was not.
    pub(crate) fn is_missing(&self) -> bool {
        self.message == MISSING
    }

    /// True if it is of the field `name`, or what it says or advises has that name in it.
    pub(crate) fn tells_of(&self, name: &str) -> bool {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        [&self.field, &self.message, &self.remedy]
            .iter()
            .any(|text| text.split(|letter| !is_of_name(letter)).any(|word| word == name))
    }

    /// The same, of a value that stands in another by this name, or by an index: `[0]`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{name}{dot}{}", self.field);
        self
    }
}

/// Collects what is wrong with values that are in range each, and do not go together.
#[derive(Debug)]
pub struct Review<'a> {
    given: &'a Table,
    /// Context of the part.
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

    /// Each of these fields has an effect only beside `needed`, which `is_there` or not: one that was written without is a mistake.
    pub fn needs(&mut self, fields: &[&str], needed: &str, is_there: bool) {
        for field in fields.iter().filter(|_| !is_there) {
            if self.is_given(field) {
                let message = format!("must stand beside {needed}: it has no effect without");
                self.report(*field, message, format!("leave it out, or add {needed}"));
            }
        }
    }

    /// Says what is wrong with `field`.
    pub fn report(&mut self, field: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) {
        self.mistakes.push(Mistake {
            field: field.into(),
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
