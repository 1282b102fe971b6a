//! A field of a declared struct, whatever its type.

use serde_json::{Value as Json, json};

use crate::declaration::{Base, Declared, Switched, Tabled};
use crate::part::{FieldInfo, TableInfo, info, schema_of_fields};
use crate::spec::Spec;
use crate::table::{Context, MISSING, Mistake, Review, Table};
use crate::value::{Value, written};

/// A field of a struct `C`.
pub struct Field<C> {
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
    pub(crate) access: Box<dyn Access<C>>,
}

impl<C: 'static> Field<C> {
    /// A field of the struct itself: its name, the lines of its comment, its declaration, and the access to it.
    pub fn new<T: Value>(
        name: &'static str,
        comment: &[&str],
        spec: Spec<T>,
        get: fn(&C) -> &T,
        get_mut: fn(&mut C) -> &mut T,
    ) -> Self {
        Self { name, meaning: meaning(comment), access: Box::new(Typed { spec, get, get_mut }) }
    }

    /// A field that is a table with fields of its own.
    pub fn table<K: Tabled>(
        name: &'static str,
        comment: &[&str],
        get: fn(&C) -> &K,
        get_mut: fn(&mut C) -> &mut K,
    ) -> Self {
        Self { name, meaning: meaning(comment), access: Box::new(Nested { fields: K::Fields::fields(), get, get_mut }) }
    }

    /// A field that is a table with fields of its own, or true or false.
    pub fn switch<K: Switched>(
        name: &'static str,
        comment: &[&str],
        get: fn(&C) -> &K,
        get_mut: fn(&mut C) -> &mut K,
    ) -> Self {
        let fields = K::Fields::fields();
        Self { name, meaning: meaning(comment), access: Box::new(Switch { fields, get, get_mut }) }
    }

    /// The field, as one of a struct that holds this one.
    pub fn within<O: 'static>(self, get: fn(&O) -> &C, get_mut: fn(&mut O) -> &mut C) -> Field<O> {
        let access = Box::new(Within { inner: self.access, get, get_mut });
        Field { name: self.name, meaning: self.meaning, access }
    }

    pub(crate) fn access(&self) -> &dyn Access<C> {
        self.access.as_ref()
    }
}

/// A comment as one sentence without its full stop.
pub(crate) fn meaning(comment: &[&str]) -> String {
    let comment = comment.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    comment.trim().trim_end_matches('.').replace('`', "")
}

/// Access to a field without knowing its type.
pub(crate) trait Access<C>: Send + Sync {
    /// Sets the field to a written value; returns the mistakes of the field, or of one within.
    fn set(&self, config: &mut C, raw: &Json, context: &Context) -> Vec<Mistake>;
    /// Sets the field to its default in this context.
    fn leave_out(&self, _config: &mut C, _context: &Context) -> Vec<Mistake> {
        Vec::new()
    }
    /// True if the field must be written; cheap, unlike `declared`, since every reading calls it.
    fn is_required(&self) -> bool {
        false
    }
    /// The field's value in `config`.
    fn get(&self, config: &C) -> Json;
    /// The default in a set of defaults.
    fn default_in(&self, base: &C) -> Json {
        self.get(base)
    }
    fn declared(&self) -> Described;
}

/// Declaration of a field, without its types.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) is_required: bool,
    /// The declared default, or the example of a required field.
    pub(crate) example: Json,
    pub(crate) range: String,
    pub(crate) wanted: String,
    pub(crate) unit: &'static str,
    pub(crate) source: &'static str,
    pub(crate) absent: &'static str,
    pub(crate) words: Vec<(&'static str, &'static str)>,
    pub(crate) depends_on_context: bool,
    pub(crate) schema: Json,
    pub(crate) canonical: fn(&Json) -> Result<Json, String>,
    pub(crate) inside: Vec<Json>,
    pub(crate) outside: Vec<Json>,
    /// The description of the table, if it is one.
    pub(crate) table: Option<TableInfo>,
    /// The fields of each item of a list of tables.
    pub(crate) items: Vec<FieldInfo>,
}

