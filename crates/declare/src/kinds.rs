//! Fields that hold one of a few kinds, each with fields of its own.

use serde_json::{Map, Value as Json};

use crate::part::FieldInfo;
use crate::value::Value;

/// An enum of declared structs without required fields: `"rate" = Rate(ByRate)`. A scenario writes the word, or a table
/// with a `kind`. Attributes and comments stay with their variants.
#[macro_export]
macro_rules! kinds {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $doc:literal])+ $word:literal = $variant:ident($config:ty),)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[doc = $doc])+ $variant($config),)*
        }

        impl $name {
            /// Each kind with its fields.
            pub fn kinds() -> Vec<(&'static str, Vec<$crate::FieldInfo>)> {
                vec![$(($word, <$config as $crate::Value>::item_fields())),*]
            }
        }

        impl $crate::Value for $name {
            $crate::without_range!();

            fn wanted() -> String {
                $crate::wanted_kind(&Self::kinds())
            }
            fn read(raw: &$crate::Json) -> Result<Self, String> {
                let first = |mistakes: Vec<$crate::Mistake>| mistakes.into_iter().map(|one| one.message).next();
                Self::read_in(raw, &$crate::Context::default()).map_err(|found| first(found).unwrap_or_default())
            }
            fn read_in(raw: &$crate::Json, context: &$crate::Context) -> Result<Self, Vec<$crate::Mistake>> {
                let (kind, fields) = $crate::kind_and_fields(raw);
                match kind.as_str() {
                    $($word => <$config as $crate::Value>::read_in(&fields, context).map(Self::$variant),)*
                    _ => Err(vec![$crate::Mistake::new(format!("must be {}", Self::wanted()), "")]),
                }
            }
            fn write(&self) -> $crate::Json {
                match self {
                    $(Self::$variant(config) => $crate::with_kind($word, $crate::Value::write(config)),)*
                }
            }
            fn canonical(raw: &$crate::Json) -> Result<$crate::Json, String> {
                let (kind, fields) = $crate::kind_and_fields(raw);
                match kind.as_str() {
                    $($word => $crate::canonical_kind::<$config>($word, &fields),)*
                    _ => Err(format!("must be {wanted}; write {wanted}", wanted = Self::wanted())),
                }
            }
            fn schema() -> $crate::Json {
                $crate::kinds_schema(&[$(($word, &$crate::schemas_of_fields::<$config>()[..])),*])
            }
            fn inside(_: &$crate::Range<$crate::Unordered>) -> Vec<Self> {
                vec![$(Self::$variant(<$config>::default())),*]
            }
        }
    };
}

/// The allowed forms in words: `"a", { kind = "a", x }, "b" or { kind = "b", y }`.
pub fn wanted_kind(kinds: &[(&str, Vec<FieldInfo>)]) -> String {
    let names = |fields: &[FieldInfo]| fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
    let words =
        |(kind, fields): &(&str, Vec<FieldInfo>)| format!("{kind:?} or {{ kind = {kind:?}, {} }}", names(fields));
    kinds.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// The written kind, empty if there is none, and the other fields.
pub fn kind_and_fields(raw: &Json) -> (String, Json) {
    match raw {
        Json::String(kind) => (kind.clone(), Json::Object(Map::new())),
        Json::Object(table) => {
            let kind = table.get("kind").and_then(Json::as_str).unwrap_or_default().to_owned();
            let fields = table.iter().filter(|(name, _)| *name != "kind");
            (kind, fields.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => (String::new(), Json::Null),
    }
}

/// The fields behind their kind.
pub fn with_kind(kind: &str, fields: Json) -> Json {
    let fields = if let Json::Object(fields) = fields { fields } else { Map::new() };
    std::iter::once(("kind".to_owned(), kind.into())).chain(fields).collect()
}

/// Written fields of a kind, each in the form in which its type writes, in the order of the declaration.
pub fn canonical_kind<K: Value>(kind: &str, fields: &Json) -> Result<Json, String> {
    let known = K::item_fields();
    let is_known = |name: &String| known.iter().any(|info| info.name == name);
    if let Some(unknown) = fields.as_object().and_then(|fields| fields.keys().find(|name| !is_known(name))) {
        let names: Vec<&str> = known.iter().map(|info| info.name).collect();
        return Err(format!("must not hold a field {unknown:?}; {kind} has {}", names.join(", ")));
    }
    let read = |info: &FieldInfo| {
        let read = |value| info.read(value).map_err(|error| format!("{}: {error}", info.name));
        fields.get(info.name).map(|value| Ok((info.name.to_owned(), read(value)?)))
    };
    known
        .iter()
        .filter_map(read)
        .collect::<Result<Map<String, Json>, String>>()
        .map(|fields| with_kind(kind, fields.into()))
}

/// The schema of each field of a declared struct.
pub fn schemas_of_fields<K: Value>() -> Vec<(&'static str, Json)> {
    K::item_fields().iter().map(|info| (info.name, info.schema())).collect()
}
