//! `LiveFlow`: an agent on a real connection, for the environments on the kernel. `KernelControllers`: the controllers of
//! a scenario there.

use ackclock_agent::{AgentConfig, Observation};
use ackclock_env::{KERNEL_REPORT_LEN, KernelAck, KernelControllers, LiveFlow};
use numpy::{PyArray, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::decision::AnyMove;
use crate::scenario::PyScenario;

/// An agent on a real connection: ACKs reported by the kernel go in, a window comes out.
///
/// `ackclock.gym` adapts it to Gymnasium.
///
/// Args:
///     scenario: The scenario, which gives the flow's own controller.
///     flow: The flow's name.
///     agent: Settings as JSON of `AgentSettings.to_json`.
///
/// Raises:
///     ValueError: If a setting is wrong, or the flow is unknown.
#[pyclass(module = "ackclock._core", name = "LiveFlow")]
pub(crate) struct PyLiveFlow {
    inner: LiveFlow,
}

#[pymethods]
impl PyLiveFlow {
    #[new]
    fn new(scenario: &PyScenario, flow: &str, agent: &str) -> PyResult<Self> {
        scenario.check_imported()?;
        let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let config = AgentConfig::from_json_with(agent, scenario.inner.library()).map_err(|error| wrong(&error))?;
        let inner = LiveFlow::new(&scenario.inner, flow, config).map_err(|error| wrong(&error))?;
        Ok(Self { inner })
    }

    /// Process an ACK, and return whether a decision is due.
    ///
    /// Args:
    ///     time_ns: Time of the ACK, nanoseconds of the machine's monotonic clock.
    ///     cwnd: Congestion window, segments.
    ///     srtt_us: Smoothed round trip, microseconds.
    ///     min_rtt_us: Least round trip, microseconds.
    ///     rtt_us: Round trip that the ACK measured, microseconds; 0 if none.
    ///     inflight: Segments in flight after it.
    ///     acked: Segments newly delivered.
    ///     lost: Segments newly marked lost.
    ///     state: The kernel's congestion state.
    ///     mss: Size of a segment, octets.
    #[allow(clippy::too_many_arguments, reason = "as the kernel's record has them")]
    fn on_ack(
        &mut self,
        time_ns: u64,
        cwnd: u32,
        srtt_us: u32,
        min_rtt_us: u32,
        rtt_us: u32,
        inflight: u32,
        acked: u32,
        lost: u32,
        state: u32,
        mss: u32,
    ) -> bool {
        let counts = None;
        let ack = KernelAck { time_ns, cwnd, srtt_us, min_rtt_us, rtt_us, inflight, acked, lost, state, mss, counts };
        self.inner.on_ack(&ack)
    }

    /// Return the reward of the last interval. Call it before `observe`.
    fn reward(&mut self) -> f64 {
        self.inner.reward()
    }

    /// Return the observation, a float32 array of the shape of the space.
    fn observe<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let config = self.inner.config();
        let row = config.observations.len();
        let shape = if config.history == 1 { vec![row] } else { vec![config.history, row] };
        let mut numbers = vec![0.0; row * config.history];
        self.inner.observe(&mut numbers);
        PyArray::from_vec(py, numbers).reshape(shape)
    }

    /// Take an action.
    ///
    /// Args:
    ///     action: Action, as `Environment.step` takes it.
    ///
    /// Raises:
    ///     ValueError: If the action is not in the action space, or NaN.
    fn act(&mut self, action: AnyMove) -> PyResult<()> {
        let decision = action.check(&self.inner.config().action.space())?;
        self.inner.act(decision);
        Ok(())
    }

    /// Return the connection's new window, in segments, and its rate in bit/s; 0 if none is set.
    fn steering(&self) -> (u32, u64) {
        let (cwnd, rate) = self.inner.steering();
        (cwnd, rate.map_or(0, |rate| rate.0))
    }

    /// Return the value of an observation now, in its unit.
    ///
    /// Args:
    ///     name: The observation's name in the catalogue.
    ///
    /// Raises:
    ///     KeyError: If the observation is unknown.
    fn read(&self, name: &str) -> PyResult<f64> {
        let observation = Observation::named(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(self.inner.read(observation))
    }

    /// Time since the first ACK, in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.inner.now().as_secs_f64()
    }
}

/// The controllers of a scenario on the connections of a kernel in virtual time.
///
/// Args:
///     scenario: The scenario.
#[pyclass(module = "ackclock._core", name = "KernelControllers")]
pub(crate) struct PyKernelControllers {
    inner: KernelControllers,
}

#[pymethods]
impl PyKernelControllers {
    #[new]
    fn new(scenario: &PyScenario) -> PyResult<Self> {
        scenario.check_imported()?;
        Ok(Self { inner: KernelControllers::new(&scenario.inner) })
    }

    /// Return the decision on a report: octets of `struct decision` for those of `struct report`.
    ///
    /// Args:
    ///     report: The report, as the kernel's controller `ackclock_agent` writes it.
    ///
    /// Raises:
    ///     ValueError: If the report has another size, or is of no flow of the scenario.
    fn answer<'py>(&mut self, py: Python<'py>, report: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let size = report.len();
        let wrong = || format!("a report has {KERNEL_REPORT_LEN} octets, not {size}");
        let report = report.try_into().map_err(|_| PyValueError::new_err(wrong()))?;
        let decision = self.inner.answer(report).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &decision))
    }
}