struct Typed<C, T: Value> {
    spec: Spec<T>,
    get: fn(&C) -> &T,
    get_mut: fn(&mut C) -> &mut T,
}

impl<C, T: Value> Access<C> for Typed<C, T> {
    fn set(&self, config: &mut C, raw: &Json, context: &Context) -> Vec<Mistake> {
        match self.spec.read(raw, context) {
            Ok(value) => *(self.get_mut)(config) = value,
            Err(mistakes) => return explained(mistakes, (self.get)(config), &self.spec),
        }
        Vec::new()
    }

    fn leave_out(&self, config: &mut C, context: &Context) -> Vec<Mistake> {
        match self.spec.in_context.and_then(|of| of(context)) {
            Some(Ok(value)) => *(self.get_mut)(config) = value,
            Some(Err(mistakes)) => return mistakes,
            None => {}
        }
        Vec::new()
    }

    fn is_required(&self) -> bool {
        self.spec.is_required
    }

    fn get(&self, config: &C) -> Json {
        (self.get)(config).write()
    }

    fn declared(&self) -> Described {
        described(&self.spec)
    }
}

/// Mistakes with the declaration of their field, and with the value used instead.
#[cold]
#[inline(never)]
fn explained<T: Value>(mistakes: Vec<Mistake>, kept: &T, spec: &Spec<T>) -> Vec<Mistake> {
    let described = described(spec);
    with_remedies(in_range(mistakes, &described), &kept.write(), &described)
}

/// Mistakes in the type of a whole number, with the field's range in place of the type's.
fn in_range(mut mistakes: Vec<Mistake>, described: &Described) -> Vec<Mistake> {
    if let Some((kind, _)) = described.wanted.split_once(" of at most ").filter(|_| !described.range.is_empty()) {
        let wanted = format!("{kind}, {}", described.range);
        for mistake in &mut mistakes {
            mistake.message = mistake.message.replace(&described.wanted, &wanted);
        }
    }
    mistakes
}

/// The declaration of a value.
#[inline(never)]
pub(crate) fn described<T: Value>(spec: &Spec<T>) -> Described {
    Described {
        is_required: spec.is_required,
        example: spec.default.write(),
        range: spec.range_in_words(),
        wanted: T::wanted(),
        unit: spec.unit,
        source: spec.source,
        absent: spec.absent,
        words: T::words(),
        depends_on_context: spec.in_context.is_some(),
        schema: with_null(T::schema()),
        canonical: T::canonical,
        inside: examples(spec, T::inside(&spec.range), true),
        outside: examples(spec, T::outside(&spec.range), false),
        table: None,
        items: T::item_fields(),
    }
}

/// Those of these values that are allowed, or not allowed, as a scenario writes them.
#[inline(never)]
fn examples<T: Value>(spec: &Spec<T>, values: Vec<T>, allowed: bool) -> Vec<Json> {
    let mut written = Vec::new();
    for value in values {
        if spec.holds(&value) == allowed {
            written.push(value.write());
        }
    }
    written
}

/// A schema that also allows null, which is equal to leaving a field out.
fn with_null(mut schema: Json) -> Json {
    if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
        words.push(Json::Null);
    } else if let Some(forms) = schema.get_mut("anyOf").and_then(Json::as_array_mut) {
        forms.push(json!({ "type": "null" }));
    } else if let Some(Json::String(of)) = schema.get("type") {
        schema["type"] = json!([of, "null"]);
    }
    schema
}

struct Within<O, C> {
    inner: Box<dyn Access<C>>,
    get: fn(&O) -> &C,
    get_mut: fn(&mut O) -> &mut C,
}

impl<O, C> Access<O> for Within<O, C> {
    fn set(&self, config: &mut O, raw: &Json, context: &Context) -> Vec<Mistake> {
        self.inner.set((self.get_mut)(config), raw, context)
    }
    fn leave_out(&self, config: &mut O, context: &Context) -> Vec<Mistake> {
        self.inner.leave_out((self.get_mut)(config), context)
    }
    fn is_required(&self) -> bool {
        self.inner.is_required()
    }
    fn get(&self, config: &O) -> Json {
        self.inner.get((self.get)(config))
    }
    fn default_in(&self, base: &O) -> Json {
        self.inner.default_in((self.get)(base))
    }
    fn declared(&self) -> Described {
        self.inner.declared()
    }
}

