//! The retransmission timeout: RTT estimation and back-off.
//!
//! Sources: RFC 6298; Jacobson, Congestion Avoidance and Control, SIGCOMM 1988 (as OPNET Modeler 17 has it); Linux's
//! `tcp_rtt_estimator` by its behaviour. Departures: the estimators count in `f64` nanoseconds (exact below 2^53 ns,
//! 104 days), where stacks use scaled integers.

use ackclock_cc::RttStats;
use ackclock_units::{SimDuration, SimTime};

use crate::clock::SegmentClock;
use crate::config::{FirstSample, RtoConfig, RtoEstimator, RtoResume, RttSample, TickRounding};

/// SRTT, RTTVAR and the timeout of one connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct RtoTimer {
    linux: LinuxDeviation,
    /// Round trip smoothed by a fine clock, where timeouts count in ticks.
    fine_srtt: SimDuration,
    config: RtoConfig,
    /// Timeout before back-off.
    base: SimDuration,
    /// Doublings since the last valid sample (Karn).
    backoff: u32,
    has_sample: bool,
    /// The ACK at hand gave a sample.
    is_fresh: bool,
    clock: SegmentClock,
    stats: RttStats,
    /// Smoothed round trip in the estimator's unit: ticks for `opnet`, nanoseconds for the others.
    srtt: f64,
    rttvar: f64,
}

/// Linux keeps the deviation at its maximum over a round trip and lets it fall slowly.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxDeviation {
    mdev: f64,
    mdev_max: f64,
    /// The round trip ends when this offset is acknowledged.
    round_end: u64,
}

impl RtoTimer {
    pub(crate) fn new(config: RtoConfig) -> Self {
        Self {
            config,
            clock: SegmentClock::of(&config),
            srtt: 0.0,
            rttvar: 0.0,
            has_sample: false,
            is_fresh: false,
            stats: RttStats::default(),
            base: config.initial,
            backoff: 0,
            linux: LinuxDeviation::default(),
            fine_srtt: SimDuration::ZERO,
        }
    }

    /// Smoothed values for the stack and for traces.
    pub(crate) fn stats(&self) -> RttStats {
        self.stats
    }

    /// Smoothed values for controllers, which have a fine clock also where the stack counts ticks, of which a round trip may take
    /// none (Brakmo, Peterson, JSAC 13(8), 1995, section III-A: Vegas reads the system's clock for each segment).
    pub(crate) fn fine_stats(&self) -> RttStats {
        let counts_ticks = self.config.estimator == RtoEstimator::Opnet;
        RttStats { srtt: if counts_ticks { self.fine_srtt } else { self.stats.srtt }, ..self.stats }
    }

    /// An ACK arrives, which has given no sample yet.
    #[inline]
    pub(crate) fn begin_ack(&mut self) {
        self.is_fresh = false;
    }

    /// The sample of the last ACK, if it gave one.
    #[inline]
    pub(crate) fn sample_of_ack(&self) -> Option<SimDuration> {
        self.is_fresh.then_some(self.stats.latest)
    }

    /// True once there was a sample.
    pub(crate) fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// Karn's rule is on.
    pub(crate) fn karn(&self) -> bool {
        self.config.karn
    }

    /// The oldest of the segments that an ACK covers gives the sample, not the newest.
    pub(crate) fn samples_oldest(&self) -> bool {
        self.config.sample == RttSample::Oldest
    }

    /// SACKed segments give samples.
    pub(crate) fn samples_sacks(&self) -> bool {
        self.config.sack_samples
    }

    /// A SACK may restart the timer.
    pub(crate) fn restarts_on_sack(&self) -> bool {
        self.config.restart_on_sack
    }

    /// A retransmission of the first outstanding segment restarts the timer.
    pub(crate) fn restarts_on_retransmission(&self) -> bool {
        self.config.restart_on_retransmission
    }

    /// After the timer has run for something else, the timeout counts from when the first outstanding segment left.
    pub(crate) fn resumes_from_head(&self) -> bool {
        self.config.resume_from == RtoResume::Head
    }

