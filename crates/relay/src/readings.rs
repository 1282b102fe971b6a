//! What a discipline is shown.

use ackclock_units::{Bytes, SimDuration, SimTime};

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
    /// Acknowledged by the far side.
    pub acknowledged: Bytes,
    /// Round trip to the near side; zero before the first sample.
    pub near_rtt: SimDuration,
    /// The far connection.
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
    /// Congestion window.
    pub cwnd: Bytes,
    /// What of it is in use: sent, and neither acknowledged nor lost.
    pub pipe: Bytes,
    /// Window that the far end advertises, from the first octet not acknowledged.
    pub rwnd: Bytes,
}

impl Readings {
    /// Octets that have arrived and were never sent on: what adds latency.
    pub fn backlog(&self) -> Bytes {
        self.arrived.saturating_sub(self.sent)
    }

    /// Octets in either socket or between them: arrived and not acknowledged by the far end.
    pub fn in_socket(&self) -> Bytes {
        self.arrived.saturating_sub(self.acknowledged)
    }
}
