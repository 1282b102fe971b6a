//! Results of a run: a summary, tables of columns, captures.

use std::borrow::Cow;

use ackclock_tcp::{Activity, Spent};
use ackclock_units::SimDuration;
use serde::Serialize;

use crate::appliance::ApplianceSummary;
use crate::capture::Capture;
use crate::events_table::EventLog;
use crate::traffic::{DatagramSummary, ExchangeSummary, GroupSummary, VideoSummary};

/// Everything that a finished run produced. The same configuration and seed give the same bytes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Averages and counts: what `summary.json` holds.
    pub summary: Summary,
    /// Series of flows: `time_s`, `flow`, then the requested columns.
    pub flows: Table,
    /// Series of links: `time_s`, `link`, then the requested columns.
    pub links: Table,
    /// One row for each congestion episode, at an appliance's ends, too; short flows have none.
    pub episodes: Table,
    /// One row for each short flow and each exchange that was completed.
    pub completions: Table,
    /// Series of appliances: `time_s`, `appliance`, `flow`, `direction`, then what there is of each direction through them.
    pub appliances: Table,
    /// Series of flows of interactive media: `time_s`, `flow`, then what there is of each.
    pub media: Table,
    /// The events that were wanted and not taken before the end.
    pub events: EventLog,
    /// Packets of the links with a capture.
    pub captures: Vec<Capture>,
    /// Work of the engine.
    pub engine: EngineCounters,
}

/// Work of the engine; not part of the results, since it says nothing of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EngineCounters {
    /// Events that the loop has handled.
    pub events: u64,
    /// Data packets delivered to a receiving endpoint.
    pub packets_delivered: u64,
}

/// Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, in the order of the results' files.
    pub columns: Vec<Column>,
}

/// A named column; the name carries the unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, which ends in the unit: `cwnd_bytes`, `srtt_s`.
    pub name: Cow<'static, str>,
    /// The values, one for each row.
    pub data: ColumnData,
}

/// Code of an absent value in a column of texts.
pub const NO_NAME: u32 = u32::MAX;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnData {
    /// Numbers; NaN means that there is no value.
    F64(Vec<f64>),
    /// Counts, and amounts in bytes.
    U64(Vec<u64>),
    /// True or false for each row.
    Bool(Vec<bool>),
    /// Counts, and amounts in bytes, of which some may be missing.
    MaybeU64(Vec<Option<u64>>),
    /// True or false, or missing.
    MaybeBool(Vec<Option<bool>>),
    /// Texts out of a few: an index into `names` for each row.
    Name {
        /// One for each row; [`NO_NAME`] means that there is no value.
        codes: Vec<u32>,
        /// Names of the codes.
        names: Vec<String>,
    },
}

/// Averages and counts of a run, as `summary.json` has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// Begin and end of the scenario's measurement window, in seconds; null where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_s: Option<[f64; 2]>,
    /// Jain's fairness index of the goodputs of the flows that were under way in the measurement window, of both directions of a
    /// connection together; null when all are zero.
    pub jain_index: Option<f64>,
    /// Flows in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// Links in the scenario's order.
    pub links: Vec<LinkSummary>,
    /// Appliances, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appliances: Vec<ApplianceSummary>,
    /// Groups of short flows, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSummary>,
    /// Flows of datagrams, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datagrams: Vec<DatagramSummary>,
}

