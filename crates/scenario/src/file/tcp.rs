//! TCP options as a file says them; each table is laid over a more general one.

use ackclock_tcp::{FirstSample, LossRecovery, RtoEstimator, TickRounding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{layer, words};
use super::{Amount, Buffer, Duration, Ssthresh, SwitchOr};

layer! {
    /// Switches of a TCP endpoint.
    pub(crate) struct TcpTable {
        /// Largest payload of a segment in bytes, without headers and options.
        mss: u32,
        /// Offer selective acknowledgements (RFC 2018).
        sack: bool,
        /// Offer timestamps (RFC 7323); they cost 12 bytes of every segment, beside the payload.
        timestamps: bool,
        /// Tick of the timestamp clock.
        timestamp_granularity: Duration,
        /// Offer window scaling (RFC 7323).
        window_scaling: bool,
        /// Receive buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        receive_buffer: Buffer,
        /// Send buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        send_buffer: Buffer,
        /// Congestion window to start with.
        initial_window: Amount,
        /// Slow-start threshold to start with.
        initial_ssthresh: Ssthresh,
        /// How loss is repaired.
        loss_recovery: LossRecoveryWord,
        /// Duplicate ACKs that mean a loss.
        dup_thresh: u32,
        /// Proportional Rate Reduction (RFC 9937) in SACK recovery.
        prr: bool,
        /// When in-order data is acknowledged; false acknowledges each segment.
        delayed_ack: SwitchOr<DelayedAckTable>,
        /// The retransmission timer.
        rto: RtoTable,
        /// Let cwnd grow while the receiver or the application limits the sender.
        grow_when_not_limited: bool,
        /// First sequence number.
        initial_sequence: u32,
        /// Timeouts in a row after which the connection is given up.
        max_retries: u32,
    }
}

layer! {
    /// Delayed acknowledgements.
    pub(crate) struct DelayedAckTable {
        /// Acknowledge every n-th full-sized segment at once.
        segments: u32,
        /// Acknowledge after this time at the latest.
        timeout: Duration,
    }
}

layer! {
    /// The retransmission timer; defaults belong to the estimator.
    pub(crate) struct RtoTable {
        /// Which formulas.
        estimator: EstimatorWord,
        /// Before the first sample.
        initial: Duration,
        /// Lower bound.
        min: Duration,
        /// Upper bound.
        max: Duration,
        /// Gain of the smoothed RTT.
        rtt_gain: f64,
        /// Gain of the RTT deviation.
        deviation_gain: f64,
        /// Weight of the RTT deviation.
        deviation_weight: f64,
        /// Clock granularity.
        granularity: Duration,
        /// No samples from retransmitted segments.
        karn: bool,
        /// opnet: how the RTT is measured in ticks.
        rounding: RoundingWord,
        /// opnet: what the first sample does.
        first_sample: FirstSampleWord,
        /// opnet: where the ticks lie.
        tick_offset: Duration,
    }
}

words! {
    /// How a sender repairs loss.
    pub(crate) enum LossRecoveryWord for LossRecovery {
        "tahoe" = Tahoe,
        "reno" = Reno,
        "newreno" = NewReno,
        "sack" = Sack,
    }
}

words! {
    /// Which formulas give the retransmission timeout.
    pub(crate) enum EstimatorWord for RtoEstimator {
        "rfc6298" = Rfc6298,
        "opnet" = Opnet,
        "linux" = Linux,
    }
}

words! {
    /// How a measured RTT becomes a number of ticks.
    pub(crate) enum RoundingWord for TickRounding {
        "floor" = Floor,
        "nearest" = Nearest,
        "ceiling" = Ceiling,
        "clock" = Clock,
    }
}

words! {
    /// What the first RTT sample R does.
    pub(crate) enum FirstSampleWord for FirstSample {
        "half" = Half,
        "no_variance" = NoVariance,
        "from_zero" = FromZero,
    }
}
