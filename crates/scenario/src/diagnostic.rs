//! The mistakes of a scenario: place, value, reason and remedy of each.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use ackclock_declare::{Excerpt, harmless};
use serde::Serialize;

use crate::tree::{FieldPath, Node, Origin, Step};
use crate::vary::{DrawnValue, Meaning};

/// The most mistakes that are reported at once.
const MAX_DIAGNOSTICS: usize = 100;

/// The longest value in a message, in characters.
const MAX_VALUE_LENGTH: usize = 80;

/// The longest message and the longest remedy, in characters: either may repeat a value.
const MAX_MESSAGE_LENGTH: usize = 600;

/// One mistake of a scenario: its place, the reason, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The file's name as given, or `--set` for an override.
    pub file: String,
    /// The line, counted from 1; `None` where there is no text to point at.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
    /// The place in the scenario, such as `flow[1].controller.beta`; empty for the whole of it.
    pub field: String,
    /// The value there, as written; `None` if the field is absent.
    pub value: Option<String>,
    /// The reason, such as "must be above 0".
    pub message: String,
    /// The remedy: what to write instead.
    pub remedy: String,
    /// The line of the text, shortened if it is long, with control characters replaced; `None` where there is no text.
    pub source_line: Option<String>,
    /// Spaces and carets to print below `source_line`: the carets stand under the value.
    pub marks: Option<String>,
}

impl fmt::Display for Diagnostic {
    /// Formats a mistake as compilers do: `file:line:column: field must be ...`, the source line with marks, the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        match self.field.as_str() {
            "" => write!(f, ": {}", self.message)?,
            field if self.message.starts_with("there ") => write!(f, ": {field}: {}", self.message)?,
            field => write!(f, ": {field} {}", self.message)?,
        }
        if let (Some(line), Some(marks)) = (&self.source_line, &self.marks) {
            write!(f, "\n    {line}\n    {marks}")?;
        }
        if let Some(value) = self.unseen_value() {
            write!(f, "\n  value: {value}")?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\n  remedy: {}", self.remedy)?;
        }
        Ok(())
    }
}

impl Diagnostic {
    /// A mistake without a text to show.
    fn new(file: &str, field: &str, value: Option<&str>, message: &str, remedy: &str) -> Self {
        Self {
            file: harmless(file),
            line: None,
            column: None,
            field: harmless(field),
            value: value.map(shorten),
            message: limited(message),
            remedy: limited(remedy),
            source_line: None,
            marks: None,
        }
    }

    fn with_excerpt(self, excerpt: Option<Excerpt>) -> Self {
        let (line, marks) = excerpt.map(|excerpt| (excerpt.line, excerpt.marks)).unzip();
        Self { source_line: line, marks, ..self }
    }

    fn at(self, place: Option<(usize, usize)>) -> Self {
        let (line, column) = place.unzip();
        Self { line, column, ..self }
    }

    /// The value, if the line of the text does not show it: a drawn value, or one over several lines.
    pub fn unseen_value(&self) -> Option<&str> {
        let line = self.source_line.as_deref().unwrap_or_default();
        self.value.as_deref().filter(|value| !value.is_empty() && !line.contains(value))
    }
}

/// Every mistake of a scenario; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The mistakes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// True if there are more mistakes than these.
    pub has_more: bool,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paragraphs: Vec<String> = self.diagnostics.iter().map(ToString::to_string).collect();
        f.write_str(&paragraphs.join("\n\n"))?;
        if self.has_more {
            write!(f, "\n\nthere are more than {MAX_DIAGNOSTICS} mistakes; these are the first")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// An error about the whole file.
    pub(crate) fn of_file(file: &str, message: &str, remedy: &str) -> Self {
        Self { diagnostics: vec![Diagnostic::new(file, "", None, message, remedy)], has_more: false }
    }

    /// An error of all mistakes found, in the order of the text.
    pub(crate) fn of_found(mut found: Vec<Found>) -> Self {
        found.sort_by_key(|found| found.position);
        let has_more = found.len() > MAX_DIAGNOSTICS;
        found.truncate(MAX_DIAGNOSTICS);
        Self { diagnostics: found.into_iter().map(|found| found.diagnostic).collect(), has_more }
    }

    /// An error of mistakes in syntax.
    pub(crate) fn of_syntax(file: &str, errors: Vec<SyntaxError>) -> Self {
        let has_more = errors.len() > MAX_DIAGNOSTICS;
        let diagnostic = |error: SyntaxError| {
            let value = Some(error.value.as_str()).filter(|value| !value.is_empty());
            let (message, remedy) = error.said();
            Diagnostic::new(file, "", value, message, remedy).at(error.place).with_excerpt(error.excerpt)
        };
        Self { diagnostics: errors.into_iter().take(MAX_DIAGNOSTICS).map(diagnostic).collect(), has_more }
    }
}

