//! A configuration's text as plain values, with the place of each, and what is wrong with it as compilers show it.
//!
//! The form of a message is that of scenarios: `file:line:column: field must be ...`, the line with its marks, the remedy.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ackclock_declare::{Excerpt, FieldInfo, Json, Mistake, Table, TableInfo, harmless, meant};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One mistake: where it stands, what is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as it was named.
    pub file: String,
    /// Line and column, counted from 1; none where something is missing altogether.
    pub place: Option<(usize, usize)>,
    /// Path of the field, such as `listen[0].near.congestion`.
    pub field: String,
    /// The mistake.
    pub message: String,
    /// Instruction what to write instead.
    pub remedy: String,
    excerpt: Option<Excerpt>,
    position: usize,
}

impl Diagnostic {
    /// Where it stands, as compilers write it: `file:line:column`.
    pub fn at(&self) -> String {
        self.place.map_or_else(|| self.file.clone(), |(line, column)| format!("{}:{line}:{column}", self.file))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at())?;
        let gap = if self.field.is_empty() { "" } else { " " };
        write!(f, ": {}{gap}{}", self.field, self.message)?;
        if let Some(Excerpt { line, marks }) = &self.excerpt {
            write!(f, "\n    {line}\n    {marks}")?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\n  remedy: {}", self.remedy)?;
        }
        Ok(())
    }
}

/// The places of keys and values by their paths, and the file's name and text.
#[derive(Debug)]
pub(crate) struct Source<'text> {
    file: String,
    text: &'text str,
    keys: BTreeMap<String, Range<usize>>,
    values: BTreeMap<String, Range<usize>>,
}

impl<'text> Source<'text> {
    /// The values of a text; what is wrong with its syntax.
    pub(crate) fn parse(file: &str, text: &'text str) -> Result<(Self, Table), Vec<Diagnostic>> {
        let (file, (keys, values)) = (harmless(file), (BTreeMap::new(), BTreeMap::new()));
        let mut source = Self { file, text, keys, values };
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors
                .iter()
                .map(|e| source.diagnostic("", e.span(), e.message(), remedy(e.message())))
                .collect());
        }
        let table = source.table("", table.get_ref());
        Ok((source, table))
    }

    /// Diagnostic of a mistake in the value of a field, or in the table that lacks it.
    pub(crate) fn of_mistake(&self, mistake: &Mistake) -> Diagnostic {
        let mut place = mistake.field.as_str();
        let span = loop {
            match self.values.get(place) {
                Some(span) => break Some(span.clone()),
                None => match place.rfind(['.', '[']) {
                    Some(end) => place = &place[..end],
                    None => break None,
                },
            }
        };
        let (message, remedy) = said_once(mistake);
        self.diagnostic(&mistake.field, span, message, &remedy)
    }

    /// Every key that no table has.
    pub(crate) fn unknown_keys(&self, table: &Table, fields: &[FieldInfo], above: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (key, value) in table {
            let path = joined(above, key);
            match fields.iter().find(|field| field.name == key) {
                None => found.push(self.unknown_key(&path, key, fields)),
                Some(FieldInfo { table: Some(info), .. }) => found.extend(self.unknown_in(value, info, &path)),
                Some(FieldInfo { items: Some(info), .. }) => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        found.extend(self.unknown_in(item, info, &format!("{path}[{index}]")));
                    }
                }
                Some(_) => {}
            }
        }
        found
    }

    fn unknown_in(&self, value: &Json, info: &TableInfo, path: &str) -> Vec<Diagnostic> {
        value.as_object().map_or_else(Vec::new, |table| self.unknown_keys(table, &info.fields, path))
    }

    fn unknown_key(&self, path: &str, key: &str, fields: &[FieldInfo]) -> Diagnostic {
        let mut names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        names.sort_unstable();
        let said: Vec<(&str, &str)> = fields.iter().map(|field| (field.name, field.meaning.as_str())).collect();
        let meant = match &meant(key, &said)[..] {
            [] => String::new(),
            found => format!("did you mean {}? ", found.join(" or ")),
        };
        let remedy = format!("{meant}use one of {}", names.join(", "));
        self.diagnostic(path, self.keys.get(path).cloned(), "is not a known field", &remedy)
    }

    fn diagnostic(&self, field: &str, span: Option<Range<usize>>, message: &str, remedy: &str) -> Diagnostic {
        let excerpt = span.as_ref().and_then(|span| Excerpt::of(self.text, span));
        let place = span.as_ref().map(|span| line_and_column(self.text, span.start));
        let position = span.map_or(usize::MAX, |span| span.start);
        let [field, message, remedy] = [field, message, remedy].map(harmless);
        Diagnostic { file: self.file.clone(), place, field, message, remedy, excerpt, position }
    }

    fn table(&mut self, above: &str, table: &DeTable<'_>) -> Table {
        let mut read = Table::new();
        for (key, value) in table {
            let path = joined(above, key.get_ref());
            self.keys.insert(path.clone(), key.span());
            let value = self.value(&path, value);
            read.insert(key.get_ref().to_string(), value);
        }
        read
    }

    fn value(&mut self, path: &str, value: &Spanned<DeValue<'_>>) -> Json {
        self.values.insert(path.to_owned(), value.span());
        match value.get_ref() {
            DeValue::String(text) => text.to_string().into(),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix());
                read.map_or_else(|_| number.as_str().into(), Json::from)
            }
            DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
            DeValue::Boolean(value) => (*value).into(),
            DeValue::Datetime(value) => value.to_string().into(),
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.value(&format!("{path}[{index}]"), item)).collect()
            }
            DeValue::Table(table) => Json::Object(self.table(path, table)),
        }
    }
}

/// Message and remedy of a mistake. A message may have a remedy of its own, `must be X; write Y`, which goes before a general one unless
/// it is X again.
fn said_once(mistake: &Mistake) -> (&str, String) {
    match mistake.message.rsplit_once("; write ") {
        Some((message, write)) if message.ends_with(write) && !mistake.remedy.is_empty() => {
            (message, mistake.remedy.clone())
        }
        Some((message, write)) => (message, format!("write {write}")),
        None => (&mistake.message, mistake.remedy.clone()),
    }
}

/// Remedy for a syntax error.
fn remedy(message: &str) -> &'static str {
    if message.contains("recurs") {
        "nest tables and lists less deeply: no field takes more than four levels"
    } else {
        "see https://toml.io for the syntax; strings need quotes, as in \"30 ms\""
    }
}

/// Diagnostics in the order of the text; one without a place comes last.
pub(crate) fn in_order(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by_key(|one| one.position);
    found.dedup();
    found
}

/// An error about the file as a whole.
pub(crate) fn of_file(file: &str, message: &str, remedy: &str) -> Diagnostic {
    let [file, message, remedy] = [file, message, remedy].map(harmless);
    Diagnostic { file, place: None, field: String::new(), message, remedy, excerpt: None, position: 0 }
}

fn joined(above: &str, key: &str) -> String {
    if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
