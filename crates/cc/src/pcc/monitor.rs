//! Monitor intervals: the data that left in each, and its fate.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::delivery::SegmentReport;

/// The round trips after its end at which an interval's unaccounted data counts as lost.
const DEADLINE_ROUND_TRIPS: u64 = 4;

/// One monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval<P> {
    pub(super) purpose: P,
    /// The intended rate, bit/s.
    pub(super) rate: u64,
    start: SimTime,
    end: SimTime,
    sent: u64,
    /// The size of the largest segment.
    largest: u64,
    acked: u64,
    lost: u64,
    round_trips: Regression,
}

impl<P> Interval<P> {
    /// The sent rate, Mbit/s: the intended one, unless the application fell short of it by more than whole segments
    /// explain.
    pub(super) fn sent_mbps(&self) -> f64 {
        let Bytes(aimed_at) = Bandwidth(self.rate).bytes_in(self.length());
        if self.sent + 2 * self.largest >= aimed_at {
            return self.rate as f64 / 1e6;
        }
        self.sent as f64 * 8.0 / self.length().as_secs_f64() / 1e6
    }

    /// The lost fraction: the paper's monitor counts unacknowledged data as lost.
    pub(super) fn loss(&self) -> f64 {
        let lost = self.lost.max(self.sent.saturating_sub(self.acked));
        lost as f64 / (self.acked + lost).max(1) as f64
    }

    /// The growth of the RTT, in seconds per second.
    pub(super) fn rtt_gradient(&self) -> f64 {
        self.round_trips.slope()
    }

    /// True if no data left in the interval.
    pub(super) fn is_empty(&self) -> bool {
        self.sent == 0
    }

    /// True if no data of the interval is known to have arrived.
    pub(super) fn is_silent(&self) -> bool {
        self.acked == 0
    }

    fn length(&self) -> SimDuration {
        self.end.saturating_since(self.start)
    }

    fn is_settled(&self) -> bool {
        self.acked + self.lost >= self.sent
    }

    fn holds(&self, sent_at: SimTime) -> bool {
        self.start <= sent_at && sent_at < self.end
    }
}

/// Least squares of RTTs over the departure times of their segments.
#[derive(Clone, Copy, Debug, Default)]
struct Regression {
    count: f64,
    time: f64,
    rtt: f64,
    time_squared: f64,
    time_rtt: f64,
    rtt_squared: f64,
}

impl Regression {
    fn add(&mut self, time: f64, rtt: f64) {
        self.count += 1.0;
        self.time += time;
        self.rtt += rtt;
        self.time_squared += time * time;
        self.time_rtt += time * rtt;
        self.rtt_squared += rtt * rtt;
    }

    /// The slope; zero with too few points, or if it is within the error of the regression.
    fn slope(&self) -> f64 {
        let spread = self.count * self.time_squared - self.time * self.time;
        if spread <= 0.0 || self.count < 3.0 {
            return 0.0;
        }
        let common = self.count * self.time_rtt - self.time * self.rtt;
        let slope = common / spread;
        let unexplained = self.count * self.rtt_squared - self.rtt * self.rtt - slope * common;
        let variance = unexplained.max(0.0) / (self.count - 2.0) / spread; // of the slope
        if variance > slope * slope { 0.0 } else { slope }
    }
}

/// The intervals with unknown outcome, the present one last.
#[derive(Clone, Debug)]
pub(super) struct Monitor<P> {
    intervals: VecDeque<Interval<P>>,
    /// The latest-sent segment that this ACK delivers: its departure and its RTT.
    newest: Option<(SimTime, SimDuration)>,
}

impl<P> Default for Monitor<P> {
    fn default() -> Self {
        Self { intervals: VecDeque::new(), newest: None }
    }
}

impl<P: Copy> Monitor<P> {
    /// Begins an interval at `start`, where the present one ends.
    pub(super) fn begin(&mut self, start: SimTime, end: SimTime, rate: u64, purpose: P) {
        if let Some(present) = self.intervals.back_mut() {
            present.end = start;
        }
        let round_trips = Regression::default();
        self.intervals.push_back(Interval {
            purpose,
            rate,
            start,
            end,
            sent: 0,
            largest: 0,
            acked: 0,
            lost: 0,
            round_trips,
        });
    }

    /// The end of the present interval.
    pub(super) fn end(&self) -> SimTime {
        self.intervals.back().map_or(SimTime::NEVER, |present| present.end)
    }

    /// The end of the present interval if data has left in it: a sender with nothing to send needs no timer.
    pub(super) fn deadline(&self) -> SimTime {
        self.intervals.back().filter(|present| present.sent > 0).map_or(SimTime::NEVER, |present| present.end)
    }

    pub(super) fn on_send(&mut self, octets: u64) {
        if let Some(present) = self.intervals.back_mut() {
            present.sent += octets;
            present.largest = present.largest.max(octets);
        }
    }

    pub(super) fn on_delivered(&mut self, segment: &SegmentReport) {
        if let Some(interval) = self.find(segment.sent_at) {
            interval.acked += segment.size.0;
            if !segment.is_retransmission {
                self.newest = Some((segment.sent_at, segment.now.saturating_since(segment.sent_at)));
            }
        }
    }

