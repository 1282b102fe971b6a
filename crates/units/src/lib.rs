//! Quantities of the simulator: time in integer nanoseconds, data in bytes, rates in bits per second; and what has to come
//! out alike on every machine: random streams, histograms, a few functions of [`math`]. Besides, what all long work needs: to be ended
//! ([`interrupt`]), and to wait for other threads ([`SpinWait`]).
//!
//! Every quantity has one text form for scenario files ("30 ms", "50 MB", "44.736 Mbit/s"), parsed exactly: a number
//! that the integer behind it cannot hold is refused, never rounded silently.
//!
//! ```
//! use ackclock_units::{Bandwidth, Bytes, SimDuration};
//!
//! let rate: Bandwidth = "100 Mbit/s".parse()?;
//! let rtt: SimDuration = "60 ms".parse()?;
//! assert_eq!(rate.bytes_in(rtt), Bytes(750_000)); // 10^8 / 8 * 0.06: the bandwidth-delay product
//! assert_eq!(rate.serialization_delay(Bytes(1_500)), SimDuration::from_micros(120));
//! assert!("0.1 ns".parse::<SimDuration>().is_err());
//! # Ok::<(), ackclock_units::ParseQuantityError>(())
//! ```

mod amount;
mod bandwidth;
mod bytes;
mod histogram;
pub mod interrupt;
pub mod math;
mod random;
mod shared;
mod spin_wait;
mod text;
mod time;

pub use amount::Amount;
pub use bandwidth::{Bandwidth, LINE_RATES};
pub use bytes::Bytes;
pub use histogram::Histogram;
pub use random::{RandomStream, mix, reduce};
pub use shared::Shared;
pub use spin_wait::SpinWait;
pub use text::ParseQuantityError;
pub use time::{SimDuration, SimTime};
