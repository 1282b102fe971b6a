//! The window under CoDel: smaller while octets wait too long, larger else.
//!
//! Ours, after RFC 8289: the state machine decides when the waiting time has been over target for an interval, and then acts
//! every interval / sqrt(count). Instead of a drop, which a sender answers by a cut of its own, the window itself loses an
//! eighth; while octets wait less, and the window is used, it gains a sixteenth of what is sent on. Before the first cut it
//! gains all of it, as slow start does.

use ackclock_declare::{About, declare, default};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::discipline::{Kind, MAX_SEGMENTS, MAX_STAY, Orders, Policy};
use crate::grant::Grant;
use crate::history::History;
use crate::readings::Readings;

declare! {
    /// Parameters of `codel_window`, which moves its window.
    #[derive(Copy, Eq)]
    pub struct CodelWindowConfig {
        /// Stay that is acceptable for good.
        target: SimDuration =
            default(SimDuration::from_millis(5)).at_most(MAX_STAY).source("RFC 8289 section 4.4"),
        /// Time for which every stay must be longer before the window shrinks.
        // RFC 8289 wants the longest round trip of those who respond, which is that of the near side and not 100 ms.
        interval: SimDuration = default(SimDuration::from_millis(10)).above(SimDuration::ZERO),
        /// The least window, so that a flow that rests can begin.
        min_segments: u64 = default(2).at_least(1).at_most(MAX_SEGMENTS).unit("segments"),
    }
}

impl Policy for CodelWindowConfig {
    const ABOUT: About = About {
        name: "codel_window",
        aliases: &[],
        summary: "shrinks the advertised window once octets have stayed longer than target for an interval, else lets it grow",
        source: "ours, after RFC 8289",
        departures: "no drop and no mark: the window is the signal",
    };

    fn start(&self, _seed: u64) -> Kind {
        Kind::CodelWindow(CodelWindow::new(*self))
    }
}

/// Divisor of a cut: it removes one part of this many.
const CUT: u64 = 8;
/// Number of octets sent on for one octet of growth after the first cut.
const GROWTH: u64 = 16;
/// The window that a flow begins with, in segments: RFC 6928.
const INITIAL_SEGMENTS: u64 = 10;

/// Moves the window by the time that octets wait.
#[derive(Clone, Debug)]
pub struct CodelWindow {
    config: CodelWindowConfig,
    arrivals: History,
    grant: Grant,
    /// Window for octets kept and on their way from the near side; none before the first reading.
    window: Option<Bytes>,
    sent: Bytes,
    /// Since when octets have waited longer than the target.
    above_since: Option<SimTime>,
    cut_next: Option<SimTime>,
    /// Cuts in a row.
    cuts: u64,
    has_cut: bool,
}

impl CodelWindow {
    pub(crate) fn new(config: CodelWindowConfig) -> Self {
        Self {
            config,
            arrivals: History::default(),
            grant: Grant::default(),
            window: None,
            sent: Bytes::ZERO,
            above_since: None,
            cut_next: None,
            cuts: 0,
            has_cut: false,
        }
    }

    pub(crate) fn update(&mut self, readings: &Readings) -> Orders {
        self.arrivals.record(readings.now, readings.arrived, self.config.target / 16);
        let segment = readings.near_segment();
        let mut window = self.window.unwrap_or(Bytes(INITIAL_SEGMENTS * segment.0));
        if self.is_due(readings) {
            window = window - Bytes(window.0 / CUT);
        } else if self.above_since.is_none() && self.is_used(readings, window) {
            let sent_on = (readings.sent - self.sent).0;
            // A least window of any size may have been configured: it may be without bound.
            window = Bytes(window.0.saturating_add(if self.has_cut { sent_on / GROWTH } else { sent_on }));
        }
        // The number of segments is configured: without bound, if they are too many.
        let least = Bytes(segment.0.saturating_mul(self.config.min_segments));
        let window = window.max(least);
        self.window = Some(window);
        self.sent = readings.sent;
        let since = a_near_rtt_ago(readings);
        self.arrivals.forget_until(since.min(self.waiting_since(readings).unwrap_or(since)));
        Orders {
            // More may wait than the window has room for, which has become smaller.
            window: Some(self.grant.window(readings, window.saturating_sub(readings.backlog()))),
            // What no cut makes smaller is left alone, however long the far side stands still.
            wake_at: self.cut_next.filter(|&next| next > readings.now && window > least && window.0 >= CUT),
            ..Orders::default()
        }
    }

