//! Congestion control: the interface between a sender and its algorithm, and one file per algorithm.
//!
//! A controller owns cwnd, ssthresh and (where it has one) the pacing rate. The *sender* detects loss, opens and closes
//! congestion episodes and runs recovery, so an algorithm is told once per episode, never once per lost segment. A
//! controller reads no clock and does no I/O: all it may know arrives in the events. One that draws random numbers gets the
//! seed of its own stream with its parameters.

mod algorithm;
mod base_delay;
mod bbr;
mod classic;
mod controller;
mod copa;
mod cubic;
mod dctcp;
mod delivery;
mod dqn;
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
mod pcc;
mod peer_clock;
mod prague;
mod reno;
mod response;
mod segment_window;
mod siad;
mod slow_start;
mod swift;
#[cfg(test)]
mod testing;
mod unopened;
mod vegas;
mod windowed_min;

pub use ackclock_learn::{Learning, OptimiserKind};
pub use algorithm::{Need, Setting, Stack};
pub use bbr::{Bbr, Bbr3, Bbr3Config, BbrConfig};
pub use classic::{
    Aimd, AimdConfig, Bic, BicConfig, Classic, HighSpeed, HighSpeedConfig, HighSpeedResponse, Htcp, HtcpConfig, Hybla,
    HyblaConfig, Illinois, IllinoisConfig, Scalable, ScalableConfig, Veno, VenoConfig, Westwood, WestwoodConfig, Yeah,
    YeahConfig,
};
pub use controller::{CongestionController, Controller, ControllerConfig, controllers};
pub use copa::{Copa, CopaConfig};
pub use cubic::{Cubic, CubicConfig, CubicVariant};
pub use dctcp::{Dctcp, DctcpConfig};
pub use delivery::{DeliveryReport, Demands, RateSample, Repair, SegmentReport};
pub use dqn::{
    BelowSsthresh, CubicPace, DqnConfig, DqnCubic, DqnCubicConfig, DqnNewReno, DqnNewRenoConfig, Frozen, FrozenNetwork,
    LearnOn, Learned, LearnedKind, MaxThroughput, StateScale, StoreOn, WindowRules, exercise_agent, frozen, learned,
};
pub use event::{
    AckEvent, CongestionCause, CongestionEvent, RestartCause, RestartEvent, RttStats, SegmentTimestamps, SendEvent,
};
pub use external::{ExternalConfig, ExternalController, Start};
pub use fast::{Fast, FastConfig};
pub use fixed::{Fixed, FixedConfig};
pub use ledbat::{Ledbat, LedbatConfig, LedbatDelay};
pub use ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusConfig};
pub use linux_cubic::LinuxCubic;
pub use linux_reno::LinuxReno;
pub use pcc::{Allegro, AllegroConfig, Vivace, VivaceConfig};
pub use prague::{Prague, PragueConfig};
pub use reno::{Increase, Reno, RenoConfig};
pub use response::{Drive, mean_window};
pub use siad::{Siad, SiadConfig};
pub use slow_start::Hystart;
pub use swift::{Swift, SwiftConfig};
pub use unopened::Unopened;
pub use vegas::{Vegas, VegasConfig, VegasDelay, VegasRtt, VegasVariant};
