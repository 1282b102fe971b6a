//! Every switch of a TCP endpoint. A scenario sets them per host or per flow.

use ackclock_declare::{declare, default, words};
use ackclock_units::{Bytes, SimDuration, SimTime};

words! {
    /// How a sender repairs loss.
    pub enum LossRecovery {
        /// Fast retransmit, then slow start from one segment (Jacobson 1988).
        "tahoe" = Tahoe,
        /// Fast retransmit and fast recovery, left at the first new ACK (RFC 5681, RFC 2581).
        "reno" = Reno,
        /// Stays in recovery over partial ACKs (RFC 6582).
        "newreno" = NewReno,
        /// The SACK scoreboard's conservative recovery (RFC 6675).
        "sack" = Sack,
    }
}

words! {
    /// Which formulas give the retransmission timeout.
    pub enum RtoEstimator {
        /// RFC 6298.
        "rfc6298" = Rfc6298,
        /// OPNET Modeler 17: RFC 793's bounds with Jacobson's estimator, measured in ticks.
        "opnet" = Opnet,
        /// Linux: RFC 6298 with a deviation that is kept at its maximum over a round trip, and a floor on the deviation
        /// term instead of on the sum.
        "linux" = Linux,
    }
}

words! {
    /// Which of the segments that an ACK covers gives the RTT sample.
    pub enum RttSample {
        /// The one sent last (RFC 6298 section 3 asks for one sample a round trip at least and leaves open which).
        "newest" = Newest,
        /// The one sent first, a delayed ACK included (Linux). The newest gives `min_rtt` and the controller's sample.
        "oldest" = Oldest,
    }
}

words! {
    /// From when the timeout counts where the one timer had run for a probe or for reordered segments in between (RFC 8985
    /// section 8).
    pub enum RtoResume {
        /// From the last restart of the timeout itself (RFC 6298 section 5).
        "restart" = Restart,
        /// From when the first outstanding segment was last sent (Linux).
        "head" = Head,
    }
}

words! {
    /// How a measured RTT becomes a number of ticks (`opnet`).
    pub enum TickRounding {
        /// Whole ticks that fit in the RTT.
        "floor" = Floor,
        /// The nearest number of ticks.
        "nearest" = Nearest,
        /// Ticks begun.
        "ceiling" = Ceiling,
        /// Ticks of a free-running clock passed between sending and acknowledgement: depends on where the ticks lie.
        "clock" = Clock,
    }
}

words! {
    /// What the first RTT sample R does (`opnet`).
    pub enum FirstSample {
        /// `SRTT = R`, `RTTVAR = R/2` (RFC 6298 section 2.2).
        "half" = Half,
        /// `SRTT = R`, `RTTVAR = 0`.
        "no_variance" = NoVariance,
        /// The ordinary update from `SRTT = RTTVAR = 0`.
        "from_zero" = FromZero,
    }
}

