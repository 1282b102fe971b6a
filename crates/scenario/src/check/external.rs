//! Checks of controllers from outside, which the reading program provides.

use ackclock_cc::{ControllerConfig, FixedConfig};
use serde_json::{Map, Value};

use super::location::Location;
use crate::extensions::{BlamedField, ControllerRequest, Extensions, Origin};
use crate::file::{ExternalParameters, PythonParameters};

pub(super) fn python(table: &PythonParameters, at: &Location<'_>, extensions: &Extensions) -> ControllerConfig {
    let name = (table.class.as_deref(), at.key("class"), "class = \"mymodule:MyController\"");
    external(Origin::Python, name, table.parameters.as_ref(), at, extensions)
}

pub(super) fn program(table: &ExternalParameters, at: &Location<'_>, extensions: &Extensions) -> ControllerConfig {
    let name = (table.name.as_deref(), at.key("name"), "name = \"my-controller\"");
    external(Origin::Program, name, table.parameters.as_ref(), at, extensions)
}

fn external(
    origin: Origin,
    (name, place, example): (Option<&str>, Location<'_>, &str),
    parameters: Option<&Map<String, Value>>,
    at: &Location<'_>,
    extensions: &Extensions,
) -> ControllerConfig {
    // Stands in for what is not there; the mistake keeps it from being run.
    let nothing = ControllerConfig::Fixed(FixedConfig::default());
    let Some(name) = name else {
        place.missing(example);
        return nothing;
    };
    let none = Map::new();
    let request = ControllerRequest { origin, name, parameters: parameters.unwrap_or(&none) };
    match extensions.find(&request) {
        Ok(config) => ControllerConfig::External(config),
        Err(refusal) => {
            let place = match refusal.field {
                BlamedField::Name => place,
                BlamedField::Parameters => at.key("parameters"),
            };
            place.report(refusal.message, refusal.remedy);
            nothing
        }
    }
}
