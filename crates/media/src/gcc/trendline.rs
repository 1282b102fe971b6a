//! The trend of the one-way delay, and its verdict on overuse.
//!
//! Source: libwebrtc's `TrendlineEstimator`, each constant from there: the sum of the gradients is smoothed by 0.9, a
//! line fitted through the last twenty groups; its slope, times the number of groups up to sixty and times four, is
//! compared with the threshold of Carlucci et al. (2016, section 4.2), which follows it: up by 0.0087 and down by 0.039
//! of the difference a millisecond, not when it is more than 15 ms off, between 6 and 600 ms, 12.5 ms at first. Overuse
//! has to last for 10 ms, be seen twice, and not to be returning. (The gains of the article and of the draft are 0.01
//! and 0.00018: there the threshold, once a flow of TCP has raised it, stays for seconds; libwebrtc's falls back within
//! 26 ms.)

use std::collections::VecDeque;

use ackclock_units::SimTime;

use super::groups::Deltas;

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MOST_DELTAS: u32 = 60;
const FIRST_THRESHOLD: f64 = 12.5;
const THRESHOLDS: [f64; 2] = [6.0, 600.0];
const SPIKE: f64 = 15.0;
const LONGEST_STEP_MS: f64 = 100.0;
const OVERUSE_MS: f64 = 10.0;

/// Usage of the path, as the delay shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// Queues neither grow nor shrink.
    #[default]
    Normal,
    /// Overuse: the queues grow.
    Over,
    /// Underuse: the queues shrink.
    Under,
}

/// Fractions of the difference by which the threshold follows the trend in a millisecond, up and down.
#[derive(Clone, Copy, Debug)]
pub struct Gains {
    /// Gain of the threshold below the trend.
    pub rise: f64,
    /// Gain of the threshold above the trend.
    pub fall: f64,
}

/// Estimates the trend of the queueing delay.
#[derive(Clone, Debug)]
pub struct Trendline {
    gains: Gains,
    first_arrival: Option<SimTime>,
    deltas: u32,
    sum: f64,
    smoothed: f64,
    /// Time since the first arrival, and smoothed delay, milliseconds.
    points: VecDeque<(f64, f64)>,
    threshold: f64,
    last_update: Option<SimTime>,
    trend: f64,
    /// Duration of overuse, milliseconds, and the number of its observations.
    over: Option<f64>,
    times: u32,
    usage: Usage,
}

impl Trendline {
    /// A trend before the first arrival.
    pub fn new(gains: Gains) -> Self {
        Self {
            gains,
            first_arrival: None,
            deltas: 0,
            sum: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            threshold: FIRST_THRESHOLD,
            last_update: None,
            trend: 0.0,
            over: None,
            times: 0,
            usage: Usage::Normal,
        }
    }

