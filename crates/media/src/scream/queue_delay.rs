//! The queueing delay: one-way delay above its least, and its averages.
//!
//! Sources: RFC 6817 section 3.4.2 for the base delay, the least of each of the last ten minutes; draft-ietf-ccwg-rfc8298bis-screamv2,
//! "Detecting Increased Queue Delay", for the averages: slow up, fast down, once in the shorter of a round trip and 25 ms.
//! Departures: none.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

const MINUTE: SimDuration = SimDuration::from_secs(60);
/// Number of minima of the base delay that are kept (RFC 6817: `BASE_HISTORY`).
const BASE_HISTORY: usize = 10;
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
/// Threshold of the delay's deviation, seconds.
const QDELAY_DEV_THRESHOLD: f64 = 0.01;
const VIRTUAL_RTT: f64 = 0.025;

/// The least one-way delay of the last minutes, of clocks that need not agree.
#[derive(Clone, Debug, Default)]
pub struct BaseDelay {
    minutes: VecDeque<i64>,
    begin: SimTime,
}

impl BaseDelay {
    /// The queueing delay, in seconds, of a packet that left and arrived at these times.
    pub fn sample(&mut self, sent: SimTime, arrived: SimTime) -> f64 {
        let delay = arrived.0 as i64 - sent.0 as i64;
        match self.minutes.back_mut() {
            Some(least) if arrived.saturating_since(self.begin) < MINUTE => *least = delay.min(*least),
            _ => {
                self.minutes.push_back(delay);
                self.begin = arrived;
                if self.minutes.len() > BASE_HISTORY {
                    self.minutes.pop_front();
                }
            }
        }
        let base = self.minutes.iter().copied().min().unwrap_or(delay);
        (delay - base) as f64 / 1e9
    }
}

/// Averages of the queueing delay, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct DelayAverage {
    average: f64,
    updated: f64,
    highest: f64,
    lowest: f64,
    deviation: f64,
    reduces_jitter: bool,
    scale: f64,
}

impl DelayAverage {
    /// Averages around this target; if requested, with the scale by which jitter lessens reactions.
    pub fn new(target: f64, reduces_jitter: bool) -> Self {
        Self { average: 0.0, updated: 0.0, highest: target, lowest: 0.0, deviation: 0.0, reduces_jitter, scale: 1.0 }
    }

    /// Average queueing delay, seconds (`qdelay_avg`).
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The scale of reactions (`ref_wnd_delay_scale`): one without jitter, zero with much.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Takes a packet that was acknowledged.
    pub fn on_packet(&mut self, qdelay: f64, target: f64) {
        self.highest = target.min(qdelay.max(self.highest));
        self.lowest = qdelay.min(self.lowest);
    }

    /// Takes a report.
    pub fn update(&mut self, now: f64, qdelay: f64, s_rtt: f64) {
        if now - self.updated < VIRTUAL_RTT.min(s_rtt) {
            return;
        }
        self.updated = now;
        self.average =
            if qdelay < self.average { qdelay } else { QDELAY_AVG_G * qdelay + (1.0 - QDELAY_AVG_G) * self.average };
        if !self.reduces_jitter {
            return;
        }
        self.highest *= 1.0 - QDELAY_MIN_MAX_AVG_G;
        self.lowest = self.lowest * (1.0 - QDELAY_MIN_MAX_AVG_G) + self.highest * QDELAY_MIN_MAX_AVG_G;
        let apart = self.highest - self.lowest;
        self.deviation = (1.0 - QDELAY_DEV_AVG_G) * self.deviation + QDELAY_DEV_AVG_G * apart;
        self.scale = (1.0 - self.deviation / QDELAY_DEV_THRESHOLD).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes() {
        let mut base = BaseDelay::default();
        assert_eq!(base.sample(at(0), at(50)).to_bits(), 0.0_f64.to_bits());
        assert!((base.sample(at(10), at(75)) - 0.015).abs() < 1e-12);
        // A route that is 20 ms longer: after ten minutes the 50 ms are forgotten.
        for minute in 1..=10 {
            let sent = minute * 60_000 + 100;
            let expected = if minute < 10 { 0.02 } else { 0.0 };
            assert!((base.sample(at(sent), at(sent + 70)) - expected).abs() < 1e-12, "{minute}");
        }
    }

    #[test]
    fn the_average_rises_slowly_and_falls_at_once() {
        // 0.04 / 4 = 0.01, then 0.04 / 4 + 3/4 of it = 0.0175; not twice within 25 ms.
        let mut delay = DelayAverage::new(0.06, false);
        for (now, qdelay, expected) in
            [(1.0, 0.04, 0.01), (1.03, 0.04, 0.0175), (1.04, 0.04, 0.0175), (1.06, 0.005, 0.005)]
        {
            delay.update(now, qdelay, 0.1);
            assert!((delay.average() - expected).abs() < 1e-12, "{now}");
        }
        assert_eq!(delay.scale().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn jitter_lowers_the_scale() {
        // qdelay between 0 and 20 ms: the highest decays by 1/16 from 20 ms each 25 ms and is renewed, the lowest stays at zero
        // (a packet without delay each time); so their distance is 18.75 ms, above the threshold of 10 ms.
        let mut delay = DelayAverage::new(0.06, true);
        for step in 0..400 {
            delay.on_packet(0.0, 0.06);
            delay.on_packet(0.02, 0.06);
            delay.update(f64::from(step) * 0.025 + 1.0, 0.0, 0.1);
        }
        assert_eq!(delay.scale().to_bits(), 0.0_f64.to_bits());
        let mut steady = DelayAverage::new(0.06, true);
        for step in 0..800 {
            steady.on_packet(0.001, 0.06);
            steady.update(f64::from(step) * 0.025 + 1.0, 0.0, 0.1);
        }
        assert!(steady.scale() > 0.9, "{}", steady.scale());
    }
}
