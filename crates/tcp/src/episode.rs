//! A congestion episode, for results: from the signal to the acknowledgement of all that was outstanding then.

use ackclock_cc::CongestionCause;
use ackclock_units::{Bytes, SimTime};

/// Why it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeCause {
    /// Duplicate ACKs or SACK.
    Loss,
    /// An ECN mark.
    Ecn,
    /// The retransmission timer.
    Timeout,
}

impl From<CongestionCause> for EpisodeCause {
    fn from(cause: CongestionCause) -> Self {
        match cause {
            CongestionCause::Loss => Self::Loss,
            CongestionCause::Ecn => Self::Ecn,
            CongestionCause::Timeout { .. } => Self::Timeout,
        }
    }
}

/// One episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Why it began.
    pub cause: EpisodeCause,
    /// When it began.
    pub start: SimTime,
    /// When all that was outstanding at the start was acknowledged, or the next episode began; `None` at the run's end.
    pub end: Option<SimTime>,
    /// cwnd before.
    pub cwnd_before: Bytes,
    /// cwnd that the controller chose.
    pub cwnd_after: Bytes,
    /// ssthresh before; `None` while arbitrarily high.
    pub ssthresh_before: Option<Bytes>,
    /// ssthresh that the controller chose.
    pub ssthresh_after: Option<Bytes>,
    /// Octets that were taken for lost.
    pub lost: Bytes,
    /// Segments that the receiver said were marked. RFC 3168's echo only says that some were: 1 then.
    pub marked: u64,
    /// It was undone: nothing had been lost.
    pub spurious: bool,
}
