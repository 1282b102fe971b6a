//! A whole simulation: checked values, ready to run. The scenario crate makes these from a file.

use std::sync::Arc;

use ackclock_cc::ControllerConfig;
use ackclock_net::{ConnectionIndex, LinkId, NetworkConfig, NodeId};
use ackclock_quic::QuicConfig;
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::appliance::{ApplianceConfig, SplitConfig};
use crate::ids::{FlowId, RelayId};
use crate::traffic::{ExternalSourceConfig, SizeDistribution, TrafficConfig, VideoConfig};
use crate::watch::EventSelection;

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationConfig {
    /// Name of the scenario.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// The simulated time.
    pub duration: SimDuration,
    /// The window of averages.
    pub measure: MeasureWindow,
    /// Nodes, links and discarders.
    pub network: NetworkConfig,
    /// The TCP connections that the scenario lists.
    pub flows: Vec<FlowConfig>,
    /// Nodes that split connections.
    pub appliances: Vec<ApplianceConfig>,
    /// The flows that they split, ordered by flow, then along its path.
    pub splits: Vec<SplitConfig>,
    /// Short flows that come and go, and datagrams.
    pub traffic: TrafficConfig,
    /// Series to record over time.
    pub trace: TraceConfig,
}

impl SimulationConfig {
    /// Number of TCP connections of the flows: one each, and one more for each appliance on their path.
    pub fn connections(&self) -> usize {
        self.flows.len() + self.splits.len()
    }

    /// The connection that a flow's opener opens.
    pub(crate) fn first_connection(flow: FlowId) -> ConnectionIndex {
        ConnectionIndex::new(flow.index())
    }

    /// The network with every list of flows in it turned into one of connections.
    pub(crate) fn network_of_connections(&self) -> NetworkConfig {
        let mut network = self.network.clone();
        for list in network.connection_lists() {
            *list = list.iter().flat_map(|&number| self.connections_of(number)).collect();
        }
        network
    }

    /// True if some flow is one of QUIC.
    pub(crate) fn has_quic(&self) -> bool {
        self.flows.iter().any(|flow| flow.quic.is_some())
    }

    /// True if the host of some flow's sender captures it.
    pub(crate) fn has_captured_flows(&self) -> bool {
        let TrafficConfig { arrivals, datagrams } = &self.traffic;
        self.flows.iter().chain(arrivals.iter().map(|group| &group.flow)).any(|flow| flow.capture)
            || datagrams.iter().any(|flow| flow.capture)
    }

    /// The connections of the flow with this number; numbers after those of flows belong to datagrams.
    pub(crate) fn connections_of(&self, number: usize) -> Vec<usize> {
        let flows = self.flows.len();
        if number >= flows {
            return vec![number + self.splits.len()];
        }
        let splits = self.splits.iter().enumerate().filter(|(_, split)| split.flow == number);
        [number].into_iter().chain(splits.map(|(index, _)| flows + index)).collect()
    }

    /// The connection that a listed relay opens.
    pub(crate) fn connection_after(&self, relay: RelayId) -> ConnectionIndex {
        ConnectionIndex::new(self.flows.len() + relay.index())
    }

    /// The connection that ends where a listed relay opens another.
    pub(crate) fn connection_before(&self, relay: RelayId) -> ConnectionIndex {
        let flow = self.splits[relay.index()].flow;
        match relay.index().checked_sub(1) {
            Some(before) if self.splits[before].flow == flow => self.connection_after(RelayId::new(before)),
            _ => Self::first_connection(FlowId::new(flow)),
        }
    }

    /// The connection whose acceptor is the flow's own.
    pub(crate) fn last_connection(&self, flow: FlowId) -> ConnectionIndex {
        match self.splits.partition_point(|split| split.flow <= flow.index()).checked_sub(1) {
            Some(last) if self.splits[last].flow == flow.index() => self.connection_after(RelayId::new(last)),
            _ => Self::first_connection(flow),
        }
    }

    /// The relay that opens a connection; `None` if the flow's own opener does.
    pub(crate) fn relay_before(&self, connection: ConnectionIndex) -> Option<RelayId> {
        connection.index().checked_sub(self.flows.len()).map(RelayId::new)
    }

    /// The flow that a connection carries.
    pub(crate) fn flow_of(&self, connection: ConnectionIndex) -> FlowId {
        let relay = self.relay_before(connection);
        FlowId::new(relay.map_or(connection.index(), |relay| self.splits[relay.index()].flow))
    }

    /// The relay where a connection ends; `None` if it ends at the flow's acceptor.
    pub(crate) fn relay_after(&self, connection: ConnectionIndex) -> Option<RelayId> {
        let flow = self.flow_of(connection).index();
        let index = match self.relay_before(connection) {
            Some(relay) => relay.index() + 1,
            None => self.splits.partition_point(|split| split.flow < flow),
        };
        self.splits.get(index).filter(|split| split.flow == flow).map(|_| RelayId::new(index))
    }
}

