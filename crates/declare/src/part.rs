//! Parts that a scenario names, each with its prose and its fields.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value as Json, json};

use crate::declaration::{Base, Declared};
use crate::field::{Described, Field, read_table};
use crate::table::{Context, Mistake, Table};
use crate::value::written;

impl About {
    /// A description of only a name and a summary.
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        Self { name, aliases: &[], summary, source: "", departures: "" }
    }
}

/// Description of a part beside its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The name in a scenario.
    pub name: &'static str,
    /// Other names that a scenario may use for it.
    pub aliases: &'static [&'static str],
    /// Summary in one line.
    pub summary: &'static str,
    /// The source: an RFC, a paper, or an implementation.
    pub source: &'static str,
    /// The departures from the source.
    pub departures: &'static str,
}

/// A field of a part, without its types.
#[derive(Clone)]
pub struct FieldInfo {
    /// The name in a scenario.
    pub name: &'static str,
    /// Meaning in a sentence.
    pub meaning: String,
    /// The default as a scenario would write it, if there is one.
    pub default: Option<Json>,
    /// The default in words, with the other defaults that words of another field choose.
    pub default_text: String,
    /// The allowed values, in words.
    pub range: String,
    /// The allowed words, each with its meaning.
    pub words: Vec<(&'static str, &'static str)>,
    /// The unit, such as "segments"; empty if the value contains it.
    pub unit: &'static str,
    /// Source of default and range.
    pub source: &'static str,
    /// True if the field must be written.
    pub is_required: bool,
    /// Values in its range, for tests.
    pub inside: Vec<Json>,
    /// Values just outside its range, for tests.
    pub outside: Vec<Json>,
    /// The fields within, if it is a table.
    pub table: Option<TableInfo>,
    /// The fields of each item, if it is a list of tables.
    pub items: Option<TableInfo>,
    pub(crate) schema: Json,
    pub(crate) canonical: Canonical,
}

/// Converts a written value to the form of its type.
pub type Canonical = Arc<dyn Fn(&Json) -> Result<Json, String> + Send + Sync>;

/// A field that is a table.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The fields of the table.
    pub fields: Vec<FieldInfo>,
    /// The names of these fields.
    pub names: Vec<&'static str>,
    /// True if the table may also be written as true or false.
    pub is_switch: bool,
    /// The field whose word may stand for the whole table; empty for none.
    pub chosen_by: &'static str,
}

impl TableInfo {
    /// The description of a table. `switch` is given for tables that may be written as true or false: the field whose
    /// word stands for it, if any.
    pub(crate) fn of(fields: Vec<FieldInfo>, switch: Option<&'static str>) -> Self {
        let names = fields.iter().map(|field| field.name).collect();
        Self { names, fields, is_switch: switch.is_some(), chosen_by: switch.unwrap_or_default() }
    }

    /// The words that may stand for the whole table.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let chosen = self.fields.iter().filter(|field| field.name == self.chosen_by);
        chosen.flat_map(|field| field.words.iter().map(|(word, _)| *word))
    }

    /// A table with undescribed types: values within are taken as written, and the author of the description reads
    /// them.
    fn of_description(description: &Json) -> Option<Self> {
        let fields = description["fields"].as_array()?;
        let field = |field: &Json| FieldInfo::of_description(field, Arc::new(|raw: &Json| Ok(raw.clone())));
        let switch = description["is_switch"] == true;
        Some(Self::of(fields.iter().map(field).collect(), switch.then(|| kept(&description["chosen_by"]))))
    }
}

fn described_all(fields: &[FieldInfo]) -> Vec<Json> {
    fields.iter().map(FieldInfo::describe).collect()
}

fn kept(text: &Json) -> &'static str {
    text.as_str().unwrap_or_default().to_owned().leak()
}

impl fmt::Debug for FieldInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldInfo").field("name", &self.name).field("range", &self.range).finish_non_exhaustive()
    }
}

