//! BIC: binary search between the window after the last loss and the one before it, then a careful search beyond.
//!
//! Source: Xu, Harfoush, Rhee, Binary Increase Congestion Control for Fast, Long Distance Networks, INFOCOM 2004, section
//! III: `S_max` = 32, `S_min` = 0.01, beta = 0.125, a low window of 14 segments, fast convergence.
//!
//! A step below the maximum is, as in its pseudo-code, half of the way from the window as it is at each ACK, beyond it 1, 2,
//! 4... segments a round trip up to `S_max`. Departures: as in Linux, fast convergence compares with the old maximum also
//! where the window has passed it.
//!
//! Linux's (`variant`, [`mod@crate::linux_module`]) goes a quarter of the way instead of a half, by at most 16 segments, and takes
//! away a fifth on congestion. It is slower around the maximum, and multiplies its steps by the segments that an ACK acknowledges.
//!
//! Checked: constants and steps against the paper's pseudo-code as transcribed by others; the runs held to it are in
//! docs/reference/laws.md.

use super::{Classic, ClassicVariant, Grown, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::CongestionEvent;
use crate::linux_module::{self, LinuxModule};
use ackclock_declare::{declare, default};
use ackclock_units::SimDuration;

declare! {
    /// The parameters of [`Bic`].
    #[derive(Copy)]
    pub struct BicConfig {
        /// Source of the steps and constants: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Largest increase in a round trip (`S_max`).
        max_increment: f64 = default(32.0).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Smallest increase in a round trip (`S_min`).
        min_increment: f64 = default(0.01).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Fraction taken away on congestion.
        beta: f64 = default(0.125).at_least(1e-6).at_most(0.999_999),
        /// Window below which Reno's rules hold.
        low_window: f64 = default(14.0).at_least(0.0).at_most(1e9).unit("segments"),
        /// Lower the target when the window falls twice in a row.
        fast_convergence: bool = true,
        /// Tick of the clock that Linux's module reads.
        tick: SimDuration = default(SimDuration::from_millis(4))
            .at_least(SimDuration::from_millis(1))
            .at_most(SimDuration::from_millis(10))
            .source("CONFIG_HZ = 250 of the recorded kernel and of Debian's"),
        /// Where its ticks lie, as the time of the first one.
        tick_offset: SimDuration = SimDuration::ZERO,
    }
    bases by variant: ClassicVariant = BicConfig::of;
    check |config, review| {
        review.at_most(("min_increment", &config.min_increment), ("max_increment", &config.max_increment));
    };
}

impl BicConfig {
    /// The parameters of a variant.
    fn of(variant: ClassicVariant) -> Self {
        match variant {
            ClassicVariant::Paper => Self::as_declared(),
            ClassicVariant::Linux => Self::linux(),
        }
    }

    /// Linux's constants: 819/1024 of the window remains after congestion, and `max_increment` is 16.
    pub fn linux() -> Self {
        Self { variant: ClassicVariant::Linux, max_increment: 16.0, beta: 205.0 / 1024.0, ..Self::as_declared() }
    }
}

impl Algorithm for BicConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "binary search between the window after the last loss and the one before it",
        source: "Xu, Harfoush, Rhee, INFOCOM 2004; the behaviour of Linux 6.18",
        stack: Stack { profile: "bic", ..Stack::ANY },
        departures: "fast convergence compares with the old maximum also where the window has passed it; slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("bic")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Bic::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Bic::new(self), start),
        }
    }
}

/// BIC: a binary search between the window after the last loss and the one before it. Source and departures:
/// [`mod@crate::classic::bic`].
#[derive(Clone, Debug)]
pub struct Bic {
    config: BicConfig,
    /// The target window of the search; `None` before the first loss.
    max_window: Option<f64>,
}

impl Bic {
    pub(super) fn new(config: BicConfig) -> Self {
        Self { config, max_window: None }
    }

    /// True where Reno's rules hold.
    fn is_low(&self, cwnd: f64) -> bool {
        cwnd < self.config.low_window
    }

    /// The increase of the round trip, segments.
    fn step(&self, cwnd: f64) -> f64 {
        let config = &self.config;
        let Some(max_window) = self.max_window else {
            return config.max_increment; // no maximum is known: the paper's default is a very large one
        };
        if cwnd < max_window {
            return ((max_window - cwnd) / 2.0).clamp(config.min_increment, config.max_increment);
        }
        probing_step(cwnd - max_window).clamp(config.min_increment, config.max_increment)
    }
}

/// The increase of a round trip of max probing after `gained` segments: one at first, then twice the last.
fn probing_step(gained: f64) -> f64 {
    let mut step = 1.0;
    while gained >= 2.0 * step - 1.0 {
        step *= 2.0; // 1 + 2 + ... + step = 2 step - 1 have been gained
    }
    step
}

impl Rule for Bic {
    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        let step = if self.is_low(grown.cwnd) { 1.0 } else { self.step(grown.cwnd) };
        step * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, _event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        let kept = flight * (1.0 - self.config.beta);
        let falls_again = self.config.fast_convergence && self.max_window.is_some_and(|max| cwnd < max);
        let is_low = self.is_low(cwnd);
        self.max_window = Some(if falls_again && !is_low { f64::midpoint(cwnd, kept) } else { cwnd });
        if is_low { flight / 2.0 } else { kept }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("max_window_segments", self.max_window.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{avoiding, gain_of_round, kept_of_loss};
    use super::*;

    #[test]
    fn a_step_is_half_of_the_way_within_its_bounds() {
        let bic = Bic { config: BicConfig::default(), max_window: Some(1_000.0) };
        assert!((bic.step(875.0) - 32.0).abs() < 1e-12); // half of 125 is beyond S_max
        assert!((bic.step(980.0) - 10.0).abs() < 1e-12); // (1000 - 980) / 2
        assert!((bic.step(999.999) - 0.01).abs() < 1e-12); // S_min
        // probing: 1, then 2 from 1001 on, 4 from 1003, 8 from 1007
        for (window, step) in
            [(1_000.0, 1.0), (1_000.9, 1.0), (1_001.0, 2.0), (1_003.0, 4.0), (1_006.9, 4.0), (1_007.0, 8.0)]
        {
            assert!((bic.step(window) - step).abs() < 1e-12, "{window}");
        }
        assert!((bic.step(1_200.0) - 32.0).abs() < 1e-12);
    }

    #[test]
    fn a_loss_takes_an_eighth_and_the_search_goes_back_up() {
        let mut bic = avoiding(&BicConfig::default(), 1_000.0);
        assert!((kept_of_loss(&mut bic) - 0.875).abs() < 1e-3);
        let gained = gain_of_round(&mut bic, 1, 0, 100);
        assert!((gained - 31.4).abs() < 0.7, "{gained}"); // S_max, less as the window grows under the ACKs
    }

    #[test]
    fn a_second_loss_below_the_maximum_aims_lower() {
        let mut bic = Bic { config: BicConfig::default(), max_window: Some(1_000.0) };
        let event = crate::testing::loss(800_000);
        assert!((bic.decrease(&event, 800.0, 800.0) - 700.0).abs() < 1e-9);
        assert_eq!(bic.max_window, Some(750.0)); // (800 + 700) / 2
    }
}
