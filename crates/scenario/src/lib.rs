//! The scenario file: from text (TOML or JSON) to a checked [`Scenario`] that a simulation can be built from without
//! any further way to fail.
//!
//! Text becomes a tree that knows where everything was written, overrides are put into the tree, values that the scenario
//! has drawn are drawn in the tree, the tree is read into the file types, these are checked and become a configuration. All mistakes are reported at once.

mod attachments;
mod catalog;
mod check;
mod de;
mod diagnostic;
mod endpoint;
mod extensions;
mod file;
mod files;
mod profiles;
mod scenario;
mod traces;
mod traffic_catalog;
mod tree;
mod vary;

pub use catalog::{buffer_policies, controllers, links, profiles, queues, schema, topologies};
pub use diagnostic::{Diagnostic, ScenarioError};
pub use endpoint::endpoint_config;
pub use extensions::{BlamedField, ControllerRequest, Extensions, Origin, Refusal};
pub use scenario::Scenario;
pub use traffic_catalog::traffic;
pub use vary::{Drawn, ScenarioTemplate};
