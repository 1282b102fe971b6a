//! Results in the form of the simulator's, of what was counted and seen.
//!
//! Departures: `lost_segments` are those retransmitted less those that the receiver reported as duplicates, since the kernel keeps no
//! count of what it took for lost; `fast_recoveries` and episodes are those that lasted a millisecond at least; of what limited the
//! sender the kernel reports three shares ([`limits`]), over a life whose ends are known within a millisecond.

use ackclock_net::Router;
use ackclock_sim::{
    Column, ColumnData, Completion, CompletionLog, EmptyPath, FlowConfig, FlowSeries, FlowSummary, LimitShares,
    SimulationConfig, Summary, Table, completion_table, distribution, jain_index, takes_part,
};
use ackclock_units::{SimDuration, SimTime};

use crate::hosts::{Border, Ends, Episode, Exchanged, Held, Row, Sampled, ShortFlowsDone};
use crate::run::{Done, Outcome, Report};
use crate::sys::{TcpInfo, ca_state};

/// A stream: the flow, its place among the flow's streams, and its place among all.
struct Place<'a> {
    flow: &'a FlowConfig,
    ends: &'a Ends,
    connection: usize,
    stream: usize,
    index: usize,
}

pub(crate) fn outcome(config: &SimulationConfig, ends: &[Ends], done: Done, report: Report) -> Outcome {
    let exchanges = exchange_logs(config, &done.held);
    let mut flows = Vec::new();
    let (mut names, mut goodputs) = (Vec::new(), Vec::new());
    let end = SimTime(config.duration.0);
    let window = config.measure.within(end);
    let had_failed = &done.sampled.had_failed;
    for (connection, (flow, ends)) in config.flows.iter().zip(ends).enumerate() {
        for stream in 0..ends.streams.len() {
            let place = Place { flow, ends, connection, stream, index: names.len() };
            flows.push(flow_summary(config, &place, &done, &exchanges));
            names.push(ends.streams[stream].name.clone());
        }
        let first = flows.len() - ends.streams.len();
        let take_part = (first..flows.len()).filter(|index| takes_part(&flows[*index], had_failed[*index], window));
        let mut streams = take_part.map(|index| flows[index].goodput_bps).peekable();
        if streams.peek().is_some() {
            goodputs.push(streams.sum());
        }
    }
    let datagrams = done.pump.datagrams.iter().zip(&config.traffic.datagrams);
    let groups = done.groups.iter().zip(&config.traffic.arrivals);
    let summary = Summary {
        scenario: config.name.clone(),
        seed: config.seed,
        duration_s: config.duration.as_secs_f64(),
        measure_s: config.measure.is_narrower().then(|| config.measure.within(end).map(SimTime::as_secs_f64)),
        jain_index: jain_index(&goodputs),
        flows,
        links: done.pump.links,
        appliances: Vec::new(),
        groups: groups.map(|(done, config)| done.group.summary(config)).collect(),
        datagrams: datagrams.map(|(flow, config)| flow.summary(config, end)).collect(),
    };
    Outcome {
        summary,
        episodes: episodes(&done.sampled, &names, end),
        flows: series(&done.rows, &config.trace.flows, names),
        links: done.pump.series,
        captures: done.pump.captures,
        completions: completions(config, &exchanges, &done.groups),
        report,
    }
}

fn flow_summary(
    config: &SimulationConfig,
    place: &Place<'_>,
    done: &Done,
    exchanges: &[Option<CompletionLog>],
) -> FlowSummary {
    let Place { flow, ends, stream, index, .. } = *place;
    let info = done.sampled.ends[index];
    let completed = ends.streams[stream].completed();
    let (goodput_bps, throughput_bps) = rates(config, place, &done.sampled, completed);
    let is_recovery = |episode: &&Episode| episode.stream == index && episode.state == ca_state::RECOVERY;
    // What the opener sends, and what the acceptor does: ends by their numbers.
    let meter = &done.pump.round_trips[2 * place.connection + stream];
    FlowSummary {
        name: ends.streams[stream].name.clone(),
        controller: flow.controller_name.clone(),
        profile: flow.profile,
        start_s: flow.start.as_secs_f64(),
        completion_s: completed.map(|border| border.time.as_secs_f64()),
        goodput_bps,
        throughput_bps,
        delivered_bytes: done.sampled.until[index]
            .map_or(0, |border| border.read)
            .max(completed.map_or(0, |border| border.read)),
        sent_segments: u64::from(info.data_segs_out),
        retransmitted_segments: u64::from(info.total_retrans),
        lost_segments: u64::from(info.total_retrans.saturating_sub(info.dsack_dups)),
        timeouts: u64::from(info.total_rto),
        fast_recoveries: done.sampled.episodes.iter().filter(is_recovery).count() as u64,
        aborted: done.sampled.aborted[index],
        window: None,
        limited_by: done.sampled.lives[index].and_then(|[from, to]| limits(&info, to.saturating_since(from))),
        rtt_ms: meter.samples().map(|samples| distribution(samples, 1e3)),
        exchanges: exchanges[place.connection].as_ref().filter(|_| stream == 0).map(CompletionLog::exchange_summary),
        video: done.held[place.connection].video.clone().filter(|_| stream == 0),
    }
}

/// Limits of a sender whose connection was open for `life`, as far as the kernel counts them: busy time, the receiver's
/// window and the send buffer. Ticks of its clock may be counted beyond the life.
fn limits(info: &TcpInfo, life: SimDuration) -> Option<LimitShares> {
    let share = |micros: u64| (micros as f64 * 1e3 / life.0 as f64).min(1.0);
    (!life.is_zero()).then(|| LimitShares {
        cwnd: None,
        rwnd: share(info.rwnd_limited_us),
        send_buffer: share(info.sndbuf_limited_us),
        application: None,
        pacing: None,
        host: None,
        busy: share(info.busy_us),
    })
}

