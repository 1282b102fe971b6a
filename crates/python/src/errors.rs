//! Rust errors as Python exceptions, all in one place.

use std::fmt::Display;
use std::io;
use std::path::Path;

use ackclock_scenario::ScenarioError as Mistakes;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

create_exception!(
    ackclock._core,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; the message lists every mistake with file, line, value and remedy."
);

pub(crate) fn to_runtime_error(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// An `OSError` with the file's name. From its number Python makes `FileNotFoundError` and the like.
pub(crate) fn to_os_error(path: &Path, error: &io::Error) -> PyErr {
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::NotFound => 2,          // ENOENT
        io::ErrorKind::PermissionDenied => 13, // EACCES
        _ => 22,                               // EINVAL
    });
    let text = error.to_string();
    let text = text.rsplit_once(" (os error").map_or(text.as_str(), |(text, _)| text);
    PyOSError::new_err((number, text.to_owned(), path.to_string_lossy().into_owned()))
}

/// All mistakes of a scenario as one exception.
pub(crate) fn to_scenario_error(py: Python<'_>, mistakes: &Mistakes) -> PyErr {
    let error = ScenarioError::new_err(mistakes.to_string());
    match attach(py, &error, mistakes) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

fn attach(py: Python<'_>, error: &PyErr, mistakes: &Mistakes) -> PyResult<()> {
    let diagnostics = PyList::empty(py);
    for diagnostic in &mistakes.diagnostics {
        let entry = PyDict::new(py);
        entry.set_item("file", &diagnostic.file)?;
        entry.set_item("line", diagnostic.line)?;
        entry.set_item("column", diagnostic.column)?;
        entry.set_item("field", &diagnostic.field)?;
        entry.set_item("value", &diagnostic.value)?;
        entry.set_item("message", &diagnostic.message)?;
        entry.set_item("remedy", &diagnostic.remedy)?;
        entry.set_item("source_line", &diagnostic.source_line)?;
        entry.set_item("marks", &diagnostic.marks)?;
        entry.set_item("unseen_value", diagnostic.unseen_value())?;
        diagnostics.append(entry)?;
    }
    error.value(py).setattr("has_more", mistakes.has_more)?;
    error.value(py).setattr("diagnostics", diagnostics)
}
