//! Events as a table: `events.parquet`, with a row for each event and a column for each property of any kind of event.

use ackclock_events::{AckArrived, ControllerState, Event, EventKind, PacketInfo, Record, SegmentSent, Source};
use ackclock_units::{Bandwidth, Bytes, SimDuration};

use crate::outcome::{Column, ColumnData, NO_NAME, Table};

/// The columns of an event, each with a value that all kinds of events with the column share.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    packet: Option<PacketInfo>,
    waited: Option<SimDuration>,
    cause: Option<&'static str>,
    offset: Option<u64>,
    size: Option<Bytes>,
    is_retransmission: Option<bool>,
    ack: Option<AckArrived>,
    cwnd: Option<Bytes>,
    cwnd_before: Option<Bytes>,
    ssthresh: Option<Bytes>,
    flight_size: Option<Bytes>,
    lost: Option<Bytes>,
    until: Option<u64>,
    expiries: Option<u32>,
    rto: Option<SimDuration>,
    states: Option<ControllerState>,
    buffered: Option<Bytes>,
    held: Option<SimDuration>,
}

impl From<&Event> for Row {
    fn from(event: &Event) -> Self {
        let row = Self::default();
        match *event {
            Event::PacketSent { packet, waited } => Self { waited: Some(waited), ..of_packet(packet) },
            Event::PacketDropped { packet, cause } => Self { cause: Some(cause.name()), ..of_packet(packet) },
            Event::PacketMarked { packet } | Event::PacketDelivered { packet } => of_packet(packet),
            Event::SegmentSent(sent) => of_segment(&sent),
            Event::AckArrived(ack) => of_ack(ack),
            Event::MarkedLost { lost, by } => Self { lost: Some(lost), cause: Some(by.name()), ..row },
            Event::RecoveryEntered { cause, until, cwnd_before, cwnd, ssthresh } => Self {
                cause: Some(cause.name()),
                until: Some(until),
                cwnd_before: Some(cwnd_before),
                cwnd: Some(cwnd),
                ssthresh,
                ..row
            },
            Event::RecoveryLeft { cwnd } | Event::Undone { cwnd } => Self { cwnd: Some(cwnd), ..row },
            Event::TimedOut { in_a_row, rto } => Self { expiries: Some(in_a_row), rto: Some(rto), ..row },
            Event::ProbeSent { kind } => Self { cause: Some(kind.name()), ..row },
            Event::ControllerState(states) => Self { states: Some(states), ..row },
            Event::SlowStartExited { cause, cwnd } => Self { cause: Some(cause.name()), cwnd: Some(cwnd), ..row },
            Event::RelayHeld { buffered } => Self { buffered: Some(buffered), ..row },
            Event::RelayReleased { buffered, held } => Self { buffered: Some(buffered), held: Some(held), ..row },
        }
    }
}

fn of_packet(packet: PacketInfo) -> Row {
    Row { packet: Some(packet), size: Some(packet.size), ..Row::default() }
}

fn of_segment(sent: &SegmentSent) -> Row {
    Row {
        offset: Some(sent.offset),
        size: Some(sent.size),
        is_retransmission: Some(sent.is_retransmission),
        flight_size: Some(sent.flight_size),
        ..Row::default()
    }
}

fn of_ack(ack: AckArrived) -> Row {
    Row {
        offset: Some(ack.acknowledged),
        cwnd: Some(ack.cwnd),
        ssthresh: ack.ssthresh,
        flight_size: Some(ack.flight_size),
        rto: Some(ack.rto),
        ack: Some(ack),
        ..Row::default()
    }
}

/// The recorded events of a run that were not taken before its end.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// Sources of the events, in the order of their numbers; empty if none are requested.
    pub sources: Vec<Source>,
    /// Records in the order of their times.
    pub records: Vec<Record>,
    pub(crate) flow_names: Vec<String>,
}

impl EventLog {
    /// True if none were requested.
    pub fn is_unwanted(&self) -> bool {
        self.sources.is_empty()
    }

    /// A table with a row for each event; without columns if none were requested.
    pub fn table(&self) -> Table {
        if self.is_unwanted() {
            return Table::default();
        }
        events_table(&self.records, &self.sources, &self.flow_names)
    }
}

/// The table of these records; `flows` are the names of the scenario's own.
fn events_table(records: &[Record], sources: &[Source], flows: &[String]) -> Table {
    let kinds = EventKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    let times = records.iter().map(|record| record.time.as_secs_f64()).collect();
    let mut columns = vec![
        column("time_s", ColumnData::F64(times)),
        names("source", records.iter().map(|record| record.source.0), source_names(sources)),
        names("kind", records.iter().map(|record| record.event.kind() as u32), kinds),
    ];
    let rows = || records.iter().map(|record| Row::from(&record.event));
    let known = |flow: u32| if (flow as usize) < flows.len() { flow } else { NO_NAME };
    let of_packet = |row: Row| row.packet.map_or(NO_NAME, |packet| known(packet.flow));
    columns.push(names("flow", rows().map(of_packet), flows.to_vec()));
    columns.push(texts("cause", rows().map(|row| row.cause)));
    columns.extend(packets(&rows));
    columns.extend(amounts(&rows));
    columns.extend(measures(&rows));
    columns.push(texts("from_state", rows().map(|row| row.states.map(|states| states.from))));
    columns.push(texts("to_state", rows().map(|row| row.states.map(|states| states.to))));
    Table { columns }
}

