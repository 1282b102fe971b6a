//! Reno's and CUBIC's congestion avoidance with deep Q-learning in place of the increase, learning in the flow itself.
//!
//! Source: Seo, Cho, "DQN-based congestion control", J. KICS, 2023 and 2024. What the papers leave unsaid is a parameter
//! here; `docs/explanation/dqn.md` lists each with the values that were tried. Departures: none from what is said.

pub mod cubic;
mod learner;
mod mind;
pub mod newreno;
mod pace;
pub mod shared;
mod window;

#[doc(inline)]
pub use cubic::{DqnCubic, DqnCubicConfig};
pub use learner::{DqnConfig, LearnOn, MaxThroughput, StateScale};
pub use mind::{Frozen, FrozenNetwork};
#[doc(inline)]
pub use newreno::{DqnNewReno, DqnNewRenoConfig, StoreOn};
pub use pace::CubicPace;
#[doc(inline)]
pub use shared::{SharedAgent, SharedAgents};
pub use window::{BelowSsthresh, DecreaseFrom, WindowRules};

use ackclock_learn::{Network, Normaliser};

use crate::controller::{Controller, ControllerConfig, Start};

/// The agent of a controller alone: it decides, stores and learns so many times on states drawn at random, after its
/// warm-up, for measuring what that costs. Returns the steps of learning; `None` if the controller has no agent.
#[doc(hidden)]
pub fn exercise_agent(config: &ControllerConfig, decisions: u64) -> Option<u64> {
    let start = Start::of(1, 1, None);
    match config {
        ControllerConfig::DqnNewReno(config) => Some(DqnNewReno::new(config, start).exercise(decisions)),
        ControllerConfig::DqnCubic(config) => Some(DqnCubic::new(config, start).exercise(decisions)),
        _ => None,
    }
}

/// An agent as it has learnt so far.
#[derive(Clone, Debug)]
pub struct Learned {
    /// What it looks at, and what its actions are.
    pub kind: LearnedKind,
    /// What holds of its window.
    pub rules: WindowRules,
    /// A value for each action, from what it sees.
    pub network: Network,
    /// How it brings what it sees to size.
    pub normaliser: Normaliser,
}

/// Which of the two controllers an agent is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LearnedKind {
    /// Sees threshold, cwnd and RTT; adds -10, -3, -1, 0, 1, 3 or 10 segments to a window that was acknowledged.
    NewReno,
    /// Sees `W_max` and the time since the last reduction besides; less, hold, CUBIC's curve or a faster one.
    Cubic {
        /// C of the curve, in segments/s^3: [`DqnCubicConfig::c`].
        c: f64,
        /// Whether `c` follows the formula: [`DqnCubicConfig::formula_c`].
        formula_c: bool,
    },
}

impl LearnedKind {
    /// Numbers that it sees.
    pub fn inputs(self) -> usize {
        match self {
            Self::NewReno => newreno::INPUTS,
            Self::Cubic { .. } => cubic::INPUTS,
        }
    }

    /// Actions that it has.
    pub fn actions(self) -> usize {
        match self {
            Self::NewReno => newreno::STEPS.len(),
            Self::Cubic { .. } => cubic::ACTIONS,
        }
    }
}

/// What a controller has learnt; `None` if it has no agent.
pub fn learned(controller: &Controller) -> Option<Learned> {
    match controller {
        Controller::DqnNewReno(controller) => controller.learned(),
        Controller::DqnCubic(controller) => controller.learned(),
        _ => None,
    }
}

impl ControllerConfig {
    /// The name of the agent that the controller has in common with others, if it names one.
    pub fn shared_agent(&self) -> Option<&str> {
        let dqn = match self {
            Self::DqnNewReno(config) => &config.dqn,
            Self::DqnCubic(config) => &config.dqn,
            _ => return None,
        };
        dqn.agent.as_deref()
    }

    /// Controllers made of it have their agent, if it has a name, from among these.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        match self {
            Self::DqnNewReno(config) => config.dqn.join(agents),
            Self::DqnCubic(config) => config.dqn.join(agents),
            _ => {}
        }
    }
}

impl Controller {
    /// An agent that it has in common with others is from now on the one of the same name among these.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        match self {
            Self::DqnNewReno(controller) => controller.join(agents),
            Self::DqnCubic(controller) => controller.join(agents),
            _ => {}
        }
    }
}

/// The controller that goes on as one that learnt, and learns no more. The network takes the numbers that the kind sees, and
/// gives a value for each of its actions.
pub fn frozen(kind: LearnedKind, rules: WindowRules, network: Frozen) -> ControllerConfig {
    let with_rules = |dqn: DqnConfig| DqnConfig {
        beta: rules.beta,
        decrease_from: rules.decrease_from,
        min_window: rules.min_window,
        below_ssthresh: rules.below_ssthresh,
        frozen: Some(network),
        ..dqn
    };
    match kind {
        LearnedKind::NewReno => {
            let default = DqnNewRenoConfig::default();
            ControllerConfig::DqnNewReno(Box::new(DqnNewRenoConfig {
                slow_start: rules.slow_start,
                dqn: with_rules(default.dqn),
                ..default
            }))
        }
        LearnedKind::Cubic { c, formula_c } => {
            let dqn = with_rules(DqnCubicConfig::default().dqn);
            ControllerConfig::DqnCubic(Box::new(DqnCubicConfig { c, formula_c, hystart: rules.hystart, dqn }))
        }
    }
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
