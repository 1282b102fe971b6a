//! A trained and frozen policy: an ONNX file that decides in place of an external program.
//!
//! Source: ONNX (onnx.ai), as `torch.onnx.export` writes it. The network takes the agent's observation. It returns the
//! number of a choice, or a value for each choice, of which the greatest is taken; where actions are a range, it
//! returns the action itself. The agent's observations, decisions and actions are in the file's metadata under
//! [`AGENT_KEY`], in the form of [`AgentConfig::from_json`]. Departures: only layers of [`OPERATORS`]; the only network
//! with a memory is the LSTM, whose state the engine keeps for each flow, zero at its beginning.

pub mod checkpoint;
mod controller;
mod error;
#[cfg(test)]
mod exported;
mod graph;
pub mod indigo;
mod learner;
mod network;
mod onnx;
mod operators;
pub mod orca;
pub mod quantised;
#[cfg(test)]
mod recurrent;
pub mod remy;
mod states;
mod tensor;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use prost::Message;

pub use controller::PolicyController;
pub use error::{PolicyError, PolicyPlace};
pub use learner::LEARNER_KEY;
pub use operators::OPERATORS;
pub use write::{Activation, learned_policy, policy_file, trained_policy};

use crate::action::ActionSpace;
use crate::config::AgentConfig;
use graph::build;
use learner::Learner;
use network::{Network, Work, arg_max};
use onnx::ModelProto;
use quantised::{Memory, Quantised, Sight};

/// The metadata key of the agent's configuration.
pub const AGENT_KEY: &str = "ackclock.agent";

/// A trained and frozen policy, read from an ONNX file; flows that name it share it.
#[derive(Clone, Debug)]
pub struct Policy {
    config: Arc<AgentConfig>,
    network: Network,
    form: Form,
    learner: Option<Learner>,
    /// The integer form, which decides in place of the network.
    quantised: Option<Quantised>,
}

/// Meaning of the network's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The output is the action itself.
    Action,
    /// The outputs are a value for each choice.
    Values,
}

impl Policy {
    /// Reads a file, of ONNX or of integers ([`quantised`]). `settings` are the agent's configuration as JSON, for a
    /// file that has none.
    pub fn from_onnx(bytes: &[u8], settings: Option<&str>) -> Result<Self, PolicyError> {
        if let Some(read) = Quantised::read(bytes) {
            return Self::of_whole_numbers(read?, settings);
        }
        let model = ModelProto::decode(bytes).map_err(|error| {
            let reason = error.to_string();
            let what =
                format!("must be an ONNX file: {}", reason.trim_start_matches("failed to decode Protobuf message: "));
            PolicyError::of_file(what, "export one, such as with torch.onnx.export; a truncated file cannot be read")
        })?;
        let Some(graph) = &model.graph else {
            return Err(PolicyError::of_file("must be an ONNX file with a graph", "export one with torch.onnx.export"));
        };
        let config = agent_config(&model, settings)?;
        let opset = model.opset_import.iter().find(|opset| matches!(opset.domain.as_str(), "" | "ai.onnx"));
        let built = build(graph, opset.map_or(1, |opset| opset.version), config.history, config.observations.len())?;
        let form = form(config.action.space(), built.outputs, built.index_below)?;
        let learner = learner(&model, &config)?;
        if learner.is_some_and(|learner| !learner.fits(form, built.outputs)) {
            let what =
                format!("has metadata {LEARNER_KEY} of a controller with other actions than its {}", built.outputs);
            return Err(PolicyError::of_file(what, "let the network give a value for each action, or remove the key"));
        }
        Ok(Self { config: Arc::new(config), network: built.network, form, learner, quantised: None })
    }

    fn of_whole_numbers(read: (Quantised, String), settings: Option<&str>) -> Result<Self, PolicyError> {
        if settings.is_some() {
            return Err(PolicyError::of_agent("is set here, and in the policy's file", "remove it here"));
        }
        let (quantised, text) = read;
        let config = AgentConfig::from_json(&text)
            .map_err(|error| PolicyError::of_file(format!("has a wrong agent: {error}"), "export it again"))?;
        if !quantised.is_of(&config) {
            return Err(PolicyError::of_file("has an agent that was changed after it was exported", "export it again"));
        }
        let form = match config.action.space() {
            ActionSpace::Discrete(_) => Form::Values,
            ActionSpace::Range(..) => Form::Action,
        };
        let network =
            Network { constants: Vec::new(), steps: Vec::new(), output: network::Operand::Slot(0), memory: Vec::new() };
        Ok(Self { config: Arc::new(config), network, form, learner: None, quantised: Some(quantised) })
    }

