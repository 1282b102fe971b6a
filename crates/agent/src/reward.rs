//! Reward of a decision, by the events until the next.
//!
//! Sources and departures: listed with each reward.

use ackclock_units::math;
use serde::{Deserialize, Serialize};

use crate::view::{Described, View};

/// The catalogue: every reward, by name, with its formula and its source.
pub const REWARDS: &[Described] = &[
    Described {
        name: "dqn",
        what: "cwnd / RTT over the largest so far; -1 after a loss",
        source: "Seo and Cho, J. KICS 2023",
    },
    Described {
        name: "aurora",
        what: "10 throughput (packets/s) - 1000 latency (s) - 2000 loss fraction",
        source: "Jay et al., ICML 2019, section 4.2",
    },
    Described {
        name: "orca",
        what: "(throughput - loss_weight lost) / delay over the best of both; delays up to delay_slack of the least count as it",
        source: "Abbasloo et al., SIGCOMM 2020, equations (2) and (3)",
    },
    Described {
        name: "log_utility",
        what: "ln throughput (Mbit/s) - delay_weight ln RTT (ms)",
        source: "Winstein and Balakrishnan (Remy), SIGCOMM 2013, section 3.3, alpha = beta = 1",
    },
    Described {
        name: "alpha_fairness",
        what: "U(throughput in Mbit/s) - delay_weight U(RTT in ms), with U(x) = x^(1 - alpha) / (1 - alpha)",
        source: "Remy, section 3.3",
    },
    Described {
        name: "power",
        what: "throughput over the largest so far, divided by mean RTT over the least: 1 is a full link without a queue",
        source: "Kleinrock's power, ICC 1979",
    },
    Described {
        name: "copa",
        what: "ln throughput (Mbit/s) - delay_weight ln queueing delay (ms, at least 0.1)",
        source: "Arun and Balakrishnan, NSDI 2018, section 2",
    },
    Described { name: "none", what: "0: the caller pays", source: "none" },
];

/// The least throughput of logarithms, in Mbit/s, so that an outage has a finite cost.
const LEAST_MBPS: f64 = 1e-3;
/// The least queueing delay of a logarithm, in ms.
const LEAST_QUEUEING_MS: f64 = 0.1;
/// The RTT without any sample, in ms.
const LEAST_RTT_MS: f64 = 1e-3;
/// Largest weight of a term.
const MOST_WEIGHT: f64 = 1e9;
/// The greatest alpha, with which the utility of the least throughput, 10^(3 (alpha - 1)), is still finite.
const MOST_ALPHA: f64 = 100.0;

/// A reward with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reward {
    /// `dqn` of [`REWARDS`]: cwnd / RTT over the largest so far, -1 after a loss.
    Dqn,
    /// `aurora` of [`REWARDS`]: throughput less latency and loss.
    Aurora,
    /// `orca` of [`REWARDS`]: power with a price on losses, over the best so far.
    Orca {
        /// Cost of lost traffic as a multiple of delivered traffic; 5 in the paper's code.
        #[serde(default = "five")]
        loss_weight: f64,
        /// Delays up to this multiple of the least count as the least.
        #[serde(default = "five_quarters")]
        delay_slack: f64,
    },
    /// `log_utility` of [`REWARDS`]: the logarithm of throughput less that of the RTT.
    LogUtility {
        /// Weight of the delay.
        #[serde(default = "one")]
        delay_weight: f64,
    },
    /// `alpha_fairness` of [`REWARDS`]: utilities of throughput and RTT for a given alpha.
    AlphaFairness {
        /// Fairness: 0 is the sum of rates; 2 the least potential delay; not 1, which is `log_utility`.
        alpha: f64,
        /// Weight of the delay.
        #[serde(default = "one")]
        delay_weight: f64,
    },
    /// `power` of [`REWARDS`]: throughput over RTT, 1 for a full link without a queue.
    Power,
    /// `copa` of [`REWARDS`]: the logarithm of throughput less that of the queueing delay.
    Copa {
        /// Weight of the delay: Copa's delta.
        #[serde(default = "half")]
        delay_weight: f64,
    },
    /// The reward `none` of [`REWARDS`]: always 0, since the caller computes it.
    None,
}

fn half() -> f64 {
    0.5
}
fn one() -> f64 {
    1.0
}
fn five_quarters() -> f64 {
    1.25
}
fn five() -> f64 {
    5.0
}