    /// Usage of the path, as the delay shows it.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes two consecutive groups, the later of which is complete at `arrival`.
    pub fn update(&mut self, deltas: &Deltas, arrival: SimTime) {
        self.deltas += 1;
        let first = *self.first_arrival.get_or_insert(arrival);
        self.sum += deltas.arrival_ms - deltas.send_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.sum;
        self.points.push_back((arrival.saturating_since(first).as_millis_f64(), self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let trend = if self.points.len() == WINDOW { slope(&self.points).unwrap_or(self.trend) } else { self.trend };
        self.detect(trend, deltas.send_ms, arrival);
    }

    fn detect(&mut self, trend: f64, send_ms: f64, now: SimTime) {
        if self.deltas < 2 {
            return;
        }
        let modified = f64::from(self.deltas.min(MOST_DELTAS)) * trend * GAIN;
        if modified > self.threshold {
            // Half of the time since the last group has been overuse, before it was seen.
            let over = self.over.map_or(send_ms / 2.0, |over| over + send_ms);
            (self.over, self.times) = (Some(over), self.times + 1);
            if over > OVERUSE_MS && self.times > 1 && trend >= self.trend {
                (self.over, self.times) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over, self.times) = (None, 0);
            self.usage = if modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.trend = trend;
        self.adapt(modified.abs(), now);
    }

    fn adapt(&mut self, size: f64, now: SimTime) {
        let since = self.last_update.replace(now).map_or(0.0, |last| now.saturating_since(last).as_millis_f64());
        if size > self.threshold + SPIKE {
            return;
        }
        let gain = if size < self.threshold { self.gains.fall } else { self.gains.rise };
        self.threshold += gain * (size - self.threshold) * since.min(LONGEST_STEP_MS);
        self.threshold = self.threshold.clamp(THRESHOLDS[0], THRESHOLDS[1]);
    }
}

/// The slope of the least-squares line; `None` if all points have the same time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points {
        above += (x - mean_x) * (y - mean_y);
        below += (x - mean_x) * (x - mean_x);
    }
    (below != 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAINS: Gains = Gains { rise: 0.0087, fall: 0.039 };

    fn feed(trend: &mut Trendline, groups: u32, gradient: f64) -> u32 {
        let mut first = 0;
        for group in 1..=groups {
            let last = trend.first_arrival.unwrap_or(SimTime::ZERO).0 + u64::from(trend.deltas) * 30_000_000;
            trend.update(&Deltas { send_ms: 30.0, arrival_ms: 30.0 + gradient }, SimTime(last));
            if first == 0 && trend.usage() == Usage::Over {
                first = group;
            }
        }
        first
    }

    #[test]
    fn the_slope_of_a_line_is_its_own() {
        // y = 3 + x / 4; worked by hand: the mean of x is 2, of y 3.5; (4 + 1 + 0 + 1 + 4) / 4 over 10.
        let points = (0..5).map(|x| (f64::from(x), 3.0 + f64::from(x) / 4.0)).collect();
        assert!((slope(&points).expect("two times") - 0.25).abs() < 1e-12);
        assert_eq!(slope(&VecDeque::from([(1.0, 2.0), (1.0, 3.0)])), None);
    }

    #[test]
    fn a_steady_delay_lets_the_threshold_fall_to_its_least() {
        let mut trend = Trendline::new(GAINS);
        assert_eq!(feed(&mut trend, 30, 0.0), 0);
        assert_eq!((trend.usage(), trend.threshold), (Usage::Normal, 6.0));
    }

    #[test]
    fn the_threshold_falls_by_its_gain() {
        // From 12.5 with nothing above it, after 10 ms: 12.5 + 0.039 * (0 - 12.5) * 10 = 7.625.
        let mut trend = Trendline::new(GAINS);
        trend.adapt(0.0, SimTime::ZERO);
        trend.adapt(0.0, SimTime(10_000_000));
        assert!((trend.threshold - 7.625).abs() < 1e-12);
        // And rises: 7.625 + 0.0087 * (17.625 - 7.625) * 10 = 8.495; what is 15 above it does not count.
        trend.adapt(17.625, SimTime(20_000_000));
        assert!((trend.threshold - 8.495).abs() < 1e-12);
        trend.adapt(23.5, SimTime(30_000_000));
        assert!((trend.threshold - 8.495).abs() < 1e-12);
    }

    #[test]
    fn a_growing_delay_is_overuse_once_the_window_is_full_and_a_shrinking_one_underuse() {
        // A gradient of 3 ms each 30 ms: the smoothed sum is 3 n - 27 + 27 * 0.9^n, and the line through the last twenty has, times four
        // and the groups so far, 5.20, 5.76, 6.31 and 6.85 with 20 to 23 groups; the threshold is 6, and then 6 + 0.0087 * 0.31 * 30 =
        // 6.08. Seen twice, and for 15 + 30 ms, with the 23rd.
        let mut trend = Trendline::new(GAINS);
        assert_eq!(feed(&mut trend, 25, 3.0), 23);
        feed(&mut trend, 40, -3.0);
        assert_eq!(trend.usage(), Usage::Under);
    }
}
