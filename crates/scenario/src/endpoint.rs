//! Options of a single endpoint, in the form of a scenario's `tcp` and `controller`, for programs that drive an
//! endpoint.

use ackclock_cc::ControllerConfig;
use ackclock_tcp::TcpConfig;

use crate::check::{check_endpoint, read_file};
use crate::diagnostic::{Diagnostics, ScenarioError};
use crate::file::EndpointFile;
use crate::tree::{apply_overrides, expand_controllers, parse_json};

/// The configuration that `{"tcp": {...}, "controller": ..., "seed": 0}` describes; each key may be left out.
///
/// `overrides` are `path=value` strings, as in `tcp.profile=linux-6.x`. Fails with every mistake at once.
pub fn endpoint_config(json: &str, overrides: &[String]) -> Result<(TcpConfig, ControllerConfig), ScenarioError> {
    let mut tree = parse_json(json).map_err(|errors| ScenarioError::of_syntax("<json>", errors))?;
    let unapplied = apply_overrides(&mut tree, overrides);
    expand_controllers(&mut tree);
    let diagnostics = Diagnostics::new("<json>", json, overrides, &tree);
    for (index, message) in &unapplied {
        diagnostics.report_override(*index, message);
    }
    let file: EndpointFile = read_file(&tree, &diagnostics);
    let (tcp, controller) = check_endpoint(&file.tcp.unwrap_or_default(), file.controller.as_ref(), &diagnostics);
    let controller = controller.seeded(file.seed.unwrap_or_default());
    if diagnostics.is_empty() { Ok((tcp, controller)) } else { Err(diagnostics.into_error()) }
}
