//! Effect of a reload on each field of the file.

use ackclock_declare::{Json, Table, table_of};

use super::file::File;

/// Fields of the file, and whether a change of each takes a restart.
pub const FIELDS: [(&str, bool); 22] = [
    ("workers", true),
    ("confine", true),
    ("listen", false),
    ("rule", false),
    ("limits.connections", false),
    ("limits.per_source", false),
    ("limits.pipes", true),
    ("limits.pipe_size", true),
    ("limits.memory", true),
    ("timeouts.connect", false),
    ("timeouts.idle", false),
    ("timeouts.half_closed", false),
    ("timeouts.header", false),
    ("timeouts.hello", false),
    ("timeouts.reset", false),
    ("timeouts.drain", false),
    ("metrics.address", true),
    ("metrics.public", true),
    ("metrics.latency", false),
    ("log.format", false),
    ("log.level", false),
    ("log.connections", false),
];

/// Names of the fields that a restart alone changes.
pub fn of_restart() -> impl Iterator<Item = &'static str> {
    FIELDS.into_iter().filter(|(_, takes_restart)| *takes_restart).map(|(name, _)| name)
}

/// Fields that a restart alone changes, and that are others in `new`.
pub(crate) fn unchanged(old: &File, new: &File) -> Vec<&'static str> {
    let (old, new) = (table_of(old), table_of(new));
    of_restart().filter(|name| at(&old, name) != at(&new, name)).collect()
}

fn at<'table>(table: &'table Table, name: &str) -> Option<&'table Json> {
    let mut parts = name.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

#[cfg(test)]
mod tests {
    use ackclock_declare::Entry as _;

    use super::*;
    use crate::config::file::Limits;

    /// A field that is new must be here, with what a reload does to it.
    #[test]
    fn every_field_is_here_once() {
        let part = File::part();
        let names = part.fields.iter().flat_map(|field| match &field.table {
            Some(table) => table.fields.iter().map(|it| format!("{}.{}", field.name, it.name)).collect(),
            None => vec![field.name.to_owned()],
        });
        let (mut declared, mut listed): (Vec<String>, Vec<&str>) =
            (names.collect(), FIELDS.iter().map(|(name, _)| *name).collect());
        declared.sort();
        listed.sort_unstable();
        assert_eq!(listed, declared);
    }

    #[test]
    fn what_a_restart_alone_changes_is_named_and_nothing_else() {
        let old = File::default();
        let limits = Limits { pipes: 7, connections: 8, ..Limits::default() };
        let new = File { workers: Some(3), limits, ..File::default() };
        assert_eq!(unchanged(&old, &new), ["workers", "limits.pipes"]);
        assert_eq!(unchanged(&new, &new), [""; 0]);
    }
}
