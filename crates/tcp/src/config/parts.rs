//! Switches that belong together: ECN, undo, the timestamp clock, and the tables within `tcp`.

use ackclock_declare::{Review, Switched, declare, default, required, unset, words};
use ackclock_units::{Bytes, SimDuration};

use super::{BufferGrowth, MAX_SCALED_WINDOW, MAX_WINDOW};

words! {
    /// Explicit congestion notification.
    pub enum EcnMode {
        /// ECN is neither requested nor accepted.
        "off" = Off,
        /// Agreed to if the peer asks (Linux's `tcp_ecn = 2`).
        "accept" = Accept,
        /// Requested and accepted (RFC 3168).
        "request" = Request,
    }
}

declare! {
    /// Explicit congestion notification.
    #[derive(Copy, Eq)]
    pub struct EcnConfig {
        /// Explicit congestion notification (RFC 3168). A mark, and the CWR that answers it, is acknowledged at once.
        mode as "ecn": EcnMode = EcnMode::Off,
        /// Accurate feedback of marks (RFC 9768), if both ends can.
        accurate as "accurate_ecn": bool = false,
        /// Count octets by their mark in an option, too, with accurate feedback (RFC 9768 section 3.2.3).
        accurate_option as "accurate_ecn_option": bool = false,
        /// A SYN that is sent again asks no more (RFC 3168 section 6.1.1.1); one that asks for accurate feedback does once more (RFC 9768).
        fallback as "ecn_fallback": bool = false,
        /// Mark data ECT(1), the identifier of L4S (RFC 9331).
        ect1: bool = false,
        /// The exact echo of DCTCP (RFC 8257), at both ends: ECE says how the latest segment arrived. Not with `accurate_ecn`.
        dctcp_feedback: bool = false,
    }
}

declare! {
    /// Detection of needless repairs, which are then undone.
    #[derive(Copy, Eq)]
    pub struct UndoConfig {
        /// Undo what timestamps prove spurious (RFC 3522, RFC 4015).
        eifel: bool = false,
        /// Undo what reported duplicates prove spurious (RFC 3708).
        dsack as "dsack_undo": bool = false,
        /// Undo a timeout that F-RTO proves spurious (RFC 5682).
        frto: bool = false,
    }
}

declare! {
    /// Rules by which a receiver acknowledges in-order data (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3).
    #[derive(Copy, Eq)]
    pub struct DelayedAck {
        /// Acknowledge every n-th full-sized segment at once; 1 acknowledges each.
        segments: u32 = default(2).at_least(1).source("RFC 5681 section 4.2"),
        /// Acknowledge after this time at the latest.
        timeout: SimDuration = SimDuration::from_millis(40),
        /// Number of ACKs at the start, and after an idle time, that are not delayed (Linux's quickack mode).
        quickacks: u32 = 0,
        /// The delay follows the spacing of arriving segments, from `timeout` to 200 ms or to a round trip, if that is less and not
        /// below `timeout` (Linux's ato), and `quickacks` are given anew after a gap of an RTO.
        adaptive: bool = false,
        /// More than one full segment's octets are acknowledged at once, whatever `segments` says (Linux).
        count_octets: bool = false,
        /// Data that leaves within the delay ends the quick ACKs: they are to ride on data (Linux's pingpong).
        interactive: bool = false,
        /// The ACK of a FIN is delayed as that of data is; otherwise it leaves at once.
        delay_fin: bool = false,
        /// A pushed segment, or one that is not full, is acknowledged once all is read (Linux 6.18), unless data is to
        /// carry the ACK.
        once_read: bool = false,
    }
}

impl Switched for DelayedAck {
    type Fields = Self;

    /// Switched off, each segment is acknowledged.
    fn switched(on: bool) -> Self {
        let declared = Self::default();
        if on { declared } else { Self { segments: 1, ..declared } }
    }
    fn of(fields: Self) -> Self {
        fields
    }
    fn fields(&self) -> Option<Self> {
        Some(*self)
    }
}

declare! {
    /// ACK congestion control (RFC 5690).
    #[derive(Copy, Eq)]
    pub struct AckControlConfig {
        /// Most segments for which the sender asks for one ACK (J); the option can express 255.
        max_ratio: u8 = default(u8::MAX).at_least(2).unit("segments").source("RFC 5690 section 4.5"),
    }
}

