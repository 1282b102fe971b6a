//! Controllers that go by delay: their parameters, and what they need of the stack.

use ackclock_cc::{VegasConfig, VegasDelay, VegasRtt, VegasVariant};
use ackclock_tcp::{ClockStep, TcpConfig};
use ackclock_units::{SimDuration, SimTime};

use super::Checker;
use crate::file::{ClockStepTable, Controller, ModifiedVegasParameters, VegasParameters};
use crate::tree::FieldPath;

/// No window is ever this many segments.
const MOST_SEGMENTS: f64 = 1e6;
const LONGEST_TICK: SimDuration = SimDuration::from_secs(10);

impl Checker<'_, '_> {
    /// One-way delays come from the timestamps option, which both ends have to agree on.
    pub(crate) fn check_delay_controller(&mut self, controller: &Controller, ends: &[TcpConfig; 2], path: &FieldPath) {
        let needs_timestamps = matches!(controller, Controller::VegasModified(_) | Controller::VegasSkewTolerant(_));
        if needs_timestamps && ends.iter().any(|tcp| !tcp.timestamps) {
            let remedy = "set tcp.timestamps = true at both ends, or use \"vegas\"";
            self.report(path, "measures one-way delays and has no timestamps to do it with", remedy);
        }
    }

    pub(crate) fn clock_step(&mut self, table: &ClockStepTable, path: &FieldPath) -> Option<ClockStep> {
        let Some(at) = table.at else {
            self.missing(&path.key("at"), "at = \"20 s\"");
            return None;
        };
        let (forward, by) = match (table.forward, table.back) {
            (Some(by), None) => (true, by.0),
            (None, Some(by)) => (false, by.0),
            _ => {
                let remedy = "give one of the two: forward = \"50 ms\", or back = \"50 ms\"";
                self.report(path, "sets a clock neither forward nor back, or both", remedy);
                return None;
            }
        };
        Some(ClockStep { at: SimTime::ZERO + at.0, forward, by })
    }

    pub(crate) fn vegas(&mut self, table: &VegasParameters, path: &FieldPath) -> VegasConfig {
        let default = VegasConfig::of(table.variant.map_or(VegasVariant::default(), Into::into));
        for (field, threshold) in [("alpha", table.alpha), ("beta", table.beta), ("gamma", table.gamma)] {
            if threshold.is_some_and(|segments| !(0.0..=MOST_SEGMENTS).contains(&segments)) {
                self.report(&path.key(field), "is no number of segments queued", "use 0 or more; Vegas keeps 2 to 4");
            }
        }
        let config = VegasConfig {
            alpha: table.alpha.unwrap_or(default.alpha),
            beta: table.beta.unwrap_or(default.beta),
            gamma: table.gamma.unwrap_or(default.gamma),
            rtt: table.rtt.map_or(default.rtt, Into::into),
            ..default
        };
        if config.beta < config.alpha {
            let (field, other) = if table.beta.is_some() { ("beta", "alpha") } else { ("alpha", "beta") };
            let what =
                format!("lets the window grow and shrink at once: alpha {} > beta {}", config.alpha, config.beta);
            self.report(&path.key(field), what, format!("let alpha be at most beta; or set {other} too"));
        }
        config
    }

    pub(crate) fn vegas_skew_tolerant(&mut self, table: &ModifiedVegasParameters, path: &FieldPath) -> VegasConfig {
        let rtt = table.rtt.map_or(VegasRtt::Least, Into::into);
        VegasConfig { delay: VegasDelay::SkewTolerant, rtt, ..self.vegas_modified(table, path) }
    }

    pub(crate) fn vegas_modified(&mut self, table: &ModifiedVegasParameters, path: &FieldPath) -> VegasConfig {
        let receiver_tick = table.receiver_tick.map(|tick| tick.0);
        if receiver_tick.is_some_and(|tick| tick.is_zero() || tick > LONGEST_TICK) {
            let remedy = "use 1 ns to 10 s (RFC 7323 asks for 1 ms to 1 s), or leave it out to have it estimated";
            self.report(&path.key("receiver_tick"), "is no tick of a clock", remedy);
        }
        VegasConfig { delay: VegasDelay::Forward, receiver_tick, ..self.vegas(&table.vegas(), path) }
    }
}