impl FieldInfo {
    /// Converts `raw` to the form of this field's type; the error is "what is wrong; what to do".
    pub fn read(&self, raw: &Json) -> Result<Json, String> {
        (self.canonical)(raw)
    }

    /// The complete description of the field, for [`Self::of_description`].
    pub fn describe(&self) -> Json {
        let tables = |info: &TableInfo| json!({ "fields": described_all(&info.fields), "is_switch": info.is_switch, "chosen_by": info.chosen_by });
        json!({
            "name": self.name, "meaning": self.meaning, "default": self.default, "default_text": self.default_text,
            "range": self.range, "words": self.words, "unit": self.unit, "source": self.source,
            "is_required": self.is_required, "schema": self.schema,
            "table": self.table.as_ref().map(tables), "items": self.items.as_ref().map(tables),
        })
    }

    /// A field that another process, or the other side of a boundary, has described. Texts live as long as the program.
    pub fn of_description(description: &Json, canonical: Canonical) -> Self {
        let text = |key: &str| -> &'static str { kept(&description[key]) };
        let words = description["words"].as_array().map_or(&[][..], Vec::as_slice);
        Self {
            name: text("name"),
            meaning: text("meaning").to_owned(),
            default: Some(description["default"].clone()).filter(|value| !value.is_null()),
            default_text: text("default_text").to_owned(),
            range: text("range").to_owned(),
            words: words.iter().map(|pair| (kept(&pair[0]), kept(&pair[1]))).collect(),
            unit: text("unit"),
            source: text("source"),
            is_required: description["is_required"].as_bool().unwrap_or_default(),
            inside: Vec::new(),
            outside: Vec::new(),
            table: TableInfo::of_description(&description["table"]),
            items: TableInfo::of_description(&description["items"]),
            schema: description["schema"].clone(),
            canonical,
        }
    }

    /// The field's entry in a catalogue, under this name.
    pub fn to_json(&self, name: &str) -> Json {
        json!({ "name": name, "default": self.default_text, "range": self.range, "meaning": self.meaning })
    }

    /// The field as JSON Schema.
    pub fn schema(&self) -> Json {
        let mut schema = self.schema.clone();
        schema["description"] = format!("{}.", self.meaning).into();
        schema
    }
}

/// The result of reading a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading<C> {
    /// The configuration; it has defaults in place of mistakes.
    pub config: C,
    /// The mistakes.
    pub mistakes: Vec<Mistake>,
}

/// The function that describes a part's fields.
pub type Describe = Box<dyn FnOnce() -> Vec<FieldInfo> + Send>;

type Read<C> = Box<dyn Fn(&Table, &Context) -> Reading<C> + Send + Sync>;

/// A part that a scenario names, which becomes a `C`. `X` has the further properties of its kind.
pub struct Part<C, X = ()> {
    /// The name and prose in the catalogue.
    pub about: About,
    /// The fields, described at the first request: reading a scenario does not need them.
    pub fields: LazyLock<Vec<FieldInfo>, Describe>,
    /// The further properties of its kind.
    pub extra: X,
    field_names: Vec<&'static str>,
    read: Read<C>,
}

impl<C: 'static, X> Part<C, X> {
    /// A part with the fields of `K` except those in `omits`. `adjust` changes its defaults, `into` makes the
    /// configuration.
    pub fn new<K: Declared>(
        about: About,
        extra: X,
        omits: &'static [&'static str],
        adjust: fn(&mut K),
        into: impl Fn(K) -> C + Send + Sync + 'static,
    ) -> Self {
        let known: Arc<[Field<K>]> = K::fields().into_iter().filter(|field| !omits.contains(&field.name)).collect();
        let described = Arc::clone(&known);
        let describe = move || {
            let mut bases = K::bases();
            for base in &mut bases {
                adjust(&mut base.config);
            }
            described.iter().map(|field| info(field, &bases)).collect()
        };
        let field_names = known.iter().map(|field| field.name).collect();
        let read = move |table: &Table, context: &Context| {
            let mut config = K::base(table);
            adjust(&mut config);
            let (config, mistakes) = read_table(config, &known, table, context);
            Reading { config: into(config), mistakes }
        };
        Self { about, fields: LazyLock::new(Box::new(describe)), extra, field_names, read: Box::new(read) }
    }

    /// A part that is read elsewhere, with descriptions of its fields.
    pub fn described(
        about: About,
        extra: X,
        fields: Vec<FieldInfo>,
        read: impl Fn(&Table, &Context) -> Reading<C> + Send + Sync + 'static,
    ) -> Self {
        let field_names = fields.iter().map(|field| field.name).collect();
        Self { about, fields: LazyLock::new(Box::new(move || fields)), extra, field_names, read: Box::new(read) }
    }

    /// Reads `table`, with all its mistakes.
    pub fn read(&self, table: &Table, context: &Context) -> Reading<C> {
        (self.read)(table, context)
    }
}

