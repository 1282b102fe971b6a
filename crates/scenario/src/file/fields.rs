//! Tables and words of other crates, as they declare them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use ackclock_declare::{About, Declared, Entry, Part, Table, Words, read_word, schema_of_words, table_of};
use ackclock_net::{
    AggregateConfig, ChangingDelay, ChangingRate, ChannelConfig, HandoverConfig, ImpairmentConfig, PolicerConfig,
};
use ackclock_sim::{
    FileApp, FilesApp, LogNormalGaps, LogNormalSizes, OnOffApp, ParetoSizes, RateApp, UdpProtocol, VideoApp,
};
use ackclock_tcp::{AckControlConfig, DelayedAck, PacingConfig, RtoConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, DeserializeSeed, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::Overlay;
use super::chosen::TableOf;

/// A declared struct that is a table of a scenario, without a kind.
pub(crate) trait OwnTable: Declared {
    /// Its fields.
    fn part() -> &'static Part<Self>;
}

macro_rules! own_tables {
    ($($type:ty: $name:literal, $summary:literal;)*) => {
        $(impl OwnTable for $type {
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
    RtoConfig: "rto", "The retransmission timer; defaults belong to the estimator";
    DelayedAck: "delayed_ack", "Delayed acknowledgements";
    AckControlConfig: "ack_congestion_control", "ACK congestion control";
    PacingConfig: "pacing", "Pacing as a multiple of cwnd / SRTT";
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
    UdpProtocol,
    LogNormalGaps,
    ParetoSizes,
    LogNormalSizes
);

/// What was written of such a table.
pub(crate) struct Fields<K>(pub(crate) Table, PhantomData<K>);

impl<K: OwnTable> Fields<K> {
    /// A table that says all of `config`.
    pub(crate) fn all_of(config: &K) -> Self {
        Self(table_of(config), PhantomData)
    }

    /// A table with this field, if that is written.
    pub(crate) fn with(field: &str, value: Option<impl Into<Value>>) -> Self {
        let field = value.map(|value| (field.to_owned(), value.into()));
        Self(field.into_iter().collect(), PhantomData)
    }

    /// True if it has this field.
    pub(crate) fn says(&self, field: &str) -> bool {
        self.0.contains_key(field)
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

impl<K> Overlay for Fields<K> {
    fn overlaid_by(&self, later: &Self) -> Self {
        let mut table = self.0.clone();
        table.extend(later.0.clone());
        Self(table, PhantomData)
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
        format!("{}_table", K::part().about.name).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let Value::Object(schema) = K::part().schema() else { unreachable!("a part's schema is one of a table") };
        schema.into()
    }
}

/// One of a few words that another crate declares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Word<T>(pub(crate) T);

impl<T> Word<T> {
    /// What it stands for.
    pub(crate) fn value(self) -> T {
        self.0
    }
}

impl<T: Words> Overlay for Word<T> {
    fn overlaid_by(&self, later: &Self) -> Self {
        *later
    }
}

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Value::deserialize(deserializer)?;
        read_word(&raw).map(Self).map_err(de::Error::custom)
    }
}

impl<T: Words> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<T: Words> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::ALL.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join("_or_").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let Value::Object(schema) = schema_of_words::<T>() else { unreachable!("a schema of words") };
        schema.into()
    }
}
