//! A window of whole segments, grown by counting ACKed segments, as in Linux's Reno and CUBIC.
//!
//! Source: the behaviour of Linux 6.18. Departures: an ACK of part of a segment counts when the rest of it is
//! acknowledged. A sender that counts packets hands in whole segments anyway.

use ackclock_units::{Bytes, SimTime};

use crate::controller::Start;
use crate::event::{AckEvent, CongestionEvent, RestartCause, RestartEvent};
use crate::slow_start::{Pace, SlowStart, Window};

/// The least ssthresh, segments.
const LEAST_SSTHRESH: u64 = 2;

/// A window of whole segments.
#[derive(Clone, Debug)]
pub(crate) struct SegmentWindow {
    mss: u64,
    /// The congestion window, segments.
    pub(crate) cwnd: u64,
    /// The slow-start threshold, segments.
    pub(crate) ssthresh: Option<u64>,
    /// Segments ACKed in congestion avoidance since cwnd last grew.
    pub(crate) counted: u64,
    /// The ACKed bytes that do not make a segment yet.
    fraction: u64,
    /// The window before this ACK began a reduction or undid one.
    changed_from: Option<Window>,
    /// The values of cwnd and ssthresh to restore if the last episode was spurious.
    before_episode: Option<(u64, Option<u64>)>,
}

impl SegmentWindow {
    pub(crate) fn new(start: Start) -> Self {
        Self {
            mss: start.mss.0,
            cwnd: (start.initial_window.0 / start.mss.0).max(1),
            ssthresh: start.ssthresh().map(|bytes| bytes / start.mss.0),
            counted: 0,
            fraction: 0,
            changed_from: None,
            before_episode: None,
        }
    }

    /// The window in bytes.
    pub(crate) fn in_bytes(&self) -> Window {
        Window {
            cwnd: self.cwnd * self.mss,
            ssthresh: self.ssthresh.map(|segments| segments * self.mss),
            mss: self.mss,
        }
    }

    /// Applies an ACK in slow start, which may end with it. Returns the segments left over for congestion avoidance.
    /// `epoch` is that of [`SlowStart::on_ack`].
    #[inline]
    pub(crate) fn on_ack(&mut self, slow_start: &mut SlowStart, ack: &AckEvent, epoch: Option<SimTime>) -> u64 {
        let found = self.found_by(ack);
        let pace = slow_start.on_ack(ack, &found, epoch);
        if pace == Pace::Leave {
            self.leave_slow_start(&found);
        }
        if ack.may_grow() { self.slow_start(slow_start, pace, ack) } else { 0 }
    }

    /// The window as an ACK finds it, in bytes; during a reduction that is another one.
    fn found_by(&mut self, ack: &AckEvent) -> Window {
        let found = self.changed_from.take().unwrap_or_else(|| self.in_bytes());
        ack.reduced_window.map_or(found, |Bytes(cwnd)| Window { cwnd, ..found })
    }

    pub(crate) fn cwnd_bytes(&self) -> Bytes {
        Bytes(self.cwnd * self.mss)
    }

    pub(crate) fn ssthresh_bytes(&self) -> Option<Bytes> {
        self.ssthresh.map(|segments| Bytes(segments * self.mss))
    }

    /// Restarts the window, in whole segments, at least one.
    pub(crate) fn on_restart(&mut self, restart: &RestartEvent) {
        self.changed_from = None;
        if restart.cause == RestartCause::Timeout {
            self.counted = 0;
        }
        if let Some(ssthresh) = restart.ssthresh {
            self.ssthresh = Some(ssthresh.0 / self.mss);
        }
        self.cwnd = (restart.window.0 / self.mss).max(1);
    }

    /// Ends slow start with the window that the ACK found, if that is not yet reduced further.
    fn leave_slow_start(&mut self, found: &Window) {
        let cwnd = found.cwnd / self.mss;
        if cwnd <= self.cwnd {
            self.cwnd = cwnd;
            self.ssthresh = Some(cwnd);
        }
    }