    /// The timeout with its back-off.
    #[inline]
    pub(crate) fn rto(&self) -> SimDuration {
        let doubled = self.base.0.saturating_mul(1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX));
        //= rfc6298-2.5-maximum
        SimDuration(doubled.min(self.config.max.0))
    }

    /// The RTT of the newest segment that the last ACK covered, where the estimator took an older one: the better
    /// measure of the path.
    pub(crate) fn note_newest(&mut self, sent_at: SimTime, now: SimTime) {
        let rtt = self.clock.between(sent_at, now);
        self.stats.latest = rtt;
        //= rfc8985-6.2-least-rtt-windowed
        self.stats.min_rtt = self.stats.min_rtt.min(rtt);
    }

    /// Number of consecutive back-offs.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// RFC 6298 section 5.5: double it.
    pub(crate) fn back_off(&mut self) {
        //= rfc6298-5.5-back-off
        self.backoff += 1;
    }

    /// New data was acknowledged: Karn's rule keeps the back-off until a valid sample; without the rule it ends here.
    pub(crate) fn on_new_ack(&mut self) {
        if !self.config.karn {
            self.backoff = 0;
        }
    }

    /// RFC 6298 section 5.7: the SYN timed out, so data starts from 3 seconds unless there has been a sample.
    pub(crate) fn on_syn_timed_out(&mut self) {
        if !self.has_sample {
            //= rfc6298-5.7-lost-syn
            self.base = self.base.max(self.config.after_lost_syn);
        }
        self.backoff = 0;
    }

    /// Takes in a valid sample: data sent at `sent_at` was acknowledged at `now`. `una` and `nxt` show where round
    /// trips end.
    pub(crate) fn on_sample(&mut self, sent_at: SimTime, now: SimTime, una: u64, nxt: u64) {
        //= rfc6298-4-fine-clock
        let rtt = self.clock.between(sent_at, now);
        self.stats.latest = rtt;
        //= rfc8985-6.2-least-rtt
        self.stats.min_rtt = if self.has_sample { self.stats.min_rtt.min(rtt) } else { rtt };
        let timeout_ns = match self.config.estimator {
            //= rfc9293-3.8.1-timeout
            RtoEstimator::Rfc6298 => self.update_rfc6298(rtt.0 as f64),
            RtoEstimator::Opnet => self.update_opnet(sent_at, now),
            RtoEstimator::Linux => self.update_linux(rtt.0 as f64, una, nxt),
        };
        (self.has_sample, self.is_fresh) = (true, true);
        self.backoff = 0;
        //= rfc6298-2.4-minimum
        self.base = SimDuration(whole(timeout_ns)).clamp(self.config.min, self.config.max);
        if self.config.estimator == RtoEstimator::Linux {
            let whole_ticks = self.base.0.checked_next_multiple_of(self.config.granularity.0);
            self.base = whole_ticks.map_or(self.base, SimDuration);
        }
    }

    /// RFC 6298 sections 2.2 and 2.3. With R' the sample: RTTVAR first, from the old SRTT.
    fn update_rfc6298(&mut self, rtt: f64) -> f64 {
        if self.has_sample {
            //= rfc6298-2.3-later-samples
            self.rttvar += self.config.deviation_gain * ((self.srtt - rtt).abs() - self.rttvar);
            //= rfc7323-4.2-many-samples
            self.srtt += self.config.rtt_gain * (rtt - self.srtt);
        } else {
            //= rfc6298-2.2-first-sample
            (self.srtt, self.rttvar) = (rtt, rtt / 2.0);
        }
        self.publish(1.0);
        //= rfc6298-2.3-granularity
        self.srtt + (self.config.deviation_weight * self.rttvar).max(self.config.granularity.0 as f64)
    }

    /// Jacobson's estimator on ticks: Err = M - SRTT; SRTT += g Err; RTTVAR += h (|Err| - RTTVAR).
    fn update_opnet(&mut self, sent_at: SimTime, now: SimTime) -> f64 {
        let ticks = self.measure_in_ticks(sent_at, now);
        let (rtt, smoothed) = (now.saturating_since(sent_at).0, self.fine_srtt.0);
        self.fine_srtt = SimDuration(if self.has_sample { smoothed - smoothed / 8 + rtt / 8 } else { rtt });
        let first = if self.has_sample { FirstSample::FromZero } else { self.config.first_sample };
        match first {
            FirstSample::Half => (self.srtt, self.rttvar) = (ticks, ticks / 2.0),
            FirstSample::NoVariance => (self.srtt, self.rttvar) = (ticks, 0.0),
            FirstSample::FromZero => {
                let err = ticks - self.srtt;
                self.srtt += self.config.rtt_gain * err;
                self.rttvar += self.config.deviation_gain * (err.abs() - self.rttvar);
            }
        }
        let tick = self.config.granularity.0 as f64;
        self.publish(tick);
        (self.srtt + self.config.deviation_weight * self.rttvar) * tick
    }

    fn measure_in_ticks(&self, sent_at: SimTime, now: SimTime) -> f64 {
        let tick = self.config.granularity.0;
        let rtt = now.saturating_since(sent_at).0;
        let ticks = match self.config.rounding {
            TickRounding::Floor => rtt / tick,
            TickRounding::Nearest => (rtt + tick / 2) / tick,
            TickRounding::Ceiling => rtt.div_ceil(tick),
            TickRounding::Clock => {
                // Ticks at offset, offset + tick, ...: count those in (sent_at, now].
                let phase = tick - self.config.tick_offset.0 % tick;
                (now.0 + phase) / tick - (sent_at.0 + phase) / tick
            }
        };
        ticks as f64
    }

    /// Linux: a fall of the RTT moves the deviation by an eighth of what a rise does; RTTVAR is the largest deviation of
    /// the last round trip, never below the minimum RTO, and the RTO is SRTT + RTTVAR (RTTVAR here is 4 deviations).
    fn update_linux(&mut self, rtt: f64, una: u64, nxt: u64) -> f64 {
        let floor = self.config.min.0 as f64 / 4.0;
        let linux = &mut self.linux;
        if self.has_sample {
            let err = rtt - self.srtt;
            self.srtt += self.config.rtt_gain * err;
            let mut change = err.abs() - linux.mdev;
            if err < 0.0 && change > 0.0 {
                change /= 8.0;
            }
            linux.mdev += self.config.deviation_gain * change;
            linux.mdev_max = linux.mdev_max.max(linux.mdev);
            self.rttvar = self.rttvar.max(linux.mdev_max);
            if una > linux.round_end {
                if linux.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - linux.mdev_max) / 4.0;
                }
                linux.round_end = nxt;
                linux.mdev_max = floor;
            }
        } else {
            self.srtt = rtt;
            linux.mdev = rtt / 2.0;
            self.rttvar = linux.mdev.max(floor);
            linux.mdev_max = self.rttvar;
            linux.round_end = nxt;
        }
        self.publish(1.0);
        self.srtt + self.config.deviation_weight * self.rttvar
    }

    fn publish(&mut self, unit_ns: f64) {
        self.stats.srtt = SimDuration(whole(self.srtt * unit_ns));
        self.stats.rttvar = SimDuration(whole(self.rttvar * unit_ns));
    }
}