impl<C, X> Part<C, X> {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The name of each field.
    pub fn field_names(&self) -> &[&'static str] {
        &self.field_names
    }

    /// The JSON Schema of its table, without the name of the part.
    pub fn schema(&self) -> Json {
        let mut schema = schema_of_fields(&self.fields);
        schema["description"] = format!("{}.", self.about.summary).into();
        schema
    }

    /// The part's entry in a catalogue, as `ackclock list` shows it.
    pub fn to_json(&self) -> Json {
        let About { name, summary, source, departures, .. } = self.about;
        let parameters: Vec<Json> = self.fields.iter().map(|field| field.to_json(field.name)).collect();
        json!({ "name": name, "summary": summary, "source": source, "departures": departures, "parameters": parameters })
    }
}

/// A declared struct with an entry of its own in a catalogue.
pub trait Entry: Declared {
    /// The name and prose in the catalogue.
    const ABOUT: About;

    /// The part: name, prose and fields.
    fn part() -> Part<Self> {
        Part::new(Self::ABOUT, (), &[], |_| (), |config: Self| config)
    }
}

/// The fields of a struct, as declared.
pub(crate) fn infos<K: Declared>() -> Vec<FieldInfo> {
    let bases = K::bases();
    K::fields().iter().map(|field| info(field, &bases)).collect()
}

/// The JSON Schema of a value of one of a few kinds, each with its fields: a word, or a table with a `kind`.
pub fn kinds_schema(kinds: &[(&str, &[(&str, Json)])]) -> Json {
    let words: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
    let table = |(kind, fields): &(&str, &[(&str, Json)])| {
        let mut properties: Map<String, Json> =
            fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
        properties.insert("kind".to_owned(), json!({ "const": kind }));
        json!({ "type": "object", "properties": properties, "required": ["kind"], "additionalProperties": false })
    };
    let tables = kinds.iter().map(table);
    json!({ "anyOf": std::iter::once(json!({ "enum": words })).chain(tables).collect::<Vec<_>>() })
}

/// The JSON Schema of a table of these fields.
pub(crate) fn schema_of_fields(fields: &[FieldInfo]) -> Json {
    let properties: Map<String, Json> = fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Description of a field.
#[inline(never)]
pub(crate) fn info<K: 'static>(field: &Field<K>, bases: &[Base<K>]) -> FieldInfo {
    let defaults: Vec<(When, Json)> =
        bases.iter().map(|base| (base.when, field.access().default_in(&base.config))).collect();
    info_with(field.name, &field.meaning, field.access().declared(), &defaults)
}

/// The word of another field that brings a default.
type When = Option<(&'static str, &'static str)>;

fn info_with(name: &'static str, meaning: &str, described: Described, defaults: &[(When, Json)]) -> FieldInfo {
    let is_default = |value: &&Json| !described.is_required && !described.depends_on_context && !value.is_null();
    let default = defaults.first().map(|(_, value)| value).filter(is_default).cloned();
    let chosen = defaults.iter().filter_map(|(when, value)| when.map(|when| (when, value)));
    let default_text = default_text(&described, chosen, default.as_ref());
    FieldInfo { default_text, ..info_of(name, meaning.to_owned(), described, default) }
}

