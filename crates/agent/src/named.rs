//! Observations and rewards by names: those of the catalogue, and those of the open library.

use ackclock_declare::{Context, Part, Table, kind_and_fields};
use serde_json::Value;

use crate::config::{ConfigError, kind, names, refuse};
use crate::observation::{OBSERVATIONS, Observation};
use crate::own::{ExternalObservationConfig, ExternalRewardConfig, own_observations, own_rewards};
use crate::reward::{REWARDS, Reward};

/// An observation of an agent.
#[derive(Clone, Debug)]
pub enum AnyObservation {
    /// An observation of the catalogue.
    BuiltIn(&'static Observation),
    /// An observation of a library.
    Own(ExternalObservationConfig),
}

/// Reward of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyReward {
    /// A reward of the catalogue.
    BuiltIn(Reward),
    /// A reward of a library.
    Own(ExternalRewardConfig),
}

impl AnyObservation {
    /// Reads a list: for each observation its name, or a table with a `kind` and parameters.
    pub(crate) fn read_all(written: &[Value], is_scaled: bool) -> Result<Vec<Self>, ConfigError> {
        let read = |(index, one): (usize, &Value)| {
            let observation = Self::read(&format!("agent.observations[{index}]"), one)?;
            match &observation {
                Self::Own(own) if is_scaled && !own.range().is_bounded() => Err(ConfigError(format!(
                    "agent.scaled = true, and the observation {:?} has no range; give it low and high",
                    own.name()
                ))),
                _ => Ok(observation),
            }
        };
        written.iter().enumerate().map(read).collect()
    }

    fn read(place: &str, written: &Value) -> Result<Self, ConfigError> {
        let (name, fields) = kind_and_fields(written);
        if let Some(observation) = Observation::named(&name) {
            return match fields.as_object().and_then(|fields| fields.keys().next()) {
                None => Ok(Self::BuiltIn(observation)),
                Some(field) => {
                    Err(ConfigError(format!("{place} must not hold a field {field:?}; {name} has no parameters")))
                }
            };
        }
        if let Some(part) = own_observations().find_known(&name) {
            return read_own(place, part, &fields).map(Self::Own);
        }
        let own = own_observations().known_names().iter().copied();
        let known = OBSERVATIONS.iter().map(|observation| observation.name).chain(own).collect::<Vec<_>>().join(", ");
        let given = if name.is_empty() { written.to_string() } else { format!("{name:?}") };
        Err(ConfigError(format!("agent.observations names {given}, which is unknown; known: {known}")))
    }

    /// The range of its values, scaled or not.
    pub fn bounds(&self, is_scaled: bool) -> (f64, f64) {
        match self {
            Self::BuiltIn(observation) => observation.bounds(is_scaled),
            Self::Own(own) => own.range().bounds(is_scaled),
        }
    }
}

impl AnyReward {
    /// Reads a name, or a table with a `kind` and parameters.
    pub(crate) fn read(written: Value) -> Result<Self, ConfigError> {
        let (name, fields) = kind_and_fields(&written);
        let mut known = names(REWARDS);
        if let Some(part) = own_rewards().find_known(&name).filter(|_| !known.contains(&name.as_str())) {
            return read_own("agent.reward", part, &fields).map(Self::Own);
        }
        known.extend(own_rewards().known_names());
        let reward: Reward = kind("reward", written, &known)?;
        refuse("reward", reward.mistake())?;
        Ok(Self::BuiltIn(reward))
    }
}

/// Reads a part of a library; the error contains every mistake.
fn read_own<C: 'static>(place: &str, part: &Part<C>, fields: &Value) -> Result<C, ConfigError> {
    let (mut table, mut mistakes) = (Table::new(), Vec::new());
    for (name, raw) in fields.as_object().into_iter().flatten() {
        match part.field(name).map(|field| field.read(raw)) {
            Some(Ok(value)) => _ = table.insert(name.clone(), value),
            Some(Err(wrong)) => mistakes.push(format!("{place}.{name} = {raw} {wrong}")),
            None => mistakes.push(format!("{place} must not hold a field {name:?}; {}", known_fields(part))),
        }
    }
    if mistakes.is_empty() {
        let reading = part.read(&table, &Context::default());
        if reading.mistakes.is_empty() {
            return Ok(reading.config);
        }
        mistakes.extend(reading.mistakes.iter().map(|mistake| {
            let value = fields.get(&mistake.field).map_or_else(String::new, |value| format!(" = {value}"));
            format!("{place}.{}{value} {}; {}", mistake.field, mistake.message, mistake.remedy)
        }));
    }
    Err(ConfigError(mistakes.join("\n")))
}

fn known_fields<C: 'static>(part: &Part<C>) -> String {
    let name = part.about.name;
    match part.field_names() {
        [] => format!("{name} has no parameters"),
        names => format!("{name} has {}", names.join(", ")),
    }
}