struct Nested<C, K: Tabled> {
    fields: Vec<Field<K::Fields>>,
    get: fn(&C) -> &K,
    get_mut: fn(&mut C) -> &mut K,
}

impl<C, K: Tabled> Access<C> for Nested<C, K> {
    fn set(&self, config: &mut C, raw: &Json, context: &Context) -> Vec<Mistake> {
        let Some(table) = raw.as_object() else { return vec![no_table("a table")] };
        let (read, mistakes) = read_table(K::Fields::base(table), &self.fields, table, context);
        *(self.get_mut)(config) = K::from_table(read);
        mistakes
    }
    fn get(&self, config: &C) -> Json {
        (self.get)(config).to_table().map_or(Json::Null, |table| write_table(&table, &self.fields))
    }
    fn declared(&self) -> Described {
        described_table(&self.fields, &K::Fields::bases(), None)
    }
}

struct Switch<C, K: Switched> {
    fields: Vec<Field<K::Fields>>,
    get: fn(&C) -> &K,
    get_mut: fn(&mut C) -> &mut K,
}

impl<C, K: Switched> Access<C> for Switch<C, K> {
    fn set(&self, config: &mut C, raw: &Json, context: &Context) -> Vec<Mistake> {
        if let Some(on) = raw.as_bool() {
            *(self.get_mut)(config) = K::switched(on);
            return Vec::new();
        }
        let chosen = raw.as_str().filter(|_| !K::CHOSEN_BY.is_empty());
        let chosen = chosen.map(|word| Table::from_iter([(K::CHOSEN_BY.to_owned(), word.into())]));
        let Some(table) = chosen.as_ref().or_else(|| raw.as_object()) else {
            return vec![no_table(&self.declared().wanted)];
        };
        let base = K::switched(true).fields().unwrap_or_else(|| K::Fields::base(table));
        let (read, mistakes) = read_table(base, &self.fields, table, context);
        *(self.get_mut)(config) = K::of(read);
        mistakes
    }
    fn get(&self, config: &C) -> Json {
        (self.get)(config).fields().map_or(false.into(), |fields| write_table(&fields, &self.fields))
    }
    fn declared(&self) -> Described {
        described_table(&self.fields, &K::Fields::bases(), Some(K::CHOSEN_BY))
    }
}

fn no_table(wanted: &str) -> Mistake {
    Mistake::new(format!("must be {wanted}"), format!("write {wanted}"))
}

/// Reads `table` over `config`, with all mistakes.
pub(crate) fn read_table<K: Declared>(
    config: K,
    fields: &[Field<K>],
    table: &Table,
    context: &Context,
) -> (K, Vec<Mistake>) {
    let mut form = Filled { config, fields };
    let mistakes = fill(&mut form, table, context);
    (form.config, mistakes)
}

/// A configuration with its fields by number, without its type. There are over a hundred types, and code over all
/// fields is compiled once.
trait Form {
    fn names(&self) -> Vec<&'static str>;
    fn set(&mut self, field: usize, raw: &Json, context: &Context) -> Vec<Mistake>;
    fn leave_out(&mut self, field: usize, context: &Context) -> Vec<Mistake>;
    /// The example of a required field.
    fn example(&self, field: usize) -> Option<Json>;
    fn settle(&mut self, given: &Table);
    fn check(&self, review: &mut Review<'_>);
}

struct Filled<'a, K> {
    config: K,
    fields: &'a [Field<K>],
}

impl<K: Declared> Form for Filled<'_, K> {
    fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }
    fn set(&mut self, field: usize, raw: &Json, context: &Context) -> Vec<Mistake> {
        self.fields[field].access.set(&mut self.config, raw, context)
    }
    fn leave_out(&mut self, field: usize, context: &Context) -> Vec<Mistake> {
        self.fields[field].access.leave_out(&mut self.config, context)
    }
    fn example(&self, field: usize) -> Option<Json> {
        let access = &self.fields[field].access;
        access.is_required().then(|| access.declared().example)
    }
    fn settle(&mut self, given: &Table) {
        self.config.settle_all(given);
    }
    fn check(&self, review: &mut Review<'_>) {
        self.config.check_all(review);
    }
}

