//! Files that a scenario names, each read once however often the scenario is drawn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was read from files, by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    traces: Kept<Arc<str>>,
    attachments: Kept<Attachment>,
}

/// What is in a file, and its SHA-256.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) content: Arc<[u8]>,
    pub(crate) sha256: String,
}

type Kept<T> = BTreeMap<PathBuf, T>;

impl Files {
    /// The times of the trace at `place`, which `read` reads if nothing has before.
    pub(crate) fn trace<E>(
        &mut self,
        place: &Path,
        read: impl FnOnce(&Path) -> Result<Arc<str>, E>,
    ) -> Result<Arc<str>, E> {
        keep(&mut self.traces, place, read)
    }

    /// What is attached at `place`, which `read` reads if nothing has before.
    pub(crate) fn attachment<E>(
        &mut self,
        place: &Path,
        read: impl FnOnce(&Path) -> Result<Attachment, E>,
    ) -> Result<Attachment, E> {
        keep(&mut self.attachments, place, read)
    }
}

fn keep<T: Clone, E>(kept: &mut Kept<T>, place: &Path, read: impl FnOnce(&Path) -> Result<T, E>) -> Result<T, E> {
    if let Some(known) = kept.get(place) {
        return Ok(known.clone());
    }
    let read = read(place)?;
    kept.insert(place.to_owned(), read.clone());
    Ok(read)
}
