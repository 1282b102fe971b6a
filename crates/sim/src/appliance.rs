//! The split-connection appliance: a node that terminates TCP and carries it on by connections of its own.
//!
//! Sources: J. Isogaki, master's thesis, JAIST 2005 (a transparent box that acknowledges a Reno flow early and sends on
//! with `HighSpeed` TCP); RFC 3135 (performance-enhancing proxies, sections 2.4 and 3.1).
//!
//! Each flow that an appliance takes has a connection more. Data from one end waits in that end's receive buffer, is
//! copied, and waits in the other end's send buffer; a [`Discipline`](ackclock_relay::Discipline) for each direction
//! limits its amount. The ends see each other's addresses.
//!
//! A short flow that an appliance takes has a relay while it lasts, which another one has after it; the flows of a
//! group are counted together.

mod blocking;
mod config;
mod copier;
mod gauge;
mod latency;
mod pool;
mod relay;
mod relayed;
mod relaying;
mod series;
mod summary;
mod totals;

pub use config::{ApplianceConfig, Copying, HandshakeOrder, SideConfig, SplitConfig};
pub use summary::{ApplianceSummary, BlockingSummary, DirectionSummary, ShortFlowCounts, SplitSummary};

pub(crate) use blocking::Blocking;
pub(crate) use copier::Copier;
pub(crate) use relay::{Carries, Relays};
pub(crate) use relayed::RelayedStream;
pub(crate) use series::ApplianceSeries;
pub(crate) use summary::{Run, summarize};
