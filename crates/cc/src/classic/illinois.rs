//! Illinois: grows fast while the queue is short and slowly while it is long; a short queue also means a smaller
//! decrease.
//!
//! Source: Liu, Basar, Srikant, TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for High-Speed Networks,
//! Performance Evaluation 65, 2008: alpha from 10 to 0.3 and beta from 1/8 to 1/2 as functions of the mean queueing delay
//! `d_a`, with `d_m` the longest; `eta_1` = 0.01, `eta_2` = 0.1, `eta_3` = 0.8; a window threshold of 15 segments; alpha
//! goes up to its largest only after 5 round trips with a short queue, if there was a long one before. After a timeout alpha
//! is 1 and beta 1/2.
//!
//! Departures: alpha and beta follow the delays of slow start, as in Linux's module, and of recoveries, too. `variant = "linux"` is the
//! module itself, in integers ([`mod@crate::linux_module`]).
//!
//! Checked: both functions against the paper's equations, constants and patience against Linux's module; the runs held
//! to it are in docs/reference/laws.md.

use super::{Classic, ClassicVariant, Delays, Grown, RoundDelays, Rule};
use crate::algorithm::{Algorithm, Name};
use crate::controller::{Controller, Start};
use crate::event::{AckEvent, CongestionEvent};
use crate::linux_module::{self, LinuxModule};
use ackclock_declare::{declare, default};

declare! {
    /// The parameters of [`Illinois`].
    #[derive(Copy)]
    pub struct IllinoisConfig {
        /// Source of the rules: the paper, or Linux's module.
        variant: ClassicVariant = ClassicVariant::Paper,
        /// Largest increase in a round trip.
        alpha_max: f64 = default(10.0).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Smallest increase in a round trip.
        alpha_min: f64 = default(0.3).at_least(1e-6).at_most(1e9).unit("segments"),
        /// Largest fraction taken away on congestion.
        beta_max: f64 = default(0.5).at_least(1e-6).at_most(0.999_999),
        /// Smallest fraction taken away on congestion.
        beta_min: f64 = default(0.125).at_least(1e-6).at_most(0.999_999),
        /// Window below which Reno's rules hold.
        window_threshold: f64 = default(15.0).at_least(0.0).at_most(1e9).unit("segments"),
    }
    check |config, review| {
        // so far apart that what the curve between them divides by is not nothing
        review.at_most(("alpha_min", &(config.alpha_min * 1.001)), ("alpha_max", &config.alpha_max));
        review.at_most(("beta_min", &config.beta_min), ("beta_max", &config.beta_max));
    };
}

impl Algorithm for IllinoisConfig {
    const NAMES: &'static [Name<Self>] = &[Name {
        summary: "fast while the queue is short, slow while it is long",
        source: "Liu, Basar, Srikant, Performance Evaluation 65, 2008",
        departures: "alpha and beta follow the delays of slow start and of recoveries, too; slow start is RFC 5681's, acknowledged segments are counted by octets",
        ..Name::called("illinois")
    }];

    fn start(&self, start: Start) -> Controller {
        match self.variant {
            ClassicVariant::Paper => Classic::start(Illinois::new(*self), start),
            ClassicVariant::Linux => LinuxModule::start(linux_module::Illinois::new(*self), start),
        }
    }
}

const ETA_1: f64 = 0.01;
const ETA_2: f64 = 0.1;
const ETA_3: f64 = 0.8;
/// The increase alpha before the path has been measured, and after a timeout.
const RENOS_ALPHA: f64 = 1.0;
const RENOS_BETA: f64 = 0.5;
/// The round trips with a short queue after which alpha is at its largest again (theta).
const PATIENCE: u32 = 5;

/// Illinois: increase and decrease follow the mean queueing delay. Source: [`mod@crate::classic::illinois`].
#[derive(Clone, Debug)]
pub struct Illinois {
    config: IllinoisConfig,
    delays: Delays,
    alpha: f64,
    beta: f64,
    short_rounds: u32,
}

impl Illinois {
    pub(super) fn new(config: IllinoisConfig) -> Self {
        // Before anything is known of the path: Reno.
        Self { config, delays: Delays::default(), alpha: RENOS_ALPHA, beta: RENOS_BETA, short_rounds: PATIENCE }
    }

    fn adapt(&mut self, round: RoundDelays) {
        // On a path that never queued, d_m is 0 and no delay is a long one: alpha goes up, beta is the least.
        let longest = self.delays.greatest - self.delays.least;
        let mean = if longest > 0.0 { round.mean - self.delays.least } else { 0.0 }; // and nothing that rounding leaves
        self.alpha = self.next_alpha(mean, longest);
        self.beta = beta(&self.config, mean, longest);
    }

