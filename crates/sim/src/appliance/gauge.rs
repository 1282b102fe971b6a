//! A quantity over time.

use ackclock_units::{Bytes, Histogram, SimTime};

/// Octets kept somewhere, weighted by how long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge {
    histogram: Histogram,
    value: Bytes,
    since: SimTime,
}

impl Gauge {
    /// From now on it is `value`. What it was counts if `counts`.
    fn set(&mut self, now: SimTime, value: Bytes, counts: bool) {
        if counts {
            self.histogram.add_weighted(self.value.0, now.saturating_since(self.since).0);
        }
        (self.value, self.since) = (value, now);
    }

    /// Of what it sums up, one part was `from` and is `to`.
    pub(crate) fn change(&mut self, now: SimTime, from: Bytes, to: Bytes, counts: bool) {
        self.set(now, (self.value + to).saturating_sub(from), counts);
    }

    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_weigh_what_they_last() {
        let mut gauge = Gauge::default();
        gauge.set(SimTime(0), Bytes(10), true);
        gauge.set(SimTime(30), Bytes(50), true);
        gauge.set(SimTime(40), Bytes(0), true);
        assert!((gauge.histogram().mean() - 20.0).abs() < 1e-9); // (30 x 10 + 10 x 50) / 40
    }

    #[test]
    fn parts_of_a_sum_change_apart() {
        let mut gauge = Gauge::default();
        gauge.change(SimTime(0), Bytes(0), Bytes(10), true);
        gauge.change(SimTime(10), Bytes(0), Bytes(20), true); // another part: 30 in all
        gauge.change(SimTime(20), Bytes(10), Bytes(0), true); // the first is gone: 20
        gauge.change(SimTime(30), Bytes(20), Bytes(0), true);
        assert!((gauge.histogram().mean() - 20.0).abs() < 1e-9); // (10 + 30 + 20) / 3
        assert_eq!(gauge.histogram().max(), 30);
    }
}
