//! COBALT, CAKE's control of one queue: CoDel's control law, whose count decays instead of being forgotten when the
//! queue is good again, with BLUE beside it (Feng and others 1999), which answers to overflow and to emptiness.
//!
//! Its paper has no pseudocode; constants and order of steps were verified against Linux's `sch_cake`: the increments
//! of BLUE and that each waits for a target; a signal that was due before the queue turned bad comes immediately; an
//! overdue schedule is forgiven after a mark, but not after a drop; a queue with no count waits a whole interval. A queue
//! that turns bad for the first time, or with its first packet after a silence of an interval, has a signal with its second
//! packet.
//!
//! **Departures**: the square root is exact.

use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::Ecn;

use crate::queue::{Queued, Tally};
use crate::rng::RandomStream;

/// The steps by which BLUE's probability grows when the queue overflows, and shrinks when it runs empty.
const BLUE_UP: f64 = 1.0 / 256.0;
const BLUE_DOWN: f64 = 1.0 / 4096.0;

/// The parameters, which are the same for all queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CobaltParameters {
    pub(super) target: SimDuration,
    pub(super) interval: SimDuration,
    pub(super) ecn: bool,
}

/// The state of COBALT for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u64,
    /// True once the count has changed.
    has_counted: bool,
    dropping: bool,
    signal_next: SimTime,
    blue: f64,
    blue_changed: SimTime,
    sojourn: SimDuration,
}

