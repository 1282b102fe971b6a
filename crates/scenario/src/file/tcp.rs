//! TCP options as a file says them; each table is laid over a more general one.

use ackclock_tcp::{
    AckControlConfig, Counting, CwndValidation, DecreaseFrom, DelayedAck, EcnMode, IdleRestart, LossDetection,
    LossRecovery, Nagle, PacingConfig, RtoConfig, TimeoutInRecovery, UserTimeoutFrom, ZeroWindowProbeFrom,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::layer;
use super::{Amount, Buffer, Duration, Fields, Size, Ssthresh, SwitchOr, Word};

layer! {
    /// Switches of a TCP endpoint.
    pub(crate) struct TcpTable {
        /// A named set of all these switches to start from; what earlier tables said is forgotten.
        profile: String,
        /// Largest payload of a segment in bytes, without headers and options.
        mss: u32,
        /// Offer selective acknowledgements (RFC 2018).
        sack: bool,
        /// Report duplicates in a first SACK block (RFC 2883).
        dsack: bool,
        /// Offer timestamps (RFC 7323); they cost 12 bytes of every segment, beside the payload.
        timestamps: bool,
        /// Refuse segments with a timestamp older than one already seen (RFC 7323 section 5).
        paws: bool,
        /// Tick of the timestamp clock.
        timestamp_granularity: Duration,
        /// What the timestamp clock shows at time zero, in ticks.
        timestamp_offset: u32,
        /// How much too fast the timestamp clock runs, in parts per million.
        timestamp_skew_ppm: f64,
        /// This host's timestamp clock is set once.
        timestamp_step: ClockStepTable,
        /// Offer window scaling (RFC 7323).
        window_scaling: bool,
        /// Receive buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        receive_buffer: Buffer,
        /// The receive buffer starts small and follows what the application reads in a round trip.
        receive_autotuning: SwitchOr<AutotuningTable>,
        /// Send buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        send_buffer: Buffer,
        /// The send buffer starts small and follows the congestion window.
        send_autotuning: SwitchOr<AutotuningTable>,
        /// Data not yet sent above which an appliance, or a script's application, writes no more (`TCP_NOTSENT_LOWAT`).
        notsent_lowat: Size,
        /// Congestion window to start with.
        initial_window: Amount,
        /// Slow-start threshold to start with.
        initial_ssthresh: Ssthresh,
        /// What windows and flights count.
        counting: Word<Counting>,
        /// How loss is repaired.
        loss_recovery: Word<LossRecovery>,
        /// How loss is found.
        loss_detection: Word<LossDetection>,
        /// Duplicate ACKs that mean a loss.
        dup_thresh: u32,
        /// How far `dup_thresh` may grow with the reordering seen.
        max_dup_thresh: u32,
        /// Once reordering has raised `dup_thresh`, SACKed data grows cwnd as acknowledged data does.
        growth_on_sack: bool,
        /// RACK takes no retransmission for delivered by a cumulative ACK that echoes an older timestamp.
        rack_timestamp_check: bool,
        /// What the timers of RACK and TLP wait beyond their time.
        rack_tlp_slack: Duration,
        /// Without SACK, the first two duplicate ACKs each let a new segment out (RFC 3042); with it, SACKed data does.
        limited_transmit: bool,
        /// Without SACK, count duplicate ACKs as segments that have left the network, and recover as with SACK.
        dup_acks_as_sacks: bool,
        /// Probe the tail of a flight before the timeout (RFC 8985 section 7).
        tlp: bool,
        /// What the probe of a single segment allows for a delayed ACK.
        tlp_max_ack_delay: Duration,
        /// Proportional Rate Reduction (RFC 9937) in SACK recovery, and in the answer to a mark where there is SACK.
        prr: bool,
        /// What a decrease, and PRR with it, starts from.
        decrease_from: Word<DecreaseFrom>,
        /// A timeout while what was outstanding at the last one, or at a fast retransmit, is not yet acknowledged.
        timeout_in_recovery: Word<TimeoutInRecovery>,
        /// The ACK that ends a fast recovery, or the answer to a mark, may grow cwnd.
        growth_at_recovery_end: bool,
        /// Undo what timestamps prove spurious (RFC 3522, RFC 4015).
        eifel: bool,
        /// Undo what reported duplicates prove spurious (RFC 3708).
        dsack_undo: bool,
        /// Undo a timeout that F-RTO proves spurious (RFC 5682).
        frto: bool,
        /// Explicit congestion notification (RFC 3168). A mark, and the CWR that answers it, is acknowledged at once.
        ecn: Word<EcnMode>,
        /// Accurate feedback of marks (RFC 9768), if both ends can.
        accurate_ecn: bool,
        /// Mark data ECT(1), the identifier of L4S (RFC 9331).
        ect1: bool,
        /// The exact echo of DCTCP (RFC 8257), at both ends.
        dctcp_feedback: bool,
        /// When in-order data is acknowledged; false acknowledges each segment.
        delayed_ack: SwitchOr<Fields<DelayedAck>>,
        /// The sender says for how many segments the receiver sends an ACK (RFC 5690); in force when both ends offer it.
        ack_congestion_control: SwitchOr<Fields<AckControlConfig>>,
        /// An ACK that is due waits so long for further segments, as behind receive offload; zero does not.
        gro: Duration,
        /// The retransmission timer.
        rto: Fields<RtoConfig>,
        /// What becomes of cwnd while the receiver or the application limits the sender.
        cwnd_validation: Word<CwndValidation>,
        /// What becomes of cwnd after an idle time; "linux" leaves three quarters of it in ssthresh, as RFC 2861 does.
        idle_restart: Word<IdleRestart>,
        /// Whether small segments wait.
        nagle: Word<Nagle>,
        /// Spread segments over the round trip.
        pacing: SwitchOr<Fields<PacingConfig>>,
        /// Wait for a burst's worth of window, as hosts with segmentation offload do.
        tso: SwitchOr<TsoTable>,
        /// First sequence number.
        initial_sequence: u32,
        /// Timeouts, or unanswered probes of a closed window, in a row after which the connection is given up.
        max_retries: u32,
        /// As `max_retries`, for the SYN.
        syn_retries: u32,
        /// So many timeouts of the SYN do not double the next.
        syn_linear_timeouts: u32,
        /// After more retransmissions of the SYN or SYN-ACK than this, the initial window is one segment.
        syn_losses_tolerated: u32,
        /// Time without progress after which the connection is given up, in place of `max_retries`; "0 s" is never.
        user_timeout: Duration,
        /// From when the user timeout counts.
        user_timeout_from: Word<UserTimeoutFrom>,
        /// From when the next probe of a closed window counts.
        zero_window_probe_from: Word<ZeroWindowProbeFrom>,
    }
}

layer! {
    /// A buffer that grows.
    pub(crate) struct AutotuningTable {
        /// What it begins with.
        initial: Size,
        /// What it ends at.
        max: Size,
    }
}

layer! {
    /// A clock is set: forward, or back.
    pub(crate) struct ClockStepTable {
        /// When.
        at: Duration,
        /// By so much forward.
        forward: Duration,
        /// Or by so much back.
        back: Duration,
    }
}

layer! {
    /// Bursts of a host with segmentation offload.
    pub(crate) struct TsoTable {
        /// Least segments that a burst aims at.
        min_segments: u32,
        /// Most data in a burst.
        max_size: Size,
    }
}
