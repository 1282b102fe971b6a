//! Checks of controllers from outside, which the reading program provides.

use ackclock_cc::{ControllerConfig, FixedConfig};
use serde_json::{Map, Value};

use super::Checker;
use crate::extensions::{BlamedField, ControllerRequest, Origin};
use crate::file::{ExternalParameters, PythonParameters};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    pub(super) fn python(&mut self, table: &PythonParameters, path: &FieldPath) -> ControllerConfig {
        let name = (table.class.as_deref(), path.key("class"), "class = \"mymodule:MyController\"");
        self.external(Origin::Python, name, table.parameters.as_ref(), path)
    }

    pub(super) fn program(&mut self, table: &ExternalParameters, path: &FieldPath) -> ControllerConfig {
        let name = (table.name.as_deref(), path.key("name"), "name = \"my-controller\"");
        self.external(Origin::Program, name, table.parameters.as_ref(), path)
    }

    fn external(
        &mut self,
        origin: Origin,
        (name, place, example): (Option<&str>, FieldPath, &str),
        parameters: Option<&Map<String, Value>>,
        path: &FieldPath,
    ) -> ControllerConfig {
        // Stands in for what is not there; the mistake keeps it from being run.
        let nothing = ControllerConfig::Fixed(FixedConfig::default());
        let Some(name) = name else {
            self.missing(&place, example);
            return nothing;
        };
        let none = Map::new();
        let request = ControllerRequest { origin, name, parameters: parameters.unwrap_or(&none) };
        match self.extensions.find(&request) {
            Ok(config) => ControllerConfig::External(config),
            Err(refusal) => {
                let place = match refusal.field {
                    BlamedField::Name => place,
                    BlamedField::Parameters => path.key("parameters"),
                };
                self.report(&place, refusal.message, refusal.remedy);
                nothing
            }
        }
    }
}
