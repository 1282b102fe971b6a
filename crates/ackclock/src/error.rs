//! Errors between a scenario and its results.

use std::fmt;

use ackclock_scenario::ScenarioError;

use crate::results::UnknownName;

/// A scenario that is wrong, or a name that its results do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Every mistake of the scenario, each with its place and its remedy.
    Scenario(ScenarioError),
    /// An unknown flow, link or column.
    UnknownName(UnknownName),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::UnknownName(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<ScenarioError> for Error {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<UnknownName> for Error {
    fn from(error: UnknownName) -> Self {
        Self::UnknownName(error)
    }
}
