//! Checks of frozen policies: the file is read and checked against the agent's observations and actions.

use std::sync::Arc;

use ackclock_agent::policy::checkpoint::Checkpoint;
use ackclock_agent::policy::indigo::{Indigo, IndigoNetwork};
use ackclock_agent::policy::orca::{Orca, OrcaNetwork};
use ackclock_agent::policy::remy::{Remy, RemyTable};
use ackclock_agent::policy::{LEARNER_KEY, Policy, PolicyController, PolicyError, PolicyPlace};
use ackclock_cc::{Controller as Running, ControllerConfig, ExternalConfig, FixedConfig};

use super::Sources;
use super::controllers::lone_controller;
use super::location::Location;
use crate::file::{Controller, PolicyParameters};

pub(super) fn policy(table: &PolicyParameters, mss: u32, at: &Location<'_>, sources: Sources<'_>) -> ControllerConfig {
    // Stands in for what is not there; the mistake keeps it from being run.
    let nothing = ControllerConfig::Fixed(FixedConfig::default());
    let own = table.own();
    if matches!(own, Controller::Policy(_)) {
        let remedy = "name one that moves the window by itself, such as \"cubic\"";
        at.key("controller").report("must be no policy itself", remedy);
        return nothing;
    }
    let own = lone_controller(&own, mss, &at.key("controller"), sources);
    let Some(file) = &table.file else {
        at.key("file").missing("file = \"policy.onnx\"");
        return nothing;
    };
    let Some(content) = sources.attachments.content(file) else { return nothing };
    if let Some(index) = Checkpoint::index_of(file) {
        let remedy = format!("write file = {index:?}, beside which the data file lies");
        at.key("file").report("must be the index of a checkpoint, not its data", remedy);
        return nothing;
    }
    let data = Checkpoint::data_of(file).filter(|_| Checkpoint::is_index(&content));
    let data = match data.map(|data| sources.attachments.content(&data)) {
        Some(None) => return nothing,
        Some(data) => data,
        None => None,
    };
    if let Some(published) = published(&content, data.as_deref(), &own) {
        refuse_others(table, at);
        return published.map_or_else(
            |error| {
                report(error, at);
                nothing
            },
            ControllerConfig::External,
        );
    }
    let settings = table.agent.as_ref().map(|agent| serde_json::to_string(agent).expect("a table of JSON"));
    match Policy::from_onnx(&content, settings.as_deref()) {
        Ok(policy) => match policy.learner() {
            Some(learner) => {
                check_alone(table, at);
                learner
            }
            None => ControllerConfig::External(driven_by(Arc::new(policy), own)),
        },
        Err(error) => {
            report(error, at);
            nothing
        }
    }
}

fn report(error: PolicyError, at: &Location<'_>) {
    let field = match error.place {
        PolicyPlace::File => "file",
        PolicyPlace::Agent => "agent",
    };
    at.key(field).report(error.what, error.remedy);
}

/// A controller as its authors published it: a table of Remy, or the checkpoint of Indigo's network or Orca's.
fn published(
    content: &[u8],
    data: Option<&[u8]>,
    own: &ControllerConfig,
) -> Option<Result<ExternalConfig, PolicyError>> {
    if let Some(data) = data {
        return Some(Checkpoint::read(content, data).and_then(|checkpoint| of_checkpoint(&checkpoint, own)));
    }
    let table = RemyTable::read(content)?;
    Some(table.map(|table| ExternalConfig::new("policy", move |start| Remy::new(table.clone(), start))))
}

fn of_checkpoint(checkpoint: &Checkpoint<'_>, own: &ControllerConfig) -> Result<ExternalConfig, PolicyError> {
    if let Some(network) = IndigoNetwork::read(checkpoint) {
        let network = network?;
        return Ok(ExternalConfig::new("policy", move |start| Indigo::new(network.clone(), start)));
    }
    let Some(network) = OrcaNetwork::read(checkpoint) else {
        let known: Vec<&str> = checkpoint.names().take(3).collect();
        return Err(PolicyError {
            place: PolicyPlace::File,
            what: format!("must be a checkpoint of Indigo or Orca, not one of {}", known.join(", ")),
            remedy: "export other networks as ONNX".to_owned(),
        });
    };
    let (network, own) = (network?, own.clone());
    Ok(ExternalConfig::new("policy", move |start| {
        let own = own.clone().seeded(start.seed);
        let own = Running::new(&own, start.mss, start.initial_window, start.initial_ssthresh);
        Orca::new(network.clone(), own, start.mss)
    }))
}

fn refuse_others(table: &PolicyParameters, at: &Location<'_>) {
    for (field, is_given) in [("controller", table.names_own == Some(true)), ("agent", table.agent.is_some())] {
        if is_given {
            at.key(field).report("must not be combined with this file, which is a whole controller", "remove it");
        }
    }
}

/// Rejects `controller` beside a file that names its learner, which had slow start and losses itself.
fn check_alone(table: &PolicyParameters, at: &Location<'_>) {
    if table.names_own == Some(true) {
        let what =
            format!("must not be combined with a file whose metadata {LEARNER_KEY} name the controller that learnt it");
        let remedy = "remove it: that one has slow start and answers losses as it did when it learnt";
        at.key("controller").report(what, remedy);
    }
}

fn driven_by(policy: Arc<Policy>, own: ControllerConfig) -> ExternalConfig {
    let config = ExternalConfig::new("policy", move |start| {
        let own = own.clone().seeded(start.seed);
        let own = Running::new(&own, start.mss, start.initial_window, start.initial_ssthresh);
        PolicyController::new(&policy, own, start.mss)
    });
    config.that_decides()
}