/// The whole part of an amount that is not negative; below 2^63 the same as a conversion to `u64`, and far cheaper.
fn whole(amount: f64) -> u64 {
    amount as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn timer(estimator: RtoEstimator) -> RtoTimer {
        RtoTimer::new(RtoConfig::of(estimator))
    }

    fn sample(timer: &mut RtoTimer, rtt_ms: u64) -> u64 {
        timer.on_sample(SimTime(1_000 * MS), SimTime((1_000 + rtt_ms) * MS), 0, 0);
        timer.rto().0 / MS
    }

    /// `tcp_ack_update_rtt` takes the difference of two times in whole microseconds, of the newest segment too.
    #[test]
    fn on_linux_a_round_trip_is_of_whole_microseconds() {
        let mut timer = timer(RtoEstimator::Linux);
        timer.on_sample(SimTime(999), SimTime(20_500), 0, 0);
        assert_eq!(timer.stats().srtt, SimDuration(20_000));
        timer.note_newest(SimTime(1_999), SimTime(20_999));
        assert_eq!((timer.stats().latest, timer.stats().min_rtt), (SimDuration(19_000), SimDuration(19_000)));
    }

    //= rfc6298-2.3-later-samples
    //= rfc6298-2.2-first-sample
    //= rfc6298-2.1-initial
    //= rfc9293-3.8.1-timeout
    #[test]
    fn rfc6298_worked_by_hand() {
        let mut timer = timer(RtoEstimator::Rfc6298);
        timer.config.min = SimDuration::ZERO;
        assert_eq!(timer.rto(), SimDuration::from_secs(1)); // section 2.1
        assert_eq!(sample(&mut timer, 100), 300); // SRTT 100, RTTVAR 50: 100 + 4*50
        // RTTVAR = 50 + (|100-180| - 50)/4 = 57.5; SRTT = 100 + 80/8 = 110; RTO = 110 + 230 = 340
        assert_eq!(sample(&mut timer, 180), 340);
    }

    //= rfc6298-4-fine-clock
    //= rfc6298-2.3-granularity
    #[test]
    fn the_granularity_bounds_the_deviation_term() {
        let mut timer = timer(RtoEstimator::Rfc6298);
        timer.config.min = SimDuration::ZERO;
        timer.config.granularity = SimDuration::from_millis(500);
        assert_eq!(sample(&mut timer, 100), 600); // 100 + max(500, 200)
    }

    //= rfc6298-5.5-back-off
    //= rfc6298-2.5-maximum
    #[test]
    fn back_off_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut timer = timer(RtoEstimator::Rfc6298);
        let mut timeouts = Vec::new();
        for _ in 0..8 {
            timeouts.push(timer.rto().0 / (1_000 * MS));
            timer.back_off();
        }
        assert_eq!(timeouts, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(sample(&mut timer, 100), 1_000);
    }

    #[test]
    fn opnet_in_ticks_worked_by_hand() {
        let mut timer = timer(RtoEstimator::Opnet);
        assert_eq!(timer.rto(), SimDuration::from_secs(3));
        // 700 ms is 1.4 ticks of 500 ms, to the nearest: 1. SRTT 1, RTTVAR 0.5: RTO = 3 ticks = 1500 ms
        assert_eq!(sample(&mut timer, 700), 1_500);
        // 1600 ms is 3 ticks: Err 2; SRTT = 1.25; RTTVAR = 0.5 + (2 - 0.5)/4 = 0.875; RTO = 4.75 ticks = 2375 ms
        assert_eq!(sample(&mut timer, 1_600), 2_375);
    }

    /// 40 ms are no tick of 500 ms; smoothed as RFC 6298 section 2.3 has it, with alpha = 1/8.
    #[test]
    fn controllers_see_round_trips_below_a_tick() {
        let mut timer = timer(RtoEstimator::Opnet);
        sample(&mut timer, 40);
        assert_eq!((timer.stats().srtt, timer.fine_stats().srtt), (SimDuration::ZERO, SimDuration::from_millis(40)));
        sample(&mut timer, 48);
        assert_eq!(timer.fine_stats().srtt, SimDuration::from_millis(41));
    }

    #[test]
    fn opnet_rounding_and_ticks() {
        let measured = |rounding, offset_ms, from_ms: u64, rtt_ms: u64| {
            let mut timer = timer(RtoEstimator::Opnet);
            timer.config.rounding = rounding;
            timer.config.tick_offset = SimDuration::from_millis(offset_ms);
            timer.measure_in_ticks(SimTime(from_ms * MS), SimTime((from_ms + rtt_ms) * MS)) as u64
        };
        assert_eq!(measured(TickRounding::Floor, 0, 0, 749), 1);
        assert_eq!(measured(TickRounding::Nearest, 0, 0, 750), 2);
        assert_eq!(measured(TickRounding::Ceiling, 0, 0, 501), 2);
        // ticks at 0, 500, 1000: a 100 ms round trip from 450 to 550 passes one, from 100 to 200 none
        assert_eq!(measured(TickRounding::Clock, 0, 450, 100), 1);
        assert_eq!(measured(TickRounding::Clock, 0, 100, 100), 0);
        // ticks at 150, 650, ...
        assert_eq!(measured(TickRounding::Clock, 150, 100, 100), 1);
    }

    #[test]
    fn linux_never_lets_the_deviation_term_fall_below_the_minimum() {
        let mut timer = timer(RtoEstimator::Linux);
        for round in 1..200 {
            timer.on_sample(SimTime(0), SimTime(60 * MS), round, round);
        }
        assert_eq!(timer.rto().0 / MS, 260); // SRTT 60 + 200
    }
}
