//! The reason why a file is not a policy.

use std::fmt;

/// The place of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyPlace {
    /// The file as a whole.
    File,
    /// The description of the agent.
    Agent,
}

/// A file that is not a policy: the place, the mistake, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The place of the mistake in the file.
    pub place: PolicyPlace,
    /// The mistake, as the end of a sentence that begins with the place.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl PolicyError {
    pub(crate) fn of_file(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: PolicyPlace::File, what: what.into(), remedy: remedy.into() }
    }

    pub(crate) fn of_agent(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: PolicyPlace::Agent, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            PolicyPlace::File => "the policy's file",
            PolicyPlace::Agent => "the policy's agent",
        };
        write!(f, "{place} {}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for PolicyError {}
