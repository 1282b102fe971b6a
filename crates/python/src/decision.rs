//! Decisions of agents, as Python gives them.

use ackclock_agent::{ActionSpace, Move};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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

/// Refuses an action outside the space: it is a mistake of the caller, and is not clipped.
pub(crate) fn check_actions(actions: &[f64], space: &ActionSpace) -> PyResult<()> {
    match *space {
        ActionSpace::Discrete(choices) => match actions.iter().find(|action| !is_choice(**action, choices)) {
            Some(action) => {
                let last = choices - 1;
                Err(PyValueError::new_err(format!("action {action} must be a whole number from 0 to {last}")))
            }
            None => Ok(()),
        },
        ActionSpace::Range(low, high) if actions.iter().any(|action| action.is_nan()) => {
            Err(PyValueError::new_err(format!("action is NaN; give a number from {low} to {high}")))
        }
        ActionSpace::Range(..) => Ok(()),
    }
}

/// True for whole numbers from 0 to below `choices`.
fn is_choice(action: f64, choices: usize) -> bool {
    let choices = u32::try_from(choices).map_or(f64::INFINITY, f64::from);
    (0.0..choices).contains(&action) && action.fract() == 0.0
}
