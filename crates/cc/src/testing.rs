//! Events for unit tests, with everything unremarkable filled in.

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::event::{AckEvent, CongestionCause, CongestionEvent, RttStats};

pub(crate) fn ack(newly_acked: u64) -> AckEvent {
    let rtt = SimDuration::from_millis(100);
    AckEvent {
        now: SimTime::ZERO,
        newly_acked: Bytes(newly_acked),
        is_cumulative: true,
        newly_lost: Bytes::ZERO,
        newly_ce_marked: Bytes::ZERO,
        prior_flight_size: Bytes(10_000),
        rtt_sample: Some(rtt),
        rtt: RttStats { latest: rtt, srtt: rtt, rttvar: SimDuration::ZERO, min_rtt: rtt },
        timestamps: None,
        is_cwnd_limited: true,
        in_recovery: false,
        round: 0,
        is_paced: false,
    }
}

pub(crate) fn loss(flight_size: u64) -> CongestionEvent {
    CongestionEvent {
        now: SimTime::ZERO,
        cause: CongestionCause::Loss,
        flight_size: Bytes(flight_size),
        newly_lost: Bytes(1_000),
    }
}

pub(crate) fn timeout(flight_size: u64, repeated: bool) -> CongestionEvent {
    CongestionEvent { cause: CongestionCause::Timeout { repeated }, ..loss(flight_size) }
}
