//! The trait behind [`declare!`](crate::declare).

use serde_json::Value as Json;

use crate::field::{Field, write_table};
use crate::table::{Review, Table};

/// A struct whose fields are declared.
pub trait Declared: Clone + Send + Sync + Sized + 'static {
    /// Its fields, in the order of the declaration, those of structs within it included.
    fn fields() -> Vec<Field<Self>>;

    /// The values that hold where nothing is written, and under which word of which field others do.
    fn bases() -> Vec<Base<Self>>;

    /// What does not go together of values each in its range.
    const CHECK: Option<Check<Self>>;

    /// What holds where nothing but `given` is written.
    fn base(given: &Table) -> Self {
        let mut bases = Self::bases();
        let is_meant = |base: &Base<Self>| {
            base.when.is_some_and(|(field, word)| given.get(field).and_then(|value| value.as_str()) == Some(word))
        };
        let position = bases.iter().position(is_meant).unwrap_or(0);
        bases.swap_remove(position).config
    }
}

/// A table that may also be written as true or false.
pub trait Switched: Clone + Send + Sync + 'static {
    /// What a table of it has.
    type Fields: Declared;

    /// What `true` and `false` stand for.
    fn switched(on: bool) -> Self;

    /// What a table stands for.
    fn of(fields: Self::Fields) -> Self;

    /// What it has if it is on.
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

/// A set of defaults.
#[derive(Clone, Debug)]
pub struct Base<C> {
    /// The field and the word that choose it; the first of all is also chosen by nothing.
    pub when: Option<(&'static str, &'static str)>,
    /// The defaults.
    pub config: C,
}

/// What does not go together, of values each in its range.
pub type Check<C> = fn(&C, &mut Review<'_>);

/// Every field of `config` as a scenario would write it; what is absent is left out.
pub fn table_of<K: Declared>(config: &K) -> Table {
    match write_table(config, &K::fields()) {
        Json::Object(table) => table,
        _ => Table::new(),
    }
}
