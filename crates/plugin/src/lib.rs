//! Your own parts: controllers, queue disciplines, effects of links, sources of traffic, and observations and rewards
//! of agents. A scenario and its agents name them like built-in ones.
//!
//! A part is a type with the trait of its kind, the same that a built-in one has, and a declaration of its parameters:
//!
//! ```
//! use ackclock_plugin::prelude::*;
//!
//! declare! {
//!     /// Parameters of [`Fraction`].
//!     pub struct FractionConfig {
//!         /// Factor of the window on congestion.
//!         beta: f64 = default(0.8).above(0.0).below(1.0),
//!     }
//! }
//!
//! /// A segment more for each window of ACKs, and a fraction less for each congestion.
//! #[derive(Clone, Debug)]
//! pub struct Fraction {
//!     beta: f64,
//!     mss: u64,
//!     cwnd: u64,
//! }
//!
//! impl CongestionController for Fraction {
//!     fn on_ack(&mut self, ack: &AckEvent) {
//!         if ack.may_grow() {
//!             self.cwnd += (self.mss * ack.newly_acked.0 / self.cwnd).max(1);
//!         }
//!     }
//!     fn on_congestion(&mut self, _event: &CongestionEvent) {
//!         self.cwnd = ((self.cwnd as f64 * self.beta) as u64).max(2 * self.mss);
//!     }
//!     fn cwnd(&self) -> Bytes {
//!         Bytes(self.cwnd)
//!     }
//! }
//!
//! fn plugin() -> Plugin {
//!     let about = About::new("fraction", "gives way by a fraction");
//!     Plugin::new().controller(about, |config: &FractionConfig, start: &Start| Fraction {
//!         beta: config.beta,
//!         mss: start.mss.0,
//!         cwnd: start.initial_window.0,
//!     })
//! }
//!
//! ackclock_plugin::export!(plugin);
//! ```
//!
//! Built as a `cdylib`, it can be named in a scenario's `use`, whatever compiler built the program that reads the
//! scenario: types across the boundary have the layout of C ([`abi`]). A Rust program takes [`Plugin::library`]
//! instead, without a boundary.

pub mod abi;
#[doc(hidden)]
pub mod guest;
#[cfg(feature = "host")]
pub mod host;
mod plugin;
mod text;

pub use plugin::Plugin;

/// Items that a plug-in's source needs.
pub mod prelude {
    pub use ackclock_agent::{ObservationRange, OwnObservation, OwnReward, Values};
    pub use ackclock_cc::{
        AckEvent, CongestionCause, CongestionController, CongestionEvent, Demands, RestartEvent, SegmentReport,
        SendEvent, Stack, Start,
    };
    pub use ackclock_declare::{About, declare, default, required, unset, words};
    pub use ackclock_net::queue::{QueueCounters, QueueDiscipline, Queued, Tally};
    pub use ackclock_net::{Fate, LinkEffect, Packet, PartStart, RandomStream};
    pub use ackclock_sim::{SourceStart, Supply, Then, TrafficSource};
    pub use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

    pub use crate::Plugin;
}

/// Exports a plug-in, once in a library: takes the name of a function that returns a [`Plugin`].
#[macro_export]
macro_rules! export {
    ($plugin:path) => {
        /// Entry point that a host calls when it has loaded this library.
        #[unsafe(no_mangle)]
        pub extern "C" fn ackclock_plugin() -> *const $crate::abi::Table {
            $crate::guest::table($plugin)
        }
    };
}