/// A mistake that the parser of TOML or JSON reports.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    message: String,
    remedy: &'static str,
    place: Option<(usize, usize)>,
    value: String,
    excerpt: Option<Excerpt>,
}

impl SyntaxError {
    /// The message and the remedy. Where the parsers of TOML and JSON report their recursion, this names the nesting.
    fn said(&self) -> (&str, &str) {
        if self.message.contains("recurs") {
            return ("lists or tables are nested too deeply", "nest them less");
        }
        (&self.message, self.remedy)
    }

    /// An error of JSON at a line and an octet of it, both counted from 1.
    pub(crate) fn of_json(text: &str, line: usize, octet: usize, message: &str) -> Self {
        let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let start = (before + octet.saturating_sub(1)).min(text.len());
        let remedy = "see https://www.json.org for the syntax of JSON; a scenario that begins with { is read as JSON";
        Self { remedy, ..Self::of_toml(text, Some(start..start), message) }
    }

    /// An error of TOML at a span of the text.
    pub(crate) fn of_toml(text: &str, span: Option<Range<usize>>, message: &str) -> Self {
        let remedy = "see https://toml.io for the syntax of a scenario file; strings need quotes, as in \"30 ms\"";
        let place = span.as_ref().map(|span| line_and_column(text, span.start));
        let excerpt = span.as_ref().and_then(|span| Excerpt::of(text, span));
        let value = span.and_then(|span| text.get(span)).map(str::to_owned).unwrap_or_default();
        Self { message: message.to_owned(), remedy, place, value, excerpt }
    }
}

/// A mistake with its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The offset in bytes; a value that is not in the text comes last.
    position: usize,
    /// True if the value at this place was drawn from a range, which the message says.
    pub(crate) is_of_drawn: bool,
    pub(crate) diagnostic: Diagnostic,
}

impl Found {
    /// True if both are about the same field at the same place.
    pub(crate) fn is_of_same_place(&self, other: &Self) -> bool {
        self.position == other.position && self.diagnostic.field == other.diagnostic.field
    }
}

/// Collects the mistakes of one scenario. Each place that reports to it has a shared reference.
#[derive(Debug)]
pub(crate) struct Diagnostics<'source> {
    file: &'source str,
    text: &'source str,
    overrides: &'source [String],
    tree: &'source Node,
    /// Values reported as wrong. Nothing more is reported about them, or about values missing because of them.
    blamed: RefCell<Vec<FieldPath>>,
    /// The values that were drawn.
    drawn: &'source [DrawnValue],
    found: RefCell<Vec<Found>>,
}

impl<'source> Diagnostics<'source> {
    /// An empty collection; `tree` is the scenario as given, with overrides and with nothing pruned.
    pub(crate) fn new(
        file: &'source str,
        text: &'source str,
        overrides: &'source [String],
        tree: &'source Node,
    ) -> Self {
        Self { file, text, overrides, tree, blamed: RefCell::default(), drawn: &[], found: RefCell::default() }
    }

