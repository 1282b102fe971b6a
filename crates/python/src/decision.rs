//! Decisions of agents, as Python gives them.

use ackclock_agent::{ActionSpace, Move};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::environment::check_actions;

/// A decision that sets window and rate, whatever the agent's kind of actions.
///
/// Args:
///     cwnd_segments: The congestion window, in segments.
///     pacing_rate_bps: The pacing rate, in bits per second; None for that of the stack.
///
/// Raises:
///     ValueError: If a number is NaN.
#[pyclass(module = "ackclock._core", name = "WindowAndRate", frozen)]
pub(crate) struct PyWindowAndRate(Move);

#[pymethods]
impl PyWindowAndRate {
    #[new]
    #[pyo3(signature = (cwnd_segments, pacing_rate_bps=None))]
    fn new(cwnd_segments: f64, pacing_rate_bps: Option<f64>) -> PyResult<Self> {
        for (name, number) in [("cwnd_segments", Some(cwnd_segments)), ("pacing_rate_bps", pacing_rate_bps)] {
            if number.is_some_and(f64::is_nan) {
                return Err(PyValueError::new_err(format!("{name} is NaN; give a number")));
            }
        }
        Ok(Self(Move::Setting { cwnd_segments, pacing_rate_bps }))
    }
}

/// A number, or a [`PyWindowAndRate`].
#[derive(Clone, Copy)]
pub(crate) struct AnyMove(pub(crate) Move);

impl<'a, 'py> FromPyObject<'a, 'py> for AnyMove {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match value.cast::<PyWindowAndRate>() {
            Ok(decision) => Ok(Self(decision.get().0)),
            Err(_) => value.extract().map(|action| Self(Move::Action(action))),
        }
    }
}

impl AnyMove {
    /// Refuses an action outside the space.
    pub(crate) fn check(self, space: &ActionSpace) -> PyResult<Move> {
        if let Move::Action(action) = self.0 {
            check_actions(&[action], space)?;
        }
        Ok(self.0)
    }
}
