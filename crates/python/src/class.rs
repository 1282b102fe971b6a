//! A user's class, as a scenario names it.

use ackclock_cc::Demands;
use ackclock_units::SimTime;
use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::PartFailure;

/// A class with the arguments of its constructor.
#[derive(Debug)]
pub(crate) struct Class {
    /// The name for messages, such as `python:module:Class`.
    pub(crate) name: String,
    pub(crate) constructor: Py<PyAny>,
    /// Keyword arguments, as JSON: every instance gets values of its own.
    pub(crate) parameters: String,
    /// Names of the methods that the class overrides.
    pub(crate) overridden: Vec<String>,
    /// Events that a controller asks for; nothing for other classes.
    pub(crate) demands: Demands,
}

impl Class {
    pub(crate) fn overrides(&self, method: &str) -> bool {
        self.overridden.iter().any(|name| name == method)
    }

    /// An instance whose first argument is `start`.
    pub(crate) fn instance<'py, S>(&self, py: Python<'py>, start: S) -> PyResult<Bound<'py, PyAny>>
    where
        S: PyClass + Into<PyClassInitializer<S>>,
    {
        self.constructor.bind(py).call((Py::new(py, start)?,), Some(&self.arguments(py)?))
    }

    /// An instance whose only arguments are its parameters.
    pub(crate) fn instance_without_start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.constructor.bind(py).call((), Some(&self.arguments(py)?))
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(py.import("json")?.call_method1("loads", (&self.parameters,))?.cast_into::<PyDict>()?)
    }

    /// A copy of an instance with all that it holds.
    pub(crate) fn copy<'py, S>(py: Python<'py>, object: &Py<PyAny>, start: S) -> PyResult<Bound<'py, PyAny>>
    where
        S: PyClass + Into<PyClassInitializer<S>>,
    {
        py.import("ackclock.controllers")?.call_method1("copy_of", (object, Py::new(py, start)?))
    }

    pub(crate) fn leave(&self, py: Python<'_>, error: PyErr, call: &str, now: Option<SimTime>) -> ! {
        PartFailure::leave(py, error, &self.name, call, now)
    }
}

/// The error for a method that returned a wrong answer.
#[cold]
pub(crate) fn wrong_answer(answer: &Bound<'_, PyAny>, method: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let shown = answer.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let place = place_of(method).unwrap_or_else(|_| "a method".to_owned());
    PyTypeError::new_err(format!("{place} returned {shown}; {wanted}"))
}

/// The place of a method for messages, such as `on_ack (mine.py:12)`.
fn place_of(method: &Bound<'_, PyAny>) -> PyResult<String> {
    let code = method.getattr("__code__")?;
    let (file, line) = (code.getattr("co_filename")?, code.getattr("co_firstlineno")?);
    Ok(format!("{} ({file}:{line})", method.getattr("__name__")?))
}