    /// Applies an ACK that may grow the window in slow start: all its segments, up to ssthresh. Returns the segments
    /// left over for congestion avoidance.
    fn slow_start(&mut self, slow_start: &mut SlowStart, pace: Pace, ack: &AckEvent) -> u64 {
        let bytes = ack.newly_acked.0 + self.fraction;
        self.fraction = bytes % self.mss;
        let acked = bytes / self.mss;
        let window = Window { cwnd: self.cwnd, ssthresh: self.ssthresh, mss: 1 };
        if !window.in_slow_start() {
            return acked;
        }
        let (cwnd, left) = slow_start.grow(pace, window, acked, u64::MAX);
        self.cwnd = cwnd;
        left
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// The whole segments that an ACK delivers, with what earlier ones left over. For a window that no sign but a loss ends
    /// the slow start of.
    pub(crate) fn whole_segments(&mut self, ack: &AckEvent) -> u64 {
        self.changed_from = None;
        let bytes = ack.newly_acked.0 + self.fraction;
        self.fraction = bytes % self.mss;
        bytes / self.mss
    }

    /// Grows by the segments of an ACK up to ssthresh; returns those left over, all if the window is not below.
    pub(crate) fn grow_to_ssthresh(&mut self, segments: u64) -> u64 {
        let grown = self.cwnd + segments;
        let cwnd = self.ssthresh.map_or(grown, |ssthresh| grown.min(ssthresh.max(self.cwnd)));
        self.cwnd = cwnd;
        grown - cwnd
    }

    /// Applies an ACK in congestion avoidance: one segment for every `per` segments ACKed.
    pub(crate) fn avoid_congestion(&mut self, per: u64, acked: u64) {
        // What was counted while more were asked for is worth one segment, not several.
        if self.counted >= per {
            self.counted = 0;
            self.cwnd += 1;
        }
        self.counted += acked;
        self.cwnd += self.counted / per;
        self.counted %= per;
    }

    /// Sets the window without an episode; slow start ends.
    pub(crate) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd;
        self.ssthresh = Some(cwnd);
    }

    /// The window from which an episode decreases, in segments.
    pub(crate) fn decrease_from(&self, event: &CongestionEvent) -> u64 {
        event.decrease_from.0 / self.mss
    }

    /// Reduces the window to `kept` segments, at least two; a repeated timeout leaves ssthresh alone.
    pub(crate) fn reduce(&mut self, event: &CongestionEvent, kept: u64) {
        self.changed_from = (!event.is_timeout()).then(|| self.in_bytes());
        if !event.is_repeated() {
            // An undo shall not slow-start towards a threshold far below the window that it restores.
            let threshold = self.ssthresh.map(|ssthresh| ssthresh.max(self.cwnd / 2 + self.cwnd / 4));
            self.before_episode = Some((self.cwnd, threshold));
            self.ssthresh = Some(kept.max(LEAST_SSTHRESH));
        }
        self.counted = 0;
        self.cwnd = if event.is_timeout() { 1 } else { self.ssthresh.unwrap_or(self.cwnd) };
    }

    /// Undoes the last episode, which was spurious.
    pub(crate) fn undo(&mut self) {
        self.changed_from = Some(self.in_bytes());
        if let Some((cwnd, ssthresh)) = self.before_episode.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.and_then(|now| ssthresh.map(|before| now.max(before)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow_start::Hystart;
    use crate::testing::{ack, loss, timeout};

    fn window(cwnd: u64, ssthresh: Option<u64>) -> SegmentWindow {
        let in_bytes = |segments| segments * 1_000;
        SegmentWindow::new(Start::of(1_000, in_bytes(cwnd), ssthresh.map(in_bytes)))
    }

    #[test]
    fn a_stretch_ack_in_slow_start_counts_whole_up_to_ssthresh() {
        let mut window = window(10, Some(25));
        let mut slow_start = SlowStart::new(Hystart::Off);
        assert_eq!(window.slow_start(&mut slow_start, Pace::Ordinary, &ack(20_000)), 5);
        assert_eq!(window.cwnd, 25);
    }

    #[test]
    fn an_ack_of_more_than_a_window_adds_more_than_a_segment() {
        let mut window = window(10, Some(10));
        window.avoid_congestion(10, 9);
        assert_eq!((window.cwnd, window.counted), (10, 9));
        window.avoid_congestion(10, 26); // 35 = 3 * 10 + 5
        assert_eq!((window.cwnd, window.counted), (13, 5));
    }

    #[test]
    fn a_count_beyond_a_smaller_goal_is_worth_one_segment() {
        let mut window = window(10, Some(10));
        window.avoid_congestion(100, 70);
        window.avoid_congestion(20, 1); // 70 >= 20: one segment, then count from nothing
        assert_eq!((window.cwnd, window.counted), (11, 1));
    }

    #[test]
    fn parts_of_segments_wait_for_the_rest() {
        let mut window = window(10, None);
        let mut slow_start = SlowStart::new(Hystart::Off);
        for bytes in [500, 400, 100] {
            window.slow_start(&mut slow_start, Pace::Ordinary, &ack(bytes));
        }
        assert_eq!(window.cwnd, 11);
    }

    #[test]
    fn an_undo_restores_the_window_and_a_threshold_of_three_quarters_of_it() {
        let mut window = window(40, Some(20));
        window.reduce(&loss(40_000), 20);
        window.undo();
        assert_eq!((window.cwnd, window.ssthresh), (40, Some(30))); // max(20, 40/2 + 40/4)
    }

    #[test]
    fn an_undo_goes_back_beyond_repeated_timeouts() {
        let mut window = window(40, None);
        window.reduce(&timeout(40_000, false), 20);
        window.reduce(&timeout(1_000, true), 0);
        assert_eq!((window.cwnd, window.ssthresh), (1, Some(20)));
        window.undo();
        assert_eq!((window.cwnd, window.ssthresh), (40, None));
    }
}