    /// Takes note of drawn values: messages say that a value was drawn, and values that could not be drawn are not
    /// reported.
    pub(crate) fn knows_drawn(&mut self, drawn: &'source [DrawnValue]) {
        self.drawn = drawn;
        let undrawn = drawn.iter().filter(|drawn| drawn.value.is_none());
        self.blamed.get_mut().extend(undrawn.map(|drawn| drawn.path.clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The number of mistakes found.
    pub(crate) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// True if there is a mistake in the top-level table `name`.
    pub(crate) fn has_mistake_in(&self, name: &str) -> bool {
        self.has_field_in(name, |_| true)
    }

    /// True if flows may be missing, or have other names, because of a mistake.
    pub(crate) fn may_lack_flows(&self) -> bool {
        self.has_field_in("flow", |field| matches!(field.split_once('.'), None | Some((_, "name" | "count"))))
    }

    /// True if nodes or links may be missing, or have other names, because of a mistake outside the properties of
    /// links.
    pub(crate) fn may_lack_nodes(&self) -> bool {
        self.has_field_in("topology", |field| {
            let mut parts = field.split('.').skip(1);
            let (of, what) = (parts.next().unwrap_or_default(), parts.next());
            let is_of_link = match of.split('[').next() {
                Some("access" | "bottleneck") => true,
                Some("link" | "links") => what.is_some_and(|what| what != "from" && what != "to"),
                _ => false,
            };
            !is_of_link
        })
    }

    /// True if one of the wrong fields in the top-level table `name` is like this.
    fn has_field_in(&self, name: &str, is_like: impl Fn(&str) -> bool) -> bool {
        let is_meant = |field: &str| field.split(['.', '[']).next() == Some(name) && is_like(field);
        self.found.borrow().iter().any(|found| is_meant(&found.diagnostic.field))
    }

    /// True if there is one more mistake than are shown.
    pub(crate) fn is_full(&self) -> bool {
        self.count() > MAX_DIAGNOSTICS
    }

    /// The place at which a value is written. A link's reverse direction inherits the link's values, which stand at the
    /// link.
    fn written_at(&self, path: &FieldPath) -> FieldPath {
        let reverse = path.0.iter().position(|step| *step == Step::Key("reverse".to_owned()));
        let mut path = path.clone();
        if let Some(place) = reverse.filter(|place| place + 1 < path.0.len()) {
            let own = FieldPath(path.0[..place + 2].to_vec());
            if self.tree.at(&own).is_none() {
                path.0.remove(place);
            }
        }
        path
    }

    /// Reports the value at `path`, unless it could not be read.
    pub(crate) fn report(&self, path: &FieldPath, message: impl Into<String>, remedy: impl Into<String>) {
        let path = &self.written_at(path);
        if !self.is_full() && !self.blamed.borrow().iter().any(|blamed| blamed.holds(path)) {
            let node = self.tree.at(path);
            let origin = node.map_or(&self.tree.deepest(path).origin, |node| &node.origin);
            let drawn = self.drawn.iter().find(|drawn| drawn.is_from_range && drawn.path == *path);
            let value = node.map(|node| if drawn.is_some() { node.to_text() } else { self.value_text(node) });
            let mut message = message.into();
            if let Some(drawn) = drawn {
                message = format!("{message} (drawn from {})", drawn.distribution);
            }
            self.push(path, origin, value.as_deref(), &message, &remedy.into());
        }
    }

    /// Reports the key at the end of `path`.
    pub(crate) fn report_key(&self, path: &FieldPath, message: impl Into<String>, remedy: impl Into<String>) {
        if !self.is_full() && !self.blamed.borrow().iter().any(|blamed| blamed.holds(path)) {
            let node = self.tree.deepest(path);
            let value = self.value_text(node);
            self.push(path, &node.key_origin, Some(&value), &message.into(), &remedy.into());
        }
    }

    /// Reports an override that could not be applied.
    pub(crate) fn report_override(&self, index: usize, message: &str) {
        let (what, remedy) = split_remedy(message);
        let (field, value) = match self.overrides[index].split_once('=') {
            Some((field, value)) => (field.trim(), Some(value)),
            None => (self.overrides[index].trim(), None),
        };
        let excerpt = value.map(|value| Excerpt::of_parts(&format!("{field}="), value, ""));
        let diagnostic = Diagnostic::new("--set", field, value, what, remedy).with_excerpt(excerpt);
        self.found.borrow_mut().push(Found { position: usize::MAX, is_of_drawn: false, diagnostic });
    }

    /// True if the scenario has a value at `path`.
    pub(crate) fn is_written(&self, path: &FieldPath) -> bool {
        self.tree.at(&self.written_at(path)).is_some()
    }

    /// True if the value at `path`, or a part of it, is missing because it could not be read.
    pub(crate) fn is_unread(&self, path: &FieldPath) -> bool {
        let path = &self.written_at(path);
        self.blamed.borrow().iter().any(|blamed| blamed.touches(path))
    }

    /// A remedy for the unknown field at `path` of a table with the fields `known`.
    ///
    /// A field that is missing because it was given this name is not reported.
    pub(crate) fn instead_of_field(&self, path: &FieldPath, known: &[&str]) -> String {
        let Some((Step::Key(name), above)) = path.0.split_last() else { return String::new() };
        let table = FieldPath(above.to_vec());
        let (remedy, meant) = Meaning::at(self.tree, &table).instead_of(name, self.tree.at(&table), known, &table);
        for field in meant.iter().map(|name| table.key(name)) {
            if !self.is_written(&field) {
                self.blame(field);
            }
        }
        remedy
    }

    /// The kinds that may stand at `path`, or in its `kind`, each with its description in the format.
    pub(crate) fn kinds_at(&self, path: &FieldPath) -> Vec<(&'static str, &'static str)> {
        let is_kind = path.0.last() == Some(&Step::Key("kind".to_owned()));
        let value = &path.0[..path.0.len() - usize::from(is_kind)];
        let Some((last, above)) = value.split_last() else { return Vec::new() };
        Meaning::at(self.tree, &FieldPath(above.to_vec())).below(last).kinds()
    }

    /// Reports nothing more about `path`.
    pub(crate) fn blame(&self, path: FieldPath) {
        self.blamed.borrow_mut().push(path);
    }

    /// Reports nothing more about the value at `path`, which other links may have inherited.
    pub(crate) fn blame_where_written(&self, path: &FieldPath) {
        self.blamed.borrow_mut().push(self.written_at(path));
    }

    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found.into_inner()
    }

    pub(crate) fn into_error(self) -> ScenarioError {
        ScenarioError::of_found(self.into_found())
    }

    fn push(&self, path: &FieldPath, origin: &Origin, value: Option<&str>, message: &str, remedy: &str) {
        let field = path.to_string();
        let (file, position, place) = match origin {
            Origin::Text(span) => (self.file, span.start, Some(line_and_column(self.text, span.start))),
            Origin::Override(_) => ("--set", usize::MAX, None),
            Origin::Unknown => (self.file, usize::MAX, None),
        };
        let excerpt = match origin {
            // The whole text stands for a field that it lacks.
            Origin::Text(_) if self.is_whole_text(path, value) => None,
            Origin::Text(span) => Excerpt::of(self.text, span),
            _ => value.map(|value| Excerpt::of_parts(&format!("{field} = "), value, "")),
        };
        let diagnostic = Diagnostic::new(file, &field, value, message, remedy).at(place).with_excerpt(excerpt);
        if !self.found.borrow().iter().any(|other| other.diagnostic == diagnostic) {
            let is_of_drawn = self.drawn.iter().any(|drawn| drawn.is_from_range && drawn.path == *path);
            self.found.borrow_mut().push(Found { position, is_of_drawn, diagnostic });
        }
    }

    fn is_whole_text(&self, path: &FieldPath, value: Option<&str>) -> bool {
        value.is_none() && std::ptr::eq(self.tree.deepest(path), self.tree)
    }

    fn value_text(&self, node: &Node) -> String {
        match &node.origin {
            Origin::Text(span) => self.text.get(span.clone()).unwrap_or_default().to_owned(),
            _ => node.to_text(),
        }
    }
}

/// Splits "what is wrong; what to do" into its two parts.
pub(crate) fn split_remedy(message: &str) -> (&str, &str) {
    message.split_once("; ").unwrap_or((message, ""))
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A value on one line, cut if it is long.
fn shorten(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    harmless(&beginning(&one_line, MAX_VALUE_LENGTH))
}

/// A message, cut if it is long: it may repeat a part of the text.
fn limited(text: &str) -> String {
    harmless(&beginning(text, MAX_MESSAGE_LENGTH))
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} ...", &text[..end]),
    }
}
