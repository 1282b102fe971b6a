//! A TCP endpoint without I/O: segments, calls and the time go in, segments come out.
//!
//! [`Endpoint`] is the state machine. Its sending half composes a scoreboard, an RTO estimator, loss recovery and a
//! controller, each in a file of its own; its receiving half reassembles, advertises and acknowledges.

mod config;
mod endpoint;
mod episode;
mod prr;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod rtt;
mod scoreboard;
mod sender;

pub use config::{
    DelayedAck, FirstSample, LossRecovery, MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, RtoConfig, RtoEstimator, TcpConfig,
    TickRounding,
};
pub use endpoint::{Endpoint, Output, State};
pub use episode::{Episode, EpisodeCause};
pub use sender::SenderCounters;
