//! An exception of a user's class, or a panic of a plug-in, on its way out of the simulation.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ackclock_plugin::host::PluginFailure;
use ackclock_units::SimTime;
use pyo3::exceptions::{PyException, PyRuntimeError, PySystemExit};
use pyo3::prelude::*;

use crate::signals::Listening;

/// The payload of a panic that unwinds the simulation.
#[derive(Debug)]
pub(crate) struct PartFailure {
    error: PyErr,
}

/// The attribute with the part's name, by which the command line tells a user's exception from a fault of ackclock.
const MARK: &str = "ackclock_part";

impl PartFailure {
    /// An exception that ends the simulation, whoever raised it.
    pub(crate) fn of(error: PyErr) -> Self {
        Self { error }
    }

    /// Leaves the simulation with `error`, which keeps its traceback and gets a note of its origin. Other exceptions
    /// than `Exception` and `SystemExit`, as Ctrl-C, pass unchanged.
    pub(crate) fn leave(py: Python<'_>, error: PyErr, part: &str, call: &str, now: Option<SimTime>) -> ! {
        if error.is_instance_of::<PyException>(py) || error.is_instance_of::<PySystemExit>(py) {
            let when = now.map(|now| format!(" at {} s of simulated time", now.as_secs_f64())).unwrap_or_default();
            let value = error.value(py);
            // An exception may refuse either (`__slots__`); it is reported all the same.
            let _ = value.call_method1("add_note", (format!("in {call} of {part}{when}"),));
            let _ = value.setattr(MARK, part);
        }
        resume_unwind(Box::new(Self { error }))
    }

    /// Runs `work`, in which parts may fail and which Ctrl-C may end, and returns the exception with which it failed.
    pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> PyResult<T> {
        let _listening = Listening::begin();
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Self>() {
            Ok(failure) => failure.error,
            Err(payload) => of_plugin(payload),
        })
    }
}

/// A plug-in's panic as an exception; any other panic continues.
fn of_plugin(payload: Box<dyn Any + Send>) -> PyErr {
    match payload.downcast::<PluginFailure>() {
        Ok(failure) => Python::attach(|py| {
            let error = PyRuntimeError::new_err(failure.to_string());
            let _ = error.value(py).setattr(MARK, &failure.part);
            error
        }),
        Err(panic) => resume_unwind(panic),
    }
}
