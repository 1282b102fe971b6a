//! `Scenario`: the checked scenario of the Rust crate, as Python holds it.

use ackclock_scenario::Scenario;
use pyo3::prelude::*;

use crate::errors::to_scenario_error;

/// A checked scenario.
#[pyclass(module = "ackclock._core", name = "Scenario", frozen)]
pub(crate) struct PyScenario {
    pub(crate) inner: Scenario,
}

#[pymethods]
impl PyScenario {
    #[staticmethod]
    #[pyo3(signature = (path, overrides=vec![]))]
    fn load(py: Python<'_>, path: std::path::PathBuf, overrides: Vec<String>) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path)?;
        let file = path.to_string_lossy();
        Self::checked(py, Scenario::parse(&text, &file, &overrides))
    }

    #[staticmethod]
    #[pyo3(signature = (text, file="<text>", overrides=vec![]))]
    fn parse(py: Python<'_>, text: &str, file: &str, overrides: Vec<String>) -> PyResult<Self> {
        Self::checked(py, Scenario::parse(text, file, &overrides))
    }

    #[staticmethod]
    #[pyo3(signature = (text, overrides=vec![]))]
    fn from_json(py: Python<'_>, text: &str, overrides: Vec<String>) -> PyResult<Self> {
        Self::checked(py, Scenario::from_json(text, &overrides))
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

    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    fn with_seed(&self, seed: u64) -> Self {
        Self { inner: self.inner.with_seed(seed) }
    }
}

impl PyScenario {
    fn checked(py: Python<'_>, result: Result<Scenario, ackclock_scenario::ScenarioError>) -> PyResult<Self> {
        result.map(|inner| Self { inner }).map_err(|mistakes| to_scenario_error(py, &mistakes))
    }
}
