//! Checks of controllers from outside, which the reading program provides.

use ackclock_cc::{ControllerConfig, FixedConfig};
use serde_json::{Map, Value};

use crate::diagnostic::Diagnostics;
use crate::extensions::{BlamedField, ControllerRequest, Extensions, Origin};
use crate::file::{ExternalParameters, PythonParameters};
use crate::tree::FieldPath;

pub(super) fn python(
    table: &PythonParameters,
    path: &FieldPath,
    extensions: &Extensions,
    sink: &mut Diagnostics<'_>,
) -> ControllerConfig {
    let name = (table.class.as_deref(), path.key("class"), "class = \"mymodule:MyController\"");
    external(Origin::Python, name, table.parameters.as_ref(), path, extensions, sink)
}

pub(super) fn program(
    table: &ExternalParameters,
    path: &FieldPath,
    extensions: &Extensions,
    sink: &mut Diagnostics<'_>,
) -> ControllerConfig {
    let name = (table.name.as_deref(), path.key("name"), "name = \"my-controller\"");
    external(Origin::Program, name, table.parameters.as_ref(), path, extensions, sink)
}

fn external(
    origin: Origin,
    (name, place, example): (Option<&str>, FieldPath, &str),
    parameters: Option<&Map<String, Value>>,
    path: &FieldPath,
    extensions: &Extensions,
    sink: &mut Diagnostics<'_>,
) -> ControllerConfig {
    // Stands in for what is not there; the mistake keeps it from being run.
    let nothing = ControllerConfig::Fixed(FixedConfig::default());
    let Some(name) = name else {
        sink.missing(&place, example);
        return nothing;
    };
    let none = Map::new();
    let request = ControllerRequest { origin, name, parameters: parameters.unwrap_or(&none) };
    match extensions.find(&request) {
        Ok(config) => ControllerConfig::External(config),
        Err(refusal) => {
            let place = match refusal.field {
                BlamedField::Name => place,
                BlamedField::Parameters => path.key("parameters"),
            };
            sink.report(&place, refusal.message, refusal.remedy);
            nothing
        }
    }
}
