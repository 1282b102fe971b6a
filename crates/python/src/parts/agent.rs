//! Observations and rewards written in Python, as an agent uses them.

use std::fmt;
use std::sync::Arc;

use ackclock_agent::{OBSERVATIONS, OwnObservation, OwnReward, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::class::{Class, wrong_answer};

/// The catalogue's observations at a decision, by name: the argument of own rewards and observations.
///
/// Each value is in the unit of its name, and none can be changed.
#[pyclass(module = "ackclock._core", name = "Values", frozen, mapping)]
pub(crate) struct PyValues(Box<[f64]>);

#[pymethods]
impl PyValues {
    /// Return the value of an observation.
    ///
    /// Args:
    ///     name: The observation's name, as `ackclock list agents` shows it.
    ///
    /// Raises:
    ///     KeyError: If the name is unknown.
    fn __getitem__(&self, name: &str) -> PyResult<f64> {
        self.find(name).ok_or_else(|| {
            PyKeyError::new_err(format!("unknown observation {name:?}; `ackclock list agents` lists them"))
        })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.find(name).is_some())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(slf.py(), OBSERVATIONS.iter().map(|observation| observation.name))?.try_iter()
    }

    /// Return the value of an observation, or a default for an unknown name.
    ///
    /// Args:
    ///     key: The observation's name, as `ackclock list agents` shows it.
    ///     default: The value for an unknown name.
    #[pyo3(signature = (key, /, default=None))]
    fn get(&self, py: Python<'_>, key: &str, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        match self.find(key) {
            Some(value) => Ok(value.into_pyobject(py)?.into_any().unbind()),
            None => Ok(default.unwrap_or_else(|| py.None())),
        }
    }

    /// Return the names, as of a dictionary.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "KeysView")
    }

    /// Return the values, as of a dictionary.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ValuesView")
    }

    /// Return names and values, as of a dictionary.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ItemsView")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let all = PyDict::new(py);
        for (observation, value) in OBSERVATIONS.iter().zip(&self.0) {
            all.set_item(observation.name, value)?;
        }
        Ok(all.repr()?.to_string())
    }
}

impl PyValues {
    fn new(values: &Values<'_>) -> Self {
        Self(OBSERVATIONS.iter().map(|observation| values.value(observation)).collect())
    }

    fn find(&self, name: &str) -> Option<f64> {
        OBSERVATIONS.iter().position(|observation| observation.name == name).map(|place| self.0[place])
    }
}

fn view<'py>(values: &Bound<'py, PyValues>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    values.py().import("collections.abc")?.getattr(kind)?.call1((values,))
}

/// An instance of a user's class, and its method that makes a number of the values.
struct Instance {
    class: Arc<Class>,
    object: Py<PyAny>,
    method: Py<PyAny>,
    call: &'static str,
}

impl Instance {
    fn new(class: &Arc<Class>, call: &'static str) -> Self {
        Python::attach(|py| {
            let made = class.instance_without_start(py).and_then(|object| Self::around(class, &object, call));
            made.unwrap_or_else(|error| class.leave(py, error, "__init__", None))
        })
    }

    fn around(class: &Arc<Class>, object: &Bound<'_, PyAny>, call: &'static str) -> PyResult<Self> {
        let method = object.getattr(call)?.unbind();
        Ok(Self { class: Arc::clone(class), object: object.clone().unbind(), method, call })
    }

    fn number(&self, values: &Values<'_>) -> f64 {
        Python::attach(|py| {
            let number = self.ask(py, PyValues::new(values));
            number.unwrap_or_else(|error| self.class.leave(py, error, self.call, Some(values.now())))
        })
    }

    fn ask(&self, py: Python<'_>, values: PyValues) -> PyResult<f64> {
        let method = self.method.bind(py);
        let answer = method.call1((Py::new(py, values)?,))?;
        let number = answer.extract::<f64>().ok().filter(|number| !number.is_nan());
        number.ok_or_else(|| wrong_answer(&answer, method, "it must be a number"))
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
        Self::around(&self.class, &copy, self.call)
    }
}

impl Clone for Instance {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copy(py).unwrap_or_else(|error| self.class.leave(py, error, "a copy", None)))
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("class", &self.class.name).finish_non_exhaustive()
    }
}

/// A reward of a user's class.
#[derive(Clone, Debug)]
pub(super) struct PythonReward(Instance);

impl PythonReward {
    pub(super) fn new(class: &Arc<Class>) -> Self {
        Self(Instance::new(class, "reward"))
    }
}

impl OwnReward for PythonReward {
    fn reward(&mut self, values: &Values<'_>) -> f64 {
        self.0.number(values)
    }
}

/// An observation of a user's class.
#[derive(Clone, Debug)]
pub(super) struct PythonObservation(Instance);

impl PythonObservation {
    pub(super) fn new(class: &Arc<Class>) -> Self {
        Self(Instance::new(class, "value"))
    }
}

impl OwnObservation for PythonObservation {
    fn value(&mut self, values: &Values<'_>) -> f64 {
        self.0.number(values)
    }
}
