//! Forecast of the congestion window that ACKs will free.
//!
//! Ours, from self-clocking (Jacobson 1988): ACKs come back in the rhythm in which their octets were sent, a *lag* later, that
//! of the last octet acknowledged. Two things bound what this foretells. Octets that left in a burst come back no closer
//! than the bottleneck lets them: no more is expected than came at once of late. And where ACKs fall behind the rhythm, as
//! they do when the bottleneck slows down, they are expected to go on as they came last.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::history::History;
use crate::readings::Readings;

/// Points that a round trip of sending is kept as.
const POINTS: u64 = 256;
/// ACKs are behind the rhythm once they are late by this part of the span.
const LATE: u64 = 2;
/// Looks in a span, at most, where nothing else happens.
const PAUSES: u64 = 8;

/// The far side's rhythm, observed over a span: as far back as one looks ahead.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckClock {
    /// Octets put on the wire, those sent again included.
    transmitted: History,
    /// Octets that left the network again, acknowledged or lost.
    left: History,
    left_so_far: Bytes,
    /// ACKs of the last span, and the one before them.
    replayed: VecDeque<Replay>,
    /// Lags of the last two ACKs.
    lags: [Option<SimDuration>; 2],
    most: MostOfLate<Bytes>,
    /// Octets that the last ACK freed, and the one before it.
    at_once: [Bytes; 2],
}

/// Octets that ACKs will free, and the time at which one more of them comes within reach, unless the state changes
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forecast {
    pub(crate) freed: Bytes,
    pub(crate) more_at: Option<SimTime>,
}

/// An ACK: when it came, and how long that was after what it acknowledges had been sent.
#[derive(Clone, Copy, Debug)]
struct Replay {
    at: SimTime,
    lag: SimDuration,
}

impl AckClock {
    /// Takes note of what was sent and what left the network.
    pub(crate) fn observe(&mut self, readings: &Readings, span: SimDuration) {
        let (now, transmitted) = (readings.now, readings.transmitted());
        self.transmitted.record(now, transmitted, readings.far.srtt / POINTS);
        // The pipe of a stack that counts whole segments may be more than the octets that were sent.
        let left = transmitted.saturating_sub(readings.far.pipe);
        if left <= self.left_so_far {
            return;
        }
        self.at_once = [left - self.left_so_far, self.at_once[0]];
        self.left_so_far = left;
        self.left.record(now, left, span / POINTS);
        self.left.forget_until(before(now, span));
        self.most.record(now, self.left_within(now, span), readings.far.srtt.max(span));
        let sent_at = self.transmitted.time_beyond(Bytes(left.0 - 1)).unwrap_or(now);
        let lag = now - sent_at;
        self.lags = [Some(lag), self.lags[0]];
        let replay = Replay { at: now, lag };
        if self.replayed.back().is_none_or(|last| last.at + span / POINTS <= now) {
            self.replayed.push_back(replay);
        }
        while self.replayed.len() >= 2 && self.replayed[1].at + span <= now {
            self.replayed.pop_front();
        }
        self.transmitted.forget_before(left);
    }

    /// Octets in the network that will have left it after `span`, if each round trip may bring `growth` times as many
    /// as the one before.
    pub(crate) fn forecast(&self, readings: &Readings, span: SimDuration, growth: f64) -> Forecast {
        let lag = self.lag().unwrap_or(readings.far.srtt);
        let Some(next) = self.transmitted.time_beyond(self.left_so_far) else { return Forecast::default() };
        if lag.is_zero() {
            return Forecast::default();
        }
        let until = before(readings.now + span, lag).min(next + span);
        let count = self.transmitted.count_at(until);
        // What was sent until then may have left already, if ACKs came sooner than they used to.
        let foretold = self.whole_acks(count.saturating_sub(self.left_so_far).min(readings.far.pipe));
        if self.is_behind(readings.now, next, span) {
            return Forecast { freed: foretold.min(self.left_within(readings.now, span)), more_at: None };
        }
        let most = self.most.of_late().map_or(Bytes(u64::MAX), |most| Bytes((most.0 as f64 * growth) as u64));
        let more = self.left_so_far + foretold + self.ack() - Bytes(1);
        let more_at = self.transmitted.time_beyond(count.max(more));
        let more_at = more_at.map(|sent_at| before(sent_at + lag, span).max(readings.now + span / PAUSES));
        Forecast { freed: foretold.min(most), more_at }
    }

    /// Octets that one ACK frees: each is for two segments, say, and comes with the second of them.
    fn ack(&self) -> Bytes {
        self.at_once[0].min(self.at_once[1]).max(Bytes(1))
    }

    fn whole_acks(&self, octets: Bytes) -> Bytes {
        Bytes(octets.0 / self.ack().0 * self.ack().0)
    }

    /// Lag of the last ACK, or of the one before if that is shorter: an ACK that was delayed for want of a second
    /// segment does not predict the next. `None` before the first.
    fn lag(&self) -> Option<SimDuration> {
        self.lags.into_iter().flatten().min()
    }

    /// True if ACKs came later, or the next one does, than the rhythm of sending has them come.
    fn is_behind(&self, now: SimTime, next: SimTime, span: SimDuration) -> bool {
        let (Some(first), Some(lag)) = (self.replayed.front(), self.lag()) else { return false };
        lag > first.lag + span / LATE || now - next > lag + span / LATE
    }

