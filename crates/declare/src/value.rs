//! Types of values that a field may hold, and their form in a scenario.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use ackclock_units::{Amount, Bandwidth, Bytes, ParseQuantityError, SimDuration};
use serde_json::{Value as Json, json};

use crate::part::FieldInfo;
use crate::range::{Bound, Range, Unordered, number_text};
use crate::table::{Context, Mistake};

/// A type of fields, which is read from and written as a plain value.
pub trait Value: Clone + PartialEq + Debug + Send + Sync + Sized + 'static {
    /// The type of the range's ends; [`Unordered`] without a range.
    type Bound: Bound;

    /// The expected value in words: "a number".
    fn wanted() -> String;

    /// Reads a value. The error is "must be ...; write ...".
    fn read(raw: &Json) -> Result<Self, String>;

    /// Reads a value like [`Self::read`], with the context.
    fn read_in(raw: &Json, _: &Context) -> Result<Self, Vec<Mistake>> {
        Self::read(raw).map_err(|message| vec![Mistake::new(message, "")])
    }

    /// Writes the value in the form that [`Self::read`] reads.
    fn write(&self) -> Json;

    /// Converts a written value to the form of this type.
    fn canonical(raw: &Json) -> Result<Json, String> {
        Self::read(raw).map(|value| value.write())
    }

    /// The fields of each item, for a list of tables.
    fn item_fields() -> Vec<FieldInfo> {
        Vec::new()
    }

    /// The JSON Schema of a field of this type.
    fn schema() -> Json;

    /// The numbers in the value to which a range applies.
    fn bounded(&self) -> Vec<Self::Bound>;

    /// Values in `range`, for tests: those at its ends first.
    fn inside(range: &Range<Self::Bound>) -> Vec<Self>;

    /// Values just outside of `range`, for tests.
    fn outside(range: &Range<Self::Bound>) -> Vec<Self>;

    /// The allowed values in words, if they are not a range: `true or false`.
    fn choices() -> Option<String> {
        None
    }

    /// The allowed words, each with its meaning.
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// A plain value as TOML writes it.
pub fn written(value: &Json) -> String {
    match value {
        Json::Number(number) if number.is_f64() => number.as_f64().map_or_else(String::new, number_text),
        Json::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Json::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key} = {}", written(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

pub(crate) fn wrong_type<T: Value>(raw: &Json) -> String {
    let found = match raw {
        Json::Null => "infinite or not a number".to_owned(),
        Json::Bool(_) | Json::Number(_) => raw.to_string(),
        Json::String(_) => "a string".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "a table".to_owned(),
    };
    let wanted = T::wanted();
    let write = unquoted::<T>(raw).unwrap_or_else(|| wanted.clone());
    format!("is {found}, and must be {wanted}; write {write}")
}

/// The unquoted value of a string in quotes, where quotes are wrong; also for a number of bytes.
fn unquoted<T: Value>(raw: &Json) -> Option<String> {
    let text = raw.as_str()?;
    let in_bytes = || text.parse::<Bytes>().ok().map(|bytes| (Json::from(bytes.0), "in bytes, without quotes"));
    let plain = serde_json::from_str::<Json>(text).ok().map(|value| (value, "without quotes"));
    let (value, how) = plain.or_else(in_bytes).filter(|(value, _)| T::read(value).is_ok())?;
    Some(format!("{}, {how}", written(&value)))
}

// Schemas are made in one place: hundreds of fields ask for them.

#[inline(never)]
fn schema_of(kind: &str) -> Json {
    json!({ "type": kind })
}

#[inline(never)]
fn schema_of_whole_numbers() -> Json {
    json!({ "type": "integer", "minimum": 0 })
}

#[inline(never)]
fn schema_of_texts(example: &str) -> Json {
    json!({ "type": "string", "examples": [example] })
}

/// The part of [`Value`] of a type without a range.
#[macro_export]
macro_rules! without_range {
    () => {
        type Bound = $crate::Unordered;

        fn bounded(&self) -> Vec<$crate::Unordered> {
            Vec::new()
        }
        fn outside(_: &$crate::Range<$crate::Unordered>) -> Vec<Self> {
            Vec::new()
        }
    };
}

impl Value for bool {
    crate::without_range!();

    fn wanted() -> String {
        "true or false".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        raw.as_bool().ok_or_else(|| wrong_type::<Self>(raw))
    }
    fn write(&self) -> Json {
        (*self).into()
    }
    fn schema() -> Json {
        schema_of("boolean")
    }
    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        vec![true, false]
    }
    fn choices() -> Option<String> {
        Some(Self::wanted())
    }
}