    /// The action of the integer form; 0 without one.
    fn whole_action(&self, sight: &Sight, memory: &mut Memory) -> f64 {
        let decision = self.quantised.as_ref().map_or(0, |quantised| quantised.decide(sight, memory));
        quantised::action_of(decision, self.form, self.config.action.space())
    }

    /// The configuration of its agent.
    pub fn config(&self) -> &Arc<AgentConfig> {
        &self.config
    }

    /// The action for an observation; 0 if the network's output is not a number.
    fn action(&self, observation: &[f32], work: &mut Work) -> f64 {
        let outputs = self.network.evaluate(observation, work);
        match self.form {
            Form::Values => arg_max(outputs) as f64,
            Form::Action if outputs[0].is_finite() => f64::from(outputs[0]),
            Form::Action => 0.0,
        }
    }
}

/// The value of the file's metadata under a key.
fn metadata<'a>(model: &'a ModelProto, key: &str) -> Option<&'a str> {
    model.metadata_props.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
}

/// The agent's configuration in an ONNX file, as JSON; `None` if there is none, or it is another file.
pub fn agent_of(bytes: &[u8]) -> Option<String> {
    let model = ModelProto::decode(bytes).ok()?;
    metadata(&model, AGENT_KEY).map(str::to_owned)
}

fn learner(model: &ModelProto, config: &AgentConfig) -> Result<Option<Learner>, PolicyError> {
    metadata(model, LEARNER_KEY).map(|text| Learner::read(text, config.observation_len())).transpose()
}

fn agent_config(model: &ModelProto, settings: Option<&str>) -> Result<AgentConfig, PolicyError> {
    let own = metadata(model, AGENT_KEY);
    let text = match (own, settings) {
        (Some(_), Some(_)) => {
            let what = format!("is set here, and in the file's metadata under {AGENT_KEY}");
            return Err(PolicyError::of_agent(what, "remove it here"));
        }
        (Some(own), None) => own,
        (None, Some(settings)) => settings,
        (None, None) => {
            let remedy = "give the agent that it was trained with, such as agent = { observations = [\"cwnd_segments\", \"rtt_ms\"], action = \"deltas\" }";
            return Err(PolicyError::of_agent(format!("is missing: the file's metadata have no {AGENT_KEY}"), remedy));
        }
    };
    AgentConfig::from_json(text).map_err(|error| match own {
        Some(_) => PolicyError::of_file(format!("has wrong metadata {AGENT_KEY}: {error}"), "export it with these"),
        None => PolicyError::of_agent(format!("is wrong: {error}"), "write it as for an environment, with known names"),
    })
}

/// Conversion of outputs to an action.
fn form(space: ActionSpace, outputs: usize, index_below: Option<usize>) -> Result<Form, PolicyError> {
    match (space, index_below) {
        (ActionSpace::Discrete(choices), None) if outputs == choices => Ok(Form::Values),
        (ActionSpace::Discrete(choices), Some(below)) if outputs == 1 && below == choices => Ok(Form::Action),
        (ActionSpace::Range(..), None) if outputs == 1 => Ok(Form::Action),
        (ActionSpace::Discrete(choices), _) => {
            let given =
                index_below.map_or(format!("{outputs} numbers"), |below| format!("the number of one of {below}"));
            let remedy = format!(
                "export {choices} values, one for each choice, or their ArgMax; or give the agent the action that it was trained with"
            );
            Err(PolicyError::of_file(format!("gives {given} where the action has {choices} choices"), remedy))
        }
        (ActionSpace::Range(low, high), _) => {
            let given = index_below.map_or(format!("{outputs} numbers"), |_| "the number of a choice".to_owned());
            Err(PolicyError::of_file(
                format!("gives {given} where the action is one number from {low} to {high}"),
                "export only the action's mean, or give the agent the action that it was trained with",
            ))
        }
    }
}
