//! Adaptive RED: `max_p` follows the average, which is to stay about halfway between the thresholds.
//!
//! Source: Floyd, Gummadi and Shenker 2001, figure 4.

use ackclock_units::{SimDuration, SimTime};

/// How often `max_p` is looked at.
const INTERVAL: SimDuration = SimDuration::from_millis(500);
/// Factor of a decrease.
const BETA: f64 = 0.9;
/// `max_p` stays between these.
const LEAST: f64 = 0.01;
const MOST: f64 = 0.5;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    /// The average is to stay between these.
    target: (f64, f64),
    next: SimTime,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { target: (0.0, 0.0), next: SimTime(INTERVAL.0) }
    }
}

impl Adaptive {
    /// The average is to stay about halfway between these thresholds.
    pub(super) fn aim_between(&mut self, min: f64, max: f64) {
        let part = |share: f64| min + share * (max - min);
        self.target = (part(0.4), part(0.6));
    }

    /// Makes the updates that have fallen due; the average has not changed since.
    pub(super) fn catch_up(&mut self, now: SimTime, average: f64, max_p: &mut f64) {
        while self.next <= now {
            self.next += INTERVAL;
            if average > self.target.1 && *max_p <= MOST {
                *max_p += (*max_p / 4.0).min(0.01);
            } else if average < self.target.0 && *max_p >= LEAST {
                *max_p *= BETA;
            } else {
                // it stays as it is until the average changes
                let missed = now.saturating_since(self.next).0 / INTERVAL.0;
                self.next += SimDuration(missed * INTERVAL.0);
                if self.next <= now {
                    self.next += INTERVAL;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_p_grows_by_a_quarter_at_most_and_shrinks_by_a_tenth() {
        let mut adaptive = Adaptive::default();
        adaptive.aim_between(5.0, 15.0); // target 9 to 11
        let mut max_p = 0.02;
        adaptive.catch_up(SimTime(499_999_999), 12.0, &mut max_p);
        assert!((max_p - 0.02).abs() < 1e-15);
        adaptive.catch_up(SimTime(500_000_000), 12.0, &mut max_p);
        assert!((max_p - 0.025).abs() < 1e-15); // min(0.01, 0.02 / 4)
        adaptive.catch_up(SimTime(1_000_000_000), 10.0, &mut max_p);
        assert!((max_p - 0.025).abs() < 1e-15);
        adaptive.catch_up(SimTime(2_000_000_000), 8.0, &mut max_p);
        assert!((max_p - 0.025 * 0.9 * 0.9).abs() < 1e-15); // two intervals
        max_p = 0.1;
        adaptive.catch_up(SimTime(2_500_000_000), 12.0, &mut max_p);
        assert!((max_p - 0.11).abs() < 1e-15); // min(0.01, 0.1 / 4)
    }

    #[test]
    fn max_p_keeps_its_bounds_over_a_long_silence() {
        let mut adaptive = Adaptive::default();
        adaptive.aim_between(5.0, 15.0);
        let mut max_p = 0.1;
        adaptive.catch_up(SimTime(10_000_000_000_000), 0.0, &mut max_p);
        assert!((0.009..0.01).contains(&max_p), "{max_p}"); // the last step may go below 0.01
        assert_eq!(adaptive.next, SimTime(10_000_500_000_000));
    }
}
