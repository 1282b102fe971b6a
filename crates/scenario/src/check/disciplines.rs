//! Buffer disciplines of appliances: parameters in range.

use ackclock_relay::{
    CodelWindowConfig, CreditConfig, DisciplineConfig, DrainRateConfig, EceDropTailConfig, EceIntervalConfig,
    EceRedConfig, NotSentConfig,
};
use ackclock_units::{Bytes, SimDuration};

use super::Checker;
use super::links::{MAX_DELAY, TOO_LONG};
use super::tcp::MAX_WINDOW;
use crate::file::{
    CodelWindow, Credit, Discipline, DrainRate, Duration, EceDropTail, EceInterval, EceRed, NotSent, Size,
};
use crate::tree::FieldPath;

/// More segments than any window holds.
const MAX_SEGMENTS: u64 = 1_000_000_000;

impl Checker<'_, '_> {
    /// A number that a file may set, from the first to the second.
    fn parameter(&mut self, value: Option<f64>, default: f64, (least, most): (f64, f64), path: &FieldPath) -> f64 {
        let value = value.unwrap_or(default);
        if (least..=most).contains(&value) {
            return value;
        }
        let remedy = format!("use {least} to {most}; the default is {default}");
        self.report(path, format!("is {value}, out of range"), remedy);
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
}

impl Checker<'_, '_> {
    /// The discipline that an appliance asks for.
    pub(super) fn discipline(&mut self, discipline: Option<&Discipline>, path: &FieldPath) -> DisciplineConfig {
        match discipline {
            None | Some(Discipline::Socket(_)) => DisciplineConfig::Socket,
            Some(Discipline::EceInterval(table)) => DisciplineConfig::EceInterval(self.ece_interval(table, path)),
            Some(Discipline::EceDropTail(table)) => DisciplineConfig::EceDropTail(self.ece_drop_tail(table, path)),
            Some(Discipline::EceRed(table)) => DisciplineConfig::EceRed(self.ece_red(table, path)),
            Some(Discipline::DrainRate(table)) => DisciplineConfig::DrainRate(self.drain_rate(table, path)),
            Some(Discipline::CodelWindow(table)) => DisciplineConfig::CodelWindow(self.codel_window(table, path)),
            Some(Discipline::NotSent(table)) => DisciplineConfig::NotSent(self.not_sent(table, path)),
            Some(Discipline::Credit(table)) => DisciplineConfig::Credit(self.credit(table, path)),
        }
    }

    fn ece_interval(&mut self, table: &EceInterval, path: &FieldPath) -> EceIntervalConfig {
        let default = EceIntervalConfig::default();
        EceIntervalConfig { interval: self.time(table.interval, default.interval, &path.key("interval")) }
    }

    fn ece_drop_tail(&mut self, table: &EceDropTail, path: &FieldPath) -> EceDropTailConfig {
        let default = EceDropTailConfig::default();
        EceDropTailConfig {
            limit: self.octets(table.limit, default.limit, &path.key("limit")),
            every_rtt: table.every_rtt.unwrap_or(default.every_rtt),
        }
    }

    fn ece_red(&mut self, table: &EceRed, path: &FieldPath) -> EceRedConfig {
        let default = EceRedConfig::default();
        let threshold = table.threshold.map_or(default.threshold, |size| size.0);
        let limit = self.octets(table.limit, default.limit, &path.key("limit"));
        if limit <= threshold {
            let field = if table.limit.is_some() { "limit" } else { "threshold" };
            let what = format!("leaves nothing between a threshold of {threshold} and a limit of {limit}");
            self.report(&path.key(field), what, "let limit be larger than threshold, such as twice as large");
        }
        let max_probability = table.max_probability.unwrap_or(default.max_probability);
        if !(max_probability > 0.0 && max_probability <= 1.0) {
            let remedy = format!("use more than 0 and at most 1; the default is {}", default.max_probability);
            self.report(&path.key("max_probability"), "is no probability of a signal", remedy);
        }
        EceRedConfig { threshold, limit, max_probability }
    }

    fn drain_rate(&mut self, table: &DrainRate, path: &FieldPath) -> DrainRateConfig {
        let default = DrainRateConfig::default();
        self.check_stay(table.target, &path.key("target"));
        DrainRateConfig {
            target: table.target.map_or(default.target, |target| target.0),
            measure: self.time(table.measure, default.measure, &path.key("measure")),
            min_segments: self.segments(table.min_segments, default.min_segments, 1, &path.key("min_segments")),
        }
    }

    fn codel_window(&mut self, table: &CodelWindow, path: &FieldPath) -> CodelWindowConfig {
        let default = CodelWindowConfig::default();
        self.check_stay(table.target, &path.key("target"));
        CodelWindowConfig {
            target: table.target.map_or(default.target, |target| target.0),
            interval: self.time(table.interval, default.interval, &path.key("interval")),
            min_segments: self.segments(table.min_segments, default.min_segments, 1, &path.key("min_segments")),
        }
    }

    fn not_sent(&mut self, table: &NotSent, path: &FieldPath) -> NotSentConfig {
        let default = NotSentConfig::default();
        NotSentConfig {
            low_water: self.octets(table.low_water, default.low_water, &path.key("low_water")),
            window: self.octets(table.window, default.window, &path.key("window")),
        }
    }

    fn credit(&mut self, table: &Credit, path: &FieldPath) -> CreditConfig {
        let default = CreditConfig::default();
        self.check_stay(table.target, &path.key("target"));
        self.check_stay(table.margin, &path.key("margin"));
        CreditConfig {
            target: table.target.map_or(default.target, |target| target.0),
            margin: table.margin.map_or(default.margin, |margin| margin.0),
            slow_start_growth: self.parameter(
                table.slow_start_growth,
                default.slow_start_growth,
                (1.0, 100.0),
                &path.key("slow_start_growth"),
            ),
        }
    }

    /// An amount that something fits in, and no more than any window.
    fn octets(&mut self, size: Option<Size>, default: Bytes, path: &FieldPath) -> Bytes {
        let size = size.map_or(default, |size| size.0);
        if size == Bytes::ZERO || size > MAX_WINDOW {
            let remedy = format!("use 1 byte to {MAX_WINDOW}; the default is {default}");
            self.report(path, "is no amount that could be kept", remedy);
        }
        size
    }

    fn segments(&mut self, count: Option<u64>, default: u64, least: u64, path: &FieldPath) -> u64 {
        let count = count.unwrap_or(default);
        if !(least..=MAX_SEGMENTS).contains(&count) {
            let remedy = format!("use {least} to {MAX_SEGMENTS}; the default is {default}");
            self.report(path, "is no number of segments to hold to", remedy);
        }
        count
    }

    /// A stay in the appliance: no longer than any path.
    fn check_stay(&mut self, stay: Option<Duration>, path: &FieldPath) {
        if stay.is_some_and(|stay| stay.0 > MAX_DELAY) {
            self.report(path, TOO_LONG, format!("use at most {MAX_DELAY}"));
        }
    }
}
