//! Tables without a kind, as they are declared.

use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use ackclock_declare::{About, Declared, Entry, Part, Table};
use ackclock_net::{
    AggregateConfig, ChangingDelay, ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, PolicerConfig,
};
use ackclock_sim::{
    FileApp, FilesApp, LogNormalGaps, LogNormalSizes, MediaApp, OnOffApp, ParetoSizes, QuicConfig, RateApp,
    UdpProtocol, VideoApp,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::Overlay;
use super::chosen::TableOf;
use super::tcp::TcpSwitches;

/// A declared struct that is a table of a scenario without a kind.
pub(crate) trait OwnTable: Declared {
    /// The declaration of its fields.
    fn part() -> &'static Part<Self>;

    /// The name of its JSON Schema.
    fn schema_name() -> String {
        format!("{}_table", Self::part().about.name)
    }
}

macro_rules! own_tables {
    ($($type:ty: $name:literal, $schema:literal, $summary:literal;)*) => {
        $(impl OwnTable for $type {
            fn schema_name() -> String {
                $schema.to_owned()
            }

            fn part() -> &'static Part<Self> {
                static PART: LazyLock<Part<$type>> = LazyLock::new(|| {
                    let about = About { name: $name, aliases: &[], summary: $summary, source: "", departures: "" };
                    Part::new(about, (), &[], |_| (), |config: $type| config)
                });
                &PART
            }
        })*
    };
}

own_tables! {
    TcpSwitches: "tcp", "TcpTable", "Switches of a TCP endpoint";
}

macro_rules! entries {
    ($($type:ty),*) => {
        $(impl OwnTable for $type {
            fn part() -> &'static Part<Self> {
                static PART: LazyLock<Part<$type>> = LazyLock::new(<$type as Entry>::part);
                &PART
            }
        })*
    };
}

entries!(
    ChangingRate,
    ChangingDelay,
    HandoverConfig,
    PolicerConfig,
    AggregateConfig,
    ImpairmentConfig,
    ChannelConfig,
    FileApp,
    FilesApp,
    OnOffApp,
    RateApp,
    VideoApp,
    MediaApp,
    UdpProtocol,
    QuicConfig,
    LogNormalGaps,
    ParetoSizes,
    LogNormalSizes
);

/// The fields of such a table that are written.
pub(crate) struct Fields<K>(pub(crate) Table, PhantomData<K>);

impl<K: OwnTable> Fields<K> {
    /// A table with these fields.
    ///
    /// # Panics
    ///
    /// If a field or its value is unknown.
    pub(crate) fn of(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let read = |(name, value): (&str, Value)| {
            let field = K::part().field(name).unwrap_or_else(|| panic!("{name} is declared"));
            (name.to_owned(), field.read(&value).unwrap_or_else(|mistake| panic!("{name} {mistake}")))
        };
        Self(fields.into_iter().map(read).collect(), PhantomData)
    }

    /// Lays a later table over this one, in tables within too: fields that it sets win, and others stay.
    pub(crate) fn lay(&mut self, later: &Self) {
        lay(&mut self.0, &later.0);
    }

    /// A table with this field, if it has a value.
    pub(crate) fn with(field: &str, value: Option<impl Into<Value>>) -> Self {
        let field = value.map(|value| (field.to_owned(), value.into()));
        Self(field.into_iter().collect(), PhantomData)
    }

    /// True if the field is set.
    pub(crate) fn says(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// The text in a field.
    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }
}

impl<K> Clone for Fields<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<K> Default for Fields<K> {
    fn default() -> Self {
        Self(Table::new(), PhantomData)
    }
}

impl<K> PartialEq for Fields<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K> fmt::Debug for Fields<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Field by field: a later value replaces the whole of an earlier one.
impl<K> Overlay for Fields<K> {
    fn overlaid_by(&self, later: &Self) -> Self {
        let mut table = self.0.clone();
        table.extend(later.0.clone());
        Self(table, PhantomData)
    }
}

/// Lays a table over another, and tables within over those within.
fn lay(table: &mut Table, later: &Table) {
    for (name, value) in later {
        match (table.get_mut(name), value) {
            (Some(Value::Object(within)), Value::Object(value)) => lay(within, value),
            _ => drop(table.insert(name.clone(), value.clone())),
        }
    }
}

impl<'de, K: OwnTable> Deserialize<'de> for Fields<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = K::part();
        let table = TableOf { fields: &part.fields, names: part.field_names() }.deserialize(deserializer)?;
        Ok(Self(table, PhantomData))
    }
}

impl<K: OwnTable> Serialize for Fields<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = K::part().field_names().iter().filter_map(|name| Some((*name, self.0.get(*name)?)));
        serializer.collect_map(fields)
    }
}

impl<K: OwnTable> JsonSchema for Fields<K> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        K::schema_name().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = K::part().schema();
        // What a table within lacks, another layer may have.
        for field in schema["properties"].as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
            field.as_object_mut().map(|field| field.remove("required"));
        }
        let Value::Object(schema) = schema else { unreachable!("a part's schema is one of a table") };
        schema.into()
    }
}