/// The window of averages: goodput, utilisation, percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureWindow {
    /// `None`: each flow from its own start, links from time zero.
    pub from: Option<SimTime>,
    /// `None`: each flow to its completion or the end, links to the end.
    pub until: Option<SimTime>,
}

impl MeasureWindow {
    /// True if it excludes a part of the run.
    pub fn is_narrower(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// Begin and end of the window in a run of this length.
    pub fn within(&self, end: SimTime) -> [SimTime; 2] {
        [self.from.unwrap_or(SimTime::ZERO), self.until.unwrap_or(end)]
    }

    /// True if events at `time` count.
    pub fn holds(&self, time: SimTime) -> bool {
        self.from.is_none_or(|from| time >= from) && self.until.is_none_or(|until| time < until)
    }

    /// Part of the time between two moments that lies in the window.
    pub fn overlap(&self, since: SimTime, now: SimTime) -> SimDuration {
        let from = self.from.map_or(since, |from| since.max(from));
        let until = self.until.map_or(now, |until| now.min(until));
        until.saturating_since(from)
    }
}

/// One TCP connection and the application on it.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// The name, which is unique in the scenario.
    pub name: String,
    /// The host that opens the connection and sends.
    pub from: NodeId,
    /// The host that accepts and receives.
    pub to: NodeId,
    /// Time at which the connection is opened.
    pub start: SimTime,
    /// Congestion control of both ends.
    pub controller: ControllerConfig,
    /// Name of the controller in the scenario ("tahoe"), for results.
    pub controller_name: String,
    /// Name of the stack profile of the sending end, for results.
    pub profile: &'static str,
    /// QUIC in place of TCP, whose configurations are then ignored except for the noise of hosts.
    pub quic: Option<Arc<QuicConfig>>,
    /// TCP at the sending end; shared by all alike flows.
    pub sender: Arc<TcpConfig>,
    /// TCP at the receiving end.
    pub receiver: Arc<TcpConfig>,
    /// The application at the sending end.
    pub app: AppConfig,
    /// Data that the receiving host sends back on the same connection, if any.
    pub reply: Option<AppConfig>,
    /// Rate at which the receiving application reads; `None` reads at once.
    pub read_rate: Option<Bandwidth>,
    /// Time at which the receiving application stops reading for good.
    pub stops_reading: Option<SimTime>,
    /// False if nothing listens at the receiving host.
    pub accepts: bool,
    /// Time at which the sending application resets the connection.
    pub abort_at: Option<SimTime>,
    /// Port of the receiving end, in captures.
    pub port: u16,
    /// True if the sending host records its packets, for a pcapng file.
    pub capture: bool,
}

/// An application: the octets that it writes to a connection, and their times.
#[derive(Clone, Debug, PartialEq)]
pub enum AppConfig {
    /// Writes without end, as fast as the connection takes it.
    Bulk,
    /// Writes files in turn: each begins `gap` after the receiver has read the last completely. The connection is
    /// closed after the last.
    Files {
        /// The sizes of the files, in order.
        sizes: Vec<Bytes>,
        /// Time from the end of one file to the beginning of the next.
        gap: SimDuration,
    },
    /// Writes during on periods, and is silent during off periods.
    OnOff {
        /// Length of an on period.
        on: Span,
        /// Length of an off period.
        off: Span,
        /// Rate at which it writes; `None` writes as fast as the connection takes it.
        rate: Option<Bandwidth>,
    },
    /// Sends requests in turn; the acceptor answers each with a response on the same connection, which is closed after
    /// the last.
    RequestResponse {
        /// Sizes of the requests.
        request: SizeDistribution,
        /// Sizes of the responses.
        response: SizeDistribution,
        /// Time from the end of a response to the next request.
        think: Span,
        /// The number of requests.
        count: u64,
    },
    /// Downloads a video segment by segment and chooses the bitrate of each.
    Video(VideoConfig),
    /// A source that is external to this crate.
    External(ExternalSourceConfig),
}

impl AppConfig {
    /// True if the acceptor answers requests of the opener.
    pub fn has_responses(&self) -> bool {
        matches!(self, Self::RequestResponse { .. } | Self::Video(_))
    }
}

/// A length of time that may be random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A constant length.
    Constant(SimDuration),
    /// Exponentially distributed with this mean.
    Exponential(SimDuration),
}

/// A quantity of a flow that can be recorded over time. Column names (with units) are in [`FlowSeries::column`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum FlowSeries {
    /// Congestion window in bytes.
    Cwnd,
    /// Slow-start threshold, bytes; null while arbitrarily high.
    Ssthresh,
    /// Flight size, bytes.
    FlightSize,
    /// Smoothed RTT, seconds; null before the first sample.
    Srtt,
    /// RTT variation in seconds.
    Rttvar,
    /// Retransmission timeout with its back-off, seconds.
    Rto,
    /// Latest RTT sample, seconds.
    RttSample,
    /// Receive window that the peer advertised, bytes.
    Rwnd,
    /// Bits sent per second (payload, retransmissions included) since the previous sample.
    Throughput,
    /// Bits per second that the receiving application got in order since the previous sample.
    Goodput,
    /// Number of segments for one requested ACK; null without ACK congestion control.
    AckRatio,
}

