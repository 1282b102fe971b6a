//! A quantity over time.

use ackclock_units::{Bytes, Histogram, SimTime};

use crate::config::MeasureWindow;

/// A number of octets, weighted by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge {
    histogram: Histogram,
    value: Bytes,
    since: SimTime,
}

impl Gauge {
    /// Sets the value from `now` on. The old value counts for its time within the window.
    fn set(&mut self, now: SimTime, value: Bytes, window: &MeasureWindow) {
        self.histogram.add_weighted(self.value.0, window.overlap(self.since, now).0);
        (self.value, self.since) = (value, now);
    }

    /// Changes one part of the sum from `from` to `to`.
    pub(crate) fn change(&mut self, now: SimTime, from: Bytes, to: Bytes, window: &MeasureWindow) {
        self.set(now, (self.value + to).saturating_sub(from), window);
    }

    /// Distribution of the level within the window up to `now`.
    pub(crate) fn until(&self, now: SimTime, window: &MeasureWindow) -> Histogram {
        let mut gauge = self.clone();
        gauge.set(now, self.value, window);
        gauge.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: MeasureWindow = MeasureWindow { from: None, until: None };

    #[test]
    fn values_weigh_what_they_last() {
        let mut gauge = Gauge::default();
        gauge.set(SimTime(0), Bytes(10), &ALL);
        gauge.set(SimTime(30), Bytes(50), &ALL);
        gauge.set(SimTime(40), Bytes(0), &ALL);
        assert!((gauge.until(SimTime(40), &ALL).mean() - 20.0).abs() < 1e-9); // (30 x 10 + 10 x 50) / 40
    }

    #[test]
    fn parts_of_a_sum_change_apart() {
        let mut gauge = Gauge::default();
        gauge.change(SimTime(0), Bytes(0), Bytes(10), &ALL);
        gauge.change(SimTime(10), Bytes(0), Bytes(20), &ALL); // another part: 30 in all
        gauge.change(SimTime(20), Bytes(10), Bytes(0), &ALL); // the first is gone: 20
        gauge.change(SimTime(30), Bytes(20), Bytes(0), &ALL);
        let histogram = gauge.until(SimTime(30), &ALL);
        assert!((histogram.mean() - 20.0).abs() < 1e-9); // (10 + 30 + 20) / 3
        assert_eq!(histogram.max(), 30);
    }

    #[test]
    fn a_value_weighs_what_it_lasts_within_the_window_and_no_more() {
        let window = MeasureWindow { from: Some(SimTime(100)), until: Some(SimTime(200)) };
        let mut gauge = Gauge::default();
        gauge.set(SimTime(0), Bytes(10), &window);
        gauge.set(SimTime(150), Bytes(30), &window); // 10 from 100 to 150
        let before = gauge.until(SimTime(1_000), &window); // 30 from 150 to 200, though nothing has happened since
        assert!((before.mean() - 20.0).abs() < 1e-9, "{}", before.mean());
        gauge.set(SimTime(900), Bytes(0), &window);
        assert_eq!((gauge.until(SimTime(1_000), &window).weight(), before.weight()), (100, 100));
    }
}
