//! Configuration of an agent, read from JSON, and the catalogue of its names.

use std::fmt;

use ackclock_declare::Library;
use ackclock_units::SimDuration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::action::{ACTIONS, Action, ActionSpace};
use crate::decision::{DECISIONS, Decision};
use crate::named::{AnyObservation, AnyReward};
use crate::observation::{OBSERVATIONS, Observation, Scale};
use crate::own::ExternalObservationConfig;
use crate::policy::PolicyError;
use crate::policy::quantised::{self, Quantised};
use crate::reward::REWARDS;
use crate::view::Described;

/// Longest history; a longer one is a mistake.
const MOST_HISTORY: usize = 10_000;

/// Configuration of an agent: its observations, decisions, actions and rewards.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Observations, in this order.
    pub observations: Vec<AnyObservation>,
    /// Number of decisions whose observations are given, the latest last; those before the first are zero, or the
    /// nearest value of their range.
    pub history: usize,
    /// True if observations are scaled to [-1, 1].
    pub is_scaled: bool,
    /// The times of decisions.
    pub decision: Decision,
    /// The kind of actions.
    pub action: Action,
    /// Reward of the agent.
    pub reward: AnyReward,
    /// True if slow start, and the return to ssthresh after a timeout, belong to the agent too.
    pub has_slow_start: bool,
    /// True if only the agent answers losses and marks; else the flow's own controller does.
    pub answers_losses: bool,
}

/// A configuration that is not valid: the field, the mistake, and the requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(crate) String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A table of settings; fields are taken from it one by one.
struct Written(Map<String, Value>);

const FIELDS: [&str; 9] =
    ["observations", "history", "scaled", "decide", "action", "reward", "slow_start", "on_loss", "target"];

impl Written {
    fn of(text: &str) -> Result<Self, ConfigError> {
        let table = match serde_json::from_str(text) {
            Ok(Value::Object(table)) => table,
            Ok(other) => return Err(ConfigError(format!("agent = {other} must be a table"))),
            Err(error) => return Err(ConfigError(format!("agent: {error}; write JSON"))),
        };
        match table.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            None => Ok(Self(table)),
            Some(name) => Err(unknown("agent", name, &FIELDS.join(", "))),
        }
    }

    fn take<T: DeserializeOwned>(&mut self, name: &str, default: impl FnOnce() -> T) -> Result<T, ConfigError> {
        let Some(value) = self.0.remove(name) else { return Ok(default()) };
        T::deserialize(&value).map_err(|error| wrong(&format!("agent.{name}"), &value, &error))
    }

    /// True if the setting is the second of two words; the first is the default.
    fn is_second(&mut self, name: &str, words: [&str; 2]) -> Result<bool, ConfigError> {
        match self.0.remove(name) {
            None => Ok(false),
            Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(word == words[1]),
            Some(other) => Err(ConfigError(format!("agent.{name} = {other} must be {:?} or {:?}", words[0], words[1]))),
        }
    }
}

fn default_observations() -> Vec<Value> {
    ["threshold_segments", "cwnd_segments", "rtt_ms"].map(Value::from).to_vec()
}
fn default_decision() -> Value {
    json!("window")
}
fn default_action() -> Value {
    json!("deltas")
}
fn default_reward() -> Value {
    json!("dqn")
}

