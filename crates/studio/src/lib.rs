//! The engine of ackclock where there is no disk, no clock and no thread: in a browser's worker, as WebAssembly.
//!
//! A page hands over a scenario's text with the files that it names, and gets all mistakes with their places and remedies, or a
//! run under way. The run moves in slices of simulated time, so that the page stays in charge; on the way it hands out rows of
//! series and packets as numbers, takes changes of links, and in the end the bytes of `summary.json`, which are those of every
//! other way to run the scenario: it is the same engine.
//!
//! [`Engine`] is all of that, and is tested natively; [`protocol`] puts it into octets, and the module `abi` exports three
//! functions for the page.

pub mod abi;
mod describe;
mod engine;
mod packets;
pub mod protocol;
mod rows;
mod run;

pub use engine::{Engine, Options};
pub use packets::{NUMBERS_OF_PACKET, PacketKind};
pub use rows::{NUMBERS_OF_FLOW, NUMBERS_OF_LINK};
pub use run::{Change, Run};
