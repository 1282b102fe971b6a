//! Extensions that a scenario names and its reader provides: classes of Python, types of a Rust program, plug-ins.

use std::fmt;
use std::sync::Arc;

use ackclock_cc::ExternalConfig;
use ackclock_declare::Library;
use serde_json::{Map, Value};

/// The origin of a controller from outside.
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
    /// The origin of the controller.
    pub origin: Origin,
    /// The class as `module:Class`, or the name.
    pub name: &'a str,
    /// The table `parameters` of the scenario.
    pub parameters: &'a Map<String, Value>,
}

/// The reason why a controller is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The wrong field.
    pub field: BlamedField,
    /// The mistake in that field, such as "must be ...".
    pub message: String,
    /// The remedy: what to write instead.
    pub remedy: String,
}

/// The field of the controller's table that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlamedField {
    /// The field `class` or `name`.
    Name,
    /// The field `parameters`.
    Parameters,
}

type Find = dyn Fn(&ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> + Send + Sync;

type Load = dyn Fn(&str) -> Result<Library, Unloadable> + Send + Sync;

/// The reason why an entry of a scenario's `use` cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unloadable {
    /// The mistake, such as "must be ...".
    pub message: String,
    /// The remedy: what to do about it.
    pub remedy: String,
}

/// The extensions that a scenario can use; by default none, so that naming one is a mistake.
#[derive(Clone, Default)]
pub struct Extensions {
    find: Option<Arc<Find>>,
    load: Option<Arc<Load>>,
    library: Library,
}

impl Extensions {
    /// Extensions that `find` provides. It is called once for each flow, while the scenario is checked.
    pub fn new(
        find: impl Fn(&ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Some(Arc::new(find)), ..Self::default() }
    }

    /// The extensions, with parts that a scenario may name without a `use`.
    #[must_use]
    pub fn with_library(mut self, library: &Library) -> Self {
        self.library.extend(library);
        self
    }

    /// The extensions, with `load`, which loads an entry of a scenario's `use`: a module of Python, or a file.
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
            remedy: "use `ackclock run` or `ackclock.run`, or let the program provide the parts".to_owned(),
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
        Origin::Python => ("is a Python class, which cannot be loaded here", "use `ackclock run` or `ackclock.run`"),
        Origin::Program => {
            ("is a controller that this program does not provide", "run the scenario with the program that does")
        }
    };
    Refusal { field: BlamedField::Name, message: message.to_owned(), remedy: remedy.to_owned() }
}
