//! Files that a scenario names, each read once however often the scenario is drawn.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::reading::{read_file, read_text};

/// Content of files that were read, by their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    source: FileSource,
    traces: Kept<Arc<str>>,
    attachments: Kept<Attachment>,
}

/// Content of a file, and its SHA-256.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) content: Arc<[u8]>,
    pub(crate) sha256: String,
}

type Kept<T> = BTreeMap<PathBuf, T>;

/// Source of files.
#[derive(Clone, Debug, Default)]
pub(crate) enum FileSource {
    /// Files from the disk.
    #[default]
    Disk,
    /// They were handed over, by their names; there are no others.
    Given(Arc<BTreeMap<String, Vec<u8>>>),
}

impl FileSource {
    /// Content of a file of at most `most` octets.
    pub(crate) fn read(&self, place: &Path, most: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Disk => read_file(place, most),
            Self::Given(files) => given(files, place).cloned(),
        }
    }

    /// The same, as text.
    pub(crate) fn read_text(&self, place: &Path, most: u64) -> io::Result<String> {
        match self {
            Self::Disk => read_text(place, most),
            Self::Given(files) => String::from_utf8(given(files, place)?.clone()).map_err(io::Error::other),
        }
    }
}

fn given<'a>(files: &'a BTreeMap<String, Vec<u8>>, place: &Path) -> io::Result<&'a Vec<u8>> {
    let missing = || {
        let there = files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let there = if there.is_empty() { "no file was handed over".to_owned() } else { format!("there are {there}") };
        io::Error::new(ErrorKind::NotFound, format!("it was not handed over with the scenario; {there}"))
    };
    files.get(&*place.to_string_lossy()).ok_or_else(missing)
}

impl Files {
    /// Files that were handed over, by the names that the scenario has for them.
    pub(crate) fn given(files: Arc<BTreeMap<String, Vec<u8>>>) -> Self {
        Self { source: FileSource::Given(files), ..Self::default() }
    }

    /// The times of the trace at `place`, which `read` reads if nothing has before.
    pub(crate) fn trace<E>(
        &mut self,
        place: &Path,
        read: impl FnOnce(&Path, &FileSource) -> Result<Arc<str>, E>,
    ) -> Result<Arc<str>, E> {
        keep(&mut self.traces, place, |place| read(place, &self.source))
    }

    /// Attachment at `place`, which `read` reads if that has not been done before.
    pub(crate) fn attachment<E>(
        &mut self,
        place: &Path,
        read: impl FnOnce(&Path, &FileSource) -> Result<Attachment, E>,
    ) -> Result<Attachment, E> {
        keep(&mut self.attachments, place, |place| read(place, &self.source))
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
