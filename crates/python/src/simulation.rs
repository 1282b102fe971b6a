//! `Simulation` and `Outcome`: running a scenario and taking its results.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use ackclock_agent::policy::learned_policy;
use ackclock_cc::Controller;
use ackclock_events::{Record, Source, SourceKind};
use ackclock_sim::{
    Capture, EngineCounters, EventLog, FlowConfig, FlowId, Outcome, ParallelSimulation, SimulationConfig, Summary,
    write_summary,
};
use ackclock_units::{Bytes, SimDuration, SimTime};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arguments::{Count, Threads};
use crate::errors::to_runtime_error;
use crate::events::event_tuple;
use crate::failure::PartFailure;
use crate::scenario::PyScenario;
use crate::table::PyTable;

/// A simulation under way, from time 0 on. It releases the GIL while it runs, unless a part is in Python.
///
/// Args:
///     scenario: The scenario to simulate.
///     threads: The most parts into which the network is cut, to run at the same time; results do not depend on it.
///
/// Raises:
///     ValueError: If `threads` is 0, negative, or 2^64 or more.
#[pyclass(module = "ackclock._core", name = "Simulation")]
pub(crate) struct PySimulation {
    /// The simulation; `None` once finished, or after an exception of a controller.
    inner: Option<ParallelSimulation>,
    now: SimTime,
    counters: EngineCounters,
    is_finished: bool,
    calls_python: bool,
    /// The events of the last `take_events`.
    taken: Vec<Record>,
    /// The scenario's configuration.
    config: Arc<SimulationConfig>,
}

/// The controller that a flow will have: the state of a learner before the handshake is over.
fn first_controller(flow: &FlowConfig) -> Controller {
    let tcp = &flow.sender;
    Controller::new(&flow.controller, Bytes(u64::from(tcp.mss)), tcp.initial_window, tcp.initial_ssthresh)
}

