//! Congestion control: the interface between a sender and its algorithm, and one module per algorithm.
//!
//! A [`CongestionController`] owns cwnd, ssthresh and (where it has one) the pacing rate. The *sender* detects loss,
//! opens and closes congestion episodes and runs recovery, so an algorithm hears of each episode once, and not of every
//! lost segment. A controller reads no clock and does no I/O: the events carry all that it may know. If it draws random
//! numbers, its parameters hold the seed of its own stream.
//!
//! Each algorithm's module states its purpose, its source and its departures from that; [`controllers`] lists them by
//! the names that scenarios use. A custom controller implements the same trait, and reaches a simulation as an
//! [`ExternalConfig`].
//!
//! ```
//! use ackclock_cc::{CongestionCause, CongestionController, CongestionEvent, Controller, ControllerConfig, RenoConfig};
//! use ackclock_units::{Bytes, SimTime};
//!
//! let reno = ControllerConfig::Reno(RenoConfig::default());
//! let mut controller = Controller::new(&reno, Bytes(1_000), Bytes(10_000), None); // segment size, initial window
//! controller.on_congestion(&CongestionEvent {
//!     now: SimTime::ZERO,
//!     cause: CongestionCause::Loss,
//!     flight_size: Bytes(8_000),
//!     decrease_from: Bytes(8_000),
//!     newly_lost: Bytes(1_000),
//!     inflight: Bytes(7_000),
//! });
//! assert_eq!(controller.ssthresh(), Some(Bytes(4_000))); // half of FlightSize (RFC 5681)
//! ```

/// Calls a macro with the built-in controllers: the parameters of each, and what it runs as.
macro_rules! with_controllers {
    ($receiver:ident) => {
        $receiver! {
            Reno(RenoConfig) => Reno, LinuxReno;
            Cubic(CubicConfig) => Cubic, LinuxCubic;
            Aimd(AimdConfig) => Classic in Box, LinuxModule in Box;
            Bic(BicConfig);
            HighSpeed(HighSpeedConfig);
            Htcp(HtcpConfig);
            Hybla(HyblaConfig);
            Illinois(IllinoisConfig);
            Scalable(ScalableConfig);
            Veno(VenoConfig);
            Westwood(WestwoodConfig);
            Yeah(YeahConfig);
            Cdg(CdgConfig);
            Lp(LpConfig);
            Nv(NvConfig);
            Vegas(VegasConfig) => Vegas in Box;
            Fast(FastConfig) => Fast in Box;
            Ledbat(LedbatConfig) => Ledbat in Box;
            LedbatPlusPlus(LedbatPlusPlusConfig) => LedbatPlusPlus in Box;
            Copa(CopaConfig) => Copa in Box;
            Abc(AbcConfig) => Abc in Box;
            C2tcp(C2tcpConfig) => C2tcp in Box;
            Nimbus(NimbusConfig) => Nimbus in Box;
            Verus(VerusConfig) => Verus in Box;
            Sprout(SproutConfig) => Sprout in Box;
            Swift(SwiftConfig) => Swift in Box;
            Timely(TimelyConfig) => Timely in Box;
            Hpcc(HpccConfig) => Hpcc in Box;
            PowerTcp(PowerTcpConfig) => PowerTcp in Box;
            ThetaPowerTcp(ThetaPowerTcpConfig);
            Fixed(FixedConfig) => Fixed;
            Bbr(BbrConfig) => Bbr in Box, LinuxBbr in Box;
            Bbr3(Bbr3Config) => Bbr3 in Box;
            Dctcp(DctcpConfig) => Dctcp in Box;
            Prague(PragueConfig) => Prague in Box;
            Allegro(AllegroConfig) => Allegro in Box;
            Vivace(VivaceConfig) => Vivace in Box;
            Siad(SiadConfig) => Siad in Box;
            DqnNewReno(DqnNewRenoConfig in Box) => DqnNewReno in Box;
            DqnCubic(DqnCubicConfig in Box) => DqnCubic in Box;
        }
    };
}

pub mod abc;
mod algorithm;
mod allowance;
mod base_delay;
pub mod bbr;
mod bursts;
pub mod c2tcp;
pub mod classic;
mod controller;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod delivery;
pub mod dqn;
mod event;
pub mod external;
pub mod fast;
pub mod fixed;
pub mod hpcc;
mod hystart;
mod hystart_plus_plus;
mod invariants;
mod jiffies;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod linux_cubic;
pub mod linux_module;
pub mod linux_reno;
mod loss_window;
pub mod nimbus;
pub mod pcc;
mod peer_clock;
pub mod powertcp;
pub mod prague;
pub mod reno;
mod repair_rounds;
mod response;
mod segment_window;
pub mod siad;
mod slow_start;
pub mod sprout;
pub mod swift;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod timely;
mod unopened;
pub mod vegas;
pub mod verus;
mod windowed_min;

