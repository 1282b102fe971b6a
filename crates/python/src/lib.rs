//! The Python module `ackclock._core`: the checked scenario, the simulation and its results, controllers and other
//! parts written in Python, a single endpoint, and nothing else.
//!
//! The comment above a `#[pyclass]`, a method or a function is its docstring, in Google's form; `tests/stub.py --write`
//! copies it into `_core.pyi`.
#![allow(clippy::doc_markdown, reason = "arguments stand without marks in a docstring of Google's form")]

mod arguments;
mod class;
mod controller;
mod decision;
mod endpoint;
mod environment;
mod errors;
mod events;
mod failure;
mod faults;
mod live;
mod parts;
mod scenario;
mod signals;
mod simulation;
mod table;

use pyo3::prelude::*;

/// The compiled core of ackclock.
#[pymodule]
mod _core {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use ackclock_agent::policy::quantised::Quantised;
    use ackclock_agent::policy::quantised::module::LONGEST_NAME;
    use ackclock_agent::policy::{Activation, Policy, PolicyError, agent_of, trained_policy};
    use ackclock_units::{Bandwidth, LINE_RATES};
    use numpy::{PyReadonlyArray1, PyReadonlyArray2};
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict};

    use crate::arguments::{Cycles, Decisions, Octets, SegmentsPerLoss};
    use crate::failure::PartFailure;

    #[pymodule_export]
    use crate::controller::{PyAckEvent, PyCongestionEvent, PyControllerState, PyRestartEvent, PySendEvent, PyStart};
    #[pymodule_export]
    use crate::controller::{PyDeliveryReport, PyRateSample, PySegmentReport};
    #[pymodule_export]
    use crate::decision::PyWindowAndRate;
    #[pymodule_export]
    use crate::endpoint::PyEndpoint;
    #[pymodule_export]
    use crate::environment::{PyEnvironment, PyVectorEnvironment};
    #[pymodule_export]
    use crate::errors::ScenarioError;
    #[pymodule_export]
    use crate::live::{PyKernelControllers, PyLiveFlow};
    #[pymodule_export]
    use crate::parts::{PyFate, PyLinkStart, PyOwnPart, PyPacket, PyQueueState, PySourceStart, PySupply, PyValues};
    #[pymodule_export]
    use crate::scenario::PyScenario;
    #[pymodule_export]
    use crate::simulation::{PyOutcome, PySimulation};
    #[pymodule_export]
    use crate::table::PyTable;

    #[pymodule_init]
    #[allow(clippy::unnecessary_wraps, reason = "PyO3 expects a result")]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::signals::listen();
        crate::faults::keep();
        Ok(())
    }

    /// Let long work of this thread call a function about twenty times a second, beside acting on signals.
    ///
    /// Args:
    ///     check: The function, whose exception ends the work; None removes it.
    #[pyfunction]
    #[pyo3(signature = (check))]
    fn check_often(check: Option<Py<PyAny>>) {
        crate::signals::set_check(check);
    }

    /// Return the first panic inside the core since the last call, with its place; None without one.
    #[pyfunction]
    fn take_fault() -> Option<String> {
        crate::faults::take()
    }

    /// Return the window for full segments that a receive buffer of this memory gives, as Linux counts it.
    ///
    /// Args:
    ///     octets: Memory in bytes, as in `tcp_rmem`.
    #[pyfunction]
    fn window_of_memory(octets: Octets) -> u64 {
        ackclock_tcp::window_of_memory(octets.0)
    }

    /// Return the code that a scenario or a study names, in any draw of it: entries of `use`, and classes.
    ///
    /// Args:
    ///     text: TOML or JSON; nothing that it names is run.
    ///     overrides: Overrides as for `Scenario.load`.
    ///
    /// Returns:
    ///     The names; None if the text cannot be parsed.
    #[pyfunction]
    #[pyo3(signature = (text, overrides=vec![]))]
    #[allow(clippy::needless_pass_by_value, reason = "PyO3 hands over a list")]
    fn code_of(text: &str, overrides: Vec<String>) -> Option<Vec<String>> {
        ackclock_scenario::code_of(text, &overrides)
    }

    /// Return the octets of a file.
    ///
    /// Args:
    ///     path: A regular file, or a device that ends.
    ///     most: Size in octets above which a file is refused.
    ///
    /// Raises:
    ///     OSError: If it cannot be read, is longer, or is a folder, a pipe, a socket or a terminal.
    #[pyfunction]
    #[allow(clippy::needless_pass_by_value, reason = "PyO3 hands over a path")]
    fn read_file(py: Python<'_>, path: PathBuf, most: u64) -> PyResult<Bound<'_, PyBytes>> {
        Ok(PyBytes::new(py, &ackclock_scenario::read_file(&path, most)?))
    }

    /// Return the known names that an unknown one may stand for, or an empty list.
    ///
    /// Args:
    ///     given: The name.
    ///     known: Each known name with its description, which may mention other names for it.
    #[pyfunction]
    #[allow(clippy::needless_pass_by_value, reason = "PyO3 hands over a list")]
    fn meant(given: &str, known: Vec<(String, String)>) -> Vec<String> {
        let known: Vec<(&str, &str)> = known.iter().map(|(name, said)| (name.as_str(), said.as_str())).collect();
        ackclock_declare::meant(given, &known).into_iter().map(str::to_owned).collect()
    }

    /// Return digital lines by name, such as DS3, each with its rate in a scenario's notation.
    #[pyfunction]
    fn line_rates() -> BTreeMap<&'static str, String> {
        LINE_RATES.iter().map(|(name, rate)| (*name, Bandwidth(*rate).to_string())).collect()
    }

    /// Return the scenario format as JSON Schema, as text.
    #[pyfunction]
    fn schema() -> String {
        ackclock_scenario::schema().to_string()
    }

    /// Return the congestion controllers with their parameters, as a JSON list.
    #[pyfunction]
    fn controllers() -> String {
        ackclock_scenario::controllers().to_string()
    }

    /// Return the profiles of TCP stacks with the switches that each sets, as a JSON list.
    #[pyfunction]
    fn profiles() -> String {
        ackclock_scenario::profiles().to_string()
    }

    /// Return the queue disciplines with their parameters, as a JSON list.
    #[pyfunction]
    fn queues() -> String {
        ackclock_scenario::queues().to_string()
    }

    /// Return the buffer disciplines of appliances with their parameters, as a JSON list.
    #[pyfunction]
    fn buffer_policies() -> String {
        ackclock_scenario::buffer_policies().to_string()
    }

    /// Return the effects of links on packets with their parameters, as a JSON list.
    #[pyfunction]
    fn links() -> String {
        ackclock_scenario::links().to_string()
    }

    /// Return the topologies with their parameters, as a JSON list.
    #[pyfunction]
    fn topologies() -> String {
        ackclock_scenario::topologies().to_string()
    }

    /// Return applications, arrivals and distributions of sizes with their parameters, as a JSON list.
    #[pyfunction]
    fn traffic() -> String {
        ackclock_scenario::traffic().to_string()
    }

    /// Return observations, actions, decisions and rewards of agents, as a JSON table.
    #[pyfunction]
    fn agents() -> String {
        ackclock_agent::catalogue().to_string()
    }

    /// Return the mean window, in segments, of the first flow's controller alone, driven by generated ACKs.
    ///
    /// Args:
    ///     scenario: The scenario, whose first flow gives the controller and the segment size.
    ///     rtt_s: The constant round trip, seconds.
    ///     segments_per_loss: Number of segments for one loss.
    ///     cycles: Losses over which the mean is taken; three times as many before are warm-up.
    ///
    /// Raises:
    ///     ValueError: If the scenario has no flow, or a number is not above 0.
    #[pyfunction]
    fn mean_window(
        py: Python<'_>,
        scenario: &PyScenario,
        rtt_s: f64,
        segments_per_loss: SegmentsPerLoss,
        cycles: Cycles,
    ) -> PyResult<f64> {
        let (SegmentsPerLoss(segments_per_loss), Cycles(cycles)) = (segments_per_loss, cycles);
        scenario.check_imported()?;
        let rtt = ackclock_units::SimDuration::from_secs_f64(rtt_s.max(0.0));
        let Some(flow) = scenario.inner.config().flows.first() else {
            return Err(PyValueError::new_err("the scenario has no connection whose controller could be driven"));
        };
        if rtt.is_zero() || segments_per_loss == 0 || cycles == 0 {
            let given = format!("rtt_s {rtt_s}, segments_per_loss {segments_per_loss}, cycles {cycles}");
            return Err(PyValueError::new_err(format!(
                "mean_window needs a round trip, a loss and a cycle, not {given}"
            )));
        }
        let mss = ackclock_units::Bytes(u64::from(flow.sender.mss));
        let drive = ackclock_cc::Drive { mss, rtt, segments_per_loss, cycles };
        py.detach(|| PartFailure::catch(|| ackclock_cc::mean_window(&flow.controller, drive)))
    }

    /// Exercise the agent of the first flow's controller alone, on random states, to measure its cost.
    ///
    /// Args:
    ///     scenario: The scenario, whose first flow gives the controller.
    ///     decisions: Decisions after the warm-up, each with a step of learning.
    ///
    /// Returns:
    ///     The number of learning steps.
    ///
    /// Raises:
    ///     ValueError: If the scenario has no flow, or its controller has no agent.
    #[pyfunction]
    fn exercise_agent(py: Python<'_>, scenario: &PyScenario, decisions: Decisions) -> PyResult<u64> {
        let Some(flow) = scenario.inner.config().flows.first() else {
            return Err(PyValueError::new_err("the scenario has no connection whose agent could be exercised"));
        };
        let steps = py.detach(|| PartFailure::catch(|| ackclock_cc::exercise_agent(&flow.controller, decisions.0)))?;
        steps.ok_or_else(|| {
            let name = &flow.controller_name;
            PyValueError::new_err(format!("{name} has no agent: use dqn_newreno or dqn_cubic"))
        })
    }

    /// Return a policy in whole numbers, for machines without floating point, and its loss of precision.
    ///
    /// Args:
    ///     content: An ONNX file.
    ///     agent: The agent's configuration as JSON, for a file that has none.
    ///     decisions: Number of decisions on which both forms are compared, about random flows.
    ///
    /// Returns:
    ///     The file; the number of flows, fewer than decisions where the policy remembers; the number of different
    ///     decisions; the mean difference and the greatest, where actions are numbers.
    ///
    /// Raises:
    ///     ValueError: If the file is not a policy, or one that whole numbers cannot represent.
    #[pyfunction]
    #[pyo3(signature = (content, agent=None, decisions=20_000))]
    fn quantised_policy<'py>(
        py: Python<'py>,
        content: &[u8],
        agent: Option<&str>,
        decisions: u32,
    ) -> PyResult<(Bound<'py, PyBytes>, u32, u32, f64, f64)> {
        let wrong = |error: PolicyError| PyValueError::new_err(error.to_string());
        let policy = Policy::from_onnx(content, agent).map_err(wrong)?;
        let quantised = Quantised::of(&policy).map_err(wrong)?;
        let accuracy = quantised.accuracy(&policy, decisions);
        let told = agent.map(str::to_owned).or_else(|| agent_of(content)).unwrap_or_default();
        let file = PyBytes::new(py, &quantised.file(&told));
        Ok((file, accuracy.flows, accuracy.differ, accuracy.mean, accuracy.greatest))
    }

    /// Return a policy in whole numbers as a C file, for `ackclock linux build --module`.
    ///
    /// Args:
    ///     whole: A file that `quantised_policy` returned.
    ///     name: Name of the controller in the kernel: letters, digits and `_`, 15 at most.
    ///
    /// Raises:
    ///     ValueError: If the file is no such policy, or the name is none of a controller.
    #[pyfunction]
    fn policy_module(whole: &[u8], name: &str) -> PyResult<String> {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(PyValueError::new_err(format!(
                "controller {name:?}: must have letters, digits and _ only, and {LONGEST_NAME} of them at most"
            )));
        }
        match Quantised::read(whole) {
            Some(Ok((policy, agent))) => Ok(policy.module(name, &agent)),
            Some(Err(error)) => Err(PyValueError::new_err(error.to_string())),
            None => Err(PyValueError::new_err("must be a policy in whole numbers; quantised_policy returns one")),
        }
    }

    /// Return a policy as an ONNX file that the engine runs.
    ///
    /// Args:
    ///     agent: JSON of the agent's settings, kept in the file.
    ///     activation: "relu" or "tanh", between two layers.
    ///     layers: For each layer its weights, a float32 array of shape (outputs, inputs), and its biases, one of
    ///         shape (outputs,).
    ///     scenario: The scenario, whose `use` brings observations that the settings name and the catalogue lacks.
    ///
    /// Raises:
    ///     ValueError: If a setting is wrong, the activation is unknown, there are no layers, or the layers do not
    ///         fit together.
    #[pyfunction]
    #[pyo3(signature = (agent, activation, layers, scenario=None))]
    fn policy_file<'py>(
        py: Python<'py>,
        agent: &str,
        activation: &str,
        layers: Vec<(PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f32>)>,
        scenario: Option<&PyScenario>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Some(activation) = Activation::named(activation) else {
            return Err(PyValueError::new_err(format!(
                "activation {activation:?} is unknown; write \"relu\" or \"tanh\""
            )));
        };
        let numbers = |(weights, biases): &(PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f32>)| {
            (weights.as_array().iter().copied().collect(), biases.as_array().to_vec())
        };
        let layers: Vec<(Vec<f32>, Vec<f32>)> = layers.iter().map(numbers).collect();
        let library = scenario.map(|scenario| scenario.inner.library().clone()).unwrap_or_default();
        let file = library.open(|| trained_policy(agent, activation, &layers));
        let file = file.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &file))
    }

    /// Return `version`, `profile` ("release" or "debug"), `target` and `engine` of this build.
    ///
    /// `engine` is a hash of the sources that decide results, 64 hexadecimal digits: two builds of one engine measure
    /// the same, whatever their version.
    #[pyfunction]
    fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("version", env!("CARGO_PKG_VERSION"))?;
        info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
        info.set_item("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))?;
        info.set_item("engine", env!("ACKCLOCK_ENGINE"))?;
        Ok(info)
    }
}