    fn left_within(&self, now: SimTime, span: SimDuration) -> Bytes {
        self.left_so_far - self.left.count_at(before(now, span))
    }
}

/// No earlier than the beginning of time.
fn before(at: SimTime, span: SimDuration) -> SimTime {
    SimTime(at.0.saturating_sub(span.0))
}

/// The most of something over the last round trip or two.
#[derive(Clone, Copy, Debug)]
struct MostOfLate<T> {
    /// Beginning of the current round trip, and its maximum.
    present: Option<(SimTime, T)>,
    past: Option<T>,
}

impl<T> Default for MostOfLate<T> {
    fn default() -> Self {
        Self { present: None, past: None }
    }
}

impl<T: Copy + Ord> MostOfLate<T> {
    fn record(&mut self, now: SimTime, value: T, round_trip: SimDuration) {
        self.present = match self.present {
            Some((begin, most)) if now < begin + round_trip => Some((begin, most.max(value))),
            Some((_, most)) => {
                self.past = Some(most);
                Some((now, value))
            }
            None => Some((now, value)),
        };
    }

    fn of_late(&self) -> Option<T> {
        let present = self.present.map(|(_, most)| most);
        present.max(self.past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: SimDuration = SimDuration::from_millis(5);

    /// A far side of 10 ms.
    fn readings(ms: u64, sent: u64, pipe: u64) -> Readings {
        let mut readings =
            Readings { now: SimTime::ZERO + SimDuration::from_millis(ms), sent: Bytes(sent), ..Readings::default() };
        readings.far.pipe = Bytes(pipe);
        readings.far.srtt = SimDuration::from_millis(10);
        readings
    }

    /// 1000 octets a millisecond sent from 100 ms on, acknowledged 10 ms later, up to 140 ms.
    fn steady() -> AckClock {
        let mut clock = AckClock::default();
        for ms in 0..=40 {
            clock.observe(&readings(100 + ms, 1000 * (ms + 1), (1000 * (ms + 1)).min(10_000)), SPAN);
        }
        clock
    }

    #[test]
    fn at_a_steady_rate_the_acks_to_come_are_those_of_the_rate() {
        // 41 000 sent, 31 000 acknowledged; in 5 ms come those of 5000 octets
        assert_eq!(steady().forecast(&readings(140, 41_000, 10_000), SPAN, 1.0).freed, Bytes(5000));
    }

    #[test]
    fn the_first_acks_are_expected_after_a_smoothed_round_trip() {
        let mut clock = AckClock::default();
        clock.observe(&readings(100, 10_000, 10_000), SPAN);
        assert_eq!(clock.forecast(&readings(104, 10_000, 10_000), SPAN, 2.0).freed, Bytes::ZERO);
        assert_eq!(clock.forecast(&readings(105, 10_000, 10_000), SPAN, 2.0).freed, Bytes(10_000));
    }

    #[test]
    fn in_a_silence_one_looks_again_when_acks_come_within_reach() {
        let mut clock = AckClock::default();
        clock.observe(&readings(100, 10_000, 10_000), SPAN);
        // ACKs are due at 110 ms: 5 ms before
        let more_at = clock.forecast(&readings(101, 10_000, 10_000), SPAN, 1.0).more_at;
        assert_eq!(more_at, Some(SimTime::ZERO + SimDuration::from_millis(105)));
        // no sooner than an eighth of 5 ms from now
        let more_at = steady().forecast(&readings(140, 41_000, 10_000), SPAN, 1.0).more_at;
        assert_eq!(more_at, Some(SimTime(141_000_000)));
    }

    #[test]
    fn acks_at_a_fifth_of_the_rate_are_expected_to_go_on_so() {
        let mut clock = steady();
        // an ACK of 1000 octets every 5 ms
        for n in 1..=4 {
            clock.observe(&readings(140 + 5 * n, 41_000, 10_000 - 1000 * n), SPAN);
        }
        assert_eq!(clock.forecast(&readings(160, 41_000, 6000), SPAN, 1.0).freed, Bytes(1000));
    }

    #[test]
    fn acks_that_stop_are_not_expected_to_come() {
        let clock = steady();
        let freed = |ms| clock.forecast(&readings(ms, 41_000, 10_000), SPAN, 1.0).freed;
        // the next is due at 141 ms, and late from half of 5 ms later on; until then it may come with others
        assert_eq!(freed(143), Bytes(5000));
        // 144 ms: in the last 5 ms, after 139 ms, that of 140 ms came
        assert_eq!(freed(144), Bytes(1000));
        assert_eq!(freed(146), Bytes::ZERO);
    }

    #[test]
    fn a_burst_is_expected_to_come_back_no_faster_than_acks_came_of_late() {
        let mut clock = steady();
        // a burst of 50 000 at 141 ms, while acknowledgements go on
        for ms in 41..=51 {
            clock.observe(&readings(100 + ms, 91_000, 91_000 - 1000 * (ms - 9)), SPAN);
        }
        // at 151 ms the first 1000 of the burst is acknowledged, and all 49 000 others were sent with it
        assert_eq!(clock.forecast(&readings(151, 91_000, 49_000), SPAN, 1.0).freed, Bytes(5000));
    }

    #[test]
    fn after_a_timeout_nothing_is_left_to_be_acknowledged() {
        let mut clock = steady();
        clock.observe(&readings(340, 41_000, 0), SPAN);
        assert_eq!(clock.forecast(&readings(340, 41_000, 0), SPAN, 1.0).freed, Bytes::ZERO);
    }
}
