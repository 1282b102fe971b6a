//! Results from what the run counted.

use ackclock_net::LinkStats;
use ackclock_tcp::{Endpoint, Episode, EpisodeCause};
use ackclock_units::{Bytes, Histogram, SimTime};

use crate::config::SimulationConfig;
use crate::outcome::{
    Capture, CapturedPacket, Column, ColumnData, Distribution, FlowSummary, LinkSummary, QueueSummary, Summary, Table,
};
use crate::stream::Stream;

pub(crate) fn summarize(
    config: &SimulationConfig,
    streams: &[Stream],
    endpoints: &[Endpoint],
    links: &[LinkStats],
) -> Summary {
    let end = SimTime(config.duration.0);
    let flows: Vec<FlowSummary> = streams.iter().map(|stream| flow_summary(stream, endpoints, end)).collect();
    let names = config.network.links.iter().map(|link| &link.name);
    Summary {
        scenario: config.name.clone(),
        seed: config.seed,
        duration_s: config.duration.as_secs_f64(),
        jain_index: jain_index(&flows),
        links: names.zip(links).map(|(name, stats)| link_summary(name, stats)).collect(),
        flows,
        appliances: Vec::new(),
        groups: Vec::new(),
        datagrams: Vec::new(),
    }
}

/// Jain, Chiu, Hawe 1984: `(sum x)^2 / (n * sum x^2)`.
fn jain_index(flows: &[FlowSummary]) -> Option<f64> {
    let sum: f64 = flows.iter().map(|flow| flow.goodput_bps).sum();
    let squares: f64 = flows.iter().map(|flow| flow.goodput_bps * flow.goodput_bps).sum();
    (squares > 0.0).then(|| sum * sum / (flows.len() as f64 * squares))
}

fn flow_summary(stream: &Stream, endpoints: &[Endpoint], end: SimTime) -> FlowSummary {
    let (sender, receiver) = (&endpoints[stream.sender], &endpoints[stream.receiver]);
    let counters = sender.counters();
    let (goodput_bps, throughput_bps) = stream.rates();
    FlowSummary {
        name: stream.name.clone(),
        controller: stream.controller.clone(),
        start_s: stream.start.as_secs_f64(),
        completion_s: stream.completion.map(SimTime::as_secs_f64),
        goodput_bps,
        throughput_bps,
        delivered_bytes: receiver.received().0,
        sent_segments: counters.sent_segments,
        retransmitted_segments: counters.retransmitted_segments,
        lost_segments: counters.lost_octets.div_ceil(u64::from(sender.mss())),
        timeouts: counters.timeouts,
        fast_recoveries: counters.fast_recoveries,
        aborted: sender.is_aborted(),
        rtt_ms: (!stream.rtt.is_empty()).then(|| distribution(&stream.rtt, 1e3)),
        exchanges: stream.exchanges.as_ref().map(|exchanges| exchanges.0.exchange_summary()),
        video: stream.app.requester().and_then(|requester| requester.video()).map(|video| video.summary(end)),
    }
}

pub(crate) fn distribution(histogram: &Histogram, unit: f64) -> Distribution {
    Distribution {
        min: histogram.min() as f64 / unit,
        mean: histogram.mean() / unit,
        p50: histogram.quantile(0.5) / unit,
        p95: histogram.quantile(0.95) / unit,
        p99: histogram.quantile(0.99) / unit,
    }
}

fn link_summary(name: &str, stats: &LinkStats) -> LinkSummary {
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

/// `episodes.parquet`: one row an episode, ordered by time, then flow.
pub(crate) fn episode_table(streams: &[Stream], endpoints: &[Endpoint], names: &[String], end: SimTime) -> Table {
    let mut rows: Vec<(u32, u64, &Episode)> = Vec::new();
    for (index, stream) in streams.iter().enumerate() {
        let mss = u64::from(endpoints[stream.sender].mss());
        rows.extend(stream.episodes.iter().map(|episode| (index as u32, mss, episode)));
    }
    rows.sort_by_key(|(flow, _, episode)| (episode.start, *flow));
    let numbers =
        |value: &dyn Fn(&Episode) -> f64| ColumnData::F64(rows.iter().map(|(_, _, episode)| value(episode)).collect());
    let optional = |bytes: Option<Bytes>| bytes.map_or(f64::NAN, |bytes| bytes.0 as f64);
    let causes = ["loss", "ecn", "timeout"].map(str::to_owned).to_vec();
    let cause_codes = rows.iter().map(|(_, _, episode)| match episode.cause {
        EpisodeCause::Loss => 0,
        EpisodeCause::Ecn => 1,
        EpisodeCause::Timeout => 2,
    });
    let lost = rows.iter().map(|(_, mss, episode)| episode.lost.0.div_ceil(*mss)).collect();
    let column = |name: &'static str, data| Column { name: name.into(), data };
    Table {
        columns: vec![
            column(
                "flow",
                ColumnData::Name { codes: rows.iter().map(|(flow, _, _)| *flow).collect(), names: names.to_vec() },
            ),
            column("cause", ColumnData::Name { codes: cause_codes.collect(), names: causes }),
            column("time_s", numbers(&|episode| episode.start.as_secs_f64())),
            column("cwnd_before_bytes", numbers(&|episode| episode.cwnd_before.0 as f64)),
            column("cwnd_after_bytes", numbers(&|episode| episode.cwnd_after.0 as f64)),
            column("ssthresh_before_bytes", numbers(&|episode| optional(episode.ssthresh_before))),
            column("ssthresh_after_bytes", numbers(&|episode| optional(episode.ssthresh_after))),
            column("lost_segments", ColumnData::U64(lost)),
            column("marked_segments", ColumnData::U64(vec![0; rows.len()])),
            column(
                "duration_s",
                numbers(&|episode| episode.end.unwrap_or(end).saturating_since(episode.start).as_secs_f64()),
            ),
            column("spurious", ColumnData::Bool(rows.iter().map(|(_, _, episode)| episode.spurious).collect())),
        ],
    }
}

pub(crate) fn captures(captured: Vec<Option<Vec<CapturedPacket>>>, link_names: &[String]) -> Vec<Capture> {
    let named = captured.into_iter().zip(link_names);
    named.filter_map(|(packets, name)| packets.map(|packets| Capture { link: name.clone(), packets })).collect()
}
