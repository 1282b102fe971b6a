//! `Scenario`: the checked scenario of the Rust crate, as Python holds it.

use std::path::{Path, PathBuf, absolute};

use ackclock_cc::ControllerConfig;
use ackclock_events::{EventKind, EventKinds};
use ackclock_scenario::{Drawn, Extensions, MOST_OF_SCENARIO, Scenario, ScenarioError, read_text};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::arguments::Seed;
use crate::controller::{Modules, extensions};
use crate::errors::{to_os_error, to_scenario_error};
use crate::failure::PartFailure;
use crate::parts::is_plugin;

/// Text, file and overrides of a scenario with drawn values; of each value its place, distribution and JSON.
type Source = (String, String, Vec<String>, Vec<(String, String, String)>);

/// The arguments of `Scenario._restore`.
type Reduced = (String, PathBuf, Option<Source>);

/// A checked scenario; it cannot be changed. `load`, `parse` and `from_json` make one.
#[pyclass(module = "ackclock._core", name = "Scenario", frozen)]
pub(crate) struct PyScenario {
    pub(crate) inner: Scenario,
    /// The folder in which the scenario's classes are looked for first.
    folder: PathBuf,
    modules: Modules,
}

#[pymethods]
impl PyScenario {
    /// Read a scenario from a TOML file, or from a file of the same as JSON.
    ///
    /// Args:
    ///     path: The file.
    ///     overrides: `path=value` strings, applied in order, as in `seed=3` or `flow[0].controller="reno"`.
    ///     imports: Import the modules of controllers that the scenario names. If false, none of their code runs: the
    ///         scenario can be inspected and not simulated.
    ///
    /// Raises:
    ///     ScenarioError: If the scenario is wrong; it lists every mistake.
    ///     OSError: If the file cannot be read.
    #[staticmethod]
    #[pyo3(signature = (path, overrides=vec![], *, imports=true))]
    fn load(py: Python<'_>, path: PathBuf, overrides: Vec<String>, imports: bool) -> PyResult<Self> {
        let text = read_text(&path, MOST_OF_SCENARIO).map_err(|error| to_os_error(&path, &error))?;
        let file = path.to_string_lossy();
        let modules = if imports { Modules::Imported } else { Modules::Read };
        let read = |extensions: &Extensions| Scenario::parse_with(&text, &file, &overrides, extensions);
        Self::checked(py, folder_of(&path)?, modules, read)
    }

    /// Read a scenario from TOML text.
    ///
    /// Args:
    ///     text: The content of a file.
    ///     file: Its name in messages. The stem is the scenario's name unless the text has one, and classes of
    ///         controllers are looked for in its folder.
    ///     overrides: Overrides as for `load`.
    ///
    /// Raises:
    ///     ScenarioError: If the scenario is wrong; it lists every mistake.
    #[staticmethod]
    #[pyo3(signature = (text, file="<text>", overrides=vec![]))]
    fn parse(py: Python<'_>, text: &str, file: &str, overrides: Vec<String>) -> PyResult<Self> {
        let folder = folder_of(Path::new(file))?;
        let read = |extensions: &Extensions| Scenario::parse_with(text, file, &overrides, extensions);
        Self::checked(py, folder, Modules::Imported, read)
    }

    /// Read a scenario from JSON, as `to_json` writes it.
    ///
    /// Args:
    ///     text: The scenario's tables as JSON.
    ///     overrides: Overrides as for `load`.
    ///     folder: The folder in which classes of controllers are looked for first.
    ///
    /// Raises:
    ///     ScenarioError: If the scenario is wrong; it lists every mistake.
    #[staticmethod]
    #[pyo3(signature = (text, overrides=vec![], folder=PathBuf::from(".")))]
    fn from_json(py: Python<'_>, text: &str, overrides: Vec<String>, folder: PathBuf) -> PyResult<Self> {
        let read = |extensions: &Extensions| Scenario::from_json_with(text, &overrides, extensions);
        Self::checked(py, absolute(folder)?, Modules::Imported, read)
    }

