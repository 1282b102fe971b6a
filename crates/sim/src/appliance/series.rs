//! What each way through an appliance holds over time: `appliances.parquet`.

use ackclock_cc::CongestionController as _;
use ackclock_tcp::Endpoint;
use ackclock_units::{SimDuration, SimTime};

use super::{Relays, Way};
use crate::config::SimulationConfig;
use crate::outcome::{Column, ColumnData, Table};

/// Names of the columns of numbers, in the order of [`values`].
const COLUMNS: [&str; 16] = [
    "unread_bytes",
    "copying_bytes",
    "unsent_bytes",
    "in_socket_bytes",
    "window_bytes",
    "arrived_bps",
    "sent_bps",
    "added_latency_s",
    "ece_raised",
    "near_srtt_s",
    "cwnd_bytes",
    "ssthresh_bytes",
    "flight_size_bytes",
    "srtt_s",
    "rwnd_bytes",
    "rto_s",
];

/// Rows so far. Short flows have none.
#[derive(Clone, Debug)]
pub(crate) struct ApplianceSeries {
    time: Vec<f64>,
    way: Vec<u32>,
    columns: Vec<Vec<f64>>,
    /// Of each way at its latest row: when, and counts of octets arrived, octets sent, ECE raised.
    previous: Vec<(SimTime, [u64; 3])>,
}

impl ApplianceSeries {
    pub(crate) fn new(ways: usize) -> Self {
        Self {
            time: Vec::new(),
            way: Vec::new(),
            columns: vec![Vec::new(); COLUMNS.len()],
            previous: vec![(SimTime::ZERO, [0; 3]); ways],
        }
    }

    /// A row for each way of a listed flow on which anything ever arrived; those come first.
    pub(crate) fn sample(&mut self, now: SimTime, ways: &mut [Way], endpoints: &[Endpoint]) {
        for (index, way) in ways.iter_mut().take(self.previous.len()).enumerate() {
            let readings = way.readings(now, endpoints);
            if readings.arrived.0 == 0 {
                continue;
            }
            let counts = [readings.arrived.0, readings.sent.0, way.ece_raised];
            let (then, before) = std::mem::replace(&mut self.previous[index], (now, counts));
            let seconds = now.saturating_since(then).as_secs_f64();
            let rates = [0, 1].map(|count: usize| {
                if seconds > 0.0 { (counts[count] - before[count]) as f64 * 8.0 / seconds } else { f64::NAN }
            });
            self.time.push(now.as_secs_f64());
            self.way.push(index as u32);
            let row = values(way, endpoints, rates, counts[2] - before[2]);
            for (column, value) in self.columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
    }

    pub(crate) fn into_table(self, config: &SimulationConfig, relays: &Relays) -> Table {
        let relay_of = |way: u32| &relays.list[Relays::relay_of(way as usize)];
        let codes = |code: &dyn Fn(u32) -> u32| self.way.iter().map(|&way| code(way)).collect::<Vec<u32>>();
        let name =
            |name: &'static str, codes, names| Column { name: name.into(), data: ColumnData::Name { codes, names } };
        let appliances = config.appliances.iter().map(|appliance| appliance.name.clone()).collect();
        let flows = config.flows.iter().map(|flow| flow.name.clone()).collect();
        let directions = vec!["forward".to_owned(), "backward".to_owned()];
        let mut columns = vec![
            Column { name: "time_s".into(), data: ColumnData::F64(self.time.clone()) },
            name("appliance", codes(&|way| relay_of(way).appliance as u32), appliances),
            name("flow", codes(&|way| relay_of(way).flow as u32), flows),
            name("direction", codes(&|way| way % 2), directions),
        ];
        let numbers = COLUMNS.iter().zip(self.columns);
        columns.extend(numbers.map(|(name, data)| Column { name: (*name).into(), data: ColumnData::F64(data) }));
        Table { columns }
    }
}

/// One row; unknown values are NaN.
fn values(way: &mut Way, endpoints: &[Endpoint], rates: [f64; 2], ece_raised: u64) -> [f64; COLUMNS.len()] {
    let (from, to) = (&endpoints[way.from], &endpoints[way.to]);
    let srtt = |end: &Endpoint| if end.has_rtt_sample() { end.rtt().srtt.as_secs_f64() } else { f64::NAN };
    let unread = from.unread().0 as f64;
    let kept = from.received().saturating_sub(to.acknowledged());
    [
        unread,
        way.copying.0 as f64,
        to.unsent().0 as f64,
        kept.0 as f64,
        from.advertised_window().0 as f64,
        rates[0],
        rates[1],
        way.latency.take_recent_mean().map_or(f64::NAN, SimDuration::as_secs_f64),
        ece_raised as f64,
        srtt(from),
        to.cwnd().0 as f64,
        to.controller().ssthresh().map_or(f64::NAN, |ssthresh| ssthresh.0 as f64),
        to.flight_size().0 as f64,
        srtt(to),
        to.rwnd().0 as f64,
        to.rto().as_secs_f64(),
    ]
}