fn names(flows: &[FlowConfig]) -> String {
    flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (scenario, threads=Threads(1)), text_signature = "(scenario, threads=1)")]
    fn new(py: Python<'_>, scenario: &PyScenario, threads: Threads) -> PyResult<Self> {
        let threads = NonZeroUsize::new(threads.0)
            .ok_or_else(|| PyValueError::new_err("a simulation needs at least 1 thread; threads is 0"))?;
        scenario.check_imported()?;
        let config = scenario.inner.shared_config();
        let calls_python = scenario.calls_python();
        let inner = simulate(py, calls_python, || ParallelSimulation::of(config, threads))?;
        Ok(Self {
            inner: Some(inner),
            now: SimTime::ZERO,
            counters: EngineCounters::default(),
            is_finished: false,
            calls_python,
            taken: Vec::new(),
            config: Arc::clone(config),
        })
    }

    /// Return the present policy of a flow's controller, as an ONNX file.
    ///
    /// Args:
    ///     flow: The flow's name.
    ///
    /// Raises:
    ///     KeyError: If the flow is unknown.
    ///     ValueError: If its controller does not learn.
    ///     RuntimeError: If the simulation is over.
    fn policy<'py>(&mut self, py: Python<'py>, flow: &str) -> PyResult<Bound<'py, PyBytes>> {
        let simulation = self.inner.as_mut().ok_or_else(over)?.whole();
        let Some(place) = self.config.flows.iter().position(|known| known.name == flow) else {
            return Err(PyKeyError::new_err(format!("unknown flow {flow:?}; known: {}", names(&self.config.flows))));
        };
        let policy = match simulation.controller(FlowId::new(place)) {
            Controller::Unopened(_) => learned_policy(&first_controller(&self.config.flows[place])),
            controller => learned_policy(controller),
        };
        let policy = policy.ok_or_else(|| {
            let remedy = "give it controller = \"dqn_newreno\" or \"dqn_cubic\", with recent = 1";
            PyValueError::new_err(format!("the controller of flow {flow:?} does not learn; {remedy}"))
        })?;
        Ok(PyBytes::new(py, &policy))
    }

    /// Handle every event up to and including a time, but none after the scenario's end.
    ///
    /// Args:
    ///     time_s: Simulated time, seconds.
    ///
    /// Raises:
    ///     ValueError: If the time is negative or NaN.
    ///     RuntimeError: If the simulation is over. Exceptions of a controller in Python pass unchanged.
    fn run_until(&mut self, py: Python<'_>, time_s: f64) -> PyResult<()> {
        if time_s.is_nan() || time_s < 0.0 {
            return Err(PyValueError::new_err(format!("run_until needs a time of at least 0 s, not {time_s}")));
        }
        let mut simulation = self.inner.take().ok_or_else(over)?;
        let until = SimTime(SimDuration::from_secs_f64(time_s).0);
        let simulation = simulate(py, self.calls_python, move || {
            simulation.run_until(until);
            simulation
        })?;
        self.keep(simulation);
        Ok(())
    }

    /// Run until enough events wait to be taken, or to the end.
    ///
    /// Returns:
    ///     True if it stopped for events, and more may come.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over. Exceptions of a controller in Python pass unchanged.
    fn run_to_events(&mut self, py: Python<'_>) -> PyResult<bool> {
        let mut simulation = self.inner.take().ok_or_else(over)?;
        let (simulation, has_stopped) = simulate(py, self.calls_python, move || {
            let has_stopped = simulation.run_to_events(SimTime::NEVER);
            (simulation, has_stopped)
        })?;
        self.keep(simulation);
        Ok(has_stopped)
    }

    /// Take the events since the last call, which leave the results.
    ///
    /// Returns:
    ///     For each event its kind, its time in seconds, the number of its source, and its other fields, in the order
    ///     of its class in `ackclock.events`.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over.
    fn take_events<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.taken = self.inner.as_mut().ok_or_else(over)?.take_events();
        self.taken.iter().map(|record| event_tuple(py, record)).collect()
    }

    /// Give back the last of the events taken last, which return to the results.
    ///
    /// Args:
    ///     count: Number of events to give back.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over.
    ///     ValueError: If the count is negative, or 2^64 or more.
    fn return_events(&mut self, count: Count) -> PyResult<()> {
        let simulation = self.inner.as_mut().ok_or_else(over)?;
        let first = self.taken.len().saturating_sub(count.0);
        simulation.put_back_events(self.taken.split_off(first));
        Ok(())
    }

    /// Return the sources of events, in the order of their numbers: kind, name and controller of each.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over.
    fn event_sources(&self) -> PyResult<Vec<(&'static str, String, String)>> {
        let sources = self.inner.as_ref().ok_or_else(over)?.event_sources();
        Ok(sources.iter().map(|of| (of.kind.name(), of.name.clone(), of.controller.clone())).collect())
    }

    /// Return the partition of the network, as JSON: `parts`, `lookahead_s`, `largest_share`, `ties`.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over.
    fn partition_json(&self) -> PyResult<String> {
        let simulation = self.inner.as_ref().ok_or_else(over)?;
        serde_json::to_string(&simulation.partition()).map_err(to_runtime_error)
    }

    /// Return a copy that continues alike.
    ///
    /// Raises:
    ///     RuntimeError: If the simulation is over.
    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        let simulation = self.inner.as_ref().ok_or_else(over)?;
        let inner = simulate(py, self.calls_python, || simulation.copy())?;
        Ok(Self { inner: Some(inner), taken: self.taken.clone(), config: Arc::clone(&self.config), ..*self })
    }

    /// Simulated time so far, in seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// True once the scenario's end is reached.
    #[getter]
    fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Events handled so far, after the last `run_until`.
    #[getter]
    fn events(&self) -> u64 {
        self.counters.events
    }

    /// Data packets that have reached a receiving endpoint, after the last `run_until`.
    #[getter]
    fn packets_delivered(&self) -> u64 {
        self.counters.packets_delivered
    }

    /// Run to the end and hand over the results; the simulation is over then.
    ///
    /// Raises:
    ///     RuntimeError: If it is over already. Exceptions of a controller in Python pass unchanged.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyOutcome> {
        let simulation = self.inner.take().ok_or_else(over)?;
        let inner = simulate(py, self.calls_python, || simulation.finish())?;
        (self.counters, self.is_finished) = (inner.engine, true);
        PyOutcome::new(inner)
    }
}

impl PySimulation {
    fn keep(&mut self, simulation: ParallelSimulation) {
        self.now = simulation.now();
        self.counters = simulation.counters();
        self.is_finished = simulation.is_finished();
        self.inner = Some(simulation);
    }
}

/// Advances a simulation. Python's lock is released meanwhile, unless parts call Python all the time. The exception of
/// a part ends it.
fn simulate<T: Send>(py: Python<'_>, calls_python: bool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if calls_python { PartFailure::catch(work) } else { py.detach(|| PartFailure::catch(work)) }
}

fn over() -> PyErr {
    PyRuntimeError::new_err(
        "the simulation is over: it was finished or interrupted, or a part failed; make a new Simulation",
    )
}

/// The results of a run. The columns' memory moves into Arrow once and is shared from then on.
#[pyclass(module = "ackclock._core", name = "Outcome", frozen)]
pub(crate) struct PyOutcome {
    summary: Summary,
    flows: PyTable,
    links: PyTable,
    episodes: PyTable,
    completions: PyTable,
    appliances: PyTable,
    media: PyTable,
    events: EventLog,
    captures: Vec<Capture>,
}