    /// Name of the scenario: its `name`, or the stem of its file.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.config().name
    }

    /// Seed of the drawn values and of all randomness in the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.config().seed
    }

    /// Simulated time at the end of a run, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.config().duration.as_secs_f64()
    }

    /// Names of the flows, in the scenario's order; groups of short flows are not among them.
    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        self.inner.config().flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// Names of the controllers of `flow_names`, as in results; a flow that names none has its profile's.
    #[getter]
    fn controller_names(&self) -> Vec<&str> {
        self.inner.config().flows.iter().map(|flow| flow.controller_name.as_str()).collect()
    }

    /// Names of the links, in the scenario's order: as written there, or `A->B`.
    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.config().network.links.iter().map(|link| link.name.as_str()).collect()
    }

    /// SHA-256 of `to_json()`, 64 hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        self.inner.hash()
    }

    /// The folder of the scenario's file, absolute: its classes of controllers are looked for there first.
    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// The classes of Python that control flows, as `module:Class`, each once.
    #[getter]
    fn python_classes(&self) -> Vec<&str> {
        let mut classes: Vec<&str> = self.external().filter_map(|name| name.strip_prefix("python:")).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// Return a summary: name, flows, links, time and seed.
    fn __repr__(&self) -> String {
        let config = self.inner.config();
        let (flows, links) = (config.flows.len(), config.network.links.len());
        let (name, seed, duration_s) = (&config.name, config.seed, config.duration.as_secs_f64());
        format!("<Scenario {name:?}: {flows} flows, {links} links, {duration_s} s, seed {seed}>")
    }

    /// Return the form for notebooks: a picture of the network, and a table of the flows.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ackclock.plotting.notebook")?.call_method1("scenario_html", (slf,))
    }

    /// Refuse to run code of a scenario that was read with `imports=False`.
    ///
    /// Raises:
    ///     RuntimeError: If the scenario names code that was not imported.
    pub(crate) fn check_imported(&self) -> PyResult<()> {
        match self.modules {
            Modules::Read if self.calls_python() || !self.inner.uses().is_empty() => Err(PyRuntimeError::new_err(
                "the scenario was read without importing its Python; read it again with imports=True",
            )),
            _ => Ok(()),
        }
    }

    /// The entries of its `use`: modules of Python and plug-ins that bring parts.
    #[getter]
    fn uses(&self) -> Vec<&str> {
        self.inner.uses()
    }

    /// Return the scenario as JSON in a fixed order, with its overrides, name and seed.
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// Every place whose value is drawn, with its distribution as text.
    #[getter]
    fn varies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.inner.varies().into_py_dict(py)
    }

    /// The values that the seed drew, by their places; empty if the scenario draws none.
    #[getter]
    fn drawn<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values_of(py, self.inner.drawn())
    }

    /// Return the scenario under a seed: its drawn values, and all randomness in the run.
    ///
    /// Args:
    ///     seed: 0 to 2^64 - 1.
    ///
    /// Raises:
    ///     ScenarioError: If the drawn values do not fit together.
    ///     ValueError: If the seed is not such a number.
    fn draw(&self, py: Python<'_>, seed: Seed) -> PyResult<Self> {
        self.drawn_as(py, self.inner.draw(seed.0))
    }

    /// Return a function and its arguments that make the same scenario, for `pickle` and `copy`.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Reduced)> {
        let this = slf.get();
        let drawn = |one: &Drawn| (one.place.clone(), one.distribution.clone(), one.value.to_string());
        let source = this.inner.source().map(|(text, file, overrides)| {
            let drawn = this.inner.drawn().iter().map(drawn).collect();
            (text.to_owned(), file.to_owned(), overrides.to_vec(), drawn)
        });
        Ok((slf.get_type().getattr("_restore")?, (this.inner.to_json(), this.folder.clone(), source)))
    }

    /// Restore a pickled scenario.
    #[staticmethod]
    fn _restore(py: Python<'_>, text: &str, folder: PathBuf, source: Option<Source>) -> PyResult<Self> {
        let made = Self::from_json(py, text, vec![], folder.clone())?;
        let Some((text, file, overrides, drawn)) = source else { return Ok(made) };
        let read = |extensions: &Extensions| Scenario::parse_with(&text, &file, &overrides, extensions);
        let parsed = Self::checked(py, folder, Modules::Imported, read)?;
        let drawn = drawn.into_iter().map(|(place, distribution, value)| {
            let value = serde_json::from_str(&value).map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Drawn { place, distribution, value })
        });
        Ok(made.of(made.inner.clone().restored(parsed.inner, drawn.collect::<PyResult<_>>()?)))
    }

    /// Estimate of the memory that its run takes at least, in bytes: flows, fixed windows, series at intervals.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        self.inner.config().least_memory()
    }

    /// A link at which flows may stay in step with the queue for a whole run, or None.
    ///
    /// There the host of one sends at just the rate of the link, and nothing is random between the two.
    #[getter]
    fn link_in_step(&self) -> Option<&str> {
        self.inner.config().link_in_step().map(|link| link.name.as_str())
    }

    /// A flow for which the scenario turns window scaling on without effect, or None.
    ///
    /// One of its ends does not offer it, or the receive buffers of both fit into 16 bits.
    #[getter]
    fn scaling_without_effect(&self) -> Option<&str> {
        self.inner.scaling_without_effect()
    }

    /// True if the memory of its run grows with simulated time, by series or events.
    #[getter]
    fn keeps_over_time(&self) -> bool {
        self.inner.config().keeps_over_time()
    }

    /// True if its run keeps events.
    #[getter]
    fn is_watched(&self) -> bool {
        self.inner.config().trace.events.is_some()
    }

    /// Return the scenario with events observed.
    ///
    /// Args:
    ///     kinds: Names of the events, such as `timed_out`; `all` stands for all of them.
    ///
    /// Raises:
    ///     ValueError: If an event is unknown, or none is named.
    fn with_events(&self, kinds: Vec<String>) -> PyResult<Self> {
        let (mut chosen, mut unknown) = (EventKinds::NONE, Vec::new());
        for name in &kinds {
            chosen = match EventKind::of_name(name) {
                Some(kind) => chosen.with(kind),
                None if name == "all" => EventKinds::ALL,
                None => {
                    unknown.push(name.as_str());
                    chosen
                }
            };
        }
        let inner = self.inner.with_events(chosen).filter(|_| unknown.is_empty()).ok_or_else(|| no_event(&unknown))?;
        Ok(self.of(inner))
    }

    /// Return the scenario under another seed of the run; drawn values stay, unlike with `draw`.
    ///
    /// Args:
    ///     seed: 0 to 2^64 - 1.
    ///
    /// Raises:
    ///     ScenarioError: If starts that the seed draws exceed a limit.
    ///     ValueError: If the seed is not such a number.
    fn with_seed(&self, py: Python<'_>, seed: Seed) -> PyResult<Self> {
        self.drawn_as(py, self.inner.with_seed(seed.0))
    }
}

