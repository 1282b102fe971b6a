//! `Simulation` and `Outcome`: running a scenario and taking its results.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use ackclock_sim::{Capture, EngineCounters, Outcome, Simulation, Summary};
use ackclock_units::{SimDuration, SimTime};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::to_runtime_error;
use crate::scenario::PyScenario;
use crate::table::PyTable;

/// A simulation under way.
#[pyclass(module = "ackclock._core", name = "Simulation")]
pub(crate) struct PySimulation {
    /// `None` once finished.
    inner: Option<Simulation>,
    now: SimTime,
    counters: EngineCounters,
    is_finished: bool,
}

#[pymethods]
impl PySimulation {
    #[new]
    fn new(py: Python<'_>, scenario: &PyScenario) -> Self {
        let config = scenario.inner.config();
        let inner = py.detach(|| Simulation::new(config));
        Self { inner: Some(inner), now: SimTime::ZERO, counters: EngineCounters::default(), is_finished: false }
    }

    fn run_until(&mut self, py: Python<'_>, time_s: f64) -> PyResult<()> {
        if time_s.is_nan() || time_s < 0.0 {
            return Err(PyValueError::new_err(format!("run_until needs a time of at least 0 s, not {time_s}")));
        }
        let Some(simulation) = &mut self.inner else { return Err(finished()) };
        let until = SimTime(SimDuration::from_secs_f64(time_s).0);
        py.detach(|| simulation.run_until(until));
        self.now = simulation.now();
        self.counters = simulation.counters();
        self.is_finished = simulation.is_finished();
        Ok(())
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.is_finished
    }

    #[getter]
    fn events(&self) -> u64 {
        self.counters.events
    }

    #[getter]
    fn packets_delivered(&self) -> u64 {
        self.counters.packets_delivered
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<PyOutcome> {
        let simulation = self.inner.take().ok_or_else(finished)?;
        let inner = py.detach(|| simulation.finish());
        (self.counters, self.is_finished) = (inner.engine, true);
        PyOutcome::new(inner)
    }
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the simulation is finished and its outcome handed over; make a new Simulation")
}

/// What a run produced. The columns' memory moves into Arrow once and is shared from then on.
#[pyclass(module = "ackclock._core", name = "Outcome", frozen)]
pub(crate) struct PyOutcome {
    summary: Summary,
    flows: PyTable,
    links: PyTable,
    episodes: PyTable,
    completions: PyTable,
    captures: Vec<Capture>,
}

impl PyOutcome {
    fn new(outcome: Outcome) -> PyResult<Self> {
        let table = |table| PyTable::new(table).map_err(to_runtime_error);
        Ok(Self {
            summary: outcome.summary,
            flows: table(outcome.flows)?,
            links: table(outcome.links)?,
            episodes: table(outcome.episodes)?,
            completions: table(outcome.completions)?,
            captures: outcome.captures,
        })
    }
}

#[pymethods]
impl PyOutcome {
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(to_runtime_error)
    }

    fn table(&self, name: &str) -> PyResult<PyTable> {
        match name {
            "flows" => Ok(self.flows.clone()),
            "links" => Ok(self.links.clone()),
            "episodes" => Ok(self.episodes.clone()),
            "completions" => Ok(self.completions.clone()),
            _ => {
                let known = "there are flows, links, episodes and completions";
                Err(PyKeyError::new_err(format!("no table {name:?}; {known}")))
            }
        }
    }

    #[getter]
    fn captures(&self) -> Vec<&str> {
        self.captures.iter().map(|capture| capture.link.as_str()).collect()
    }

    fn write_pcapng(&self, py: Python<'_>, link: &str, path: PathBuf) -> PyResult<()> {
        let capture = self.captures.iter().find(|capture| capture.link == link);
        let capture = capture.ok_or_else(|| PyKeyError::new_err(format!("link {link:?} was not captured")))?;
        py.detach(|| ackclock_sim::write_pcapng(capture, BufWriter::new(File::create(path)?)))?;
        Ok(())
    }
}
