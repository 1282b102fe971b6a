//! The delay profile: the delay of each window, as a smooth curve.
//!
//! A curve of straight pieces between evenly spaced nodes, 15 windows apart as the authors' cubic spline, fitted by least squares
//! with a weight on its second differences. Beyond the last node it goes on straight.

/// The largest distance of two nodes in windows, and the least number of nodes.
const SPACING: usize = 15;
const LEAST_NODES: usize = 5;

/// The weight of second differences, in mean data of a node.
const SMOOTHNESS: f64 = 0.1;

/// The largest window of the profile (`MAX_W_DELAY_CURVE`).
const LARGEST: usize = 40_000;

/// The weight of the old value in the moving average of a window's delay.
const MEMORY: f64 = 0.875;

/// The delays by window, s.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    delays: Vec<Option<f64>>,
    curve: Option<Curve>,
}

/// The curve through nodes at windows `first`, `first + step` and so on, in s.
#[derive(Clone, Debug)]
struct Curve {
    first: f64,
    step: f64,
    nodes: Vec<f64>,
}

impl Profile {
    /// Learns the delay of a packet that left under this window.
    pub(super) fn learn(&mut self, window: usize, delay: f64) {
        if window >= LARGEST {
            return;
        }
        if self.delays.len() <= window {
            self.delays.resize(window + 1, None);
        }
        let known = &mut self.delays[window];
        *known = Some(known.map_or(delay, |known| MEMORY * known + (1.0 - MEMORY) * delay));
    }

    /// Forgets the delays of windows from this one on.
    pub(super) fn forget_from(&mut self, window: usize) {
        self.delays.truncate(window);
    }

    /// The largest known window up to this one.
    pub(super) fn learnt_of(&self, window: usize) -> Option<f64> {
        self.delays.iter().take(window + 1).rev().find_map(|delay| *delay)
    }

    /// Fits the curve; false if there is too little data.
    pub(super) fn fit(&mut self) -> bool {
        let points: Vec<(f64, f64)> = (1..self.delays.len())
            .filter_map(|window| self.delays[window].map(|delay| (window as f64, delay)))
            .collect();
        let largest = points.last().map_or(0.0, |last| last.0) as usize;
        if largest < LEAST_NODES || points.len() < 2 {
            return false;
        }
        self.curve = Some(Curve::through(&points, (largest / SPACING).max(LEAST_NODES)));
        true
    }

    /// The delay of a window; `None` without a curve.
    pub(super) fn delay_of(&self, window: f64) -> Option<f64> {
        Some(self.curve.as_ref()?.at(window))
    }

    /// The window before the first one with a longer delay; `None` if no window has one.
    pub(super) fn window_of(&self, delay: f64) -> Option<f64> {
        let curve = self.curve.as_ref()?;
        let last = (curve.last() as usize).clamp(2, LARGEST);
        if let Some(window) = (2..=last).find(|window| curve.at(*window as f64) > delay) {
            return Some((window - 1) as f64);
        }
        let (slope, at_last) = (curve.last_slope(), curve.at(last as f64));
        let beyond = ((delay - at_last) / slope).floor();
        (slope > 0.0 && beyond < LARGEST as f64).then_some(last as f64 + beyond)
    }
}

impl Curve {
    fn through(points: &[(f64, f64)], nodes: usize) -> Self {
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let step = ((last - first) / (nodes - 1) as f64).max(f64::MIN_POSITIVE);
        let mut fit = BandedFit::new(nodes);
        for (window, delay) in points {
            let place = (window - first) / step;
            let left = (place as usize).min(nodes - 2);
            fit.add(left, &[1.0 - (place - left as f64), place - left as f64], *delay, 1.0);
        }
        let weight = SMOOTHNESS * points.len() as f64 / nodes as f64;
        (0..nodes - 2).for_each(|left| fit.add(left, &[1.0, -2.0, 1.0], 0.0, weight));
        Self { first, step, nodes: fit.solve() }
    }

    fn last(&self) -> f64 {
        self.first + self.step * (self.nodes.len() - 1) as f64
    }

    fn last_slope(&self) -> f64 {
        let count = self.nodes.len();
        (self.nodes[count - 1] - self.nodes[count - 2]) / self.step
    }

