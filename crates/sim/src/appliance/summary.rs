//! Summary of appliances in `summary.json`.

use ackclock_net::Direction;
use ackclock_units::{Histogram, SimTime};
use serde::Serialize;

use super::pool::Pool;
use super::relay::Relay;
use super::totals::{RelayedCounts, Totals};
use super::{ApplianceConfig, Blocking, Relays, SplitConfig};
use crate::config::{MeasureWindow, SimulationConfig};
use crate::connections::Connections;
use crate::ids::RelayId;
use crate::outcome::{Distribution, QueueSummary};
use crate::stream::Stream;
use crate::summary::{distribution, queue_summary};

/// Summary of one appliance and the flows that it split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplianceSummary {
    /// The name in the scenario.
    pub name: String,
    /// Latency of all flows of the scenario's own list together, in the forward direction: from an octet's arrival, in
    /// order, until it was first sent on, weighted by octets; null if none was.
    pub added_latency_ms: Option<Distribution>,
    /// The flows of the appliance, in the scenario's order; then the groups of short flows, each as one.
    pub flows: Vec<SplitSummary>,
}

/// One flow at an appliance, or all short flows of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitSummary {
    /// The flow's name, or the group's.
    pub flow: String,
    /// Number of short flows, where this is a group of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_flows: Option<ShortFlowCounts>,
    /// Congestion control towards the opener.
    pub near_controller: String,
    /// Congestion control towards the acceptor.
    pub far_controller: String,
    /// True if one end failed and the other was reset; of a group, if any flow of it failed.
    pub reset: bool,
    /// Direction from the opener to the acceptor.
    pub forward: DirectionSummary,
    /// Direction from the acceptor to the opener; null without data.
    pub backward: Option<DirectionSummary>,
}

/// Number of short flows of a group that an appliance took, over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShortFlowCounts {
    /// Short flows that began.
    pub started: u64,
    /// Number of started flows that were reset because one of their connections failed, here or elsewhere.
    pub reset: u64,
}

/// One direction of a flow at an appliance, or of all short flows of a group together. Distributions are over the measurement
/// window, counts over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionSummary {
    /// Payload that arrived in order.
    pub arrived_bytes: u64,
    /// Payload that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    /// Time from an octet's arrival, in order, until it was first sent on, weighted by octets; null if none was.
    pub added_latency_ms: Option<Distribution>,
    /// Octets arrived and not sent on, weighted by time.
    pub backlog_bytes: QueueSummary,
    /// Octets arrived and not acknowledged by the other side, weighted by time.
    pub in_socket_bytes: QueueSummary,
    /// Number of congestion signals to the sender.
    pub ece_raised: u64,
    /// Segments sent on, retransmissions included.
    pub sent_segments: u64,
    /// Number of retransmitted segments.
    pub retransmitted_segments: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Number of fast recoveries.
    pub fast_recoveries: u64,
    /// Out-of-order data at the next receiver; null where that is another appliance, and for short flows.
    pub blocking: Option<BlockingSummary>,
}

/// Head-of-line blocking: waiting of a receiver for lost data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockingSummary {
    /// Holes that were filled in the measurement window.
    pub episodes: u64,
    /// Time with a hole within the measurement window, seconds.
    pub total_s: f64,
    /// Duration of the holes that were filled; null without any.
    pub duration_ms: Option<Distribution>,
}

/// The results of a run up to a moment.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) now: SimTime,
    pub(crate) config: &'a SimulationConfig,
    pub(crate) relays: &'a Relays,
    pub(crate) streams: &'a [Stream],
    pub(crate) connections: &'a Connections,
}

/// The totals already include the counts of short flows that are not over.
pub(crate) fn summarize(run: Run<'_>) -> Vec<ApplianceSummary> {
    let relays = run.relays;
    let of = |appliance: usize| {
        let listed = relays.listed().filter(move |(_, relay)| relay.appliance.index() == appliance);
        let pools = relays.pools.iter().enumerate().filter(move |(_, pool)| pool.appliance.index() == appliance);
        let flows = listed.map(|(id, relay)| of_flow(id, relay, run));
        flows.chain(pools.map(|(index, pool)| of_pool(index, pool, run))).collect()
    };
    let named = run.config.appliances.iter().enumerate();
    let summary = |(index, appliance): (usize, &ApplianceConfig)| ApplianceSummary {
        name: appliance.name.clone(),
        added_latency_ms: non_empty(&together(relays, index)),
        flows: of(index),
    };
    named.map(summary).collect()
}