/// The part of [`Value`] of a type whose range is one of its own values.
macro_rules! own_range {
    () => {
        type Bound = Self;

        fn bounded(&self) -> Vec<Self> {
            vec![*self]
        }
        fn inside(range: &Range<Self>) -> Vec<Self> {
            range.inside()
        }
        fn outside(range: &Range<Self>) -> Vec<Self> {
            range.outside()
        }
    };
}

impl Value for f64 {
    fn wanted() -> String {
        "a number".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        raw.as_f64().ok_or_else(|| wrong_type::<Self>(raw))
    }
    fn write(&self) -> Json {
        (*self).into()
    }
    fn schema() -> Json {
        schema_of("number")
    }
    own_range!();
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn wanted() -> String {
                format!("a whole number of at most {}", Self::MAX)
            }
            fn read(raw: &Json) -> Result<Self, String> {
                raw.as_u64().and_then(|number| Self::try_from(number).ok()).ok_or_else(|| wrong_type::<Self>(raw))
            }
            fn write(&self) -> Json {
                (*self).into()
            }
            fn schema() -> Json {
                schema_of_whole_numbers()
            }
            own_range!();
        })*
    };
}

whole_numbers!(u8, u16, u32, u64, usize);

impl Value for i64 {
    fn wanted() -> String {
        "a whole number, which may be negative".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        raw.as_i64().ok_or_else(|| wrong_type::<Self>(raw))
    }
    fn write(&self) -> Json {
        (*self).into()
    }
    fn schema() -> Json {
        schema_of("integer")
    }
    own_range!();
}

/// Reads a text that stands for a quantity.
pub(crate) fn read_text<T: Value + FromStr<Err = ParseQuantityError>>(raw: &Json) -> Result<T, String> {
    let text = raw.as_str().ok_or_else(|| wrong_type::<T>(raw))?;
    text.parse().map_err(|error: ParseQuantityError| error.what().to_owned())
}

fn written_text(quantity: &impl Display) -> Json {
    quantity.to_string().into()
}

macro_rules! quantities {
    ($($type:ident = $wanted:literal, $example:literal;)*) => {
        $(impl Value for $type {
            fn wanted() -> String {
                concat!($wanted, " as a string such as \"", $example, "\"").to_owned()
            }
            fn read(raw: &Json) -> Result<Self, String> {
                read_text(raw)
            }
            fn write(&self) -> Json {
                written_text(self)
            }
            fn schema() -> Json {
                schema_of_texts($example)
            }
            own_range!();
        })*
    };
}

quantities! {
    SimDuration = "a duration", "30 ms";
    Bytes = "an amount of data", "50 MB";
    Bandwidth = "a rate", "100 Mbit/s";
}

/// The value in segments, or in bytes; its range is in segments.
impl Value for Amount {
    type Bound = u64;

    fn wanted() -> String {
        "an amount of data or a number of segments as a string such as \"10 segments\"".to_owned()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        read_text(raw)
    }
    fn write(&self) -> Json {
        written_text(self)
    }
    fn schema() -> Json {
        schema_of_texts("10 segments")
    }
    fn bounded(&self) -> Vec<u64> {
        match self {
            Self::Segments(count) => vec![*count],
            Self::Bytes(_) => Vec::new(),
        }
    }
    fn inside(range: &Range<u64>) -> Vec<Self> {
        range.inside().into_iter().map(Self::Segments).collect()
    }
    fn outside(range: &Range<u64>) -> Vec<Self> {
        range.outside().into_iter().map(Self::Segments).collect()
    }
}

/// A value that may be absent: `None` is written by leaving the field out.
impl<T: Value> Value for Option<T> {
    type Bound = T::Bound;

