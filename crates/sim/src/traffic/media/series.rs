//! Series of media flows over time: `media.parquet`.

use ackclock_media::RateController as _;
use ackclock_units::SimTime;

use super::MediaFlow;
use crate::outcome::{Column, ColumnData, Table};

/// Names of the columns of numbers, in the order of a row.
const COLUMNS: [&str; 7] =
    ["target_bps", "encoder_bps", "sent_bps", "received_bps", "queued_bytes", "in_flight_bytes", "one_way_delay_s"];

/// The rows recorded so far.
#[derive(Clone, Debug)]
pub(crate) struct MediaSeries {
    time: Vec<f64>,
    flow: Vec<u32>,
    columns: [Vec<f64>; COLUMNS.len()],
    /// Latest row of each flow of datagrams: its time, octets sent and received.
    previous: Vec<(SimTime, u64, u64)>,
}

impl MediaSeries {
    pub(crate) fn new(flows: usize) -> Self {
        let previous = vec![(SimTime::ZERO, 0, 0); flows];
        Self { time: Vec::new(), flow: Vec::new(), columns: Default::default(), previous }
    }

    /// Records a row of a flow.
    pub(crate) fn sample(&mut self, now: SimTime, index: usize, flow: &MediaFlow) {
        let before = std::mem::replace(&mut self.previous[index], (now, flow.sent, flow.received));
        let seconds = now.saturating_since(before.0).as_secs_f64();
        let rate = |octets: u64| if seconds > 0.0 { octets as f64 * 8.0 / seconds } else { f64::NAN };
        let row = [
            flow.sender.controller().target_rate().0 as f64,
            flow.sender.encoder_rate().0 as f64,
            rate(flow.sent - before.1),
            rate(flow.received - before.2),
            flow.sender.queued().0 as f64,
            flow.sender.in_flight().0 as f64,
            flow.last_delay,
        ];
        self.time.push(now.as_secs_f64());
        self.flow.push(index as u32);
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    pub(crate) fn into_table(self, names: Vec<String>) -> Table {
        let column = |name: &'static str, data| Column { name: name.into(), data };
        let mut columns = vec![
            column("time_s", ColumnData::F64(self.time)),
            column("flow", ColumnData::Name { codes: self.flow, names }),
        ];
        columns.extend(COLUMNS.into_iter().zip(self.columns).map(|(name, data)| column(name, ColumnData::F64(data))));
        Table { columns }
    }
}
