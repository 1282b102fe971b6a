//! A part that a scenario names, with the fields that it sets. The parts themselves declare which parts there are, and
//! which fields each has.

use std::fmt;
use std::marker::PhantomData;

use ackclock_declare::{FieldInfo, Library, Part, Parts, Table, TableInfo};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::macros::{kind_schema, kinds_schema};

/// A kind of parts, such as controllers.
pub(crate) trait Kind: 'static {
    /// The configuration that a part becomes.
    type Config: 'static;
    /// Facts that each part declares beside its fields.
    type Extra: 'static;

    /// The name of the JSON Schema.
    const NAME: &'static str;

    /// The built-in parts.
    fn parts() -> &'static Parts<Self::Config, Self::Extra>;

    /// The part with this name, built in or from the open library.
    fn find(name: &str) -> Option<&'static Part<Self::Config, Self::Extra>> {
        Self::parts().find_known(name)
    }

    /// The names in a library that are built in already.
    fn taken(library: &Library) -> Vec<&'static str> {
        let names = library.names::<Self::Config, Self::Extra>();
        names.filter(|name| Self::parts().find(name).is_some()).collect()
    }
}

/// A part, with the fields that the scenario sets, each of its type.
pub(crate) struct Chosen<K: Kind> {
    pub(crate) part: &'static Part<K::Config, K::Extra>,
    pub(crate) table: Table,
}

impl<K: Kind> Chosen<K> {
    /// A part with no field set.
    ///
    /// # Panics
    ///
    /// If there is no such part.
    pub(crate) fn of(name: &str) -> Self {
        let part = K::parts().find_known(name).unwrap_or_else(|| panic!("{name} is declared"));
        Self { part, table: Table::new() }
    }

    /// The part, where fields that this leaves unset are as in `earlier`.
    pub(crate) fn over(&self, earlier: &Table) -> Self {
        let mut table = earlier.clone();
        table.extend(self.table.clone());
        Self { part: self.part, table }
    }

    /// The part's name and fields, in the order of its declaration.
    pub(crate) fn to_table(&self) -> Table {
        let kind = ("kind".to_owned(), Value::from(self.part.about.name));
        let fields = self.part.field_names().iter();
        let written = fields.filter_map(|name| Some(((*name).to_owned(), self.table.get(*name)?.clone())));
        std::iter::once(kind).chain(written).collect()
    }
}

impl<K: Kind> Clone for Chosen<K> {
    fn clone(&self) -> Self {
        Self { part: self.part, table: self.table.clone() }
    }
}

impl<K: Kind> PartialEq for Chosen<K> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.part, other.part) && self.table == other.table
    }
}

impl<K: Kind> fmt::Debug for Chosen<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(K::NAME).field(&self.to_table()).finish()
    }
}

impl<K: Kind> Serialize for Chosen<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_table().serialize(serializer)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Chosen<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads<K>(PhantomData<K>);
        impl<'de, K: Kind> Visitor<'de> for Reads<K> {
            type Value = Chosen<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a table with a kind")
            }
            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Chosen<K>, A::Error> {
                let (part, content) = data.variant_seed(NameOf(K::parts().known_names(), K::find))?;
                read_content(part, content)
            }
        }
        deserializer.deserialize_enum(K::NAME, K::parts().known_names(), Reads(PhantomData))
    }
}

/// Reads the table of a part whose name has been read.
pub(crate) fn read_content<'de, K: Kind, A: VariantAccess<'de>>(
    part: &'static Part<K::Config, K::Extra>,
    content: A,
) -> Result<Chosen<K>, A::Error> {
    let table = content.newtype_variant_seed(TableOf { fields: &part.fields, names: part.field_names() })?;
    Ok(Chosen { part, table })
}

/// An enum of parts, each with a word.
pub(crate) trait ReadWord: Sized {
    /// Reads the table of the part with this word.
    fn read_word<'de, A: VariantAccess<'de>>(word: &str, content: A) -> Result<Self, A::Error>;
}

/// Reads a part that has one of the words of `T`, or that comes from the library.
pub(crate) fn read_word_or_own<'de, T: ReadWord, K: Kind, D: Deserializer<'de>>(
    deserializer: D,
    name: &'static str,
    words: &'static [&'static str],
    own: fn(Chosen<K>) -> T,
) -> Result<T, D::Error> {
    struct Reads<T, K: Kind>(&'static [&'static str], fn(Chosen<K>) -> T);
    impl<'de, T: ReadWord, K: Kind> Visitor<'de> for Reads<T, K> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name, or a table with a kind")
        }
        fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<T, A::Error> {
            let Self(words, own) = self;
            let word_of = |name: &str| words.iter().copied().find(|word| *word == name);
            let find = |name: &str| word_of(name).map(Err).or_else(|| K::find(name).map(Ok));
            match data.variant_seed(NameOf(K::parts().with_known_names(words), find))? {
                (Ok(part), content) => read_content(part, content).map(own),
                (Err(word), content) => T::read_word(word, content),
            }
        }
    }
    deserializer.deserialize_enum(name, K::parts().with_known_names(words), Reads(words, own))
}

