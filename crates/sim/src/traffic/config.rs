//! Checked values of the traffic in this module.

use std::sync::Arc;

use ackclock_declare::{About, Entry, declare, required};
use ackclock_media::MediaApp;
use ackclock_net::NodeId;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::Ecn;

use super::sizes::SizeDistribution;
use crate::appliance::SplitConfig;
use crate::config::{FlowConfig, Span};

/// Traffic beyond the connections of [`SimulationConfig::flows`](crate::SimulationConfig::flows).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrafficConfig {
    /// Groups of short flows.
    pub arrivals: Vec<ArrivalsConfig>,
    /// The flows of datagrams.
    pub datagrams: Vec<DatagramConfig>,
}

/// Short flows that arrive during the run, each on a connection of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalsConfig {
    /// Common properties of the flows: ends, TCP, congestion control, and the time of the earliest arrival. The
    /// application in it is ignored.
    pub flow: FlowConfig,
    /// Times and sizes of the arrivals.
    pub arrivals: Arrivals,
    /// Time from which no flow arrives.
    pub until: SimTime,
    /// Largest number of arrivals.
    pub count: u64,
    /// Upper ends of the size classes by which completion times are summed up, in order; the last class has none.
    pub buckets: Vec<Bytes>,
    /// The appliances that split each of them, along their way; their `flow` is the group's place in the list.
    pub splits: Vec<SplitConfig>,
}

/// Times and sizes of short flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Random draws during the simulation.
    Drawn {
        /// Distribution of the gaps between arrivals.
        gaps: Gaps,
        /// Mean gap in nanoseconds, more than zero.
        mean_gap: f64,
        /// Octets that the opener sends.
        size: SizeDistribution,
        /// Octets that the acceptor sends back after it has read all.
        reply: Option<SizeDistribution>,
    },
    /// Flows from a list, in order of time.
    Listed(Arc<[ListedFlow]>),
}

/// Distribution of the gaps between arrivals around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Exponential gaps: arrivals are a Poisson process.
    Exponential,
    /// Equal gaps between arrivals.
    Constant,
    /// Log-normal gaps with this standard deviation of the logarithm: bursts and pauses.
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

declare! {
    /// Log-normal gaps between arrivals: bursts and pauses.
    #[derive(Copy)]
    pub struct LogNormalGaps {
        /// Standard deviation of the logarithm.
        sigma: f64 = required(1.0).above(0.0).at_most(5.0),
    }
}

impl Entry for LogNormalGaps {
    const ABOUT: About =
        About { name: "gaps", aliases: &[], summary: "log-normal gaps", source: "textbooks", departures: "none" };
}

/// One short flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Time after the group's start.
    pub after: SimDuration,
    /// Octets that the opener sends.
    pub size: Bytes,
    /// Octets that the acceptor sends back after it has read all.
    pub reply: Bytes,
}

/// A flow of UDP datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramConfig {
    /// The name, which is unique in the scenario.
    pub name: String,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// True if the sending host records its packets, for a pcapng file.
    pub capture: bool,
    /// Earliest time of the first datagram.
    pub start: SimTime,
    /// Time from which no datagram leaves.
    pub until: SimTime,
    /// Payload of each datagram; of media, of the largest.
    pub payload: u32,
    /// Schedule and rate of the datagrams.
    pub sending: Sending,
    /// ECN field of their IP packets.
    pub ecn: Ecn,
}

/// Schedule of datagrams. Rates count payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Sending {
    /// Evenly spaced, at this rate.
    Constant(Bandwidth),
    /// Exponential gaps, at this mean rate.
    Poisson(Bandwidth),
    /// Evenly spaced during on periods.
    OnOff {
        /// Length of an on period.
        on: Span,
        /// Length of an off period.
        off: Span,
        /// Rate during an on period.
        rate: Bandwidth,
    },
    /// Frames of an encoder, at a rate that a controller sets.
    Media(Arc<MediaApp>),
}

/// A video client that chooses a bitrate for each segment.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoConfig {
    /// The available bitrates, in rising order.
    pub ladder: Vec<Bandwidth>,
    /// Playing time of a segment.
    pub segment: SimDuration,
    /// Playing time of the whole video, whose last segment may be shorter; `None` is endless.
    pub length: Option<SimDuration>,
    /// Octets of the request for a segment.
    pub request: Bytes,
    /// Largest playing time in the client's buffer.
    pub buffer: SimDuration,
    /// Playing time in the buffer with which playback begins, and begins again after it has run dry.
    pub playback: SimDuration,
    /// Rule that chooses the bitrate of the next segment.
    pub choice: VideoChoice,
}

/// Rule by which a video client chooses the bitrate of the next segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VideoChoice {
    /// The buffer's level: BBA-0 of Huang et al. (SIGCOMM 2014, section 4).
    Buffer {
        /// Level below which the lowest bitrate is chosen.
        reservoir: SimDuration,
        /// Range of the buffer's level from the lowest to the highest bitrate, above the reservoir.
        cushion: SimDuration,
    },
    /// Throughput: the highest bitrate below the harmonic mean of the last segments' throughputs, as the RB client of
    /// Yin et al. (SIGCOMM 2015, section 7.1.2).
    Rate {
        /// Number of segments in the mean.
        window: usize,
        /// Largest bitrate as a fraction of the mean.
        safety: f64,
    },
}