    fn wanted() -> String {
        T::wanted()
    }
    fn read(raw: &Json) -> Result<Self, String> {
        T::read(raw).map(Some)
    }
    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        T::read_in(raw, context).map(Some)
    }
    fn canonical(raw: &Json) -> Result<Json, String> {
        T::canonical(raw)
    }
    fn item_fields() -> Vec<FieldInfo> {
        T::item_fields()
    }
    fn write(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::write)
    }
    fn schema() -> Json {
        T::schema()
    }
    fn bounded(&self) -> Vec<T::Bound> {
        self.iter().flat_map(T::bounded).collect()
    }
    fn inside(range: &Range<T::Bound>) -> Vec<Self> {
        T::inside(range).into_iter().map(Some).collect()
    }
    fn outside(range: &Range<T::Bound>) -> Vec<Self> {
        T::outside(range).into_iter().map(Some).collect()
    }
    fn choices() -> Option<String> {
        T::choices()
    }
    fn words() -> Vec<(&'static str, &'static str)> {
        T::words()
    }
}

/// A list; the range applies to each item.
impl<T: Value> Value for Vec<T> {
    type Bound = T::Bound;

    fn wanted() -> String {
        format!("a list, each of which is {}", T::wanted())
    }
    fn read(raw: &Json) -> Result<Self, String> {
        raw.as_array().ok_or_else(|| wrong_type::<Self>(raw))?.iter().map(T::read).collect()
    }
    /// Reads a list, where null stands for an item that could not be read, so that the others keep their places.
    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        let one_in_a_list =
            || T::read(raw).map_or_else(|_| String::new(), |_| format!("write {}", written(&json!([raw]))));
        let items = raw.as_array().ok_or_else(|| vec![Mistake::new(wrong_type::<Self>(raw), one_in_a_list())])?;
        let (mut values, mut mistakes) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_null()) {
            match T::read_in(item, context) {
                Ok(value) => values.push(value),
                Err(found) => mistakes.extend(found.into_iter().map(|one| one.within(&format!("[{index}]")))),
            }
        }
        if mistakes.is_empty() { Ok(values) } else { Err(mistakes) }
    }
    fn canonical(raw: &Json) -> Result<Json, String> {
        raw.as_array().ok_or_else(|| wrong_type::<Self>(raw))?.iter().map(T::canonical).collect()
    }
    fn item_fields() -> Vec<FieldInfo> {
        T::item_fields()
    }
    fn write(&self) -> Json {
        self.iter().map(T::write).collect()
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
    fn bounded(&self) -> Vec<T::Bound> {
        self.iter().flat_map(T::bounded).collect()
    }
    fn inside(range: &Range<T::Bound>) -> Vec<Self> {
        T::inside(range).into_iter().map(|item| vec![item]).chain([Vec::new()]).collect()
    }
    fn outside(range: &Range<T::Bound>) -> Vec<Self> {
        T::outside(range).into_iter().map(|item| vec![item]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_short_as_they_can_be() {
        for (number, text) in [(1.0, "1"), (0.5, "0.5"), (1e-7, "1e-7"), (1e9, "1e9"), (1_000_000.0, "1000000")] {
            assert_eq!(written(&json!(number)), text);
            assert_eq!(text.parse(), Ok(number));
        }
        // 2/ln 2 as the nearest number of 64 bits is written with all its digits
        assert_eq!(written(&(2.0 / std::f64::consts::LN_2).write()), "2.8853900817779268");
    }

    #[test]
    fn each_type_reads_what_it_writes_and_says_what_it_wants() {
        assert_eq!(SimDuration::read(&SimDuration::from_micros(750).write()), Ok(SimDuration::from_micros(750)));
        assert_eq!(Vec::<usize>::read(&json!([30, 20])), Ok(vec![30, 20]));
        assert_eq!(f64::read(&json!(2)), Ok(2.0));
        let error = u32::read(&json!(0.5)).expect_err("decimals");
        assert_eq!(
            error,
            "is 0.5, and must be a whole number of at most 4294967295; \
             write a whole number of at most 4294967295"
        );
        for (text, written) in [("1460", "1460, without quotes"), ("2 kB", "2000, in bytes, without quotes")] {
            assert!(u32::read(&json!(text)).expect_err("a text").ends_with(&format!("; write {written}")), "{text}");
        }
        assert!(bool::read(&json!("true")).expect_err("a text").ends_with("; write true, without quotes"));
        assert!(SimDuration::read(&json!("30")).expect_err("no unit").contains("with a unit; write "));
    }
}
