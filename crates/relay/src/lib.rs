//! How much a split connection keeps between its two sides.
//!
//! A relay takes octets from the *near* side, which sends to it, and passes them on to the *far* side. A buffer
//! discipline sees both sides ([`Readings`]) and says what to do about it ([`Orders`]): what window to advertise, how much
//! to hand to the far socket before it has been sent, when to raise ECE. It knows no socket and no simulator; both a
//! simulated appliance and a real proxy (`TCP_INFO`, `TCP_WINDOW_CLAMP`, `TCP_NOTSENT_LOWAT`) can obey it.
//!
//! Each direction of a connection has a discipline of its own.

mod ack_clock;
mod codel_window;
mod credit;
mod discipline;
mod drain_rate;
mod ece_drop_tail;
mod ece_interval;
mod ece_red;
mod grant;
mod history;
#[cfg(debug_assertions)]
mod invariants;
mod lateness;
mod not_sent;
mod readings;
mod socket;

pub use codel_window::{CodelWindow, CodelWindowConfig};
pub use credit::{Credit, CreditConfig};
pub use discipline::{Discipline, DisciplineConfig, Orders, buffer_policies};
pub use drain_rate::{DrainRate, DrainRateConfig};
pub use ece_drop_tail::{EceDropTail, EceDropTailConfig};
pub use ece_interval::{EceInterval, EceIntervalConfig};
pub use ece_red::{EceRed, EceRedConfig};
pub use not_sent::{NotSent, NotSentConfig};
pub use readings::{FarSide, Readings};
