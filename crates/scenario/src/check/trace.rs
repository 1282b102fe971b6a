//! Checks of the series and events to record.

use ackclock_events::{EventKind, EventKinds};
use ackclock_net::{LinkId, NetworkConfig, Router};
use ackclock_sim::{EventSelection, FlowConfig, FlowSeries, LinkSeries, Sampling, TraceConfig};
use ackclock_units::SimDuration;

use super::discard::numbers_of_flow;
use super::location::Location;
use super::run::Run;
use super::topology::BuiltTopology;
use super::traffic::FlowNumbers;
use crate::diagnostic::Diagnostics;
use crate::file::{AllOrNone, List, Per, SeriesChoice, SwitchOr, TraceTable};

const MILLISECOND: u64 = 1_000_000;

/// The most values of a trace (8 bytes each) that fit into the memory of an ordinary machine.
const MAX_VALUES: u64 = 250_000_000;

/// Number of key columns of a row: time and name.
const KEY_COLUMNS: usize = 2;

pub(crate) fn trace(
    choice: Option<&SwitchOr<TraceTable>>,
    topology: &BuiltTopology,
    flows: &[FlowConfig],
    flow_numbers: &FlowNumbers,
    run: Run,
    sink: &Diagnostics<'_>,
) -> TraceConfig {
    let at = sink.root("trace");
    let table = match choice {
        Some(SwitchOr::Switch(false)) => {
            let sampling = Sampling::Interval(default_interval(run));
            let (flows, internals, links, traced_links) = (vec![], vec![], vec![], vec![]);
            return TraceConfig { sampling, flows, internals, links, traced_links, events: None };
        }
        Some(SwitchOr::Table(table)) => table.clone(),
        Some(SwitchOr::Switch(true)) | None => TraceTable::default(),
    };
    let interval = table.interval.map_or(default_interval(run), |interval| interval.0);
    let traced_links = traced_links(table.which_links.as_ref(), topology, flows, &at.key("which_links"));
    let events = events(&table, topology, flow_numbers, &at);
    let flow_series = chosen(table.flows, &series_of_flows(flows));
    let link_series = chosen(table.links, &telling_series(&topology.network, &traced_links));
    let internals = internals(table.internals.as_ref(), &at.key("internals"));
    let choices = [
        ("which_links", table.which_links.is_some() && link_series.is_empty(), "links"),
        ("per", table.per == Some(Per::Event) && flow_series.is_empty() && internals.is_empty(), "flows"),
    ];
    for (field, is_idle, what) in choices {
        if is_idle {
            let message = format!("configures series of {what}, which are not recorded");
            at.key(field).report(message, format!("leave it out, or record series of {what}"));
        }
    }
    let per_sample = values_per_sample(flows.len(), flow_series.len() + internals.len())
        + values_per_sample(traced_links.len(), link_series.len());
    let duration = run.duration.unwrap_or_default();
    if interval.is_zero() || (duration.0 / interval.0).saturating_mul(per_sample) > MAX_VALUES {
        let least = u128::from(duration.0) * u128::from(per_sample) / u128::from(MAX_VALUES * MILLISECOND) + 1;
        let least = u64::try_from(least).unwrap_or(u64::MAX).saturating_mul(MILLISECOND);
        let remedy = format!("use at least {}", SimDuration(least));
        let (what, field) = ("must let what is recorded fit in memory", at.key("interval"));
        let place = if table.interval.is_some() { field } else { at.clone() };
        place.report(what, format!("{remedy} as interval, or record fewer series"));
    }
    let sampling = match table.per {
        Some(Per::Event) => Sampling::Events(interval),
        _ => Sampling::Interval(interval),
    };
    TraceConfig { sampling, flows: flow_series, internals, links: link_series, traced_links, events }
}

/// The events to record, if any.
fn events(
    table: &TraceTable,
    topology: &BuiltTopology,
    flow_numbers: &FlowNumbers,
    at: &Location<'_>,
) -> Option<EventSelection> {
    let kinds: EventKinds = match &table.events {
        None | Some(SeriesChoice::Word(AllOrNone::None)) => EventKinds::NONE,
        Some(SeriesChoice::Word(AllOrNone::All)) => EventKinds::ALL,
        Some(SeriesChoice::List(list)) => list.iter().map(|(_, word)| EventKind::from(*word)).collect(),
    };
    let of_flows = watched_flows(table.event_flows.as_ref(), &at.key("event_flows"), flow_numbers);
    let of_links = named_links(table.event_links.as_ref(), &at.key("event_links"), topology);
    if kinds.is_empty() {
        let is_unread = at.key("events").is_unread();
        for (field, is_given) in [("event_flows", of_flows.is_some()), ("event_links", of_links.is_some())] {
            if is_given && !is_unread {
                let what = "selects events, which are not recorded";
                at.key(field).report(what, "add events = \"all\", or leave this out");
            }
        }
        return None;
    }
    Some(EventSelection { kinds, flows: of_flows, links: of_links })
}

