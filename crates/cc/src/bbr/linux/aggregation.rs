//! ACKs that come in clumps: how much more was acknowledged of late than the rate lets one expect.
//!
//! Source: Linux's `bbr_update_ack_aggregation` and `bbr_ack_aggregation_cwnd` by their behaviour (since 2019, version 5.1).

use ackclock_units::SimTime;

use super::arithmetic::{delivered_in, microseconds};

/// `bbr_extra_acked_win_rtts`: rounds that each of two maxima is kept for.
const ROUNDS: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`.
const LONGEST: u64 = 1 << 20;
/// `bbr_extra_acked_max_us`: what the rate sends in so long is the most that is allowed for.
const MOST: u64 = 100_000;

/// State of the estimate; segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// `ack_epoch_mstamp`, `ack_epoch_acked`.
    since: SimTime,
    acked: u64,
    /// `extra_acked`: the most in this stretch of rounds, and in the one before.
    greatest: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Sending begins again after idle time.
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

    /// `bbr_extra_acked`: of the last five to ten rounds.
    pub(super) fn extra(&self) -> u64 {
        self.greatest[0].max(self.greatest[1])
    }

    /// What the window is enlarged by.
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
