//! A learning agent as a congestion controller: what it is shown, when it is asked, what it may do, what it is paid.
//!
//! An [`Agent`] sits where any other controller sits. Until it is asked for the first time, and for everything that it
//! does not decide, the flow's own controller goes on ([`Agent`] says how). It collects what happened since the last
//! decision ([`Interval`]); when its [`DecisionClock`] strikes, it waits: whoever runs the simulation stops, reads an
//! observation ([`OBSERVATIONS`]) and the reward ([`REWARDS`]), and acts ([`ACTIONS`]).

mod action;
mod agent;
mod config;
mod decision;
mod interval;
mod observation;
pub mod policy;
mod recent;
#[cfg(test)]
mod recent_tests;
mod reward;
#[cfg(test)]
mod tests;
mod view;

pub use action::{ACTIONS, Action, ActionSpace};
pub use agent::Agent;
pub use config::{AgentConfig, ConfigError, catalogue};
pub use decision::{DECISIONS, Decision};
pub use interval::Interval;
pub use observation::{OBSERVATIONS, Observation, Scale};
pub use recent::{DECISIONS_KEPT, Recent, Sample};
pub use reward::{REWARDS, Reward};
pub use view::{Described, Memory, View};
