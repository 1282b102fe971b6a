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
    /// Averages and counts, the content of `summary.json`.
    pub summary: Summary,
    /// Series of flows: `time_s`, `flow`, then the requested columns.
    pub flows: Table,
    /// Series of links: `time_s`, `link`, then the requested columns.
    pub links: Table,
    /// One row for each congestion episode, at an appliance's ends, too; short flows have none.
    pub episodes: Table,
    /// One row for each short flow and each exchange that was completed.
    pub completions: Table,
    /// Series of appliances: `time_s`, `appliance`, `flow`, `direction`, then the values of each direction through
    /// them.
    pub appliances: Table,
    /// Series of flows of interactive media: `time_s`, `flow`, then the values of each.
    pub media: Table,
    /// The requested events that were not taken before the end.
    pub events: EventLog,
    /// Packets of the links with a capture.
    pub captures: Vec<Capture>,
    /// Work of the engine.
    pub engine: EngineCounters,
}

/// Work of the engine. It is not part of the results, since it does not describe the network.
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
    /// Counts, and amounts in bytes; some may be missing.
    MaybeU64(Vec<Option<u64>>),
    /// True or false, or missing.
    MaybeBool(Vec<Option<bool>>),
    /// Few texts: an index into `names` for each row.
    Name {
        /// Index for each row; [`NO_NAME`] means that there is no value.
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
    /// Begin and end of the scenario's measurement window, in seconds; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_s: Option<[f64; 2]>,
    /// Jain's fairness index of the goodputs of flows in the measurement window, where both directions of a connection
    /// count together; null when all are zero.
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
    /// Time at which the receiving application had all data, in seconds; null if it has not, or if there is no end.
    pub completion_s: Option<f64>,
    /// Payload read in order by the receiving application, in bit/s: over the part of the measurement window between
    /// the flow's start and its completion.
    pub goodput_bps: f64,
    /// Payload sent, retransmissions included, over the same time, in bit/s.
    pub throughput_bps: f64,
    /// Payload that the receiving application read, over the whole run.
    pub delivered_bytes: u64,
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Number of retransmitted segments.
    pub retransmitted_segments: u64,
    /// Segments that the sender marked lost.
    pub lost_segments: u64,
    /// Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included.
    pub timeouts: u64,
    /// Number of fast recoveries (Tahoe: fast retransmits).
    pub fast_recoveries: u64,
    /// True if the connection was given up after too many timeouts, or was reset.
    pub aborted: bool,
    /// Counts within the scenario's measurement window; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowCounts>,
    /// The sender's limits over the life of the connection; null for QUIC, and for a connection that was never open.
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

/// Shares of a connection's time, by the limit of its sender. They add up to 1, except for `busy`, which is separate.
/// Time counts from the end of the handshake until the FIN is acknowledged or the connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitShares {
    /// Share of time with a full congestion window; null, as are others, if Linux's sockets do not report it.
    pub cwnd: Option<f64>,
    /// Share of time with a full receive window (Linux's `rwnd_limited`).
    pub rwnd: f64,
    /// Share of time with a send buffer full of sent data (Linux's `sndbuf_limited`).
    pub send_buffer: f64,
    /// Share of time without data of the application.
    pub application: Option<f64>,
    /// Share of time in which the pacer held data back.
    pub pacing: Option<f64>,
    /// Share of time in which enough data waited at the host itself.
    pub host: Option<f64>,
    /// Share of time with outstanding or unsent data (Linux's `busy_time`).
    pub busy: f64,
}

impl LimitShares {
    /// The shares of this time; `None` if it is zero.
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
    /// Number of retransmitted segments.
    pub retransmitted_segments: u64,
    /// Segments that the sender marked lost.
    pub lost_segments: u64,
    /// Expiries of the retransmission timer, those of the sender's SYN or SYN-ACK included.
    pub timeouts: u64,
    /// Number of fast recoveries (Tahoe: fast retransmits).
    pub fast_recoveries: u64,
    /// The sender's limits in the window; null where those of the whole run are, and for a connection that was not open
    /// in it.
    pub limited_by: Option<LimitShares>,
}

/// A summary of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The smallest value.
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
    /// Fraction of the window in which the link was sending; where its rate changes, fraction of its capacity.
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

/// A summary of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Mean of the level.
    pub mean: f64,
    /// Level at the 95th percentile.
    pub p95: f64,
    /// The largest level.
    pub max: f64,
}
