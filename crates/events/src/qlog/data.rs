//! The data of each event, in the fields that the log has.

use ackclock_units::{Bytes, SimDuration};
use ackclock_wire::{Ecn, Flags};
use serde::Serialize;

use super::{SCHEMA, Source, SourceKind};
use crate::event::{
    AckArrived, ControllerState, DropCause, Event, LossDetection, PacketInfo, ProbeKind, SegmentSent, SlowStartExit,
};

/// The first text of a log.
#[derive(Debug, Serialize)]
pub(super) struct Header<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: String,
    trace: Trace<'a>,
}

#[derive(Debug, Serialize)]
struct Trace<'a> {
    vantage_point: VantagePoint<'a>,
    common_fields: CommonFields<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Debug, Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct CommonFields<'a> {
    group_id: &'a str,
    time_format: &'static str,
    reference_time: ReferenceTime,
}

#[derive(Debug, Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

impl<'a> Header<'a> {
    pub(super) fn of(source: &'a Source) -> Self {
        // The sender opens a flow's connection. What stands between two ends says which way packets go, if it knows.
        let (kind, r#type, flow) = match source.kind {
            SourceKind::Flow => ("flow", "client", None),
            SourceKind::Relay => ("appliance", "network", Some("unknown")),
            SourceKind::Link => ("link", "network", Some("unknown")),
        };
        let Source { name, controller, .. } = source;
        let by = if controller.is_empty() { String::new() } else { format!(" ({controller})") };
        let vantage_point = VantagePoint { name, r#type, flow };
        let reference_time = ReferenceTime { clock_type: "monotonic", epoch: "unknown" };
        let common_fields = CommonFields { group_id: name, time_format: "relative_to_epoch", reference_time };
        Self {
            file_schema: "urn:ietf:params:qlog:file:sequential",
            serialization_format: "application/qlog+json-seq",
            title: format!("{kind} {name}{by}"),
            trace: Trace { vantage_point, common_fields, event_schemas: [SCHEMA] },
        }
    }
}

/// Data of `segment_sent`.
#[derive(Debug, Serialize)]
pub(super) struct SegmentData {
    offset: u64,
    length: u64,
    is_retransmission: bool,
}

impl SegmentData {
    pub(super) fn of(sent: &SegmentSent) -> Self {
        Self { offset: sent.offset, length: sent.size.0, is_retransmission: sent.is_retransmission }
    }
}

/// Data of `ack_received`.
#[derive(Debug, Serialize)]
pub(super) struct AckReceived {
    acknowledged: u64,
    newly_delivered: u64,
}

impl AckReceived {
    pub(super) fn of(ack: &AckArrived) -> Self {
        Self { acknowledged: ack.acknowledged, newly_delivered: ack.newly_delivered.0 }
    }
}

/// Data of most events: each has some of these fields.
#[derive(Debug, Default, Serialize)]
pub(super) struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rto: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

/// State without a recovery.
pub(super) const OPEN: &str = "open";

/// Data of `recovery_state_updated`.
pub(super) fn recovery_state(old: &'static str, new: &'static str, event: &Event) -> Fields {
    let fields = Fields { old: Some(old), new: Some(new), ..Fields::default() };
    match *event {
        Event::RecoveryEntered { until, cwnd_before, cwnd, .. } => Fields {
            until: Some(until),
            old_congestion_window: Some(cwnd_before.0),
            congestion_window: Some(cwnd.0),
            ..fields
        },
        Event::RecoveryLeft { cwnd } => Fields { congestion_window: Some(cwnd.0), ..fields },
        _ => fields,
    }
}

/// Data of `packets_lost`.
pub(super) fn lost(lost: Bytes, by: LossDetection) -> Fields {
    let trigger = match by {
        LossDetection::Acks => "reordering_threshold",
        LossDetection::Time => "time_threshold",
        LossDetection::Timeout => "rto_expired",
    };
    Fields { length: Some(lost.0), trigger: Some(trigger), ..Fields::default() }
}

/// Data of `loss_timer_updated`.
pub(super) fn timed_out(in_a_row: u32, rto: SimDuration) -> Fields {
    Fields {
        timer_type: Some("rto"),
        event_type: Some("expired"),
        expiries: Some(in_a_row),
        rto: Some(rto.as_millis_f64()),
        ..Fields::default()
    }
}

/// Data of `recovery_undone`.
pub(super) fn undone(cwnd: Bytes) -> Fields {
    Fields { congestion_window: Some(cwnd.0), ..Fields::default() }
}

/// Data of `probe_sent`.
pub(super) fn probe(kind: ProbeKind) -> Fields {
    Fields { trigger: Some(kind.name()), ..Fields::default() }
}

/// Data of `congestion_state_updated`.
pub(super) fn controller_state(ControllerState { from, to }: ControllerState) -> Fields {
    Fields { old: Some(from), new: Some(to), ..Fields::default() }
}

/// Data of `slow_start_exited`.
pub(super) fn slow_start_exited(cause: SlowStartExit, cwnd: Bytes) -> Fields {
    Fields { congestion_window: Some(cwnd.0), trigger: Some(cause.name()), ..Fields::default() }
}

/// Data of `relay_held`.
pub(super) fn relay_held(buffered: Bytes) -> Fields {
    Fields { buffered: Some(buffered.0), ..Fields::default() }
}

/// Data of `relay_released`.
pub(super) fn relay_released(buffered: Bytes, held: SimDuration) -> Fields {
    Fields { held: Some(held.as_millis_f64()), ..relay_held(buffered) }
}

/// Data of link events.
#[derive(Debug, Serialize)]
pub(super) struct PacketData {
    flow: u32,
    direction: &'static str,
    header: PacketHeader,
    ecn: &'static str,
    raw: RawInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    queueing_delay: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct PacketHeader {
    sequence_number: u32,
    acknowledgment_number: u32,
    flags: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct RawInfo {
    length: u64,
    payload_length: u64,
}

impl PacketData {
    pub(super) fn of(packet: &PacketInfo) -> Self {
        Self {
            flow: packet.flow,
            direction: if packet.is_forward { "forward" } else { "backward" },
            header: PacketHeader {
                sequence_number: packet.sequence,
                acknowledgment_number: packet.acknowledgment,
                flags: flag_names(packet.flags),
            },
            ecn: match packet.ecn {
                Ecn::NotEct => "Not-ECT",
                Ecn::Ect1 => "ECT(1)",
                Ecn::Ect0 => "ECT(0)",
                Ecn::Ce => "CE",
            },
            raw: RawInfo { length: packet.size.0, payload_length: packet.payload.0 },
            queueing_delay: None,
            trigger: None,
        }
    }

    pub(super) fn waited(self, waited: SimDuration) -> Self {
        Self { queueing_delay: Some(waited.as_millis_f64()), ..self }
    }

    pub(super) fn dropped_by(self, cause: DropCause) -> Self {
        Self { trigger: Some(cause.name()), ..self }
    }
}

fn flag_names(flags: Flags) -> Vec<&'static str> {
    const NAMES: [(Flags, &str); 8] = [
        (Flags::FIN, "FIN"),
        (Flags::SYN, "SYN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::ACK, "ACK"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
        (Flags::AE, "AE"),
    ];
    NAMES.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect()
}