declare! {
    /// Parameters of the retransmission timer; defaults belong to the estimator.
    #[derive(Copy)]
    pub struct RtoConfig {
        /// Which formulas.
        estimator: RtoEstimator = RtoEstimator::Rfc6298,
        /// Before the first sample.
        initial: SimDuration = default(SimDuration::from_secs(1)).above(SimDuration::ZERO).source("RFC 6298 section 2.1"),
        /// Lower bound.
        min: SimDuration = default(SimDuration::from_secs(1)).source("RFC 6298 section 2.4"),
        /// Upper bound, of backed-off values too; above 60 s also of the interval between probes of a closed window.
        max: SimDuration = default(SimDuration::from_secs(60)).above(SimDuration::ZERO).source("RFC 6298 section 2.5"),
        /// Gain of SRTT (alpha, OPNET's RTT Gain).
        rtt_gain: f64 = default(0.125).above(0.0).at_most(1.0).source("RFC 6298 section 2.3"),
        /// Gain of RTTVAR (beta, OPNET's Deviation Gain).
        deviation_gain: f64 = default(0.25).above(0.0).at_most(1.0).source("RFC 6298 section 2.3"),
        /// Weight of RTTVAR (K, OPNET's RTT Deviation Coefficient).
        deviation_weight: f64 = default(4.0).at_least(0.0).at_most(1e6).source("RFC 6298 section 2.3"),
        /// Clock granularity G (OPNET's Timer Granularity).
        granularity: SimDuration = default(SimDuration::from_millis(1)).above(SimDuration::ZERO),
        /// Karn's rule: no samples from retransmitted segments, and the backed-off value stays until a valid sample.
        karn: bool = true,
        /// Which of the segments that an ACK covers gives the sample.
        sample: RttSample = RttSample::Newest,
        /// Newly SACKed segments give samples where no acknowledged one does (Linux).
        sack_samples: bool = false,
        /// A SACK of data that left before the first outstanding segment last did restarts the timer (Linux).
        restart_on_sack: bool = false,
        /// Retransmitting the first outstanding segment restarts the timer (Linux; a variant of RFC 6675 section 6).
        restart_on_retransmission: bool = false,
        /// From when the timeout counts where the timer had run for a probe or for reordered segments in between.
        resume_from: RtoResume = RtoResume::Restart,
        /// Least timeout for data after a SYN that had to be sent again, until there is a sample.
        after_lost_syn: SimDuration = default(SimDuration::from_secs(3)).source("RFC 6298 section 5.7"),
        /// `opnet`: how the RTT is measured in ticks.
        rounding: TickRounding = TickRounding::Nearest,
        /// `opnet`: what the first sample does.
        first_sample: FirstSample = FirstSample::Half,
        /// `opnet`: where the ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
    bases by estimator: RtoEstimator = RtoConfig::of;
    check |rto, review| review.at_most(("min", &rto.min), ("max", &rto.max));
}

impl RtoConfig {
    /// The defaults that belong to an estimator.
    pub fn of(estimator: RtoEstimator) -> Self {
        let ms = SimDuration::from_millis;
        let declared = Self { estimator, ..Self::as_declared() };
        let (initial, min, max, granularity) = match estimator {
            //= rfc6298-2.1-initial
            RtoEstimator::Rfc6298 => return declared,
            // OPNET Modeler 17's attribute sheet.
            RtoEstimator::Opnet => (ms(3_000), ms(1_000), ms(64_000), ms(500)),
            // TCP_TIMEOUT_INIT, TCP_RTO_MIN, TCP_RTO_MAX at HZ = 250.
            RtoEstimator::Linux => (ms(1_000), ms(200), ms(120_000), ms(4)),
        };
        Self { initial, min, max, granularity, after_lost_syn: SimDuration::ZERO, ..declared }
    }
}

words! {
    /// How a sender finds out which segments are lost.
    pub enum LossDetection {
        /// Duplicate ACKs, or segments SACKed above (RFC 5681, RFC 6675).
        "dup_acks" = DupAcks,
        /// By time: what was sent before something delivered later than a reordering window ago (RFC 8985). Needs SACK;
        /// without, duplicate ACKs are counted.
        "rack" = Rack,
    }
}

words! {
    /// What windows and flights count.
    pub enum Counting {
        /// Octets (RFC 5681).
        "octets" = Octets,
        /// Segments, each as a full one however short it is (Linux, ns-2).
        "segments" = Segments,
    }
}

words! {
    /// What a decrease starts from, and PRR with it.
    pub enum DecreaseFrom {
        /// `FlightSize` (RFC 5681 section 3.1, equation 4).
        "flight_size" = FlightSize,
        /// cwnd, whether it is in use or not (Linux).
        "cwnd" = Cwnd,
    }
}

words! {
    /// What a timeout is while what was outstanding at the last timeout or fast retransmit is not yet acknowledged.
    pub enum TimeoutInRecovery {
        /// A congestion episode of its own (RFC 5681 section 3.1: ssthresh is held only where the same segment times out
        /// again).
        "new_episode" = NewEpisode,
        /// A part of the episode under way: ssthresh stays (Linux).
        "same_episode" = SameEpisode,
    }
}

words! {
    /// From when the user timeout counts.
    pub enum UserTimeoutFrom {
        /// When the first outstanding segment left (RFC 5482, RFC 9293 section 3.9.1.1).
        "transmission" = Transmission,
        /// When something was first sent again (Linux).
        "retransmission" = Retransmission,
    }
}

words! {
    /// From when the doubled interval to the next probe of a closed window counts.
    pub enum ZeroWindowProbeFrom {
        /// From the last probe.
        "probe" = Probe,
        /// From the ACK that answers it (Linux).
        "answer" = Answer,
    }
}

words! {
    /// What becomes of cwnd while it is not what limits the sender.
    pub enum CwndValidation {
        /// It grows all the same (OPNET, ns-2).
        "none" = None,
        /// It does not grow (RFC 9293's stacks today; RFC 5681 leaves it open).
        "hold" = Hold,
        /// RFC 7661: it does not grow beyond what is validated, and a loss in the non-validated phase takes it back.
        "rfc7661" = Rfc7661,
        /// Linux: in slow start it grows while less than twice the largest flight of the last round trip; unused for an
        /// RTO, it is moved half-way back to what was used.
        "linux" = Linux,
    }
}

words! {
    /// What a sender does with cwnd after it has been idle for longer than the RTO.
    pub enum IdleRestart {
        /// Nothing.
        "off" = Off,
        /// Back to the restart window, min(IW, cwnd) (RFC 5681 section 4.1).
        "rfc5681" = Rfc5681,
        /// Halved for each RTO of idleness, down to the restart window (RFC 2861, Linux).
        "linux" = Linux,
    }
}

words! {
    /// Holding back small segments.
    pub enum Nagle {
        /// Small segments leave at once (`TCP_NODELAY`).
        "off" = Off,
        /// No small segment while anything is unacknowledged (RFC 896, RFC 9293 section 3.7.4).
        "classic" = Classic,
        /// No small segment while a small one is unacknowledged (Minshall's modification; Linux).
        "minshall" = Minshall,
    }
}

words! {
    /// Explicit congestion notification.
    pub enum EcnMode {
        /// Neither asked for nor agreed to.
        "off" = Off,
        /// Agreed to if the peer asks (Linux's `tcp_ecn = 2`).
        "accept" = Accept,
        /// Asked for and agreed to (RFC 3168).
        "request" = Request,
    }
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// Whether.
    pub mode: EcnMode,
    /// With the accurate feedback of RFC 9768, if both ends can; the echo of RFC 3168 otherwise.
    pub accurate: bool,
    /// Mark data ECT(1), the identifier of L4S (RFC 9331), in place of ECT(0).
    pub ect1: bool,
    /// With the exact echo of DCTCP (RFC 8257 section 3.2), if both ends are set so: ECE says how the latest segment
    /// arrived, and an ACK goes out whenever that changes. Not with `accurate`.
    pub dctcp_feedback: bool,
}

/// What a sender does when it finds that it has repaired what was not broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoConfig {
    /// Eifel: the ACK echoes a timestamp older than the retransmission (RFC 3522, RFC 4015).
    pub eifel: bool,
    /// Every retransmission was reported as a duplicate (RFC 2883, RFC 3708).
    pub dsack: bool,
    /// F-RTO: data never retransmitted is acknowledged after a timeout (RFC 5682).
    pub frto: bool,
}

