//! Interactive media over datagrams: an encoder whose rate a controller sets from the receiver's reports.
//!
//! A [`Sender`] has an [`Encoder`], a queue of packets and a [`RateController`]: [`gcc`], as browsers have it, or
//! SCReAM, of the draft ([`scream`]) or of RFC 8298 ([`scream_v1`]). A [`Receiver`] notes the arrival times and marks
//! of packets, and reports them ([`Report`]). Neither knows a socket, a clock or a simulator: both receive the time,
//! and return when they must be called again.
//!
//! ```
//! use ackclock_media::{Limits, RateControl, RateController, ScreamConfig};
//! use ackclock_units::{Bandwidth, SimDuration};
//!
//! let limits = Limits {
//!     least: Bandwidth(150_000),
//!     most: Bandwidth(1_500_000),
//!     start: Bandwidth(300_000),
//!     frame_interval: SimDuration::from_millis(33),
//!     is_l4s: false,
//! };
//! let controller = RateControl::Scream(ScreamConfig::default()).start(limits);
//! assert_eq!(controller.target_rate(), limits.start); // until the first report
//! ```

mod config;
mod control;
pub mod encoder;
pub mod gcc;
mod history;
mod receiver;
pub mod report;
pub mod scream;
pub mod scream_v1;
pub mod sender;

#[doc(inline)]
pub use config::{MediaApp, RateControl};
#[doc(inline)]
pub use control::{Controller, Feedback, FrameEvent, Limits, PacketResult, RateController, SentEvent};
#[doc(inline)]
pub use encoder::Encoder;
#[doc(inline)]
pub use gcc::{Gcc, GccConfig};
#[doc(inline)]
pub use history::Sent;
#[doc(inline)]
pub use receiver::Receiver;
#[doc(inline)]
pub use report::{Arrival, Report, ReportFormat, Reporting};
#[doc(inline)]
pub use scream::{Scream, ScreamConfig};
#[doc(inline)]
pub use scream_v1::{ScreamV1, ScreamV1Config};
#[doc(inline)]
pub use sender::{Departure, Sender};
