//! Part of the octets that has waited too long.

use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::history::History;
use crate::readings::Readings;

/// Points that the time up to the deadline is kept as.
const POINTS: u64 = 32;
/// Number of far round trips after which a sent octet weighs half as much.
///
/// Long enough for a few losses, short enough that what a start cost is soon forgotten.
const HALF_LIFE: u64 = 32;

/// Counts octets, and those that were not sent on within a deadline of their arrival. Older ones weigh less.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    arrivals: History,
    /// Octets sent on at the last observation.
    sent: Bytes,
    /// Octets whose deadline has gone by.
    due: Bytes,
    passed: f64,
    late: f64,
    halved_at: SimTime,
}

impl Lateness {
    /// Takes note of what arrived and what left; to be called whenever either happens. An octet that still waits is late
    /// once its deadline has gone by.
    pub(crate) fn observe(&mut self, readings: &Readings, deadline: SimDuration) {
        let now = readings.now;
        self.age(readings);
        self.arrivals.record(now, readings.arrived, deadline / POINTS);
        let since = SimTime(now.0.saturating_sub(deadline.0)); // no earlier than the beginning of time
        let due = self.arrivals.count_at(since).max(self.due);
        // Until now nothing beyond `sent` had left.
        // What is due may have left.
        self.late += due.saturating_sub(self.sent.max(self.due)).0 as f64;
        self.passed += (readings.sent - self.sent).0 as f64;
        (self.due, self.sent) = (due, readings.sent);
        self.arrivals.forget_until(since);
    }

    fn age(&mut self, readings: &Readings) {
        let now = readings.now;
        if now >= self.halved_at + readings.far.srtt * HALF_LIFE {
            self.halved_at = now;
            self.passed /= 2.0;
            self.late /= 2.0;
        }
    }

    /// The part of the octets that was late, 0 to 1; 0 before the first.
    pub(crate) fn part(&self) -> f64 {
        let all = self.passed.max(self.late);
        if all > 0.0 { self.late / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: SimDuration = SimDuration::from_millis(10);

    /// An observation of a far side of 1 s.
    fn observe(lateness: &mut Lateness, ms: u64, arrived: u64, sent: u64) {
        let now = SimTime::ZERO + SimDuration::from_millis(ms);
        let mut readings = Readings { now, arrived: Bytes(arrived), sent: Bytes(sent), ..Readings::default() };
        readings.far.srtt = SimDuration::from_secs(1);
        lateness.observe(&readings, DEADLINE);
    }

    #[test]
    fn octets_that_leave_within_the_deadline_are_not_late() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.part().to_bits(), 0.0_f64.to_bits());
        for ms in 100..200 {
            observe(&mut lateness, ms, 100 * ms, 100 * (ms - 9));
        }
        assert_eq!(lateness.part().to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn each_octet_is_late_once_whether_it_has_left_or_not() {
        let mut lateness = Lateness::default();
        observe(&mut lateness, 100, 9000, 8000);
        observe(&mut lateness, 109, 9000, 8000);
        assert_eq!(lateness.part().to_bits(), 0.0_f64.to_bits());
        // 1000 octets have waited 11 ms; 8000 have left at once
        observe(&mut lateness, 111, 9000, 8000);
        assert_eq!(lateness.part().to_bits(), (1.0_f64 / 8.0).to_bits());
        observe(&mut lateness, 112, 9000, 9000);
        assert_eq!(lateness.part().to_bits(), (1.0_f64 / 9.0).to_bits());
        observe(&mut lateness, 113, 10_000, 10_000);
        assert_eq!(lateness.part().to_bits(), (1.0_f64 / 10.0).to_bits());
    }

    #[test]
    fn what_left_too_late_at_the_moment_of_looking_is_late() {
        let mut lateness = Lateness::default();
        observe(&mut lateness, 100, 1000, 0);
        observe(&mut lateness, 150, 1000, 1000);
        assert_eq!(lateness.part().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn what_is_32_round_trips_old_weighs_half() {
        let mut lateness = Lateness::default();
        observe(&mut lateness, 100, 1000, 0);
        observe(&mut lateness, 150, 1000, 1000);
        observe(&mut lateness, 32_000, 1000, 1000);
        observe(&mut lateness, 32_001, 2000, 2000);
        // 1000 late octets count as 500, of 500 and 1000
        assert_eq!(lateness.part().to_bits(), (500.0_f64 / 1500.0).to_bits());
    }
}
