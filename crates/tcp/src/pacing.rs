//! Pacing: a window spread over its round trip instead of sent at once.
//!
//! Each burst has the earliest time at which it may depart, and leaves the next one its own. By a timer of TCP's own a burst stays in
//! the send buffer until then; by `fq` it is handed to the host ahead of that time, and waits there (`fq.rs`).
//!
//! Sources: Linux's internal pacing and `fq` by their behaviour; Aggarwal, Savage, Anderson, INFOCOM 2000.
//!
//! Departures: none. The burst that makes Linux's first ten segments full is the first that others wait for, and a late packet
//! gives back up to half of its own time.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::{BeyondHorizon, PacingConfig};

/// Number of segments that a connection sends before pacing begins: the burst with the last of them is paced. A rate
/// that is found later paces from its first segment on (Linux: `data_segs_out`).
const FIRST_SEGMENTS: u64 = 10;

/// Schedules departures at the pacing rate.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pacer {
    /// Enabled by configuration; otherwise pacing is active only if the controller has a rate.
    is_enabled: bool,
    /// Segments are spread over the round trip, by configuration or because the controller has a rate.
    is_active: bool,
    /// Longest time by which a burst may begin ahead: the horizon of `fq`, or zero.
    ahead: SimDuration,
    /// Departure time of the current burst, if it may begin ahead.
    departs: SimTime,
    next: SimTime,
    /// Octets of the burst under way, while nothing is paced.
    unpaced: u64,
    /// Lateness of the current burst's start; up to half of its own duration is made up for.
    lateness: SimDuration,
    slow_start_ratio: f64,
    avoidance_ratio: f64,
    /// No rate is greater.
    most: Bandwidth,
}

/// Inputs of Linux's pacing rate, in octets and time.
#[derive(Clone, Copy, Debug)]
pub struct RateInputs {
    /// Congestion window in octets.
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
        let ahead = match config.beyond_horizon {
            _ if !config.is_by_fq() => SimDuration::ZERO,
            BeyondHorizon::Drop => config.horizon,
            BeyondHorizon::Cap => SimDuration(u64::MAX),
        };
        Self {
            slow_start_ratio: config.slow_start_ratio,
            avoidance_ratio: config.avoidance_ratio,
            is_enabled: config.enabled,
            is_active: config.enabled,
            most: Bandwidth(u64::MAX),
            ahead,
            departs: SimTime::ZERO,
            next: SimTime::ZERO,
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
        self.is_active = self.is_enabled || wanted;
    }

    /// Enables pacing as the configuration does, at `most` at most.
    pub fn turn_on(&mut self, most: Bandwidth) {
        (self.is_enabled, self.most) = (true, most);
    }

    /// The largest pacing rate that is allowed.
    #[inline]
    pub fn most(&self) -> Bandwidth {
        self.most
    }

    /// A multiple of cwnd / SRTT: twice in slow start, so that the window can double, 1.2 times afterwards. `None`
    /// before the first RTT sample.
    pub fn window_rate(&self, inputs: RateInputs) -> Option<Bandwidth> {
        if inputs.srtt.is_zero() {
            return None;
        }
        let in_slow_start = inputs.ssthresh.is_none_or(|ssthresh| inputs.cwnd < ssthresh / 2);
        let ratio = if in_slow_start { self.slow_start_ratio } else { self.avoidance_ratio };
        let window = inputs.cwnd.max(inputs.outstanding) as f64;
        Some(Bandwidth((ratio * window * 8.0 / inputs.srtt.as_secs_f64()) as u64))
    }

    /// True if a burst may leave now, or be handed over now with its time: it begins, if it does.
    pub fn begin_burst(&mut self, now: SimTime) -> bool {
        self.unpaced = 0;
        if self.next.saturating_since(now) > self.ahead {
            return false;
        }
        self.departs = self.next;
        true
    }

    /// Departure time of a segment sent now, in the burst that has begun.
    #[inline]
    pub fn departure(&self, now: SimTime) -> SimTime {
        now.max(self.departs)
    }