declare! {
    /// When a receiver acknowledges in-order data (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3).
    #[derive(Copy, Eq)]
    pub struct DelayedAck {
        /// Acknowledge every n-th full-sized segment at once; 1 acknowledges each.
        segments: u32 = default(2).at_least(1).source("RFC 5681 section 4.2"),
        /// Acknowledge after this time at the latest.
        timeout: SimDuration = SimDuration::from_millis(40),
        /// So many ACKs at the start, and after an idle time, are not delayed (Linux's quickack mode).
        quickacks: u32 = 0,
        /// The delay follows the spacing of arriving segments, between `timeout` and 200 ms (Linux's ato), and `quickacks`
        /// are given anew after a gap of an RTO.
        adaptive: bool = false,
        /// More than one full segment's octets are acknowledged at once, whatever `segments` says (Linux).
        count_octets: bool = false,
        /// Data that leaves within the delay ends the quick ACKs: they are to ride on data (Linux's pingpong).
        interactive: bool = false,
        /// The ACK of a FIN is delayed as that of data is; otherwise it leaves at once.
        delay_fin: bool = false,
    }
    apart {
        /// An ACK that is due waits so long for further segments, as behind receive offload: stretch ACKs. Zero: it does not.
        gro: SimDuration = SimDuration::ZERO,
    }
}

declare! {
    /// ACK congestion control (RFC 5690).
    #[derive(Copy, Eq)]
    pub struct AckControlConfig {
        /// The sender asks for no fewer ACKs than one for so many segments (J); 255 is what the option can say.
        max_ratio: u8 = default(u8::MAX).at_least(2).unit("segments").source("RFC 5690 section 4.5"),
    }
}

/// The clock behind the timestamps option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockConfig {
    /// Its tick.
    pub granularity: SimDuration,
    /// What it shows at time zero, in ticks.
    //= rfc7323-7.1-offset
    pub offset: u32,
    /// How much too fast it runs, in parts per million; negative if too slow.
    pub skew_ppm: f64,
    /// Once it is set to another time.
    pub step: Option<ClockStep>,
}

/// A clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// When.
    pub at: SimTime,
    /// Forward, or back.
    pub forward: bool,
    /// By how much.
    pub by: SimDuration,
}

