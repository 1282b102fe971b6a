//! Appliances in `summary.json`.

use ackclock_tcp::Endpoint;
use ackclock_units::Histogram;
use serde::Serialize;

use super::{Blocking, Relays, Way};
use crate::config::SimulationConfig;
use crate::outcome::{Distribution, QueueSummary};
use crate::stream::Stream;
use crate::summary::{distribution, queue_summary};

/// One appliance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplianceSummary {
    /// As in the scenario.
    pub name: String,
    /// The flows that it took, in the scenario's order.
    pub flows: Vec<SplitSummary>,
}

/// One flow at an appliance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitSummary {
    /// The flow's name.
    pub flow: String,
    /// Congestion control towards the opener.
    pub near_controller: String,
    /// Congestion control towards the acceptor.
    pub far_controller: String,
    /// True if one end failed and the other was reset.
    pub reset: bool,
    /// From the opener to the acceptor.
    pub forward: WaySummary,
    /// Back; null if nothing came.
    pub backward: Option<WaySummary>,
}

/// One direction of a flow at an appliance. Distributions are over the measurement window, counts over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaySummary {
    /// Payload that arrived in order.
    pub arrived_bytes: u64,
    /// Payload that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    /// From an octet's arrival, in order, to when it was first sent on, weighted by octets; null if nothing was.
    pub added_latency_ms: Option<Distribution>,
    /// Arrived and not sent on, weighted by time.
    pub backlog_bytes: QueueSummary,
    /// Arrived and not acknowledged by the other side, weighted by time.
    pub in_socket_bytes: QueueSummary,
    /// Times that the sender was told of congestion.
    pub ece_raised: u64,
    /// Segments sent on, retransmissions included.
    pub sent_segments: u64,
    /// Segments sent on again.
    pub retransmitted_segments: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// What the receiver beyond held out of order; null where another appliance receives.
    pub blocking: Option<BlockingSummary>,
}

/// How long a receiver waited for what had been lost (head-of-line blocking).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockingSummary {
    /// How often data arrived after a hole.
    pub episodes: u64,
    /// How long there was a hole, in all.
    pub total_s: f64,
    /// How long each hole lasted; null without any.
    pub duration_ms: Option<Distribution>,
}

pub(crate) fn summarize(
    config: &SimulationConfig,
    relays: &Relays,
    streams: &[Stream],
    endpoints: &[Endpoint],
) -> Vec<ApplianceSummary> {
    let of = |appliance: usize| {
        let taken = relays.list.iter().enumerate().filter(move |(_, relay)| relay.appliance == appliance);
        taken.map(|(index, relay)| {
            let split = &config.splits[index];
            let way = |way: usize| way_summary(&relays.ways[way], streams, endpoints);
            let backward = way(2 * index + 1);
            SplitSummary {
                flow: config.flows[split.flow].name.clone(),
                near_controller: split.near.controller_name.clone(),
                far_controller: split.far.controller_name.clone(),
                reset: relay.is_dead,
                forward: way(2 * index),
                backward: (backward.arrived_bytes > 0).then_some(backward),
            }
        })
    };
    let named = config.appliances.iter().enumerate();
    named
        .map(|(index, appliance)| ApplianceSummary { name: appliance.name.clone(), flows: of(index).collect() })
        .collect()
}

fn way_summary(way: &Way, streams: &[Stream], endpoints: &[Endpoint]) -> WaySummary {
    let (from, to) = (&endpoints[way.from], &endpoints[way.to]);
    let counters = to.counters();
    let latency = way.latency.histogram();
    let receives = |stream: &&Stream| stream.receiver == way.to ^ 1;
    let blocking = streams.iter().find(receives).and_then(|stream| stream.blocking.as_deref());
    WaySummary {
        arrived_bytes: from.received().0,
        acknowledged_bytes: to.acknowledged().0,
        added_latency_ms: non_empty(latency),
        backlog_bytes: queue_summary(way.backlog.histogram(), 1.0),
        in_socket_bytes: queue_summary(way.in_socket.histogram(), 1.0),
        ece_raised: way.ece_raised,
        sent_segments: counters.sent_segments,
        retransmitted_segments: counters.retransmitted_segments,
        timeouts: counters.timeouts,
        fast_recoveries: counters.fast_recoveries,
        blocking: blocking.map(Blocking::summary),
    }
}

/// Nanoseconds as milliseconds.
fn non_empty(histogram: &Histogram) -> Option<Distribution> {
    (!histogram.is_empty()).then(|| distribution(histogram, 1e6))
}

impl Blocking {
    fn summary(&self) -> BlockingSummary {
        BlockingSummary {
            episodes: self.episodes().weight(),
            total_s: self.total().as_secs_f64(),
            duration_ms: non_empty(self.episodes()),
        }
    }
}
