//! What to record.

use ackclock_net::Router;
use ackclock_sim::{FlowConfig, FlowSeries, LinkSeries, Sampling, TraceConfig};
use ackclock_units::SimDuration;

use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::file::{Per, SeriesChoice, SwitchOr, TraceTable};
use crate::tree::FieldPath;

const MILLISECOND: u64 = 1_000_000;

/// More rows than this do not fit in memory.
const MAX_ROWS: u64 = 100_000_000;

impl Checker<'_, '_> {
    pub(crate) fn trace(&mut self, topology: &BuiltTopology, flows: &[FlowConfig]) -> TraceConfig {
        let path = FieldPath::of("trace");
        let table = match &self.file.trace {
            Some(SwitchOr::Switch(false)) => {
                let sampling = Sampling::Interval(self.default_interval());
                return TraceConfig { sampling, flows: vec![], links: vec![], traced_links: vec![] };
            }
            Some(SwitchOr::Table(table)) => table.clone(),
            Some(SwitchOr::Switch(true)) | None => TraceTable::default(),
        };
        let interval = table.interval.map_or(self.default_interval(), |interval| interval.0);
        let traced_links = self.traced_links(&table, topology, flows, &path);
        let rows = (self.duration.0 / interval.0.max(1)).saturating_mul((flows.len() + traced_links.len()) as u64);
        if interval.is_zero() || rows > MAX_ROWS {
            let least = self.duration.0.saturating_mul((flows.len() + traced_links.len()) as u64) / MAX_ROWS;
            let remedy = format!("use at least {}", SimDuration((least / MILLISECOND + 1) * MILLISECOND));
            self.report(&path.key("interval"), "would record more samples than fit in memory", remedy);
        }
        let sampling = match table.per {
            Some(Per::Event) => Sampling::Events(interval),
            _ => Sampling::Interval(interval),
        };
        TraceConfig {
            sampling,
            flows: chosen(table.flows, &FlowSeries::ALL),
            links: chosen(table.links, &LinkSeries::ALL),
            traced_links,
        }
    }

    /// The larger of 10 ms and a 2000th of the duration, in whole milliseconds.
    fn default_interval(&self) -> SimDuration {
        let part = self.duration.0.div_ceil(2_000).div_ceil(MILLISECOND) * MILLISECOND;
        SimDuration(part.max(10 * MILLISECOND))
    }

    fn traced_links(
        &mut self,
        table: &TraceTable,
        topology: &BuiltTopology,
        flows: &[FlowConfig],
        path: &FieldPath,
    ) -> Vec<usize> {
        let Some(wanted) = &table.which_links else {
            return if topology.bottlenecks.is_empty() {
                self.crossed_links(flows)
            } else {
                topology.bottlenecks.clone()
            };
        };
        let names: Vec<String> = self.network.links.iter().map(|link| link.name.clone()).collect();
        let mut links = Vec::new();
        for (index, name) in wanted.iter() {
            match names.iter().position(|known| known == name) {
                Some(link) if links.contains(&link) => {}
                Some(link) => links.push(link),
                None => {
                    self.report(&path.key("which_links").index(index), "names no link", suggest(name, &names));
                }
            }
        }
        links
    }

    /// Every link that the data of some flow crosses, in the network's order.
    fn crossed_links(&self, flows: &[FlowConfig]) -> Vec<usize> {
        let mut router = Router::new(&self.network);
        let mut crossed = vec![false; self.network.links.len()];
        for flow in flows {
            for link in router.shortest_path(flow.from, flow.to).unwrap_or_default() {
                crossed[link] = true;
            }
        }
        (0..crossed.len()).filter(|&link| crossed[link]).collect()
    }
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