impl PyOutcome {
    pub(crate) fn new(outcome: Outcome) -> PyResult<Self> {
        let table = |table| PyTable::new(table).map_err(to_runtime_error);
        Ok(Self {
            summary: outcome.summary,
            flows: table(outcome.flows)?,
            links: table(outcome.links)?,
            episodes: table(outcome.episodes)?,
            completions: table(outcome.completions)?,
            appliances: table(outcome.appliances)?,
            media: table(outcome.media)?,
            events: outcome.events,
            captures: outcome.captures,
        })
    }
}

#[pymethods]
impl PyOutcome {
    /// Return `summary.json` as text: averages and counts of each flow and link.
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(to_runtime_error)
    }

    /// Write `summary.json`.
    ///
    /// Args:
    ///     path: The file; replaced if there is one.
    ///
    /// Raises:
    ///     OSError: If it cannot be written.
    fn write_summary(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| write_summary(&self.summary, BufWriter::new(File::create(path)?)))?;
        Ok(())
    }

    /// Return a table of series or of events; docs/reference/results.md describes the columns.
    ///
    /// Args:
    ///     name: The table's name.
    ///
    /// Raises:
    ///     KeyError: If the table is unknown.
    fn table(&self, name: &str) -> PyResult<PyTable> {
        match name {
            "flows" => Ok(self.flows.clone()),
            "links" => Ok(self.links.clone()),
            "episodes" => Ok(self.episodes.clone()),
            "completions" => Ok(self.completions.clone()),
            "appliances" => Ok(self.appliances.clone()),
            "media" => Ok(self.media.clone()),
            "events" => PyTable::new(self.events.table()).map_err(to_runtime_error),
            _ => {
                let known = "known: flows, links, episodes, completions, appliances, media, events";
                Err(PyKeyError::new_err(format!("unknown table {name:?}; {known}")))
            }
        }
    }

    /// Names of captures: links, and flows as `flow NAME`.
    #[getter]
    fn captures(&self) -> Vec<&str> {
        self.captures.iter().map(|capture| capture.name.as_str()).collect()
    }

    /// Write a capture, on a link or at the host of a flow's sender, as a pcapng file.
    ///
    /// Args:
    ///     name: One of `captures`.
    ///     path: The file; replaced if there is one.
    ///
    /// Raises:
    ///     KeyError: If there is no capture of that name.
    ///     OSError: If the file cannot be written.
    fn write_pcapng(&self, py: Python<'_>, name: &str, path: PathBuf) -> PyResult<()> {
        let capture = self.captures.iter().find(|capture| capture.name == name);
        let capture = capture.ok_or_else(|| PyKeyError::new_err(format!("{name:?} was not captured")))?;
        py.detach(|| ackclock_sim::write_pcapng(capture, BufWriter::new(File::create(path)?)))?;
        Ok(())
    }

    /// Names of the sources of events: links, `flow NAME`, `relay NAME`; empty if no events were kept.
    #[getter]
    fn event_sources(&self) -> Vec<String> {
        self.events.sources.iter().map(name_of_source).collect()
    }

    /// Write the events as qlog, a file for each source that has any; docs/reference/qlog.md has the vocabulary.
    ///
    /// Args:
    ///     paths: The file for each of `event_sources`; replaced if there is one.
    ///
    /// Returns:
    ///     The names in `event_sources` that have a file now.
    ///
    /// Raises:
    ///     OSError: If a file cannot be written.
    ///     ValueError: If one of `event_sources` is not among `paths`.
    fn write_qlog(&self, py: Python<'_>, paths: BTreeMap<String, PathBuf>) -> PyResult<Vec<String>> {
        let EventLog { sources, records, .. } = &self.events;
        if let Some(name) = self.event_sources().into_iter().find(|name| !paths.contains_key(name)) {
            return Err(PyValueError::new_err(format!(
                "the file for {name:?} is missing; name one for each of event_sources"
            )));
        }
        let mut written = Vec::new();
        py.detach(|| {
            ackclock_events::write_qlog(sources, records, |source| {
                written.push(name_of_source(source));
                Ok(BufWriter::new(File::create(&paths[&name_of_source(source)])?))
            })
        })?;
        Ok(written)
    }

    /// Write the events as a Perfetto trace, which ui.perfetto.dev opens.
    ///
    /// Args:
    ///     path: The file; replaced if there is one.
    ///
    /// Raises:
    ///     OSError: If the file cannot be written.
    fn write_perfetto(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let EventLog { sources, records, .. } = &self.events;
        py.detach(|| {
            let file = BufWriter::new(File::create(path)?);
            ackclock_events::write_perfetto(sources, records, file)?.flush()
        })?;
        Ok(())
    }
}

/// A source's name as in captures: a flow and a link may have the same name.
fn name_of_source(source: &Source) -> String {
    match source.kind {
        SourceKind::Link => source.name.clone(),
        kind => format!("{} {}", kind.name(), source.name),
    }
}