impl Reward {
    /// The first mistake in the parameters, if any. Within these ranges every reward is finite.
    pub(crate) fn mistake(&self) -> Option<(&'static str, String)> {
        let within = |name, value: f64, most: f64| {
            (!(0.0..=most).contains(&value))
                .then(|| (name, format!("= {value:?} is out of range; give a number from 0 to {most}")))
        };
        let finite = |name, value| within(name, value, MOST_WEIGHT);
        match *self {
            Self::Orca { loss_weight, delay_slack } => {
                finite("loss_weight", loss_weight).or_else(|| finite("delay_slack", delay_slack))
            }
            Self::LogUtility { delay_weight } | Self::Copa { delay_weight } => finite("delay_weight", delay_weight),
            Self::AlphaFairness { alpha, .. } if (alpha - 1.0).abs() < 1e-9 => {
                Some(("alpha", "= 1 divides by zero; its limit is the reward log_utility".to_owned()))
            }
            Self::AlphaFairness { alpha, delay_weight } => {
                within("alpha", alpha, MOST_ALPHA).or_else(|| finite("delay_weight", delay_weight))
            }
            Self::Dqn | Self::Aurora | Self::Power | Self::None => None,
        }
    }

    /// The reward of the interval that ends at the view's time.
    pub(crate) fn of(&self, view: &View<'_>) -> f64 {
        match *self {
            Self::Dqn if view.interval.loss_episodes > 0 => -1.0,
            Self::Dqn => share(view.window_rate(), view.memory.max_window_rate.max(view.window_rate())),
            Self::Aurora => {
                let packets = view.delivery_rate() / (view.mss.0 as f64 * 8.0);
                10.0 * packets - rtt_ms(view) - 2_000.0 * view.interval.loss_fraction()
            }
            Self::Orca { loss_weight, delay_slack } => orca(view, loss_weight, delay_slack),
            Self::LogUtility { delay_weight } => math::ln(mbps(view)) - delay_weight * math::ln(rtt_ms(view)),
            Self::AlphaFairness { alpha, delay_weight } => {
                let utility = |x: f64| math::pow(x, 1.0 - alpha) / (1.0 - alpha);
                utility(mbps(view)) - delay_weight * utility(rtt_ms(view))
            }
            Self::Power => {
                let throughput = share(view.delivery_rate(), view.memory.max_delivery_rate.max(view.delivery_rate()));
                throughput * (least_rtt_ms(view) / rtt_ms(view)).min(1.0)
            }
            Self::Copa { delay_weight } => {
                let queueing = (rtt_ms(view) - least_rtt_ms(view)).max(LEAST_QUEUEING_MS);
                math::ln(mbps(view)) - delay_weight * math::ln(queueing)
            }
            Self::None => 0.0,
        }
    }
}

fn orca(view: &View<'_>, loss_weight: f64, delay_slack: f64) -> f64 {
    let least = least_rtt_ms(view);
    let mean = rtt_ms(view);
    let delay = if mean <= delay_slack * least { least } else { mean };
    let lost = view.interval.rate_of(view.interval.lost, view.now);
    let best = view.memory.max_delivery_rate.max(view.delivery_rate());
    share(view.delivery_rate() - loss_weight * lost, best) * (least / delay)
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn mbps(view: &View<'_>) -> f64 {
    (view.delivery_rate() / 1e6).max(LEAST_MBPS)
}

fn rtt_ms(view: &View<'_>) -> f64 {
    let rtt = view.interval.mean_rtt().unwrap_or(view.rtt.latest.max(view.rtt.srtt));
    (rtt.as_secs_f64() * 1e3).max(LEAST_RTT_MS)
}

fn least_rtt_ms(view: &View<'_>) -> f64 {
    (view.rtt.min_rtt.as_secs_f64() * 1e3).max(LEAST_RTT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_make_a_reward_no_number_are_refused() {
        let weight = 1.000_001e9;
        for (reward, field) in [
            (Reward::Orca { loss_weight: weight, delay_slack: 1.0 }, "loss_weight"),
            (Reward::Orca { loss_weight: 1.0, delay_slack: f64::INFINITY }, "delay_slack"),
            (Reward::LogUtility { delay_weight: weight }, "delay_weight"),
            (Reward::Copa { delay_weight: f64::NAN }, "delay_weight"),
            (Reward::AlphaFairness { alpha: 100.1, delay_weight: 1.0 }, "alpha"),
        ] {
            assert_eq!(reward.mistake().expect("refused").0, field);
        }
        // Of the ends that are allowed the powers of the least throughput and RTT are numbers: (10^-3)^-99 = 10^297.
        assert_eq!(Reward::AlphaFairness { alpha: MOST_ALPHA, delay_weight: MOST_WEIGHT }.mistake(), None);
        assert!((MOST_WEIGHT * math::pow(LEAST_MBPS, 1.0 - MOST_ALPHA)).is_finite());
        assert!((MOST_WEIGHT * math::pow(LEAST_RTT_MS, 1.0 - MOST_ALPHA)).is_finite());
    }
}
