//! Series of flows: the kernel's state of each sender over time, at intervals or at each ACK.

use std::sync::{Mutex, PoisonError};

use ackclock_net::EndpointId;
use ackclock_sim::FlowSeries;
use ackclock_units::{SimDuration, SimTime};

use super::ends::{Border, Ends};
use crate::emulator::Observer;
use crate::sys::{ESTABLISHED, LISTEN, SYN_SENT, TcpInfo};

/// One row of series: when, which stream, and the values.
pub type Row = (f64, u32, Vec<f64>);

/// Rows of all streams, which several threads write.
#[derive(Debug)]
pub struct FlowLog<'a> {
    connections: &'a [Ends],
    /// Number of the first stream of each connection.
    first: Vec<usize>,
    /// Time at which the connection of each stream is opened.
    starts: Vec<SimTime>,
    series: &'a [FlowSeries],
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    rows: Vec<Row>,
    /// State of each stream in its last row.
    last: Vec<Last>,
}

/// State of a stream in its last row.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    counts: Border,
    info: TcpInfo,
    /// The latest sample of the round trip.
    rtt: Option<SimDuration>,
}

impl<'a> FlowLog<'a> {
    /// A log without rows of these connections, each opened at its time.
    pub fn new(connections: &'a [Ends], starts: &[SimTime], series: &'a [FlowSeries]) -> Self {
        let (mut first, mut of_streams) = (Vec::new(), Vec::new());
        for (ends, start) in connections.iter().zip(starts) {
            first.push(of_streams.len());
            of_streams.extend(vec![*start; ends.streams.len()]);
        }
        let written = Written { rows: Vec::new(), last: vec![Last::default(); of_streams.len()] };
        Self { connections, first, starts: of_streams, series, written: Mutex::new(written) }
    }

    /// Connection of each stream, and the stream's number there.
    pub fn streams(&self) -> Vec<(usize, usize)> {
        let of = |(index, ends): (usize, &Ends)| (0..ends.streams.len()).map(move |stream| (index, stream));
        self.connections.iter().enumerate().flat_map(of).collect()
    }

    /// Time at which the connection of a stream is opened.
    pub fn start(&self, stream: usize) -> SimTime {
        self.starts[stream]
    }

    /// Writes a row of a stream, if its connection has been opened.
    pub fn record(&self, stream: usize, now: SimTime, info: &TcpInfo, read: u64) {
        self.write(stream, now, info, read, None);
    }

    /// Writes a row of a stream if its state is another than in its last row: a timer has changed it.
    pub fn record_change(&self, stream: usize, now: SimTime, info: &TcpInfo, read: u64) {
        let state = |info: &TcpInfo| (info.ca_state, info.cwnd_segments, info.ssthresh_segments, info.rto_us);
        let last = self.written.lock().unwrap_or_else(PoisonError::into_inner).last[stream].info;
        if state(info) != state(&last) {
            self.write(stream, now, info, read, None);
        }
    }

    fn write(&self, stream: usize, now: SimTime, info: &TcpInfo, read: u64, rtt: Option<SimDuration>) {
        if info.state != ESTABLISHED && info.bytes_sent == 0 {
            return;
        }
        let Written { rows, last } = &mut *self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = Border { time: now, read, sent: info.bytes_sent };
        let rtt = rtt.or(last[stream].rtt);
        let then = std::mem::replace(&mut last[stream], Last { counts, info: *info, rtt }).counts;
        let span = now.saturating_since(then.time.max(self.starts[stream]));
        let rate = |octets: u64| if span.is_zero() { f64::NAN } else { octets as f64 * 8.0 / span.as_secs_f64() };
        let known = |micros: u32| if info.rtt_us > 0 { f64::from(micros) / 1e6 } else { f64::NAN };
        let value = |series: &FlowSeries| match series {
            FlowSeries::Cwnd => info.cwnd() as f64,
            FlowSeries::Ssthresh => info.ssthresh().map_or(f64::NAN, |octets| octets as f64),
            FlowSeries::FlightSize => info.flight_size() as f64,
            FlowSeries::Srtt => known(info.rtt_us),
            FlowSeries::Rttvar => known(info.rttvar_us),
            FlowSeries::Rto => f64::from(info.rto_us) / 1e6,
            FlowSeries::RttSample => rtt.map_or(f64::NAN, SimDuration::as_secs_f64),
            FlowSeries::AckRatio => f64::NAN,
            FlowSeries::Rwnd => f64::from(info.snd_wnd),
            FlowSeries::Throughput => rate(counts.sent - then.sent.min(counts.sent)),
            FlowSeries::Goodput => rate(counts.read - then.read.min(counts.read)),
        };
        rows.push((now.as_secs_f64(), stream as u32, self.series.iter().map(value).collect()));
    }

