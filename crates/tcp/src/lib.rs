//! A TCP endpoint without I/O: segments, calls and the time go in, segments come out.
//!
//! [`Endpoint`] is the state machine of RFC 9293, made from a [`TcpConfig`] and a controller of `ackclock_cc`. Its sending half
//! composes a scoreboard (RFC 6675, 8985), an RTO estimator (RFC 6298), loss recovery (RFC 5681, 6582, 6675, 9937), loss
//! detection by time and tail loss probes (RFC 8985), ECN (RFC 3168, 9768), pacing and a controller, each in a file of its
//! own; its receiving half reassembles, advertises and acknowledges. [`TcpInfo`] reports its state.
//!
//! Parts that another transport needs as well are public: [`pacing`], [`mod@rate_sample`], [`mod@rounds`], [`ranges`], [`event_log`].
//!
//! Two endpoints and a perfect wire:
//!
//! ```
//! use ackclock_cc::{ControllerConfig, RenoConfig};
//! use ackclock_tcp::{Endpoint, Reading, State, TcpConfig};
//! use ackclock_units::{Bytes, SimTime};
//!
//! let reno = ControllerConfig::Reno(RenoConfig::default());
//! let config = TcpConfig::default();
//! let mut opener = Endpoint::new(config, &reno, Reading::AtOnce);
//! let mut acceptor = Endpoint::new(config, &reno, Reading::AtOnce);
//! let (now, mut there, mut back) = (SimTime::ZERO, Vec::new(), Vec::new());
//!
//! acceptor.listen();
//! opener.connect(now, &mut there); // SYN
//! acceptor.on_segment(now, &there.remove(0), &mut back); // SYN-ACK
//! opener.on_segment(now, &back.remove(0), &mut there); // ACK
//! acceptor.on_segment(now, &there.remove(0), &mut back);
//! assert_eq!((opener.state(), acceptor.state()), (State::Established, State::Established));
//!
//! opener.write(now, Bytes(1_000_000), &mut there);
//! assert_eq!(there.len(), 10); // the initial window of RFC 6928
//! ```

mod accurate_ecn;
mod ack_control;
mod autotuning;
mod chronograph;
mod clock;
mod config;
mod controller_feed;
mod cwnd_validation;
mod delayed_ack;
mod device_queue;
mod ecn;
mod endpoint;
mod episode;
pub mod event_log;
mod fq;
mod host_queue;
mod info;
mod loss_recovery;
mod nagle;
pub mod pacing;
mod persist_timer;
mod prr;
mod rack;
pub mod ranges;
mod rate_halving;
pub mod rate_sample;
mod receiver;
mod recovery;
mod retransmit_timer;
pub mod rounds;
mod rto;
mod sack_compression;
mod scoreboard;
mod send_buffers;
mod sender;
mod ticks;
mod tlp;
mod tso;
mod undo;
mod write_queue;

pub use accurate_ecn::OctetsByMark;
pub use autotuning::window_of_memory;
pub use chronograph::{Activity, Spent};
pub use config::{
    AckControlConfig, AppLimitedFrom, Autotuning, BeyondHorizon, BufferGrowth, BurstConfig, ClockConfig, ClockStep,
    Counting, CwndValidation, DecreaseFrom, DelayedAck, DeviceQueueConfig, EcnConfig, EcnMode, FirstSample,
    IdleRestart, LossDetection, LossRecovery, MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, MAX_WINDOW, Nagle, PacedBy,
    PacingConfig, RtoConfig, RtoEstimator, RtoResume, RttSample, SackCompressionConfig, SmallQueues, TcpConfig,
    TickRounding, TimeoutInRecovery, UndoConfig, UserTimeoutFrom, WindowTuning, ZeroWindowProbeFrom,
};
pub use endpoint::{ConnectionError, Endpoint, Output, SocketOption, State};
pub use episode::{Episode, EpisodeCause, Episodes};
pub use info::{RecoveryState, TcpInfo};
pub use receiver::Reading;
pub use sender::SenderCounters;
pub use write_queue::Write;
