//! The events that a sender reports to its controller.

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::delivery::DeliveryReport;

/// The sender's view of the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttStats {
    /// The latest RTT sample; zero before the first.
    pub latest: SimDuration,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: SimDuration,
    /// RTT variation (RFC 6298).
    pub rttvar: SimDuration,
    /// The minimum RTT of the connection; zero before the first sample.
    pub min_rtt: SimDuration,
}

/// The timestamps option of an ACK (RFC 7323) and the sender's own clock beside it, for one-way delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentTimestamps {
    /// The receiver's clock when it sent the ACK, in its ticks.
    pub tsval: u32,
    /// The sender's clock as the ACK echoes it: the departure of the data.
    pub tsecr: u32,
    /// The sender's clock when the ACK arrived.
    pub arrival: u32,
    /// One tick of the sender's clock.
    pub tick: SimDuration,
}

/// An ACK arrived that was not a mere window update.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// The arrival of the ACK.
    pub now: SimTime,
    /// The octets delivered by this ACK, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// True if it advanced `snd_una` (RFC 5681 section 3.1).
    pub is_cumulative: bool,
    /// The octets marked lost since the last ACK: on this one, or by a timer of loss detection before it.
    pub newly_lost: Bytes,
    /// The part of [`Self::newly_lost`] that a timer found.
    pub lost_before: Bytes,
    /// The marked octets among the newly delivered, as the receiver's feedback reports them: one segment for an ECE
    /// (RFC 3168), or the counters of RFC 9768.
    pub newly_ce_marked: Bytes,
    /// The flight size (`FlightSize`) before this ACK: sent and not cumulatively acknowledged (RFC 5681).
    pub prior_flight_size: Bytes,
    /// SND.UNA after this ACK and SND.NXT (RFC 9293 section 3.3.1), octets since the connection's beginning.
    pub snd_una: u64,
    /// The next sequence number to send: see [`Self::snd_una`].
    pub snd_nxt: u64,
    /// The RTT sample of this ACK; `None` under Karn's rule.
    pub rtt_sample: Option<SimDuration>,
    /// Smoothed RTT values, this sample included.
    pub rtt: RttStats,
    /// The ACK's timestamps option, if it carried one.
    pub timestamps: Option<SegmentTimestamps>,
    /// True if cwnd held data back, and nothing else, when the sender stopped last.
    pub is_cwnd_limited: bool,
    /// True during fast recovery or the answer to a mark, the ACK that ends it included (not while recovering from a
    /// timeout, which slow-starts).
    pub in_recovery: bool,
    /// The stack's permission to grow on this ACK. The facts above are measurements; this is a verdict for a window.
    pub growth: Growth,
    /// The bound of sending when the ACK arrived, while a window is reduced step by step (RFC 9937); `None` if that was
    /// cwnd. Linux has no other cwnd in that time.
    pub reduced_window: Option<Bytes>,
    /// Packet-timed round trips since the connection began.
    pub round: u64,
    /// True if the sender spreads its segments over the round trip.
    pub is_paced: bool,
    /// The delivery report, for controllers that demand samples.
    pub delivery: Option<DeliveryReport>,
}

impl AckEvent {
    /// An ACK of new data in order, all that was outstanding, in a window that is in full use on a path with this round
    /// trip.
    pub fn in_order(newly_acked: Bytes, rtt: SimDuration) -> Self {
        Self {
            now: SimTime::ZERO,
            newly_acked,
            is_cumulative: true,
            newly_lost: Bytes::ZERO,
            lost_before: Bytes::ZERO,
            newly_ce_marked: Bytes::ZERO,
            prior_flight_size: newly_acked,
            snd_una: newly_acked.0,
            snd_nxt: newly_acked.0,
            rtt_sample: Some(rtt),
            rtt: RttStats { latest: rtt, srtt: rtt, rttvar: SimDuration::ZERO, min_rtt: rtt },
            timestamps: None,
            is_cwnd_limited: true,
            in_recovery: false,
            growth: Growth { is_due: true, is_in_use: true },
            reduced_window: None,
            round: 0,
            is_paced: false,
            delivery: None,
        }
    }

    /// True if a window that counts acknowledged data may grow, as the stack judges it.
    pub fn may_grow(&self) -> bool {
        self.growth.is_due && self.growth.is_in_use
    }

    /// The octets marked lost on this ACK alone.
    pub fn lost_now(&self) -> Bytes {
        self.newly_lost - self.lost_before
    }

    /// True if a paced window of this size is in use: pacing holds back a part of it, so that half counts.
    pub(crate) fn uses(&self, cwnd: f64) -> bool {
        self.growth.is_in_use || 2.0 * self.prior_flight_size.0 as f64 >= cwnd
    }
}

/// The stack's verdict on growth, which its switches decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// True if the ACK brought new data outside of recovery. Where the network reorders, a SACK may count as new data,
    /// and the ACK that ends a recovery may count.
    pub is_due: bool,
    /// True if the window is in use, by the rules of window validation.
    pub is_in_use: bool,
}

