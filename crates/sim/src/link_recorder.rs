//! Series of links over time, as columns, for simulated and for real time.

use ackclock_net::{Link, LinkConfig, LinkId};
use ackclock_units::SimTime;

use crate::config::{LinkSeries, TraceConfig};
use crate::outcome::Table;
use crate::recorder::{Series, rate};

/// Series of links over time.
#[derive(Clone, Debug)]
pub struct LinkRecorder {
    series: Series<LinkSeries>,
    traced: Vec<LinkId>,
}

impl LinkRecorder {
    /// A recorder of the trace's series.
    pub fn new(config: &TraceConfig) -> Self {
        let traced = config.traced_links.clone();
        Self { series: Series::new(&config.links, traced.len()), traced }
    }

    /// True if no series are recorded.
    pub fn is_empty(&self) -> bool {
        self.series.kinds.is_empty() || self.traced.is_empty()
    }

    /// The links with recorded series.
    pub fn traced(&self) -> &[LinkId] {
        if self.series.kinds.is_empty() { &[] } else { &self.traced }
    }

    /// Adds a row for the link at this position among [`Self::traced`].
    pub fn record(&mut self, now: SimTime, position: usize, link: &mut Link) {
        link.advance(now);
        let series = &mut self.series;
        series.time.push(now.as_secs_f64());
        series.who.push(position as u32);
        let octets = link.sent_octets(now);
        let sent = octets.unwrap_or_else(|| link.busy_time(now).0);
        let counts = (now, sent, link.total_drops(), link.total_marks());
        let (then, sent_before, drops, marks) = std::mem::replace(&mut series.previous[position], counts);
        let span = now.saturating_since(then);
        for (kind, column) in series.kinds.iter().zip(&mut series.columns) {
            column.push(match kind {
                LinkSeries::QueueLength => link.waiting() as f64,
                LinkSeries::QueueBytes => link.waiting_octets().0 as f64,
                LinkSeries::Drops => (counts.2 - drops) as f64,
                LinkSeries::Throughput if span.is_zero() => f64::NAN,
                LinkSeries::Throughput if octets.is_some() => rate(sent - sent_before, span),
                LinkSeries::Throughput => link.rate().0 as f64 * (sent - sent_before) as f64 / span.0 as f64,
                LinkSeries::Marks => (counts.3 - marks) as f64,
                LinkSeries::QueueDelay => link.current_wait().as_secs_f64(),
                LinkSeries::DropProbability | LinkSeries::AverageQueue => {
                    kind.internal().and_then(|name| link.inspect(now, name)).unwrap_or(f64::NAN)
                }
            });
        }
    }

    /// The table; `links` are all links of the network.
    pub fn into_table(self, links: &[LinkConfig]) -> Table {
        let traced = self.traced.iter().map(|&link| links[link.index()].name.clone()).collect();
        self.series.into_table("link", traced, LinkSeries::column)
    }
}