fn source_names(sources: &[Source]) -> Vec<String> {
    sources.iter().map(|source| source.name.clone()).collect()
}

fn packets<I: Iterator<Item = Row>>(rows: &impl Fn() -> I) -> Vec<Column> {
    let counts = |name, value: fn(&PacketInfo) -> u64| {
        column(name, ColumnData::MaybeU64(rows().map(|row| row.packet.as_ref().map(value)).collect()))
    };
    let is_forward = rows().map(|row| row.packet.map(|packet| packet.is_forward)).collect();
    vec![
        counts("flow_number", |packet| u64::from(packet.flow)),
        column("is_forward", ColumnData::MaybeBool(is_forward)),
        counts("sequence", |packet| u64::from(packet.sequence)),
        counts("acknowledgment", |packet| u64::from(packet.acknowledgment)),
        counts("tcp_flags", |packet| u64::from(packet.flags.0)),
        counts("payload_bytes", |packet| packet.payload.0),
        texts("ecn", rows().map(|row| row.packet.map(|packet| packet.ecn_name()))),
    ]
}

fn amounts<I: Iterator<Item = Row>>(rows: &impl Fn() -> I) -> Vec<Column> {
    let counts = |name, value: fn(&Row) -> Option<u64>| {
        column(name, ColumnData::MaybeU64(rows().map(|row| value(&row)).collect()))
    };
    let octets = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    let bytes = |name, value: fn(&Row) -> Option<Bytes>| {
        column(name, ColumnData::MaybeU64(rows().map(|row| octets(value(&row))).collect()))
    };
    let again = rows().map(|row| row.is_retransmission).collect();
    vec![
        counts("offset_bytes", |row| row.offset),
        bytes("size_bytes", |row| row.size),
        column("is_retransmission", ColumnData::MaybeBool(again)),
        bytes("newly_delivered_bytes", |row| row.ack.map(|ack| ack.newly_delivered)),
        bytes("lost_bytes", |row| row.lost),
        counts("until_bytes", |row| row.until),
        bytes("cwnd_before_bytes", |row| row.cwnd_before),
        bytes("cwnd_bytes", |row| row.cwnd),
        bytes("ssthresh_bytes", |row| row.ssthresh),
        bytes("flight_size_bytes", |row| row.flight_size),
        bytes("buffered_bytes", |row| row.buffered),
        counts("in_a_row", |row| row.expiries.map(u64::from)),
        counts("pacing_rate_bps", |row| row.ack.and_then(|ack| ack.pacing_rate).map(|Bandwidth(rate)| rate)),
    ]
}

fn measures<I: Iterator<Item = Row>>(rows: &impl Fn() -> I) -> Vec<Column> {
    let seconds = |name, value: fn(&Row) -> Option<SimDuration>| {
        let number = |row: Row| value(&row).map_or(f64::NAN, SimDuration::as_secs_f64);
        column(name, ColumnData::F64(rows().map(number).collect()))
    };
    vec![
        seconds("waited_s", |row| row.waited),
        seconds("rtt_sample_s", |row| row.ack.and_then(|ack| ack.rtt_sample)),
        seconds("srtt_s", |row| row.ack.and_then(|ack| ack.srtt)),
        seconds("rttvar_s", |row| row.ack.and_then(|ack| ack.rttvar)),
        seconds("rto_s", |row| row.rto),
        seconds("held_s", |row| row.held),
    ]
}

fn column(name: &'static str, data: ColumnData) -> Column {
    Column { name: name.into(), data }
}

fn names(name: &'static str, codes: impl Iterator<Item = u32>, names: Vec<String>) -> Column {
    column(name, ColumnData::Name { codes: codes.collect(), names })
}

/// A column of few texts: each is stored once, in the order of its first occurrence.
fn texts(name: &'static str, values: impl Iterator<Item = Option<&'static str>>) -> Column {
    let mut known: Vec<String> = Vec::new();
    let code = |value: Option<&'static str>| {
        let Some(value) = value else { return NO_NAME };
        let place = known.iter().position(|known| known == value).unwrap_or_else(|| {
            known.push(value.to_owned());
            known.len() - 1
        });
        place as u32
    };
    let codes = values.map(code).collect::<Vec<u32>>();
    names(name, codes.into_iter(), known)
}
