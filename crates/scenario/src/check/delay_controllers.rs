//! Controllers that go by delay: their parameters, and what they need of the stack.

use ackclock_cc::{
    CopaConfig, FastConfig, LedbatConfig, LedbatPlusPlusConfig, SwiftConfig, VegasConfig, VegasDelay, VegasRtt,
    VegasVariant,
};
use ackclock_tcp::{ClockStep, TcpConfig};
use ackclock_units::{SimDuration, SimTime};

use super::Checker;
use crate::file::{
    ClockStepTable, Controller, CopaParameters, Duration, FastParameters, LedbatParameters, LedbatPlusPlusParameters,
    ModifiedVegasParameters, SwiftParameters, VegasParameters,
};
use crate::tree::FieldPath;

/// No window is ever this many segments.
const MOST_SEGMENTS: f64 = 1e6;
/// No clock's tick and no path's delay is longer.
const LONGEST: SimDuration = SimDuration::from_secs(10);
const MOST_COUNT: u32 = 1_000;

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
        if receiver_tick.is_some_and(|tick| tick.is_zero() || tick > LONGEST) {
            let remedy = "use 1 ns to 10 s (RFC 7323 asks for 1 ms to 1 s), or leave it out to have it estimated";
            self.report(&path.key("receiver_tick"), "is no tick of a clock", remedy);
        }
        VegasConfig { delay: VegasDelay::Forward, receiver_tick, ..self.vegas(&table.vegas(), path) }
    }

    pub(crate) fn fast(&mut self, table: &FastParameters, path: &FieldPath) -> FastConfig {
        let default = FastConfig::default();
        FastConfig {
            alpha: self.within(table.alpha, default.alpha, (1e-3, MOST_SEGMENTS), &path.key("alpha")),
            gamma: self.within(table.gamma, default.gamma, (1e-3, 1.0), &path.key("gamma")),
            threshold: self.delay_target(table.threshold, default.threshold, &path.key("threshold")),
        }
    }

    pub(crate) fn ledbat(&mut self, table: &LedbatParameters, path: &FieldPath) -> LedbatConfig {
        let default = LedbatConfig::default();
        if table.target.is_some_and(|target| target.0 > default.target) {
            let remedy = "use at most 100 ms (RFC 6817 section 2.4.2)";
            self.report(&path.key("target"), "is more delay than LEDBAT may cause", remedy);
        }
        LedbatConfig {
            target: self.delay_target(table.target, default.target, &path.key("target")),
            gain: self.within(table.gain, default.gain, (1e-3, 1.0), &path.key("gain")),
            allowed_increase: self.some_of(
                table.allowed_increase,
                default.allowed_increase,
                &path.key("allowed_increase"),
            ),
            base_history: self.some_of(table.base_history, default.base_history, &path.key("base_history")),
            current_filter: self.some_of(table.current_filter, default.current_filter, &path.key("current_filter")),
            delay: table.delay.map_or(default.delay, Into::into),
            slow_start: table.slow_start.unwrap_or(default.slow_start),
        }
    }

    pub(crate) fn ledbat_plus_plus(
        &mut self,
        table: &LedbatPlusPlusParameters,
        path: &FieldPath,
    ) -> LedbatPlusPlusConfig {
        let default = LedbatPlusPlusConfig::default();
        LedbatPlusPlusConfig {
            target: self.delay_target(table.target, default.target, &path.key("target")),
            constant: self.within(table.constant, default.constant, (1e-3, 1e3), &path.key("constant")),
            base_history: self.some_of(table.base_history, default.base_history, &path.key("base_history")),
            current_filter: self.some_of(table.current_filter, default.current_filter, &path.key("current_filter")),
            slowdown: table.slowdown.unwrap_or(default.slowdown),
        }
    }

    pub(crate) fn copa(&mut self, table: &CopaParameters, path: &FieldPath) -> CopaConfig {
        let default = CopaConfig::default();
        CopaConfig {
            delta: self.within(table.delta, default.delta, (1e-4, 1e3), &path.key("delta")),
            mode_switch: table.mode_switch.unwrap_or(default.mode_switch),
            empty_round_trips: self.some_of(
                table.empty_round_trips,
                default.empty_round_trips,
                &path.key("empty_round_trips"),
            ),
            nearly_empty: self.within(
                table.nearly_empty,
                default.nearly_empty,
                (1e-3, 0.999),
                &path.key("nearly_empty"),
            ),
        }
    }

    pub(crate) fn swift(&mut self, table: &SwiftParameters, path: &FieldPath) -> SwiftConfig {
        let fallback = SimDuration::from_millis(1);
        if table.base_target.is_none() {
            self.missing(&path.key("base_target"), "base_target = \"50 ms\", the path's RTT and what may be queued");
        }
        let default = SwiftConfig::new(self.delay_target(table.base_target, fallback, &path.key("base_target")));
        let config = SwiftConfig {
            base_target: default.base_target,
            flow_scaling_range: table.flow_scaling_range.map_or(default.flow_scaling_range, |range| range.0),
            flow_scaling_min_window: self.within(
                table.flow_scaling_min_window,
                default.flow_scaling_min_window,
                (1e-6, MOST_SEGMENTS),
                &path.key("flow_scaling_min_window"),
            ),
            flow_scaling_max_window: self.within(
                table.flow_scaling_max_window,
                default.flow_scaling_max_window,
                (1e-6, MOST_SEGMENTS),
                &path.key("flow_scaling_max_window"),
            ),
            additive_increase: self.within(
                table.additive_increase,
                default.additive_increase,
                (1e-6, 1e3),
                &path.key("additive_increase"),
            ),
            beta: self.within(table.beta, default.beta, (1e-3, 1.0), &path.key("beta")),
            max_decrease: self.within(
                table.max_decrease,
                default.max_decrease,
                (1e-3, 0.999),
                &path.key("max_decrease"),
            ),
            min_window: self.within(table.min_window, default.min_window, (1e-6, 1.0), &path.key("min_window")),
        };
        if config.flow_scaling_min_window >= config.flow_scaling_max_window {
            let remedy = "let flow_scaling_min_window be less than flow_scaling_max_window";
            self.report(&path.key("flow_scaling_max_window"), "leaves no windows to scale the target between", remedy);
        }
        config
    }

    fn within(&mut self, value: Option<f64>, default: f64, (least, most): (f64, f64), path: &FieldPath) -> f64 {
        let number = value.unwrap_or(default);
        if !(least..=most).contains(&number) {
            self.report(
                path,
                "lies outside of what has a meaning here",
                format!("use {least} to {most}; usual is {default}"),
            );
            return default;
        }
        number
    }

    fn some_of(&mut self, value: Option<u32>, default: u32, path: &FieldPath) -> u32 {
        let count = value.unwrap_or(default);
        if count == 0 || count > MOST_COUNT {
            self.report(path, "is no number of things to keep", format!("use 1 to {MOST_COUNT}; usual is {default}"));
            return default;
        }
        count
    }

    fn delay_target(&mut self, value: Option<Duration>, default: SimDuration, path: &FieldPath) -> SimDuration {
        let delay = value.map_or(default, |delay| delay.0);
        if delay.is_zero() || delay > LONGEST {
            self.report(path, "is no delay to aim at", format!("use 1 ns to {LONGEST}"));
            return default;
        }
        delay
    }
}
