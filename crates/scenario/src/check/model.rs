//! Controllers that model their path: their parameters, checked.

use ackclock_cc::{AllegroConfig, Bbr3Config, BbrConfig, DctcpConfig, PragueConfig, SiadConfig, VivaceConfig};
use ackclock_tcp::{EcnMode, TcpConfig};
use ackclock_units::SimDuration;

use super::Checker;
use super::tcp::Layer;
use crate::file::model::{
    AllegroParameters, Bbr3Parameters, BbrParameters, DctcpParameters, PragueParameters, SiadParameters,
    VivaceParameters,
};
use crate::file::{Controller, Duration, TcpTable};
use crate::tree::FieldPath;

/// What a number has to be.
#[derive(Clone, Copy)]
pub(super) enum Range {
    /// More than zero and less than one.
    Fraction,
    /// From the first to the second.
    Within(f64, f64),
}

impl Checker<'_, '_> {
    /// A number that a file may set, within its range.
    pub(super) fn parameter(&mut self, value: Option<f64>, default: f64, range: Range, path: &FieldPath) -> f64 {
        let value = value.unwrap_or(default);
        let (is_within, remedy) = match range {
            Range::Fraction => (value > 0.0 && value < 1.0, "more than 0 and less than 1".to_owned()),
            Range::Within(least, most) => ((least..=most).contains(&value), format!("{least} to {most}")),
        };
        if is_within {
            return value;
        }
        self.report(path, format!("is {value}, out of range"), format!("use {remedy}; the default is {default}"));
        default
    }

    /// A time that a file may set, more than zero.
    pub(super) fn time(&mut self, value: Option<Duration>, default: SimDuration, path: &FieldPath) -> SimDuration {
        let value = value.map_or(default, |value| value.0);
        if value.is_zero() {
            self.report(path, "is no time at all", format!("use more than zero; the default is {default}"));
        }
        value
    }

    pub(crate) fn bbr(&mut self, table: &BbrParameters, path: &FieldPath) -> BbrConfig {
        let default = BbrConfig::default();
        let rounds = table.bandwidth_window.unwrap_or(default.bandwidth_window);
        if rounds == 0 {
            self.report(&path.key("bandwidth_window"), "is no round trip", "use at least 1; the draft says 10");
        }
        BbrConfig {
            high_gain: self.parameter(
                table.high_gain,
                default.high_gain,
                Range::Within(1.01, 100.0),
                &path.key("high_gain"),
            ),
            cwnd_gain: self.parameter(
                table.cwnd_gain,
                default.cwnd_gain,
                Range::Within(1.0, 100.0),
                &path.key("cwnd_gain"),
            ),
            bandwidth_window: rounds.max(1),
            min_rtt_window: self.time(table.min_rtt_window, default.min_rtt_window, &path.key("min_rtt_window")),
            probe_rtt_duration: self.time(
                table.probe_rtt_duration,
                default.probe_rtt_duration,
                &path.key("probe_rtt_duration"),
            ),
            seed: default.seed,
        }
    }

    pub(crate) fn bbr3(&mut self, table: &Bbr3Parameters, path: &FieldPath) -> Bbr3Config {
        let default = Bbr3Config::default();
        let gains = Range::Within(1.01, 100.0);
        let fraction = Range::Fraction;
        Bbr3Config {
            startup_gain: self.parameter(table.startup_gain, default.startup_gain, gains, &path.key("startup_gain")),
            loss_threshold: self.parameter(
                table.loss_threshold,
                default.loss_threshold,
                fraction,
                &path.key("loss_threshold"),
            ),
            beta: self.parameter(table.beta, default.beta, fraction, &path.key("beta")),
            headroom: self.parameter(table.headroom, default.headroom, fraction, &path.key("headroom")),
            probe_rtt_interval: self.time(
                table.probe_rtt_interval,
                default.probe_rtt_interval,
                &path.key("probe_rtt_interval"),
            ),
            probe_rtt_duration: self.time(
                table.probe_rtt_duration,
                default.probe_rtt_duration,
                &path.key("probe_rtt_duration"),
            ),
            seed: default.seed,
        }
    }

    pub(crate) fn dctcp(&mut self, table: &DctcpParameters, path: &FieldPath) -> DctcpConfig {
        let default = DctcpConfig::default();
        let (gain, alpha) = (path.key("gain"), path.key("initial_alpha"));
        DctcpConfig {
            gain: self.parameter(table.gain, default.gain, Range::Fraction, &gain),
            initial_alpha: self.parameter(table.initial_alpha, default.initial_alpha, Range::Within(0.0, 1.0), &alpha),
        }
    }

