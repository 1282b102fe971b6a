//! Report of an endpoint's state, in the terms of Linux's `TCP_INFO`

use ackclock_cc::CongestionController;
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::accurate_ecn::OctetsByMark;
use crate::chronograph::Activity;
use crate::ecn::EcnReceiver;
use crate::endpoint::State;
use crate::receiver::Receiver;
use crate::recovery::Phase;
use crate::sender::{Flight, Sender, pacing_rate};

/// The states of congestion avoidance, as Linux names them (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// Nothing unusual is under way.
    Open = 0,
    /// Duplicate ACKs or SACKs, no loss yet.
    Disorder = 1,
    /// The window is being reduced after a mark.
    Cwr = 2,
    /// Fast recovery is under way.
    Recovery = 3,
    /// Losses after a timeout are being repaired.
    Loss = 4,
}

/// State of an endpoint, like Linux's `TCP_INFO`: segment counts are in units of the MSS, rounded up, and names are
/// those of `struct tcp_info`
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    /// The state of RFC 9293.
    pub state: State,
    /// State of loss recovery.
    pub ca_state: RecoveryState,
    /// Timeouts in a row.
    pub retransmits: u32,
    /// Probes of a closed window without an answer.
    pub probes: u32,
    /// Doublings of the timeout, or of the interval between probes of a closed window.
    pub backoff: u32,
    /// The retransmission timeout in force, back-off included.
    pub rto: SimDuration,
    /// Payload of a full segment.
    pub snd_mss: u32,
    /// Sent and not cumulatively acknowledged, segments.
    pub unacked: u64,
    /// Outstanding segments that are SACKed.
    pub sacked: u64,
    /// Outstanding segments that are marked lost.
    pub lost: u64,
    /// Retransmissions in the network.
    pub retrans: u64,
    /// Smoothed RTT; zero before the first sample.
    pub rtt: SimDuration,
    /// The variation of the RTT (RFC 6298).
    pub rttvar: SimDuration,
    /// Least RTT of the connection.
    pub min_rtt: SimDuration,
    /// Slow-start threshold in segments; `None` while arbitrarily high.
    pub snd_ssthresh: Option<u64>,
    /// Congestion window in segments.
    pub snd_cwnd: u64,
    /// Segments that must be SACKed above for a loss.
    pub reordering: u32,
    /// Segments retransmitted so far.
    pub total_retrans: u64,
    /// Octets acknowledged, the SYN not counted.
    pub bytes_acked: u64,
    /// Octets received in order.
    pub bytes_received: u64,
    /// Octets sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload octets retransmitted.
    pub bytes_retrans: u64,
    /// Octets written and not sent.
    pub notsent_bytes: u64,
    /// Segments with data sent.
    pub data_segs_out: u64,
    /// Segments delivered, cumulatively or selectively, the SYN among them.
    pub delivered: u64,
    /// Delivered segments that the network had marked.
    pub delivered_ce: u64,
    /// Duplicates that the receiver reported.
    pub dsack_dups: u64,
    /// Times that reordering was seen.
    pub reord_seen: u64,
    /// The peer's window, scaled.
    pub snd_wnd: u64,
    /// Rate at which the sender paces, or would pace.
    pub pacing_rate: Option<Bandwidth>,
    /// The delivery rate, where it is measured ([`crate::Endpoint::measure_delivery`]).
    pub delivery_rate: Option<Bandwidth>,
    /// The application limited it; or there is no sample.
    pub delivery_rate_app_limited: bool,
    /// The time with something outstanding or waiting to be sent.
    pub busy_time: SimDuration,
    /// The part of it in which the peer's window kept data from leaving.
    pub rwnd_limited: SimDuration,
    /// The part of it in which the send buffer was full of data that had left.
    pub sndbuf_limited: SimDuration,
    /// The window advertised to the peer and not used, octets.
    pub rcv_wnd: u64,
    /// The delay of ACKs in force.
    pub ato: SimDuration,
    /// The round trip as the receiving half sees it, where its buffer is tuned; zero before it is known.
    pub rcv_rtt: SimDuration,
    /// Octets that the application read in the round trip by which the receive buffer was tuned last; zero without
    /// tuning.
    pub rcv_space: u64,
    /// Segments that arrived before data that lies below them.
    pub rcv_ooopack: u64,
    /// Timeouts, repeated ones included.
    pub total_rto: u64,
    /// Packets that arrived marked CE, with accurate ECN.
    pub received_ce: u64,
    /// Octets that arrived, and octets of this end's that the peer got, by mark: with the option of accurate ECN.
    pub received_by_mark: OctetsByMark,
    /// See `received_by_mark`.
    pub delivered_by_mark: OctetsByMark,
}

