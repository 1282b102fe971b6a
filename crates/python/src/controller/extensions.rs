//! From a scenario's `class` to controllers: the class is found once, while the scenario is checked.

use std::path::PathBuf;
use std::sync::Arc;

use ackclock_cc::{Demands, ExternalConfig};
use ackclock_scenario::{BlamedField, ControllerRequest, Extensions, Origin, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::python::{Class, PythonController};

/// What `ackclock.controllers.find` returns.
#[derive(FromPyObject)]
struct Found {
    constructor: Py<PyAny>,
    /// Names of methods.
    overridden: Vec<String>,
    demands: Wants,
}

/// Class attributes.
#[derive(FromPyObject)]
struct Wants {
    #[pyo3(attribute("wants_samples"))]
    samples: bool,
    #[pyo3(attribute("wants_recovery_window"))]
    recovery_window: bool,
    #[pyo3(attribute("wants_marks"))]
    marks: bool,
}

impl From<Wants> for Demands {
    fn from(Wants { samples, recovery_window, marks }: Wants) -> Self {
        Self { samples, recovery_window, marks }
    }
}

/// Classes of Python, looked for in `folder` first.
pub(crate) fn extensions(folder: PathBuf) -> Extensions {
    Extensions::new(move |request| match request.origin {
        Origin::Python => Python::attach(|py| find(py, request, &folder)),
        Origin::Program => Err(Refusal {
            field: BlamedField::Name,
            message: "is a controller of a Rust program, which this is not".to_owned(),
            remedy: "run the scenario with the program that brings it, or use kind = \"python\"".to_owned(),
        }),
    })
}

fn find(py: Python<'_>, request: &ControllerRequest<'_>, folder: &PathBuf) -> Result<ExternalConfig, Refusal> {
    let parameters = serde_json::Value::Object(request.parameters.clone()).to_string();
    let found = look_up(py, request.name, &parameters, folder).map_err(|error| refusal(py, &error))?;
    let name = format!("python:{}", request.name);
    let Found { constructor, overridden, demands } = found;
    let class = Arc::new(Class { name: name.clone(), constructor, parameters, overridden, demands: demands.into() });
    Ok(ExternalConfig::new(&name, move |start| PythonController::new(&class, start)))
}

fn look_up(py: Python<'_>, class: &str, parameters: &str, folder: &PathBuf) -> PyResult<Found> {
    let parameters = py.import("json")?.call_method1("loads", (parameters,))?.cast_into::<PyDict>()?;
    py.import("ackclock.controllers")?.call_method1("find", (class, parameters, folder))?.extract()
}

/// The package's own `RefusedError` says which field is wrong; anything else is the fault of the class.
fn refusal(py: Python<'_>, error: &PyErr) -> Refusal {
    let value = error.value(py);
    let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>()).ok();
    let field =
        if text("field").as_deref() == Some("parameters") { BlamedField::Parameters } else { BlamedField::Name };
    Refusal {
        field,
        message: text("message").unwrap_or_else(|| format!("cannot be had: {error}")),
        remedy: text("remedy").unwrap_or_default(),
    }
}