impl Cobalt {
    /// Answers an overflow: a drop because of missing memory.
    pub(super) fn on_overflow(&mut self, now: SimTime, parameters: &CobaltParameters) {
        if now.saturating_since(self.blue_changed) > parameters.target {
            self.blue = (self.blue + BLUE_UP).min(1.0);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.signal_next = now;
        self.count = self.count.max(1);
    }

    /// Answers an empty queue.
    pub(super) fn on_empty(&mut self, now: SimTime, parameters: &CobaltParameters) {
        if self.blue > 0.0 && now.saturating_since(self.blue_changed) > parameters.target {
            self.blue = (self.blue - BLUE_DOWN).max(0.0);
            self.blue_changed = now;
        }
        self.dropping = false;
        self.sojourn = SimDuration::ZERO;
        if self.is_due(now) {
            self.set_count(self.count - 1, parameters);
        }
    }

    /// Changes the count, and moves the next signal on by the new spacing.
    fn set_count(&mut self, count: u64, parameters: &CobaltParameters) {
        (self.count, self.has_counted) = (count, true);
        self.signal_next += self.spacing(parameters);
    }

    fn is_due(&self, now: SimTime) -> bool {
        self.count > 0 && now >= self.signal_next
    }

    /// True if a departing packet is to be dropped; it may have been marked. `tolerated` is the wait of packets on a
    /// good queue at this rate, where that is longer than the target.
    pub(super) fn drops(
        &mut self,
        now: SimTime,
        packet: &mut Queued,
        parameters: &CobaltParameters,
        tolerated: SimDuration,
        random: &mut RandomStream,
        tally: &mut Tally,
    ) -> bool {
        self.sojourn = now - packet.since;
        let is_due = self.is_due(now);
        let mut is_overdue = now > self.signal_next;
        if self.sojourn > parameters.target.max(tolerated) {
            self.begin(now, parameters);
        } else {
            self.dropping = false;
        }
        let mut drops = false;
        if self.dropping && is_due {
            let is_marked = packet.packet.ecn() == Ecn::Ce;
            drops = !(parameters.ecn && (is_marked || tally.mark(&mut packet.packet)));
            self.set_count(self.count + 1, parameters);
            is_overdue = now > self.signal_next;
        } else if is_due {
            self.work_off(now, parameters);
            is_overdue = now > self.signal_next;
        }
        drops |= self.blue > 0.0 && random.chance(self.blue);
        if self.count == 0 {
            self.signal_next = now + parameters.interval;
        } else if is_overdue && !drops {
            self.signal_next = now;
        }
        drops
    }

    fn begin(&mut self, now: SimTime, parameters: &CobaltParameters) {
        if !self.dropping {
            self.dropping = true;
            self.count = self.count.max(1);
            self.signal_next = if self.has_counted { now + self.spacing(parameters) } else { now };
        }
    }

    /// Decays the count: each signal that would have been due while the queue was good delays the next episode's first
    /// one.
    fn work_off(&mut self, now: SimTime, parameters: &CobaltParameters) {
        while self.is_due(now) {
            self.set_count(self.count - 1, parameters);
        }
    }

    fn spacing(&self, parameters: &CobaltParameters) -> SimDuration {
        SimDuration((parameters.interval.0 as f64 / (self.count.max(1) as f64).sqrt()) as u64)
    }

    /// Reports the state for inspection.
    pub(super) fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queue_delay", self.sojourn.as_secs_f64());
        record("drop_count", self.count as f64);
        record("drop_probability", self.blue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::arrival_with;

    const MS: u64 = 1_000_000;
    const PARAMETERS: CobaltParameters =
        CobaltParameters { target: SimDuration::from_millis(5), interval: SimDuration::from_millis(100), ecn: true };

    /// Lets packets with a wait of `waited` leave every 0.1 ms; returns the times of drops, in ms.
    fn drop_times(cobalt: &mut Cobalt, from: u64, until: u64, waited: u64) -> Vec<f64> {
        let mut random = RandomStream::new(1, "test");
        let mut tally = Tally::default();
        let times = (from * 10..until * 10).map(|tenth| tenth * MS / 10);
        let mut drops = |now: &u64| {
            let mut packet = arrival_with(SimTime(now - waited * MS), 0, 1500, Ecn::NotEct);
            cobalt.drops(SimTime(*now), &mut packet, &PARAMETERS, SimDuration::ZERO, &mut random, &mut tally)
        };
        times.filter(|now| drops(now)).map(|now| now as f64 / 1e6).collect()
    }

    fn assert_times(times: &[f64], expected: &[f64]) {
        assert_eq!(times.len(), expected.len(), "{times:?}");
        for (time, expected) in times.iter().zip(expected) {
            assert!((0.0..=0.1001).contains(&(time - expected)), "{times:?}, expected {expected}");
        }
    }

    #[test]
    fn the_control_law_is_codels() {
        // Above target from 10 ms: the second packet, then with counts 2, 3, 4, 5: + 70.7, + 57.7, + 50.0, + 44.7 ms.
        let times = drop_times(&mut Cobalt::default(), 10, 250, 6);
        assert_times(&times, &[10.0, 80.71, 138.45, 188.45, 233.17]);
    }

    #[test]
    fn the_count_is_worked_off_while_the_queue_is_good() {
        let mut cobalt = Cobalt::default();
        drop_times(&mut cobalt, 10, 140, 6); // three drops: the count is 4, the next is due at 188.45 ms
        assert_eq!(cobalt.count, 4);
        drop_times(&mut cobalt, 140, 250, 1); // at 188.45 it becomes 3, 57.7 ms later, at 246.2 ms, 2
        assert_eq!(cobalt.count, 2);
        // above target again at 250 ms: the first drop 70.7 ms later, not 100
        assert_times(&drop_times(&mut cobalt, 250, 330, 6), &[320.71]);
    }

    #[test]
    fn an_empty_queue_works_its_count_off_by_its_schedule() {
        let mut cobalt = Cobalt::default();
        drop_times(&mut cobalt, 10, 140, 6); // the count is 4, the next signal due at 188.45 ms
        cobalt.on_empty(SimTime(188 * MS), &PARAMETERS);
        assert_eq!(cobalt.count, 4);
        // found empty at 300 ms, for the signal of 188.45: 3, and the next was due 57.7 ms later, at 246.2 ms; found empty
        // once more, for that one
        cobalt.on_empty(SimTime(300 * MS), &PARAMETERS);
        assert_eq!(cobalt.count, 3);
        cobalt.on_empty(SimTime(301 * MS), &PARAMETERS);
        assert_eq!(cobalt.count, 2);
    }

    /// The times in ms of the signals, marks or drops, of a bad queue whose packets leave at `times`.
    fn signals_at(cobalt: &mut Cobalt, ecn: Ecn, times: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut random = RandomStream::new(1, "test");
        let mut tally = Tally::default();
        let mut signalled = |ms: &u64| {
            let (now, before) = (SimTime(ms * MS), tally.counters().marks);
            let mut packet = arrival_with(SimTime(now.0 - 6 * MS), 0, 1500, ecn);
            cobalt.drops(now, &mut packet, &PARAMETERS, SimDuration::ZERO, &mut random, &mut tally)
                || tally.counters().marks > before
        };
        times.filter(|ms| signalled(ms)).collect()
    }

    #[test]
    fn what_is_overdue_is_made_up_for_by_drops_and_forgiven_by_marks() {
        // The first signal is due at 10 ms, then with counts 2, 3, 4, .. at 80.7, 138.4, 188.4, 233.2, 274.0, 311.8, 347.1 ms.
        // Nothing leaves between 20 and 300 ms, then a packet each ms: at 300 ms five are overdue.
        let times = || (10..20).chain(300..340);
        assert_eq!(signals_at(&mut Cobalt::default(), Ecn::NotEct, times()), [11, 300, 301, 302, 303, 304, 312]);
        // A mark at 300 ms; the next was due at 138.4 ms and is at once; then with count 4 50 ms after 300 ms.
        assert_eq!(signals_at(&mut Cobalt::default(), Ecn::Ect0, times()), [11, 300, 301]);
    }

    #[test]
    fn a_signal_that_was_due_when_the_queue_turns_bad_comes_at_once() {
        let mut cobalt = Cobalt::default();
        drop_times(&mut cobalt, 10, 240, 6); // the count is 6, the next signal due at 274.0 ms
        drop_times(&mut cobalt, 240, 241, 1); // good again
        assert_eq!(drop_times(&mut cobalt, 289, 300, 6), [289.0]);
    }

    #[test]
    fn blue_answers_to_overflow_and_emptiness_once_a_target() {
        let mut cobalt = Cobalt::default();
        for ms in 0..61 {
            cobalt.on_overflow(SimTime(ms * MS), &PARAMETERS); // more than 5 ms apart: at 6, 12, .. 60 ms
        }
        assert!((cobalt.blue - 10.0 / 256.0).abs() < 1e-12);
        for ms in 61..127 {
            cobalt.on_empty(SimTime(ms * MS), &PARAMETERS); // at 66, 72, .. 126 ms
        }
        assert!((cobalt.blue - (10.0 / 256.0 - 11.0 / 4096.0)).abs() < 1e-12);
    }

    #[test]
    fn blue_drops_with_its_probability() {
        let mut cobalt = Cobalt { blue: 0.25, ..Cobalt::default() };
        let drops = drop_times(&mut cobalt, 10, 1_010, 1).len(); // 10 000 packets on a good queue
        assert!(drops.abs_diff(2_500) < 4 * 44, "{drops}"); // standard deviation sqrt(10 000 * 0.25 * 0.75) = 43.3
    }
}
