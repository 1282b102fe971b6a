//! Controllers that model their path: their parameters, checked.

use ackclock_cc::{Bbr3Config, BbrConfig};
use ackclock_units::SimDuration;

use super::Checker;
use crate::file::Duration;
use crate::file::model::{Bbr3Parameters, BbrParameters};
use crate::tree::FieldPath;

/// What a number has to be.
#[derive(Clone, Copy)]
enum Range {
    /// More than zero and less than one.
    Fraction,
    /// From the first to the second.
    Within(f64, f64),
}

impl Checker<'_, '_> {
    /// A number that a file may set, within its range.
    fn number(&mut self, value: Option<f64>, default: f64, range: Range, path: &FieldPath) -> f64 {
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
    fn time(&mut self, value: Option<Duration>, default: SimDuration, path: &FieldPath) -> SimDuration {
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
            high_gain: self.number(
                table.high_gain,
                default.high_gain,
                Range::Within(1.01, 100.0),
                &path.key("high_gain"),
            ),
            cwnd_gain: self.number(
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
            startup_gain: self.number(table.startup_gain, default.startup_gain, gains, &path.key("startup_gain")),
            loss_threshold: self.number(
                table.loss_threshold,
                default.loss_threshold,
                fraction,
                &path.key("loss_threshold"),
            ),
            beta: self.number(table.beta, default.beta, fraction, &path.key("beta")),
            headroom: self.number(table.headroom, default.headroom, fraction, &path.key("headroom")),
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
}
