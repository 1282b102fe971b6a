//! Congestion control: the interface between a sender and its algorithm, and one file per algorithm.
//!
//! A controller owns cwnd, ssthresh and (where it has one) the pacing rate. The *sender* detects loss, opens and closes
//! congestion episodes and runs recovery, so an algorithm is told once per episode, never once per lost segment. A
//! controller reads no clock, does no I/O and draws no random numbers: all it may know arrives in the events.

mod catalog;
mod controller;
mod cubic;
mod event;
mod fixed;
mod reno;
#[cfg(test)]
mod testing;

pub use catalog::{CONTROLLERS, ControllerInfo, ParameterInfo};
pub use controller::{CongestionController, Controller, ControllerConfig};
pub use cubic::{Cubic, CubicConfig};
pub use event::{AckEvent, CongestionCause, CongestionEvent, RttStats, SegmentTimestamps, SendEvent};
pub use fixed::{Fixed, FixedConfig};
pub use reno::{Increase, Reno, RenoConfig};
