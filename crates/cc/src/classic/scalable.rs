//! Scalable TCP: the window grows by a fraction of itself in a round trip and falls by a fraction.
//!
//! Source: T. Kelly, Scalable TCP: Improving Performance in Highspeed Wide Area Networks, CCR 33(2), 2003: a = 0.01,
//! b = 0.125, Reno's rules below a legacy window of 16 segments. Its response function there is `W = (a / b) / p`.
//! Departures: none.
//!
//! Checked: both constants against Linux's module; the runs held to it are in docs/reference/controllers-checked.md.

use super::{Grown, Rule};
use crate::event::CongestionEvent;

/// Parameters of [`Scalable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalableConfig {
    /// a: segments added for each acknowledged one.
    pub increase: f64,
    /// b: fraction taken away on congestion.
    pub decrease: f64,
    /// Segments up to which Reno's rules hold.
    pub legacy_window: f64,
}

impl Default for ScalableConfig {
    fn default() -> Self {
        Self { increase: 0.01, decrease: 0.125, legacy_window: 16.0 }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Scalable(ScalableConfig);

impl Scalable {
    pub(super) fn new(config: ScalableConfig) -> Self {
        Self(config)
    }
}

impl Rule for Scalable {
    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        if grown.cwnd <= self.0.legacy_window { grown.acked / grown.cwnd } else { self.0.increase * grown.acked }
    }

    fn decrease(&mut self, _event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        let taken = if cwnd <= self.0.legacy_window { 0.5 } else { self.0.decrease };
        flight * (1.0 - taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ClassicConfig;
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::ScalableConfig;

    #[test]
    fn it_gains_a_hundredth_and_loses_an_eighth() {
        let mut scalable = avoiding(&ClassicConfig::Scalable(ScalableConfig::default()), 400.0);
        assert!((gain_of_round(&mut scalable, 1, 0, 100) - 4.0).abs() < 1e-9); // 400 * 0.01
        assert!((kept_of_loss(&mut scalable) - 0.875).abs() < 1e-3);
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut scalable = avoiding(&ClassicConfig::Scalable(ScalableConfig::default()), 10.0);
        let gained = gain_of_round(&mut scalable, 1, 0, 100);
        assert!((0.95..1.0).contains(&gained), "{gained}"); // ten ACKs of 1/w, w from 10 to 11
        assert!((kept_of_loss(&mut scalable) - 0.5).abs() < 1e-3);
    }
}
