//! Estimation of the round-trip time.
//!
//! Source: RFC 9002 section 5. Departures: none. The variation is updated before the smoothed value, as the pseudo-code of
//! appendix A.7 and RFC 6298 do.

use ackclock_cc::RttStats;
use ackclock_units::{SimDuration, SimTime};

/// Granularity of the timer (`kGranularity`).
pub const GRANULARITY: SimDuration = SimDuration::from_millis(1);

/// Estimates the round-trip time (RFC 9002 section 5).
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    stats: RttStats,
    first_sample: Option<SimTime>,
    initial: SimDuration,
}

impl RttEstimator {
    /// An estimator before the first sample; `initial` is assumed.
    pub fn new(initial: SimDuration) -> Self {
        Self { stats: RttStats::default(), first_sample: None, initial }
    }

    /// Time of the first sample.
    pub fn first_sample(&self) -> Option<SimTime> {
        self.first_sample
    }

    /// Statistics for controllers; all zero before the first sample.
    pub fn stats(&self) -> RttStats {
        self.stats
    }

    /// Takes the ACK of a packet, `latest` after its departure. `ack_delay` is the peer's delay, as far as it counts.
    /// Returns the sample without the delay.
    pub fn on_sample(&mut self, now: SimTime, latest: SimDuration, ack_delay: SimDuration) -> SimDuration {
        let stats = &mut self.stats;
        stats.latest = latest;
        if self.first_sample.is_none() {
            self.first_sample = Some(now);
            (stats.min_rtt, stats.srtt, stats.rttvar) = (latest, latest, SimDuration(latest.0 / 2));
            return latest;
        }
        stats.min_rtt = stats.min_rtt.min(latest);
        let is_plausible = latest >= stats.min_rtt + ack_delay;
        let adjusted = if is_plausible { SimDuration(latest.0 - ack_delay.0) } else { latest };
        stats.rttvar = SimDuration((3 * stats.rttvar.0 + stats.srtt.0.abs_diff(adjusted.0)) / 4);
        stats.srtt = SimDuration((7 * stats.srtt.0 + adjusted.0) / 8);
        adjusted
    }

    /// Sets the minimum RTT to the newest sample after persistent congestion, as the path may be another (section 5.2).
    pub fn on_persistent_congestion(&mut self) {
        self.stats.min_rtt = self.stats.latest;
    }

    /// The probe timeout without the peer's delay (section 6.2.1): `smoothed_rtt + max(4 * rttvar, kGranularity)`.
    pub fn pto(&self) -> SimDuration {
        if self.first_sample.is_none() {
            return SimDuration(3 * self.initial.0); // section 6.2.2: rttvar is half of the initial RTT
        }
        self.stats.srtt + SimDuration((4 * self.stats.rttvar.0).max(GRANULARITY.0))
    }

    /// The time for which a packet may be outstanding after a later one has arrived (section 6.1.2).
    pub fn loss_delay(&self, threshold: f64) -> SimDuration {
        let longest = self.stats.srtt.max(self.stats.latest);
        SimDuration((longest.0 as f64 * threshold) as u64).max(GRANULARITY)
    }

    /// The duration of persistent congestion: all packets sent in it are lost (section 7.6.1).
    pub fn persistent_congestion(&self, max_ack_delay: SimDuration) -> SimDuration {
        SimDuration(3 * (self.pto().0 + max_ack_delay.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> SimDuration {
        SimDuration::from_millis(milliseconds)
    }

    #[test]
    fn the_first_sample_is_taken_as_it_is_and_later_ones_without_the_delay() {
        let mut rtt = RttEstimator::new(ms(333));
        assert_eq!(rtt.pto(), ms(999)); // section 6.2.2: 333 + 4 * 166.5
        rtt.on_sample(SimTime(1), ms(100), ms(20)); // section 5.3: the delay of the first does not count
        assert_eq!((rtt.stats().srtt, rtt.stats().rttvar, rtt.stats().min_rtt), (ms(100), ms(50), ms(100)));
        assert_eq!(rtt.pto(), ms(300)); // 100 + 4 * 50
        // 140 >= 100 + 20: adjusted 120. rttvar = (3 * 50 + |100 - 120|) / 4 = 42.5; srtt = (7 * 100 + 120) / 8 = 102.5.
        assert_eq!(rtt.on_sample(SimTime(2), ms(140), ms(20)), ms(120));
        assert_eq!(
            (rtt.stats().rttvar, rtt.stats().srtt),
            (SimDuration::from_micros(42_500), SimDuration::from_micros(102_500))
        );
        // 110 < 100 + 20: a delay that cannot be is not subtracted.
        assert_eq!(rtt.on_sample(SimTime(3), ms(110), ms(20)), ms(110));
        assert_eq!(rtt.stats().min_rtt, ms(100));
    }

    #[test]
    fn the_time_threshold_is_nine_eighths_of_the_longer_round_trip_and_no_less_than_a_millisecond() {
        let mut rtt = RttEstimator::new(ms(333));
        rtt.on_sample(SimTime(1), ms(80), ms(0));
        assert_eq!(rtt.loss_delay(1.125), ms(90));
        rtt.on_sample(SimTime(2), ms(160), ms(0)); // srtt 90, latest 160
        assert_eq!(rtt.loss_delay(1.125), ms(180));
        let mut short = RttEstimator::new(ms(333));
        short.on_sample(SimTime(1), SimDuration::from_micros(100), ms(0));
        assert_eq!((short.loss_delay(1.125), short.pto()), (ms(1), SimDuration::from_micros(1_100))); // 0.1 + max(0.2, 1)
    }

    #[test]
    fn persistent_congestion_is_three_probe_timeouts() {
        let mut rtt = RttEstimator::new(ms(333));
        rtt.on_sample(SimTime(1), ms(100), ms(0));
        assert_eq!(rtt.persistent_congestion(ms(25)), ms(975)); // 3 * (100 + 200 + 25)
    }
}
