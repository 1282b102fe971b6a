//! The network of a scenario in real time: the links of `ackclock_net`, driven by the clock on the wall.
//!
//! A packet enters the network at the moment at which it was read from the hosts' device. From there on everything has its exact time,
//! whenever it is worked out: services end and packets arrive when the links say so, and only the last step, handing a packet to a host,
//! happens at a moment of the machine's choosing. How much later than due that is, is the emulator's lateness ([`Lateness`]).

mod agenda;
mod capture;
mod carrier;
mod conversations;
mod frames;
mod lateness;
mod network;
mod pace;
mod packet;
mod pump;
mod rtt;
mod short_flows;

pub use capture::CaptureFile;
pub use carrier::{Carried, Carrier, Place};
pub use lateness::{Lateness, LatenessSummary, Verdict};
pub use network::{Delivered, Network};
pub use packet::{FIRST_PORT, Side};
pub use pump::{Observer, Pump, PumpOutcome};
pub use rtt::RttMeter;
