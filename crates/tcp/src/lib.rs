//! A TCP endpoint without I/O: segments, calls and the time go in, segments come out.
//!
//! [`Endpoint`] is the state machine. Its sending half composes a scoreboard, an RTO estimator, loss recovery and a
//! controller, each in a file of its own; its receiving half reassembles, advertises and acknowledges.

mod ack_control;
mod autotuning;
mod clock;
mod config;
mod controller_feed;
mod cwnd_validation;
mod delayed_ack;
mod ecn;
mod endpoint;
mod episode;
mod info;
mod loss_recovery;
mod nagle;
mod pacing;
mod persist_timer;
mod prr;
mod rack;
mod ranges;
mod rate_sample;
mod receiver;
mod recovery;
mod retransmit_timer;
mod rounds;
mod rto;
mod scoreboard;
mod sender;
mod tlp;
mod tso;
mod undo;
mod write_queue;

pub use config::{
    AckControlConfig, Autotuning, BurstConfig, ClockConfig, ClockStep, Counting, CwndValidation, DecreaseFrom,
    DelayedAck, EcnConfig, EcnMode, FirstSample, IdleRestart, LossDetection, LossRecovery, MAX_SCALED_WINDOW,
    MAX_UNSCALED_WINDOW, MAX_WINDOW, Nagle, PacingConfig, RtoConfig, RtoEstimator, RtoResume, RttSample, TcpConfig,
    TickRounding, TimeoutInRecovery, UndoConfig, UserTimeoutFrom, ZeroWindowProbeFrom,
};
pub use endpoint::{ConnectionError, Endpoint, Output, SocketOption, State};
pub use episode::{Episode, EpisodeCause};
pub use info::{RecoveryState, TcpInfo};
pub use receiver::Reading;
pub use sender::SenderCounters;