fn fill(form: &mut dyn Form, table: &Table, context: &Context) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let mut unread = Vec::new();
    for (field, name) in form.names().into_iter().enumerate() {
        let found = match table.get(name) {
            Some(raw) => form.set(field, raw, context),
            None => match form.example(field) {
                Some(example) => vec![missing(name, &example)],
                None => form.leave_out(field, context),
            },
        };
        if !found.is_empty() {
            unread.push(name);
        }
        mistakes.extend(found.into_iter().map(|mistake| mistake.within(name)));
    }
    form.settle(table);
    let mut review = Review::new(table, context);
    form.check(&mut review);
    // A field that could not be read has its default: what follows from that is no mistake of the writer.
    let follows = |mistake: &Mistake| {
        !unread.is_empty() && mistake.is_missing() || unread.iter().any(|name| mistake.tells_of(name))
    };
    mistakes.extend(review.into_mistakes().into_iter().filter(|mistake| !follows(mistake)));
    mistakes
}

fn missing(name: &str, example: &Json) -> Mistake {
    Mistake::new(MISSING, format!("add it, such as {name} = {}", written(example)))
}

/// The fields of `config` as a table; absent ones are left out.
pub(crate) fn write_table<K>(config: &K, fields: &[Field<K>]) -> Json {
    let written = fields.iter().map(|field| (field.name.to_owned(), field.access.get(config)));
    Json::Object(written.filter(|(_, value)| !value.is_null()).collect())
}

/// The description of a table; a switch names the field whose word stands for the table, if any.
fn described_table<K: Declared>(fields: &[Field<K>], bases: &[Base<K>], switch: Option<&'static str>) -> Described {
    let infos: Vec<FieldInfo> = fields.iter().map(|field| info(field, bases)).collect();
    let table = TableInfo::of(infos, switch);
    let mut wanted: Vec<String> = table.words().map(|word| format!("{word:?}")).collect();
    let mut schemas = vec![schema_of_fields(&table.fields)];
    if table.is_switch {
        wanted.splice(0..0, ["true".to_owned(), "false".to_owned()]);
        schemas.insert(0, json!({ "type": "boolean" }));
    }
    if table.words().next().is_some() {
        schemas.push(json!({ "enum": table.words().collect::<Vec<_>>() }));
    }
    Described {
        is_required: false,
        example: Json::Null,
        range: String::new(),
        wanted: if wanted.is_empty() { "a table".to_owned() } else { format!("{} or a table", wanted.join(", ")) },
        unit: "",
        source: "",
        absent: "none",
        words: Vec::new(),
        depends_on_context: false,
        schema: with_null(if table.is_switch { json!({ "anyOf": schemas }) } else { schemas.remove(0) }),
        canonical: |raw| Ok(raw.clone()),
        inside: Vec::new(),
        outside: Vec::new(),
        table: Some(table),
        items: Vec::new(),
    }
}

/// Mistakes, each with a remedy.
pub(crate) fn with_remedies(mut mistakes: Vec<Mistake>, default: &Json, described: &Described) -> Vec<Mistake> {
    for mistake in mistakes.iter_mut().filter(|mistake| mistake.remedy.is_empty()) {
        mistake.remedy = remedy(default, described);
    }
    mistakes
}

/// The remedy for a value that is not in its range.
fn remedy(default: &Json, described: &Described) -> String {
    let source = if described.source.is_empty() { String::new() } else { format!(" ({})", described.source) };
    match (default, described.is_required) {
        _ if described.depends_on_context => format!("left out it is {}{source}", described.absent),
        (_, true) => format!("write for example {}{source}", written(&described.example)),
        (Json::Null, _) => format!("leave it out: {}{source}", described.absent),
        (default, _) => format!("the default is {}{source}", written(default)),
    }
}
