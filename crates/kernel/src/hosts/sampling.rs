//! Samples of the kernel's connection states over time: series, counts at the borders of the measurement, episodes.
//!
//! Departures from the simulator: a state that begins and ends between two looks is not seen, so that the number of episodes is one of
//! those that lasted at least [`LOOK`]; the window before an episode is the one at the look before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ackclock_sim::{FlowSeries, MeasureWindow};
use ackclock_units::{SimDuration, SimTime};

use super::ends::{Border, Ends};
use crate::clock::{WallClock, is_virtual};
use crate::sys::{CLOSED, TcpInfo, ca_state};

/// Interval between two reads of the states.
const LOOK: SimDuration = SimDuration::from_millis(1);

/// The state of a TCP connection that is established, or has been closed by one end; before are its handshake's.
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const LISTEN: u8 = 10;
/// The states in which the sender's FIN is acknowledged, or the connection is no more: FIN-WAIT-2, TIME-WAIT.
const OVER: [u8; 3] = [5, 6, CLOSED];

/// A time in which the kernel answered congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Index of the stream.
    pub stream: usize,
    /// The congestion state that began.
    pub state: u8,
    /// Time at which it began.
    pub start: SimTime,
    /// Time at which it was over; `None` if it had not ended with the run.
    pub end: Option<SimTime>,
    /// State at the look before.
    pub before: TcpInfo,
    /// State at the last look in it.
    pub after: TcpInfo,
    /// Segments retransmitted in it.
    pub retransmitted: u32,
}

/// One row of series: when, which stream, and the values.
pub type Row = (f64, u32, Vec<f64>);

/// All that was seen.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Rows, in the order of time.
    pub rows: Vec<Row>,
    /// Episodes, in the order of their beginning.
    pub episodes: Vec<Episode>,
    /// Counts of each stream where the measurement began.
    pub from: Vec<Option<Border>>,
    /// Counts of each stream where it ended.
    pub until: Vec<Option<Border>>,
    /// State of each stream at the end of the run. A later state would contain retransmissions to hosts that no longer
    /// answer.
    pub ends: Vec<TcpInfo>,
    /// Times at which each stream was first seen open, and last before its FIN was acknowledged.
    pub lives: Vec<Option<[SimTime; 2]>>,
    /// Whether the sender of each stream had lost its connection by then.
    pub aborted: Vec<bool>,
    /// Whether it had where the measurement began.
    pub had_failed: Vec<bool>,
}

/// Samples every stream of every connection.
#[derive(Debug)]
pub struct FlowSampler<'a> {
    connections: &'a [Ends],
    /// Connection of each stream, and its number there.
    streams: Vec<(usize, usize)>,
    /// Time at which each connection is opened.
    starts: Vec<SimTime>,
    series: &'a [FlowSeries],
    window: MeasureWindow,
    seen: Sampled,
    last: Vec<TcpInfo>,
    previous: Vec<Border>,
    under_way: Vec<Option<Episode>>,
}

impl<'a> FlowSampler<'a> {
    /// Sampler of these connections, each opened at its time.
    pub fn new(connections: &'a [Ends], starts: &[SimTime], series: &'a [FlowSeries], window: MeasureWindow) -> Self {
        let of = |(index, ends): (usize, &Ends)| {
            (0..ends.streams.len()).map(move |stream| (index, stream)).collect::<Vec<_>>()
        };
        let streams: Vec<(usize, usize)> = connections.iter().enumerate().flat_map(of).collect();
        let starts = streams.iter().map(|(connection, _)| starts[*connection]).collect();
        let count = streams.len();
        Self {
            connections,
            streams,
            starts,
            series,
            window,
            seen: Sampled {
                from: vec![None; count],
                until: vec![None; count],
                lives: vec![None; count],
                had_failed: vec![false; count],
                ..Sampled::default()
            },
            last: vec![TcpInfo::default(); count],
            previous: vec![Border::default(); count],
            under_way: vec![None; count],
        }
    }

    /// Reads the kernel's states each millisecond, and keeps a row of each stream each `interval`, until `stop` is set.
    pub fn run(mut self, interval: SimDuration, clock: WallClock, end: SimTime, stop: &AtomicBool) -> Sampled {
        let (mut next_row, mut next_look) = (SimTime::ZERO, SimTime::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            if now >= end {
                break;
            }
            let is_row = now >= next_row;
            self.look(now, is_row);
            while next_row <= now {
                next_row += interval;
            }
            while next_look <= now {
                next_look += LOOK;
            }
            let next = next_look.min(next_row);
            let left =
                if is_virtual() { Duration::from_nanos(next.saturating_since(now).0) } else { clock.until(next) };
            thread::sleep(left.min(Duration::from_millis(50)));
        }
        self.finish(clock.now())
    }

    fn look(&mut self, now: SimTime, is_row: bool) {
        for index in 0..self.streams.len() {
            let (connection, stream) = self.streams[index];
            let ends = &self.connections[connection];
            let is_measured = self.window.from.is_some_and(|from| now >= from) && self.seen.from[index].is_none();
            let is_over = self.window.until.is_some_and(|until| now >= until) && self.seen.until[index].is_none();
            if is_measured {
                self.seen.from[index] = Some(ends.border(stream, now.max(self.starts[index])));
                self.seen.had_failed[index] = ends.had_failed(stream);
            }
            if is_over {
                self.seen.until[index] = Some(ends.border(stream, now));
            }
            if now < self.starts[index] {
                continue;
            }
            let Some(info) = ends.info(stream).filter(|info| ![SYN_SENT, LISTEN].contains(&info.state)) else {
                continue;
            };
            self.follow(index, now, &info);
            if !OVER.contains(&info.state) {
                self.seen.lives[index].get_or_insert([now; 2])[1] = now;
            }
            let is_open = info.state == ESTABLISHED || info.bytes_sent > 0;
            if is_row && is_open {
                self.record(index, now, &info, ends.border(stream, now));
            }
        }
    }