/// The description of a field that has only its own default.
pub(crate) fn info_of(name: &'static str, meaning: String, described: Described, default: Option<Json>) -> FieldInfo {
    let default = default.filter(|value| !described.is_required && !value.is_null());
    let range = if described.range.is_empty() { described.wanted.clone() } else { described.range.clone() };
    FieldInfo {
        name,
        meaning,
        default_text: default_text(&described, std::iter::empty(), default.as_ref()),
        default,
        range,
        words: described.words,
        unit: described.unit,
        source: described.source,
        is_required: described.is_required,
        inside: described.inside,
        outside: described.outside,
        schema: described.schema,
        canonical: Arc::new(described.canonical),
        table: described.table,
        items: (!described.items.is_empty()).then(|| TableInfo::of(described.items, None)),
    }
}

/// The default in words, with those of other bases: `2; "ns2": 1`.
fn default_text<'a>(
    described: &Described,
    bases: impl Iterator<Item = ((&'static str, &'static str), &'a Json)>,
    default: Option<&Json>,
) -> String {
    let Some(default) = default else {
        return if described.is_required { "required" } else { described.absent }.to_owned();
    };
    let own = |((chooser, word), value): ((&str, &str), &'a Json)| {
        (value != default && value.as_str() != Some(word))
            .then(|| format!("with {chooser} = {word:?} {}", written(value)))
    };
    let others: Vec<String> = bases.filter_map(own).collect();
    if others.is_empty() { written(default) } else { format!("{}; {}", written(default), others.join(", ")) }
}

/// All parts of one kind, in the order of their catalogue.
pub struct Parts<C: 'static, X: 'static = ()> {
    parts: Vec<Part<C, X>>,
    names: Vec<&'static str>,
}

impl<C, X> Parts<C, X> {
    /// All parts of one kind.
    ///
    /// # Panics
    ///
    /// If two have the same name.
    pub fn new(parts: Vec<Part<C, X>>) -> Self {
        let names: Vec<&'static str> = parts.iter().map(|part| part.about.name).collect();
        for (position, name) in names.iter().enumerate() {
            assert!(!names[..position].contains(name), "{name} is declared twice");
        }
        Self { parts, names }
    }

    /// The part with this name or alias.
    pub fn find(&self, name: &str) -> Option<&Part<C, X>> {
        self.parts.iter().find(|part| part.about.name == name || part.about.aliases.contains(&name))
    }

    /// The parts in the order of the catalogue.
    pub fn iter(&self) -> std::slice::Iter<'_, Part<C, X>> {
        self.parts.iter()
    }

    /// All parts as one entry of a catalogue: the fields of each part with its name, then the fields that all share.
    pub fn to_json(&self, about: &About) -> Json {
        let About { name, summary, source, departures, .. } = about;
        let has = |part: &Part<C, X>, field: &FieldInfo| {
            part.field(field.name).is_some_and(|own| own.to_json("") == field.to_json(""))
        };
        let is_shared = |field: &&FieldInfo| self.parts.iter().all(|part| has(part, field));
        let own = |part: &Part<C, X>| -> Vec<Json> {
            let fields = part.fields.iter().filter(|field| !is_shared(field));
            fields.map(|field| field.to_json(&format!("{}: {}", part.about.name, field.name))).collect()
        };
        let shared = self.parts.first().into_iter().flat_map(|part| part.fields.iter()).filter(is_shared);
        let parameters: Vec<Json> =
            self.parts.iter().flat_map(own).chain(shared.map(|field| field.to_json(field.name))).collect();
        json!({ "name": name, "summary": summary, "source": source, "departures": departures, "parameters": parameters })
    }

    /// The names of the parts.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }
}

impl<'a, C, X> IntoIterator for &'a Parts<C, X> {
    type Item = &'a Part<C, X>;
    type IntoIter = std::slice::Iter<'a, Part<C, X>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
