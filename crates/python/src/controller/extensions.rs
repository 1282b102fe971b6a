//! Finds the class of a scenario's `class` once, while the scenario is checked.

use std::path::PathBuf;
use std::sync::Arc;

use ackclock_cc::{Demands, ExternalConfig};
use ackclock_scenario::{BlamedField, ControllerRequest, Extensions, Origin, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::python::PythonController;
use crate::class::Class;
use crate::parts::loader;

/// The result of `ackclock.controllers.find`.
#[derive(FromPyObject)]
struct Found {
    constructor: Py<PyAny>,
    /// Names of the overridden methods.
    overridden: Vec<String>,
    demands: Wants,
}

/// Class attributes that ask for events.
#[derive(FromPyObject)]
pub(crate) struct Wants {
    #[pyo3(attribute("wants_samples"))]
    samples: bool,
    #[pyo3(attribute("wants_recovery_window"))]
    recovery_window: bool,
    #[pyo3(attribute("wants_marks"))]
    marks: bool,
}

impl From<Wants> for Demands {
    fn from(Wants { samples, recovery_window, marks }: Wants) -> Self {
        Self { samples, recovery_window, marks, ..Self::default() }
    }
}

/// The treatment of the modules that a scenario names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Modules {
    /// Modules are imported, which runs them.
    Imported,
    /// Modules are read and not run; no simulation can be made.
    Read,
}

impl Modules {
    /// The module of the package, and the function in it, that finds a class.
    fn finder(self) -> (&'static str, &'static str) {
        match self {
            Self::Imported => ("ackclock.controllers", "find"),
            Self::Read => ("ackclock.scenario.controller_sources", "find"),
        }
    }
}

/// The extensions for classes of Python and entries of `use`, looked for in `folder` first.
pub(crate) fn extensions(folder: PathBuf, modules: Modules) -> Extensions {
    let load = loader(&folder, modules);
    let found = Extensions::new(move |request| match request.origin {
        Origin::Python => Python::attach(|py| find(py, request, &folder, modules)),
        Origin::Program => Err(Refusal {
            field: BlamedField::Name,
            message: "is a controller of a Rust program, which is not available here".to_owned(),
            remedy: "run the scenario with the program that provides it, or use kind = \"python\"".to_owned(),
        }),
    });
    found.with_loader(load)
}

fn find(
    py: Python<'_>,
    request: &ControllerRequest<'_>,
    folder: &PathBuf,
    modules: Modules,
) -> Result<ExternalConfig, Refusal> {
    let parameters = serde_json::Value::Object(request.parameters.clone()).to_string();
    let found =
        look_up(py, modules.finder(), (request.name, &parameters, folder)).map_err(|error| refusal(py, &error))?;
    let name = format!("python:{}", request.name);
    let Found { constructor, overridden, demands } = found;
    let class = Arc::new(Class { name: name.clone(), constructor, parameters, overridden, demands: demands.into() });
    Ok(ExternalConfig::new(&name, move |start| PythonController::new(&class, start)))
}

fn look_up(
    py: Python<'_>,
    (module, function): (&str, &str),
    (class, parameters, folder): (&str, &str, &PathBuf),
) -> PyResult<Found> {
    let parameters = py.import("json")?.call_method1("loads", (parameters,))?.cast_into::<PyDict>()?;
    py.import(module)?.call_method1(function, (class, parameters, folder))?.extract()
}

/// The refusal of a class: the package's `RefusedError` names the wrong field; any other error blames the class.
fn refusal(py: Python<'_>, error: &PyErr) -> Refusal {
    let value = error.value(py);
    let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>()).ok();
    let field =
        if text("field").as_deref() == Some("parameters") { BlamedField::Parameters } else { BlamedField::Name };
    Refusal {
        field,
        message: text("message").unwrap_or_else(|| format!("cannot be loaded: {error}")),
        remedy: text("remedy").unwrap_or_default(),
    }
}
