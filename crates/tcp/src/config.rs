//! Every switch of a TCP endpoint. A scenario sets them per host or per flow.
//!
//! A switch is declared here and nowhere else: its comment is the sentence of the schema and of the reference, and reading,
//! ranges, the catalogue of profiles and the defaults come from the declaration.

mod parts;
mod rto;
mod words;
mod written;

use ackclock_declare::{Review, Table, declare, default, unset};
use ackclock_units::{Amount, Bytes, SimDuration};

pub use parts::{
    AckControlConfig, Autotuning, BeyondHorizon, BurstConfig, ClockConfig, ClockStep, DelayedAck, DeviceQueueConfig,
    EcnConfig, EcnMode, PacedBy, PacingConfig, SackCompressionConfig, SmallQueues, UndoConfig, WindowTuning,
};
pub use rto::{FirstSample, RtoConfig, RtoEstimator, RtoResume, RttSample, TickRounding};
pub use words::{
    AppLimitedFrom, BufferGrowth, Counting, CwndValidation, DecreaseFrom, IdleRestart, LossDetection, LossRecovery,
    Nagle, TimeoutInRecovery, UserTimeoutFrom, ZeroWindowProbeFrom,
};
use written::{Buffer, Ssthresh};

/// Largest window that the 16-bit field carries without scaling.
pub const MAX_UNSCALED_WINDOW: Bytes = Bytes(65_535);

/// Largest window with the largest scale factor, 14 (RFC 7323 section 2.3).
pub const MAX_SCALED_WINDOW: Bytes = Bytes(65_535 << 14);

/// A thousand times what TCP's window field can say: no limit to a study, and far from the end of 64 bits.
pub const MAX_WINDOW: Bytes = Bytes(1 << 40);

/// Payload that an IPv4 packet can carry beside 40 octets of headers.
const MAX_MSS: u32 = 65_495;