    /// The next alpha, by the paper's `f_1`.
    fn next_alpha(&mut self, mean: f64, longest: f64) -> f64 {
        let IllinoisConfig { alpha_max, alpha_min, .. } = self.config;
        let short = ETA_1 * longest;
        if mean <= short {
            self.short_rounds = self.short_rounds.saturating_add(1);
            let is_long_enough = self.short_rounds >= PATIENCE;
            return if is_long_enough || self.alpha >= alpha_max { alpha_max } else { self.alpha };
        }
        self.short_rounds = 0;
        let kappa_1 = (longest - short) * alpha_min * alpha_max / (alpha_max - alpha_min);
        let kappa_2 = (longest - short) * alpha_min / (alpha_max - alpha_min) - short;
        kappa_1 / (kappa_2 + mean)
    }
}

/// The decrease beta, by the paper's `f_2`.
fn beta(config: &IllinoisConfig, mean: f64, longest: f64) -> f64 {
    let (from, to) = (ETA_2 * longest, ETA_3 * longest);
    if mean <= from {
        return config.beta_min;
    }
    let place = ((mean - from) / (to - from)).clamp(0.0, 1.0);
    config.beta_min + (config.beta_max - config.beta_min) * place
}

impl Rule for Illinois {
    fn on_ack(&mut self, ack: &AckEvent, _cwnd: f64, _mss: u64) {
        if let Some(round) = self.delays.on_ack(ack) {
            self.adapt(round);
        }
    }

    fn increase(&mut self, grown: &Grown<'_>) -> f64 {
        let alpha = if grown.cwnd < self.config.window_threshold { 1.0 } else { self.alpha };
        alpha * grown.acked / grown.cwnd
    }

    fn decrease(&mut self, event: &CongestionEvent, cwnd: f64, flight: f64) -> f64 {
        let is_renos = cwnd < self.config.window_threshold || event.is_timeout();
        flight * (1.0 - if is_renos { RENOS_BETA } else { self.beta })
    }

    fn on_timeout(&mut self) {
        (self.alpha, self.beta, self.short_rounds) = (RENOS_ALPHA, RENOS_BETA, PATIENCE);
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("alpha_segments", self.alpha);
        record("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_goes_from_ten_to_three_tenths_as_the_queue_grows() {
        let mut illinois = Illinois::new(IllinoisConfig::default());
        illinois.alpha = 10.0;
        assert!((illinois.next_alpha(0.0005, 0.1) - 10.0).abs() < 1e-12); // below eta_1 d_m = 1 ms
        // at d_m: kappa_1 / (kappa_2 + d_m) = alpha_min
        assert!((illinois.next_alpha(0.1, 0.1) - 0.3).abs() < 1e-12);
        // half way: kappa_1 = 0.099 * 3 / 9.7 = 0.030619, kappa_2 = 0.099 * 0.3 / 9.7 - 0.001 = 0.0020619;
        // 0.030619 / 0.0520619 = 0.58812
        assert!((illinois.next_alpha(0.05, 0.1) - 0.588_12).abs() < 1e-5);
    }

    #[test]
    fn beta_goes_from_an_eighth_to_a_half() {
        let config = IllinoisConfig::default();
        assert!((beta(&config, 0.01, 0.1) - 0.125).abs() < 1e-12);
        assert!((beta(&config, 0.045, 0.1) - 0.3125).abs() < 1e-12); // half way from 10 to 80 ms
        assert!((beta(&config, 0.08, 0.1) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_path_without_a_queue_is_fast_and_keeps_seven_eighths() {
        let mut illinois = Illinois::new(IllinoisConfig::default());
        (illinois.delays.least, illinois.delays.greatest) = (0.1, 0.1);
        // No long queue has been seen: at once. A sum of equal delays over their number may be more than one of them by its last bit.
        for mean in [0.1, 0.1_f64.next_up()] {
            illinois.adapt(RoundDelays { mean, least: 0.1, samples: 3.0 });
            assert!((illinois.alpha - 10.0).abs() < 1e-12 && (illinois.beta - 0.125).abs() < 1e-12, "{mean}");
        }
    }

    #[test]
    fn alpha_rises_again_after_five_short_rounds() {
        let mut illinois = Illinois::new(IllinoisConfig::default());
        assert!((illinois.next_alpha(0.1, 0.1) - 0.3).abs() < 1e-12);
        illinois.alpha = 0.3;
        let alphas: Vec<f64> = (0..5)
            .map(|_| {
                illinois.alpha = illinois.next_alpha(0.0, 0.1);
                illinois.alpha
            })
            .collect();
        assert_eq!(alphas, [0.3, 0.3, 0.3, 0.3, 10.0]);
    }
}
