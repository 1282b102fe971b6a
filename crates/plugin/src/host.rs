//! The host's side of the boundary.
//!
//! A library that has been loaded stays so for the rest of the program: its parts are used by an unknown number of
//! scenarios. A part that panics ends the simulation with a [`PluginFailure`] as the payload that unwinds.

mod agent;
mod controller;
mod declaration;
mod effect;
mod queue;
mod source;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ackclock_declare::Library;

use crate::abi::{self, Sink, Status};

/// The reason why a file is not a usable plug-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The mistake in the file.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

impl std::error::Error for LoadError {}

fn refused(message: impl Into<String>, remedy: impl Into<String>) -> LoadError {
    LoadError { message: message.into(), remedy: remedy.into() }
}

/// Payload with which a simulation unwinds when a plug-in panics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFailure {
    /// Name of the part.
    pub part: String,
    /// Name of the call.
    pub call: &'static str,
    /// Message of the panic.
    pub message: String,
}

impl fmt::Display for PluginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the plug-in's {} panicked: {}", self.call, self.part, self.message)
    }
}

impl std::error::Error for PluginFailure {}

/// A part of a loaded plug-in.
#[derive(Clone, Copy, Debug)]
struct Origin {
    table: &'static abi::Table,
    /// The number of the part in the plug-in.
    part: u32,
    name: &'static str,
}

impl Origin {
    /// Ends the simulation if a call has panicked. Returns whether there was a result.
    fn expect(&self, status: Status, call: &'static str) -> bool {
        if status == Status::Panicked {
            self.fail(call);
        }
        status == Status::Done
    }

    #[cold]
    fn fail(&self, call: &'static str) -> ! {
        let message = message_of(self.table);
        resume_unwind(Box::new(PluginFailure { part: self.name.to_owned(), call, message }))
    }

    /// The result of `make` or `clone`, if they did not panic.
    fn made<T>(&self, instance: *mut T, call: &'static str) -> *mut T {
        if instance.is_null() {
            self.fail(call);
        }
        instance
    }
}

fn message_of(table: &abi::Table) -> String {
    let mut message = String::new();
    (table.take_panic)(Sink::into(&mut message));
    message
}

/// Loaded libraries by their files: a file that has changed since is another one.
static LOADED: Mutex<BTreeMap<(PathBuf, u64, u128), Library>> = Mutex::new(BTreeMap::new());

/// The endings of plug-in files, on any system.
pub const ENDINGS: [&str; 3] = ["so", "dylib", "dll"];

/// The parts of the plug-in in `file`.
pub fn load(file: &Path) -> Result<Library, LoadError> {
    let key = identity(file)?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = loaded.get(&key) {
        return Ok(library.clone());
    }
    let library = declaration::library(open(&key.0)?)?;
    loaded.insert(key, library.clone());
    Ok(library)
}

/// The identity of a file and its version: its length and the time of its last change.
fn identity(file: &Path) -> Result<(PathBuf, u64, u128), LoadError> {
    let found = file.canonicalize().and_then(|path| Ok((path.metadata()?, path)));
    let (metadata, path) = found.map_err(|error| {
        refused(
            format!("cannot be read: {error}"),
            "check the path, which is taken from the scenario's folder, and build the plug-in: cargo build --release",
        )
    })?;
    if !metadata.is_file() {
        return Err(refused("is not a regular file", "name the library that `cargo build --release` made"));
    }
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Ok((path, metadata.len(), changed.map_or(0, |since| since.as_nanos())))
}

fn open(file: &Path) -> Result<&'static abi::Table, LoadError> {
    // SAFETY: loading runs what the library does when it is loaded, as importing a module does; whoever names it in a
    // scenario wants it run.
    let library = unsafe { libloading::Library::new(file) };
    let library = library.map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        refused(format!("cannot be loaded: {cause}"), "build it for this machine")
    })?;
    // SAFETY: the name is that of a function of this type, as every plug-in exports it.
    let entry = unsafe { library.get::<extern "C" fn() -> *const abi::Table>(abi::ENTRY.as_bytes()) };
    let entry = entry.map_err(|_| {
        refused(
            format!("is not a plug-in of ackclock: it does not export {}", abi::ENTRY),
            "write ackclock_plugin::export!(plugin) in it; crate-type = [\"cdylib\"] makes a library of a crate",
        )
    })?;
    let table = entry();
    if table.is_null() {
        return Err(refused("panicked when it was asked for its parts", "see its message above"));
    }
    // SAFETY: a table is static, and begins with its version, whatever follows.
    let version = unsafe { (&raw const (*table).version).read() };
    if version != abi::VERSION {
        let remedy = format!("build it with the ackclock-plugin of version {}", env!("CARGO_PKG_VERSION"));
        return Err(refused(
            format!("has version {version} of the plug-in interface, and this program has {}", abi::VERSION),
            remedy,
        ));
    }
    std::mem::forget(library); // it stays
    // SAFETY: as above, and its version is ours.
    Ok(unsafe { &*table })
}