impl Growth {
    /// The verdict of RFC 5681, from the facts alone.
    pub fn of_facts(is_cumulative: bool, is_cwnd_limited: bool, in_recovery: bool) -> Self {
        //= rfc5681-3.1-new-data-only
        Self { is_due: is_cumulative && !in_recovery, is_in_use: is_cwnd_limited }
    }
}

/// The feedback of an ACK on a connection with ECN, also of one that delivers nothing.
#[derive(Clone, Copy, Debug)]
pub struct EchoEvent {
    /// SND.UNA after the ACK, octets since the connection's beginning.
    pub snd_una: u64,
    /// SND.NXT, likewise.
    pub snd_nxt: u64,
    /// The octets delivered by the ACK.
    pub newly_acked: Bytes,
    /// The marked octets among the newly delivered.
    pub newly_ce_marked: Bytes,
}

/// The cause of a congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Duplicate ACKs or SACK revealed a loss.
    Loss,
    /// The network marked a packet.
    Ecn,
    /// The retransmission timer expired; `repeated` if the same data had already timed out.
    Timeout {
        /// True from the second expiry for the same data on.
        repeated: bool,
    },
}

/// A congestion episode begins.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// The time at which the sender noticed.
    pub now: SimTime,
    /// The cause of the episode.
    pub cause: CongestionCause,
    /// The flight size (`FlightSize`) at that moment: sent and not cumulatively acknowledged (RFC 5681).
    pub flight_size: Bytes,
    /// The stack's base of a decrease: `FlightSize` up to cwnd (RFC 5681), or cwnd.
    pub decrease_from: Bytes,
    /// The octets marked lost so far.
    pub newly_lost: Bytes,
    /// The octets thought to be in the network, without lost ones (RFC 6675's pipe).
    pub inflight: Bytes,
}

impl CongestionEvent {
    /// True if the retransmission timer caused it.
    pub fn is_timeout(&self) -> bool {
        matches!(self.cause, CongestionCause::Timeout { .. })
    }

    /// True if the timer expired again for the same data: the episode goes on.
    pub fn is_repeated(&self) -> bool {
        self.cause == CongestionCause::Timeout { repeated: true }
    }

    /// The fraction to keep: `beta`, on a mark `beta_ecn` if there is one (RFC 8511).
    pub fn fraction_kept(&self, beta: f64, beta_ecn: Option<f64>) -> f64 {
        //= rfc8511-3-reno
        if self.cause == CongestionCause::Ecn { beta_ecn.unwrap_or(beta) } else { beta }
    }
}

/// The cause of a restart of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartCause {
    /// A lost SYN or SYN-ACK: the initial window is one segment (RFC 5681 section 3.1).
    SynLost,
    /// A retransmission timeout, or Tahoe's retransmission: the loss window is one segment beside the data thought to
    /// be in the network (RFC 5681 section 3.1).
    Timeout,
    /// A pause of sending longer than an RTO: the restart window (RFC 5681 section 4.1, RFC 2861).
    Idle,
    /// A window with too little use for too long (RFC 7661 section 4.4.3, RFC 2861 section 3.2), or after a recovery
    /// that halves the rate.
    Unused,
    /// A controller around this one, such as an agent, has moved the window.
    Outer,
}

impl RestartCause {
    /// True if the window may only become smaller: one below the stack's initial value is not raised.
    pub fn is_reduction(self) -> bool {
        matches!(self, Self::Timeout | Self::Idle | Self::Unused)
    }
}

/// The end of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeEvent {
    /// The arrival of what ended it.
    pub now: SimTime,
    /// The first RTT sample, which is the handshake's.
    pub srtt: SimDuration,
    /// True at the end that opened the connection. Linux's modules take the ACK of its SYN for one of data; that of a SYN-ACK is none to them.
    pub is_opener: bool,
}

/// A restart of the window, without an episode of its own.
#[derive(Clone, Copy, Debug)]
pub struct RestartEvent {
    /// The time of the restart.
    pub now: SimTime,
    /// The cause of the restart.
    pub cause: RestartCause,
    /// The window after the restart.
    pub window: Bytes,
    /// The ssthresh after the restart, so that slow start leads back to the used window (RFC 2861); `None` leaves it.
    pub ssthresh: Option<Bytes>,
}

impl RestartEvent {
    /// A controller's own `window` after the restart, in octets: a reduction does not raise it.
    pub(crate) fn window_after(&self, window: f64) -> f64 {
        let restarted = self.window.0 as f64;
        if self.cause.is_reduction() { window.min(restarted) } else { restarted }
    }
}

/// A data segment left.
#[derive(Clone, Copy, Debug)]
pub struct SendEvent {
    /// The time at which the segment left.
    pub now: SimTime,
    /// The segment's payload.
    pub size: Bytes,
    /// The flight size (`FlightSize`) with the segment in it.
    pub flight_size: Bytes,
    /// SND.NXT after the segment, octets since the connection's beginning.
    pub snd_nxt: u64,
    /// The time without outstanding data before the segment; zero if there was some.
    pub idle_for: SimDuration,
    /// True if data was missing because the application had nothing to send (`C.app_limited` of draft-ietf-ccwg-bbr),
    /// and not because of pacing. Needs [`crate::Demands::samples`].
    pub is_app_limited: bool,
}
