//! Samples of the kernel's connection states over time: rows of series, counts at the borders of the measurement, episodes.
//!
//! Departures from the simulator: a state that begins and ends between two looks is not seen, so that the number of episodes is one of
//! those that lasted at least [`LOOK`]; the window before an episode is the one at the look before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ackclock_sim::{MeasureWindow, Sampling};
use ackclock_units::{SimDuration, SimTime};

use super::ends::{Border, Ends};
use super::flow_log::FlowLog;
use crate::clock::{WallClock, is_virtual};
use crate::sys::{CLOSED, LISTEN, SYN_SENT, TcpInfo, ca_state};

/// Interval between two reads of the states.
const LOOK: SimDuration = SimDuration::from_millis(1);

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

/// All that was seen.
#[derive(Debug, Default)]
pub struct Sampled {
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

/// Rows that a look writes.
#[derive(Clone, Copy, Debug)]
enum Rows {
    None,
    All,
    /// Rows of those streams whose state is another than in their last row.
    Changed,
}

/// Samples every stream of every connection.
#[derive(Debug)]
pub struct FlowSampler<'a> {
    connections: &'a [Ends],
    /// Connection of each stream, and its number there.
    streams: Vec<(usize, usize)>,
    log: &'a FlowLog<'a>,
    window: MeasureWindow,
    seen: Sampled,
    last: Vec<TcpInfo>,
    under_way: Vec<Option<Episode>>,
}

impl<'a> FlowSampler<'a> {
    /// Sampler of these connections, which writes rows into the log.
    pub fn new(connections: &'a [Ends], log: &'a FlowLog<'a>, window: MeasureWindow) -> Self {
        let streams = log.streams();
        let count = streams.len();
        Self {
            connections,
            streams,
            log,
            window,
            seen: Sampled {
                from: vec![None; count],
                until: vec![None; count],
                lives: vec![None; count],
                had_failed: vec![false; count],
                ..Sampled::default()
            },
            last: vec![TcpInfo::default(); count],
            under_way: vec![None; count],
        }
    }

    /// Reads the kernel's states each millisecond until `stop` is set, and writes a row of each stream: each interval, or,
    /// where each ACK is a row already, when a timer has changed the state.
    pub fn run(mut self, sampling: Sampling, clock: WallClock, end: SimTime, stop: &AtomicBool) -> Sampled {
        let (mut next_row, mut next_look) = (SimTime::ZERO, SimTime::ZERO);
        let (interval, rows) = match sampling {
            Sampling::Interval(interval) => (interval, Rows::All),
            Sampling::Events(_) => (LOOK, Rows::Changed),
        };
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            if now >= end {
                break;
            }
            self.look(now, if now >= next_row { rows } else { Rows::None });
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

    fn look(&mut self, now: SimTime, rows: Rows) {
        for index in 0..self.streams.len() {
            let (connection, stream) = self.streams[index];
            let ends = &self.connections[connection];
            let is_measured = self.window.from.is_some_and(|from| now >= from) && self.seen.from[index].is_none();
            let is_over = self.window.until.is_some_and(|until| now >= until) && self.seen.until[index].is_none();
            if is_measured {
                self.seen.from[index] = Some(ends.border(stream, now.max(self.log.start(index))));
                self.seen.had_failed[index] = ends.had_failed(stream);
            }
            if is_over {
                self.seen.until[index] = Some(ends.border(stream, now));
            }
            if now < self.log.start(index) {
                continue;
            }
            let Some(info) = ends.info(stream).filter(|info| ![SYN_SENT, LISTEN].contains(&info.state)) else {
                continue;
            };
            self.follow(index, now, &info);
            if !OVER.contains(&info.state) {
                self.seen.lives[index].get_or_insert([now; 2])[1] = now;
            }
            match rows {
                Rows::None => {}
                Rows::All => self.log.record(index, now, &info, ends.read(stream)),
                Rows::Changed => self.log.record_change(index, now, &info, ends.read(stream)),
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

    use super::*;
    use crate::hosts::testing::connected;

    /// Jain's index leaves out flows that failed before the measurement window, as the simulator does.
    #[test]
    fn whether_a_sender_had_failed_is_seen_where_the_measurement_begins() {
        let ends = connected();
        let failed_at = |first: u64| {
            let window = MeasureWindow { from: Some(SimTime(5)), until: None };
            let log = FlowLog::new(&ends, &[SimTime::ZERO], &[]);
            let mut sampler = FlowSampler::new(&ends, &log, window);
            sampler.look(SimTime(first), Rows::None);
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
        let log = FlowLog::new(&ends, &[SimTime::ZERO], &[]);
        let sampler = FlowSampler::new(&ends, &log, MeasureWindow::default());
        let sampling = Sampling::Interval(SimDuration::from_millis(100));
        let found = sampler.run(sampling, WallClock::start(), SimTime(5_000_000), &AtomicBool::new(false));
        (&ends[0].opener).write_all(&[0; 2_000]).expect("written");
        assert_eq!((found.ends[0].bytes_sent, found.until[0].map(|border| border.sent)), (3_000, Some(3_000)));
    }
}