declare! {
    /// TCP Small Queues.
    #[derive(Copy, Eq)]
    pub struct SmallQueues {
        /// No more waits at the host's own link, however fast it is.
        limit: Bytes = default(Bytes(4 << 20)).at_least(Bytes(1)).source("Linux's tcp_limit_output_bytes"),
    }
}

declare! {
    /// One ACK with SACK blocks for many segments above a hole.
    #[derive(Copy, Eq)]
    pub struct SackCompressionConfig {
        /// Number of ACKs that are gathered at most; the next one leaves at once.
        acks: u32 = default(44).at_least(1).unit("segments").source("Linux's tcp_comp_sack_nr"),
        /// Longest time from the first gathered ACK until the ACK leaves.
        delay: SimDuration = default(SimDuration::from_millis(1)).source("Linux's tcp_comp_sack_delay_ns"),
        /// Longest time, as a part of a round trip, if that is shorter.
        rtt_percent: u32 = default(5).at_least(1).at_most(1000).unit("%").source("Linux 6.18; later a parameter, tcp_comp_sack_rtt_percent = 33"),
        /// Slack of the timer: how late it may fire.
        slack: SimDuration = default(SimDuration(100_000)).source("Linux's tcp_comp_sack_slack_ns"),
    }
}

declare! {
    /// The queue of the host's network device.
    #[derive(Copy, Eq)]
    pub struct DeviceQueueConfig {
        /// Packets that may wait there.
        limit: u32 = default(100).at_least(1).unit("packets").source("ether_setup of Linux 2.4: tx_queue_len"),
    }
}

declare! {
    /// The clock behind the timestamps option.
    #[derive(Copy)]
    pub struct ClockConfig {
        /// Tick of the timestamp clock.
        granularity as "timestamp_granularity": SimDuration = default(SimDuration::from_millis(1)).above(SimDuration::ZERO),
        /// Value of the timestamp clock at time zero, in ticks.
        //= rfc7323-7.1-offset
        offset as "timestamp_offset": u32 = 1,
        /// Speed of the timestamp clock above the true one, in parts per million.
        skew_ppm as "timestamp_skew_ppm": f64 = default(0.0).at_least(-1e5).at_most(1e5),
    }
    tables {
        /// This host's timestamp clock is set once.
        step as "timestamp_step": Option<ClockStep> = None,
    }
}

declare! {
    /// A clock is set: forward, or back.
    #[derive(Copy, Eq)]
    pub struct ClockStep {
        /// Time of the step.
        at: SimDuration = required(SimDuration::from_secs(20)),
        /// Size of a step forward.
        forward: Option<SimDuration> = unset("none"),
        /// Size of a step back.
        back: Option<SimDuration> = unset("none"),
    }
    check ClockStep::review;
}

impl ClockStep {
    fn review(&self, review: &mut Review<'_>) {
        if self.forward.is_some() == self.back.is_some() {
            let remedy = "give one of the two: forward = \"50 ms\", or back = \"50 ms\"";
            review.report("", "must set the clock either forward or back", remedy);
        }
    }
}

words! {
    /// Place where segments wait for their time.
    pub enum PacedBy {
        /// Segments wait in the send buffer, until a timer of TCP's own says that the next burst may leave.
        "tcp" = Tcp,
        /// Segments wait in the host's queue (Linux's `fq`), handed over ahead with the time at which they are to
        /// leave.
        "fq" = Fq,
    }
}

words! {
    /// Treatment by `fq` of a segment whose time is beyond its horizon.
    pub enum BeyondHorizon {
        /// Refuse it: it stays in the send buffer, and cwnd is reduced as by a mark.
        "drop" = Drop,
        /// Let it leave at the horizon.
        "cap" = Cap,
    }
}

declare! {
    /// Spreading a window over its round trip.
    #[derive(Copy)]
    pub struct PacingConfig {
        /// Place where segments wait for their time.
        by: PacedBy = PacedBy::Tcp,
        /// Longest time ahead for which `fq` takes a segment.
        horizon: SimDuration = default(SimDuration::from_secs(10)).above(SimDuration::ZERO).source("Linux's sch_fq: horizon"),
        /// Treatment by `fq` of a segment whose time is beyond the horizon.
        beyond_horizon: BeyondHorizon = default(BeyondHorizon::Drop).source("Linux's sch_fq: horizon_drop"),
        /// Rate in slow start, as a multiple of cwnd / SRTT (Linux's `tcp_pacing_ss_ratio`).
        slow_start_ratio: f64 = default(2.0).at_least(0.01).at_most(1e3),
        /// Rate in congestion avoidance (Linux's `tcp_pacing_ca_ratio`).
        avoidance_ratio: f64 = default(1.2).at_least(0.01).at_most(1e3),
    }
    apart {
        /// Pace every flow; a controller that sets a rate is paced in any case.
        enabled: bool = false,
    }
    check PacingConfig::review;
}

