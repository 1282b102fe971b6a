//! What is wrong with a scenario: place, value, reason and remedy of every mistake.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::tree::{FieldPath, Node, Origin};
use crate::vary::DrawnValue;

/// No reader looks at more than this many mistakes at once.
pub(crate) const MAX_DIAGNOSTICS: usize = 100;

/// Longest value that is repeated in a message, in characters.
const MAX_VALUE_LENGTH: usize = 80;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The file as it was named, or `--set` for an override.
    pub file: String,
    /// Counted from 1; `None` where there is no text to point at.
    pub line: Option<usize>,
    /// In characters, counted from 1.
    pub column: Option<usize>,
    /// The place in the scenario, such as `flow[1].controller.beta`; empty for the whole of it.
    pub field: String,
    /// What stands there, as written; `None` if nothing does.
    pub value: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        match (self.field.as_str(), &self.value) {
            ("", None) => {}
            ("", Some(value)) => write!(f, ": {value}")?,
            (field, None) => write!(f, ": {field}")?,
            (field, Some(value)) => write!(f, ": {field} = {value}")?,
        }
        write!(f, "\n  {}", self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  remedy: {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Every mistake of a scenario; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paragraphs: Vec<String> = self.diagnostics.iter().map(ToString::to_string).collect();
        f.write_str(&paragraphs.join("\n\n"))
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// An error about the file as a whole.
    pub(crate) fn of_file(file: &str, message: String, remedy: &str) -> Self {
        let diagnostic = Diagnostic {
            file: file.to_owned(),
            line: None,
            column: None,
            field: String::new(),
            value: None,
            message,
            remedy: remedy.to_owned(),
        };
        Self { diagnostics: vec![diagnostic] }
    }

    /// Every mistake that was found, in the order of the text.
    pub(crate) fn of_found(mut found: Vec<Found>) -> Self {
        found.sort_by_key(|found| found.position);
        found.truncate(MAX_DIAGNOSTICS);
        Self { diagnostics: found.into_iter().map(|found| found.diagnostic).collect() }
    }

    /// Errors of syntax.
    pub(crate) fn of_syntax(file: &str, errors: Vec<SyntaxError>) -> Self {
        let diagnostic = |error: SyntaxError| Diagnostic {
            file: file.to_owned(),
            line: error.line,
            column: error.column,
            field: String::new(),
            value: (!error.value.is_empty()).then_some(error.value),
            message: error.message,
            remedy: "see https://toml.io for the syntax of a scenario file; texts need quotes, as in \"30 ms\""
                .to_owned(),
        };
        Self { diagnostics: errors.into_iter().take(MAX_DIAGNOSTICS).map(diagnostic).collect() }
    }
}

/// Text that the language's own parser refused.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) value: String,
}

impl SyntaxError {
    pub(crate) fn new(text: &str, span: Option<Range<usize>>, message: &str) -> Self {
        let place = span.as_ref().map(|span| line_and_column(text, span.start));
        let value = span.and_then(|span| text.get(span)).map(shorten).unwrap_or_default();
        Self { message: message.to_owned(), line: place.map(|p| p.0), column: place.map(|p| p.1), value }
    }
}

/// A mistake with its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// In bytes; what is not in the text comes last.
    position: usize,
    /// The value at this very place was drawn from a range, which the message says.
    pub(crate) is_of_drawn: bool,
    pub(crate) diagnostic: Diagnostic,
}

impl Found {
    /// True if both are about the same field, written at the same place.
    pub(crate) fn is_of_same_place(&self, other: &Self) -> bool {
        self.position == other.position && self.diagnostic.field == other.diagnostic.field
    }
}

/// Collects the mistakes of one scenario.
#[derive(Debug)]
pub(crate) struct Diagnostics<'source> {
    file: &'source str,
    text: &'source str,
    overrides: &'source [String],
    tree: &'source Node,
    /// Values reported as wrong: nothing more is said of them, or of what is missing because of them.
    blamed: Vec<FieldPath>,
    /// Values that were drawn.
    drawn: &'source [DrawnValue],
    found: Vec<Found>,
}

impl<'source> Diagnostics<'source> {
    /// `tree` is the scenario as given, overrides applied, nothing pruned.
    pub(crate) fn new(
        file: &'source str,
        text: &'source str,
        overrides: &'source [String],
        tree: &'source Node,
    ) -> Self {
        Self { file, text, overrides, tree, blamed: Vec::new(), drawn: &[], found: Vec::new() }
    }