    pub(crate) fn prague(&mut self, table: &PragueParameters, path: &FieldPath) -> PragueConfig {
        let default = PragueConfig::default();
        let (gain, alpha) = (path.key("gain"), path.key("initial_alpha"));
        PragueConfig {
            gain: self.parameter(table.gain, default.gain, Range::Fraction, &gain),
            initial_alpha: self.parameter(table.initial_alpha, default.initial_alpha, Range::Within(0.0, 1.0), &alpha),
            reference_rtt: self.time(table.reference_rtt, default.reference_rtt, &path.key("reference_rtt")),
            beta: self.parameter(table.beta, default.beta, Range::Fraction, &path.key("beta")),
        }
    }

    pub(crate) fn allegro(&mut self, table: &AllegroParameters, path: &FieldPath) -> AllegroConfig {
        let default = AllegroConfig::default();
        let mut fraction = |value, default, name| self.parameter(value, default, Range::Fraction, &path.key(name));
        let min_epsilon = fraction(table.min_epsilon, default.min_epsilon, "min_epsilon");
        let max_epsilon = fraction(table.max_epsilon, default.max_epsilon, "max_epsilon");
        let loss_threshold = fraction(table.loss_threshold, default.loss_threshold, "loss_threshold");
        if min_epsilon > max_epsilon {
            let field = if table.min_epsilon.is_some() { "min_epsilon" } else { "max_epsilon" };
            let what = format!("makes the least step, {min_epsilon}, larger than the greatest, {max_epsilon}");
            self.report(&path.key(field), what, "let min_epsilon be at most max_epsilon; the paper says 0.01 and 0.05");
        }
        let steep = Range::Within(1.0, 1e6);
        let steepness = self.parameter(table.steepness, default.steepness, steep, &path.key("steepness"));
        AllegroConfig { loss_threshold, steepness, min_epsilon, max_epsilon, seed: default.seed }
    }

    pub(crate) fn vivace(&mut self, table: &VivaceParameters, path: &FieldPath) -> VivaceConfig {
        const PRICE: Range = Range::Within(0.0, 1e6);
        const STEP: Range = Range::Within(1e-6, 1e6);
        let default = VivaceConfig::default();
        let mut number = |value, default, range, name| self.parameter(value, default, range, &path.key(name));
        VivaceConfig {
            exponent: number(table.exponent, default.exponent, Range::Fraction, "exponent"),
            latency_coefficient: number(
                table.latency_coefficient,
                default.latency_coefficient,
                PRICE,
                "latency_coefficient",
            ),
            loss_coefficient: number(table.loss_coefficient, default.loss_coefficient, PRICE, "loss_coefficient"),
            epsilon: number(table.epsilon, default.epsilon, Range::Fraction, "epsilon"),
            conversion: number(table.conversion, default.conversion, STEP, "conversion"),
            bound: number(table.bound, default.bound, Range::Fraction, "bound"),
            bound_step: number(table.bound_step, default.bound_step, STEP, "bound_step"),
            latency_tolerance: number(table.latency_tolerance, default.latency_tolerance, PRICE, "latency_tolerance"),
            seed: default.seed,
        }
    }

    pub(crate) fn siad(&mut self, table: &SiadParameters, path: &FieldPath) -> SiadConfig {
        let default = SiadConfig::default();
        let rounds = table.rounds.unwrap_or(default.rounds);
        if !(2..=100_000).contains(&rounds) {
            let remedy = "use 2 to 100000; the report says 20";
            self.report(&path.key("rounds"), "is no number of round trips between two congestion events", remedy);
        }
        SiadConfig { rounds: rounds.max(2), tick: self.time(table.tick, default.tick, &path.key("tick")) }
    }
}

/// The marks that a controller lives by: what its flow's ends are set to where their own tables say nothing.
pub(crate) fn set_ecn(config: &mut TcpConfig, controller: &Controller, layers: &[Layer]) {
    let is_dctcp = matches!(controller, Controller::Dctcp(_));
    if !is_dctcp && !matches!(controller, Controller::Prague(_)) {
        return;
    }
    let says = |field: fn(&TcpTable) -> bool| layers.iter().any(|layer| field(&layer.table));
    if !says(|table| table.ecn.is_some()) {
        config.ecn.mode = EcnMode::Request;
    }
    if !says(|table| table.accurate_ecn.is_some()) {
        config.ecn.accurate = !is_dctcp;
    }
    if !says(|table| table.ect1.is_some()) {
        config.ecn.ect1 = !is_dctcp;
    }
    if !says(|table| table.dctcp_feedback.is_some()) {
        config.ecn.dctcp_feedback = is_dctcp;
    }
}
