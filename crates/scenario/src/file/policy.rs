//! Frozen policies in a file.

use std::collections::BTreeMap;

use ackclock_declare::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Controller;
use super::macros::table;

table! {
    /// A trained policy, frozen.
    pub(crate) struct PolicyParameters {
        /// An ONNX file, a table of Remy, or the index of a checkpoint of Indigo or Orca, relative to the scenario's folder.
        #[schemars(required)]
        file: String,
        /// SHA-256 that the file must have, in hexadecimal.
        sha256: String,
        /// The flow's own controller, for slow start and losses; "cubic" by default.
        controller: Box<Controller>,
        /// True if the scenario names that controller.
        #[serde(skip)]
        names_own: bool,
        /// Observations, decision interval and actions of the agent, for a file that does not say so.
        agent: Map<String, Value>,
    }
}

impl PolicyParameters {
    /// The flow's own controller.
    pub(crate) fn own(&self) -> Controller {
        self.controller.as_deref().cloned().unwrap_or_default()
    }

    /// The policy, where fields that its flow's own controller leaves unset are as in these tables.
    pub(super) fn over(&self, profile: &BTreeMap<String, Table>) -> Self {
        let own = self.own().over(profile);
        Self { controller: Some(Box::new(own)), names_own: Some(self.controller.is_some()), ..self.clone() }
    }
}