/// A quantity of a link that can be recorded over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LinkSeries {
    /// Packets waiting for the link.
    QueueLength,
    /// Octets waiting for the link.
    QueueBytes,
    /// Packets dropped since the previous sample.
    Drops,
    /// Bits carried per second (framing included) since the previous sample.
    Throughput,
    /// Packets marked since the previous sample.
    Marks,
    /// Wait at the link, seconds.
    QueueDelay,
    /// Probability with which the discipline drops or marks; null if it has none.
    DropProbability,
    /// Average queue of the discipline, packets; null if it does not average.
    AverageQueue,
}

impl FlowSeries {
    /// Every series, in column order.
    pub const ALL: [Self; 11] = [
        Self::Cwnd,
        Self::Ssthresh,
        Self::FlightSize,
        Self::Srtt,
        Self::Rttvar,
        Self::Rto,
        Self::RttSample,
        Self::Rwnd,
        Self::Throughput,
        Self::Goodput,
        Self::AckRatio,
    ];

    /// The name of the series in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cwnd => "cwnd",
            Self::Ssthresh => "ssthresh",
            Self::FlightSize => "flight_size",
            Self::Srtt => "srtt",
            Self::Rttvar => "rttvar",
            Self::Rto => "rto",
            Self::RttSample => "rtt_sample",
            Self::Rwnd => "rwnd",
            Self::Throughput => "throughput",
            Self::Goodput => "goodput",
            Self::AckRatio => "ack_ratio",
        }
    }

    /// The column of the series in `flows.parquet`, with the unit.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Cwnd => "cwnd_bytes",
            Self::Ssthresh => "ssthresh_bytes",
            Self::FlightSize => "flight_size_bytes",
            Self::Srtt => "srtt_s",
            Self::Rttvar => "rttvar_s",
            Self::Rto => "rto_s",
            Self::RttSample => "rtt_sample_s",
            Self::Rwnd => "rwnd_bytes",
            Self::Throughput => "throughput_bps",
            Self::Goodput => "goodput_bps",
            Self::AckRatio => "ack_ratio",
        }
    }
}

impl LinkSeries {
    /// Name of the series' internal in a queue discipline, if only a discipline knows it.
    pub const fn internal(self) -> Option<&'static str> {
        match self {
            Self::DropProbability => Some("drop_probability"),
            Self::AverageQueue => Some("average_packets"),
            _ => None,
        }
    }

    /// Every series, in column order.
    pub const ALL: [Self; 8] = [
        Self::QueueLength,
        Self::QueueBytes,
        Self::Drops,
        Self::Throughput,
        Self::Marks,
        Self::QueueDelay,
        Self::DropProbability,
        Self::AverageQueue,
    ];

    /// Default series of links when all have DropTail queues.
    pub const OF_DROP_TAIL: [Self; 4] = [Self::QueueLength, Self::QueueBytes, Self::Drops, Self::Throughput];

    /// The name of the series in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueLength => "queue_length",
            Self::QueueBytes => "queue_bytes",
            Self::Drops => "drops",
            Self::Throughput => "throughput",
            Self::Marks => "marks",
            Self::QueueDelay => "queue_delay",
            Self::DropProbability => "drop_probability",
            Self::AverageQueue => "average_queue",
        }
    }

    /// The column of the series in `links.parquet`, with the unit.
    pub const fn column(self) -> &'static str {
        match self {
            Self::QueueLength => "queue_packets",
            Self::QueueBytes => "queue_bytes",
            Self::Drops => "drops",
            Self::Throughput => "throughput_bps",
            Self::Marks => "marks",
            Self::QueueDelay => "queue_delay_s",
            Self::DropProbability => "drop_probability",
            Self::AverageQueue => "average_queue_packets",
        }
    }
}

/// Times at which a flow's series are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Samples at multiples of this interval.
    Interval(SimDuration),
    /// Samples at each ACK and timer of the sender; links use the interval given.
    Events(SimDuration),
}

/// Values and events to record over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// Times at which values are recorded.
    pub sampling: Sampling,
    /// Series of flows; empty records none.
    pub flows: Vec<FlowSeries>,
    /// Names of the controllers' internals to record.
    pub internals: Vec<String>,
    /// Series of links; empty records none.
    pub links: Vec<LinkSeries>,
    /// Links of the network whose series are recorded.
    pub traced_links: Vec<LinkId>,
    /// Events to record, if any.
    pub events: Option<EventSelection>,
}