    /// Time of arrival of the next octet to leave.
    fn waiting_since(&self, readings: &Readings) -> Option<SimTime> {
        self.arrivals.time_beyond(readings.sent)
    }

    /// RFC 8289 section 5: whether a cut is due now.
    fn is_due(&mut self, readings: &Readings) -> bool {
        let sojourn = self.waiting_since(readings).map_or(SimDuration::ZERO, |since| readings.now - since);
        if sojourn < self.config.target || readings.backlog() <= readings.near_segment() {
            self.above_since = None;
            self.cut_next = None;
            self.cuts = 0;
            return false;
        }
        self.above_since.get_or_insert(readings.now);
        let next = *self.cut_next.get_or_insert(readings.now + self.config.interval);
        if readings.now < next {
            return false;
        }
        self.has_cut = true;
        self.cuts += 1;
        let wait = SimDuration::from_secs_f64(self.config.interval.as_secs_f64() / (self.cuts as f64).sqrt());
        self.cut_next = Some(readings.now + wait.max(SimDuration(1)));
        true
    }

    /// True if half the window arrived in the last near round trip: a sender with less to send needs no larger one.
    fn is_used(&self, readings: &Readings, window: Bytes) -> bool {
        let arrived = readings.arrived - self.arrivals.count_at(a_near_rtt_ago(readings));
        2 * arrived.0 >= window.0
    }
}

/// No earlier than the beginning of time.
fn a_near_rtt_ago(readings: &Readings) -> SimTime {
    SimTime(readings.now.0.saturating_sub(readings.near_rtt.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::readings;

    /// Octets that arrived before the connection was a millisecond old wait; no others arrive.
    fn stalled(until: u64) -> Vec<(u64, Bytes)> {
        let mut discipline = CodelWindow::new(CodelWindowConfig::default());
        discipline.update(&readings(0, 0, 0));
        let mut windows = Vec::new();
        for ms in 1..=until {
            discipline.update(&readings(ms, 10_000, 0));
            windows.push((ms, discipline.window.unwrap()));
        }
        windows
    }

    #[test]
    fn the_window_is_cut_once_an_interval_above_target_has_passed() {
        let windows = stalled(27);
        let at = |ms: u64| windows.iter().find(|&&(t, _)| t == ms).unwrap().1;
        // arrived at 1 ms; over 5 ms from 6 ms on, for 10 ms at 16 ms: 10 000 x 7/8
        assert_eq!(at(15), Bytes(10_000));
        assert_eq!(at(16), Bytes(8_750));
        // the next after 10 ms / sqrt(1), that is 8750 - 8750/8
        assert_eq!(at(25), Bytes(8_750));
        assert_eq!(at(26), Bytes(7_657));
    }

    #[test]
    fn while_nothing_leaves_it_is_asked_until_the_window_is_at_its_least_and_no_longer() {
        // 10 segments to 2 lose an eighth each time: ln 5 / ln (8/7) = 12.05, 13 cuts.
        let mut discipline = CodelWindow::new(CodelWindowConfig::default());
        let mut next = discipline.update(&readings(0, 10_000, 0)).wake_at;
        next = next.or_else(|| discipline.update(&readings(6, 10_000, 0)).wake_at);
        let mut asked = 0;
        while let Some(now) = next {
            next = discipline.update(&Readings { now, ..readings(0, 10_000, 0) }).wake_at;
            asked += 1;
            assert!(asked < 100, "it wakes for ever");
        }
        assert_eq!((asked, discipline.window), (13, Some(Bytes(2_000))));
    }

    #[test]
    fn before_the_first_cut_it_grows_as_slow_start_does() {
        let mut discipline = CodelWindow::new(CodelWindowConfig::default());
        discipline.update(&readings(0, 0, 0));
        discipline.update(&readings(2, 10_000, 10_000));
        assert_eq!(discipline.window, Some(Bytes(20_000)));
        // a sender that uses a tenth of it does not make it grow
        discipline.update(&readings(10, 12_000, 12_000));
        assert_eq!(discipline.window, Some(Bytes(20_000)));
    }
}