impl AgentConfig {
    /// Reads `{"observations": [...], "history": 1, "scaled": false, "decide": "window", "action": "deltas", "reward":
    /// "dqn", "slow_start": "stack", "on_loss": "stack"}`. These are the defaults, with the observations of DQN-based
    /// `NewReno`. Names are those of the catalogue, and of the open library. With `"target": "kernel"` an agent is
    /// refused whose policy no kernel could run.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let mut written = Written::of(text)?;
        let observations: Vec<Value> = written.take("observations", default_observations)?;
        if observations.is_empty() {
            return Err(ConfigError("agent.observations is empty; name at least one".to_owned()));
        }
        let history: usize = written.take("history", || 1)?;
        if history == 0 || history > MOST_HISTORY {
            return Err(ConfigError(format!("agent.history = {history} is out of range; give 1 to {MOST_HISTORY}")));
        }
        let is_scaled = written.take("scaled", || false)?;
        let observations = AnyObservation::read_all(&observations, is_scaled)?;
        let action: Action = kind("action", written.take("action", default_action)?, &names(ACTIONS))?;
        refuse("action", action.mistake())?;
        let is_for_kernel = written.is_second("target", ["engine", "kernel"])?;
        let sides = ["stack", "agent"];
        let config = Self {
            observations,
            history,
            is_scaled,
            decision: decision(&written.take("decide", default_decision)?)?,
            action,
            reward: AnyReward::read(written.take("reward", default_reward)?)?,
            has_slow_start: written.is_second("slow_start", sides)?,
            answers_losses: written.is_second("on_loss", sides)?,
        };
        if is_for_kernel {
            Quantised::check(&config).map_err(|PolicyError { what, remedy, .. }| {
                ConfigError(format!("agent.target = \"kernel\", and the agent {what}; {remedy}"))
            })?;
        }
        Ok(config)
    }

    /// Reads like [`Self::from_json`], with the rewards and observations of a library: those of the agent's scenario.
    pub fn from_json_with(text: &str, library: &Library) -> Result<Self, ConfigError> {
        library.open(|| Self::from_json(text))
    }

    /// Numbers in an observation.
    pub fn observation_len(&self) -> usize {
        self.history * self.observations.len()
    }

    pub(crate) fn own_observations(&self) -> impl Iterator<Item = &ExternalObservationConfig> {
        self.observations.iter().filter_map(|observation| match observation {
            AnyObservation::BuiltIn(_) => None,
            AnyObservation::Own(own) => Some(own),
        })
    }

    /// Observations in place of decisions before the first: zeros, or the nearest end of a range without zero.
    pub(crate) fn first_history(&self) -> Vec<f32> {
        if self.history == 1 {
            return Vec::new();
        }
        let nearest = |observation: &AnyObservation| {
            let (low, high) = observation.bounds(self.is_scaled);
            0.0_f64.clamp(low, high) as f32
        };
        self.observations.iter().map(nearest).collect::<Vec<_>>().repeat(self.history)
    }

    /// Spaces as JSON: `{"observation": {"shape", "low", "high"}, "action": {"choices"} or {"low", "high"}}`. An absent
    /// end of a range is null.
    pub fn spaces(&self) -> Value {
        let bounds: Vec<(f64, f64)> =
            self.observations.iter().map(|observation| observation.bounds(self.is_scaled)).collect();
        let side = |pick: fn(&(f64, f64)) -> f64| bounds.iter().map(pick).collect::<Vec<f64>>();
        let shape = if self.history == 1 { vec![bounds.len()] } else { vec![self.history, bounds.len()] };
        let action = match self.action.space() {
            ActionSpace::Discrete(choices) => json!({ "choices": choices }),
            ActionSpace::Range(low, high) => json!({ "low": low, "high": high }),
        };
        json!({ "observation": { "shape": shape, "low": side(|b| b.0), "high": side(|b| b.1) }, "action": action })
    }
}

pub(crate) fn refuse(field: &str, mistake: Option<(&'static str, String)>) -> Result<(), ConfigError> {
    match mistake {
        Some((name, what)) => Err(ConfigError(format!("agent.{field}.{name} {what}"))),
        None => Ok(()),
    }
}

/// A table with a `kind`, or only the kind.
pub(crate) fn kind<T: DeserializeOwned + Serialize>(
    field: &str,
    value: Value,
    known: &[&str],
) -> Result<T, ConfigError> {
    let value = if value.is_string() { json!({ "kind": value }) } else { value };
    let name = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !known.contains(&name) {
        let names = known.join(", ");
        let given = value.get("kind").map_or_else(|| value.to_string(), ToString::to_string);
        return Err(ConfigError(format!("agent.{field} = {given} is unknown; known: {names}")));
    }
    let place = format!("agent.{field}");
    let read = T::deserialize(&value).map_err(|error| of_field::<T>(&place, &value, &error))?;
    // Of a kind without parameters serde takes any.
    let all = serde_json::to_value(&read).unwrap_or_default();
    match value.as_object().and_then(|given| given.keys().find(|name| all.get(name).is_none())) {
        None => Ok(read),
        Some(extra) => Err(unknown(&place, extra, &format!("{name} has no parameters"))),
    }
}

/// An error of a table, attributed to the field that causes it: without that field the table has another error, or
/// none.
fn of_field<T: DeserializeOwned>(place: &str, value: &Value, error: &serde_json::Error) -> ConfigError {
    let text = error.to_string();
    if let Some(name) = text.strip_prefix("missing field ") {
        return ConfigError(format!("{place}.{} is missing; give it", name.trim_matches('`')));
    }
    let makes_it = |name: &&String| {
        let mut without = value.clone();
        if let Some(table) = without.as_object_mut() {
            table.remove(*name);
        }
        T::deserialize(&without).err().map(|error| error.to_string()).as_deref() != Some(&text)
    };
    let names = value.as_object().into_iter().flat_map(Map::keys);
    match names.filter(|name| *name != "kind").find(makes_it) {
        Some(name) if text.starts_with("unknown field") => {
            unknown(place, name, &format!("there are {}", expected(error)))
        }
        Some(name) => wrong(&format!("{place}.{name}"), &value[name], error),
        None => ConfigError(format!("{place}: {text}")),
    }
}

fn unknown(place: &str, name: &str, known: &str) -> ConfigError {
    ConfigError(format!("{place} must not hold a field {name:?}; {known}"))
}

/// A value of a wrong type.
fn wrong(place: &str, value: &Value, error: &serde_json::Error) -> ConfigError {
    ConfigError(format!("{place} = {value} must be {}", expected(error)))
}

/// The value that serde expected, in the words of the field.
fn expected(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once("expected ").map_or(text.as_str(), |(_, expected)| expected) {
        "usize" | "u64" => "a whole number of at least 0".to_owned(),
        "i32" => format!("whole numbers from {} to {}", i32::MIN, i32::MAX),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        other => other.trim_start_matches("one of ").replace('`', ""),
    }
}

/// The names of a catalogue.
pub(crate) fn names(described: &[Described]) -> Vec<&'static str> {
    described.iter().map(|one| one.name).collect()
}

