//! When CUBIC would add a segment, on one of two curves: the clock of DQN-based CUBIC.
//!
//! Source: Seo and Cho, J. KICS 2024: `target = C' (T - K)^3 + W_max` with `K = cbrt(W_max (1 - beta) / C')`, C' being
//! C = 0.4 for CUBIC's own pace and 3 C for the faster one; a segment is due for every `cnt = cwnd / (target - cwnd)`
//! segments acknowledged. Departures: `cnt` is at least 2, and `100 cwnd` where the target is not above cwnd, as in Linux.

use ackclock_units::{SimDuration, math};

use crate::view::View;

/// CUBIC's C, in segments/s^3 (RFC 9438 section 5).
const C: f64 = 0.4;
/// The fraction of the window that CUBIC keeps (RFC 9438 section 4.6).
const BETA: f64 = 0.7;
/// The faster curve's C as a multiple.
const FASTER: f64 = 3.0;

/// Segments to be acknowledged until a segment is due.
pub(crate) fn count(view: &View<'_>, is_faster: bool) -> f64 {
    let cwnd = view.segments(view.cwnd);
    // Before the first congestion the window at the end of slow start is all there is to grow from.
    let w_max = if view.memory.w_max.0 == 0 { cwnd } else { view.segments(view.memory.w_max) };
    let since = view.now.saturating_since(view.memory.last_congestion.unwrap_or(view.since));
    let target = target(since, w_max, if is_faster { FASTER * C } else { C });
    if target > cwnd { (cwnd / (target - cwnd)).max(2.0) } else { 100.0 * cwnd }
}

/// The curve, in segments.
fn target(since: SimDuration, w_max: f64, c: f64) -> f64 {
    let offset = since.as_secs_f64() - math::cbrt(w_max * (1.0 - BETA) / c);
    c * offset * offset * offset + w_max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_by_hand() {
        // W_max = 85: K = cbrt(85 * 0.3 / 0.4) = 3.994 8; at 5 s: 85 + 0.4 * 1.005 2^3 = 85.406
        let at = |seconds, c| target(SimDuration::from_secs(seconds), 85.0, c);
        assert!((at(5, C) - 85.406_3).abs() < 5e-3);
        // Three times C: K = 2.769 9; 85 + 1.2 * 2.230 1^3 = 98.309
        assert!((at(5, FASTER * C) - 98.309_4).abs() < 5e-3);
        // Both begin at 0.7 W_max = 59.5
        assert!((at(0, C) - 59.5).abs() < 1e-9 && (at(0, FASTER * C) - 59.5).abs() < 1e-9);
    }
}
