//! Reads the parts and tables that other crates declare, and reports each mistake at its field.

use ackclock_declare::Context;

use super::location::Location;
use crate::file::{Chosen, Fields, Kind, OwnTable};

/// The configuration of a part.
pub(crate) fn read_part<K: Kind>(chosen: &Chosen<K>, context: &Context, at: &Location<'_>) -> K::Config {
    let reading = chosen.part.read(&chosen.table, context);
    for mistake in reading.mistakes {
        at.mistake(mistake);
    }
    reading.config
}

/// The configuration of a table without a kind; `None` if it has mistakes.
pub(crate) fn read_table<K: OwnTable>(table: &Fields<K>, at: &Location<'_>) -> Option<K> {
    let reading = K::part().read(&table.0, &Context::default());
    let is_right = reading.mistakes.is_empty();
    for mistake in reading.mistakes {
        at.mistake(mistake);
    }
    is_right.then_some(reading.config)
}
