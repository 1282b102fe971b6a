//! Adaptive RED: `max_p` follows the average, to keep it about halfway between the thresholds.
//!
//! Source: Floyd, Gummadi and Shenker 2001, figure 4.

use ackclock_units::{SimDuration, SimTime};

/// The interval between updates of `max_p`.
const INTERVAL: SimDuration = SimDuration::from_millis(500);
/// The factor of a decrease.
const BETA: f64 = 0.9;
/// The bounds of `max_p`.
const LEAST: f64 = 0.01;
const MOST: f64 = 0.5;

/// The state of Adaptive RED.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    /// The range in which the average should stay.
    target: (f64, f64),
    next: SimTime,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { target: (0.0, 0.0), next: SimTime(INTERVAL.0) }
    }
}

impl Adaptive {
    /// Sets the target range about halfway between these thresholds.
    pub(super) fn aim_between(&mut self, min: f64, max: f64) {
        let part = |share: f64| min + share * (max - min);
        self.target = (part(0.4), part(0.6));
    }

    /// `max_p` at `now`, with the updates that have fallen due; `average_at` is the average, which does not grow between arrivals.
    pub(super) fn at(&self, now: SimTime, mut max_p: f64, average_at: impl Fn(SimTime) -> f64) -> f64 {
        let mut due = self.next;
        while due <= now {
            let average = average_at(due);
            if average > self.target.1 && max_p <= MOST {
                max_p += (max_p / 4.0).min(0.01);
            } else if average < self.target.0 && max_p >= LEAST {
                max_p *= BETA;
            } else if average < self.target.0 || average_at(now) >= average {
                break; // it stays as it is until the next arrival
            }
            due += INTERVAL;
        }
        max_p
    }

    /// Takes note that the updates due by `now` have been made.
    pub(super) fn pass(&mut self, now: SimTime) {
        if self.next <= now {
            let missed = (now - self.next).0 / INTERVAL.0;
            self.next += INTERVAL * (missed + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `max_p` at `now`, with a constant average since the last call.
    fn catch_up(adaptive: &mut Adaptive, now: u64, average: f64, max_p: &mut f64) {
        *max_p = adaptive.at(SimTime(now), *max_p, |_| average);
        adaptive.pass(SimTime(now));
    }

    #[test]
    fn max_p_grows_by_a_quarter_at_most_and_shrinks_by_a_tenth() {
        let mut adaptive = Adaptive::default();
        adaptive.aim_between(5.0, 15.0); // target 9 to 11
        let mut max_p = 0.02;
        catch_up(&mut adaptive, 499_999_999, 12.0, &mut max_p);
        assert!((max_p - 0.02).abs() < 1e-15);
        catch_up(&mut adaptive, 500_000_000, 12.0, &mut max_p);
        assert!((max_p - 0.025).abs() < 1e-15); // min(0.01, 0.02 / 4)
        catch_up(&mut adaptive, 1_000_000_000, 10.0, &mut max_p);
        assert!((max_p - 0.025).abs() < 1e-15);
        catch_up(&mut adaptive, 2_000_000_000, 8.0, &mut max_p);
        assert!((max_p - 0.025 * 0.9 * 0.9).abs() < 1e-15); // two intervals
        max_p = 0.1;
        catch_up(&mut adaptive, 2_500_000_000, 12.0, &mut max_p);
        assert!((max_p - 0.11).abs() < 1e-15); // min(0.01, 0.1 / 4)
    }

    #[test]
    fn max_p_keeps_its_bounds_over_a_long_silence() {
        let mut adaptive = Adaptive::default();
        adaptive.aim_between(5.0, 15.0);
        let mut max_p = 0.1;
        catch_up(&mut adaptive, 10_000_000_000_000, 0.0, &mut max_p);
        assert!((0.009..0.01).contains(&max_p), "{max_p}"); // the last step may go below 0.01
        assert_eq!(adaptive.next, SimTime(10_000_500_000_000));
    }
}
