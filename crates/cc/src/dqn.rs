//! Reno's and CUBIC's congestion avoidance with deep Q-learning in place of the increase, learning in the flow itself.
//!
//! Source: Seo, Cho, "DQN-based congestion control", J. KICS, 2023 and 2024. What the papers leave unsaid is a parameter
//! here; `docs/explanation/dqn.md` lists each with the values that were tried. Departures: none from what is said.

mod cubic;
mod learner;
mod newreno;
mod pace;
mod window;

pub use cubic::{DqnCubic, DqnCubicConfig};
pub use learner::{DqnConfig, LearnOn, MaxThroughput, StateScale};
pub use newreno::{DqnNewReno, DqnNewRenoConfig, StoreOn};
pub use pace::CubicPace;
pub use window::BelowSsthresh;

use ackclock_learn::{Network, Normaliser};

use crate::controller::{Controller, ControllerConfig, Start};

/// The agent of a controller alone: it decides, stores and learns so many times on states drawn at random, after its
/// warm-up, for measuring what that costs. Returns the steps of learning; `None` if the controller has no agent.
pub fn exercise_agent(config: &ControllerConfig, decisions: u64) -> Option<u64> {
    let start = Start { mss: 1, initial_window: 1, initial_ssthresh: None };
    match config {
        ControllerConfig::DqnNewReno(config) => Some(DqnNewReno::new(config, start).exercise(decisions)),
        ControllerConfig::DqnCubic(config) => Some(DqnCubic::new(config, start).exercise(decisions)),
        _ => None,
    }
}

/// An agent as it has learnt so far.
#[derive(Clone, Copy, Debug)]
pub struct Learned<'a> {
    /// What it looks at, and what its actions are.
    pub kind: LearnedKind,
    /// A value for each action, from what it sees.
    pub network: &'a Network,
    /// How it brings what it sees to size.
    pub normaliser: &'a Normaliser,
}

/// Whose agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedKind {
    /// Sees threshold, cwnd and RTT; adds -10, -3, -1, 0, 1, 3 or 10 segments to a window that was acknowledged.
    NewReno,
    /// Sees `W_max` and the time since the last reduction besides; less, hold, CUBIC's curve or a faster one.
    Cubic,
}

/// What a controller has learnt; `None` if it has no agent.
pub fn learned(controller: &Controller) -> Option<Learned<'_>> {
    let (kind, agent) = match controller {
        Controller::DqnNewReno(controller) => (LearnedKind::NewReno, controller.agent()),
        Controller::DqnCubic(controller) => (LearnedKind::Cubic, controller.agent()),
        _ => return None,
    };
    Some(Learned { kind, network: agent.network(), normaliser: agent.normaliser() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RenoConfig;

    #[test]
    fn an_agent_alone_learns_with_each_decision() {
        let mut newreno = DqnNewRenoConfig::default();
        newreno.dqn.learning.warm_up = 50;
        let config = ControllerConfig::DqnNewReno(Box::new(newreno));
        // The first decision has no tuple before it: the 51st of 150 is the first to learn.
        assert_eq!(exercise_agent(&config, 100), Some(100));
        assert_eq!(exercise_agent(&ControllerConfig::Reno(RenoConfig::default()), 100), None);
    }
}
