//! Learning environments: a scenario, agents on some of its flows, and the loop of decisions, for one simulation
//! ([`Environment`]) or for many side by side on threads ([`VectorEnvironment`]).
//!
//! ```
//! use ackclock_agent::AgentConfig;
//! use ackclock_env::Environment;
//! use ackclock_scenario::Scenario;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"
//!     duration = "2 s"
//!     [topology]
//!     kind = "dumbbell"
//!     access = { rate = "1 Gbit/s", delay = "0 ms" }
//!     bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }
//!     [[flow]]
//!     name = "learner"
//!     controller = "newreno"
//! "#;
//! let agent = AgentConfig::from_json(r#"{"observations": ["rtt_ms"], "decide": "round", "reward": "power"}"#)?;
//! let mut environment = Environment::new(Scenario::parse(text, "learn.toml", &[])?, vec![("learner".to_owned(), agent)])?;
//! let mut step = environment.reset(1);
//! while !step.is_last() {
//!     let mut rtt_ms = [0.0];
//!     environment.observe(0, &mut rtt_ms);
//!     let action = if rtt_ms[0] < 60.0 { 4.0 } else { 2.0 }; // of -10, -3, -1, 0, 1, 3, 10: a segment more, or one less
//!     step = environment.step(&[action]);
//! }
//! assert!(step.truncated); // the scenario's two seconds are over; the flow had more to send
//! # Ok(())
//! # }
//! ```

mod environment;
mod error;
mod shard;
mod vector;
mod worker;

pub use environment::{Environment, Step};
pub use error::EnvironmentError;
pub use vector::{Autoreset, Buffers, VectorEnvironment};