declare! {
    /// Spreading a window over its round trip.
    #[derive(Copy)]
    pub struct PacingConfig {
        /// Rate in slow start, as a multiple of cwnd / SRTT (Linux's `tcp_pacing_ss_ratio`).
        slow_start_ratio: f64 = default(2.0).at_least(0.01).at_most(1e3),
        /// Rate in congestion avoidance (Linux's `tcp_pacing_ca_ratio`).
        avoidance_ratio: f64 = default(1.2).at_least(0.01).at_most(1e3),
    }
    apart {
        /// Pace every flow; a controller that sets a rate is paced in any case.
        enabled: bool = false,
    }
}

/// Sending several segments as one burst, as hosts with segmentation offload do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstConfig {
    /// Wait for a burst's worth of window to open before sending, as Linux's TSO does.
    pub enabled: bool,
    /// Least segments that a burst aims at (Linux's `tcp_min_tso_segs`).
    pub min_segments: u32,
    /// Most octets of a burst (Linux's `gso_max_size`).
    pub max_octets: u32,
}

/// A buffer that grows with what a connection needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autotuning {
    /// What the buffer begins with.
    pub initial: Bytes,
    /// What it ends at.
    pub max: Bytes,
}

/// Every switch of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest payload of a segment that this end sends and asks for, without any header or option.
    pub mss: u32,
    /// Offer selective acknowledgements (RFC 2018). Used when both ends offer them.
    pub sack: bool,
    /// Report duplicates that arrive in a first SACK block (RFC 2883).
    pub dsack: bool,
    /// Offer timestamps (RFC 7323). Used when both ends offer them.
    pub timestamps: bool,
    /// Refuse segments whose timestamp lies before one already seen (PAWS, RFC 7323 section 5).
    pub paws: bool,
    /// The clock of the timestamps.
    pub clock: ClockConfig,
    /// Offer window scaling (RFC 7323). Used when both ends offer it.
    pub window_scaling: bool,
    /// Receive buffer; bounds the advertised window, as the window field and its scale do.
    pub receive_buffer: Bytes,
    /// The receive buffer starts small and follows twice what arrives in a round trip (dynamic right-sizing).
    pub receive_autotuning: Option<Autotuning>,
    /// Send buffer: bounds what is sent and not acknowledged.
    pub send_buffer: Bytes,
    /// The send buffer starts small and follows twice the congestion window.
    pub send_autotuning: Option<Autotuning>,
    /// Octets not yet sent above which the application is not asked for more (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<Bytes>,
    /// cwnd to start with.
    pub initial_window: Bytes,
    /// ssthresh to start with; `None` is arbitrarily high (RFC 5681 section 3.1).
    pub initial_ssthresh: Option<Bytes>,
    /// What windows count.
    pub counting: Counting,
    /// How loss is repaired. `Sack` needs SACK on both ends and falls back to `NewReno` without.
    pub loss_recovery: LossRecovery,
    /// How loss is found.
    pub loss_detection: LossDetection,
    /// Duplicate ACKs, or segments SACKed above, that mean a loss.
    pub dup_thresh: u32,
    /// Raise `dup_thresh`, up to this, when reordering is seen to go further (Linux's `tcp_max_reordering`).
    pub max_dup_thresh: u32,
    /// Once reordering has raised `dup_thresh`, SACKed data grows cwnd as acknowledged data does (Linux).
    pub growth_on_sack: bool,
    /// RACK takes no retransmission for delivered by a cumulative ACK that echoes an older timestamp (RFC 8985 section 6.2
    /// step 2).
    pub rack_timestamp_check: bool,
    /// What the timers of RACK and TLP wait beyond their time (Linux's `TCP_TIMEOUT_MIN`).
    pub rack_tlp_slack: SimDuration,
    /// The first two duplicate ACKs each let a new segment out (RFC 3042).
    pub limited_transmit: bool,
    /// Without SACK, count each duplicate ACK as a segment that has left the network, and recover as with SACK (Linux).
    pub dup_acks_as_sacks: bool,
    /// Probe the tail of a flight before the timeout (TLP, RFC 8985 section 7).
    pub tlp: bool,
    /// What a probe of a single segment allows for a delayed ACK (`TLP.max_ack_delay`).
    pub tlp_max_ack_delay: SimDuration,
    /// Proportional Rate Reduction (RFC 9937) in SACK recovery; without it cwnd drops at once (RFC 6675).
    pub prr: bool,
    /// What a decrease starts from.
    pub decrease_from: DecreaseFrom,
    /// What a timeout in a recovery is.
    pub timeout_in_recovery: TimeoutInRecovery,
    /// The ACK that ends a fast recovery, or the answer to a mark, may grow cwnd (Linux).
    pub growth_at_recovery_end: bool,
    /// Undoing what proves spurious.
    pub undo: UndoConfig,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// When in-order data is acknowledged.
    pub delayed_ack: DelayedAck,
    /// Offer ACK congestion control: the sender says for how many segments the receiver sends an ACK, from 2 on, whatever
    /// `delayed_ack` says. Used when both ends offer it.
    pub ack_control: Option<AckControlConfig>,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// cwnd while something else limits the sender.
    pub cwnd_validation: CwndValidation,
    /// cwnd after idle time.
    pub idle_restart: IdleRestart,
    /// Small segments.
    pub nagle: Nagle,
    /// Pacing.
    pub pacing: PacingConfig,
    /// Bursts.
    pub bursts: BurstConfig,
    /// First sequence number of this end; the wire's numbers wrap at 2^32.
    //= rfc9293-3.4.1-initial-sequence
    pub initial_sequence: u32,
    /// Give the connection up after this many timeouts in a row (RFC 9293 section 3.8.3, R2).
    pub max_retries: u32,
    /// As `max_retries`, for a SYN (R1's place is taken by R2, RFC 9293 section 3.8.3).
    pub syn_retries: u32,
    /// So many timeouts of a SYN do not double the next (Linux's `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u32,
    /// So many retransmissions of the SYN or SYN-ACK leave the initial window as it is; after more it is one segment (RFC
    /// 5681 section 3.1: none; Linux: one).
    pub syn_losses_tolerated: u32,
    /// Give the connection up when data has been unacknowledged for so long (RFC 5482, RFC 9293 section 3.9.1.1).
    pub user_timeout: Option<SimDuration>,
    /// From when it counts.
    pub user_timeout_from: UserTimeoutFrom,
    /// From when the next probe of a closed window counts.
    pub zero_window_probe_from: ZeroWindowProbeFrom,
}

