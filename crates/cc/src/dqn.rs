//! Reno's and CUBIC's congestion avoidance with deep Q-learning in place of the increase, learning in the flow itself.
//!
//! Source: Seo, Cho, "DQN-based congestion control", J. KICS, 2023 and 2024. What the papers leave unsaid is a parameter
//! here; `docs/explanation/dqn.md` lists each with the values that were tried. Departures: none from what is said.

mod cubic;
mod learner;
mod newreno;
mod window;

pub use cubic::{DqnCubic, DqnCubicConfig};
pub use learner::{DqnConfig, LearnOn, MaxThroughput, StateScale};
pub use newreno::{DqnNewReno, DqnNewRenoConfig, StoreOn};
pub use window::BelowSsthresh;