declare! {
    /// Every switch of one endpoint. By default today's standards: SACK, timestamps, scaling, an initial window of ten segments,
    /// PRR.
    #[derive(Copy)]
    pub struct TcpConfig {
        /// Largest payload of a segment in bytes, without headers and options (OPNET's Maximum Segment Size).
        mss: u32 = default(1448).at_least(1).at_most(MAX_MSS).unit("bytes"),
        /// Offer selective acknowledgements (RFC 2018; OPNET's Selective ACK), unless `loss_recovery` has no use for them; used when both ends offer them.
        sack: bool = true,
        /// Report duplicates in a first SACK block (RFC 2883).
        dsack: bool = true,
        /// Offer timestamps (RFC 7323); they cost 12 bytes of every segment, beside the payload.
        timestamps: bool = true,
        /// Refuse segments with a timestamp older than one already seen (RFC 7323 section 5).
        paws: bool = true,
        /// Offer window scaling (RFC 7323, OPNET's Window Scaling); used when both ends offer it.
        window_scaling: bool = true,
        /// Data not yet sent above which an appliance, or a script's application, writes no more (`TCP_NOTSENT_LOWAT`).
        notsent_lowat: Option<Bytes> = unset("none"),
        /// Unit in which windows and flights are counted.
        counting: Counting = Counting::Octets,
        /// Method of loss recovery (OPNET's Fast Recovery). "sack" is "newreno" where an end offers no SACK.
        loss_recovery: LossRecovery = LossRecovery::Sack,
        /// Method of loss detection.
        loss_detection: LossDetection = LossDetection::DupAcks,
        /// Duplicate ACKs that mean a loss (fast retransmit; OPNET's Duplicate ACK Threshold).
        dup_thresh: u32 = default(3).at_least(1).source("RFC 5681 section 3.2"),
        /// Largest value to which `dup_thresh` may grow with observed reordering (Linux's `tcp_max_reordering`).
        max_dup_thresh: u32 = 3,
        /// Once reordering has raised `dup_thresh`, SACKed data grows cwnd as acknowledged data does (Linux).
        growth_on_sack: bool = false,
        /// Duplicates that the receiver reports count as delivered: they let cwnd grow, and PRR send (Linux).
        dsack_delivers: bool = false,
        /// RACK takes no retransmission for delivered by a cumulative ACK that echoes an older timestamp.
        rack_timestamp_check: bool = default(true).source("RFC 8985 section 6.2 step 2"),
        /// At a timeout, segments within RACK's reordering window are not yet lost; false: all that left a round trip ago is (Linux).
        rack_window_at_timeout: bool = default(true).source("RFC 8985 section 6.3"),
        /// Slack added to the timers of RACK and TLP (Linux's `TCP_TIMEOUT_MIN`).
        rack_tlp_slack: SimDuration = SimDuration::ZERO,
        /// Without SACK, the first two duplicate ACKs each let a new segment out (RFC 3042); with it, SACKed data does.
        limited_transmit: bool = true,
        /// Without SACK, count duplicate ACKs as segments that have left the network, and recover as with SACK (Linux).
        dup_acks_as_sacks: bool = false,
        /// Probe the tail of a flight before the timeout (RFC 8985 section 7).
        tlp: bool = false,
        /// Time that the probe of a single segment allows for a delayed ACK.
        tlp_max_ack_delay: SimDuration = SimDuration::from_millis(200),
        /// While a mark is answered, new data puts the probe in the place of RACK's reordering timer (Linux); false: not amid SACKs.
        tlp_amid_sacks: bool = default(false).source("RFC 8985 section 7.2"),
        /// Proportional Rate Reduction (RFC 9937) in SACK recovery, and in the answer to a mark where there is SACK.
        prr: bool = true,
        /// In place of PRR: the window goes down by a segment with every second ACK of a recovery (Linux up to 3.1).
        rate_halving: bool = false,
        /// Value that a decrease, and PRR with it, starts from.
        decrease_from: DecreaseFrom = DecreaseFrom::FlightSize,
        /// A timeout, or a retransmission that is found lost, while what was outstanding at the last timeout or fast
        /// retransmit is not yet acknowledged.
        timeout_in_recovery: TimeoutInRecovery = TimeoutInRecovery::NewEpisode,
        /// The ACK that ends a fast recovery, or the answer to a mark, may grow cwnd (Linux).
        growth_at_recovery_end: bool = false,
        /// Delay of an ACK that is due, to cover further segments, as behind receive offload; zero disables it.
        gro: SimDuration = SimDuration::ZERO,
        /// No segment is longer than half of the largest window that the peer has advertised, unless that is 536 bytes at most (Linux).
        segments_of_half_window: bool = default(false).source("RFC 9293 section 3.8.6.2.1"),
        /// An ACK that acknowledges nothing new may make the peer's window smaller; false: it may only close it (Linux).
        window_shrinks_on_repeat: bool = default(true).source("RFC 9293 section 3.10.7.4"),
        /// Treatment of cwnd while the receiver or the application limits the sender.
        cwnd_validation: CwndValidation = CwndValidation::Hold,
        /// Condition under which samples of the delivery rate count as limited by the application.
        app_limited_from: AppLimitedFrom = AppLimitedFrom::Idle,
        /// Treatment of cwnd after an idle time; "linux" leaves three quarters of it in ssthresh, as RFC 2861 does.
        idle_restart: IdleRestart = IdleRestart::Off,
        /// Whether small segments wait.
        nagle: Nagle = Nagle::Off,
        /// First sequence number; the wire's numbers wrap at 2^32.
        //= rfc9293-3.4.1-initial-sequence
        initial_sequence: u32 = 0,
        /// Timeouts, or unanswered probes of a closed window, in a row after which the connection is given up.
        max_retries: u32 = default(15).source("RFC 9293 section 3.8.3"),
        /// Same as `max_retries`, for the SYN.
        //= rfc9293-3.8.3-syn-r2
        syn_retries: u32 = default(6).source("RFC 9293 section 3.8.3"),
        /// Number of SYN timeouts before exponential backoff starts (Linux's `tcp_syn_linear_timeouts`).
        syn_linear_timeouts: u32 = 0,
        /// Time from the reset of a SYN-ACK that acknowledges unsent data until the first SYN is sent again, as the old
        /// connection that answered is gone then (Linux); zero leaves it to its timer.
        syn_again_after_reset: SimDuration = SimDuration::ZERO,
        /// After more retransmissions of the SYN or SYN-ACK than this, the initial window is one segment (Linux: 1).
        syn_losses_tolerated: u32 = default(0).source("RFC 5681 section 3.1"),
        /// Start of the user timeout.
        user_timeout_from: UserTimeoutFrom = UserTimeoutFrom::Transmission,
        /// Interrupt jitter: the host processes arriving and departing packets at a random moment within each interval
        /// of this length; zero disables it.
        host_noise: SimDuration = SimDuration::ZERO,
        /// Start of the interval to the next probe of a closed window.
        zero_window_probe_from: ZeroWindowProbeFrom = ZeroWindowProbeFrom::Probe,
    }
    settled {
        /// Receive buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        receive_buffer: Bytes as Buffer = default(Buffer::None).at_least(Bytes(1)).at_most(MAX_WINDOW),
        /// Send buffer; "unlimited" is the largest window that can be advertised with or without scaling.
        send_buffer: Bytes as Buffer = default(Buffer::None).at_least(Bytes(1)).at_most(MAX_WINDOW),
        /// Congestion window to start with (OPNET's Slow-Start Initial Count).
        //= rfc6928-2-ten-segments
        initial_window: Bytes as Amount = default(Amount::Segments(10)).at_least(1).unit("segments").source("RFC 6928 section 2"),
        /// Slow-start threshold to start with.
        //= rfc5681-3.1-initial-ssthresh
        initial_ssthresh: Option<Bytes> as Ssthresh = default(Ssthresh::None).source("RFC 5681 section 3.1"),
        /// Time without progress after which the connection is given up, in place of `max_retries`; "0 s" is never.
        user_timeout: Option<SimDuration> as SimDuration = default(SimDuration::ZERO).source("RFC 9293 section 3.9.1.1"),
    }
    within {
        /// The clock of the timestamps.
        clock: ClockConfig = ClockConfig::default(),
        /// Undoing what proves spurious.
        undo: UndoConfig = UndoConfig::default(),
        /// Explicit congestion notification.
        ecn: EcnConfig = EcnConfig::default(),
    }
    tables {
        /// The retransmission timer.
        rto: RtoConfig = RtoConfig::default(),
    }
    switched {
        /// The receive buffer starts small and follows what the application reads in a round trip, unless `receive_buffer` is given.
        receive_autotuning: Option<WindowTuning> = None,
        /// The send buffer starts small and follows the congestion window, unless `send_buffer` is given.
        send_autotuning: Option<Autotuning> = None,
        /// Delay in-order ACKs; false acknowledges each segment.
        delayed_ack: DelayedAck = DelayedAck::default(),
        /// Above a hole, ACKs after the first three are gathered into one; without SACK none are.
        sack_compression: Option<SackCompressionConfig> = None,
        /// The sender says for how many segments the receiver sends an ACK (RFC 5690); in force when both ends offer it.
        ack_control as "ack_congestion_control": Option<AckControlConfig> = None,
        /// Spread segments over the round trip; a controller that sets a rate is paced in any case. "fq" paces every flow.
        pacing: PacingConfig = PacingConfig::default(),
        /// Two bursts, or a millisecond of the rate, may wait at the host's own link, and what is more waits in the send buffer
        /// (Linux's TCP Small Queues).
        small_queues: Option<SmallQueues> = None,
        /// The host's own device refuses what would wait behind more packets; cwnd is reduced as by a mark, and the segment is
        /// tried again with the next ACK (Linux's txqueuelen before TCP Small Queues). Its link has to hold as many.
        device_queue: Option<DeviceQueueConfig> = None,
        /// Wait for a burst's worth of window, as hosts with segmentation offload do.
        bursts as "tso": BurstConfig = BurstConfig::default(),
    }
    settle TcpConfig::settle;
    check TcpConfig::review;
}