/// Largest window that the 16-bit field carries without scaling.
pub const MAX_UNSCALED_WINDOW: Bytes = Bytes(65_535);

/// Largest window with the largest scale factor, 14 (RFC 7323 section 2.3).
pub const MAX_SCALED_WINDOW: Bytes = Bytes(65_535 << 14);

impl Default for TcpConfig {
    /// Today's standards: SACK, timestamps, scaling, an initial window of ten segments, PRR.
    fn default() -> Self {
        let mss = 1448;
        Self {
            mss,
            sack: true,
            dsack: true,
            timestamps: true,
            paws: true,
            clock: ClockConfig { granularity: SimDuration::from_millis(1), offset: 1, skew_ppm: 0.0, step: None },
            window_scaling: true,
            receive_buffer: MAX_SCALED_WINDOW,
            receive_autotuning: None,
            send_buffer: MAX_SCALED_WINDOW,
            send_autotuning: None,
            notsent_lowat: None,
            //= rfc6928-2-ten-segments
            initial_window: Bytes(10 * u64::from(mss)),
            //= rfc5681-3.1-initial-ssthresh
            initial_ssthresh: None,
            counting: Counting::Octets,
            loss_recovery: LossRecovery::Sack,
            loss_detection: LossDetection::DupAcks,
            dup_thresh: 3,
            max_dup_thresh: 3,
            growth_on_sack: false,
            rack_timestamp_check: true,
            rack_tlp_slack: SimDuration::ZERO,
            limited_transmit: true,
            dup_acks_as_sacks: false,
            tlp: false,
            tlp_max_ack_delay: SimDuration::from_millis(200),
            prr: true,
            decrease_from: DecreaseFrom::FlightSize,
            timeout_in_recovery: TimeoutInRecovery::NewEpisode,
            growth_at_recovery_end: false,
            undo: UndoConfig { eifel: false, dsack: false, frto: false },
            ecn: EcnConfig { mode: EcnMode::Off, accurate: false, ect1: false, dctcp_feedback: false },
            delayed_ack: DelayedAck::default(),
            ack_control: None,
            rto: RtoConfig::default(),
            cwnd_validation: CwndValidation::Hold,
            idle_restart: IdleRestart::Off,
            nagle: Nagle::Off,
            pacing: PacingConfig::default(),
            bursts: BurstConfig { enabled: false, min_segments: 2, max_octets: 65_536 },
            initial_sequence: 0,
            max_retries: 15,
            //= rfc9293-3.8.3-syn-r2
            syn_retries: 6,
            syn_linear_timeouts: 0,
            syn_losses_tolerated: 0,
            user_timeout: None,
            user_timeout_from: UserTimeoutFrom::Transmission,
            zero_window_probe_from: ZeroWindowProbeFrom::Probe,
        }
    }
}
