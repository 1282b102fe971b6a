//! Why a file is no policy.

use std::fmt;

/// Place of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyPlace {
    /// In the file as a whole.
    File,
    /// In what is said of the agent.
    Agent,
}

/// A file that is no policy: where, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Place in the file at which the policy is wrong.
    pub place: PolicyPlace,
    /// The mistake, as the end of a sentence that begins with the place.
    pub what: String,
    /// Instruction what to do about it.
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
