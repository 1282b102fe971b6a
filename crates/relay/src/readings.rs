//! Values that a discipline reads.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// One direction of a split connection at one moment. Counts are of payload since the connection opened, so that what
/// is kept anywhere is the difference of two of them, and none ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// The moment; does not fall from call to call.
    pub now: SimTime,
    /// Arrived in order from the near side.
    pub arrived: Bytes,
    /// Handed to the far socket.
    pub written: Bytes,
    /// Sent on to the far side, each octet counted once.
    pub sent: Bytes,
    /// Sent on to the far side once more, each time counted.
    pub retransmitted: Bytes,
    /// Acknowledged by the far side.
    pub acknowledged: Bytes,
    /// Round trip to the near side; zero before the first sample.
    pub near_rtt: SimDuration,
    /// Payload of a full segment from the near side: a window opens by whole ones. Zero if not known; the far side's
    /// counts then.
    pub near_mss: Bytes,
    /// The connection on which the relay sends.
    pub far: FarSide,
}

/// The connection on which the relay sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FarSide {
    /// Smoothed RTT; zero before the first sample.
    pub srtt: SimDuration,
    /// Least RTT; zero before the first sample.
    pub min_rtt: SimDuration,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Its congestion window in octets.
    pub cwnd: Bytes,
    /// Part of it in use: sent, and neither acknowledged nor lost.
    pub pipe: Bytes,
    /// Marked lost and not yet sent again: has the window before anything new.
    pub to_repair: Bytes,
    /// cwnd is below ssthresh, so that an ACK frees more than it acknowledges.
    pub is_in_slow_start: bool,
    /// The rate at which it is paced; `None`: as fast as cwnd allows.
    pub pacing_rate: Option<Bandwidth>,
    /// Window that the far end advertises, from the first octet not acknowledged.
    pub rwnd: Bytes,
}

impl Readings {
    /// Octets that have arrived and were never sent on: what adds latency.
    pub fn backlog(&self) -> Bytes {
        self.arrived - self.sent
    }

    /// Octets in either socket or between them: arrived and not acknowledged by the far end.
    pub fn in_socket(&self) -> Bytes {
        self.arrived - self.acknowledged
    }

    /// Octets put on the wire of the far side.
    pub(crate) fn transmitted(&self) -> Bytes {
        self.sent + self.retransmitted
    }

    /// Payload of a full segment from the near side, or what stands for it.
    pub(crate) fn near_segment(&self) -> Bytes {
        /// RFC 9293 section 3.7.1: where nothing is known.
        const DEFAULT_MSS: Bytes = Bytes(536);
        let known = [self.near_mss, self.far.mss].into_iter().find(|mss| *mss > Bytes::ZERO);
        known.unwrap_or(DEFAULT_MSS)
    }
}

/// Readings after `ms` milliseconds of unit tests: a near side with round trips of 2 ms and segments of 1000 octets.
#[cfg(test)]
pub(crate) fn readings(ms: u64, arrived: u64, sent: u64) -> Readings {
    Readings {
        now: SimTime::ZERO + SimDuration::from_millis(ms),
        arrived: Bytes(arrived),
        sent: Bytes(sent),
        near_rtt: SimDuration::from_millis(2),
        near_mss: Bytes(1000),
        ..Readings::default()
    }
}
