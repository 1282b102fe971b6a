//! Traffic as a file says it: sizes, short flows, datagrams, requests, video.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds, table};
use super::{Duration, EventRate, List, Rate, Size, Spacing, TextOr};

/// A constant size, or a distribution of sizes.
pub(crate) type Sizes = TextOr<Size, Box<SizeTable>>;

table! {
    /// A distribution of sizes: exactly one of these.
    pub(crate) struct SizeTable {
        /// A workload measured in a data centre.
        cdf: Workload,
        /// A file: a size a line, each as likely, or a size and the fraction of flows that are no larger.
        file: String,
        /// SHA-256 of that file, if it is to have it.
        sha256: String,
        /// From the first of two sizes to the second.
        uniform: List<Size>,
        /// With this mean.
        exponential: Size,
        /// With a heavy tail.
        pareto: ParetoTable,
        /// With a logarithm that is normal.
        log_normal: LogNormalTable,
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
    /// The Pareto distribution.
    pub(crate) struct ParetoTable {
        /// The least size; or give the mean.
        min: Size,
        /// The mean, without a largest size.
        mean: Size,
        /// Tail index: the smaller, the heavier the tail.
        #[schemars(required)]
        shape: f64,
        /// The largest size; none by default, for which the shape must be more than 1.
        max: Size,
    }
}

table! {
    /// The log-normal distribution.
    pub(crate) struct LogNormalTable {
        /// The median; or give the mean.
        median: Size,
        /// The mean.
        mean: Size,
        /// Standard deviation of the logarithm.
        #[schemars(required)]
        sigma: f64,
    }
}

table! {
    /// Short flows that arrive during the run, each on a connection of its own.
    pub(crate) struct ArrivalsTable {
        /// How many a second, such as "1000 /s"; or give the load.
        rate: EventRate,
        /// Their payload as a fraction of the slowest link's rate, in the direction that has more.
        load: f64,
        /// How they are spread; "poisson" by default.
        process: Process,
        /// What the opener sends.
        size: Sizes,
        /// What the acceptor sends back when it has read all; nothing by default.
        reply: Sizes,
        /// Arrivals one by one, from a file with the columns `start_s`, `size_bytes` and `reply_bytes`.
        file: String,
        /// SHA-256 of that file, if it is to have it.
        sha256: String,
        /// None arrives after this time; by default at the end of the run.
        until: Duration,
        /// At most so many arrive.
        count: u64,
        /// Upper ends of the size classes of the summary; 10 kB, 100 kB, 1 MB and 10 MB by default.
        buckets: List<Size>,
    }
}

kinds! {
    /// How arrivals are spread over time.
    pub(crate) enum Process {
        /// Independently of each other, with exponential gaps.
        "poisson" = Poisson(Empty),
        /// Evenly.
        "periodic" = Periodic(Empty),
        /// With log-normal gaps: in bursts.
        "log_normal" = LogNormal(GapTable),
    }
}

table! {
    /// Log-normal gaps.
    pub(crate) struct GapTable {
        /// Standard deviation of the logarithm.
        #[schemars(required)]
        sigma: f64,
    }
}

kinds! {
    /// What carries a flow.
    pub(crate) enum Protocol {
        /// A connection.
        "tcp" = Tcp(Empty),
        /// Datagrams, without congestion control.
        "udp" = Udp(UdpTable),
    }
}

table! {
    /// Datagrams.
    pub(crate) struct UdpTable {
        /// Payload of each; 1200 bytes by default.
        payload: Size,
        /// None leaves from this time on; by default at the end of the run.
        until: Duration,
        /// ECN field of their packets; none by default.
        ecn: DatagramEcn,
    }
}

/// ECN field of a datagram's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DatagramEcn {
    NotEct,
    Ect0,
    Ect1,
}

table! {
    /// Datagrams at a rate.
    pub(crate) struct RateApp {
        /// Payload in a second.
        #[schemars(required)]
        rate: Rate,
    }
}

table! {
    /// Requests and their responses, one after the other on one connection.
    pub(crate) struct RequestResponseApp {
        /// Size of a request; 200 bytes by default.
        request: Sizes,
        /// Size of a response.
        #[schemars(required)]
        response: Sizes,
        /// From the end of a response to the next request; none by default.
        think: Spacing,
        /// How many; without end by default.
        count: u64,
    }
}

table! {
    /// A video client that chooses the bitrate of each segment.
    pub(crate) struct VideoApp {
        /// The bitrates that there are; 0.3, 0.75, 1.2, 1.85, 2.85 and 4.3 Mbit/s by default.
        ladder: List<Rate>,
        /// Playing time of a segment; 4 s by default.
        segment: Duration,
        /// Playing time of the whole video; without end by default.
        length: Duration,
        /// Size of the request for a segment; 200 bytes by default.
        request: Size,
        /// Playing time that the client buffers at most; 240 s by default.
        buffer: Duration,
        /// Playing time in the buffer with which playback begins, at first and after it ran dry; a segment by default.
        playback: Duration,
        /// How it chooses; "buffer" by default.
        choose: Choose,
    }
}

kinds! {
    /// How a video client chooses a bitrate.
    pub(crate) enum Choose {
        /// By the level of its buffer.
        "buffer" = Buffer(ByBuffer),
        /// By the throughput of the last segments.
        "rate" = Rate(ByRate),
    }
}

table! {
    /// BBA-0 (Huang et al. 2014).
    pub(crate) struct ByBuffer {
        /// Below this level, the lowest bitrate; 3/8 of the buffer by default.
        reservoir: Duration,
        /// From the lowest to the highest bitrate above the reservoir; by default up to 9/10 of the buffer.
        cushion: Duration,
    }
}

table! {
    /// The rate-based client of Yin et al. 2015.
    pub(crate) struct ByRate {
        /// Segments that count for the harmonic mean of throughput; 5 by default.
        window: u64,
        /// Fraction of that mean that a bitrate may take; 1 by default.
        safety: f64,
    }
}
