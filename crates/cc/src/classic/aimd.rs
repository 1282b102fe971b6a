//! Additive increase by a segments a round trip, multiplicative decrease by a fraction b: Reno is AIMD(1, 1/2).
//!
//! Source: Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989; its response function is that of
//! Floyd, Handley and Padhye, A Comparison of Equation-Based and AIMD Congestion Control, 2000:
//! `W = sqrt(a (2 - b) / (2 b)) / sqrt(p)`. Departures: none.
//!
//! The runs held to it are in docs/reference/controllers-checked.md.

use super::{Grown, Rule};
use crate::event::CongestionEvent;

/// Parameters of [`Aimd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdConfig {
    /// a: segments added in a round trip.
    pub increase: f64,
    /// b: fraction taken away on congestion.
    pub decrease: f64,
}

impl Default for AimdConfig {
    fn default() -> Self {
        Self { increase: 1.0, decrease: 0.5 }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Aimd(AimdConfig);

impl Aimd {
    pub(super) fn new(config: AimdConfig) -> Self {
        Self(config)
    }
}

impl Rule for Aimd {
    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        self.0.increase * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, _event: &CongestionEvent, _cwnd: f64, flight: f64) -> f64 {
        flight * (1.0 - self.0.decrease)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ClassicConfig;
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::AimdConfig;

    #[test]
    fn a_is_added_and_b_is_taken() {
        let mut aimd = avoiding(&ClassicConfig::Aimd(AimdConfig { increase: 0.2, decrease: 0.125 }), 1_000.0);
        // 0.2 segments in a round trip of 1000 ACKs of growing windows: 0.2 less a few hundred-thousandths
        assert!((gain_of_round(&mut aimd, 1, 0, 100) - 0.2).abs() < 1e-3);
        assert!((kept_of_loss(&mut aimd) - 0.875).abs() < 1e-3);
    }
}
