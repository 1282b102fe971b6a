//! Hybla: a connection with a long round trip grows as fast, in time, as one of 25 ms would.
//!
//! Source: Caini and Firrincieli, TCP Hybla: a TCP Enhancement for Heterogeneous Networks, Int. J. Satellite Communications
//! and Networking 22, 2004: with `rho = RTT / RTT_0`, slow start adds `2^rho - 1` for a segment and congestion avoidance
//! `rho^2 / W`.
//!
//! Departures: the round trip is the least measured, so that queues do not make it bolder; rho is at most 40 (1 s), in slow start 16; the paper's
//! pacing and packet-spacing are the stack's (`tcp.pacing`), its larger initial window is `tcp.initial_window`. `variant = "linux"` is
//! the module itself, which begins with a window of rho ([`mod@crate::linux_module`]).
//!
//! Checked: both rules and their bounds against Linux's module; the runs held to it are in
//! docs/reference/laws.md.

use ackclock_declare::{declare, default};
use ackclock_units::SimDuration;
use ackclock_units::math::pow;

use super::{Classic, ClassicVariant, Grown, Rule};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};

declare! {
    /// The parameters of [`Hybla`].
    #[derive(Copy)]
    pub struct HyblaConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Reference round trip, whose growth every connection equals.
        rtt0: SimDuration = default(SimDuration::from_millis(25)).at_least(SimDuration::from_millis(1)),
    }
}

impl Algorithm for HyblaConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "grows as fast in time as a connection of a short round trip",
        source: "Caini, Firrincieli, Int. J. Satellite Communications 22, 2004",
        departures: "the round trip is the minimum RTT; rho is at most 40, in slow start 16; pacing and initial window are the stack's; acknowledged segments are counted by octets",
        ..Name::called("hybla")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Hybla::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Hybla::new(*self), start),
        }
    }
}

const MOST_RHO: f64 = 40.0;

/// The largest rho in slow start, with which an ACK adds 2^16 segments.
const MOST_SLOW_START_RHO: f64 = 16.0;

/// Hybla: grows as fast as a connection of 25 ms, whatever its round trip. Source and departures:
/// [`mod@crate::classic::hybla`].
#[derive(Clone, Debug)]
pub struct Hybla {
    rtt0: f64,
    rho: f64,
}

impl Hybla {
    pub(super) fn new(config: HyblaConfig) -> Self {
        Self { rtt0: config.rtt0.as_secs_f64(), rho: 1.0 }
    }
}

impl Rule for Hybla {
    fn on_ack(&mut self, ack: &AckEvent, _cwnd: f64, _mss: u64) {
        let least = ack.rtt.min_rtt.as_secs_f64();
        if least > 0.0 {
            self.rho = (least / self.rtt0).clamp(1.0, MOST_RHO);
        }
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        self.rho * self.rho * grown.acked / grown.cwnd
    }

    fn slow_start(&self, grown: &Grown<'_>) -> Option<f64> {
        Some((pow(2.0, self.rho.min(MOST_SLOW_START_RHO)) - 1.0) * grown.acked.min(2.0))
    }

    fn decrease(&mut self, _event: &CongestionEvent, _cwnd: f64, flight: f64) -> f64 {
        flight / 2.0
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{avoiding, gain_of_round};
    use super::*;
    use crate::testing::ack;

    #[test]
    fn a_round_trip_of_100_ms_gains_sixteen_segments() {
        let mut hybla = avoiding(&HyblaConfig::default(), 1_000.0);
        let gained = gain_of_round(&mut hybla, 1, 0, 100); // rho = 4: 16 in a round trip, 4 in each 25 ms
        assert!((gained - 16.0).abs() < 0.2, "{gained}");
    }

    #[test]
    fn slow_start_is_that_of_the_short_round_trip() {
        let mut hybla = Hybla::new(HyblaConfig::default());
        let ack = ack(1_000); // 100 ms
        hybla.on_ack(&ack, 10.0, 1_000);
        let grown = Grown { ack: &ack, cwnd: 10.0, acked: 1.0 };
        assert!((hybla.slow_start(&grown).expect("its own") - 15.0).abs() < 1e-12); // 2^4 - 1
    }
}