#[doc(inline)]
pub use abc::{Abc, AbcConfig};
pub use ackclock_learn::{Learning, OptimiserKind};
pub use algorithm::{Need, Setting, Stack};
#[doc(inline)]
pub use bbr::{Bbr, Bbr3, Bbr3Config, BbrConfig, BbrVariant, LinuxBbr};
pub use bursts::BurstRule;
#[doc(inline)]
pub use c2tcp::{C2tcp, C2tcpConfig};
#[doc(inline)]
pub use classic::{
    Aimd, AimdConfig, Bic, BicConfig, Classic, ClassicVariant, HighSpeed, HighSpeedConfig, HighSpeedIncrease,
    HighSpeedResponse, HighSpeedVariant, Htcp, HtcpConfig, Hybla, HyblaConfig, Illinois, IllinoisConfig, Scalable,
    ScalableConfig, Veno, VenoConfig, Westwood, WestwoodConfig, Yeah, YeahConfig,
};
pub use controller::{CongestionController, Controller, ControllerConfig, Start, controllers};
#[doc(inline)]
pub use copa::{Copa, CopaConfig};
#[doc(inline)]
pub use cubic::{Cubic, CubicConfig, CubicVariant};
#[doc(inline)]
pub use dctcp::{Dctcp, DctcpConfig};
#[doc(inline)]
pub use delivery::{DeliveryReport, Demands, RateSample, Repair, SegmentReport};
#[doc(inline)]
pub use dqn::{
    BelowSsthresh, CubicPace, DecreaseFrom, DqnConfig, DqnCubic, DqnCubicConfig, DqnNewReno, DqnNewRenoConfig, Frozen,
    FrozenNetwork, LearnOn, Learned, LearnedKind, MaxThroughput, SharedAgent, SharedAgents, StateScale, StoreOn,
    WindowRules, frozen, learned,
};
pub use event::{
    AckEvent, CongestionCause, CongestionEvent, EchoEvent, Growth, HandshakeEvent, RestartCause, RestartEvent,
    RttStats, SegmentTimestamps, SendEvent,
};
#[doc(inline)]
pub use external::{ExternalConfig, ExternalController};
#[doc(inline)]
pub use fast::{Fast, FastConfig};
#[doc(inline)]
pub use fixed::{Fixed, FixedConfig};
#[doc(inline)]
pub use hpcc::{Hpcc, HpccConfig};
#[doc(inline)]
pub use ledbat::{Ledbat, LedbatConfig, LedbatDelay};
#[doc(inline)]
pub use ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusConfig};
#[doc(inline)]
pub use linux_cubic::LinuxCubic;
#[doc(inline)]
pub use linux_module::{CdgConfig, CdgHystart, LinuxModule, LpConfig, NvConfig};
#[doc(inline)]
pub use linux_reno::LinuxReno;
#[doc(inline)]
pub use nimbus::{Nimbus, NimbusConfig};
#[doc(inline)]
pub use pcc::{Allegro, AllegroConfig, Vivace, VivaceConfig};
#[doc(inline)]
pub use peer_clock::TICKS;
#[doc(inline)]
pub use powertcp::{PowerTcp, PowerTcpConfig, ThetaPowerTcpConfig};
#[doc(inline)]
pub use prague::{Prague, PragueConfig};
#[doc(inline)]
pub use reno::{Increase, Reno, RenoConfig};
// For benchmarks and the command line, which drive a controller alone.
#[doc(hidden)]
pub use dqn::exercise_agent;
#[doc(hidden)]
pub use response::{Drive, mean_window};
#[doc(inline)]
pub use siad::{Siad, SiadConfig};
pub use slow_start::{EarlyExit, ExitSign, Hystart, SlowStartCount};
#[doc(inline)]
pub use sprout::{Sprout, SproutConfig};
#[doc(inline)]
pub use swift::{Swift, SwiftConfig};
#[doc(inline)]
pub use telemetry::HopRecord;
#[doc(inline)]
pub use timely::{Timely, TimelyConfig};
pub use unopened::Unopened;
#[doc(inline)]
pub use vegas::{Vegas, VegasConfig, VegasDelay, VegasRtt, VegasVariant};
#[doc(inline)]
pub use verus::{Verus, VerusConfig};