/// The numbers in packets of the named flows.
fn watched_flows(wanted: Option<&List<String>>, at: &Location<'_>, flow_numbers: &FlowNumbers) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for (index, name) in wanted?.iter() {
        let remedy = "remove the name; without event_flows, packets of short flows are recorded as well";
        numbers.extend(numbers_of_flow(name, &at.index(index), remedy, flow_numbers));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The listed links, each once.
fn named_links(wanted: Option<&List<String>>, at: &Location<'_>, topology: &BuiltTopology) -> Option<Vec<LinkId>> {
    let mut found = Vec::new();
    for (index, name) in wanted?.iter() {
        match topology.link(name, &at.index(index)) {
            Some(link) if found.contains(&link) => {}
            link => found.extend(link),
        }
    }
    Some(found)
}

fn internals(wanted: Option<&List<String>>, at: &Location<'_>) -> Vec<String> {
    let mut internals: Vec<String> = Vec::new();
    for (index, name) in wanted.into_iter().flat_map(List::iter) {
        at.index(index).review_name(Some(name));
        let is_taken = ["time_s", "flow"].contains(&name.as_str())
            || FlowSeries::ALL.iter().any(|series| series.column() == name)
            || internals.contains(name);
        if is_taken {
            at.index(index).report("must not be the name of another column", "name each internal once");
        } else {
            internals.push(name.clone());
        }
    }
    internals
}

/// The default interval: the larger of 10 ms and a 2000th of the duration, in whole milliseconds.
fn default_interval(run: Run) -> SimDuration {
    let part = run.end().0.div_ceil(2_000).div_ceil(MILLISECOND) * MILLISECOND;
    SimDuration(part.max(10 * MILLISECOND))
}

fn traced_links(
    wanted: Option<&List<String>>,
    topology: &BuiltTopology,
    flows: &[FlowConfig],
    at: &Location<'_>,
) -> Vec<LinkId> {
    let Some(wanted) = wanted else {
        return if topology.bottlenecks.is_empty() {
            crossed_links(&topology.network, flows)
        } else {
            topology.bottlenecks.clone()
        };
    };
    named_links(Some(wanted), at, topology).unwrap_or_default()
}

/// The series that apply to at least one of the links.
fn telling_series(network: &NetworkConfig, links: &[LinkId]) -> Vec<LinkSeries> {
    let mut series = LinkSeries::OF_DROP_TAIL.to_vec();
    for link in links.iter().map(|&link| network.link(link)).filter(|link| link.is_served()) {
        series.extend([LinkSeries::Marks, LinkSeries::QueueDelay]);
        series.extend(LinkSeries::ALL.iter().filter(|series| series.internal().is_some_and(|name| link.reports(name))));
    }
    series.sort_unstable();
    series.dedup();
    series
}

/// Every link that the data of some flow crosses, in the network's order.
fn crossed_links(network: &NetworkConfig, flows: &[FlowConfig]) -> Vec<LinkId> {
    let mut router = Router::new(network);
    let mut crossed = vec![false; network.links.len()];
    for flow in flows {
        for link in router.shortest_path(flow.from, flow.to).unwrap_or_default() {
            crossed[link.index()] = true;
        }
    }
    network.numbered_links().map(|(link, _)| link).filter(|link| crossed[link.index()]).collect()
}

fn values_per_sample(rows: usize, series: usize) -> u64 {
    if series == 0 { 0 } else { (rows * (series + KEY_COLUMNS)) as u64 }
}

fn chosen<Word: Copy, Series: From<Word> + Copy + Ord>(
    choice: Option<SeriesChoice<Word>>,
    all: &[Series],
) -> Vec<Series> {
    match choice {
        None => all.to_vec(),
        Some(SeriesChoice::Word(word)) if word.is_all() => all.to_vec(),
        Some(SeriesChoice::Word(_)) => Vec::new(),
        Some(SeriesChoice::List(list)) => {
            let mut series: Vec<Series> = list.iter().map(|(_, word)| Series::from(*word)).collect();
            series.sort_unstable();
            series.dedup();
            series
        }
    }
}

/// The default series of flows; the ACK ratio is among them if it may be negotiated.
fn series_of_flows(flows: &[FlowConfig]) -> Vec<FlowSeries> {
    let controls = flows.iter().any(|flow| flow.sender.ack_control.is_some());
    FlowSeries::ALL.into_iter().filter(|series| controls || *series != FlowSeries::AckRatio).collect()
}
