//! A source of traffic written in Python, as the flow uses it.

use std::fmt;
use std::sync::Arc;

use ackclock_sim::{SourceStart, Supply, Then, TrafficSource};
use ackclock_units::{Bytes, SimTime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{AtNs, Seed, WriteBytes};
use crate::class::{Class, wrong_answer};

/// The initial values of a source of traffic: the first argument of its constructor.
///
/// Args:
///     seed: Seed of the source's random numbers, 0 to 2^64 - 1: each flow's own, from the scenario's.
///
/// Raises:
///     ValueError: If it is negative, or 2^64 or more.
#[pyclass(module = "ackclock._core", name = "SourceStart", frozen)]
pub(crate) struct PySourceStart(SourceStart);

#[pymethods]
impl PySourceStart {
    #[new]
    #[pyo3(signature = (*, seed=Seed(0)), text_signature = "(*, seed=0)")]
    fn new(seed: Seed) -> Self {
        Self(SourceStart { seed: seed.0 })
    }

    /// Seed of the source's random numbers: each flow's own, from the scenario's.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Return this object itself, as it cannot be changed.
    ///
    /// Args:
    ///     _memo: Not used.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// The next action of a source of traffic: the result of `TrafficSource.next`.
///
/// It continues at a time, or when the receiving application has read all data, or never.
///
/// Args:
///     write_bytes: Amount to write to the connection now, bytes.
///     at_ns: Time at which the source goes on, nanoseconds of simulated time; None for when all has been read.
///     closes: The connection closes after this, and `next` is called no more.
///
/// Raises:
///     ValueError: If a number is negative, or 2^64 or more; if it closes and continues, or writes nothing and
///         waits until that is read.
#[pyclass(module = "ackclock._core", name = "Supply", frozen)]
pub(crate) struct PySupply(Supply);

#[pymethods]
impl PySupply {
    #[new]
    #[pyo3(
        signature = (write_bytes=WriteBytes(0), *, at_ns=None, closes=false),
        text_signature = "(write_bytes=0, *, at_ns=None, closes=False)"
    )]
    fn new(write_bytes: WriteBytes, at_ns: Option<AtNs>, closes: bool) -> PyResult<Self> {
        let WriteBytes(write_bytes) = write_bytes;
        let then = match (at_ns, closes) {
            (Some(_), true) => {
                return Err(PyValueError::new_err(
                    "a source that closes does not go on: give at_ns or closes, not both",
                ));
            }
            (Some(AtNs(time)), false) => Then::At(SimTime(time)),
            (None, true) => Then::Close,
            (None, false) if write_bytes == 0 => {
                return Err(PyValueError::new_err(
                    "it writes nothing and waits for nothing: give at_ns, or closes=True",
                ));
            }
            (None, false) => Then::WhenRead,
        };
        Ok(Self(Supply { write: Bytes(write_bytes), then }))
    }

    fn __repr__(&self) -> String {
        let write = self.0.write.0;
        match self.0.then {
            Then::At(time) => format!("Supply({write}, at_ns={})", time.0),
            Then::WhenRead => format!("Supply({write})"),
            Then::Close => format!("Supply({write}, closes=True)"),
        }
    }

    /// Return this object itself, as it cannot be changed.
    ///
    /// Args:
    ///     _memo: Not used.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

/// An instance of a user's class.
pub(super) struct PythonSource {
    class: Arc<Class>,
    object: Py<PyAny>,
    next: Py<PyAny>,
    start: SourceStart,
}

impl PythonSource {
    pub(super) fn new(class: &Arc<Class>, start: SourceStart) -> Self {
        Python::attach(|py| {
            let made = class.instance(py, PySourceStart(start)).and_then(|object| Self::around(class, &object, start));
            made.unwrap_or_else(|error| class.leave(py, error, "__init__", None))
        })
    }

    fn around(class: &Arc<Class>, object: &Bound<'_, PyAny>, start: SourceStart) -> PyResult<Self> {
        let next = object.getattr("next")?.unbind();
        Ok(Self { class: Arc::clone(class), object: object.clone().unbind(), next, start })
    }

    fn ask(&self, py: Python<'_>, now: SimTime, unsent: Bytes) -> PyResult<Supply> {
        let method = self.next.bind(py);
        let answer = method.call1((now.0, unsent.0))?;
        let supply = answer.cast::<PySupply>().map(|supply| supply.get().0);
        let supply = supply.map_err(|_| wrong_answer(&answer, method, "it must be a Supply"))?;
        match supply.then {
            Then::At(time) if time <= now => Err(PyValueError::new_err(format!(
                "at_ns = {} has passed already; give a time after now_ns = {}",
                time.0, now.0
            ))),
            _ => Ok(supply),
        }
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Self::around(&self.class, &Class::copy(py, &self.object, PySourceStart(self.start))?, self.start)
    }
}

impl TrafficSource for PythonSource {
    fn next(&mut self, now: SimTime, unsent: Bytes) -> Supply {
        Python::attach(|py| {
            let supply = self.ask(py, now, unsent);
            supply.unwrap_or_else(|error| self.class.leave(py, error, "next", Some(now)))
        })
    }
}

impl Clone for PythonSource {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copy(py).unwrap_or_else(|error| self.class.leave(py, error, "a copy", None)))
    }
}

impl fmt::Debug for PythonSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonSource").field("class", &self.class.name).finish_non_exhaustive()
    }
}
