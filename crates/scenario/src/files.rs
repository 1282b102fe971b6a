//! Files that a scenario names: each is read once, however often the scenario is drawn.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::reading::{read_file, read_text};

/// The contents of files that were read, by their paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    source: FileSource,
    traces: Kept<Arc<str>>,
    attachments: Kept<Attachment>,
}

/// A file's content and its SHA-256.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) content: Arc<[u8]>,
    pub(crate) sha256: String,
}

type Kept<T> = BTreeMap<PathBuf, T>;

/// The source from which files are read.
#[derive(Clone, Debug, Default)]
pub(crate) enum FileSource {
    /// The disk.
    #[default]
    Disk,
    /// Files that were handed over, by their names; no others exist.
    Given(Arc<BTreeMap<String, Vec<u8>>>),
}

impl FileSource {
    /// Reads a file of at most `most` octets.
    pub(crate) fn read(&self, place: &Path, most: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Disk => read_file(place, most),
            Self::Given(files) => given(files, place).cloned(),
        }
    }

    /// Reads a text of at most `most` octets.
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
        let there = if there.is_empty() { "no file was passed".to_owned() } else { format!("there are {there}") };
        io::Error::new(ErrorKind::NotFound, format!("it was not passed with the scenario; {there}"))
    };
    files.get(&*place.to_string_lossy()).ok_or_else(missing)
}

impl Files {
    /// A source of files that were handed over, by their names in the scenario.
    pub(crate) fn given(files: Arc<BTreeMap<String, Vec<u8>>>) -> Self {
        Self { source: FileSource::Given(files), ..Self::default() }
    }

    /// The times of the trace at `place`; `read` reads it the first time.
    pub(crate) fn trace<E>(
        &mut self,
        place: &Path,
        read: impl FnOnce(&Path, &FileSource) -> Result<Arc<str>, E>,
    ) -> Result<Arc<str>, E> {
        keep(&mut self.traces, place, |place| read(place, &self.source))
    }

    /// The attachment at `place`; `read` reads it the first time.
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
