//! Series of the data in each direction through an appliance: `appliances.parquet`.

use ackclock_cc::CongestionController as _;
use ackclock_net::Direction;
use ackclock_tcp::Endpoint;
use ackclock_units::{SimDuration, SimTime};

use super::RelayedStream;
use super::relay::{Carries, Relay, Relays};
use crate::config::SimulationConfig;
use crate::connections::Connections;
use crate::ids::{RelayDirection, RelayId};
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

/// The rows so far; short flows have none.
#[derive(Clone, Debug)]
pub(crate) struct ApplianceSeries {
    time: Vec<f64>,
    of: Vec<RelayDirection>,
    columns: Vec<Vec<f64>>,
    /// Latest sample of each relay, forward and backward: its time, and counts of octets arrived, octets sent, ECE
    /// raised.
    previous: Vec<[(SimTime, [u64; 3]); 2]>,
}

impl ApplianceSeries {
    pub(crate) fn new(relays: usize) -> Self {
        Self {
            time: Vec::new(),
            of: Vec::new(),
            columns: vec![Vec::new(); COLUMNS.len()],
            previous: vec![[(SimTime::ZERO, [0; 3]); 2]; relays],
        }
    }

    /// Records a row for each direction of a listed flow with any arrivals; those flows come first.
    pub(super) fn sample(&mut self, now: SimTime, relays: &mut [Relay], connections: &Connections) {
        for (index, relay) in relays.iter_mut().take(self.previous.len()).enumerate() {
            for (stream, at) in relay.streams.iter_mut().zip(RelayId::new(index).directions()) {
                self.sample_stream(now, at, stream, connections);
            }
        }
    }

    fn sample_stream(
        &mut self,
        now: SimTime,
        at: RelayDirection,
        stream: &mut RelayedStream,
        connections: &Connections,
    ) {
        let readings = stream.readings(now, connections);
        let counts = [readings.arrived.0, readings.sent.0, stream.ece_raised];
        let previous = &mut self.previous[at.relay().index()][at.direction().index()];
        let (then, before) = std::mem::replace(previous, (now, counts));
        if readings.arrived.0 == 0 {
            return;
        }
        let seconds = now.saturating_since(then).as_secs_f64();
        let rates =
            [0, 1].map(
                |count: usize| {
                    if seconds > 0.0 { (counts[count] - before[count]) as f64 * 8.0 / seconds } else { f64::NAN }
                },
            );
        self.time.push(now.as_secs_f64());
        self.of.push(at);
        let row = values(stream, connections, rates, counts[2] - before[2]);
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    pub(crate) fn into_table(self, config: &SimulationConfig, relays: &Relays) -> Table {
        let codes =
            |code: &dyn Fn(RelayDirection) -> usize| self.of.iter().map(|&at| code(at) as u32).collect::<Vec<u32>>();
        let flow = |at: RelayDirection| match relays[at.relay()].carries {
            Carries::Flow(flow) => flow,
            Carries::ShortFlow(_) => unreachable!("short flows have no rows"),
        };
        let name =
            |name: &'static str, codes, names| Column { name: name.into(), data: ColumnData::Name { codes, names } };
        let appliances = config.appliances.iter().map(|appliance| appliance.name.clone()).collect();
        let flows = config.flows.iter().map(|flow| flow.name.clone()).collect();
        let directions = Direction::BOTH.map(|direction| direction.name().to_owned()).to_vec();
        let mut columns = vec![
            Column { name: "time_s".into(), data: ColumnData::F64(self.time.clone()) },
            name("appliance", codes(&|at| relays[at.relay()].appliance.index()), appliances),
            name("flow", codes(&flow), flows),
            name("direction", codes(&|at| at.direction().index()), directions),
        ];
        let numbers = COLUMNS.iter().zip(self.columns);
        columns.extend(numbers.map(|(name, data)| Column { name: (*name).into(), data: ColumnData::F64(data) }));
        Table { columns }
    }
}

/// One row; unknown values are NaN.
fn values(
    stream: &mut RelayedStream,
    connections: &Connections,
    rates: [f64; 2],
    ece_raised: u64,
) -> [f64; COLUMNS.len()] {
    let (from, to) = (&connections[stream.from], &connections[stream.to]);
    let srtt = |end: &Endpoint| if end.has_rtt_sample() { end.rtt().srtt.as_secs_f64() } else { f64::NAN };
    let unread = from.unread().0 as f64;
    let kept = from.received().saturating_sub(to.acknowledged());
    [
        unread,
        stream.copying.0 as f64,
        to.unsent().0 as f64,
        kept.0 as f64,
        from.advertised_window().0 as f64,
        rates[0],
        rates[1],
        stream.latency.take_recent_mean().map_or(f64::NAN, SimDuration::as_secs_f64),
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
