//! Places of the scenario at which mistakes are reported.

use ackclock_declare::Mistake;

use crate::diagnostic::Diagnostics;
use crate::file::Names;
use crate::tree::FieldPath;

/// The longest name, in characters.
const MAX_NAME: usize = 100;

/// A place in the scenario, and the collection of its mistakes.
#[derive(Clone)]
pub(crate) struct Location<'a> {
    pub(crate) path: FieldPath,
    pub(crate) sink: &'a Diagnostics<'a>,
}

impl<'a> Diagnostics<'a> {
    /// The top-level field `name`.
    pub(crate) fn root(&'a self, name: &str) -> Location<'a> {
        Location { path: FieldPath::of(name), sink: self }
    }

    /// The place at `path`.
    pub(crate) fn at(&'a self, path: &FieldPath) -> Location<'a> {
        Location { path: path.clone(), sink: self }
    }
}

impl Location<'_> {
    /// The place one key further down; `key` may be several, separated by dots.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self { path: self.path.key(key), ..*self }
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self { path: self.path.index(index), ..*self }
    }

    /// The place below this one of a text such as `bands[0].limit`.
    pub(crate) fn below(&self, text: &str) -> Self {
        Self { path: self.path.below(text), ..*self }
    }

    /// Each of the names here, with its place.
    pub(crate) fn each<'b>(&'b self, names: &'b Names) -> impl Iterator<Item = (Self, &'b str)> {
        let place = |index: Option<usize>| index.map_or_else(|| self.clone(), |index| self.index(index));
        names.each().into_iter().map(move |(index, name)| (place(index), name))
    }

    /// True if the value here, or a part of it, is missing because it could not be read.
    pub(crate) fn is_unread(&self) -> bool {
        self.sink.is_unread(&self.path)
    }

    /// Reports the value, unless it could not be read.
    pub(crate) fn report(&self, message: impl Into<String>, remedy: impl Into<String>) {
        self.sink.report(&self.path, message, remedy);
    }

    /// Reports a missing part of a table or list, unless it is missing because something in it could not be read.
    pub(crate) fn report_lack(&self, message: impl Into<String>, remedy: impl Into<String>) {
        if !self.is_unread() {
            self.report(message, remedy);
        }
    }

    /// Reports a field that is required and absent.
    pub(crate) fn missing(&self, example: &str) {
        self.report_lack("is missing", format!("add it, such as {example}"));
    }

    /// Reports a name that would break the tables, files and messages in which it appears.
    pub(crate) fn review_name(&self, name: Option<&str>) {
        let Some(name) = name else { return };
        let what = if name.trim().is_empty() {
            "must not be empty"
        } else if name.trim() != name {
            "must not begin or end with blanks"
        } else if name.chars().any(char::is_control) {
            "must not hold line breaks or other control characters"
        } else if name.chars().count() > MAX_NAME {
            "must have 100 characters at most"
        } else {
            return;
        };
        self.report(what, "write a short name, such as \"video 1\"");
    }

    /// Rejects fields that have no effect here.
    pub(crate) fn refuse(&self, fields: &[(&str, bool)], what: &str, remedy: &str) {
        for (field, _) in fields.iter().filter(|(_, is_set)| *is_set) {
            self.key(field).report(what, remedy);
        }
    }

    /// Rejects a hash without a file.
    pub(crate) fn refuse_hash(&self, file: Option<&String>, hash: Option<&String>) {
        let is_alone = hash.is_some() && file.is_none() && !self.key("file").is_unread();
        let what = "has no effect without a file, whose hash it is";
        self.refuse(&[("sha256", is_alone)], what, "add the file, or remove it");
    }

    /// Reports a mistake here or in a field, unless it follows from a value there that could not be read.
    pub(crate) fn mistake(&self, mistake: Mistake) {
        let place = if mistake.field.is_empty() { self.clone() } else { self.below(&mistake.field) };
        let is_of_others = mistake.message != "is missing" && !self.sink.is_written(&place.path);
        // What is said of a whole item follows from the other items of its list, too.
        let list = mistake.field.strip_suffix(']').and_then(|field| field.rsplit_once('['));
        let is_incomplete = list.is_some_and(|(list, _)| self.below(list).is_unread());
        let judged = if is_of_others { self } else { &place };
        if !is_incomplete && !judged.is_unread() {
            place.report(mistake.message, mistake.remedy);
        }
    }
}
