//! Congestion episodes as a table: `episodes.parquet`.
//!
//! Appliances answer congestion, too: a row then names the appliance of the end.

use ackclock_net::{Direction, EndpointId};
use ackclock_tcp::{Episode, EpisodeCause};
use ackclock_units::interrupt::check;
use ackclock_units::{Bytes, SimTime};

use crate::appliance::{Carries, Relays};
use crate::config::SimulationConfig;
use crate::connections::Connections;
use crate::outcome::{Column, ColumnData, NO_NAME, Table};
use crate::stream::Stream;

/// An episode with its end.
struct Row {
    /// Index of the stream.
    flow: u32,
    /// Index of the appliance of the end, or [`NO_NAME`].
    appliance: u32,
    direction: Direction,
    mss: u64,
    episode: Episode,
}

/// A table with a row for each episode, ordered by time, then flow, then along the path. Removes the episodes from
/// their endpoints.
pub(crate) fn episode_table(
    config: &SimulationConfig,
    streams: &[Stream],
    relays: &Relays,
    connections: &mut Connections,
    end: SimTime,
) -> Table {
    let mut rows = Vec::new();
    for (flow, stream) in (0..).zip(streams) {
        check();
        let direction = stream.sender.outbound();
        take(&mut rows, connections, stream.sender, (flow, NO_NAME, direction));
    }
    let mut stream_of = vec![NO_NAME; config.flows.len()];
    for (index, stream) in (0..).zip(streams).filter(|(_, stream)| stream.sender.outbound() == Direction::Forward) {
        stream_of[stream.sender.connection().index()] = index;
    }
    for (_, relay) in relays.listed() {
        let Carries::Flow(flow) = relay.carries else { continue };
        for direction in Direction::BOTH {
            let sender = relay.stream(direction).to;
            take(&mut rows, connections, sender, (stream_of[flow], relay.appliance.index() as u32, direction));
        }
    }
    rows.sort_by_key(|row| (row.episode.start, row.flow));
    let mut columns = vec![names(&rows, "flow", |row| row.flow, streams.iter().map(|stream| stream.name.clone()))];
    if relays.listed().next().is_some() {
        let appliances = config.appliances.iter().map(|appliance| appliance.name.clone());
        columns.push(names(&rows, "appliance", |row| row.appliance, appliances));
        columns.push(names(
            &rows,
            "direction",
            |row| row.direction.index() as u32,
            Direction::BOTH.map(|direction| direction.name().to_owned()),
        ));
    }
    columns.extend(measures(&rows, end));
    Table { columns }
}

/// The episodes of one endpoint, with the one under way.
fn take(
    rows: &mut Vec<Row>,
    connections: &mut Connections,
    sender: EndpointId,
    (flow, appliance, direction): (u32, u32, Direction),
) {
    let mss = u64::from(connections.view(sender).mss());
    let episodes = connections.take_episodes(sender).into_iter();
    rows.extend(episodes.map(|episode| Row { flow, appliance, direction, mss, episode }));
}

fn names(rows: &[Row], name: &'static str, code: fn(&Row) -> u32, names: impl IntoIterator<Item = String>) -> Column {
    let codes = rows.iter().map(code).collect();
    Column { name: name.into(), data: ColumnData::Name { codes, names: names.into_iter().collect() } }
}

fn measures(rows: &[Row], end: SimTime) -> [Column; 10] {
    let column = |name: &'static str, data| Column { name: name.into(), data };
    let numbers =
        |value: &dyn Fn(&Episode) -> f64| ColumnData::F64(rows.iter().map(|row| value(&row.episode)).collect());
    let optional = |bytes: Option<Bytes>| bytes.map_or(f64::NAN, |bytes| bytes.0 as f64);
    let lost = rows.iter().map(|row| row.episode.lost.0.div_ceil(row.mss)).collect();
    let duration = |episode: &Episode| episode.end.unwrap_or(end).saturating_since(episode.start).as_secs_f64();
    [
        names(rows, "cause", cause, ["loss", "ecn", "timeout"].map(str::to_owned)),
        column("time_s", numbers(&|episode| episode.start.as_secs_f64())),
        column("cwnd_before_bytes", numbers(&|episode| episode.cwnd_before.0 as f64)),
        column("cwnd_after_bytes", numbers(&|episode| episode.cwnd_after.0 as f64)),
        column("ssthresh_before_bytes", numbers(&|episode| optional(episode.ssthresh_before))),
        column("ssthresh_after_bytes", numbers(&|episode| optional(episode.ssthresh_after))),
        column("lost_segments", ColumnData::U64(lost)),
        column("marked_segments", ColumnData::U64(rows.iter().map(|row| row.episode.marked).collect())),
        column("duration_s", numbers(&duration)),
        column("spurious", ColumnData::Bool(rows.iter().map(|row| row.episode.spurious).collect())),
    ]
}

fn cause(row: &Row) -> u32 {
    match row.episode.cause {
        EpisodeCause::Loss => 0,
        EpisodeCause::Ecn => 1,
        EpisodeCause::Timeout => 2,
    }
}
