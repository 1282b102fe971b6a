//! Scalable TCP: the window grows by a fraction of itself in a round trip and falls by a fraction.
//!
//! Source: T. Kelly, Scalable TCP: Improving Performance in Highspeed Wide Area Networks, CCR 33(2), 2003: a = 0.01,
//! b = 0.125, Reno's rules below a legacy window of 16 segments. Its response function there is `W = (a / b) / p`.
//! Departures: none; `variant = "linux"` is its module ([`mod@crate::linux_module`]).
//!
//! Checked: both constants against Linux's module; the runs held to it are in docs/reference/laws.md.

use super::{Classic, ClassicVariant, Grown, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::CongestionEvent;
use crate::linux_module::{self, LinuxModule};
use ackclock_declare::{declare, default};

declare! {
    /// The parameters of [`Scalable`].
    #[derive(Copy)]
    pub struct ScalableConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Segments added for each acknowledged one, a.
        increase as "a": f64 = default(0.01).at_least(1e-6).at_most(0.999_999).unit("segments"),
        /// Fraction taken away on congestion, b.
        decrease as "b": f64 = default(0.125).at_least(1e-6).at_most(0.999_999),
        /// Window up to which Reno's rules hold, by the paper.
        legacy_window: f64 = default(16.0).at_least(0.0).at_most(1e9).unit("segments"),
    }
}

impl Algorithm for ScalableConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "grows by a fraction of itself in a round trip, falls by a fraction (STCP)",
        source: "Kelly, CCR 33(2), 2003",
        departures: "slow start is RFC 5681's, acknowledged segments are counted by octets",
        stack: Stack { profile: "scalable", ..Stack::ANY },
        ..Name::called("scalable")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Scalable::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Scalable::new(self), start),
        }
    }
}

/// Scalable TCP: the window grows and falls by fractions of itself. Source: [`mod@crate::classic::scalable`].
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
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::ScalableConfig;

    #[test]
    fn it_gains_a_hundredth_and_loses_an_eighth() {
        let mut scalable = avoiding(&ScalableConfig::default(), 400.0);
        assert!((gain_of_round(&mut scalable, 1, 0, 100) - 4.0).abs() < 1e-9); // 400 * 0.01
        assert!((kept_of_loss(&mut scalable) - 0.875).abs() < 1e-3);
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut scalable = avoiding(&ScalableConfig::default(), 10.0);
        let gained = gain_of_round(&mut scalable, 1, 0, 100);
        assert!((0.95..1.0).contains(&gained), "{gained}"); // ten ACKs of 1/w, w from 10 to 11
        assert!((kept_of_loss(&mut scalable) - 0.5).abs() < 1e-3);
    }
}
