//! The declaration of a field beside its type: default, range, unit, source.

use serde_json::Value as Json;

use crate::range::Range;
use crate::table::{Context, Mistake};
use crate::value::Value;

/// A field's default and range. Built as `default(0.5).above(0.0).below(1.0)`; a plain value is a default without a range.
#[derive(Clone, Debug)]
pub struct Spec<T: Value> {
    /// The default; for a required field, an example.
    pub(crate) default: T,
    pub(crate) is_required: bool,
    pub(crate) range: Range<T::Bound>,
    pub(crate) must: Option<Must<T>>,
    pub(crate) unit: &'static str,
    pub(crate) source: &'static str,
    /// The effect of an absent field without a default value.
    pub(crate) absent: &'static str,
    /// The default, if it depends on the context.
    pub(crate) in_context: Option<InContext<T>>,
}

/// The value of an absent field in a context; `None` if its default holds.
pub type InContext<T> = fn(&Context) -> Option<Result<T, Vec<Mistake>>>;

/// A requirement that a range cannot express, in words and as a test.
#[derive(Clone, Debug)]
pub(crate) struct Must<T> {
    pub(crate) words: &'static str,
    pub(crate) holds: fn(&T) -> bool,
}

impl<T: Value> From<T> for Spec<T> {
    fn from(value: T) -> Self {
        default(value)
    }
}

/// A field with a default.
pub fn default<T: Value>(value: T) -> Spec<T> {
    let (must, unit, source, absent) = (None, "", "", "");
    Spec { default: value, is_required: false, range: Range::ALL, must, unit, source, absent, in_context: None }
}

/// A field that must be written; `example` stands in the message about its absence, and replaces a missing value.
pub fn required<T: Value>(example: T) -> Spec<T> {
    Spec { is_required: true, ..default(example) }
}

/// A field that may be absent; `absent` describes the effect.
pub fn unset<T: Value>(absent: &'static str) -> Spec<Option<T>> {
    Spec { absent, ..default(None) }
}

impl<T: Value> Spec<T> {
    /// Requires values of more than `least`.
    #[must_use]
    pub fn above(mut self, least: T::Bound) -> Self {
        self.range.from(least, false);
        self
    }

    /// Requires values of `least` or more.
    #[must_use]
    pub fn at_least(mut self, least: T::Bound) -> Self {
        self.range.from(least, true);
        self
    }

    /// Requires values of less than `most`.
    #[must_use]
    pub fn below(mut self, most: T::Bound) -> Self {
        self.range.to(most, false);
        self
    }

    /// Requires values of `most` or less.
    #[must_use]
    pub fn at_most(mut self, most: T::Bound) -> Self {
        self.range.to(most, true);
        self
    }

    /// Requires values for which `holds` is true; `words` describe them: "a list of at most 16 numbers".
    #[must_use]
    pub fn must_be(mut self, words: &'static str, holds: fn(&T) -> bool) -> Self {
        self.must = Some(Must { words, holds });
        self
    }

    /// Sets the unit of the number: "segments".
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the source of default or range: "RFC 6817 section 2.4.2".
    #[must_use]
    pub fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Sets a default that depends on the context; `words` describe it.
    #[must_use]
    pub fn in_context(mut self, words: &'static str, of: InContext<T>) -> Self {
        (self.absent, self.in_context) = (words, Some(of));
        self
    }

    /// The default, or the example of a required field.
    pub fn into_default(self) -> T {
        self.default
    }

    /// The written value, if it is in the range.
    #[inline(never)]
    pub(crate) fn read(&self, raw: &Json, context: &Context) -> Result<T, Vec<Mistake>> {
        let value = T::read_in(raw, context)?;
        if self.holds(&value) {
            return Ok(value);
        }
        Err(vec![Mistake::new(format!("must be {}", self.range_in_words()), "")])
    }

    pub(crate) fn holds(&self, value: &T) -> bool {
        value.bounded().iter().all(|number| self.range.holds(number))
            && self.must.as_ref().is_none_or(|must| (must.holds)(value))
    }

    /// The range in words: "more than 0 and at most 100 ms", "true or false"; empty if every value of the type is
    /// allowed.
    pub(crate) fn range_in_words(&self) -> String {
        joined([
            self.must.as_ref().map(|must| must.words.to_owned()),
            T::choices(),
            Some(self.range.in_words(self.unit)),
        ])
    }
}

fn joined(words: [Option<String>; 3]) -> String {
    words.into_iter().flatten().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}
