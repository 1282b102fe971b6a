//! A learning agent as a congestion controller: its observations, decisions, actions and rewards.
//!
//! An [`Agent`] sits where any other controller sits. Until its first decision, and for everything that it does not
//! decide, the flow's own controller stays active ([`mod@agent`]). It collects the events since the last decision
//! ([`Interval`]). When a decision is due ([`DECISIONS`]), it waits: the caller of the simulation stops, reads an
//! observation ([`OBSERVATIONS`]) and the reward ([`REWARDS`]), and acts ([`ACTIONS`]). A trained and frozen agent is a
//! [`policy`], for which the simulation does not stop.
//!
//! ```
//! use ackclock_agent::{ActionSpace, AgentConfig};
//!
//! let config = AgentConfig::from_json(
//!     r#"{"observations": ["cwnd_segments", "rtt_ms"], "history": 4, "decide": "round", "action": "deltas", "reward": "power"}"#,
//! )?;
//! assert_eq!(config.observation_len(), 8); // two numbers, of each of the last four decisions
//! assert_eq!(config.action.space(), ActionSpace::Discrete(7)); // -10, -3, -1, 0, 1, 3 or 10 segments
//! # Ok::<(), ackclock_agent::ConfigError>(())
//! ```

pub mod action;
pub mod agent;
mod config;
pub mod decision;
mod interval;
mod named;
pub mod observation;
pub mod own;
#[cfg(test)]
mod own_tests;
pub mod policy;
pub mod recent;
#[cfg(test)]
mod recent_tests;
pub mod reward;
#[cfg(test)]
mod tests;
mod view;

#[doc(inline)]
pub use action::{ACTIONS, Action, ActionSpace, Move};
#[doc(inline)]
pub use agent::Agent;
pub use config::{AgentConfig, ConfigError, catalogue};
#[doc(inline)]
pub use decision::{DECISIONS, Decision};
pub use interval::Interval;
pub use named::{AnyObservation, AnyReward};
#[doc(inline)]
pub use observation::{OBSERVATIONS, Observation, Scale};
#[doc(inline)]
pub use own::{
    ExternalObservation, ExternalObservationConfig, ExternalReward, ExternalRewardConfig, ObservationRange,
    OwnObservation, OwnReward, Values, own_observations, own_rewards, taken_names,
};
#[doc(inline)]
pub use recent::{DECISIONS_KEPT, Recent, Sample};
#[doc(inline)]
pub use reward::{REWARDS, Reward};
pub use view::{Described, Memory, View};
