//! Results from the counts of the run.

use ackclock_net::{EndpointId, LinkStats};
use ackclock_units::interrupt::check;
use ackclock_units::{Histogram, SimTime};

use crate::config::SimulationConfig;
use crate::connections::Connections;
use crate::outcome::{Distribution, FlowSummary, LimitShares, LinkSummary, QueueSummary, Summary};
use crate::stream::Stream;

/// The results up to `now`, which may be before the end.
pub(crate) fn summarize(
    config: &SimulationConfig,
    now: SimTime,
    streams: &[Stream],
    connections: &Connections,
    links: Vec<LinkSummary>,
) -> Summary {
    let window = config.measure.is_narrower().then(|| config.measure.within(SimTime(config.duration.0)));
    let summary = |stream| flow_summary(stream, connections, now, window.is_some());
    let flows: Vec<FlowSummary> = streams.iter().map(summary).collect();
    let goodputs = goodputs_by_flow(streams, &flows, config.measure.within(now));
    Summary {
        scenario: config.name.clone(),
        seed: config.seed,
        duration_s: config.duration.as_secs_f64(),
        measure_s: window.map(|borders| borders.map(SimTime::as_secs_f64)),
        jain_index: jain_index(&goodputs),
        links,
        flows,
        appliances: Vec::new(),
        groups: Vec::new(),
        datagrams: Vec::new(),
    }
}

/// Jain's fairness index of goodputs; `None` when all are zero. Jain, Chiu, Hawe 1984: `(sum x)^2 / (n * sum x^2)`,
/// where `x` is the goodput of a user. A connection with data both ways counts as one user, with both. An absent flow
/// is not a user ([`takes_part`]).
pub fn jain_index(goodputs: &[f64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    (squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// True if a flow was under way between these borders. One that begins later, or was complete or `had_failed` before,
/// shares nothing there.
pub fn takes_part(flow: &FlowSummary, had_failed: bool, [from, until]: [SimTime; 2]) -> bool {
    let was_complete = flow.completion_s.is_some_and(|completion| completion <= from.as_secs_f64());
    flow.start_s < until.as_secs_f64() && !was_complete && !had_failed
}

/// The goodputs of the flows that take part. A connection's stream back follows the one there.
fn goodputs_by_flow(streams: &[Stream], flows: &[FlowSummary], window: [SimTime; 2]) -> Vec<f64> {
    let mut goodputs: Vec<(EndpointId, f64)> = Vec::with_capacity(flows.len());
    let take_part = |(stream, flow): &(&Stream, &FlowSummary)| takes_part(flow, stream.had_failed(), window);
    for (stream, flow) in streams.iter().zip(flows).filter(take_part) {
        match goodputs.last_mut().filter(|(receiver, _)| *receiver == stream.sender) {
            Some((_, there)) => *there += flow.goodput_bps,
            None => goodputs.push((stream.receiver, flow.goodput_bps)),
        }
    }
    goodputs.into_iter().map(|(_, goodput)| goodput).collect()
}

fn flow_summary(stream: &Stream, connections: &Connections, now: SimTime, is_windowed: bool) -> FlowSummary {
    check();
    let (sender, receiver) = (connections.view(stream.sender), connections.view(stream.receiver));
    let counters = sender.counters();
    let (goodput_bps, throughput_bps) = stream.rates();
    FlowSummary {
        name: stream.name.clone(),
        controller: stream.controller.clone(),
        profile: stream.profile,
        start_s: stream.start.as_secs_f64(),
        completion_s: stream.completion.map(SimTime::as_secs_f64),
        goodput_bps,
        throughput_bps,
        delivered_bytes: receiver.read(now).0,
        sent_segments: counters.sent_segments,
        retransmitted_segments: counters.retransmitted_segments,
        lost_segments: counters.lost_octets.div_ceil(u64::from(sender.mss())),
        timeouts: counters.timeouts,
        fast_recoveries: counters.fast_recoveries,
        aborted: sender.is_aborted(),
        window: is_windowed.then(|| stream.counts()),
        limited_by: LimitShares::of(&sender.spent(now)),
        rtt_ms: (!stream.round_trips().is_empty()).then(|| distribution(stream.round_trips(), 1e3)),
        exchanges: stream.exchanges.as_ref().map(|exchanges| exchanges.0.exchange_summary()),
        video: stream.app.video_summary(now),
    }
}

/// The summary of a distribution, with values in `unit`s.
pub fn distribution(histogram: &Histogram, unit: f64) -> Distribution {
    Distribution {
        min: histogram.min() as f64 / unit,
        mean: histogram.mean() / unit,
        p50: histogram.quantile(0.5) / unit,
        p95: histogram.quantile(0.95) / unit,
        p99: histogram.quantile(0.99) / unit,
    }
}

/// The entry of a link in `summary.json`.
pub fn link_summary(name: &str, stats: &LinkStats) -> LinkSummary {
    LinkSummary {
        name: name.to_owned(),
        utilization: stats.utilization(),
        delivered_packets: stats.delivered_packets(),
        drops: stats.drops(),
        marks: stats.marks(),
        losses: stats.lost(),
        duplicates: stats.duplicated(),
        reordered: stats.reordered(),
        queue_packets: queue_summary(stats.queue_packets(), 1.0),
        queueing_delay_ms: queue_summary(stats.queueing_delay(), 1e6),
    }
}

pub(crate) fn queue_summary(histogram: &Histogram, unit: f64) -> QueueSummary {
    QueueSummary {
        mean: histogram.mean() / unit,
        p95: histogram.quantile(0.95) / unit,
        max: histogram.max() as f64 / unit,
    }
}
