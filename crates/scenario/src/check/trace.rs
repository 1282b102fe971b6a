//! Checks of the series and events to record.

use ackclock_events::{EventKind, EventKinds};
use ackclock_net::{LinkId, Router};
use ackclock_sim::{EventSelection, FlowConfig, FlowSeries, LinkSeries, Sampling, TraceConfig};
use ackclock_units::SimDuration;

use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{AllOrNone, List, Per, SeriesChoice, SwitchOr, TraceTable};
use crate::tree::FieldPath;

const MILLISECOND: u64 = 1_000_000;

/// The most values of a trace (8 bytes each) that fit into the memory of an ordinary machine.
const MAX_VALUES: u64 = 250_000_000;

/// Number of key columns of a row: time and name.
const KEY_COLUMNS: usize = 2;

impl Checker<'_, '_> {
    pub(crate) fn trace(&mut self, topology: &BuiltTopology, flows: &[FlowConfig]) -> TraceConfig {
        let path = FieldPath::of("trace");
        let table = match &self.file.trace {
            Some(SwitchOr::Switch(false)) => {
                let sampling = Sampling::Interval(self.default_interval());
                let (flows, internals, links, traced_links) = (vec![], vec![], vec![], vec![]);
                return TraceConfig { sampling, flows, internals, links, traced_links, events: None };
            }
            Some(SwitchOr::Table(table)) => table.clone(),
            Some(SwitchOr::Switch(true)) | None => TraceTable::default(),
        };
        let interval = table.interval.map_or(self.default_interval(), |interval| interval.0);
        let traced_links = self.traced_links(&table, topology, flows, &path);
        let events = self.events(&table, topology, &path);
        let flow_series = chosen(table.flows, &series_of_flows(flows));
        let link_series = chosen(table.links, &self.telling_series(&traced_links));
        let internals = self.internals(table.internals.as_ref(), &path);
        let choices = [
            ("which_links", table.which_links.is_some() && link_series.is_empty(), "links"),
            ("per", table.per == Some(Per::Event) && flow_series.is_empty() && internals.is_empty(), "flows"),
        ];
        for (field, is_idle, what) in choices {
            if is_idle {
                let message = format!("says how series of {what} are recorded, of which there are none");
                self.report(&path.key(field), message, format!("leave it out, or record series of {what}"));
            }
        }
        let per_sample = values_per_sample(flows.len(), flow_series.len() + internals.len())
            + values_per_sample(traced_links.len(), link_series.len());
        let duration = self.run.duration.unwrap_or_default();
        if interval.is_zero() || (duration.0 / interval.0).saturating_mul(per_sample) > MAX_VALUES {
            let least = u128::from(duration.0) * u128::from(per_sample) / u128::from(MAX_VALUES * MILLISECOND) + 1;
            let least = u64::try_from(least).unwrap_or(u64::MAX).saturating_mul(MILLISECOND);
            let remedy = format!("use at least {}", SimDuration(least));
            let (what, field) = ("must let what is recorded fit in memory", path.key("interval"));
            let place = if table.interval.is_some() { field } else { path.clone() };
            self.report(&place, what, format!("{remedy} as interval, or record fewer series"));
        }
        let sampling = match table.per {
            Some(Per::Event) => Sampling::Events(interval),
            _ => Sampling::Interval(interval),
        };
        TraceConfig { sampling, flows: flow_series, internals, links: link_series, traced_links, events }
    }

    /// The events to record, if any.
    fn events(&mut self, table: &TraceTable, topology: &BuiltTopology, path: &FieldPath) -> Option<EventSelection> {
        let kinds: EventKinds = match &table.events {
            None | Some(SeriesChoice::Word(AllOrNone::None)) => EventKinds::NONE,
            Some(SeriesChoice::Word(AllOrNone::All)) => EventKinds::ALL,
            Some(SeriesChoice::List(list)) => list.iter().map(|(_, word)| EventKind::from(*word)).collect(),
        };
        let link_names: Vec<String> = self.network.links.iter().map(|link| link.name.clone()).collect();
        let of_flows = self.watched_flows(table.event_flows.as_ref(), &path.key("event_flows"));
        let of_links =
            self.places(table.event_links.as_ref(), &path.key("event_links"), "a link", &link_names, topology);
        if kinds.is_empty() {
            let is_unread = self.diagnostics.is_unread(&path.key("events"));
            for (field, is_given) in [("event_flows", of_flows.is_some()), ("event_links", of_links.is_some())] {
                if is_given && !is_unread {
                    let what = "chooses among events, of which none are recorded";
                    self.report(&path.key(field), what, "add events = \"all\", or leave this out");
                }
            }
            return None;
        }
        let links = of_links.map(|links| links.into_iter().map(LinkId::new).collect());
        Some(EventSelection { kinds, flows: of_flows, links })
    }

