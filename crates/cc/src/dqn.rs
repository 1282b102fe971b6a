//! Reno's and CUBIC's congestion avoidance with deep Q-learning in place of the increase, learning in the flow itself.
//!
//! Source: Seo, Cho, "DQN-based congestion control", J. KICS, 2023 and 2024. Details that the papers omit are
//! parameters here; `docs/explanation/dqn.md` lists each with the values that were tried. Departures: none from the
//! papers' text.

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

/// Runs the agent of a controller alone, to measure its cost: it decides, stores and learns `decisions` times on random
/// states, after its warm-up. Returns the learning steps; `None` if the controller has no agent.
#[doc(hidden)]
pub fn exercise_agent(config: &ControllerConfig, decisions: u64) -> Option<u64> {
    let start = Start::of(1, 1, None);
    match config {
        ControllerConfig::DqnNewReno(config) => Some(DqnNewReno::new(config, start).learner.exercise(decisions)),
        ControllerConfig::DqnCubic(config) => Some(DqnCubic::new(config, start).learner.exercise(decisions)),
        _ => None,
    }
}

/// A trained agent.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The agent's inputs and actions.
    pub kind: LearnedKind,
    /// The rules of its window.
    pub rules: WindowRules,
    /// The network, which maps a state to a value for each action.
    pub network: Network,
    /// The scaling of the network's inputs.
    pub normaliser: Normaliser,
}

/// The controller to which an agent belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LearnedKind {
    /// An agent that sees threshold, cwnd and RTT; it adds -10, -3, -1, 0, 1, 3 or 10 segments to an acknowledged
    /// window.
    NewReno,
    /// An agent that also sees `W_max` and the time since the last reduction. Its actions: less, hold, CUBIC's curve,
    /// or a faster one.
    Cubic {
        /// The constant C of the curve, in segments/s^3: [`DqnCubicConfig::c`].
        c: f64,
        /// True if `c` follows the formula: [`DqnCubicConfig::formula_c`].
        formula_c: bool,
    },
}

impl LearnedKind {
    /// The number of inputs.
    pub fn inputs(self) -> usize {
        match self {
            Self::NewReno => newreno::INPUTS,
            Self::Cubic { .. } => cubic::INPUTS,
        }
    }

    /// The number of actions.
    pub fn actions(self) -> usize {
        match self {
            Self::NewReno => newreno::STEPS.len(),
            Self::Cubic { .. } => cubic::ACTIONS,
        }
    }
}

/// The trained agent of a controller; `None` if it has none.
pub fn learned(controller: &Controller) -> Option<Learned> {
    let (kind, window, learnt) = match controller {
        Controller::DqnNewReno(dqn) => (LearnedKind::NewReno, &dqn.window, dqn.learner.exported()),
        Controller::DqnCubic(dqn) => (dqn.kind(), &dqn.window, dqn.learner.exported()),
        _ => return None,
    };
    let (network, normaliser) = learnt?;
    Some(Learned { kind, rules: window.rules(), network, normaliser })
}

impl ControllerConfig {
    /// The name of the agent that the controller shares with others, if it has one.
    pub fn shared_agent(&self) -> Option<&str> {
        let dqn = match self {
            Self::DqnNewReno(config) => &config.dqn,
            Self::DqnCubic(config) => &config.dqn,
            _ => return None,
        };
        dqn.agent.as_deref()
    }

    /// Takes the shared agent of this configuration's name from `agents`.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        match self {
            Self::DqnNewReno(config) => config.dqn.join(agents),
            Self::DqnCubic(config) => config.dqn.join(agents),
            _ => {}
        }
    }
}

impl Controller {
    /// Replaces a shared agent by the one of the same name in `agents`.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        match self {
            Self::DqnNewReno(controller) => controller.learner.join(agents),
            Self::DqnCubic(controller) => controller.learner.join(agents),
            _ => {}
        }
    }
}

/// The controller with a trained network that no longer learns. The network takes the inputs of `kind`, and returns a
/// value for each of its actions.
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