    fn at(&self, window: f64) -> f64 {
        let place = (window - self.first) / self.step;
        let left = (place.max(0.0) as usize).min(self.nodes.len() - 2);
        let (low, high) = (self.nodes[left], self.nodes[left + 1]);
        low + (high - low) * (place - left as f64)
    }
}

/// A least-squares fit with equations over neighbouring unknowns, three at most.
#[derive(Debug)]
struct BandedFit {
    /// The normal equations: the diagonal, its two neighbours, and the right side.
    rows: Vec<[f64; 3]>,
    right: Vec<f64>,
}

impl BandedFit {
    fn new(unknowns: usize) -> Self {
        Self { rows: vec![[0.0; 3]; unknowns], right: vec![0.0; unknowns] }
    }

    /// Adds the equation that the unknowns from `left` on, times these factors, equal `value`.
    fn add(&mut self, left: usize, factors: &[f64], value: f64, weight: f64) {
        for (place, factor) in factors.iter().enumerate() {
            self.right[left + place] += weight * factor * value;
            for (offset, other) in factors[place..].iter().enumerate() {
                self.rows[left + place][offset] += weight * factor * other;
            }
        }
    }

    /// Solves by Gaussian elimination without pivots: the matrix is symmetric and positive.
    fn solve(mut self) -> Vec<f64> {
        let count = self.rows.len();
        for pivot in 0..count {
            let row = self.rows[pivot];
            for offset in 1..=2.min(count - 1 - pivot) {
                let factor = row[offset] / row[0];
                for (entry, above) in self.rows[pivot + offset].iter_mut().zip(&row[offset..]) {
                    *entry -= factor * above;
                }
                self.right[pivot + offset] -= factor * self.right[pivot];
            }
        }
        for place in (0..count).rev() {
            let row = self.rows[place];
            let behind = (1..=2.min(count - 1 - place)).map(|offset| row[offset] * self.right[place + offset]);
            let sum: f64 = behind.sum();
            self.right[place] = (self.right[place] - sum) / row[0];
        }
        self.right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of 50 ms and 2 ms more for every window above 25.
    fn profile(windows: impl Iterator<Item = usize>) -> Profile {
        let mut profile = Profile::default();
        windows.for_each(|window| profile.learn(window, 0.05 + 0.002 * window.saturating_sub(25) as f64));
        assert!(profile.fit());
        profile
    }

    #[test]
    fn a_straight_line_is_met_exactly_and_goes_on() {
        let mut profile = Profile::default();
        (1..=60).step_by(3).for_each(|window| profile.learn(window, 0.01 + 0.001 * window as f64));
        assert!(profile.fit());
        for window in [1.0, 17.0, 58.0, 100.0] {
            let delay = profile.delay_of(window).expect("a curve");
            assert!((delay - 0.01 - 0.001 * window).abs() < 1e-9, "{window}: {delay}");
        }
        // 0.0505 s is met at 40.5: 41 is the first above. 0.1105 s lies beyond the points, at 100.5.
        assert_eq!((profile.window_of(0.0505), profile.window_of(0.1105)), (Some(40.0), Some(100.0)));
    }

    #[test]
    fn a_bend_is_followed_from_node_to_node() {
        let profile = profile(1..=300);
        for (window, delay) in [(5.0, 0.05), (100.0, 0.2), (250.0, 0.5)] {
            let of = profile.delay_of(window).expect("a curve");
            assert!((of - delay).abs() < 0.005, "{window}: {of} s");
        }
        let window = profile.window_of(0.2).expect("one");
        assert!((window - 100.0).abs() < 3.0, "{window}");
    }

    #[test]
    fn a_delay_is_remembered_by_seven_eighths_and_too_few_windows_are_no_curve() {
        let mut profile = Profile::default();
        profile.learn(3, 0.08);
        profile.learn(3, 0.16);
        assert!((profile.delays[3].expect("known") - 0.09).abs() < 1e-12);
        assert_eq!((profile.learnt_of(2), profile.learnt_of(4)), (None, profile.delays[3]));
        assert!(!profile.fit() && profile.window_of(0.1).is_none());
    }

    #[test]
    fn a_falling_curve_has_no_window_for_a_long_delay() {
        let mut profile = Profile::default();
        (1..=50).for_each(|window| profile.learn(window, 0.2 - 0.001 * window as f64));
        assert!(profile.fit());
        assert_eq!(profile.window_of(0.3), None);
    }
}