    /// Says of what was drawn from a range that it was; says nothing of what could not be drawn.
    pub(crate) fn knows_drawn(&mut self, drawn: &'source [DrawnValue]) {
        self.drawn = drawn;
        self.blamed.extend(drawn.iter().filter(|drawn| drawn.value.is_none()).map(|drawn| drawn.path.clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// True if there is a mistake in the top-level table `name`.
    pub(crate) fn has_mistake_in(&self, name: &str) -> bool {
        self.found.iter().any(|found| found.diagnostic.field.split(['.', '[']).next() == Some(name))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MAX_DIAGNOSTICS
    }

    /// Reports the value at `path`, unless a mistake was already reported there.
    pub(crate) fn report(&mut self, path: &FieldPath, message: impl Into<String>, remedy: impl Into<String>) {
        if !self.is_full() && !self.blamed.iter().any(|blamed| blamed.touches(path)) {
            let node = self.tree.at(path);
            let origin = node.map_or(&self.tree.deepest(path).origin, |node| &node.origin);
            let drawn = self.drawn.iter().find(|drawn| drawn.is_from_range && drawn.path == *path);
            let value = node.map(|node| if drawn.is_some() { shorten(&node.to_text()) } else { self.value_text(node) });
            let mut message = message.into();
            if let Some(drawn) = drawn {
                message = format!("{message} (drawn from {})", drawn.distribution);
            }
            self.push(path, origin, value, message, remedy.into());
        }
    }

    /// Reports the key at the end of `path`.
    pub(crate) fn report_key(&mut self, path: &FieldPath, message: impl Into<String>, remedy: impl Into<String>) {
        if !self.is_full() && !self.blamed.iter().any(|blamed| blamed.touches(path)) {
            let node = self.tree.deepest(path);
            let value = self.value_text(node);
            self.push(path, &node.key_origin, Some(value), message.into(), remedy.into());
        }
    }

    /// Reports an override that could not be applied.
    pub(crate) fn report_override(&mut self, index: usize, message: &str) {
        let (what, remedy) = split_remedy(message);
        let field = self.overrides[index].clone();
        let diagnostic = Diagnostic {
            file: "--set".to_owned(),
            line: None,
            column: None,
            field: field.split('=').next().unwrap_or_default().trim().to_owned(),
            value: field.split_once('=').map(|(_, value)| shorten(value)),
            message: what.to_owned(),
            remedy: remedy.to_owned(),
        };
        self.found.push(Found { position: usize::MAX, is_of_drawn: false, diagnostic });
    }

    /// Says nothing more of `path`.
    pub(crate) fn blame(&mut self, path: FieldPath) {
        self.blamed.push(path);
    }

    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }

    pub(crate) fn into_error(self) -> ScenarioError {
        ScenarioError::of_found(self.found)
    }

    fn push(&mut self, path: &FieldPath, origin: &Origin, value: Option<String>, message: String, remedy: String) {
        let place = match origin {
            Origin::Text(span) => Some(line_and_column(self.text, span.start)),
            _ => None,
        };
        let (file, position) = match origin {
            Origin::Text(span) => (self.file, span.start),
            Origin::Override(_) => ("--set", usize::MAX),
            Origin::Unknown => (self.file, usize::MAX),
        };
        let diagnostic = Diagnostic {
            file: file.to_owned(),
            line: place.map(|place| place.0),
            column: place.map(|place| place.1),
            field: path.to_string(),
            value,
            message,
            remedy,
        };
        if !self.found.iter().any(|other| other.diagnostic == diagnostic) {
            let is_of_drawn = self.drawn.iter().any(|drawn| drawn.is_from_range && drawn.path == *path);
            self.found.push(Found { position, is_of_drawn, diagnostic });
        }
    }

    fn value_text(&self, node: &Node) -> String {
        match &node.origin {
            Origin::Text(span) => shorten(self.text.get(span.clone()).unwrap_or_default()),
            _ => shorten(&node.to_text()),
        }
    }
}

/// "what is wrong; what to do" in its two parts.
pub(crate) fn split_remedy(message: &str) -> (&str, &str) {
    message.split_once("; ").unwrap_or((message, ""))
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn shorten(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if one_line.chars().count() <= MAX_VALUE_LENGTH {
        return one_line;
    }
    let cut: String = one_line.chars().take(MAX_VALUE_LENGTH).collect();
    format!("{cut} ...")
}
