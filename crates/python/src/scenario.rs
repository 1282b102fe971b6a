//! `Scenario`: the checked scenario of the Rust crate, as Python holds it.

use std::path::{Path, PathBuf, absolute};

use ackclock_cc::ControllerConfig;
use ackclock_scenario::{Extensions, Scenario, ScenarioError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::controller::{Modules, extensions};
use crate::errors::to_scenario_error;

/// A checked scenario.
#[pyclass(module = "ackclock._core", name = "Scenario", frozen)]
pub(crate) struct PyScenario {
    pub(crate) inner: Scenario,
    /// Where the scenario's classes are looked for first.
    folder: PathBuf,
}

#[pymethods]
impl PyScenario {
    /// With `imports = False` nothing of the modules that the scenario names is run: it can be looked at, not simulated.
    #[staticmethod]
    #[pyo3(signature = (path, overrides=vec![], *, imports=true))]
    fn load(py: Python<'_>, path: PathBuf, overrides: Vec<String>, imports: bool) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path)?;
        let file = path.to_string_lossy();
        let modules = if imports { Modules::Imported } else { Modules::Read };
        let read = |extensions: &Extensions| Scenario::parse_with(&text, &file, &overrides, extensions);
        Self::checked(py, folder_of(&path)?, modules, read)
    }

    #[staticmethod]
    #[pyo3(signature = (text, file="<text>", overrides=vec![]))]
    fn parse(py: Python<'_>, text: &str, file: &str, overrides: Vec<String>) -> PyResult<Self> {
        let folder = folder_of(Path::new(file))?;
        let read = |extensions: &Extensions| Scenario::parse_with(text, file, &overrides, extensions);
        Self::checked(py, folder, Modules::Imported, read)
    }

    #[staticmethod]
    #[pyo3(signature = (text, overrides=vec![], folder=PathBuf::from(".")))]
    fn from_json(py: Python<'_>, text: &str, overrides: Vec<String>, folder: PathBuf) -> PyResult<Self> {
        let read = |extensions: &Extensions| Scenario::from_json_with(text, &overrides, extensions);
        Self::checked(py, absolute(folder)?, Modules::Imported, read)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.config().name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.config().seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.config().duration.as_secs_f64()
    }

    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        self.inner.config().flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.config().network.links.iter().map(|link| link.name.as_str()).collect()
    }

    #[getter]
    fn hash(&self) -> String {
        self.inner.hash()
    }

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

    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    /// Every place whose value is drawn, with its distribution.
    #[getter]
    fn varies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.inner.varies().into_py_dict(py)
    }

    /// The values that were drawn, by their places.
    #[getter]
    fn drawn<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.inner.drawn().iter().map(|drawn| (drawn.place.clone(), drawn.value.clone()));
        let values: serde_json::Map<String, serde_json::Value> = values.collect();
        py.import("json")?.call_method1("loads", (serde_json::Value::Object(values).to_string(),))
    }

    fn draw(&self, py: Python<'_>, seed: u64) -> PyResult<Self> {
        match self.inner.draw(seed) {
            Ok(inner) => Ok(Self { inner, folder: self.folder.clone() }),
            Err(mistakes) => Err(to_scenario_error(py, &mistakes)),
        }
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { inner: self.inner.with_seed(seed), folder: self.folder.clone() }
    }
}

impl PyScenario {
    fn checked(
        py: Python<'_>,
        folder: PathBuf,
        modules: Modules,
        read: impl FnOnce(&Extensions) -> Result<Scenario, ScenarioError>,
    ) -> PyResult<Self> {
        match read(&extensions(folder.clone(), modules)) {
            Ok(inner) => Ok(Self { inner, folder }),
            Err(mistakes) => Err(to_scenario_error(py, &mistakes)),
        }
    }

    fn external(&self) -> impl Iterator<Item = &str> {
        self.inner.config().flows.iter().filter_map(|flow| match &flow.controller {
            ControllerConfig::External(config) => Some(config.name()),
            _ => None,
        })
    }

    /// True if simulating it calls Python.
    pub(crate) fn calls_python(&self) -> bool {
        self.external().next().is_some()
    }
}

/// The folder of a file, whatever the working directory will be later; the working directory if it is no file's name.
fn folder_of(file: &Path) -> PyResult<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(absolute(folder.unwrap_or(Path::new(".")))?)
}