/// Reads one of the known names; the second field finds what it names.
pub(crate) struct NameOf<F>(pub(crate) &'static [&'static str], pub(crate) F);

impl<'de, T, F: FnOnce(&str) -> Option<T>> DeserializeSeed<'de> for NameOf<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        let name = String::deserialize(deserializer)?;
        (self.1)(&name).ok_or_else(|| de::Error::unknown_variant(&name, self.0))
    }
}

/// Reads a table of declared fields, each of its type.
pub(crate) struct TableOf {
    pub(crate) fields: &'static [FieldInfo],
    pub(crate) names: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for TableOf {
    type Value = Table;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Table, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TableOf {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table with fields out of: {}", self.names.join(", "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut table = Table::new();
        let find = |name: &str| self.fields.iter().find(|field| field.name == name);
        while let Some(field) = map.next_key_seed(FieldOf(self.names, &find))? {
            table.insert(field.name.to_owned(), map.next_value_seed(ValueOf(field))?);
        }
        Ok(table)
    }
}

/// Reads the name of a field.
struct FieldOf<F>(&'static [&'static str], F);

impl<'de, F: FnOnce(&str) -> Option<&'static FieldInfo>> DeserializeSeed<'de> for FieldOf<F> {
    type Value = &'static FieldInfo;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static FieldInfo, D::Error> {
        let name = String::deserialize(deserializer)?;
        (self.1)(&name).ok_or_else(|| de::Error::unknown_field(&name, self.0))
    }
}

/// Reads a value of a field's type.
struct ValueOf(&'static FieldInfo);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if let Some(items) = &self.0.items {
            return deserializer.deserialize_seq(TablesOf(items));
        }
        if let Some(table) = &self.0.table {
            return deserializer.deserialize_any(TableIn(table));
        }
        let raw = Value::deserialize(deserializer)?;
        self.0.read(&raw).map_err(de::Error::custom)
    }
}

/// Reads a table within a table; a switch may also be true, false or a word that stands for a table.
struct TableIn(&'static TableInfo);

impl<'de> Visitor<'de> for TableIn {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut allowed = vec!["true".to_owned(), "false".to_owned()];
        allowed.extend(self.0.words().map(|word| format!("{word:?}")));
        let switch = if self.0.is_switch { allowed.join(", ") + " or " } else { String::new() };
        write!(f, "{switch}a table with fields out of: {}", self.0.names.join(", "))
    }
    fn visit_bool<E: de::Error>(self, on: bool) -> Result<Value, E> {
        if self.0.is_switch { Ok(on.into()) } else { Err(E::invalid_type(Unexpected::Bool(on), &self)) }
    }
    fn visit_str<E: de::Error>(self, word: &str) -> Result<Value, E> {
        if !self.0.words().any(|known| known == word) {
            return Err(E::invalid_value(Unexpected::Str(word), &self));
        }
        // The table, so that others can be laid over it.
        Ok(Value::Object(Table::from_iter([(self.0.chosen_by.to_owned(), word.into())])))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        TableOf { fields: &self.0.fields, names: &self.0.names }.visit_map(map).map(Value::Object)
    }
}

/// Reads a list of tables. A wrong one becomes null, so that the others keep their index.
struct TablesOf(&'static TableInfo);

impl<'de> Visitor<'de> for TablesOf {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tables")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut tables = Vec::new();
        while let Some(table) = list.next_element_seed(TableOrHole(self.0))? {
            tables.push(table);
        }
        Ok(tables.into())
    }
}

struct TableOrHole(&'static TableInfo);

impl<'de> DeserializeSeed<'de> for TableOrHole {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for TableOrHole {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        TableOf { fields: &self.0.fields, names: &self.0.names }.deserialize(deserializer).map(Value::Object)
    }
}

impl<K: Kind> JsonSchema for Chosen<K> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        K::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        kinds_schema(K::parts().iter().map(schema_of).collect())
    }
}

/// The schema of a part's table, with its kind.
pub(crate) fn schema_of<C: 'static, X>(part: &Part<C, X>) -> Schema {
    let Value::Object(schema) = part.schema() else { unreachable!("a part's schema is one of a table") };
    kind_schema(part.about.name, schema.into())
}
