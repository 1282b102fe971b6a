//! Pacing: a window spread over its round trip instead of sent at once.
//!
//! Sources: Linux's internal pacing and `fq` by their behaviour; Aggarwal, Savage, Anderson, INFOCOM 2000.
//!
//! Departures: none. The burst that makes Linux's first ten segments full is the first that others wait for, and a late packet
//! gives back up to half of its own time.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::PacingConfig;

/// What leaves at once before pacing begins: the burst with the last of these segments is paced.
const FIRST_SEGMENTS: u64 = 10;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    config: PacingConfig,
    /// Segments are spread over the round trip, by configuration or because the controller has a rate.
    is_active: bool,
    next: SimTime,
    sent_segments: u64,
    /// Octets of the burst under way, while nothing is paced.
    unpaced: u64,
    /// How late the burst under way began; up to half of its own time is made up for.
    lateness: SimDuration,
}

/// What Linux's rate depends on; octets and time.
#[derive(Clone, Copy, Debug)]
pub struct RateInputs {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `None` while arbitrarily high.
    pub ssthresh: Option<u64>,
    /// Sent and not acknowledged.
    pub outstanding: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: SimDuration,
}

impl Pacer {
    /// Segments are spread out if the configuration says so.
    pub fn new(config: PacingConfig) -> Self {
        Self {
            config,
            is_active: config.enabled,
            next: SimTime::ZERO,
            sent_segments: 0,
            unpaced: 0,
            lateness: SimDuration::ZERO,
        }
    }

    /// Segments are spread over the round trip.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Settles that: `wanted` by the controller, if not by configuration.
    #[inline]
    pub fn set_wanted(&mut self, wanted: bool) {
        self.is_active = self.config.enabled || wanted;
    }

    /// From now on the configuration says so.
    pub fn turn_on(&mut self) {
        self.config.enabled = true;
    }

    /// A multiple of cwnd / SRTT: twice in slow start, so that the window can double, 1.2 times afterwards. `None`
    /// before the first RTT sample.
    pub fn window_rate(&self, inputs: RateInputs) -> Option<Bandwidth> {
        if inputs.srtt.is_zero() {
            return None;
        }
        let in_slow_start = inputs.ssthresh.is_none_or(|ssthresh| inputs.cwnd < ssthresh / 2);
        let ratio = if in_slow_start { self.config.slow_start_ratio } else { self.config.avoidance_ratio };
        let window = inputs.cwnd.max(inputs.outstanding) as f64;
        Some(Bandwidth((ratio * window * 8.0 / inputs.srtt.as_secs_f64()) as u64))
    }

    /// True if a burst may leave now: it begins, if it does.
    pub fn is_open(&mut self, now: SimTime) -> bool {
        self.unpaced = 0;
        now >= self.next
    }

    /// When the next segment may leave.
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// `size` octets left at `now`, at this rate.
    pub fn on_sent(&mut self, now: SimTime, size: u64, rate: Option<Bandwidth>) {
        self.sent_segments += 1;
        let Some(rate) = rate.filter(|rate| rate.0 > 0 && self.sent_segments >= FIRST_SEGMENTS) else {
            self.next = now;
            self.unpaced += size;
            return;
        };
        let time = rate.serialization_delay(Bytes(size + std::mem::take(&mut self.unpaced)));
        if now >= self.next {
            self.lateness = now.saturating_since(self.next);
        }
        let made_up = self.lateness.min(SimDuration(time.0 / 2));
        self.lateness = SimDuration(self.lateness.0 - made_up.0);
        self.next = self.next.max(now) + SimDuration(time.0 - made_up.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_is_paced_at_twice_the_window_per_round_trip_and_avoidance_at_six_fifths() {
        let config = PacingConfig { enabled: true, slow_start_ratio: 2.0, avoidance_ratio: 1.2 };
        let pacer = Pacer::new(config);
        let inputs = RateInputs {
            cwnd: 100_000,
            ssthresh: None,
            outstanding: 0,
            srtt: SimDuration::from_millis(100), // 1 MB/s: 8 Mbit/s
        };
        assert_eq!(pacer.window_rate(inputs), Some(Bandwidth(16_000_000)));
        let late = RateInputs { ssthresh: Some(150_000), ..inputs }; // more than half of ssthresh
        assert_eq!(pacer.window_rate(late), Some(Bandwidth(9_600_000)));
    }

    #[test]
    fn from_the_tenth_segment_on_each_waits_for_the_one_before() {
        let config = PacingConfig { enabled: true, slow_start_ratio: 2.0, avoidance_ratio: 1.2 };
        let mut pacer = Pacer::new(config);
        let rate = Some(Bandwidth(8_000_000)); // 1000 octets a millisecond
        for _ in 0..9 {
            assert!(pacer.is_open(SimTime(0)));
            pacer.on_sent(SimTime(0), 1_000, rate);
        }
        assert!(pacer.is_open(SimTime(0)));
        pacer.on_sent(SimTime(0), 1_000, rate);
        assert_eq!(pacer.next(), SimTime(1_000_000));
    }

    #[test]
    fn the_burst_with_the_tenth_segment_is_paced_whole() {
        let mut pacer = Pacer::new(PacingConfig { enabled: true, slow_start_ratio: 2.0, avoidance_ratio: 1.2 });
        for _ in 0..4 {
            assert!(pacer.is_open(SimTime(0)));
            for _ in 0..3 {
                pacer.on_sent(SimTime(0), 1_000, Some(Bandwidth(8_000_000)));
            }
        }
        assert_eq!(pacer.next(), SimTime(3_000_000)); // 10 to 12 left together
    }
}
