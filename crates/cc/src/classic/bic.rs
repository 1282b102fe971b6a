//! BIC: binary search between the window after the last loss and the one before it, then a careful search beyond.
//!
//! Source: Xu, Harfoush, Rhee, Binary Increase Congestion Control for Fast, Long Distance Networks, INFOCOM 2004, section
//! III: `S_max` = 32, `S_min` = 0.01, beta = 0.125, a low window of 14 segments, fast convergence.
//!
//! A step below the maximum is, as in its pseudo-code, half of the way from the window as it is at each ACK, beyond it 1, 2,
//! 4... segments a round trip up to `S_max`. Departures: as in Linux, fast convergence compares with the old maximum also
//! where the window has passed it.
//!
//! Linux's (`variant`) goes a quarter of the way instead of a half, by at most 16 segments, and takes away a fifth on
//! congestion. It is slower around the maximum, and multiplies its steps by the segments that an ACK acknowledges.
//! Departures from Linux: the window moves by parts of segments, and at every ACK.
//!
//! Checked: constants and steps against the paper's pseudo-code as transcribed by others; the runs held to it are in
//! docs/reference/controllers-checked.md.

use super::{Classic, Grown, Rule};
use crate::algorithm::{Algorithm, Name, Stack};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use ackclock_declare::{declare, default, words};

words! {
    /// The source of BIC's rules.
    #[derive(Default)]
    pub enum BicVariant {
        /// The rules of the paper.
        #[default]
        "paper" = Paper,
        /// The rules of Linux's module.
        "linux" = Linux,
    }
}

declare! {
    /// The parameters of [`Bic`].
    #[derive(Copy)]
    pub struct BicConfig {
        /// Source of the steps and constants: the paper, or Linux's module.
        variant: BicVariant = BicVariant::Paper,
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
    }
    bases by variant: BicVariant = BicConfig::of;
    check |config, review| {
        review.at_most(("min_increment", &config.min_increment), ("max_increment", &config.max_increment));
    };
}

impl BicConfig {
    /// The parameters of a variant.
    fn of(variant: BicVariant) -> Self {
        match variant {
            BicVariant::Paper => Self::as_declared(),
            BicVariant::Linux => Self::linux(),
        }
    }

    /// Linux's constants: 819/1024 of the window remains after congestion, and `max_increment` is 16.
    pub fn linux() -> Self {
        Self { variant: BicVariant::Linux, max_increment: 16.0, beta: 205.0 / 1024.0, ..Self::as_declared() }
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
        Classic::start(Bic::new(*self), start)
    }
}

/// BIC: a binary search between the window after the last loss and the one before it. Source and departures:
/// [`mod@crate::classic::bic`].
#[derive(Clone, Debug)]
pub struct Bic {
    config: BicConfig,
    /// The target window of the search; `None` before the first loss.
    max_window: Option<f64>,
    /// The smoothed number of segments that an ACK acknowledges, for Linux's variant.
    acked_at_once: f64,
}

impl Bic {
    pub(super) fn new(config: BicConfig) -> Self {
        Self { config, max_window: None, acked_at_once: LINUX_ACKED_AT_ONCE }
    }

    /// True where Reno's rules hold: below the low window, in Linux's variant also at it.
    fn is_low(&self, cwnd: f64) -> bool {
        let low = self.config.low_window;
        if self.config.variant == BicVariant::Linux { cwnd.floor() <= low } else { cwnd < low }
    }

    /// The increase of the round trip, segments.
    fn step(&self, cwnd: f64) -> f64 {
        let config = &self.config;
        if config.variant == BicVariant::Linux {
            return self.acked_at_once * linux_step(cwnd, self.max_window, config.max_increment);
        }
        let Some(max_window) = self.max_window else {
            return config.max_increment; // no maximum is known: the paper's default is a very large one
        };
        if cwnd < max_window {
            return ((max_window - cwnd) / 2.0).clamp(config.min_increment, config.max_increment);
        }
        probing_step(cwnd - max_window).clamp(config.min_increment, config.max_increment)
    }
}

/// Linux's constants. The search goes a quarter of the way (`BICTCP_B`), and near the maximum a segment takes five
/// round trips (`smooth_part`). Before the first loss a segment is added for every twenty at the slowest. An ACK brings
/// two segments at first; the weight of a new count is 1/16.
const LINUX_QUARTER: f64 = 4.0;
const LINUX_SMOOTH_PART: f64 = 20.0;
const LINUX_SLOWEST_AT_FIRST: f64 = 20.0;
const LINUX_ACKED_AT_ONCE: f64 = 2.0;
const LINUX_ACK_RATIO: f64 = 1.0 / 16.0;

