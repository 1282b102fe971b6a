//! The scenario file: from text (TOML or JSON) to a checked [`Scenario`] that a simulation can be built from without
//! any further way to fail.
//!
//! Text becomes a tree that knows where everything was written, overrides are put into the tree, values that the scenario
//! has drawn are drawn in the tree, the tree is read into the file types, these are checked and become a configuration. All
//! mistakes are reported at once ([`ScenarioError`]), each with its place and its remedy. Controllers that a program brings
//! along are [`Extensions`]; [`schema`] and its neighbours are the catalogues of what a file may say.
//!
//! ```
//! use ackclock_scenario::Scenario;
//!
//! let text = r#"
//!     duration = "10 s"
//!     [topology]
//!     kind = "dumbbell"
//!     access = { rate = "1 Gbit/s", delay = "10 us" }
//!     bottleneck = { rate = "100 Mbit/s", delay = "30 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }
//!     [[flow]]
//!     name = "one"
//!     controller = "cubik"
//! "#;
//! let mistakes = Scenario::parse(text, "run.toml", &[]).unwrap_err();
//! assert_eq!(mistakes.diagnostics[0].field, "flow[0].controller");
//! assert!(mistakes.to_string().contains("cubic"), "the remedy names what is nearest");
//!
//! let overrides = ["flow[0].controller=cubic".to_owned()];
//! let scenario = Scenario::parse(text, "run.toml", &overrides)?;
//! assert_eq!(scenario.config().flows[0].name, "one");
//! # Ok::<(), ackclock_scenario::ScenarioError>(())
//! ```

mod attachments;
mod catalog;
mod change_text;
mod check;
mod code;
mod de;
mod diagnostic;
mod endpoint;
mod extensions;
mod file;
mod files;
mod own_parts;
mod profiles;
mod reading;
mod scaling;
mod scenario;
mod traces;
mod traffic_catalog;
mod tree;
mod vary;

pub use catalog::{buffer_policies, controllers, links, profiles, queues, schema, topologies};
pub use change_text::with_change;
pub use code::code_of;
pub use diagnostic::{Diagnostic, ScenarioError};
pub use endpoint::endpoint_config;
pub use extensions::{BlamedField, ControllerRequest, Extensions, Origin, Refusal, Unloadable};
pub use reading::{MOST_OF_SCENARIO, read_file, read_text};
pub use scenario::Scenario;
pub use traffic_catalog::traffic;
pub use vary::{Drawn, ScenarioTemplate};
