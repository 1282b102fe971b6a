//! Reads the parts and tables that other crates declare, and reports each mistake at its field.

use ackclock_declare::{Context, Mistake};

use crate::diagnostic::Diagnostics;
use crate::file::{Chosen, Fields, Kind, OwnTable};
use crate::tree::FieldPath;

/// The configuration of a part.
pub(crate) fn read_part<K: Kind>(
    chosen: &Chosen<K>,
    context: &Context,
    path: &FieldPath,
    sink: &mut Diagnostics<'_>,
) -> K::Config {
    let reading = chosen.part.read(&chosen.table, context);
    for mistake in reading.mistakes {
        sink.mistake(mistake, path);
    }
    reading.config
}

/// The configuration of a table without a kind; `None` if it has mistakes.
pub(crate) fn read_table<K: OwnTable>(table: &Fields<K>, path: &FieldPath, sink: &mut Diagnostics<'_>) -> Option<K> {
    let reading = K::part().read(&table.0, &Context::default());
    let is_right = reading.mistakes.is_empty();
    for mistake in reading.mistakes {
        sink.mistake(mistake, path);
    }
    is_right.then_some(reading.config)
}

impl Diagnostics<'_> {
    /// Reports a mistake at `path` or in a field of it, unless it follows from a value there that could not be read.
    pub(crate) fn mistake(&mut self, mistake: Mistake, path: &FieldPath) {
        let place = if mistake.field.is_empty() { path.clone() } else { path.below(&mistake.field) };
        let is_of_others = mistake.message != "is missing" && !self.is_written(&place);
        // What is said of a whole item follows from the other items of its list, too.
        let list = mistake.field.strip_suffix(']').and_then(|field| field.rsplit_once('['));
        let is_incomplete = list.is_some_and(|(list, _)| self.is_unread(&path.below(list)));
        if !is_incomplete && !self.is_unread(if is_of_others { path } else { &place }) {
            self.report(&place, mistake.message, mistake.remedy);
        }
    }
}
