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
//!
//! A custom reward or observation is a part of a library: the scenario is read with it, and the agent's settings
//! name it as they name those of the catalogue.
//!
//! ```
//! use ackclock_agent::{AgentConfig, ExternalRewardConfig, Observation, OwnReward, Values};
//! use ackclock_declare::{About, Library, Part, declare, default};
//! use ackclock_env::Environment;
//! use ackclock_scenario::{Extensions, Scenario};
//!
//! declare! {
//!     /// Parameters of [`Toll`].
//!     #[derive(Copy)]
//!     pub struct Toll {
//!         /// Price of a millisecond of waiting.
//!         price: f64 = default(0.1).at_least(0.0),
//!     }
//! }
//!
//! impl OwnReward for Toll {
//!     fn reward(&mut self, values: &Values<'_>) -> f64 {
//!         values.of("delivery_rate_bps") / 1e6 - self.price * values.of("queueing_delay_ms")
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let text = r#"
//! #     duration = "2 s"
//! #     topology = { kind = "dumbbell", access = { rate = "1 Gbit/s", delay = "0 ms" }, bottleneck = { rate = "10 Mbit/s", delay = "20 ms" } }
//! #     flow = [{ name = "learner", controller = "newreno" }]
//! # "#;
//! let mut library = Library::default();
//! library.add(Part::new::<Toll>(About::new("toll", "rate less waiting"), (), &[], |_| (), |toll| {
//!     ExternalRewardConfig::new("toll", move |()| Box::new(toll))
//! }));
//! let scenario = Scenario::parse_with(text, "learn.toml", &[], &Extensions::default().with_library(&library))?;
//! let agent = AgentConfig::from_json_with(r#"{"reward": {"kind": "toll", "price": 0.2}}"#, scenario.library())?;
//! let mut environment = Environment::new(scenario, vec![("learner".to_owned(), agent)])?;
//! environment.reset(1);
//! environment.step(&[3.0]);
//! let mut value = |name| environment.read(0, Observation::named(name).expect("in the catalogue"));
//! let expected = value("delivery_rate_bps") / 1e6 - 0.2 * value("queueing_delay_ms");
//! assert_eq!(environment.reward(0), expected);
//! # Ok(())
//! # }
//! ```

mod environment;
mod error;
mod kernel_controllers;
mod kernel_sender;
mod live;
mod shard;
mod vector;
mod worker;

pub use environment::{Environment, Step};
pub use error::EnvironmentError;
pub use kernel_controllers::{FIRST_KERNEL_PORT, KERNEL_REPORT_LEN, KernelControllers, UnknownConnection};
pub use kernel_sender::{KernelAck, KernelCounts};
pub use live::LiveFlow;
pub use vector::{Autoreset, Buffers, VectorEnvironment};
