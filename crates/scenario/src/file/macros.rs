//! Macros for the file types: tables of optional fields, enums with a `kind`, enums of words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Layers of options: fields that a later table sets win, and others stay.
pub(crate) trait Overlay {
    fn overlaid_by(&self, later: &Self) -> Self;
}

impl<T: Overlay + Clone> Overlay for Option<T> {
    fn overlaid_by(&self, later: &Self) -> Self {
        match (self, later) {
            (Some(earlier), Some(later)) => Some(earlier.overlaid_by(later)),
            (earlier, later) => later.clone().or_else(|| earlier.clone()),
        }
    }
}

/// An overlay of values without parts: the later one wins.
macro_rules! overlay_replaces {
    ($($type:ty),*) => {
        $(impl $crate::file::Overlay for $type {
            fn overlaid_by(&self, later: &Self) -> Self {
                later.clone()
            }
        })*
    };
}

overlay_replaces!(bool, f64, u32);

/// A variant without parameters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Empty {}

/// Defines a struct whose fields are all optional, and which refuses any other.
macro_rules! table {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[allow(clippy::struct_field_names, reason = "fields are called what they are called in a file")]
        $vis struct $name {
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                $vis $field: Option<$type>,
            )*
        }
    };
}

/// Defines a [`table!`] that can be laid over another.
macro_rules! layer {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $crate::file::macros::table! { $(#[$meta])* $vis struct $name { $($(#[$field_meta])* $field: $type,)* } }

        impl $crate::file::Overlay for $name {
            fn overlaid_by(&self, later: &Self) -> Self {
                Self { $($field: self.$field.overlaid_by(&later.$field),)* }
            }
        }
    };
}

/// Defines an enum written as a bare word or as a table with a `kind`. With `own`, it may also be a part of a library.
macro_rules! kinds {
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[doc = $doc:literal])+ $word:literal = $variant:ident($content:ty),)*
        }
        own $own:ident($own_type:ty);
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[doc = $doc])+ $variant($content),)*
            /// A custom part.
            $own($own_type),
        }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word that names the variant.
            $vis fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)*
                    Self::$own(chosen) => chosen.part.about.name,
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::file::chosen::read_word_or_own(deserializer, stringify!($name), Self::WORDS, Self::$own)
            }
        }

        impl $crate::file::chosen::ReadWord for $name {
            fn read_word<'de, A: serde::de::VariantAccess<'de>>(word: &str, content: A) -> Result<Self, A::Error> {
                match word {
                    $($word => content.newtype_variant().map(Self::$variant),)*
                    _ => unreachable!("one of the words has been found"),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(content) => $crate::file::macros::serialize_kind($word, content, serializer),)*
                    Self::$own(chosen) => chosen.serialize(serializer),
                }
            }
        }

        $crate::file::macros::kinds! { @schema $name { $($word = $content, concat!($($doc),+);)* } }
    };
    (@schema $name:ident { $($word:literal = $content:ty, $doc:expr;)* }) => {
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let variants = vec![
                    $({
                        let mut variant = $crate::file::macros::kind_schema($word, <$content>::json_schema(generator));
                        variant.insert("description".to_owned(), $doc.trim().into());
                        variant
                    },)*
                ];
                $crate::file::macros::kinds_schema(variants)
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[doc = $doc:literal])+ $word:literal = $variant:ident($content:ty),)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        $vis enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant($content),)*
        }

        impl $name {
            /// The word that names the variant.
            #[allow(dead_code)]
            $vis fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)*
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(content) => $crate::file::macros::serialize_kind($word, content, serializer),)*
                }
            }
        }

        $crate::file::macros::kinds! { @schema $name { $($word = $content, concat!($($doc),+);)* } }
    };
}

/// Defines an enum of words, each for a value of a type from another crate.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident for $target:ident { $($word:literal = $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        $vis enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl From<$name> for $target {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)*
                }
            }
        }

        impl From<$target> for $name {
            fn from(value: $target) -> Self {
                match value {
                    $($target::$variant => Self::$variant,)*
                }
            }
        }

        $crate::file::macros::overlay_replaces!($name);
    };
}

pub(crate) use {kinds, layer, overlay_replaces, table, words};

pub(crate) fn serialize_kind<T: Serialize, S: serde::Serializer>(
    kind: &str,
    content: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut table = serde_json::Map::new();
    table.insert("kind".to_owned(), kind.into());
    if let serde_json::Value::Object(fields) = serde_json::to_value(content).map_err(serde::ser::Error::custom)? {
        table.extend(fields);
    }
    table.serialize(serializer)
}

/// The schema of a variant's table: its content's schema, with the `kind`.
pub(crate) fn kind_schema(kind: &str, mut content: schemars::Schema) -> schemars::Schema {
    let object = content.ensure_object();
    let properties = object.entry("properties").or_insert_with(|| serde_json::json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("kind".to_owned(), serde_json::json!({ "const": kind }));
    }
    let required = object.entry("required").or_insert_with(|| serde_json::json!([]));
    if let Some(required) = required.as_array_mut() {
        required.insert(0, "kind".into());
    }
    content
}

/// The schema of an enum: tables of every kind, and bare words for kinds without required parameters.
pub(crate) fn kinds_schema(variants: Vec<schemars::Schema>) -> schemars::Schema {
    let word_of = |schema: &schemars::Schema| {
        let required = schema.get("required")?.as_array()?.len();
        let kind = schema.pointer("/properties/kind/const")?.clone();
        (required == 1).then_some(kind)
    };
    let words: Vec<serde_json::Value> = variants.iter().filter_map(word_of).collect();
    let mut choices: Vec<serde_json::Value> = variants.into_iter().map(Into::into).collect();
    if !words.is_empty() {
        choices.insert(0, serde_json::json!({ "enum": words }));
    }
    schemars::json_schema!({ "anyOf": choices })
}
