//! Checks of frozen policies: the file is read and checked against the agent's observations and actions.

use std::sync::Arc;

use ackclock_agent::policy::{LEARNER_KEY, Policy, PolicyController, PolicyPlace};
use ackclock_cc::{Controller as Running, ControllerConfig, ExternalConfig, FixedConfig};

use super::Checker;
use crate::file::{Controller, PolicyParameters};
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    pub(super) fn policy(&mut self, table: &PolicyParameters, mss: u32, path: &FieldPath) -> ControllerConfig {
        // Stands in for what is not there; the mistake keeps it from being run.
        let nothing = ControllerConfig::Fixed(FixedConfig::default());
        let own = table.own();
        if matches!(own, Controller::Policy(_)) {
            let remedy = "name one that moves the window by itself, such as \"cubic\"";
            self.report(&path.key("controller"), "must be no policy itself", remedy);
            return nothing;
        }
        let own = self.controller(&own, mss, &path.key("controller"));
        let Some(file) = &table.file else {
            self.missing(&path.key("file"), "file = \"policy.onnx\"");
            return nothing;
        };
        let Some(content) = self.attachments.content(file) else { return nothing };
        let settings = table.agent.as_ref().map(|agent| serde_json::to_string(agent).expect("a table of JSON"));
        match Policy::from_onnx(&content, settings.as_deref()) {
            Ok(policy) => match policy.learner() {
                Some(learner) => {
                    self.check_alone(table, path);
                    learner
                }
                None => ControllerConfig::External(controller(Arc::new(policy), own)),
            },
            Err(error) => {
                let field = match error.place {
                    PolicyPlace::File => "file",
                    PolicyPlace::Agent => "agent",
                };
                self.report(&path.key(field), error.what, error.remedy);
                nothing
            }
        }
    }

    /// Rejects `controller` beside a file that names its learner, which had slow start and losses itself.
    fn check_alone(&mut self, table: &PolicyParameters, path: &FieldPath) {
        if table.names_own == Some(true) {
            let what = format!(
                "must not be combined with a file whose metadata {LEARNER_KEY} name the controller that learnt it"
            );
            let remedy = "remove it: that one has slow start and answers losses as it did when it learnt";
            self.report(&path.key("controller"), what, remedy);
        }
    }
}

fn controller(policy: Arc<Policy>, own: ControllerConfig) -> ExternalConfig {
    let config = ExternalConfig::new("policy", move |start| {
        let own = own.clone().seeded(start.seed);
        let own = Running::new(&own, start.mss, start.initial_window, start.initial_ssthresh);
        PolicyController::new(&policy, own, start.mss)
    });
    config.that_decides()
}
