//! Series over time, as columns. The selection is fixed before the run.

use ackclock_cc::CongestionController;
use ackclock_net::{EndpointId, Link, LinkConfig, LinkId};
use ackclock_units::{SimDuration, SimTime};

use crate::config::{FlowSeries, Sampling, TraceConfig};
use crate::end_view::EndView;
use crate::ids::StreamId;
use crate::link_recorder::LinkRecorder;
use crate::outcome::{Column, ColumnData, Table};
use crate::stream::Stream;

/// Access to the sampled values, wherever they are.
pub(crate) trait Observed {
    fn stream(&self, id: StreamId) -> &Stream;
    fn end(&self, id: EndpointId) -> EndView<'_>;
    fn link(&mut self, id: LinkId) -> &mut Link;
}

/// Series of flows and links.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    flows: Series<FlowSeries>,
    links: LinkRecorder,
    interval: SimDuration,
    /// True if there are other values to sample.
    has_others: bool,
    /// True if flows are recorded at every event of their sender rather than at intervals.
    pub(crate) per_event: bool,
}

/// Records one row of a controller's internal values.
fn record_internals(sender: EndView<'_>, columns: &mut [(String, Vec<f64>)]) {
    for (_, column) in columns.iter_mut() {
        column.push(f64::NAN);
    }
    sender.controller().inspect(&mut |told, value| {
        if let Some((_, column)) = columns.iter_mut().find(|(name, _)| name == told) {
            *column.last_mut().expect("a value was just pushed") = value;
        }
    });
}

/// A table that is being recorded.
#[derive(Clone, Debug)]
pub(crate) struct Series<K> {
    pub(crate) kinds: Vec<K>,
    pub(crate) time: Vec<f64>,
    pub(crate) who: Vec<u32>,
    pub(crate) columns: Vec<Vec<f64>>,
    /// Columns with names of their own.
    named: Vec<(String, Vec<f64>)>,
    /// Counters at the previous sample of each flow or link: time, and three counts.
    pub(crate) previous: Vec<(SimTime, u64, u64, u64)>,
}

impl<K: Copy> Series<K> {
    pub(crate) fn new(kinds: &[K], count: usize) -> Self {
        Self {
            kinds: kinds.to_vec(),
            time: Vec::new(),
            who: Vec::new(),
            columns: vec![Vec::new(); kinds.len()],
            named: Vec::new(),
            previous: vec![(SimTime::ZERO, 0, 0, 0); count],
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.named.is_empty()
    }

    pub(crate) fn into_table(self, who: &'static str, names: Vec<String>, column: impl Fn(K) -> &'static str) -> Table {
        let mut columns = vec![
            Column { name: "time_s".into(), data: ColumnData::F64(self.time) },
            Column { name: who.into(), data: ColumnData::Name { codes: self.who, names } },
        ];
        let series = self.kinds.into_iter().zip(self.columns);
        columns.extend(series.map(|(kind, data)| Column { name: column(kind).into(), data: ColumnData::F64(data) }));
        columns.extend(
            self.named.into_iter().map(|(name, data)| Column { name: name.into(), data: ColumnData::F64(data) }),
        );
        Table { columns }
    }
}

pub(crate) fn rate(octets: u64, span: SimDuration) -> f64 {
    if span.is_zero() { f64::NAN } else { octets as f64 * 8.0 / span.as_secs_f64() }
}

impl Recorder {
    pub(crate) fn new(config: &TraceConfig, streams: usize, has_others: bool) -> Self {
        let (interval, per_event) = match config.sampling {
            Sampling::Interval(interval) => (interval, false),
            Sampling::Events(interval) => (interval, true),
        };
        let mut flows = Series::new(&config.flows, streams);
        flows.named = config.internals.iter().map(|name| (name.clone(), Vec::new())).collect();
        Self {
            per_event: per_event && !flows.is_empty(),
            flows,
            links: LinkRecorder::new(config),
            interval,
            has_others,
        }
    }

    /// The first sample's time, if there are samples at intervals.
    pub(crate) fn interval(&self) -> Option<SimDuration> {
        let flows = !self.flows.is_empty() && !self.per_event;
        (flows || self.has_others || !self.links.is_empty()).then_some(self.interval)
    }

    /// Takes a sample at a multiple of the interval: of links, and of flows unless they are recorded per event.
    pub(crate) fn sample(&mut self, now: SimTime, observed: &mut impl Observed) {
        if !self.flows.is_empty() && !self.per_event {
            for id in (0..self.flows.previous.len()).map(StreamId::new) {
                let stream = observed.stream(id);
                if stream.is_open {
                    let ends = [stream.sender, stream.receiver].map(|end| observed.end(end));
                    self.record_flow(now, id, stream, ends);
                }
            }
        }
        for position in 0..self.links.traced().len() {
            let link = self.links.traced()[position];
            self.links.record(now, position, observed.link(link));
        }
    }

    /// Records a row of a flow with the sender and receiver `ends`.
    pub(crate) fn record_flow(&mut self, now: SimTime, id: StreamId, stream: &Stream, ends: [EndView<'_>; 2]) {
        let (series, index) = (&mut self.flows, id.index());
        let [sender, receiver] = ends;
        series.time.push(now.as_secs_f64());
        series.who.push(index as u32);
        let counts = (now, sender.counters().sent_octets, receiver.read(now).0, 0);
        let (then, sent, read, _) = std::mem::replace(&mut series.previous[index], counts);
        let span = now.saturating_since(then.max(stream.start));
        let rtt = sender.rtt();
        let known = |duration: SimDuration| {
            if sender.has_rtt_sample() { duration.as_secs_f64() } else { f64::NAN }
        };
        for (kind, column) in series.kinds.iter().zip(&mut series.columns) {
            column.push(match kind {
                FlowSeries::Cwnd => sender.cwnd().0 as f64,
                FlowSeries::Ssthresh => sender.controller().ssthresh().map_or(f64::NAN, |bytes| bytes.0 as f64),
                FlowSeries::FlightSize => sender.flight_size().0 as f64,
                FlowSeries::Srtt => known(rtt.srtt),
                FlowSeries::Rttvar => known(rtt.rttvar),
                FlowSeries::Rto => sender.rto().as_secs_f64(),
                FlowSeries::RttSample => known(rtt.latest),
                FlowSeries::Rwnd => sender.rwnd().0 as f64,
                FlowSeries::Throughput => rate(counts.1 - sent, span),
                FlowSeries::Goodput => rate(counts.2 - read, span),
                FlowSeries::AckRatio => sender.ack_ratio().map_or(f64::NAN, f64::from),
            });
        }
        if !series.named.is_empty() {
            record_internals(sender, &mut series.named);
        }
    }

    /// The tables of flows and links.
    pub(crate) fn into_tables(self, flow_names: Vec<String>, links: &[LinkConfig]) -> (Table, Table) {
        let flows = self.flows.into_table("flow", flow_names, FlowSeries::column);
        (flows, self.links.into_table(links))
    }
}
