//! A laboratory for TCP congestion control: build a network, run it packet by packet, read the results as columns.
//!
//! ```
//! use ackclock::{Error, Run, dumbbell};
//!
//! fn main() -> Result<(), Error> {
//!     let scenario = dumbbell()
//!         .bottleneck("20 Mbit/s")
//!         .rtt("40 ms")
//!         .flows("cubic,newreno")
//!         .duration("20 s")
//!         .set("topology.bottleneck.queue.limit", "100 packets")
//!         .build()?;
//!     let results = Run::of(&scenario).finish()?;
//!
//!     for flow in &results.summary().flows {
//!         println!("{:8} {:5.2} Mbit/s, {} timeouts", flow.name, flow.goodput_bps / 1e6, flow.timeouts);
//!     }
//!     let series = results.flow_series("cubic")?;
//!     for (time_s, cwnd_bytes) in series.column("time_s")?.iter().zip(series.column("cwnd_bytes")?).step_by(1_000) {
//!         println!("{time_s:5.2} s {cwnd_bytes:7.0} bytes");
//!     }
//!
//!     let goodput_bps: f64 = results.summary().flows.iter().map(|flow| flow.goodput_bps).sum();
//!     assert!((18e6..20e6).contains(&goodput_bps)); // the link is full, and headers have their share
//!     Ok(())
//! }
//! ```
//!
//! - **A scenario** is a [`Scenario`]: [`dumbbell()`] builds one, with any field by its path; [`Scenario::parse`] and
//!   [`Scenario::load`] read TOML. Either way it is checked as a whole, and every mistake is told at once, with its place and
//!   its remedy.
//! - **A run** is [`Run`], on one thread or several, with the same bytes. [`simulation::Simulation`] is for whoever wants to stop on
//!   the way, look, and go on.
//! - **Results** are [`Results`]: a summary, and series over time as columns whose names end in their unit.
//! - **Events** of a run, a loss or the end of slow start, are told to an [`events::Observer`] by [`Run::observe`].
//! - **A custom controller** implements [`CongestionController`], as the built-in ones do: [`Dumbbell::own_flow`] takes it
//!   as it is.
//! - **A custom queue** implements [`network::queue::QueueDiscipline`]: [`Dumbbell::own_queue`].
//! - **For scenario files to name**, with parameters, these and effects of links and sources of traffic are gathered in a
//!   [`plugin::Plugin`]: for [`Extensions::with_library`] in your program, or as a library that `ackclock run` loads.
//! - **Learning** is in [`environment`] and [`agent`].
//!
//! The same scenario and seed give the same results on every machine. What is simulated, and how it was checked, is in the
//! documentation of the repository; each module of [`congestion`] and [`network::queue`] names its source and its departures.

mod dumbbell;
mod error;
mod results;
mod run;

#[doc(inline)]
pub use ackclock_agent as agent;
#[doc(inline)]
pub use ackclock_cc as congestion;
#[doc(inline)]
pub use ackclock_declare as declare;
#[doc(inline)]
pub use ackclock_env as environment;
#[doc(inline)]
pub use ackclock_events as events;
#[doc(inline)]
pub use ackclock_media as media;
#[doc(inline)]
pub use ackclock_net as network;
#[doc(inline)]
pub use ackclock_plugin as plugin;
#[doc(inline)]
pub use ackclock_quic as quic;
#[doc(inline)]
pub use ackclock_relay as relay;
#[doc(inline)]
pub use ackclock_scenario as scenario;
#[doc(inline)]
pub use ackclock_sim as simulation;
#[doc(inline)]
pub use ackclock_tcp as tcp;
#[doc(inline)]
pub use ackclock_units as units;
#[doc(inline)]
pub use ackclock_wire as wire;

pub use ackclock_cc::{AckEvent, CongestionController, CongestionEvent, ExternalConfig, RestartEvent, Start};
pub use ackclock_scenario::{Extensions, Scenario, ScenarioError};
pub use ackclock_sim::Summary;
pub use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
pub use dumbbell::{Dumbbell, dumbbell};
pub use error::Error;
pub use results::{Results, Series, UnknownName};
pub use run::Run;