/// Linux's increase in a round trip, segments, if each ACK brought one segment.
fn linux_step(cwnd: f64, max_window: Option<f64>, most: f64) -> f64 {
    let smooth = LINUX_QUARTER / LINUX_SMOOTH_PART;
    let max = max_window.unwrap_or(0.0);
    let step = if cwnd < max {
        // In whole segments: less than eight from the maximum a quarter of the way is one.
        let distance = ((max - cwnd.floor()) / LINUX_QUARTER).floor();
        if distance <= 1.0 { smooth } else { distance.min(most) }
    } else if cwnd < max + LINUX_QUARTER {
        smooth
    } else if cwnd < max + most * (LINUX_QUARTER - 1.0) {
        (cwnd - max) / (LINUX_QUARTER - 1.0)
    } else {
        most
    };
    if max_window.is_none() { step.max(cwnd / LINUX_SLOWEST_AT_FIRST) } else { step }
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
    fn on_ack(&mut self, ack: &AckEvent, _cwnd: f64, mss: u64) {
        if ack.growth.is_due {
            let acked = ack.newly_acked.0 as f64 / mss as f64;
            self.acked_at_once += (acked - self.acked_at_once) * LINUX_ACK_RATIO;
        }
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        let step = if self.is_low(grown.cwnd) { 1.0 } else { self.step(grown.cwnd) };
        step * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, _event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        let kept = flight * (1.0 - self.config.beta);
        let falls_again = self.config.fast_convergence && self.max_window.is_some_and(|max| cwnd < max);
        let is_low = self.is_low(cwnd);
        // Linux aims lower before it asks how large the window is.
        let aims_lower = falls_again && (!is_low || self.config.variant == BicVariant::Linux);
        self.max_window = Some(if aims_lower { f64::midpoint(cwnd, kept) } else { cwnd });
        if is_low { flight / 2.0 } else { kept }
    }

    /// Forgets the target, as Linux does.
    fn on_timeout(&mut self) {
        if self.config.variant == BicVariant::Linux {
            *self = Self::new(self.config);
        }
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("max_window_segments", self.max_window.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, avoiding, gain_of_round, kept_of_loss};
    use super::*;
    use crate::controller::CongestionController;
    use crate::event::{RestartCause, RestartEvent};
    use ackclock_units::{Bytes, SimTime};

    #[test]
    fn a_step_is_half_of_the_way_within_its_bounds() {
        let bic = Bic { config: BicConfig::default(), max_window: Some(1_000.0), acked_at_once: 1.0 };
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
    fn linux_goes_a_quarter_of_the_way_and_takes_a_fifth() {
        let bic = Bic { config: BicConfig::linux(), max_window: Some(1_000.0), acked_at_once: 1.0 };
        // 25 is more than 16; 40 / 4; less than eight segments below the maximum, where a quarter is no more than one segment in whole
        // ones, and up to four above it 4/20; beyond, a third of what was gained; 16
        let below = [(900.0, 16.0), (960.0, 10.0), (992.9, 2.0), (993.0, 0.2), (997.0, 0.2)];
        let above = [(1_003.0, 0.2), (1_030.0, 10.0), (1_048.0, 16.0)];
        for (window, step) in below.into_iter().chain(above) {
            assert!((bic.step(window) - step).abs() < 1e-12, "{window}");
        }
        let twice = Bic { acked_at_once: 2.0, ..bic };
        assert!((twice.step(960.0) - 20.0).abs() < 1e-12); // an ACK for two segments counts for both, and doubles the step
        let first = Bic { max_window: None, acked_at_once: 1.0, config: BicConfig::linux() };
        assert!((first.step(400.0) - 20.0).abs() < 1e-12); // a segment for twenty
        let mut linux = avoiding(&BicConfig::linux(), 1_000.0);
        assert!((kept_of_loss(&mut linux) - 0.8).abs() < 1e-3); // 819/1024
    }

    #[test]
    fn a_loss_takes_an_eighth_and_the_search_goes_back_up() {
        let mut bic = avoiding(&BicConfig::default(), 1_000.0);
        assert!((kept_of_loss(&mut bic) - 0.875).abs() < 1e-3);
        let gained = gain_of_round(&mut bic, 1, 0, 100);
        assert!((gained - 31.4).abs() < 0.7, "{gained}"); // S_max, less as the window grows under the ACKs
    }

    #[test]
    fn a_timeout_makes_linux_search_anew() {
        let after_timeout = |config: BicConfig| {
            let mut bic = avoiding(&config, 1_000.0);
            kept_of_loss(&mut bic);
            let window = Bytes(MSS);
            bic.on_restart(&RestartEvent { now: SimTime::ZERO, cause: RestartCause::Timeout, window, ssthresh: None });
            let mut max_window = 0.0;
            bic.inspect(&mut |_, value| max_window = value);
            max_window
        };
        assert!(after_timeout(BicConfig::linux()).is_nan());
        assert!((after_timeout(BicConfig::default()) - 1_000.0).abs() < 1e-9);
    }

    /// `bictcp_recalc_ssthresh` judges fast convergence before the low window, which a window of 14 segments also is.
    #[test]
    fn linux_aims_lower_also_where_renos_rules_hold() {
        let mut bic = Bic { config: BicConfig::linux(), max_window: Some(20.0), acked_at_once: 1.0 };
        assert!((bic.decrease(&crate::testing::loss(14_000), 14.0, 14.0) - 7.0).abs() < 1e-9);
        assert!((bic.max_window.unwrap() - 14.0 * (1_024.0 + 819.0) / 2_048.0).abs() < 1e-9);
    }

    #[test]
    fn a_second_loss_below_the_maximum_aims_lower() {
        let mut bic = Bic { config: BicConfig::default(), max_window: Some(1_000.0), acked_at_once: 1.0 };
        let event = crate::testing::loss(800_000);
        assert!((bic.decrease(&event, 800.0, 800.0) - 700.0).abs() < 1e-9);
        assert_eq!(bic.max_window, Some(750.0)); // (800 + 700) / 2
    }
}
