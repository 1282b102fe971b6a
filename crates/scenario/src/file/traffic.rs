//! Traffic in a file: sizes, short flows, datagrams, requests, video.

use ackclock_sim::{LogNormalGaps, LogNormalSizes, ParetoSizes, QuicConfig, UdpProtocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds, table};
use super::{Duration, EventRate, Fields, List, Size, Spacing, TextOr};

/// A constant size, or a distribution of sizes.
pub(crate) type Sizes = TextOr<Size, Box<SizeTable>>;

table! {
    /// A distribution of sizes; exactly one field is set.
    pub(crate) struct SizeTable {
        /// A workload measured in a data centre.
        cdf: Workload,
        /// A file with one size per line, each as likely; or with a size and the fraction of flows of at most that size.
        file: String,
        /// SHA-256 that the file must have.
        sha256: String,
        /// Uniform between the first size and the second.
        uniform: List<Size>,
        /// Exponential, by its mean.
        exponential: Size,
        /// Pareto, with a heavy tail.
        pareto: Fields<ParetoSizes>,
        /// Log-normal: the logarithm is normal.
        log_normal: Fields<LogNormalSizes>,
    }
}

/// Flow sizes measured in a data centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Workload {
    /// The web-search cluster of DCTCP (2010): mean 1.67 MB.
    WebSearch,
    /// The data-mining cluster of VL2 (2009): mean 7.47 MB, half of the flows a single packet.
    DataMining,
}

table! {
    /// Short flows that arrive during the run, each on a connection of its own.
    pub(crate) struct ArrivalsTable {
        /// Arrivals per second, such as "1000 /s"; or give the load.
        rate: EventRate,
        /// Payload as a fraction of the slowest link's rate, in the direction with more payload.
        load: f64,
        /// Distribution of the times between arrivals; "poisson" by default.
        process: Process,
        /// Payload that the opener sends.
        size: Sizes,
        /// Payload that the acceptor sends back when it has read all; nothing by default.
        reply: Sizes,
        /// Arrivals one by one, from a file with the columns `start_s`, `size_bytes` and `reply_bytes`.
        file: String,
        /// SHA-256 that the file must have.
        sha256: String,
        /// Time of the last possible arrival; by default the end of the run.
        until: Duration,
        /// The largest number of arrivals; unlimited by default.
        count: u64,
        /// Upper ends of the size classes of the summary; 10 kB, 100 kB, 1 MB and 10 MB by default.
        buckets: List<Size>,
    }
}

kinds! {
    /// Distribution of the times between arrivals.
    pub(crate) enum Process {
        /// Independent arrivals, with exponential gaps.
        "poisson" = Poisson(Empty),
        /// Evenly spaced.
        "periodic" = Periodic(Empty),
        /// Bursts: log-normal gaps.
        "log_normal" = LogNormal(Fields<LogNormalGaps>),
    }
}

kinds! {
    /// The transport protocol of a flow.
    pub(crate) enum Protocol {
        /// A TCP connection.
        "tcp" = Tcp(Empty),
        /// A QUIC connection.
        "quic" = Quic(Fields<QuicConfig>),
        /// UDP datagrams, without congestion control.
        "udp" = Udp(Fields<UdpProtocol>),
    }
}

table! {
    /// Requests and their responses, in turn on one connection.
    pub(crate) struct RequestResponseApp {
        /// Size of a request; 200 bytes by default.
        request: Sizes,
        /// Size of a response.
        #[schemars(required)]
        response: Sizes,
        /// Time from the end of a response to the next request; none by default.
        think: Spacing,
        /// Number of requests; unlimited by default.
        count: u64,
    }
}
