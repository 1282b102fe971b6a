//! A method of a user's class that takes an event.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;
use pyo3::types::PyTuple;

use crate::class::wrong_answer;

/// Number of references to an event that only its hook holds: the hook's own, and the argument tuple's.
const OWN_REFERENCES: isize = 2;

/// A class of events.
pub(super) trait Event: PyClass<Frozen = False> + Into<PyClassInitializer<Self>> {}

impl<E: PyClass<Frozen = False> + Into<PyClassInitializer<E>>> Event for E {}

/// A bound method with its argument. One event object serves every call, unless the user's code keeps a reference. Then
/// that object keeps its values, and the next call gets a new one.
pub(super) struct Hook<E: Event> {
    method: Py<PyAny>,
    argument: Option<Argument<E>>,
}

struct Argument<E: Event> {
    event: Py<E>,
    tuple: Py<PyTuple>,
}

impl<E: Event> Hook<E> {
    /// The method `name` of `object`.
    pub(super) fn new(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Ok(Self { method: object.getattr(name)?.unbind(), argument: None })
    }

    pub(super) fn call(&mut self, py: Python<'_>, event: E) -> PyResult<()> {
        let method = self.method.bind(py);
        let answer = match &self.argument {
            Some(argument) if argument.is_ours(py) => {
                *argument.event.borrow_mut(py) = event;
                method.call1(argument.tuple.bind(py))?
            }
            _ => {
                let argument = self.argument.insert(Argument::new(py, event)?);
                method.call1(argument.tuple.bind(py))?
            }
        };
        nothing(&answer, method)
    }
}

impl<E: Event> Argument<E> {
    fn new(py: Python<'_>, event: E) -> PyResult<Self> {
        let event = Py::new(py, event)?;
        let tuple = PyTuple::new(py, [event.clone_ref(py)])?.unbind();
        Ok(Self { event, tuple })
    }

    /// True if nothing else refers to the event.
    #[allow(unsafe_code, reason = "PyO3 has no safe way to ask for the number of references")]
    fn is_ours(&self, _py: Python<'_>) -> bool {
        // SAFETY: the pointer is that of an object that `self` keeps alive, and Python's lock is held.
        unsafe { pyo3::ffi::Py_REFCNT(self.event.as_ptr()) == OWN_REFERENCES }
    }
}

/// Checks the answer of a controller's method, which must be None.
pub(super) fn nothing(answer: &Bound<'_, PyAny>, method: &Bound<'_, PyAny>) -> PyResult<()> {
    const WANTED: &str = "it must be None; assign what changes, such as self.cwnd_bytes";
    if answer.is_none() { Ok(()) } else { Err(wrong_answer(answer, method, WANTED)) }
}

/// Reads the answer of `on_feedback`.
pub(super) fn yes_or_no(answer: &Bound<'_, PyAny>, method: &Bound<'_, PyAny>) -> PyResult<bool> {
    const WANTED: &str = "it must be True, or False to decline ECN";
    answer.extract().map_err(|_| wrong_answer(answer, method, WANTED))
}
