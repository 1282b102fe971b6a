//! Controllers from outside as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::macros::table;

table! {
    /// A class of Python.
    pub(crate) struct PythonParameters {
        /// The class as "module:Class", looked up in the scenario's folder, then on Python's path.
        #[schemars(required)]
        class: String,
        /// Keyword arguments of its constructor.
        parameters: Map<String, Value>,
    }
}

table! {
    /// A controller of the program that reads the scenario.
    pub(crate) struct ExternalParameters {
        /// The controller's name in the program.
        #[schemars(required)]
        name: String,
        /// Parameters of the controller, which the program interprets.
        parameters: Map<String, Value>,
    }
}
