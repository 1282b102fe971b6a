//! The model of a policer: after two intervals with heavy loss and the same rate, BBR paces at that rate for a while.
//!
//! Source: Linux's `bbr_lt_bw_sampling` by its behaviour; Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016.

use ackclock_units::SimTime;

use super::arithmetic::rate_of;

/// The rounds of an interval at least; it has four times as many at most (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// The lost share of delivered segments that suggests a policer, 50/256 (`bbr_lt_loss_thresh`).
const LOSS: (u64, u64) = (50, 256);
/// The difference of equal rates: an eighth (`bbr_lt_bw_ratio`), or octets a second (`bbr_lt_bw_diff`).
const NEARLY: u64 = 8;
const CLOSE: u64 = 500;
/// The rounds for which the policer's rate holds (`bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// An ACK with a rate sample; counts are segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: SimTime,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) has_lost: bool,
    pub(super) is_app_limited: bool,
    pub(super) round_starts: bool,
    pub(super) probes_bandwidth: bool,
}

/// The consequence for the cycle of gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    None,
    /// Two intervals agree: BBR paces at their rate.
    Policed,
    /// The policer's rate expires, and probing begins again.
    Forgotten,
}

/// The state of the policer model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The policer's rate, zero for none, and whether BBR paces at it (`lt_bw`, `lt_use_bw`).
    rate: u64,
    is_used: bool,
    is_sampling: bool,
    /// The beginning of the interval: its time in milliseconds, and the counts of delivered and lost segments then.
    began: u64,
    delivered: u64,
    lost: u64,
    rounds: u32,
    /// Both counts by now, for resets between samples.
    latest: (u64, u64),
}

impl Policer {
    /// The policer's rate, if BBR paces at it.
    pub(super) fn rate(&self) -> Option<u64> {
        self.is_used.then_some(self.rate)
    }

    /// Restarts the model.
    pub(super) fn reset(&mut self, now: SimTime) {
        (self.rate, self.is_used, self.is_sampling) = (0, false, false);
        self.begin(now);
    }

    fn begin(&mut self, now: SimTime) {
        self.began = now.0 / 1_000_000;
        (self.delivered, self.lost) = self.latest;
        self.rounds = 0;
    }

    /// Takes the number of segments delivered so far. An undo comes before the sample of its ACK.
    pub(super) fn on_delivered(&mut self, segments: u64) {
        self.latest.0 = segments;
    }

    /// Counts lost segments. Those that a timeout marks count before the module hears of the timeout
    /// (`tcp_enter_loss`).
    pub(super) fn on_lost(&mut self, segments: u64) {
        self.latest.1 += segments;
    }

    /// A timeout as a sample: a loss at the end of a round.
    pub(super) fn at_timeout(&self, now: SimTime, probes_bandwidth: bool) -> Moment {
        let (delivered, lost) = self.latest;
        Moment { now, delivered, lost, has_lost: true, is_app_limited: false, round_starts: true, probes_bandwidth }
    }

    /// Takes a rate sample; `octets_per_second` converts a rate.
    pub(super) fn on_sample(&mut self, at: &Moment, octets_per_second: impl Fn(u64) -> u64) -> Verdict {
        self.latest = (at.delivered, at.lost);
        if !self.is_used {
            return self.sample(at, octets_per_second);
        }
        if at.probes_bandwidth && at.round_starts {
            self.rounds += 1;
            if self.rounds >= KEPT_ROUNDS {
                self.reset(at.now);
                return Verdict::Forgotten;
            }
        }
        Verdict::None
    }

    /// Samples an interval: it begins with the first loss, when a policer's tokens are spent, and ends with a loss,
    /// too.
    fn sample(&mut self, at: &Moment, octets_per_second: impl Fn(u64) -> u64) -> Verdict {
        if !self.is_sampling {
            if !at.has_lost {
                return Verdict::None;
            }
            self.begin(at.now);
            self.is_sampling = true;
        }
        self.rounds += u32::from(at.round_starts && !at.is_app_limited);
        if at.is_app_limited || self.rounds > 4 * LEAST_ROUNDS {
            self.reset(at.now);
            return Verdict::None;
        }
        if self.rounds < LEAST_ROUNDS || !at.has_lost {
            return Verdict::None;
        }
        let (lost, delivered) = (at.lost - self.lost, at.delivered - self.delivered);
        let lasted_ms = at.now.0 / 1_000_000 - self.began;
        if delivered == 0 || lost * LOSS.1 < LOSS.0 * delivered || lasted_ms == 0 {
            return Verdict::None;
        }
        self.end_stretch(at.now, rate_of(delivered, lasted_ms * 1_000), octets_per_second)
    }