    /// Takes the RTT of an ACK's latest segment, which did not wait for the ACK.
    pub(super) fn on_ack(&mut self) {
        if let Some((sent_at, rtt)) = self.newest.take()
            && let Some(interval) = self.find(sent_at)
        {
            let time = sent_at.saturating_since(interval.start).as_secs_f64();
            interval.round_trips.add(time, rtt.as_secs_f64());
        }
    }

    pub(super) fn on_lost(&mut self, segment: &SegmentReport) {
        if let Some(interval) = self.find(segment.sent_at) {
            interval.lost += segment.size.0;
        }
    }

    fn find(&mut self, sent_at: SimTime) -> Option<&mut Interval<P>> {
        self.intervals.iter_mut().find(|interval| interval.holds(sent_at))
    }

    /// The oldest interval, once it has ended and all its data is accounted for. After its deadline it is taken in any
    /// case, so that an undetected loss does not block the next ones.
    pub(super) fn take_finished(&mut self, now: SimTime, srtt: SimDuration) -> Option<Interval<P>> {
        let patience = SimDuration(DEADLINE_ROUND_TRIPS * srtt.0);
        let oldest = self.intervals.front().filter(|_| self.intervals.len() > 1)?;
        if !oldest.is_settled() && now < oldest.end + patience {
            return None;
        }
        self.intervals.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_units::Bytes;

    const MS: u64 = 1_000_000;

    fn report(sent_ms: u64, now_ms: u64) -> SegmentReport {
        SegmentReport {
            now: SimTime(now_ms * MS),
            sent_at: SimTime(sent_ms * MS),
            start: 0,
            size: Bytes(1_000),
            delivered: Bytes::ZERO,
            prior_delivered: Bytes::ZERO,
            tx_in_flight: Bytes::ZERO,
            lost: Bytes::ZERO,
            is_app_limited: false,
            is_retransmission: false,
        }
    }

    #[test]
    fn an_interval_is_finished_when_the_fate_of_all_that_left_is_known() {
        let mut monitor = Monitor::default();
        monitor.begin(SimTime(0), SimTime(10 * MS), 4_000_000, 'a');
        for _ in 0..4 {
            monitor.on_send(1_000);
        }
        monitor.begin(SimTime(10 * MS), SimTime(20 * MS), 1, 'b');
        // Round trips of 20, 21 and 22 ms for what left at 0, 2 and 4 ms: half a second a second
        for (sent, now) in [(0, 20), (2, 23), (4, 26)] {
            monitor.on_delivered(&report(sent, now));
            monitor.on_ack();
        }
        let rtt = SimDuration(20 * MS);
        assert!(monitor.take_finished(SimTime(26 * MS), rtt).is_none());
        monitor.on_lost(&report(9, 30));
        let interval = monitor.take_finished(SimTime(30 * MS), rtt).expect("it is finished");
        assert_eq!((interval.purpose, interval.loss()), ('a', 0.25));
        assert!((interval.sent_mbps() - 4.0).abs() < 1e-9); // 5 segments aimed at, of which 4 left
        let short = Interval { rate: 6_000_000, ..interval };
        assert!((short.sent_mbps() - 3.2).abs() < 1e-9); // 7.5 aimed at: 32 000 bit in 10 ms
        assert!((interval.rtt_gradient() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_slope_below_its_standard_error_is_none() {
        let slope = |points: &[(f64, f64)]| {
            let mut regression = Regression::default();
            for (time, rtt) in points {
                regression.add(*time, *rtt);
            }
            regression.slope()
        };
        assert!((slope(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]) - 1.0).abs() < 1e-12);
        // A line of slope 1/2 with residuals -1/6, 1/3, -1/6: variance 1/6 / 1 / 2 = 0.083, less than 0.25
        assert!((slope(&[(0.0, 0.0), (1.0, 1.0), (2.0, 1.0)]) - 0.5).abs() < 1e-12);
        // of slope 1/2 with residuals -1/2, 1, -1/2: variance 3/2 / 1 / 2 = 0.75, more than 0.25
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]).to_bits(), 0.0_f64.to_bits());
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 2.0)]).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn an_interval_whose_losses_nobody_finds_is_over_four_round_trips_after_its_end() {
        let mut monitor = Monitor::default();
        monitor.begin(SimTime(0), SimTime(10 * MS), 4_000_000, 'a');
        monitor.on_send(1_000);
        monitor.begin(SimTime(10 * MS), SimTime(20 * MS), 1, 'b');
        let rtt = SimDuration(20 * MS);
        assert!(monitor.take_finished(SimTime(89 * MS), rtt).is_none());
        let interval = monitor.take_finished(SimTime(90 * MS), rtt).expect("10 ms and four round trips");
        assert!(interval.is_silent());
        assert!((interval.loss() - 1.0).abs() < 1e-12); // Dong et al. 2015, section 2.1: what is not acknowledged is lost
    }

    #[test]
    fn nothing_sent_needs_no_timer() {
        let mut monitor = Monitor::default();
        monitor.begin(SimTime(0), SimTime(10), 1, ());
        assert_eq!(monitor.deadline(), SimTime::NEVER);
        monitor.on_send(1);
        assert_eq!(monitor.deadline(), SimTime(10));
    }
}
