//! Without the feature `bpf` the kernel's controllers are all that there are.

use ackclock_sim::FlowConfig;

use super::Refusal;
use crate::run::Failure;

/// Nothing is registered for a run.
#[derive(Debug, Default)]
pub struct Loads {}

impl Loads {
    #[expect(clippy::unused_self, reason = "as where there are some")]
    pub(super) fn controller(&mut self, _: &FlowConfig, _: &str) -> Option<Result<String, Refusal>> {
        None
    }

    /// Registers nothing: this build has no programs.
    pub fn register(&self) -> Result<Vec<()>, Failure> {
        Ok(Vec::new())
    }
}
