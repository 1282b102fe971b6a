//! A congestion episode, for results: from the signal to the acknowledgement of all that was outstanding then.

use ackclock_cc::CongestionCause;
use ackclock_units::{Bytes, SimTime};

/// Cause of a congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeCause {
    /// Duplicate ACKs or SACK.
    Loss,
    /// A mark of the network (ECN).
    Ecn,
    /// An expiry of the retransmission timer.
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

/// A congestion episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Cause of the episode.
    pub cause: EpisodeCause,
    /// Time at which the sender took the signal.
    pub start: SimTime,
    /// Time at which all data outstanding at the start was acknowledged, or the next episode began; `None` at the run's
    /// end.
    pub end: Option<SimTime>,
    /// cwnd before the signal.
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

/// The current episode, and those finished since the last query.
#[derive(Clone, Debug, Default)]
pub struct Episodes {
    current: Option<Episode>,
    finished: Vec<Episode>,
}

impl Episodes {
    /// The episode under way.
    pub fn current(&self) -> Option<Episode> {
        self.current
    }

    /// Episodes that have ended since the last call.
    pub fn take_finished(&mut self) -> Vec<Episode> {
        std::mem::take(&mut self.finished)
    }

    /// An episode begins, and the one before it ends.
    pub fn begin(&mut self, episode: Episode) {
        self.end(episode.start);
        self.current = Some(episode);
    }

    /// The episode under way is over.
    pub fn end(&mut self, now: SimTime) {
        if let Some(mut episode) = self.current.take() {
            episode.end = Some(now);
            self.finished.push(episode);
        }
    }

    /// Octets were taken for lost.
    pub fn on_lost(&mut self, octets: u64) {
        if let Some(episode) = &mut self.current {
            episode.lost += Bytes(octets);
        }
    }

    /// Marks that an ACK reported. Where the echo does not count them, an episode has one.
    pub fn on_marked(&mut self, segments: u64, counts: bool) {
        if let Some(episode) = &mut self.current {
            episode.marked = if counts { episode.marked + segments } else { 1 };
        }
    }

    /// The episode under way, or the last, was a mistake.
    pub fn mark_spurious(&mut self) {
        if let Some(episode) = self.current.as_mut().or(self.finished.last_mut()) {
            episode.spurious = true;
        }
    }
}