impl TcpConfig {
    /// The largest window that this end can advertise.
    pub(crate) fn largest_window(&self) -> Bytes {
        if self.window_scaling { MAX_SCALED_WINDOW } else { MAX_UNSCALED_WINDOW }
    }

    /// The tuning of the buffers that a host fills with what is written, one after another: bursts are taken from them.
    pub(crate) fn fills_buffers(&self) -> Option<Autotuning> {
        self.send_autotuning.filter(|_| self.bursts.enabled)
    }

    /// Only a sender that repairs with SACK offers it.
    pub(crate) fn offers_sack(&self) -> bool {
        self.sack && self.loss_recovery == LossRecovery::Sack
    }

    /// A buffer of a given size does not grow.
    fn settle(&mut self, given: &Table) {
        self.max_dup_thresh = self.max_dup_thresh.max(self.dup_thresh);
        let largest = self.largest_window();
        let receive = self.receive_autotuning.filter(|_| !given.contains_key("receive_buffer"));
        self.receive_autotuning = receive.map(|tuning| tuning.within(largest));
        let send = self.send_autotuning.filter(|_| !given.contains_key("send_buffer"));
        self.send_autotuning = send.map(|tuning| tuning.within(MAX_SCALED_WINDOW));
    }

    fn review(&self, review: &mut Review<'_>) {
        let mss = self.mss;
        if self.initial_window.0 < u64::from(mss) {
            let message = "must be at least one segment, or nothing could ever be sent";
            review.report("initial_window", message, format!("use at least {mss} bytes"));
        } else if self.initial_window > MAX_WINDOW {
            review.report("initial_window", format!("must be at most {MAX_WINDOW}"), "no path holds more");
        }
        if self.pacing.is_by_fq() && self.small_queues.is_none() {
            let message = "by fq needs small_queues, or a whole window would wait at the host";
            review.report("pacing", message, "add small_queues = true, or take a profile that has it: linux-6.x");
        } else if self.pacing.is_by_fq() && self.device_queue.is_some() {
            review.report(
                "pacing",
                "by fq must not be combined with device_queue: fq replaces it",
                "leave one of the two out",
            );
        }
    }
}