/// Latency of octets in the forward direction over all flows of the scenario's own list, in nanoseconds.
fn together(relays: &Relays, appliance: usize) -> Histogram {
    let mut all = Histogram::default();
    for (_, relay) in relays.listed().filter(|(_, relay)| relay.appliance.index() == appliance) {
        all.add_all(&relays.totals[relay.totals][Direction::Forward.index()].latency);
    }
    all
}

fn of_flow(id: RelayId, relay: &Relay, run: Run<'_>) -> SplitSummary {
    let Run { config, relays, streams, connections, .. } = run;
    let split = &config.splits[id.index()];
    let summaries = Direction::BOTH.map(|direction| {
        let relayed = relay.stream(direction);
        let receives = |stream: &&Stream| stream.receiver == relayed.to.peer();
        let blocking = streams.iter().find(receives).and_then(|stream| stream.blocking.as_deref());
        let totals = &relays.totals[relay.totals][direction.index()];
        DirectionSummary::new(totals, &relayed.counts(connections), blocking, run)
    });
    SplitSummary::new(&config.flows[split.flow].name, split, relay.is_dead, summaries)
}

fn of_pool(index: usize, pool: &Pool, run: Run<'_>) -> SplitSummary {
    let Run { config, relays, .. } = run;
    let arrivals = &config.traffic.arrivals[pool.group.index()];
    let totals = relays.totals[relays.totals_of_pool(index)].each_ref();
    let summaries = totals.map(|totals| DirectionSummary::new(totals, &totals.ended, None, run));
    SplitSummary {
        short_flows: Some(ShortFlowCounts { started: pool.flows, reset: pool.resets }),
        ..SplitSummary::new(&arrivals.flow.name, &arrivals.splits[pool.split], pool.resets > 0, summaries)
    }
}

impl SplitSummary {
    fn new(flow: &str, split: &SplitConfig, reset: bool, [forward, backward]: [DirectionSummary; 2]) -> Self {
        Self {
            flow: flow.to_owned(),
            short_flows: None,
            near_controller: split.near.controller_name.clone(),
            far_controller: split.far.controller_name.clone(),
            reset,
            forward,
            backward: (backward.arrived_bytes > 0).then_some(backward),
        }
    }
}

impl DirectionSummary {
    fn new(totals: &Totals, counts: &RelayedCounts, blocking: Option<&Blocking>, run: Run<'_>) -> Self {
        let (now, window) = (run.now, &run.config.measure);
        Self {
            arrived_bytes: counts.arrived.0,
            acknowledged_bytes: counts.acknowledged.0,
            added_latency_ms: non_empty(&totals.latency),
            backlog_bytes: queue_summary(&totals.backlog.until(now, window), 1.0),
            in_socket_bytes: queue_summary(&totals.in_socket.until(now, window), 1.0),
            ece_raised: counts.ece_raised,
            sent_segments: counts.sent_segments,
            retransmitted_segments: counts.retransmitted_segments,
            timeouts: counts.timeouts,
            fast_recoveries: counts.fast_recoveries,
            blocking: blocking.map(|blocking| blocking.summary(now, window)),
        }
    }
}

/// The distribution in milliseconds of a histogram in nanoseconds; `None` if it is empty.
fn non_empty(histogram: &Histogram) -> Option<Distribution> {
    (!histogram.is_empty()).then(|| distribution(histogram, 1e6))
}

impl Blocking {
    fn summary(&self, now: SimTime, window: &MeasureWindow) -> BlockingSummary {
        BlockingSummary {
            episodes: self.episodes().weight(),
            total_s: self.total(now, window).as_secs_f64(),
            duration_ms: non_empty(self.episodes()),
        }
    }
}