/// One flow over the measurement window; counts of segments are over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name in the scenario.
    pub name: String,
    /// Name of the controller in the scenario.
    pub controller: String,
    /// The stack profile of the sending end.
    pub profile: &'static str,
    /// Time at which the connection was opened, in seconds.
    pub start_s: f64,
    /// Time at which the receiving application had everything, in seconds; null if it has not, or if there is no end.
    pub completion_s: Option<f64>,
    /// Payload that the receiving application got in order, in bit/s: over the part of the measurement window between the flow's
    /// start and its completion.
    pub goodput_bps: f64,
    /// Payload sent, retransmissions included, over the same time, in bit/s.
    pub throughput_bps: f64,
    /// Payload that the receiving application read, over the whole run.
    pub delivered_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Data segments sent again.
    pub retransmitted_segments: u64,
    /// Segments that the sender took for lost.
    pub lost_segments: u64,
    /// Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included.
    pub timeouts: u64,
    /// Times that fast recovery (Tahoe: fast retransmit) began.
    pub fast_recoveries: u64,
    /// True if the connection was given up after too many timeouts, or was reset.
    pub aborted: bool,
    /// Counts within the scenario's measurement window; null where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowCounts>,
    /// The sender's limits over the life of the connection; null for QUIC, and for a connection that never was open.
    pub limited_by: Option<LimitShares>,
    /// RTT samples, in milliseconds; null when there were none.
    pub rtt_ms: Option<Distribution>,
    /// Exchanges of an application that makes requests; null for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<ExchangeSummary>,
    /// Playback of a video client; null for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoSummary>,
}

/// Shares of a connection's time, by what kept its sender from sending more. They add up to 1, but for `busy`, which is one of its
/// own. Time counts from the end of the handshake until the FIN is acknowledged or the connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitShares {
    /// Share of time with a full congestion window; null, as others are, where Linux's sockets do not report it.
    pub cwnd: Option<f64>,
    /// The receiver's window was full (Linux's `rwnd_limited`).
    pub rwnd: f64,
    /// The send buffer was full of data that had left (Linux's `sndbuf_limited`).
    pub send_buffer: f64,
    /// The application had nothing more to send.
    pub application: Option<f64>,
    /// The pacer's time had not come.
    pub pacing: Option<f64>,
    /// Enough waited at the host itself.
    pub host: Option<f64>,
    /// Something was outstanding or waited to be sent (Linux's `busy_time`).
    pub busy: f64,
}

impl LimitShares {
    /// The shares of this time; `None` if it is none.
    pub fn of(spent: &Spent) -> Option<Self> {
        let total = spent.total();
        let share = |time: SimDuration| time.0 as f64 / total.0 as f64;
        let on = |activity| share(spent.on(activity));
        (!total.is_zero()).then(|| Self {
            cwnd: Some(on(Activity::Cwnd)),
            rwnd: on(Activity::PeerWindow),
            send_buffer: on(Activity::SendBuffer),
            application: Some(share(spent.on(Activity::Application) + spent.on(Activity::Idle))),
            pacing: Some(on(Activity::Pacing)),
            host: Some(on(Activity::Host)),
            busy: share(spent.busy()),
        })
    }
}

/// Counts of a flow's sender within the measurement window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WindowCounts {
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Data segments sent again.
    pub retransmitted_segments: u64,
    /// Segments that the sender took for lost.
    pub lost_segments: u64,
    /// Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included.
    pub timeouts: u64,
    /// Times that fast recovery (Tahoe: fast retransmit) began.
    pub fast_recoveries: u64,
    /// The sender's limits in the window; null as those of the whole run are, and for a connection that was not open in it.
    pub limited_by: Option<LimitShares>,
}

/// A distribution in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Smallest value.
    pub min: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Median of the values.
    pub p50: f64,
    /// Value at the 95th percentile.
    pub p95: f64,
    /// Value at the 99th percentile.
    pub p99: f64,
}

/// One link over the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Name in the scenario.
    pub name: String,
    /// Fraction of the window in which the link was sending; where its rate changes, fraction of the octets that it could
    /// have sent.
    pub utilization: f64,
    /// Packets that came out at the far end.
    pub delivered_packets: u64,
    /// Packets dropped by the queue or a discarder.
    pub drops: u64,
    /// Packets marked by the queue (CE).
    pub marks: u64,
    /// Packets that the link lost after it had sent them.
    pub losses: u64,
    /// Packets that the link delivered twice.
    pub duplicates: u64,
    /// Packets that came out after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Packets waiting, weighted by time.
    pub queue_packets: QueueSummary,
    /// Waiting time of each packet before its service, in milliseconds.
    pub queueing_delay_ms: QueueSummary,
}

/// A queue in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Mean of the level.
    pub mean: f64,
    /// Level at the 95th percentile.
    pub p95: f64,
    /// Largest level.
    pub max: f64,
}