impl PacingConfig {
    /// True if the host's queue holds segments until their time.
    pub(crate) fn is_by_fq(&self) -> bool {
        self.enabled && self.by == PacedBy::Fq
    }

    fn review(&self, review: &mut Review<'_>) {
        let declared = Self::default();
        let has_horizon = (self.horizon, self.beyond_horizon) != (declared.horizon, declared.beyond_horizon);
        if self.by == PacedBy::Tcp && has_horizon {
            let field = if self.horizon == declared.horizon { "beyond_horizon" } else { "horizon" };
            review.report(field, "belongs to fq, but pacing is by tcp", "add by = \"fq\", or leave it out");
        }
    }
}

impl Switched for PacingConfig {
    type Fields = Self;

    const CHOSEN_BY: &'static str = "by";

    fn switched(on: bool) -> Self {
        Self { enabled: on, ..Self::default() }
    }
    fn of(fields: Self) -> Self {
        Self { enabled: true, ..fields }
    }
    fn fields(&self) -> Option<Self> {
        self.enabled.then_some(*self)
    }
}

declare! {
    /// Sending several segments as one burst, as hosts with segmentation offload do.
    #[derive(Copy, Eq)]
    pub struct BurstConfig {
        /// Least segments that a burst aims at.
        min_segments: u32 = default(2).source("Linux's tcp_min_tso_segs"),
        /// Most data in a burst.
        max_octets as "max_size": Bytes = default(Bytes(65_536)).at_most(MAX_WINDOW).source("Linux's gso_max_size"),
        /// A sender waits for a burst no longer once 1/N of its window is open; 0: more than three segments.
        window_divisor: u32 = default(3).source("Linux's tcp_tso_win_divisor"),
    }
    apart {
        /// Wait for a burst's worth of window to open before sending, as Linux's TSO does.
        enabled: bool = false,
    }
}

impl Switched for BurstConfig {
    type Fields = Self;

    fn switched(on: bool) -> Self {
        Self { enabled: on, ..Self::default() }
    }
    fn of(fields: Self) -> Self {
        Self { enabled: true, ..fields }
    }
    fn fields(&self) -> Option<Self> {
        self.enabled.then_some(*self)
    }
}

declare! {
    /// A buffer that grows with what a connection needs.
    #[derive(Copy, Eq)]
    pub struct Autotuning {
        /// Initial size.
        initial: Bytes = default(Bytes(65_535)).at_least(Bytes(1)),
        /// Largest size.
        max: Bytes = default(MAX_SCALED_WINDOW).at_least(Bytes(1)),
    }
}

declare! {
    /// A receive buffer that grows with what a connection needs.
    #[derive(Copy, Eq)]
    pub struct WindowTuning {
        /// The window that it begins with.
        initial: Bytes = default(Bytes(65_535)).at_least(Bytes(1)),
        /// Largest size; with `opens_to`, memory as Linux counts it, of which 160/256 is window.
        max: Bytes = default(MAX_SCALED_WINDOW).at_least(Bytes(1)),
        /// If more than `initial`: the window opens to it by two segments with each full-sized one, as it does whenever the buffer has grown; such a segment is acknowledged at once
        opens_to: Bytes = default(Bytes(0)),
        /// Rules of its growth
        growth: BufferGrowth = default(BufferGrowth::Linux6_16),
    }
}

impl WindowTuning {
    /// The same tuning, with a window of `largest` at most.
    pub(super) fn within(self, largest: Bytes) -> Self {
        let max = self.max.min(largest);
        Self { initial: self.initial.min(max), max, opens_to: self.opens_to.min(max), growth: self.growth }
    }
}

impl Autotuning {
    /// The same tuning, with a window of `largest` at most.
    pub(super) fn within(self, largest: Bytes) -> Self {
        let max = self.max.min(largest);
        Self { initial: self.initial.min(max), max }
    }
}
