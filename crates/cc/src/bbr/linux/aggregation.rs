//! ACK aggregation: recently acknowledged data in excess of the expected amount.
//!
//! Source: Linux's `bbr_update_ack_aggregation` and `bbr_ack_aggregation_cwnd` by their behaviour (since 2019, version 5.1).

use ackclock_units::SimTime;

use super::arithmetic::{delivered_in, microseconds};

/// The rounds of each of the two maxima (`bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;
/// The acknowledged segments that restart an epoch (`bbr_ack_epoch_acked_reset_thresh`).
const LONGEST: u64 = 1 << 20;
/// The longest aggregation allowed for, in microseconds of the rate (`bbr_extra_acked_max_us`).
const MOST: u64 = 100_000;

/// The estimator of ACK aggregation; segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The beginning of the epoch and its acknowledged segments (`ack_epoch_mstamp`, `ack_epoch_acked`).
    since: SimTime,
    acked: u64,
    /// The greatest excess in the present rounds and in the rounds before (`extra_acked`).
    greatest: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Restarts the epoch when sending resumes after idle time.
    pub(super) fn restart(&mut self, now: SimTime) {
        (self.since, self.acked) = (now, 0);
    }

    pub(super) fn on_ack(&mut self, now: SimTime, acked: u64, round_starts: bool, rate: u64, cwnd: u64) {
        if round_starts {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.greatest = [0, self.greatest[0]];
            }
        }
        let mut expected = delivered_in(rate, microseconds(now.saturating_since(self.since)));
        if self.acked <= expected || self.acked + acked >= LONGEST {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(LONGEST - 1);
        let extra = (self.acked - expected).min(cwnd);
        self.greatest[0] = self.greatest[0].max(extra);
    }

    /// The greatest excess of the last five to ten rounds (`bbr_extra_acked`).
    pub(super) fn extra(&self) -> u64 {
        self.greatest[0].max(self.greatest[1])
    }

    /// The segments by which the window is enlarged.
    pub(super) fn allowance(&self, rate: u64) -> u64 {
        self.extra().min(delivered_in(rate, MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::super::arithmetic::rate_of;
    use super::*;

    #[test]
    fn what_comes_beyond_the_rate_is_allowed_for_over_five_to_ten_rounds() {
        let mut seen = Aggregation::default();
        let rate = rate_of(1, 1_000); // a segment a millisecond
        let at = |ms: u64| SimTime(ms * 1_000_000);
        seen.on_ack(at(20), 20, true, rate, 1_000); // the epoch begins here
        seen.on_ack(at(22), 6, false, rate, 1_000); // 26 in two milliseconds, less the one that is due (two, less a fraction)
        assert_eq!(seen.extra(), 25);
        assert_eq!(seen.allowance(rate), 25);
        assert_eq!(seen.allowance(rate / 10), 9); // at most 100 ms of the rate, less a fraction
        for round in 1..=8 {
            seen.on_ack(at(100 * round + 100), 1, true, rate, 1_000);
        }
        assert_eq!(seen.extra(), 25); // the fifth round began another stretch, which keeps the last
        seen.on_ack(at(1_100), 1, true, rate, 1_000);
        assert_eq!(seen.extra(), 1); // and so did the tenth
    }
}