fn decision(value: &Value) -> Result<Decision, ConfigError> {
    let refuse = |why: &str| {
        ConfigError(format!(
            "agent.decide = {value} {why}; write \"ack\", {{\"acks\": n}}, \"window\", \"round\", {{\"rounds\": x}}, \"cubic_pace\", or a time such as \"20 ms\""
        ))
    };
    match value {
        Value::String(text) => match text.as_str() {
            "ack" => Ok(Decision::Acks(1)),
            "window" => Ok(Decision::Window),
            "round" => Ok(Decision::Round),
            "cubic_pace" => Ok(Decision::CubicPace),
            time => match time.parse::<SimDuration>() {
                Ok(time) if time >= SimDuration::from_micros(1) => Ok(Decision::Every(time)),
                Ok(_) => Err(refuse("is shorter than 1 us")),
                Err(_) => Err(refuse("is unknown")),
            },
        },
        Value::Object(table) if table.len() == 1 && table.contains_key("rounds") => {
            let rounds = table.get("rounds").and_then(Value::as_f64).ok_or_else(|| refuse("is unknown"))?;
            if !(0.001..=1000.0).contains(&rounds) {
                return Err(refuse("is out of range: 0.001 to 1000"));
            }
            Ok(Decision::Rounds { thousandths: (rounds * 1000.0).round() as u32 })
        }
        Value::Object(table) if table.len() == 1 => {
            let count = table.get("acks").and_then(Value::as_u64).ok_or_else(|| refuse("is unknown"))?;
            match u32::try_from(count) {
                Ok(count) if count > 0 => Ok(Decision::Acks(count)),
                _ => Err(refuse("is out of range")),
            }
        }
        _ => Err(refuse("is unknown")),
    }
}

/// The names that configurations may use, as JSON: for tables in documentation and on terminals. `kernel` says whether
/// a policy with it may run in the kernel.
pub fn catalogue() -> Value {
    let row = |one: &Described| json!({ "name": one.name, "what": one.what, "source": one.source });
    let with_kernel = |list: &[Described], known: &[&str]| -> Vec<Value> {
        let with = |one: &Described| {
            let mut row = row(one);
            row["kernel"] = known.contains(&one.name).into();
            row
        };
        list.iter().map(with).collect()
    };
    json!({
        "observations": OBSERVATIONS.iter().map(observation_row).collect::<Vec<_>>(),
        "decisions": with_kernel(DECISIONS, &quantised::DECISIONS),
        "actions": with_kernel(ACTIONS, &quantised::ACTIONS),
        "rewards": REWARDS.iter().map(row).collect::<Vec<_>>(),
    })
}

fn observation_row(observation: &Observation) -> Value {
    let scale = match observation.scale {
        Scale::Linear => "linear".to_owned(),
        Scale::Log { unit } => format!("logarithmic from {unit}"),
    };
    json!({
        "name": observation.name,
        "what": observation.what,
        "low": observation.range.0,
        "high": observation.range.1,
        "scale": scale,
        "kernel": quantised::sight::NAMES.contains(&observation.name),
    })
}
