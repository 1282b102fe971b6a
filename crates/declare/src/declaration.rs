//! The trait behind [`declare!`](crate::declare).

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::field::{Field, read_table, write_table};
use crate::part::{FieldInfo, infos, schema_of_fields};
use crate::range::{Range, Unordered};
use crate::table::{Context, Mistake, Review, Table};
use crate::value::{Value, wrong_type};

/// A struct whose fields are declared.
pub trait Declared: Clone + Send + Sync + Sized + 'static {
    /// The fields in the order of the declaration, with those of structs within.
    fn fields() -> Vec<Field<Self>>;

    /// The sets of defaults, and for each the word of a field that chooses it.
    fn bases() -> Vec<Base<Self>>;

    /// Function that derives values from several fields together.
    const SETTLE: Option<Settle<Self>>;

    /// The check of combinations of values that are each in their range.
    const CHECK: Option<Check<Self>>;

    /// Derives values from several fields together, with those of structs within.
    fn settle_all(&mut self, given: &Table);

    /// Checks combinations of values, in structs within it too.
    fn check_all(&self, review: &mut Review<'_>);

    /// The values of a table with only `given`.
    #[inline(never)]
    fn base(given: &Table) -> Self {
        let mut bases = Self::bases();
        let is_meant = |base: &Base<Self>| {
            base.when.is_some_and(|(field, word)| given.get(field).and_then(|value| value.as_str()) == Some(word))
        };
        let position = bases.iter().position(is_meant).unwrap_or(0);
        bases.swap_remove(position).config
    }
}

/// A table that may also be written as true or false, or as a word of one of its fields.
pub trait Switched: Clone + Send + Sync + 'static {
    /// The fields of the table.
    type Fields: Declared;

    /// The field whose word may stand for the whole table; empty for none.
    const CHOSEN_BY: &'static str = "";

    /// The value for `true` or `false`.
    fn switched(on: bool) -> Self;

    /// The value of a table with these fields.
    fn of(fields: Self::Fields) -> Self;

    /// The fields of the table, if it is on.
    fn fields(&self) -> Option<Self::Fields>;
}

impl<K: Declared + Default> Switched for Option<K> {
    type Fields = K;

    fn switched(on: bool) -> Self {
        on.then(K::default)
    }
    fn of(fields: K) -> Self {
        Some(fields)
    }
    fn fields(&self) -> Option<K> {
        self.clone()
    }
}

/// A table in a table, which may be absent if it is an [`Option`].
pub trait Tabled: Clone + Send + Sync + 'static {
    /// The fields of the table, each with its default and range.
    type Fields: Declared;

    /// The value of a table with these fields.
    fn from_table(fields: Self::Fields) -> Self;

    /// The fields of the table, if it is present.
    fn to_table(&self) -> Option<Self::Fields>;
}

impl<K: Declared> Tabled for K {
    type Fields = K;

    fn from_table(fields: K) -> Self {
        fields
    }
    fn to_table(&self) -> Option<K> {
        Some(self.clone())
    }
}

impl<K: Declared> Tabled for Option<K> {
    type Fields = K;

    fn from_table(fields: K) -> Self {
        Some(fields)
    }
    fn to_table(&self) -> Option<K> {
        self.clone()
    }
}

/// A set of defaults.
#[derive(Clone, Debug)]
pub struct Base<C> {
    /// The field and its word that choose the set; the first set also holds without a word.
    pub when: Option<(&'static str, &'static str)>,
    /// The parameters with their defaults.
    pub config: C,
}

/// Function that derives values from several fields together, given those that were written.
pub type Settle<C> = fn(&mut C, &Table);

/// Check for combinations of values that are each in their range.
pub type Check<C> = fn(&C, &mut Review<'_>);

/// The fields of `config` as a scenario would write them; absent ones are left out.
pub fn table_of<K: Declared>(config: &K) -> Table {
    match write_table(config, &K::fields()) {
        Json::Object(table) => table,
        _ => Table::new(),
    }
}

/// A declared struct as a value of a field: a table.
impl<T: Declared + PartialEq + Debug> Value for T {
    crate::without_range!();

    fn wanted() -> String {
        let names: Vec<&str> = T::fields().iter().map(|field| field.name).collect();
        format!("a table of {}", names.join(", "))
    }

    fn read(raw: &Json) -> Result<Self, String> {
        let first = |mistakes: Vec<Mistake>| mistakes.into_iter().next().map_or_else(String::new, |one| one.message);
        Self::read_in(raw, &Context::default()).map_err(first)
    }

    fn read_in(raw: &Json, context: &Context) -> Result<Self, Vec<Mistake>> {
        let table = raw.as_object().ok_or_else(|| vec![Mistake::new(wrong_type::<Self>(raw), "")])?;
        let (read, mistakes) = read_table(Self::base(table), &T::fields(), table, context);
        if mistakes.is_empty() { Ok(read) } else { Err(mistakes) }
    }

    /// Writes only values that differ from the defaults, and required ones.
    fn write(&self) -> Json {
        let default = Self::base(&Table::new());
        let entry = |field: &Field<Self>| {
            let (own, default) = (field.access().get(self), field.access().get(&default));
            (own != default || field.access().is_required()).then(|| (field.name.to_owned(), own))
        };
        Json::Object(T::fields().iter().filter_map(entry).collect())
    }

    fn canonical(raw: &Json) -> Result<Json, String> {
        let table = raw.as_object().ok_or_else(|| wrong_type::<Self>(raw))?;
        let infos = infos::<T>();
        let field = |(name, value): (&String, &Json)| {
            let info = infos.iter().find(|info| info.name == name).ok_or_else(|| wrong_type::<Self>(raw))?;
            Ok((name.clone(), info.read(value)?))
        };
        table.iter().map(field).collect::<Result<Table, String>>().map(Json::Object)
    }

    fn schema() -> Json {
        schema_of_fields(&infos::<T>())
    }

    fn inside(_: &Range<Unordered>) -> Vec<Self> {
        vec![Self::base(&Table::new())]
    }

    fn item_fields() -> Vec<FieldInfo> {
        infos::<T>()
    }
}
