//! Events of a run.

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
    /// Payload of the packet, octets.
    pub payload: Bytes,
    /// The IP packet in octets.
    pub size: Bytes,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// Cause for which a packet went no further.
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
    /// Offset in the stream; the SYN is at 0, the first octet of data at 1.
    pub offset: u64,
    /// Payload of the segment.
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
    /// Congestion window after the ACK.
    pub cwnd: Bytes,
    /// The slow-start threshold; none while it is arbitrarily high.
    pub ssthresh: Option<Bytes>,
    /// Data in flight, `FlightSize` (RFC 5681).
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

/// Method by which segments were considered lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Duplicate ACKs or SACKed segments above it (RFC 5681, RFC 6675).
    Acks,
    /// Time: a segment sent later has arrived (RACK, RFC 8985), with an ACK or when the reordering timer expired.
    Time,
    /// The retransmission timer expired (RFC 6298).
    Timeout,
}

/// Cause of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryCause {
    /// Loss, detected by ACKs or by time: fast recovery.
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

/// Cause of the end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// A loss, detected by ACKs or by time.
    Loss,
    /// A mark of the network.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
    /// The congestion window reached ssthresh.
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
    /// State after the change.
    pub to: &'static str,
}

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first bit of a packet entered the wire of a link, having waited in its queue.
    PacketSent {
        /// The packet that left.
        packet: PacketInfo,
        /// Time from its arrival at the link.
        waited: SimDuration,
    },
    /// A packet went no further.
    PacketDropped {
        /// The packet that was dropped.
        packet: PacketInfo,
        /// Cause of the drop.
        cause: DropCause,
    },
    /// A queue set a packet's ECN field to CE.
    PacketMarked {
        /// The packet, as it was marked.
        packet: PacketInfo,
    },
    /// The last bit of a packet came out at the far end of a link.
    PacketDelivered {
        /// The packet that was delivered.
        packet: PacketInfo,
    },
    /// A data segment left a sender.
    SegmentSent(SegmentSent),
    /// An ACK arrived at a sender.
    AckArrived(AckArrived),
    /// A sender took data for lost.
    MarkedLost {
        /// Octets considered lost.
        lost: Bytes,
        /// Method of detection.
        by: LossDetection,
    },
    /// A sender began to recover, or to reduce its window for a mark.
    RecoveryEntered {
        /// Cause of the recovery.
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
    /// A probe left the sender.
    ProbeSent {
        /// Purpose of the probe.
        kind: ProbeKind,
    },
    /// A controller went from one of its states to another.
    ControllerState(ControllerState),
    /// A flow left slow start.
    SlowStartExited {
        /// Cause of the end.
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
        /// Time for which it had held.
        held: SimDuration,
    },
}
