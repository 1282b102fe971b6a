//! The table of a part as written, and its mistakes.

use std::sync::Arc;

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use serde_json::{Map, Value as Json};

use crate::range::Bound;

/// The written fields, each already of its type.
pub type Table = Map<String, Json>;

/// The context of a part that affects its values.
#[derive(Clone, Debug)]
pub struct Context {
    /// The payload of a full segment, octets.
    pub mss: u64,
    /// The link behind a queue.
    pub link: Option<LinkContext>,
}

/// The properties of a link that affect its queue.
#[derive(Clone, Debug)]
pub struct LinkContext {
    /// The rate of the link.
    pub rate: Bandwidth,
    /// The limit of a queue without one of its own.
    pub default_limit: Json,
    /// The flows that cross the link; unknown until they are routed.
    pub crossing: Option<Crossing>,
}

/// The flows that cross a link.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The longest round-trip time of the flows, without queues; `None` without flows.
    pub rtt: Option<SimDuration>,
    /// The largest of their packets, framing included.
    pub largest_packet: Bytes,
    /// The flows of the network, the same for each link: each name, and the number of its connection if it has one. The
    /// name of a group of flows is repeated for each of them.
    pub flows: Arc<[(String, Option<usize>)]>,
}

impl Context {
    /// The flows that cross the link, once they are known.
    pub fn crossing(&self) -> Option<&Crossing> {
        self.link.as_ref()?.crossing.as_ref()
    }

    /// The link's rate, once fractions of a round trip are known as amounts of data.
    pub fn settled_rate(&self) -> Option<Bandwidth> {
        self.crossing().and(self.link.as_ref()).map(|link| link.rate)
    }
}

impl Default for Context {
    /// The context with a segment of 1500 octets on the wire.
    fn default() -> Self {
        Self { mss: 1_448, link: None }
    }
}

/// The message about a required field that was not written.
pub(crate) const MISSING: &str = "is missing";

/// A mistake in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The field, `rto.min` or `bands[0].limit` for one of a table within; empty for the whole part.
    pub field: String,
    /// The mistake: "must be ...".
    pub message: String,
    /// The remedy.
    pub remedy: String,
    /// True if the field contradicts others, each of them in its range.
    pub is_of_rule: bool,
}

impl Mistake {
    /// A mistake in this value; without a remedy the message suggests the field's default.
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: String::new(), message: message.into(), remedy: remedy.into(), is_of_rule: false }
    }

    /// True if a required field was not written.
    pub(crate) fn is_missing(&self) -> bool {
        self.message == MISSING
    }

    /// True if the mistake is in the field `name`, or its message or remedy mentions that name.
    pub(crate) fn tells_of(&self, name: &str) -> bool {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        [&self.field, &self.message, &self.remedy]
            .iter()
            .any(|text| text.split(|letter| !is_of_name(letter)).any(|word| word == name))
    }

    /// The mistake within another value, at this name or index: `[0]`.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{name}{dot}{}", self.field);
        self
    }
}

/// A collector of mistakes in combinations of values, each of them in its range.
#[derive(Debug)]
pub struct Review<'a> {
    given: &'a Table,
    /// The context of the part.
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

    /// Reports each of these fields that was written although `is_there` is false: they have an effect only beside
    /// `needed`.
    pub fn needs(&mut self, fields: &[&str], needed: &str, is_there: bool) {
        for field in fields.iter().filter(|_| !is_there) {
            if self.is_given(field) {
                let message = format!("must be given with {needed}");
                self.report(*field, message, format!("leave it out, or add {needed}"));
            }
        }
    }

    /// Reports a mistake in `field`.
    pub fn report(&mut self, field: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) {
        self.mistakes.push(Mistake {
            field: field.into(),
            message: message.into(),
            remedy: remedy.into(),
            is_of_rule: true,
        });
    }

    /// Requires the first field's value to be at most that of the second. The one that was written has the mistake.
    pub fn at_most<T: Bound>(&mut self, (low, less): (&'static str, &T), (high, more): (&'static str, &T)) {
        if less > more {
            self.misordered((low, less), (high, more), "at most", "at least");
        }
    }

    /// Requires the first field's value to be less than that of the second.
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
        self.report(field, message, format!("change one of the two; {of} may be set as well"));
    }
}
