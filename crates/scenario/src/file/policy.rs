//! A frozen policy as a file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::macros::table;
use super::{Controller, CubicParameters};

table! {
    /// A trained policy, frozen.
    pub(crate) struct PolicyParameters {
        /// An ONNX file, taken from the scenario's folder.
        #[schemars(required)]
        file: String,
        /// What the file has to have, in hexadecimal.
        sha256: String,
        /// The flow's own controller, for slow start and losses; "cubic" by default.
        controller: Box<Controller>,
        /// What the agent is shown, when it is asked and what it may do, for a file that does not say so.
        agent: Map<String, Value>,
    }
}

impl PolicyParameters {
    /// The flow's own controller.
    pub(crate) fn own(&self) -> Controller {
        self.controller.as_deref().cloned().unwrap_or_else(|| Controller::Cubic(CubicParameters::default()))
    }
}
