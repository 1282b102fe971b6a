//! Quantities of the simulator: time in integer nanoseconds, data in bytes, rates in bits per second.
//!
//! Every quantity has one text form for scenario files ("30 ms", "50 MB", "44.736 Mbit/s"), parsed exactly: a number
//! that the integer behind it cannot hold is refused, never rounded silently.

mod amount;
mod bandwidth;
mod bytes;
mod histogram;
pub mod math;
mod random;
mod shared;
mod text;
mod time;

pub use amount::Amount;
pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use histogram::Histogram;
pub use random::RandomStream;
pub use shared::Shared;
pub use text::ParseQuantityError;
pub use time::{SimDuration, SimTime};
