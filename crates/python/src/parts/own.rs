//! `OwnPart`: a class of Python as a part that scenarios can name.

use std::sync::Arc;

use ackclock_agent::{ExternalObservationConfig, ExternalRewardConfig, ObservationRange};
use ackclock_cc::{ControllerConfig, Demands, ExternalConfig, Stack};
use ackclock_declare::{About, Json, Library, OwnField, Part, Table};
use ackclock_net::queue::{ExternalQueue, ExternalQueueConfig};
use ackclock_net::{ExternalEffect, ExternalEffectConfig, PartStart, QueueConfig};
use ackclock_sim::{ExternalSource, ExternalSourceConfig, SourceStart};
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::agent::{PythonObservation, PythonReward};
use super::effect::PythonEffect;
use super::queue::PythonQueue;
use super::source::PythonSource;
use crate::class::Class;
use crate::controller::{PythonController, Wants};

/// A class that scenarios can name; `ackclock.parts` makes one for each, and keeps it.
///
/// Args:
///     constructor: The class.
///     description: JSON of `kind`, `name`, `summary`, `source`, `departures`, `fields`, `overridden` and `title`; for
///         an observation also `low`, `high` and `logarithmic_from`, each a number or null.
///
/// Raises:
///     ValueError: If the declaration of a parameter or a range is wrong.
#[pyclass(module = "ackclock._core", name = "OwnPart", frozen)]
pub(crate) struct PyOwnPart {
    pub(super) library: Library,
}

#[pymethods]
impl PyOwnPart {
    #[new]
    fn new(py: Python<'_>, constructor: Py<PyAny>, description: &str) -> PyResult<Self> {
        let wrong = |error: String| PyValueError::new_err(error);
        let described: Json = serde_json::from_str(description).map_err(|error| wrong(error.to_string()))?;
        let fields = described["fields"].as_array().map_or(&[][..], Vec::as_slice);
        let read = fields.iter().map(OwnField::from_json).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let is_controller = described["kind"] == "controller";
        let demands = if is_controller { constructor.extract::<Wants>(py)?.into() } else { Demands::default() };
        let overridden = described["overridden"].as_array().map_or(&[][..], Vec::as_slice);
        let source = Source {
            name: text(&described, "title").to_owned(),
            constructor,
            overridden: overridden.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            demands,
            types: fields
                .iter()
                .map(|field| (text(field, "name").to_owned(), text(field, "type").to_owned()))
                .collect(),
        };
        let range = ObservationRange::of_description(&described);
        if let Some(mistake) = range.mistake() {
            return Err(wrong(mistake));
        }
        let mut library = Library::default();
        match text(&described, "kind") {
            "observation" => add_observation(&mut library, about(&described), read, source, range),
            kind => add(&mut library, kind, about(&described), read, Arc::new(source)),
        }
        Ok(Self { library })
    }
}

/// A class whose instances a scenario's parameters complete.
struct Source {
    name: String,
    constructor: Py<PyAny>,
    overridden: Vec<String>,
    demands: Demands,
    /// The type of each parameter, by name.
    types: Vec<(String, String)>,
}

impl Source {
    /// The class with a scenario's parameters.
    fn class(&self, table: Table) -> Arc<Class> {
        let of_python = |(name, value): (String, Json)| {
            let kind = self.types.iter().find(|(known, _)| *known == name).map_or("", |(_, kind)| kind);
            let value = in_base_units(kind, value);
            (name, value)
        };
        Arc::new(Class {
            name: self.name.clone(),
            constructor: Python::attach(|py| self.constructor.clone_ref(py)),
            parameters: Json::Object(table.into_iter().map(of_python).collect()).to_string(),
            overridden: self.overridden.clone(),
            demands: self.demands,
        })
    }
}

/// A quantity as a number of seconds, bytes or bits per second; any other value unchanged.
fn in_base_units(kind: &str, value: Json) -> Json {
    let text = value.as_str().unwrap_or_default();
    match kind {
        "duration" => text.parse().map_or(value, |span: SimDuration| span.as_secs_f64().into()),
        "bytes" => text.parse().map_or(value, |bytes: Bytes| bytes.0.into()),
        "rate" => text.parse().map_or(value, |rate: Bandwidth| rate.0.into()),
        _ => value,
    }
}

fn add(library: &mut Library, kind: &str, about: About, fields: Vec<OwnField>, source: Arc<Source>) {
    let name = about.name;
    match kind {
        "controller" => library.add(Part::of_own_fields(about, Stack::ANY, fields, move |table| {
            let class = source.class(table);
            ControllerConfig::External(ExternalConfig::new(name, move |start| PythonController::new(&class, start)))
        })),
        "queue" => library.add(Part::of_own_fields(about, (), fields, move |table| {
            let class = source.class(table);
            let make = move |start: &PartStart| Box::new(PythonQueue::new(&class, start)) as Box<dyn ExternalQueue>;
            QueueConfig::External(ExternalQueueConfig::new(name, make))
        })),
        "effect" => library.add(Part::of_own_fields(about, (), fields, move |table| {
            let class = source.class(table);
            let make = move |start: &PartStart| Box::new(PythonEffect::new(&class, start)) as Box<dyn ExternalEffect>;
            ExternalEffectConfig::new(name, make)
        })),
        "reward" => library.add(Part::of_own_fields(about, (), fields, move |table| {
            let class = source.class(table);
            ExternalRewardConfig::new(name, move |()| Box::new(PythonReward::new(&class)))
        })),
        _ => library.add(Part::of_own_fields(about, (), fields, move |table| {
            let class = source.class(table);
            let make =
                move |start: &SourceStart| Box::new(PythonSource::new(&class, *start)) as Box<dyn ExternalSource>;
            ExternalSourceConfig::new(name, make)
        })),
    }
}

fn add_observation(
    library: &mut Library,
    about: About,
    fields: Vec<OwnField>,
    source: Source,
    range: ObservationRange,
) {
    let name = about.name;
    library.add(Part::of_own_fields(about, (), fields, move |table| {
        let class = source.class(table);
        ExternalObservationConfig::new(name, range, move || Box::new(PythonObservation::new(&class)))
    }));
}

fn text<'a>(described: &'a Json, key: &str) -> &'a str {
    described[key].as_str().unwrap_or_default()
}

/// The declaration of a part, which lives as long as the program.
fn about(described: &Json) -> About {
    let kept = |key: &str| -> &'static str { text(described, key).to_owned().leak() };
    About {
        name: kept("name"),
        aliases: &[],
        summary: kept("summary"),
        source: kept("source"),
        departures: kept("departures"),
    }
}
