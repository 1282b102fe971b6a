//! Reno's relatives: parameters within their ranges.

use std::ops::RangeInclusive;

use ackclock_cc::{
    AimdConfig, BicConfig, HighSpeedConfig, HtcpConfig, HyblaConfig, IllinoisConfig, ScalableConfig, VenoConfig,
    WestwoodConfig, YeahConfig,
};
use ackclock_units::SimDuration;

use super::Checker;
use crate::file::{
    AimdParameters, BicParameters, HighSpeedParameters, HtcpParameters, HyblaParameters, IllinoisParameters,
    ScalableParameters, VenoParameters, WestwoodParameters, YeahParameters,
};
use crate::tree::FieldPath;

/// A fraction that is neither nothing nor all.
const FRACTION: RangeInclusive<f64> = 1e-6..=0.999_999;
/// Segments that a round trip may add, and windows.
const SEGMENTS: RangeInclusive<f64> = 1e-6..=1e9;

/// Nothing in it can be wrong.
pub(crate) fn htcp(table: &HtcpParameters) -> HtcpConfig {
    let default = HtcpConfig::default();
    HtcpConfig {
        adaptive_backoff: table.adaptive_backoff.unwrap_or(default.adaptive_backoff),
        rtt_scaling: table.rtt_scaling.unwrap_or(default.rtt_scaling),
    }
}

impl Checker<'_, '_> {
    pub(crate) fn veno(&mut self, table: &VenoParameters, path: &FieldPath) -> VenoConfig {
        VenoConfig { beta: self.in_range(table.beta, VenoConfig::default().beta, SEGMENTS, &path.key("beta")) }
    }

    pub(crate) fn westwood(&mut self, table: &WestwoodParameters, path: &FieldPath) -> WestwoodConfig {
        let default = WestwoodConfig::default().filter;
        WestwoodConfig { filter: self.in_range(table.filter, default, 0.0..=0.999_999, &path.key("filter")) }
    }

    fn in_range(&mut self, given: Option<f64>, default: f64, range: RangeInclusive<f64>, path: &FieldPath) -> f64 {
        let value = given.unwrap_or(default);
        if range.contains(&value) {
            return value;
        }
        let remedy = format!("use {} to {}; the default is {default}", range.start(), range.end());
        self.report(path, format!("is out of range: {value}"), remedy);
        default
    }

    pub(crate) fn aimd(&mut self, table: &AimdParameters, path: &FieldPath) -> AimdConfig {
        let default = AimdConfig::default();
        AimdConfig {
            increase: self.in_range(table.a, default.increase, SEGMENTS, &path.key("a")),
            decrease: self.in_range(table.b, default.decrease, FRACTION, &path.key("b")),
        }
    }

    pub(crate) fn bic(&mut self, table: &BicParameters, path: &FieldPath) -> BicConfig {
        let default = BicConfig::default();
        let min_increment =
            self.in_range(table.min_increment, default.min_increment, SEGMENTS, &path.key("min_increment"));
        let most = min_increment..=*SEGMENTS.end();
        BicConfig {
            min_increment,
            max_increment: self.in_range(table.max_increment, default.max_increment, most, &path.key("max_increment")),
            beta: self.in_range(table.beta, default.beta, FRACTION, &path.key("beta")),
            low_window: self.in_range(table.low_window, default.low_window, 0.0..=1e9, &path.key("low_window")),
            fast_convergence: table.fast_convergence.unwrap_or(default.fast_convergence),
        }
    }

    pub(crate) fn high_speed(&mut self, table: &HighSpeedParameters, path: &FieldPath) -> HighSpeedConfig {
        let default = HighSpeedConfig::default();
        let low_window = self.in_range(table.low_window, default.low_window, 1.0..=1e9, &path.key("low_window"));
        let above = low_window + 1.0..=1e9;
        HighSpeedConfig {
            response: table.response.map_or(default.response, Into::into),
            low_window,
            high_window: self.in_range(table.high_window, default.high_window, above, &path.key("high_window")),
            high_p: self.in_range(table.high_p, default.high_p, 1e-12..=9e-4, &path.key("high_p")),
            high_decrease: self.in_range(
                table.high_decrease,
                default.high_decrease,
                1e-3..=0.5,
                &path.key("high_decrease"),
            ),
        }
    }

    pub(crate) fn hybla(&mut self, table: &HyblaParameters, path: &FieldPath) -> HyblaConfig {
        let rtt0 = table.rtt0.map_or(HyblaConfig::default().rtt0, |rtt0| rtt0.0);
        if rtt0 < SimDuration::from_millis(1) {
            self.report(&path.key("rtt0"), "is no round trip to equal", "use at least 1 ms; the paper's is 25 ms");
            return HyblaConfig::default();
        }
        HyblaConfig { rtt0 }
    }

    pub(crate) fn illinois(&mut self, table: &IllinoisParameters, path: &FieldPath) -> IllinoisConfig {
        let default = IllinoisConfig::default();
        let alpha_min = self.in_range(table.alpha_min, default.alpha_min, SEGMENTS, &path.key("alpha_min"));
        let beta_min = self.in_range(table.beta_min, default.beta_min, FRACTION, &path.key("beta_min"));
        let above_alpha = alpha_min * 1.001..=*SEGMENTS.end();
        let above_beta = beta_min..=*FRACTION.end();
        IllinoisConfig {
            alpha_min,
            beta_min,
            alpha_max: self.in_range(table.alpha_max, default.alpha_max, above_alpha, &path.key("alpha_max")),
            beta_max: self.in_range(table.beta_max, default.beta_max, above_beta, &path.key("beta_max")),
            window_threshold: self.in_range(
                table.window_threshold,
                default.window_threshold,
                0.0..=1e9,
                &path.key("window_threshold"),
            ),
        }
    }

    pub(crate) fn scalable(&mut self, table: &ScalableParameters, path: &FieldPath) -> ScalableConfig {
        let default = ScalableConfig::default();
        ScalableConfig {
            increase: self.in_range(table.a, default.increase, FRACTION, &path.key("a")),
            decrease: self.in_range(table.b, default.decrease, FRACTION, &path.key("b")),
            legacy_window: self.in_range(
                table.legacy_window,
                default.legacy_window,
                0.0..=1e9,
                &path.key("legacy_window"),
            ),
        }
    }

    pub(crate) fn yeah(&mut self, table: &YeahParameters, path: &FieldPath) -> YeahConfig {
        let default = YeahConfig::default();
        YeahConfig {
            max_queue: self.in_range(table.max_queue, default.max_queue, SEGMENTS, &path.key("max_queue")),
            phi: self.in_range(table.phi, default.phi, 1.0..=1e6, &path.key("phi")),
            increase: self.in_range(table.increase, default.increase, FRACTION, &path.key("increase")),
        }
    }
}
