//! Congestion controllers as programs of the Linux kernel.
//!
//! The rules of each controller are pure functions in C over fixed-point numbers (`src/programs/rules/`). They are compiled
//! twice: into a `struct tcp_congestion_ops` of eBPF, which any socket may take by its name, and for the host, where the same
//! events are given to them and to the controller of the same name in `ackclock-cc`. Parameters, their ranges and defaults are
//! those that `ackclock-cc` declares.

pub mod agent;
mod catalogue;
pub mod cli;
pub mod command;
pub mod ece;
mod error;
mod exchange;
mod flight;
pub mod highspeed;
pub mod host;
pub mod machine;
mod object;
pub mod policy;
pub mod recording;
pub mod registration;
pub mod replay;
mod system;
pub mod trace;

pub use catalogue::{Assignment, PROGRAMS, Program};
pub use error::Error;
pub use exchange::{Ack, Event, Exchange, PARAMS, STATE};
pub use flight::{Flight, FlightEvent, Report};

/// The page's programs compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/controllers-in-the-kernel.md")]
struct Page;