/// Logs of each flow's answered requests, if it makes any.
fn exchange_logs(config: &SimulationConfig, held: &[Held]) -> Vec<Option<CompletionLog>> {
    let mut router = Router::new(&config.network);
    let mut log = |(flow, held): (&FlowConfig, &Held)| {
        let mut route = |from, to| router.shortest_path(from, to).expect("a checked scenario has every route");
        let (there, back) = (route(flow.from, flow.to), route(flow.to, flow.from));
        let path = EmptyPath::new(flow, &config.network, &there, &back);
        let mut log = CompletionLog::new(&[]);
        for Exchanged { start, end, request, response } in held.exchanges.iter().copied() {
            let time = end - start;
            let ideal = path.exchange(request, response, time);
            log.add(Completion { start, size: request + response, time, ideal }, &config.measure);
        }
        log
    };
    config.flows.iter().zip(held).map(|(flow, held)| flow.app.has_responses().then(|| log((flow, held)))).collect()
}

/// Bits per second read and sent over the measurement window, or until the stream was complete.
fn rates(config: &SimulationConfig, place: &Place<'_>, sampled: &Sampled, completed: Option<Border>) -> (f64, f64) {
    let start = Border { time: place.flow.start, ..Border::default() };
    let from = match config.measure.from {
        Some(_) => sampled.from[place.index].unwrap_or(start),
        None => start,
    };
    let Some(until) = sampled.until[place.index] else { return (0.0, 0.0) };
    let until = completed.filter(|border| border.time < until.time).unwrap_or(until);
    let seconds = until.time.saturating_since(from.time).as_secs_f64();
    if seconds <= 0.0 {
        return (0.0, 0.0);
    }
    let rate = |octets: u64| octets as f64 * 8.0 / seconds;
    (rate(until.read.saturating_sub(from.read)), rate(until.sent.saturating_sub(from.sent)))
}

fn column(name: &'static str, data: ColumnData) -> Column {
    Column { name: name.into(), data }
}

/// Series of flows as the simulator has them.
fn series(rows: &[Row], kinds: &[FlowSeries], names: Vec<String>) -> Table {
    let codes = rows.iter().map(|row| row.1).collect();
    let mut columns = vec![
        column("time_s", ColumnData::F64(rows.iter().map(|row| row.0).collect())),
        column("flow", ColumnData::Name { codes, names }),
    ];
    columns.extend(
        kinds
            .iter()
            .enumerate()
            .map(|(place, kind)| column(kind.column(), ColumnData::F64(rows.iter().map(|row| row.2[place]).collect()))),
    );
    Table { columns }
}

fn episodes(sampled: &Sampled, names: &[String], end: SimTime) -> Table {
    let rows = &sampled.episodes;
    let numbers = |value: &dyn Fn(&Episode) -> f64| ColumnData::F64(rows.iter().map(value).collect());
    let optional = |octets: Option<u64>| octets.map_or(f64::NAN, |octets| octets as f64);
    let cause = |episode: &Episode| match episode.state {
        ca_state::RECOVERY => 0,
        ca_state::CWR => 1,
        _ => 2,
    };
    let texts = |codes: Vec<u32>, names: Vec<String>| ColumnData::Name { codes, names };
    let causes = ["loss", "ecn", "timeout"].map(str::to_owned).to_vec();
    let columns = vec![
        column("flow", texts(rows.iter().map(|row| row.stream as u32).collect(), names.to_vec())),
        column("cause", texts(rows.iter().map(cause).collect(), causes)),
        column("time_s", numbers(&|row| row.start.as_secs_f64())),
        column("cwnd_before_bytes", numbers(&|row| row.before.cwnd() as f64)),
        column("cwnd_after_bytes", numbers(&|row| row.after.cwnd() as f64)),
        column("ssthresh_before_bytes", numbers(&|row| optional(row.before.ssthresh()))),
        column("ssthresh_after_bytes", numbers(&|row| optional(row.after.ssthresh()))),
        column("lost_segments", ColumnData::U64(rows.iter().map(|row| u64::from(row.retransmitted)).collect())),
        column("marked_segments", ColumnData::MaybeU64(rows.iter().map(|_| None).collect())),
        column("duration_s", numbers(&|row| row.end.unwrap_or(end).saturating_since(row.start).as_secs_f64())),
        column("spurious", ColumnData::MaybeBool(rows.iter().map(|_| None).collect())),
    ];
    Table { columns }
}

/// A row for each request that was answered, and for each short flow.
fn completions(config: &SimulationConfig, exchanges: &[Option<CompletionLog>], groups: &[ShortFlowsDone]) -> Table {
    let of_flows =
        config.flows.iter().zip(exchanges).filter_map(|(flow, log)| Some((flow.name.clone(), log.as_ref()?)));
    let groups = config.traffic.arrivals.iter().zip(groups);
    let of_groups = groups.map(|(config, done)| (config.flow.name.clone(), done.group.log()));
    completion_table(&of_flows.chain(of_groups).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection of 2 s: 0.5 s limited by the peer's window, 0.2 s by the send buffer, 1.6 s with data outstanding.
    #[test]
    fn shares_are_of_the_time_for_which_a_connection_was_open() {
        let info =
            TcpInfo { busy_us: 1_600_000, rwnd_limited_us: 500_000, sndbuf_limited_us: 200_000, ..TcpInfo::default() };
        let shares = limits(&info, SimDuration::from_secs(2)).expect("it was open");
        assert_eq!((shares.busy, shares.rwnd, shares.send_buffer, shares.cwnd), (0.8, 0.25, 0.1, None));
        assert_eq!(limits(&info, SimDuration::ZERO), None);
    }
}
