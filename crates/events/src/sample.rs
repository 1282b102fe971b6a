//! A few records for tests of exports: a flow that loses, recovers, times out within it and goes on; its link; an appliance.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Ecn, Flags};

use crate::{
    AckArrived, ControllerState, DropCause, Event, LossDetection, PacketInfo, ProbeKind, Record, RecoveryCause,
    SegmentSent, SlowStartExit, Source, SourceId, SourceKind,
};

pub(crate) fn sources() -> Vec<Source> {
    let source =
        |kind, name: &str, controller: &str| Source { kind, name: name.to_owned(), controller: controller.to_owned() };
    vec![
        source(SourceKind::Flow, "a", "cubic"),
        source(SourceKind::Link, "bottleneck", ""),
        source(SourceKind::Relay, "box/a/forward", "reno"),
    ]
}

pub(crate) const ACK: AckArrived = AckArrived {
    newly_delivered: Bytes(1_448),
    acknowledged: 1_449,
    sacked: [(0, 0); 4],
    cwnd: Bytes(15_928),
    ssthresh: None,
    flight_size: Bytes(14_480),
    rtt_sample: Some(SimDuration(40_000_001)),
    srtt: Some(SimDuration(40_000_001)),
    rttvar: Some(SimDuration(20_000_000)),
    rto: SimDuration::from_millis(240),
    pacing_rate: None,
};

pub(crate) const PACKET: PacketInfo = PacketInfo {
    flow: 0,
    is_forward: true,
    sequence: 1_449,
    acknowledgment: 1,
    flags: Flags(Flags::ACK.0 | Flags::PSH.0),
    payload: Bytes(1_448),
    size: Bytes(1_500),
    ecn: Ecn::Ect0,
};

/// One of each kind, in the order of time, a millisecond apart from 1 ms and 1 ns on.
pub(crate) fn records() -> Vec<Record> {
    let sent = SegmentSent { offset: 1, size: Bytes(1_448), is_retransmission: false, flight_size: Bytes(1_448) };
    let entered = |cause| Event::RecoveryEntered {
        cause,
        until: 14_481,
        cwnd_before: Bytes(15_928),
        cwnd: Bytes(11_149),
        ssthresh: Some(Bytes(11_149)),
    };
    let paced = AckArrived { ssthresh: Some(Bytes(11_149)), pacing_rate: Some(Bandwidth(2_400_000)), ..ACK };
    let happened = [
        (0, Event::SegmentSent(sent)),
        (1, Event::PacketSent { packet: PACKET, waited: SimDuration(1_500) }),
        (1, Event::PacketDropped { packet: PACKET, cause: DropCause::Queue }),
        (1, Event::PacketMarked { packet: PacketInfo { ecn: Ecn::Ce, ..PACKET } }),
        (1, Event::PacketDelivered { packet: PACKET }),
        (0, Event::AckArrived(ACK)),
        (0, Event::MarkedLost { lost: Bytes(2_896), by: LossDetection::Acks }),
        (0, entered(RecoveryCause::Loss)),
        (0, Event::SlowStartExited { cause: SlowStartExit::Loss, cwnd: Bytes(11_149) }),
        (0, Event::ControllerState(ControllerState { from: "slow_start", to: "congestion_avoidance" })),
        (0, Event::SegmentSent(SegmentSent { is_retransmission: true, ..sent })),
        (0, Event::ProbeSent { kind: ProbeKind::TailLoss }),
        (0, Event::TimedOut { in_a_row: 1, rto: SimDuration::from_millis(480) }),
        (0, entered(RecoveryCause::Timeout)),
        (0, Event::AckArrived(paced)),
        (0, Event::Undone { cwnd: Bytes(15_928) }),
        (0, Event::RecoveryLeft { cwnd: Bytes(15_928) }),
        (2, Event::RelayHeld { buffered: Bytes(30_000) }),
        (2, Event::RelayReleased { buffered: Bytes(10_000), held: SimDuration::from_micros(1_000) }),
    ];
    let record = |(index, (source, event))| Record {
        time: SimTime(1_000_000 * (index + 1) + 1),
        source: SourceId(source),
        event,
    };
    (0_u64..).zip(happened).map(record).collect()
}
