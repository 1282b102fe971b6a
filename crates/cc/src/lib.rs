//! Congestion control: the interface between a sender and its algorithm, and one file per algorithm.
//!
//! A controller owns cwnd, ssthresh and (where it has one) the pacing rate. The *sender* detects loss, opens and closes
//! congestion episodes and runs recovery, so an algorithm is told once per episode, never once per lost segment. A
//! controller reads no clock and does no I/O: all it may know arrives in the events. One that draws random numbers gets the
//! seed of its own stream with its parameters.

mod bbr;
mod catalog;
mod controller;
mod cubic;
mod delivery;
mod event;
mod external;
mod fixed;
mod hystart;
mod hystart_plus_plus;
mod linux_cubic;
mod linux_reno;
mod reno;
mod segment_window;
mod slow_start;
#[cfg(test)]
mod testing;
mod vegas;

pub use bbr::{Bbr, Bbr3, Bbr3Config, BbrConfig};
pub use catalog::{CONTROLLERS, ControllerInfo, ParameterInfo};
pub use controller::{CongestionController, Controller, ControllerConfig};
pub use cubic::{Cubic, CubicConfig, CubicVariant};
pub use delivery::{DeliveryReport, Demands, RateSample, Repair, SegmentReport};
pub use event::{AckEvent, CongestionCause, CongestionEvent, RttStats, SegmentTimestamps, SendEvent};
pub use external::{ExternalConfig, ExternalController, Start};
pub use fixed::{Fixed, FixedConfig};
pub use linux_cubic::LinuxCubic;
pub use linux_reno::LinuxReno;
pub use reno::{Increase, Reno, RenoConfig};
pub use slow_start::Hystart;
pub use vegas::{Vegas, VegasConfig, VegasDelay, VegasRtt, VegasVariant};
