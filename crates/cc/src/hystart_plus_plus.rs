//! `HyStart++` (RFC 9406): slow start that slows down when delay rises, and speeds up again if the delay falls back.
//!
//! Source: RFC 9406 section 4.2 and the constants of section 4.3. Departures: none. The RFC leaves choices: here it
//! serves only the first slow start (section 4.3 recommends this), and the first round begins with the first ACK. An
//! ACK that ends a round still counts for it; the one that ends the last round of conservative slow start belongs to
//! congestion avoidance.

use ackclock_units::SimDuration;

use crate::event::AckEvent;
use crate::slow_start::{Pace, Window};

const MIN_RTT_THRESH: SimDuration = SimDuration::from_millis(4);
const MAX_RTT_THRESH: SimDuration = SimDuration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// The limit L of a sender that does not pace, segments.
const UNPACED_LIMIT: u64 = 8;

/// The state of `HyStart++`.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    /// The sender's round at the last ACK; `None` before the first.
    round: Option<u64>,
    last_round_min_rtt: Option<SimDuration>,
    current_round_min_rtt: Option<SimDuration>,
    rtt_samples: u32,
    /// The state of conservative slow start, while it lasts.
    conservative: Option<Conservative>,
    /// True once the first slow start is over.
    stopped: bool,
}

/// The state of conservative slow start (CSS).
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline_min_rtt: SimDuration,
    rounds: u32,
}

impl HyStartPlusPlus {
    pub(crate) fn on_ack(&mut self, ack: &AckEvent, window: &Window) -> Pace {
        //= rfc9406-4.3-first-slow-start
        if self.stopped || !window.in_slow_start() {
            return Pace::Ordinary;
        }
        // Section 4.2 grows the window before it looks at the sample.
        //= rfc9406-4.2-quarter-growth
        let divisor = if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        if let Some(sample) = ack.rtt_sample {
            self.on_sample(sample);
        }
        if self.round.replace(ack.round).is_some_and(|round| round != ack.round) && self.end_round() {
            self.stop();
            return Pace::Leave;
        }
        //= rfc9406-4.2-limit
        Pace::PlusPlus { limit: (!ack.is_paced).then_some(UNPACED_LIMIT), divisor }
    }

    /// True in conservative slow start.
    pub(crate) fn is_conservative(&self) -> bool {
        self.conservative.is_some() && !self.stopped
    }

    /// Stops at a loss or a mark, which ends the first slow start.
    pub(crate) fn stop(&mut self) {
        //= rfc9406-4.2-loss-ends-it
        self.stopped = true;
    }

    fn on_sample(&mut self, sample: SimDuration) {
        let current = self.current_round_min_rtt.map_or(sample, |least| least.min(sample));
        self.current_round_min_rtt = Some(current);
        self.rtt_samples += 1;
        //= rfc9406-4.2-eight-samples
        if self.rtt_samples < N_RTT_SAMPLE {
            return;
        }
        if let Some(conservative) = self.conservative {
            if current < conservative.baseline_min_rtt {
                //= rfc9406-4.2-resume
                self.conservative = None; // it was spurious: slow start again
            }
        } else if let Some(last) = self.last_round_min_rtt {
            //= rfc9406-4.2-threshold
            let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
            if current >= last + threshold {
                self.conservative = Some(Conservative { baseline_min_rtt: current, rounds: 0 });
            }
        }
    }

