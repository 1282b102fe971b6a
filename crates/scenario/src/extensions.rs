//! Extensions that a scenario names and its reader brings along: classes of Python, types of a Rust program, plug-ins.

use std::fmt;
use std::sync::Arc;

use ackclock_cc::ExternalConfig;
use ackclock_declare::Library;
use serde_json::{Map, Value};

/// Origin of a controller from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `kind = "python"`: a class, as `module:Class`.
    Python,
    /// `kind = "external"`: a name that the reading program knows.
    Program,
}

/// A controller that a scenario asks for.
#[derive(Clone, Copy, Debug)]
pub struct ControllerRequest<'a> {
    /// Origin of the controller.
    pub origin: Origin,
    /// `module:Class`, or the name.
    pub name: &'a str,
    /// Table that the scenario writes under `parameters`.
    pub parameters: &'a Map<String, Value>,
}

/// Reason for which there is no such controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field to blame.
    pub field: BlamedField,
    /// Mistake in that field.
    pub message: String,
    /// Instruction what to write instead.
    pub remedy: String,
}

/// Field of the controller's table that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlamedField {
    /// The field `class` or `name`.
    Name,
    /// The field `parameters` is wrong.
    Parameters,
}

type Find = dyn Fn(&ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> + Send + Sync;

type Load = dyn Fn(&str) -> Result<Library, Unloadable> + Send + Sync;

/// Reason for which an entry of a scenario's `use` cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unloadable {
    /// The mistake.
    pub message: String,
    /// Instruction what to do about it.
    pub remedy: String,
}

/// Answers to such requests; by default there are none, and every request is a mistake of the scenario.
#[derive(Clone, Default)]
pub struct Extensions {
    find: Option<Arc<Find>>,
    load: Option<Arc<Load>>,
    library: Library,
}

impl Extensions {
    /// Extensions that `find` finds. It is asked once for each flow, while the scenario is checked.
    pub fn new(
        find: impl Fn(&ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Some(Arc::new(find)), ..Self::default() }
    }

    /// The same, with parts that a scenario may name without more ado.
    #[must_use]
    pub fn with_library(mut self, library: &Library) -> Self {
        self.library.extend(library);
        self
    }

    /// The same, with `load`, which finds what a scenario's `use` names: a module of Python, a file.
    #[must_use]
    pub fn with_loader(self, load: impl Fn(&str) -> Result<Library, Unloadable> + Send + Sync + 'static) -> Self {
        Self { load: Some(Arc::new(load)), ..self }
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    pub(crate) fn load(&self, name: &str) -> Result<Library, Unloadable> {
        let nobody = || Unloadable {
            message: "cannot be loaded by the program that reads this scenario".to_owned(),
            remedy: "use `ackclock run` or `ackclock.run`, or let the program bring the parts along".to_owned(),
        };
        self.load.as_ref().map_or_else(|| Err(nobody()), |load| load(name))
    }

    pub(crate) fn find(&self, request: &ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> {
        self.find.as_ref().map_or_else(|| Err(nobody(request.origin)), |find| find(request))
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("library", &self.library).finish_non_exhaustive()
    }
}

fn nobody(origin: Origin) -> Refusal {
    let (message, remedy) = match origin {
        Origin::Python => ("is a class of Python, which cannot be had here", "use `ackclock run` or `ackclock.run`"),
        Origin::Program => {
            ("is a controller that this program does not bring", "run the scenario with the program that does")
        }
    };
    Refusal { field: BlamedField::Name, message: message.to_owned(), remedy: remedy.to_owned() }
}
