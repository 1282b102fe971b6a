//! The pace at which CUBIC adds segments, on one of two curves: for DQN-based CUBIC and its agents.
//!
//! Source: Seo, Cho, "DQN-based CUBIC", J. KICS, 2024: `target = C' (T - K)^3 + W_max`, C' being C for CUBIC's own pace and
//! 3 C for the faster one. Departures: `cnt`, which is `cwnd / (target - cwnd)`, is at least 2, and `100 cwnd` where the
//! target is not above cwnd, as Linux has it.

use ackclock_units::{SimDuration, math};

/// The factor of C for the faster curve.
const FASTER: f64 = 3.0;

/// The parameters of both curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicPace {
    /// The constant C of CUBIC's curve, in segments/s^3.
    pub c: f64,
    /// The fraction of the window that remains after a loss.
    pub beta: f64,
    /// True if C stands before the cube of CUBIC's own curve; false if it does not, as the paper is printed.
    pub formula_c: bool,
}

impl CubicPace {
    /// The segments to be acknowledged for one of growth; window and `W_max` are in segments, `since` is the time since
    /// the last reduction.
    pub fn count(&self, is_faster: bool, cwnd: f64, w_max: f64, since: SimDuration) -> f64 {
        let target = self.target(is_faster, w_max, since);
        if target > cwnd { (cwnd / (target - cwnd)).max(2.0) } else { 100.0 * cwnd }
    }

    /// The target window in segments, with `K = cbrt(W_max (1 - beta) / C')`.
    fn target(&self, is_faster: bool, w_max: f64, since: SimDuration) -> f64 {
        let c = if is_faster { FASTER * self.c } else { self.c };
        let factor = if is_faster || self.formula_c { c } else { 1.0 };
        let offset = since.as_secs_f64() - math::cbrt(w_max * (1.0 - self.beta) / c);
        factor * offset * offset * offset + w_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_by_hand() {
        let pace = CubicPace { c: 0.4, beta: 0.7, formula_c: true };
        // W_max = 85: K = cbrt(85 * 0.3 / 0.4) = cbrt(63.75) = 3.994 8; at T = 0: 85 - 25.5 = 59.5, and the same for
        // three times C, whose K is cbrt(21.25) = 2.769 9
        for is_faster in [false, true] {
            assert!((pace.target(is_faster, 85.0, SimDuration::ZERO) - 59.5).abs() < 1e-3);
        }
        // 5 s: 85 + 0.4 * 1.005 2^3 = 85.406; 85 + 1.2 * 2.230 1^3 = 98.309; as printed, 85 + 1.005 2^3 = 86.016
        let five = SimDuration::from_secs(5);
        let printed = CubicPace { formula_c: false, ..pace };
        for (pace, is_faster, expected) in [(pace, false, 85.406_3), (pace, true, 98.309_4), (printed, false, 86.015_7)]
        {
            let found = pace.target(is_faster, 85.0, five);
            assert!((found - expected).abs() < 5e-3, "{found}");
        }
    }
}