    /// Has a time of congestion begun or ended?
    fn follow(&mut self, index: usize, now: SimTime, info: &TcpInfo) {
        let before = std::mem::replace(&mut self.last[index], *info);
        let is_congested = |state: u8| [ca_state::CWR, ca_state::RECOVERY, ca_state::LOSS].contains(&state);
        if let Some(episode) = &mut self.under_way[index] {
            if episode.state == info.ca_state {
                episode.after = *info;
                return;
            }
            let mut episode = *episode;
            episode.end = Some(now);
            episode.retransmitted = info.total_retrans - episode.before.total_retrans;
            self.seen.episodes.push(episode);
            self.under_way[index] = None;
        }
        if is_congested(info.ca_state) {
            let start = Episode {
                stream: index,
                state: info.ca_state,
                start: now,
                end: None,
                before,
                after: *info,
                retransmitted: 0,
            };
            self.under_way[index] = Some(start);
        }
    }

    fn record(&mut self, index: usize, now: SimTime, info: &TcpInfo, counts: Border) {
        let then = std::mem::replace(&mut self.previous[index], counts);
        let span = now.saturating_since(then.time.max(self.starts[index]));
        let rate = |octets: u64| if span.is_zero() { f64::NAN } else { octets as f64 * 8.0 / span.as_secs_f64() };
        let known = |micros: u32| if info.rtt_us > 0 { f64::from(micros) / 1e6 } else { f64::NAN };
        let value = |series: &FlowSeries| match series {
            FlowSeries::Cwnd => info.cwnd() as f64,
            FlowSeries::Ssthresh => info.ssthresh().map_or(f64::NAN, |octets| octets as f64),
            FlowSeries::FlightSize => info.flight_size() as f64,
            FlowSeries::Srtt => known(info.rtt_us),
            FlowSeries::Rttvar => known(info.rttvar_us),
            FlowSeries::Rto => f64::from(info.rto_us) / 1e6,
            FlowSeries::RttSample | FlowSeries::AckRatio => f64::NAN,
            FlowSeries::Rwnd => f64::from(info.snd_wnd),
            FlowSeries::Throughput => rate(counts.sent - then.sent.min(counts.sent)),
            FlowSeries::Goodput => rate(counts.read - then.read),
        };
        self.seen.rows.push((now.as_secs_f64(), index as u32, self.series.iter().map(value).collect()));
    }

    fn finish(mut self, now: SimTime) -> Sampled {
        for (index, &(connection, stream)) in self.streams.iter().enumerate() {
            let ends = &self.connections[connection];
            if self.seen.until[index].is_none() {
                self.seen.until[index] = Some(ends.border(stream, now));
            }
            self.seen.ends.push(ends.info(stream).unwrap_or_default());
            self.seen.aborted.push(ends.is_aborted(stream));
            if let Some(mut episode) = self.under_way[index] {
                episode.retransmitted = self.last[index].total_retrans - episode.before.total_retrans;
                self.seen.episodes.push(episode);
            }
        }
        self.seen.episodes.sort_by_key(|episode| (episode.start, episode.stream));
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::sync::OnceLock;

    use super::*;
    use crate::hosts::{Stream, listen, socket};
    use crate::plan::SocketOptions;

    /// A connection for the test.
    fn connected() -> [Ends; 1] {
        let options = SocketOptions { max_segment: 1_460, no_delay: true, ..SocketOptions::default() };
        let listener = listen(&options, "cubic", SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let opener = socket(&options).expect("a socket");
        opener.connect(&listener.local_addr().expect("bound")).expect("connects");
        let acceptor = OnceLock::from(listener.accept().expect("a connection").0);
        [Ends { opener, listener, acceptor, streams: vec![Stream::new("one".to_owned())], reset: OnceLock::new() }]
    }

    /// Jain's index leaves out flows that failed before the measurement window, as the simulator does.
    #[test]
    fn whether_a_sender_had_failed_is_seen_where_the_measurement_begins() {
        let ends = connected();
        let failed_at = |first: u64| {
            let window = MeasureWindow { from: Some(SimTime(5)), until: None };
            let mut sampler = FlowSampler::new(&ends, &[SimTime::ZERO], &[], window);
            sampler.look(SimTime(first), false);
            sampler.seen.had_failed[0]
        };
        assert!(!failed_at(5));
        ends[0].abort().expect("a connection to reset");
        assert_eq!([4, 5].map(failed_at), [false, true]);
    }

    #[test]
    fn what_a_socket_sends_after_the_end_counts_for_nothing() {
        let ends = connected();
        (&ends[0].opener).write_all(&[0; 3_000]).expect("written");
        let sampler = FlowSampler::new(&ends, &[SimTime::ZERO], &[], MeasureWindow::default());
        let interval = SimDuration::from_millis(100);
        let found = sampler.run(interval, WallClock::start(), SimTime(5_000_000), &AtomicBool::new(false));
        (&ends[0].opener).write_all(&[0; 2_000]).expect("written");
        assert_eq!((found.ends[0].bytes_sent, found.until[0].map(|border| border.sent)), (3_000, Some(3_000)));
    }
}