    /// The numbers in packets of the named flows.
    fn watched_flows(&mut self, wanted: Option<&List<String>>, path: &FieldPath) -> Option<Vec<usize>> {
        let mut numbers = Vec::new();
        for (index, name) in wanted?.iter() {
            let remedy = "remove the name; without event_flows the packets of short flows are told of, too";
            numbers.extend(self.numbers_of_flow(name, &path.index(index), remedy));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers)
    }

    /// The positions of listed names among those `known`.
    fn places(
        &mut self,
        wanted: Option<&List<String>>,
        path: &FieldPath,
        what: &str,
        known: &[String],
        topology: &BuiltTopology,
    ) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        for (index, name) in wanted?.iter() {
            match known.iter().position(|known| known == name) {
                Some(place) if places.contains(&place) => {}
                Some(place) => places.push(place),
                None => {
                    let must = format!("must be the name of {what}");
                    topology.report_unknown(&path.index(index), &must, suggest(name, known), self.diagnostics);
                }
            }
        }
        Some(places)
    }

    fn internals(&mut self, wanted: Option<&List<String>>, path: &FieldPath) -> Vec<String> {
        let mut internals: Vec<String> = Vec::new();
        for (index, name) in wanted.into_iter().flat_map(List::iter) {
            self.review_name(&path.key("internals").index(index), Some(name));
            let is_taken = ["time_s", "flow"].contains(&name.as_str())
                || FlowSeries::ALL.iter().any(|series| series.column() == name)
                || internals.contains(name);
            if is_taken {
                self.report(
                    &path.key("internals").index(index),
                    "must not be the name of another column",
                    "name each internal once",
                );
            } else {
                internals.push(name.clone());
            }
        }
        internals
    }

    /// The default interval: the larger of 10 ms and a 2000th of the duration, in whole milliseconds.
    fn default_interval(&self) -> SimDuration {
        let part = self.run.end().0.div_ceil(2_000).div_ceil(MILLISECOND) * MILLISECOND;
        SimDuration(part.max(10 * MILLISECOND))
    }

    fn traced_links(
        &mut self,
        table: &TraceTable,
        topology: &BuiltTopology,
        flows: &[FlowConfig],
        path: &FieldPath,
    ) -> Vec<LinkId> {
        let Some(wanted) = &table.which_links else {
            return if topology.bottlenecks.is_empty() {
                self.crossed_links(flows)
            } else {
                topology.bottlenecks.clone()
            };
        };
        let names: Vec<String> = self.network.links.iter().map(|link| link.name.clone()).collect();
        let places = self.places(Some(wanted), &path.key("which_links"), "a link", &names, topology);
        places.unwrap_or_default().into_iter().map(LinkId::new).collect()
    }

    /// The series that apply to at least one of the links.
    fn telling_series(&self, links: &[LinkId]) -> Vec<LinkSeries> {
        let mut series = LinkSeries::OF_DROP_TAIL.to_vec();
        for link in links.iter().map(|&link| self.network.link(link)).filter(|link| link.is_served()) {
            series.extend([LinkSeries::Marks, LinkSeries::QueueDelay]);
            series.extend(
                LinkSeries::ALL.iter().filter(|series| series.internal().is_some_and(|name| link.reports(name))),
            );
        }
        series.sort_unstable();
        series.dedup();
        series
    }

    /// Every link that the data of some flow crosses, in the network's order.
    fn crossed_links(&self, flows: &[FlowConfig]) -> Vec<LinkId> {
        let mut router = Router::new(&self.network);
        let mut crossed = vec![false; self.network.links.len()];
        for flow in flows {
            for link in router.shortest_path(flow.from, flow.to).unwrap_or_default() {
                crossed[link.index()] = true;
            }
        }
        self.network.numbered_links().map(|(link, _)| link).filter(|link| crossed[link.index()]).collect()
    }
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
        Some(SeriesChoice::Word(word)) => {
            if word.is_all() {
                all.to_vec()
            } else {
                Vec::new()
            }
        }
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
