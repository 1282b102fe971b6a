//! The events themselves.

use ackclock_units::{Bandwidth, Bytes, SimDuration};
use ackclock_wire::{Ecn, Flags};

/// A packet, as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    /// Number of the flow, in the scenario's order; short flows and datagrams come after.
    pub flow: u32,
    /// True on the way from the end that opened the connection.
    pub is_forward: bool,
    /// Sequence number on the wire; for a datagram its number.
    pub sequence: u32,
    /// Acknowledgement number on the wire; 0 for a datagram.
    pub acknowledgment: u32,
    /// TCP's flags; none for a datagram.
    pub flags: Flags,
    /// Payload in octets.
    pub payload: Bytes,
    /// The IP packet in octets.
    pub size: Bytes,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The queue discipline dropped it, on arrival or later.
    Queue,
    /// A discarder or a policer in front of the link took it out.
    Discarder,
    /// The link lost it after it had sent it.
    Loss,
}

/// A data segment left a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSent {
    /// Where it begins in the stream; the SYN is at 0, the first octet of data at 1.
    pub offset: u64,
    /// Its payload.
    pub size: Bytes,
    /// It had been sent before.
    pub is_retransmission: bool,
    /// `FlightSize` after it (RFC 5681).
    pub flight_size: Bytes,
}

/// An ACK arrived at a sender; the values are those after it was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckArrived {
    /// Data that it delivered, cumulatively or selectively.
    pub newly_delivered: Bytes,
    /// `SND.UNA`, as an offset in the stream.
    pub acknowledged: u64,
    /// Its SACK blocks, as `[start, end)` of the stream, without those that only repeat the ACK before; empty ones behind them.
    pub sacked: [(u64, u64); 4],
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; none while it is arbitrarily high.
    pub ssthresh: Option<Bytes>,
    /// `FlightSize` (RFC 5681).
    pub flight_size: Bytes,
    /// The RTT sample of this ACK; none under Karn's rule.
    pub rtt_sample: Option<SimDuration>,
    /// Smoothed RTT (RFC 6298); none before the first sample.
    pub srtt: Option<SimDuration>,
    /// RTT variation (RFC 6298); none before the first sample.
    pub rttvar: Option<SimDuration>,
    /// Retransmission timeout, backoff included.
    pub rto: SimDuration,
    /// The rate that the sender paces at, if it does.
    pub pacing_rate: Option<Bandwidth>,
}

/// By what segments were taken for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Duplicate ACKs or SACKed segments above it (RFC 5681, RFC 6675).
    Acks,
    /// Time: a segment sent later has arrived (RACK, RFC 8985), with an ACK or when the reordering timer expired.
    Time,
    /// The retransmission timer expired (RFC 6298).
    Timeout,
}

/// What began a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryCause {
    /// Loss, told by ACKs or by time: fast recovery.
    Loss,
    /// A mark of the network (RFC 3168): the window is reduced, nothing is sent again.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// A segment sent to hear from the peer, not because the window let it go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Tail loss probe (RFC 8985 section 7).
    TailLoss,
    /// Probe of a closed window (RFC 9293 section 3.8.6.1).
    ZeroWindow,
}

/// Why slow start ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// A loss, told by ACKs or by time.
    Loss,
    /// A mark of the network.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
    /// cwnd reached ssthresh.
    Threshold,
    /// The round trip grew (`HyStart`'s delay, HyStart++'s).
    Delay,
    /// The train of ACKs got as long as half the least round trip (`HyStart`).
    AckTrain,
    /// The rate grows no more, or the controller's own rule says that the path is full.
    PathFull,
}

/// Names of what a controller is doing, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerState {
    /// Before, such as `"slow_start"`, `"probe_bw_up"`.
    pub from: &'static str,
    /// After.
    pub to: &'static str,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first bit of a packet entered the wire of a link, having waited in its queue.
    PacketSent {
        /// Which.
        packet: PacketInfo,
        /// From its arrival at the link.
        waited: SimDuration,
    },
    /// A packet went no further.
    PacketDropped {
        /// Which.
        packet: PacketInfo,
        /// Why.
        cause: DropCause,
    },
    /// A queue set a packet's ECN field to CE.
    PacketMarked {
        /// Which, as it was marked.
        packet: PacketInfo,
    },
    /// The last bit of a packet came out at the far end of a link.
    PacketDelivered {
        /// Which.
        packet: PacketInfo,
    },
    /// A data segment left a sender.
    SegmentSent(SegmentSent),
    /// An ACK arrived at a sender.
    AckArrived(AckArrived),
    /// A sender took data for lost.
    MarkedLost {
        /// How much.
        lost: Bytes,
        /// By what.
        by: LossDetection,
    },
    /// A sender began to recover, or to reduce its window for a mark.
    RecoveryEntered {
        /// By what.
        cause: RecoveryCause,
        /// The recovery ends when all before this offset is acknowledged.
        until: u64,
        /// The congestion window before.
        cwnd_before: Bytes,
        /// The congestion window that the controller chose.
        cwnd: Bytes,
        /// The slow-start threshold that the controller chose.
        ssthresh: Option<Bytes>,
    },
    /// A recovery is over.
    RecoveryLeft {
        /// The congestion window to go on with.
        cwnd: Bytes,
    },
    /// The retransmission timer expired.
    TimedOut {
        /// Expiries for the same data, this one included.
        in_a_row: u32,
        /// The timeout to come, backed off.
        rto: SimDuration,
    },
    /// The last recovery was found to be a mistake, and was taken back.
    Undone {
        /// The congestion window after it.
        cwnd: Bytes,
    },
    /// A probe left.
    ProbeSent {
        /// What for.
        kind: ProbeKind,
    },
    /// A controller went from one of its states to another.
    ControllerState(ControllerState),
    /// A flow left slow start.
    SlowStartExited {
        /// Why.
        cause: SlowStartExit,
        /// The congestion window then.
        cwnd: Bytes,
    },
    /// An appliance held back what it could have passed on, or its acknowledgements, to bound its latency.
    RelayHeld {
        /// Octets in its buffer.
        buffered: Bytes,
    },
    /// An appliance lets go again.
    RelayReleased {
        /// Octets in its buffer.
        buffered: Bytes,
        /// How long it had held.
        held: SimDuration,
    },
}