impl PyScenario {
    fn checked(
        py: Python<'_>,
        folder: PathBuf,
        modules: Modules,
        read: impl FnOnce(&Extensions) -> Result<Scenario, ScenarioError>,
    ) -> PyResult<Self> {
        match PartFailure::catch(|| read(&extensions(folder.clone(), modules)))? {
            Ok(inner) => Ok(Self { inner, folder, modules }),
            Err(mistakes) => Err(to_scenario_error(py, &mistakes)),
        }
    }

    fn drawn_as(&self, py: Python<'_>, drawn: Result<Scenario, ScenarioError>) -> PyResult<Self> {
        drawn.map(|inner| self.of(inner)).map_err(|mistakes| to_scenario_error(py, &mistakes))
    }

    /// Another scenario of the same file.
    fn of(&self, inner: Scenario) -> Self {
        Self { inner, folder: self.folder.clone(), modules: self.modules }
    }

    fn external(&self) -> impl Iterator<Item = &str> {
        self.inner.config().flows.iter().filter_map(|flow| match &flow.controller {
            ControllerConfig::External(config) => Some(config.name()),
            _ => None,
        })
    }

    /// True if its simulation calls Python.
    pub(crate) fn calls_python(&self) -> bool {
        self.external().any(|name| name.starts_with("python:"))
            || self.inner.uses().into_iter().any(|entry| !is_plugin(entry))
    }
}

/// Drawn values, by their places, as a dictionary.
pub(crate) fn values_of<'py>(py: Python<'py>, drawn: &[Drawn]) -> PyResult<Bound<'py, PyAny>> {
    let values = drawn.iter().map(|drawn| (drawn.place.clone(), drawn.value.clone()));
    let values: serde_json::Map<String, serde_json::Value> = values.collect();
    py.import("json")?.call_method1("loads", (serde_json::Value::Object(values).to_string(),))
}

fn no_event(names: &[&str]) -> PyErr {
    let known = EventKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let what =
        if names.is_empty() { "no events are named".to_owned() } else { format!("no event {}", names.join(", ")) };
    PyValueError::new_err(format!("{what}; known: all, {known}"))
}

/// The absolute folder of a file; the working directory if the text is not a file's name.
fn folder_of(file: &Path) -> PyResult<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(absolute(folder.unwrap_or(Path::new(".")))?)
}