    /// Ends an interval and compares its rate with the last one (`bbr_lt_bw_interval_done`).
    fn end_stretch(&mut self, now: SimTime, rate: u64, octets_per_second: impl Fn(u64) -> u64) -> Verdict {
        let apart = rate.abs_diff(self.rate);
        if self.rate > 0 && (NEARLY * apart <= self.rate || octets_per_second(apart) <= CLOSE) {
            self.rate = u64::midpoint(rate, self.rate);
            (self.is_used, self.rounds) = (true, 0);
            return Verdict::Policed;
        }
        self.rate = rate;
        self.begin(now);
        Verdict::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a round of 100 ms in which 100 segments arrive and `lost` do not.
    fn round(policer: &mut Policer, at: &mut Moment, lost: u64) -> Verdict {
        at.now = SimTime(at.now.0 + 100_000_000);
        (at.delivered, at.lost, at.has_lost) = (at.delivered + 100, at.lost + lost, lost > 0);
        policer.on_sample(at, |_| u64::MAX)
    }

    fn start() -> (Policer, Moment) {
        let at = Moment {
            now: SimTime::ZERO,
            delivered: 0,
            lost: 0,
            has_lost: false,
            is_app_limited: false,
            round_starts: true,
            probes_bandwidth: true,
        };
        (Policer::default(), at)
    }

    #[test]
    fn two_stretches_of_the_same_rate_with_a_fifth_lost_mean_a_policer_for_48_rounds() {
        let (mut policer, mut at) = start();
        // The first loss begins a stretch with its round counted; it ends with its fourth round, as the next does.
        for number in 1..8 {
            assert_eq!(round(&mut policer, &mut at, 25), Verdict::None, "{number}");
        }
        assert_eq!(round(&mut policer, &mut at, 25), Verdict::Policed);
        assert_eq!(policer.rate(), Some(rate_of(1, 1_000))); // 100 segments in 100 ms
        for _ in 1..48 {
            assert_eq!(round(&mut policer, &mut at, 0), Verdict::None);
        }
        assert_eq!(round(&mut policer, &mut at, 0), Verdict::Forgotten);
        assert_eq!(policer.rate(), None);
    }

    /// `tcp_enter_loss` marks lost segments before it informs the module, so that they count before the new interval.
    #[test]
    fn what_a_timeout_takes_for_lost_is_of_before_the_stretch_that_it_begins() {
        let (mut policer, mut at) = start();
        round(&mut policer, &mut at, 0);
        at.lost += 100;
        policer.on_lost(100);
        policer.on_sample(&policer.at_timeout(at.now, true), |_| u64::MAX);
        // After three rounds 300 have arrived and 30 have not: a tenth. With the 100 it would be more than two fifths.
        for _ in 0..16 {
            assert_eq!(round(&mut policer, &mut at, 10), Verdict::None);
            assert_eq!(policer.rate, 0);
        }
    }

    /// `bbr_set_state` hands a timeout to `bbr_lt_bw_sampling` as the end of a round, whether BBR paces at the rate or not.
    #[test]
    fn a_timeout_counts_among_the_rounds_for_which_the_rate_holds() {
        let (mut policer, mut at) = start();
        for _ in 0..8 {
            round(&mut policer, &mut at, 25);
        }
        for _ in 1..48 {
            let timeout = policer.at_timeout(at.now, true);
            assert_eq!(policer.on_sample(&timeout, |_| u64::MAX), Verdict::None);
        }
        assert_eq!(round(&mut policer, &mut at, 0), Verdict::Forgotten);
    }

    /// `bbr_undo_cwnd` comes after the ACK's segments have been counted (`tp->delivered`), and before its sample.
    #[test]
    fn an_undo_begins_behind_what_its_ack_has_delivered() {
        let (mut policer, mut at) = start();
        round(&mut policer, &mut at, 0);
        policer.on_delivered(130);
        policer.reset(at.now);
        assert_eq!((policer.delivered, policer.lost), (130, 0));
    }

    #[test]
    fn a_tenth_lost_is_no_policer() {
        let (mut policer, mut at) = start();
        for _ in 0..40 {
            assert_eq!(round(&mut policer, &mut at, 10), Verdict::None);
        }
    }
}
