//! Learning while a simulation runs: small fully connected networks, their optimisers, experience replay, and the agent of
//! deep Q-learning. Nothing here knows of TCP.
//!
//! [`Agent`] decides and learns; [`Network`], [`Optimiser`], [`Replay`] and [`Normaliser`] are what it is made of.
//!
//! Everything gives the same bits on every machine. Only `+ - * /` and `sqrt` of `f32` are used, each rounded as IEEE 754
//! says; the order in which terms are added is fixed and does not depend on how wide the processor's vectors are; a product
//! and a sum are never fused. Random numbers come from the stream that the caller hands over.
//!
//! ```
//! use ackclock_learn::{Network, Shape};
//! use ackclock_units::RandomStream;
//!
//! let shape = Shape { inputs: 2, readings: 1, hidden: vec![], outputs: 1 };
//! let mut network = Network::new(&shape, &mut RandomStream::new(1, "weights"));
//! network.parameters_mut().copy_from_slice(&[2.0, 3.0, 1.0]); // two weights and a bias
//! let mut scratch = [vec![], vec![]];
//! assert_eq!(network.evaluate(&[10.0, 100.0], &mut scratch), [321.0]); // 2 * 10 + 3 * 100 + 1
//! ```

#![cfg_attr(test, allow(clippy::float_cmp, reason = "numbers by hand that f32 holds exactly"))]

pub mod agent;
mod dropout;
mod kernel;
pub mod network;
pub mod normaliser;
pub mod optimiser;
mod pass;
mod recurrence;
pub mod replay;
pub mod returns;

#[doc(inline)]
pub use agent::{Agent, AgentConfig, Decision, Learning};
#[doc(inline)]
pub use network::{Network, Shape, affine};
#[doc(inline)]
pub use normaliser::{Normalisation, Normaliser};
#[doc(inline)]
pub use optimiser::{Optimiser, OptimiserKind};
pub use pass::Pass;
#[doc(inline)]
pub use replay::{Replay, Tuple};
#[doc(inline)]
pub use returns::Returns;