    /// Returns true if conservative slow start has had all its rounds, the one in which it began included.
    fn end_round(&mut self) -> bool {
        //= rfc9406-4.2-rounds
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_samples = 0;
        self.conservative.as_mut().is_some_and(|conservative| {
            conservative.rounds += 1;
            //= rfc9406-4.2-five-rounds
            conservative.rounds >= CSS_ROUNDS
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    const WINDOW: Window = Window { cwnd: 20_000, ssthresh: None, mss: 1_000 };
    const FULL: Pace = Pace::PlusPlus { limit: Some(8), divisor: 1 };
    const QUARTER: Pace = Pace::PlusPlus { limit: Some(8), divisor: 4 };

    /// Feeds `count` ACKs of a round with one RTT; returns the pace of each.
    fn feed(hystart: &mut HyStartPlusPlus, round: u64, count: usize, rtt_ms: u64) -> Vec<Pace> {
        let event = AckEvent { round, rtt_sample: Some(SimDuration::from_millis(rtt_ms)), ..ack(1_000) };
        (0..count).map(|_| hystart.on_ack(&event, &WINDOW)).collect()
    }

    /// The state in conservative slow start with a baseline of 92 ms; round 2 is under way.
    fn slowed() -> HyStartPlusPlus {
        let mut hystart = HyStartPlusPlus::default();
        feed(&mut hystart, 1, 10, 80);
        feed(&mut hystart, 2, 10, 92);
        assert!(hystart.conservative.is_some());
        hystart
    }

    //= rfc9406-4.2-quarter-growth
    //= rfc9406-4.2-eight-samples
    //= rfc9406-4.2-rounds
    #[test]
    fn the_eighth_sample_of_a_round_an_eighth_slower_slows_it_down() {
        // Last round 80 ms: RttThresh = max(4, min(80 / 8, 16)) = 10 ms. The first ACK told as of round 2 ends round 1
        // and counts there; eight more are needed. The window grows before the check, so the ninth ACK is counted full.
        let mut hystart = HyStartPlusPlus::default();
        feed(&mut hystart, 1, 10, 80);
        let paces = feed(&mut hystart, 2, 10, 90);
        assert_eq!(paces, [vec![FULL; 9], vec![QUARTER]].concat());
    }

    //= rfc9406-4.2-threshold
    #[test]
    fn less_than_the_threshold_changes_nothing() {
        let mut hystart = HyStartPlusPlus::default();
        feed(&mut hystart, 1, 10, 80);
        assert_eq!(feed(&mut hystart, 2, 30, 89), [FULL; 30]);
    }

    //= rfc9406-4.2-threshold
    #[test]
    fn the_threshold_has_bounds() {
        let slows_down = |last: u64, current: u64| {
            let mut hystart = HyStartPlusPlus::default();
            feed(&mut hystart, 1, 10, last);
            feed(&mut hystart, 2, 10, current);
            hystart.conservative.is_some()
        };
        assert!(!slows_down(8, 11) && slows_down(8, 12)); // 8 / 8 = 1 ms: MIN_RTT_THRESH = 4
        assert!(!slows_down(400, 415) && slows_down(400, 416)); // 400 / 8 = 50 ms: MAX_RTT_THRESH = 16
    }

    //= rfc9406-4.2-five-rounds
    #[test]
    fn five_rounds_later_slow_start_is_over() {
        // The round of the transition counts: its end and those of rounds 3 to 6 make CSS_ROUNDS = 5.
        let mut hystart = slowed();
        for round in 3..=6 {
            assert_eq!(feed(&mut hystart, round, 10, 92), [QUARTER; 10]);
        }
        assert_eq!(feed(&mut hystart, 7, 2, 92), [Pace::Leave, Pace::Ordinary]);
    }

    //= rfc9406-4.2-resume
    #[test]
    fn a_delay_below_the_baseline_resumes_slow_start() {
        let mut hystart = slowed();
        feed(&mut hystart, 3, 1, 92); // ends round 2, whose sample it is
        // 91 < 92: the eighth sample of round 3 tells that it was spurious; the ACK after it is counted full
        assert_eq!(feed(&mut hystart, 3, 10, 91), [vec![QUARTER; 8], vec![FULL; 2]].concat());
    }

    //= rfc9406-4.3-first-slow-start
    //= rfc9406-4.2-limit
    //= rfc9406-4.2-loss-ends-it
    //= rfc9438-4.10-slow-start
    #[test]
    fn pacing_lifts_the_limit_and_congestion_ends_it_for_good() {
        let mut hystart = HyStartPlusPlus::default();
        let paced = AckEvent { is_paced: true, ..ack(1_000) };
        assert_eq!(hystart.on_ack(&paced, &WINDOW), Pace::PlusPlus { limit: None, divisor: 1 });
        hystart.stop();
        assert_eq!(hystart.on_ack(&paced, &WINDOW), Pace::Ordinary);
    }
}
