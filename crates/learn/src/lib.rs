//! Learning while a simulation runs: small fully connected networks, their optimisers, experience replay, and the agent of
//! deep Q-learning. Nothing here knows of TCP.
//!
//! Everything gives the same bits on every machine. Only `+ - * /` and `sqrt` of `f32` are used, each rounded as IEEE 754
//! says; the order in which terms are added is fixed and does not depend on how wide the processor's vectors are; a product
//! and a sum are never fused. Random numbers come from the stream that the caller hands over.

#![cfg_attr(test, allow(clippy::float_cmp, reason = "numbers by hand that f32 holds exactly"))]

mod agent;
mod dropout;
mod kernel;
mod network;
mod normaliser;
mod optimiser;
mod pass;
mod replay;

pub use agent::{Agent, AgentConfig, Decision, Learning};
pub use network::{Network, Shape, affine};
pub use normaliser::{Normalisation, Normaliser};
pub use optimiser::{Optimiser, OptimiserKind};
pub use pass::Pass;
pub use replay::{Replay, Tuple};