    /// The rows, in the order of time.
    pub fn into_rows(self) -> Vec<Row> {
        let mut rows = self.written.into_inner().unwrap_or_else(PoisonError::into_inner).rows;
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        rows
    }
}

impl Observer for FlowLog<'_> {
    /// Writes a row of the stream that an end sends, as that end's TCP is once it has dealt with a segment.
    fn on_delivered(&self, to: EndpointId, now: SimTime, rtt: Option<SimDuration>) {
        let connection = to.connection();
        let stream = usize::from(to != EndpointId::opener(connection));
        let Some(ends) = self.connections.get(connection.index()).filter(|ends| stream < ends.streams.len()) else {
            return;
        };
        let info = ends.info(stream).filter(|info| ![SYN_SENT, LISTEN].contains(&info.state));
        if let Some(info) = info {
            self.write(self.first[connection.index()] + stream, now, &info, ends.read(stream), rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_net::ConnectionIndex;

    use super::*;
    use crate::hosts::testing::connected;

    const SERIES: [FlowSeries; 2] = [FlowSeries::Cwnd, FlowSeries::RttSample];

    fn times_and_samples(log: FlowLog<'_>) -> Vec<(f64, Option<f64>)> {
        let sample = |row: &Row| Some(row.2[1]).filter(|value| !value.is_nan());
        log.into_rows().iter().map(|row| (row.0, sample(row))).collect()
    }

    /// The other end sends nothing, so that what it receives is no row.
    #[test]
    fn each_segment_to_a_sender_is_a_row_with_the_latest_sample() {
        let ends = connected();
        let log = FlowLog::new(&ends, &[SimTime::ZERO], &SERIES);
        let opener = EndpointId::opener(ConnectionIndex::new(0));
        log.on_delivered(opener, SimTime(2_000_000_000), Some(SimDuration::from_millis(40)));
        log.on_delivered(opener.peer(), SimTime(2_500_000_000), Some(SimDuration::from_millis(1)));
        log.on_delivered(EndpointId::opener(ConnectionIndex::new(1)), SimTime(2_500_000_000), None);
        log.on_delivered(opener, SimTime(3_000_000_000), None);
        assert_eq!(times_and_samples(log), [(2.0, Some(0.04)), (3.0, Some(0.04))]);
    }

    #[test]
    fn a_state_that_is_looked_at_is_a_row_only_if_it_has_changed() {
        let ends = connected();
        let log = FlowLog::new(&ends, &[SimTime::ZERO], &SERIES);
        let open = TcpInfo { state: ESTABLISHED, cwnd_segments: 10, snd_mss: 1_000, ..TcpInfo::default() };
        let timed_out = TcpInfo { cwnd_segments: 1, rto_us: 400_000, ..open };
        for (second, info) in [(1, open), (2, open), (3, timed_out), (4, timed_out)] {
            log.record_change(0, SimTime(second * 1_000_000_000), &info, 0);
        }
        assert_eq!(times_and_samples(log), [(1.0, None), (3.0, None)]);
    }
}