    /// Time at which the next burst may begin.
    pub fn opens_at(&self) -> SimTime {
        SimTime(self.next.0.saturating_sub(self.ahead.0))
    }

    /// Time at which the next segment may leave.
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// `size` octets left at `now`, at this rate, as the last of `sent_segments` of the connection, paced or not.
    pub fn on_sent(&mut self, now: SimTime, size: u64, rate: Option<Bandwidth>, sent_segments: u64) {
        let Some(rate) = rate.filter(|rate| rate.0 > 0 && sent_segments >= FIRST_SEGMENTS) else {
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
    use crate::config::PacedBy;

    #[test]
    fn slow_start_is_paced_at_twice_the_window_per_round_trip_and_avoidance_at_six_fifths() {
        let config = PacingConfig { enabled: true, ..PacingConfig::default() };
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
        let config = PacingConfig { enabled: true, ..PacingConfig::default() };
        let mut pacer = Pacer::new(config);
        let rate = Some(Bandwidth(8_000_000)); // 1000 octets a millisecond
        for sent in 1..10 {
            assert!(pacer.begin_burst(SimTime(0)));
            pacer.on_sent(SimTime(0), 1_000, rate, sent);
        }
        assert!(pacer.begin_burst(SimTime(0)));
        pacer.on_sent(SimTime(0), 1_000, rate, 10);
        assert_eq!(pacer.next(), SimTime(1_000_000));
    }

    /// Linux 6.18 counts the data segments of the connection (`data_segs_out`), and not those that were paced.
    #[test]
    fn a_rate_that_is_found_late_paces_at_once() {
        let mut pacer = Pacer::new(PacingConfig::default());
        pacer.set_wanted(true);
        pacer.on_sent(SimTime(0), 1_000, Some(Bandwidth(8_000_000)), 500);
        assert_eq!(pacer.next(), SimTime(1_000_000));
        assert!(!pacer.begin_burst(SimTime(999_999)));
    }

    #[test]
    fn the_burst_with_the_tenth_segment_is_paced_whole() {
        let mut pacer = Pacer::new(PacingConfig { enabled: true, ..PacingConfig::default() });
        for burst in 0..4 {
            assert!(pacer.begin_burst(SimTime(0)));
            for place in 1..=3 {
                pacer.on_sent(SimTime(0), 1_000, Some(Bandwidth(8_000_000)), 3 * burst + place);
            }
        }
        assert_eq!(pacer.next(), SimTime(3_000_000)); // 10 to 12 left together
    }

    #[test]
    fn fq_takes_bursts_ahead_of_their_time_up_to_its_horizon() {
        let config = PacingConfig { enabled: true, by: PacedBy::Fq, ..PacingConfig::default() };
        let mut pacer = Pacer::new(PacingConfig { horizon: SimDuration::from_millis(2), ..config });
        let rate = Some(Bandwidth(8_000_000)); // 1000 octets a millisecond
        let mut departures = Vec::new();
        for sent in 1..=13 {
            if pacer.begin_burst(SimTime(0)) {
                departures.push(pacer.departure(SimTime(0)).0);
                pacer.on_sent(pacer.departure(SimTime(0)), 1_000, rate, sent);
            }
        }
        // Nine leave unpaced, the tenth with them, and each of the next a millisecond after the one before; what would leave after
        // 3 ms is refused at 0, and taken once that is 2 ms away.
        assert_eq!(departures, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000_000, 2_000_000]);
        assert!(!pacer.begin_burst(SimTime(999_999)));
        assert!(pacer.begin_burst(SimTime(1_000_000)));
        assert_eq!(pacer.departure(SimTime(1_000_000)), SimTime(3_000_000));
        let mut capped = Pacer::new(PacingConfig { beyond_horizon: BeyondHorizon::Cap, ..config });
        capped.next = SimTime(60_000_000_000); // 50 s beyond the horizon of 10 s
        assert!(capped.begin_burst(SimTime(0)));
    }
}
