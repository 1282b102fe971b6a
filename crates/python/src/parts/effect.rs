//! An effect written in Python, as the link uses it.

use std::fmt;
use std::sync::Arc;

use ackclock_net::{Fate, LinkEffect, Packet, PartStart};
use ackclock_units::{SimDuration, SimTime};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::PyLinkStart;
use super::packet::PyPacket;
use crate::class::{Class, wrong_answer};

/// The longest delay, an hour: far beyond any path.
const MAX_DELAY: u64 = 3_600_000_000_000;

/// The fate of a packet that a link has sent: the result of `LinkEffect.on_packet`.
///
/// Args:
///     delay_ns: Delay on top of propagation, nanoseconds; the order of packets is kept.
///     held_ns: Time for which it is held back, nanoseconds, while others pass it.
///     is_copied: True if a copy arrives right behind it.
///     is_lost: True if it never arrives; the other arguments are ignored.
///
/// Raises:
///     TypeError: If a time is not a whole number.
///     ValueError: If a time is negative, or more than an hour.
#[pyclass(module = "ackclock._core", name = "Fate", frozen)]
pub(crate) struct PyFate(Fate);

#[pymethods]
impl PyFate {
    #[new]
    #[pyo3(signature = (*, delay_ns=None, held_ns=None, is_copied=false, is_lost=false))]
    fn new(
        delay_ns: Option<&Bound<'_, PyAny>>,
        held_ns: Option<&Bound<'_, PyAny>>,
        is_copied: bool,
        is_lost: bool,
    ) -> PyResult<Self> {
        let jitter = delay_ns.map_or(Ok(SimDuration::ZERO), |value| span(value, "delay_ns"))?;
        let held = held_ns.map_or(Ok(SimDuration::ZERO), |value| span(value, "held_ns"))?;
        Ok(Self(if is_lost { Fate::Lost } else { Fate::Arrives { jitter, held, copied: is_copied } }))
    }

    /// True if it never arrives.
    #[getter]
    fn is_lost(&self) -> bool {
        self.0 == Fate::Lost
    }

    fn __repr__(&self) -> String {
        match self.0 {
            Fate::Lost => "Fate(is_lost=True)".to_owned(),
            Fate::Arrives { jitter, held, copied } => {
                let copied = if copied { "True" } else { "False" };
                format!("Fate(delay_ns={}, held_ns={}, is_copied={copied})", jitter.0, held.0)
            }
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

fn span(value: &Bound<'_, PyAny>, field: &str) -> PyResult<SimDuration> {
    match value.extract::<i128>() {
        Ok(ns) => match u64::try_from(ns) {
            Ok(ns) if ns <= MAX_DELAY => Ok(SimDuration(ns)),
            _ => {
                Err(PyValueError::new_err(format!("{field} = {ns} is out of range; give 0 to {MAX_DELAY} nanoseconds")))
            }
        },
        Err(_) => Err(PyTypeError::new_err(format!(
            "{field} = {} is not a whole number; give whole nanoseconds, as int(...) makes them",
            value.repr()?
        ))),
    }
}

/// An instance of a user's class.
pub(super) struct PythonEffect {
    class: Arc<Class>,
    object: Py<PyAny>,
    on_packet: Py<PyAny>,
    start: PartStart,
}

impl PythonEffect {
    pub(super) fn new(class: &Arc<Class>, start: &PartStart) -> Self {
        Python::attach(|py| {
            let made = class.instance(py, PyLinkStart(*start)).and_then(|object| Self::around(class, &object, *start));
            made.unwrap_or_else(|error| class.leave(py, error, "__init__", None))
        })
    }

    fn around(class: &Arc<Class>, object: &Bound<'_, PyAny>, start: PartStart) -> PyResult<Self> {
        let on_packet = object.getattr("on_packet")?.unbind();
        Ok(Self { class: Arc::clone(class), object: object.clone().unbind(), on_packet, start })
    }

    fn ask(&self, py: Python<'_>, now: SimTime, packet: PyPacket) -> PyResult<Fate> {
        let method = self.on_packet.bind(py);
        let answer = method.call1((now.0, Py::new(py, packet)?))?;
        if answer.is_none() {
            return Ok(Fate::ARRIVES);
        }
        let fate = answer.cast::<PyFate>().map(|fate| fate.get().0);
        fate.map_err(|_| wrong_answer(&answer, method, "it must be a Fate or None"))
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Self::around(&self.class, &Class::copy(py, &self.object, PyLinkStart(self.start))?, self.start)
    }
}

impl LinkEffect for PythonEffect {
    fn on_packet(&mut self, now: SimTime, packet: &Packet, octets: u64) -> Fate {
        Python::attach(|py| {
            let fate = self.ask(py, now, PyPacket::sent(packet, octets, now));
            fate.unwrap_or_else(|error| self.class.leave(py, error, "on_packet", Some(now)))
        })
    }
}

impl Clone for PythonEffect {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copy(py).unwrap_or_else(|error| self.class.leave(py, error, "a copy", None)))
    }
}

impl fmt::Debug for PythonEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonEffect").field("class", &self.class.name).finish_non_exhaustive()
    }
}
