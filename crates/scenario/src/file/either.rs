//! Fields that take either of two forms, and lists that keep their positions when an item is wrong.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::Overlay;

/// A list; a wrong item is a hole, so that the others keep their index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List<T>(pub(crate) Vec<Option<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_ref()?)))
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().map(Some).collect())
    }
}

impl<T: Clone> Overlay for List<T> {
    fn overlaid_by(&self, later: &Self) -> Self {
        later.clone()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().flatten())
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<T>::json_schema(generator)
    }
}

/// A value that is written as a text.
pub(crate) trait Wanted {
    /// A description of the expected text, for messages.
    const WANTED: &'static str;
}

impl Wanted for String {
    const WANTED: &'static str = "a string in quotes";
}

/// A text, or a table for what a text cannot say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TextOr<T, Table> {
    Text(T),
    Table(Table),
}

impl<'de, T, Table> Deserialize<'de> for TextOr<T, Table>
where
    T: FromStr + Wanted,
    T::Err: Display,
    Table: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T, Table>(PhantomData<(T, Table)>);
        impl<'de, T: FromStr<Err: Display> + Wanted, Table: Deserialize<'de>> Visitor<'de> for Either<T, Table> {
            type Value = TextOr<T, Table>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or a table", T::WANTED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map(TextOr::Text).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(TextOr::Table)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T: Clone, Table: Clone> Overlay for TextOr<T, Table> {
    fn overlaid_by(&self, later: &Self) -> Self {
        later.clone()
    }
}

/// `true` for the defaults, `false` for "off", or a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SwitchOr<Table> {
    Switch(bool),
    Table(Table),
}

impl<'de, Table: Deserialize<'de>> Deserialize<'de> for SwitchOr<Table> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<Table>(PhantomData<Table>);
        impl<'de, Table: Deserialize<'de>> Visitor<'de> for Either<Table> {
            type Value = SwitchOr<Table>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false, or a table")
            }
            fn visit_bool<E>(self, on: bool) -> Result<Self::Value, E> {
                Ok(SwitchOr::Switch(on))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(SwitchOr::Table)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// A name, or a list of names.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Names {
    One(String),
    Many(List<String>),
}

impl Names {
    /// Each name, with its index if it stands in a list.
    pub(crate) fn each(&self) -> Vec<(Option<usize>, &str)> {
        match self {
            Self::One(name) => vec![(None, name)],
            Self::Many(names) => names.iter().map(|(index, name)| (Some(index), name.as_str())).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a list of names")
            }
            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Names::One(name.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(Names::Many)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The number of things, or the name of each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CountOrNames {
    Count(u64),
    Names(List<String>),
}

impl<'de> Deserialize<'de> for CountOrNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CountOrNames;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a list of names")
            }
            fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
                Ok(CountOrNames::Count(count))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                List::deserialize(SeqAccessDeserializer::new(list)).map(CountOrNames::Names)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
