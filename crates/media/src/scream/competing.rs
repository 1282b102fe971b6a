//! A target of the queueing delay that rises where loss-based flows compete.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Competing Flows Compensation" (RFC 8298 section 4.1.2.3 alike). Departures: the rate of
//! loss events, which the draft does not define further, is the averaged fraction (gain 1/16) of round trips with a loss; a sample
//! of the delay is taken with each report.

use std::collections::VecDeque;

use ackclock_units::SimDuration;

const LONG: usize = 200;
const SHORT: usize = 50;
const LOSS_EVENT_RATE: f64 = 0.002;
const SAFE_VARIANCE: f64 = 0.2;
const LOSS_GAIN: f64 = 1.0 / 16.0;

/// The target of the queueing delay, in seconds.
#[derive(Clone, Debug)]
pub struct Competing {
    low: f64,
    high: f64,
    target: f64,
    /// Queueing delays as multiples of the target.
    delays: VecDeque<f64>,
    loss_event_rate: f64,
    round_began: f64,
    has_lost: bool,
}

impl Competing {
    /// A target between these bounds.
    pub fn new(low: SimDuration, high: SimDuration) -> Self {
        let (low, high) = (low.as_secs_f64(), high.as_secs_f64());
        let delays = VecDeque::with_capacity(LONG + 1);
        Self { low, high, target: low, delays, loss_event_rate: 0.0, round_began: 0.0, has_lost: false }
    }

    /// Target of the queueing delay, seconds (`qdelay_target`).
    pub fn target(&self) -> f64 {
        self.target
    }

    /// Takes a report.
    pub fn on_feedback(&mut self, now: f64, qdelay: f64, has_lost: bool, s_rtt: f64) {
        self.has_lost |= has_lost;
        if now - self.round_began >= s_rtt {
            let event = f64::from(u8::from(std::mem::take(&mut self.has_lost)));
            self.loss_event_rate += LOSS_GAIN * (event - self.loss_event_rate);
            self.round_began = now;
        }
        self.delays.push_front(qdelay / self.low);
        self.delays.truncate(LONG);
        self.adjust();
    }

    fn adjust(&mut self) {
        let variance = variance(&self.delays);
        let recent = self.delays.len().min(SHORT);
        let average = self.delays.iter().take(SHORT).sum::<f64>() / recent as f64;
        let new = (average + variance.sqrt()) * self.low;
        self.target = if self.loss_event_rate > LOSS_EVENT_RATE {
            1.5 * new
        } else if variance < SAFE_VARIANCE {
            new
        } else if new < self.low {
            new.max(self.target * 0.5)
        } else {
            self.target * 0.9
        };
        self.target = self.target.min(self.high).max(self.low);
    }
}

fn variance(values: &VecDeque<f64>) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn competing() -> Competing {
        Competing::new(SimDuration::from_millis(60), SimDuration::from_millis(400))
    }

    #[test]
    fn a_delay_that_stays_high_raises_the_target_and_a_low_one_lowers_it() {
        let mut competing = competing();
        for step in 0..200 {
            competing.on_feedback(f64::from(step) * 0.04, 0.18, false, 0.1);
        }
        assert!((competing.target() - 0.18).abs() < 1e-9); // an average of 3 targets, without variance
        for step in 200..260 {
            competing.on_feedback(f64::from(step) * 0.04, 0.0, false, 0.1);
        }
        assert!((competing.target() - 0.06).abs() < 1e-9);
    }

    #[test]
    fn a_delay_that_changes_does_not_raise_it_but_losses_do() {
        // Between 0 and 4 targets: a variance of 4, an average of 2; with losses 1.5 * (2 + 2) = 6 targets of 60 ms: 360 ms.
        let (mut changing, mut losing) = (competing(), competing());
        for step in 0..200 {
            let qdelay = if step % 2 == 0 { 0.0 } else { 0.24 };
            changing.on_feedback(f64::from(step) * 0.04, qdelay, false, 0.1);
            losing.on_feedback(f64::from(step) * 0.04, qdelay, step % 4 == 0, 0.1);
        }
        assert!((changing.target() - 0.06).abs() < 1e-9);
        assert!((losing.target() - 0.36).abs() < 1e-9);
    }
}
