//! A TCP endpoint without I/O: segments, calls and the time go in, segments come out.

mod config;

pub use config::{
    DelayedAck, FirstSample, LossRecovery, MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, RtoConfig, RtoEstimator, TcpConfig,
    TickRounding,
};
