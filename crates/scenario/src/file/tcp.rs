//! TCP options as a file says them; each table is laid over a more general one.

use ackclock_tcp::{
    Counting, CwndValidation, DecreaseFrom, EcnMode, FirstSample, IdleRestart, LossDetection, LossRecovery, Nagle,
    RtoEstimator, RtoResume, RttSample, TickRounding, TimeoutInRecovery, UserTimeoutFrom, ZeroWindowProbeFrom,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{layer, words};
use super::{Amount, Buffer, Duration, Size, Ssthresh, SwitchOr};

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
        /// Data not yet sent above which the application writes no more (`TCP_NOTSENT_LOWAT`).
        notsent_lowat: Size,
        /// Congestion window to start with.
        initial_window: Amount,
        /// Slow-start threshold to start with.
        initial_ssthresh: Ssthresh,
        /// What windows and flights count.
        counting: CountingWord,
        /// How loss is repaired.
        loss_recovery: LossRecoveryWord,
        /// How loss is found.
        loss_detection: LossDetectionWord,
        /// Duplicate ACKs that mean a loss.
        dup_thresh: u32,
        /// How far `dup_thresh` may grow with the reordering seen.
        max_dup_thresh: u32,
        /// Once reordering has raised `dup_thresh`, SACKed data grows cwnd as acknowledged data does.
        growth_on_sack: bool,
        /// RACK takes no retransmission for delivered by an ACK that echoes an older timestamp (RFC 8985 section 6.2).
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
        /// Proportional Rate Reduction (RFC 9937) in SACK recovery.
        prr: bool,
        /// What a decrease, and PRR with it, starts from.
        decrease_from: DecreaseFromWord,
        /// A timeout while what was outstanding at the last one, or at a fast retransmit, is not yet acknowledged.
        timeout_in_recovery: TimeoutInRecoveryWord,
        /// The ACK that ends a fast recovery, or the answer to a mark, may grow cwnd.
        growth_at_recovery_end: bool,
        /// Undo what timestamps prove spurious (RFC 3522, RFC 4015).
        eifel: bool,
        /// Undo what reported duplicates prove spurious (RFC 3708).
        dsack_undo: bool,
        /// Undo a timeout that F-RTO proves spurious (RFC 5682).
        frto: bool,
        /// Explicit congestion notification (RFC 3168).
        ecn: EcnWord,
        /// Accurate feedback of marks (RFC 9768), if both ends can.
        accurate_ecn: bool,
        /// Mark data ECT(1), the identifier of L4S (RFC 9331).
        ect1: bool,
        /// The exact echo of DCTCP (RFC 8257), at both ends.
        dctcp_feedback: bool,
        /// When in-order data is acknowledged; false acknowledges each segment.
        delayed_ack: SwitchOr<DelayedAckTable>,
        /// The sender says for how many segments the receiver sends an ACK (RFC 5690); in force when both ends offer it.
        ack_congestion_control: SwitchOr<AckControlTable>,
        /// An ACK that is due waits so long for further segments, as behind receive offload; zero does not.
        gro: Duration,
        /// The retransmission timer.
        rto: RtoTable,
        /// What becomes of cwnd while the receiver or the application limits the sender.
        cwnd_validation: CwndValidationWord,
        /// What becomes of cwnd after an idle time.
        idle_restart: IdleRestartWord,
        /// Whether small segments wait.
        nagle: NagleWord,
        /// Spread segments over the round trip.
        pacing: SwitchOr<PacingTable>,
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
        user_timeout_from: UserTimeoutFromWord,
        /// From when the next probe of a closed window counts.
        zero_window_probe_from: ZeroWindowProbeFromWord,
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
    /// Pacing as a multiple of cwnd / SRTT.
    pub(crate) struct PacingTable {
        /// In slow start.
        slow_start_ratio: f64,
        /// In congestion avoidance.
        avoidance_ratio: f64,
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

layer! {
    /// Delayed acknowledgements.
    pub(crate) struct DelayedAckTable {
        /// Acknowledge every n-th full-sized segment at once.
        segments: u32,
        /// Acknowledge after this time at the latest.
        timeout: Duration,
        /// So many ACKs at the start are not delayed.
        quickacks: u32,
        /// The delay follows the spacing of arriving segments, and `quickacks` are given anew after a gap of an RTO.
        adaptive: bool,
        /// More than one full segment's octets are acknowledged at once, whatever `segments` says.
        count_octets: bool,
        /// Data that leaves within the delay ends the quick ACKs: they are to ride on data.
        interactive: bool,
        /// The ACK of a FIN is delayed as that of data is.
        delay_fin: bool,
    }
}

layer! {
    /// ACK congestion control.
    pub(crate) struct AckControlTable {
        /// No fewer ACKs than one for so many segments.
        max_ratio: u32,
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
        /// Upper bound, above 60 s also of the interval between probes of a closed window.
        max: Duration,
        /// Gain of the smoothed RTT.
        rtt_gain: f64,
        /// Gain of the RTT deviation.
        deviation_gain: f64,
        /// Weight of the RTT deviation.
        deviation_weight: f64,
        /// Clock granularity.
        granularity: Duration,
        /// No samples from retransmitted segments; the back-off stays until there is a sample.
        karn: bool,
        /// Which of the segments that an ACK covers gives the RTT sample.
        sample: RttSampleWord,
        /// Newly SACKed segments give samples where no acknowledged one does.
        sack_samples: bool,
        /// A SACK of data that left before the first outstanding segment last did restarts the timer.
        restart_on_sack: bool,
        /// Retransmitting the first outstanding segment restarts the timer.
        restart_on_retransmission: bool,
        /// From when the timeout counts where the timer had run for a probe or for reordered segments in between.
        resume_from: RtoResumeWord,
        /// Least timeout for data after a SYN that had to be sent again, until there is a sample.
        after_lost_syn: Duration,
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
    /// How a sender finds out what is lost.
    pub(crate) enum LossDetectionWord for LossDetection {
        "dup_acks" = DupAcks,
        "rack" = Rack,
    }
}

words! {
    /// What windows count.
    pub(crate) enum CountingWord for Counting {
        "octets" = Octets,
        "segments" = Segments,
    }
}

words! {
    /// What a decrease starts from.
    pub(crate) enum DecreaseFromWord for DecreaseFrom {
        "flight_size" = FlightSize,
        "cwnd" = Cwnd,
    }
}

words! {
    /// What a timeout in a recovery is.
    pub(crate) enum TimeoutInRecoveryWord for TimeoutInRecovery {
        "new_episode" = NewEpisode,
        "same_episode" = SameEpisode,
    }
}

words! {
    /// From when the user timeout counts.
    pub(crate) enum UserTimeoutFromWord for UserTimeoutFrom {
        "transmission" = Transmission,
        "retransmission" = Retransmission,
    }
}

words! {
    /// From when the next probe of a closed window counts.
    pub(crate) enum ZeroWindowProbeFromWord for ZeroWindowProbeFrom {
        "probe" = Probe,
        "answer" = Answer,
    }
}

words! {
    /// Which of the segments that an ACK covers gives the RTT sample.
    pub(crate) enum RttSampleWord for RttSample {
        "newest" = Newest,
        "oldest" = Oldest,
    }
}

words! {
    /// From when the timeout counts after the timer has run for something else.
    pub(crate) enum RtoResumeWord for RtoResume {
        "restart" = Restart,
        "head" = Head,
    }
}

words! {
    /// Explicit congestion notification.
    pub(crate) enum EcnWord for EcnMode {
        "off" = Off,
        "accept" = Accept,
        "request" = Request,
    }
}

words! {
    /// cwnd while it does not limit the sender.
    pub(crate) enum CwndValidationWord for CwndValidation {
        "none" = None,
        "hold" = Hold,
        "rfc7661" = Rfc7661,
        "linux" = Linux,
    }
}

words! {
    /// cwnd after an idle time.
    pub(crate) enum IdleRestartWord for IdleRestart {
        "off" = Off,
        "rfc5681" = Rfc5681,
        "linux" = Linux,
    }
}

words! {
    /// Small segments.
    pub(crate) enum NagleWord for Nagle {
        "off" = Off,
        "classic" = Classic,
        "minshall" = Minshall,
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
