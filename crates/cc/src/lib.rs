//! Congestion control: the interface between a sender and its algorithm, and one file per algorithm.
//!
//! A controller owns cwnd, ssthresh and (where it has one) the pacing rate. The *sender* detects loss, opens and closes
//! congestion episodes and runs recovery, so an algorithm is told once per episode, never once per lost segment. A
//! controller reads no clock, does no I/O and draws no random numbers: all it may know arrives in the events.

mod base_delay;
mod catalog;
mod classic;
mod controller;
mod copa;
mod cubic;
mod event;
mod external;
mod fast;
mod fixed;
mod hystart;
mod hystart_plus_plus;
mod ledbat;
mod ledbat_plus_plus;
mod linux_cubic;
mod linux_reno;
mod peer_clock;
mod reno;
mod segment_window;
mod slow_start;
mod swift;
#[cfg(test)]
mod testing;
mod vegas;
mod windowed_min;

pub use catalog::{CONTROLLERS, ControllerInfo, ParameterInfo};
pub use classic::{
    Aimd, AimdConfig, Bic, BicConfig, Classic, ClassicConfig, HighSpeed, HighSpeedConfig, HighSpeedResponse, Htcp,
    HtcpConfig, Hybla, HyblaConfig, Illinois, IllinoisConfig, Scalable, ScalableConfig, Veno, VenoConfig, Westwood,
    WestwoodConfig, Yeah, YeahConfig,
};
pub use controller::{CongestionController, Controller, ControllerConfig};
pub use copa::{Copa, CopaConfig};
pub use cubic::{Cubic, CubicConfig, CubicVariant};
pub use event::{AckEvent, CongestionCause, CongestionEvent, RttStats, SegmentTimestamps, SendEvent};
pub use external::{ExternalConfig, ExternalController, Start};
pub use fast::{Fast, FastConfig};
pub use fixed::{Fixed, FixedConfig};
pub use ledbat::{Ledbat, LedbatConfig, LedbatDelay};
pub use ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusConfig};
pub use linux_cubic::LinuxCubic;
pub use linux_reno::LinuxReno;
pub use reno::{Increase, Reno, RenoConfig};
pub use slow_start::Hystart;
pub use swift::{Swift, SwiftConfig};
pub use vegas::{Vegas, VegasConfig, VegasDelay, VegasRtt, VegasVariant};