/// Linux's name for where loss recovery stands.
fn recovery_state(flight: &Flight) -> RecoveryState {
    let board = &flight.board;
    match flight.recovery.phase() {
        Phase::Cwr { .. } => RecoveryState::Cwr,
        Phase::Fast(_) => RecoveryState::Recovery,
        Phase::Loss(_) => RecoveryState::Loss,
        // A probe by itself is no disorder.
        Phase::Open if board.sacked() + board.lost() + board.retransmitted() > 0 => RecoveryState::Disorder,
        Phase::Open => RecoveryState::Open,
    }
}

pub(crate) fn tcp_info(now: SimTime, state: State, sender: &Sender, receiver: &Receiver, ecn: &EcnReceiver) -> TcpInfo {
    let flight = sender.flight();
    let mss = flight.board.mss();
    let segments = |amount: u64| amount.div_ceil(mss);
    let board = &flight.board;
    let rtt = flight.rto.stats();
    let counters = &flight.counters;
    let measured = flight.congestion.feed.delivery_rate();
    let spent = sender.transmitter.times.spent(now);
    TcpInfo {
        state,
        ca_state: recovery_state(flight),
        retransmits: flight.timer.timeouts_in_a_row(),
        probes: flight.persist.unanswered(),
        backoff: if flight.persist.is_running() { flight.persist.backoff() } else { flight.rto.backoff() },
        rto: flight.rto.rto(),
        snd_mss: sender.transmitter.segment_size(board) as u32,
        unacked: segments(board.flight_size()),
        sacked: segments(board.sacked()),
        lost: segments(board.lost()),
        retrans: segments(board.retransmitted()),
        rtt: rtt.srtt,
        rttvar: rtt.rttvar,
        min_rtt: rtt.min_rtt,
        snd_ssthresh: flight.congestion.controller.ssthresh().map(|ssthresh| ssthresh.0 / mss),
        snd_cwnd: flight.window() / mss,
        reordering: flight.recovery.dup_thresh(),
        total_retrans: counters.retransmitted_segments,
        bytes_acked: board.una().saturating_sub(1), // nothing before the SYN is acknowledged
        bytes_received: receiver.payload_octets(),
        bytes_sent: counters.sent_octets,
        bytes_retrans: counters.retransmitted_octets,
        notsent_bytes: sender.unsent(),
        data_segs_out: counters.sent_segments,
        delivered: segments(counters.delivered) + u64::from(board.una() > 0),
        delivered_ce: segments(counters.delivered_ce),
        dsack_dups: counters.dsacks,
        reord_seen: counters.reorderings,
        snd_wnd: sender.transmitter.peer.size(),
        pacing_rate: pacing_rate(&sender.transmitter.pacer, flight),
        delivery_rate: measured.map(|measured| measured.rate()),
        delivery_rate_app_limited: measured.is_none_or(|measured| measured.is_app_limited),
        busy_time: spent.busy(),
        rwnd_limited: spent.on(Activity::PeerWindow),
        sndbuf_limited: spent.on(Activity::SendBuffer),
        rcv_wnd: receiver.window_end() - receiver.rcv_nxt(),
        ato: receiver.acks.delay(),
        rcv_rtt: receiver.rtt(),
        rcv_space: receiver.read_space(),
        rcv_ooopack: receiver.out_of_order_segments(),
        total_rto: counters.timeouts,
        received_ce: ecn.marked(),
        received_by_mark: ecn.octets(),
        delivered_by_mark: flight.ecn.octets(),
    }
}
