//! What a sender tells its controller.

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::delivery::DeliveryReport;

/// The sender's view of the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttStats {
    /// The latest sample; zero before the first.
    pub latest: SimDuration,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: SimDuration,
    /// RTT variation (RFC 6298).
    pub rttvar: SimDuration,
    /// The least sample of the connection; zero before the first.
    pub min_rtt: SimDuration,
}

/// The timestamps option of an ACK (RFC 7323) and the sender's own clock beside it, for one-way delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentTimestamps {
    /// The receiver's clock when it sent the ACK, in its ticks.
    pub tsval: u32,
    /// The sender's clock echoed: when the data left.
    pub tsecr: u32,
    /// The sender's clock when the ACK arrived.
    pub arrival: u32,
    /// One tick of the sender's clock.
    pub tick: SimDuration,
}

/// An ACK arrived that was not a mere window update.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// Arrival of the ACK.
    pub now: SimTime,
    /// Data delivered by this ACK, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// True if it advanced `snd_una` (RFC 5681 section 3.1).
    pub is_cumulative: bool,
    /// Data marked lost since the last ACK: on this one, or by a timer of loss detection before it.
    pub newly_lost: Bytes,
    /// The part of [`Self::newly_lost`] that a timer found.
    pub lost_before: Bytes,
    /// Data delivered that the network had marked, as far as the receiver's feedback tells (RFC 3168: one segment for an
    /// ECE; RFC 9768: what the counters say).
    pub newly_ce_marked: Bytes,
    /// `FlightSize` before this ACK: sent and not cumulatively acknowledged (RFC 5681).
    pub prior_flight_size: Bytes,
    /// SND.UNA after this ACK and SND.NXT (RFC 9293 section 3.3.1), octets since the connection's beginning.
    pub snd_una: u64,
    /// See [`Self::snd_una`].
    pub snd_nxt: u64,
    /// The RTT sample of this ACK; `None` under Karn's rule.
    pub rtt_sample: Option<SimDuration>,
    /// Smoothed values, this sample included.
    pub rtt: RttStats,
    /// The ACK's timestamps option, if it carried one.
    pub timestamps: Option<SegmentTimestamps>,
    /// True if cwnd held data back, and nothing else, when the sender stopped last.
    pub is_cwnd_limited: bool,
    /// True during fast recovery or the answer to a mark, the ACK that ends it included (not while recovering from a
    /// timeout, which slow-starts).
    pub in_recovery: bool,
    /// What the stack permits on this ACK. The facts above say what happened; this says what follows for a window.
    pub growth: Growth,
    /// What bounded sending when it arrived, while a window is being reduced step by step (RFC 9937); `None` if that was cwnd.
    /// Linux has no other cwnd in that time.
    pub reduced_window: Option<Bytes>,
    /// Packet-timed round trips since the connection began.
    pub round: u64,
    /// True if the sender spreads its segments over the round trip.
    pub is_paced: bool,
    /// For controllers that want samples.
    pub delivery: Option<DeliveryReport>,
}

impl AckEvent {
    /// True if a window that counts acknowledged data may grow, as the stack judges it.
    pub fn may_grow(&self) -> bool {
        self.growth.is_due && self.growth.is_in_use
    }

    /// Data marked lost on this ACK alone.
    pub fn lost_now(&self) -> Bytes {
        self.newly_lost - self.lost_before
    }

    /// True if a window of this size is in use, of which pacing holds back a part: half of it counts.
    pub(crate) fn uses(&self, cwnd: f64) -> bool {
        self.growth.is_in_use || 2.0 * self.prior_flight_size.0 as f64 >= cwnd
    }
}

/// The stack's verdict on growth, which its switches decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// The ACK brought new data, and nothing is being recovered. Where the network reorders, a SACK may count as new data, and
    /// the ACK that ends a recovery may count.
    pub is_due: bool,
    /// The window is in use, as the validation of the window judges it.
    pub is_in_use: bool,
}

impl Growth {
    /// The verdict of RFC 5681, by the facts alone.
    pub fn of_facts(is_cumulative: bool, is_cwnd_limited: bool, in_recovery: bool) -> Self {
        //= rfc5681-3.1-new-data-only
        Self { is_due: is_cumulative && !in_recovery, is_in_use: is_cwnd_limited }
    }
}

/// Why a congestion episode began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Duplicate ACKs or SACK told of a loss.
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
    /// When the sender noticed.
    pub now: SimTime,
    /// What began the episode.
    pub cause: CongestionCause,
    /// `FlightSize` at that moment: sent and not cumulatively acknowledged (RFC 5681).
    pub flight_size: Bytes,
    /// What the stack has a decrease start from: `FlightSize` up to cwnd (RFC 5681), or cwnd.
    pub decrease_from: Bytes,
    /// Data marked lost so far.
    pub newly_lost: Bytes,
    /// Thought to be in the network, without what is lost (RFC 6675's pipe).
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

/// Why a window starts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartCause {
    /// The SYN or SYN-ACK was lost: an initial window of one segment (RFC 5681 section 3.1).
    SynLost,
    /// The retransmission timer expired, or Tahoe retransmits: the loss window, one segment beside what is still thought
    /// to be in the network (RFC 5681 section 3.1).
    Timeout,
    /// Nothing was sent for longer than an RTO: the restart window (RFC 5681 section 4.1, RFC 2861).
    Idle,
    /// Too little of the window was used for too long (RFC 7661 section 4.4.3, RFC 2861 section 3.2), or by the end of a recovery
    /// that halves the rate.
    Unused,
    /// A controller around this one, such as an agent, has moved the window.
    Outer,
}

impl RestartCause {
    /// The window is to be smaller, or to stay as it is: one that is below what the stack would begin with is not raised by it.
    pub fn is_reduction(self) -> bool {
        matches!(self, Self::Timeout | Self::Idle | Self::Unused)
    }
}

/// The window starts over, without an episode of its own.
#[derive(Clone, Copy, Debug)]
pub struct RestartEvent {
    /// When the window starts over.
    pub now: SimTime,
    /// Why it does.
    pub cause: RestartCause,
    /// The window to go on with.
    pub window: Bytes,
    /// The ssthresh to go on with, so that slow start leads back to what was in use (RFC 2861); `None` leaves it.
    pub ssthresh: Option<Bytes>,
}

/// A data segment left.
#[derive(Clone, Copy, Debug)]
pub struct SendEvent {
    /// When the segment left.
    pub now: SimTime,
    /// Its payload in octets.
    pub size: Bytes,
    /// `FlightSize` with the segment in it.
    pub flight_size: Bytes,
    /// How long nothing had been outstanding before it; zero if something was.
    pub idle_for: SimDuration,
    /// Nothing was outstanding because the application had nothing to send (`C.app_limited` of draft-ietf-ccwg-bbr), and not
    /// because the next segment waited for its pacing. Needs [`crate::Demands::samples`].
    pub is_app_limited: bool,
}
