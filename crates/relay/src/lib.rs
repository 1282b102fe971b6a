//! Limits on the octets that a split connection keeps between its two sides.
//!
//! A relay takes octets from the *near* side, which sends to it, and passes them on to the *far* side. A buffer
//! discipline sees both sides ([`Readings`]) and says what to do about it ([`Orders`]): what window to advertise, how much
//! to hand to the far socket before it has been sent, when to raise ECE. It knows no socket and no simulator; both a
//! simulated appliance and a real proxy (`TCP_INFO`, `TCP_WINDOW_CLAMP`, `TCP_NOTSENT_LOWAT`) can obey it.
//!
//! Each direction of a connection has a [`Discipline`] of its own. Each policy's module says what it does and where it is from.
//!
//! ```
//! use ackclock_relay::{Discipline, DisciplineConfig, EceDropTailConfig, Readings};
//! use ackclock_units::Bytes;
//!
//! let limit = EceDropTailConfig { limit: Bytes(10_000), every_rtt: false };
//! let mut discipline = Discipline::new(&DisciplineConfig::EceDropTail(limit), 1);
//! let within = Readings { arrived: Bytes(9_000), ..Readings::default() };
//! assert!(!discipline.update(&within).raise_ece);
//! let beyond = Readings { arrived: Bytes(12_000), ..Readings::default() };
//! assert!(discipline.update(&beyond).raise_ece); // 12 kB arrived, and the far side has acknowledged nothing
//! ```

mod ack_clock;
pub mod codel_window;
pub mod credit;
mod discipline;
pub mod drain_rate;
pub mod ece_drop_tail;
pub mod ece_interval;
pub mod ece_red;
mod grant;
mod history;
#[cfg(debug_assertions)]
mod invariants;
mod lateness;
pub mod not_sent;
mod readings;
mod socket;

#[doc(inline)]
pub use codel_window::{CodelWindow, CodelWindowConfig};
#[doc(inline)]
pub use credit::{Credit, CreditConfig};
pub use discipline::{Discipline, DisciplineConfig, Orders, buffer_policies};
#[doc(inline)]
pub use drain_rate::{DrainRate, DrainRateConfig};
#[doc(inline)]
pub use ece_drop_tail::{EceDropTail, EceDropTailConfig};
#[doc(inline)]
pub use ece_interval::{EceInterval, EceIntervalConfig};
#[doc(inline)]
pub use ece_red::{EceRed, EceRedConfig};
#[doc(inline)]
pub use not_sent::{NotSent, NotSentConfig};
pub use readings::{FarSide, Readings};
