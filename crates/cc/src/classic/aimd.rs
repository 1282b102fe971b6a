//! Additive increase by a segments a round trip, multiplicative decrease by a fraction b: Reno is AIMD(1, 1/2).
//!
//! Source: Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989; its response function is that of
//! Floyd, Handley and Padhye, A Comparison of Equation-Based and AIMD Congestion Control, 2000:
//! `W = sqrt(a (2 - b) / (2 b)) / sqrt(p)`. Departures: none.
//!
//! The runs held to it are in docs/reference/laws.md.

use super::{Classic, Grown, Rule};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::CongestionEvent;
use ackclock_declare::{declare, default};

declare! {
    /// The parameters of [`Aimd`].
    #[derive(Copy)]
    pub struct AimdConfig {
        /// Segments added in a round trip, a.
        increase as "a": f64 = default(1.0).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Fraction taken away on congestion, b.
        decrease as "b": f64 = default(0.5).at_least(1e-6).at_most(0.999_999),
    }
}

impl Algorithm for AimdConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "additive increase, multiplicative decrease by given numbers; Reno is a = 1, b = 0.5",
        source: "Chiu, Jain 1989; Floyd, Handley, Padhye 2000 for its response",
        departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("aimd")
    }];

    fn start(&self, start: Start) -> Controller {
        Classic::start(Aimd::new(*self), start)
    }
}

/// AIMD(a, b): adds a segments in a round trip, and takes away a fraction b on congestion. Source:
/// [`mod@crate::classic::aimd`].
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
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::AimdConfig;

    #[test]
    fn a_is_added_and_b_is_taken() {
        let mut aimd = avoiding(&AimdConfig { increase: 0.2, decrease: 0.125 }, 1_000.0);
        // 0.2 segments in a round trip of 1000 ACKs of growing windows: 0.2 less a few hundred-thousandths
        assert!((gain_of_round(&mut aimd, 1, 0, 100) - 0.2).abs() < 1e-3);
        assert!((kept_of_loss(&mut aimd) - 0.875).abs() < 1e-3);
    }
}
