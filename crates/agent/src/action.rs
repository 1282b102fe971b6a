//! Actions of an agent, and their effect on the window and the rate.
//!
//! Sources: listed with each action. Departures: a window never falls below two segments (RFC 5681's floor for
//! ssthresh) nor grows above a million, a rate never below two segments a round trip nor above 1 Tbit/s.

use ackclock_units::{Bandwidth, Bytes, SimDuration, math};
use serde::{Deserialize, Serialize};

use crate::view::Described;

/// The kinds of actions.
pub const ACTIONS: &[Described] = &[
    Described {
        name: "deltas",
        what: "one of a table of segments to add to cwnd; by default -10, -3, -1, 0, +1, +3, +10",
        source: "Seo and Cho, J. KICS 2023",
    },
    Described {
        name: "cubic_pace",
        what: "one segment less; hold; one more on CUBIC's curve; one more on a curve three times as steep",
        source: "Seo and Cho, J. KICS 2024",
    },
    Described {
        name: "aurora",
        what: "a in [-1, 1]: the pacing rate times 1 + step a, or divided by 1 - step a",
        source: "Jay et al., ICML 2019, equation (1)",
    },
    Described {
        name: "orca",
        what: "a in [-2, 2]: the window of the flow's own controller times 2^a, which goes on from there",
        source: "Abbasloo et al., SIGCOMM 2020, equation (1)",
    },
    Described {
        name: "paced_window",
        what: "a in [-1, 1]: the window times 2^(step a), paced at gain windows in a smoothed RTT",
        source: "none",
    },
    Described {
        name: "pacing_rate",
        what: "a in [-1, 1]: a rate between low and high, by its logarithm; the window is twice the rate's round trip",
        source: "none",
    },
    Described {
        name: "cwnd",
        what: "a in [-1, 1]: a window between low and high segments, by its logarithm",
        source: "none",
    },
];

/// Least window, in segments.
const LEAST_SEGMENTS: u64 = 2;
/// Greatest window, in segments.
const MOST_SEGMENTS: u64 = 1_000_000;
/// Greatest rate, in bit/s.
const MOST_BPS: u64 = 1_000_000_000_000;
/// Segments that each choice of [`Action::CubicPace`] adds to the window.
const CUBIC_STEPS: [i64; 4] = [-1, 0, 1, 1];
/// Window in round trips of a rate, so that the rate is the limit and not the window.
const WINDOW_GAIN: f64 = 2.0;

/// Kind of an agent's actions, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A table of segments to add.
    Deltas {
        /// Segments of each choice.
        #[serde(default = "default_deltas")]
        segments: Vec<i32>,
    },
    /// CUBIC's next segment: see [`crate::Decision::CubicPace`].
    CubicPace,
    /// A rate that is multiplied.
    Aurora {
        /// Size of the change by an action of 1.
        #[serde(default = "default_step")]
        step: f64,
    },
    /// A power of two that multiplies the window of the flow's own controller.
    Orca,
    /// A factor of the window, with a rate that follows it.
    PacedWindow {
        /// Octaves by which an action of 1 changes the window.
        #[serde(default = "half_octave")]
        step: f64,
        /// The rate, in windows a smoothed RTT.
        #[serde(default = "default_gain")]
        gain: f64,
    },
    /// Sets the pacing rate, between two rates in equal ratios.
    PacingRate {
        /// Rate for an action of -1, in bit/s.
        low_bps: u64,
        /// Rate for an action of 1, in bit/s.
        high_bps: u64,
    },
    /// Sets the congestion window, between two windows in equal ratios.
    Cwnd {
        /// Window for an action of -1, in segments.
        low_segments: u64,
        /// Window for an action of 1, in segments.
        high_segments: u64,
    },
}

fn default_deltas() -> Vec<i32> {
    vec![-10, -3, -1, 0, 1, 3, 10]
}

fn default_step() -> f64 {
    0.025
}

fn half_octave() -> f64 {
    0.5
}

fn default_gain() -> f64 {
    1.25
}

/// Set of possible actions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActionSpace {
    /// A number from 0 to below this.
    Discrete(usize),
    /// A value in this range.
    Range(f64, f64),
}

/// A decision of an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// An action of the configured kind: the number of a choice, or a value.
    Action(f64),
    /// A window and a rate, whatever the kind.
    Setting {
        /// The congestion window, segments.
        cwnd_segments: f64,
        /// The pacing rate, bit/s; `None` for that of the stack.
        pacing_rate_bps: Option<f64>,
    },
}

impl From<f64> for Move {
    fn from(action: f64) -> Self {
        Self::Action(action)
    }
}

/// Window and rate that an action sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) cwnd: Bytes,
    pub(crate) pacing_rate: Option<Bandwidth>,
}

/// State from which an action starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    pub(crate) mss: Bytes,
    pub(crate) cwnd: Bytes,
    pub(crate) pacing_rate: Option<Bandwidth>,
    pub(crate) srtt: SimDuration,
}

impl Action {
    /// Set of the possible actions of this kind.
    pub fn space(&self) -> ActionSpace {
        match self {
            Self::Deltas { segments } => ActionSpace::Discrete(segments.len()),
            Self::CubicPace => ActionSpace::Discrete(CUBIC_STEPS.len()),
            Self::Aurora { .. } | Self::PacedWindow { .. } | Self::PacingRate { .. } | Self::Cwnd { .. } => {
                ActionSpace::Range(-1.0, 1.0)
            }
            Self::Orca => ActionSpace::Range(-2.0, 2.0),
        }
    }

    /// True if the flow's own controller stays active between decisions.
    pub(crate) fn keeps_controller(&self) -> bool {
        matches!(self, Self::Orca)
    }

    /// True if the choice sets the steeper of CUBIC's curves.
    pub(crate) fn is_faster(&self, value: f64) -> bool {
        matches!(self, Self::CubicPace) && value as usize + 1 == CUBIC_STEPS.len()
    }

    /// The first mistake in the parameters, if any: the field, and the requirement.
    pub(crate) fn mistake(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Deltas { segments } if segments.is_empty() => {
                Some(("segments", "is empty; give at least one number of segments to add".to_owned()))
            }
            Self::Aurora { step } | Self::PacedWindow { step, .. } if !(*step > 0.0 && *step <= 10.0) => {
                Some(("step", format!("= {step:?} is out of range; give a number above 0, at most 10")))
            }
            Self::PacedWindow { gain, .. } if !(*gain > 0.0 && *gain <= 100.0) => {
                Some(("gain", format!("= {gain:?} is out of range; give a number above 0, at most 100")))
            }
            Self::PacingRate { low_bps, high_bps } if *low_bps == 0 || low_bps >= high_bps => {
                Some(("low_bps", format!("= {low_bps} must be above 0 and below high_bps = {high_bps}")))
            }
            Self::Cwnd { low_segments, high_segments } if *low_segments == 0 || low_segments >= high_segments => Some(
                ("low_segments", format!("= {low_segments} must be above 0 and below high_segments = {high_segments}")),
            ),
            Self::PacingRate { high_bps, .. } if *high_bps > MOST_BPS => {
                Some(("high_bps", format!("= {high_bps} is out of range; give at most {MOST_BPS}")))
            }
            Self::Cwnd { high_segments, .. } if *high_segments > MOST_SEGMENTS => {
                Some(("high_segments", format!("= {high_segments} is out of range; give at most {MOST_SEGMENTS}")))
            }
            _ => None,
        }
    }

    /// Window and rate of `value`: the number of a choice, or a value that is clamped to the range.
    pub(crate) fn setting(&self, value: f64, ground: &Ground) -> Setting {
        let value = match self.space() {
            ActionSpace::Range(low, high) => value.clamp(low, high),
            ActionSpace::Discrete(choices) => value.clamp(0.0, (choices - 1) as f64),
        };
        match self {
            Self::Deltas { segments } => {
                let delta = i64::from(segments[value as usize]) * ground.mss.0 as i64;
                window(ground.cwnd.0.saturating_add_signed(delta), ground)
            }
            Self::CubicPace => {
                let delta = CUBIC_STEPS[value as usize] * ground.mss.0 as i64;
                window(ground.cwnd.0.saturating_add_signed(delta), ground)
            }
            Self::PacedWindow { step, gain } => {
                let Setting { cwnd, .. } = window((ground.cwnd.0 as f64 * math::pow(2.0, step * value)) as u64, ground);
                let rate = ground.bounded(gain * cwnd.0 as f64 * 8.0 / ground.round_trip());
                Setting { cwnd, pacing_rate: Some(Bandwidth(rate as u64)) }
            }
            Self::Orca => window((ground.cwnd.0 as f64 * math::pow(2.0, value)) as u64, ground),
            Self::Cwnd { low_segments, high_segments } => {
                let segments = between(*low_segments as f64, *high_segments as f64, value);
                window((segments * ground.mss.0 as f64) as u64, ground)
            }
            Self::Aurora { step } => {
                let rate = ground.rate();
                rate_and_window(
                    if value < 0.0 { rate / (1.0 - step * value) } else { rate * (1.0 + step * value) },
                    ground,
                )
            }
            Self::PacingRate { low_bps, high_bps } => {
                rate_and_window(between(*low_bps as f64, *high_bps as f64, value), ground)
            }
        }
    }
}

impl Ground {
    /// A window in segments and a rate in bit/s, each clamped to its bounds.
    pub(crate) fn setting(&self, cwnd_segments: f64, pacing_rate_bps: Option<f64>) -> Setting {
        let pacing_rate = pacing_rate_bps.map(|rate| Bandwidth(self.bounded(rate) as u64));
        Setting { pacing_rate, ..window((cwnd_segments * self.mss.0 as f64) as u64, self) }
    }

    /// The rate in use, in bit/s: that of the last action, or the window's.
    fn rate(&self) -> f64 {
        let of_window = || self.cwnd.0 as f64 * 8.0 / self.round_trip();
        self.pacing_rate.map_or_else(of_window, |rate| rate.0 as f64)
    }

    /// The smoothed round trip, in seconds.
    fn round_trip(&self) -> f64 {
        self.srtt.as_secs_f64().max(1e-6)
    }

    /// A rate in bit/s, clamped to its bounds.
    fn bounded(&self, rate: f64) -> f64 {
        let least = (LEAST_SEGMENTS * self.mss.0) as f64 * 8.0 / self.round_trip();
        rate.max(least).min(MOST_BPS as f64)
    }
}

/// The value between `low` at -1 and `high` at 1, on a logarithmic scale.
fn between(low: f64, high: f64, value: f64) -> f64 {
    low * math::pow(high / low, f64::midpoint(value, 1.0))
}

fn window(cwnd: u64, ground: &Ground) -> Setting {
    let mss = ground.mss.0;
    Setting { cwnd: Bytes(cwnd.clamp(LEAST_SEGMENTS * mss, MOST_SEGMENTS * mss)), pacing_rate: ground.pacing_rate }
}

fn rate_and_window(rate: f64, ground: &Ground) -> Setting {
    let rate = ground.bounded(rate);
    let cwnd = (WINDOW_GAIN * rate * ground.round_trip() / 8.0) as u64;
    Setting { pacing_rate: Some(Bandwidth(rate as u64)), ..window(cwnd, ground) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> Ground {
        Ground { mss: Bytes(1_000), cwnd: Bytes(20_000), pacing_rate: None, srtt: SimDuration::from_millis(100) }
    }

    #[test]
    fn a_table_adds_segments_down_to_two() {
        let action = Action::Deltas { segments: default_deltas() };
        let cwnd = |choice, from| action.setting(choice, &Ground { cwnd: Bytes(from), ..ground() }).cwnd;
        assert_eq!(cwnd(6.0, 20_000), Bytes(30_000)); // +10
        assert_eq!(cwnd(1.0, 20_000), Bytes(17_000)); // -3
        assert_eq!(cwnd(0.0, 5_000), Bytes(2_000)); // -10 of 5
        assert_eq!(action.space(), ActionSpace::Discrete(7));
    }

    #[test]
    fn aurora_multiplies_and_divides_so_that_up_and_down_cancel() {
        let action = Action::Aurora { step: 0.5 };
        let up = action.setting(1.0, &ground());
        // 20 000 B * 8 / 0.1 s = 1.6 Mbit/s; times 1.5; two round trips of it are 60 000 B
        assert_eq!(up, Setting { cwnd: Bytes(60_000), pacing_rate: Some(Bandwidth(2_400_000)) });
        let down = action.setting(-1.0, &Ground { pacing_rate: up.pacing_rate, ..ground() });
        assert_eq!(down.pacing_rate, Some(Bandwidth(1_600_000)));
    }

    #[test]
    fn orca_doubles_and_quarters() {
        assert_eq!(Action::Orca.setting(1.0, &ground()).cwnd, Bytes(40_000));
        assert_eq!(Action::Orca.setting(-2.0, &ground()).cwnd, Bytes(5_000));
        assert_eq!(Action::Orca.setting(7.0, &ground()).cwnd, Bytes(80_000)); // cut to 2
    }

    #[test]
    fn a_paced_window_moves_by_octaves_and_takes_its_rate_along() {
        let action = Action::PacedWindow { step: 1.0, gain: 1.25 };
        // 40 000 B * 8 / 0.1 s = 3.2 Mbit/s; times 1.25
        let doubled = Setting { cwnd: Bytes(40_000), pacing_rate: Some(Bandwidth(4_000_000)) };
        assert_eq!(action.setting(1.0, &ground()), doubled);
        assert_eq!(action.setting(-1.0, &ground()).cwnd, Bytes(10_000));
        assert_eq!(action.setting(0.0, &ground()).pacing_rate, Some(Bandwidth(2_000_000)));
    }

    /// The least rate, by the module's bound: two segments of 1000 octets in 100 ms are 160 kbit/s.
    #[test]
    fn no_gain_takes_a_rate_below_two_segments_a_round_trip() {
        let action = Action::PacedWindow { step: 1.0, gain: 1e-9 };
        assert_eq!(action.setting(0.0, &ground()).pacing_rate, Some(Bandwidth(160_000)));
    }

    #[test]
    fn a_window_and_a_rate_are_set_within_their_bounds() {
        let set = |cwnd, rate| ground().setting(cwnd, rate);
        assert_eq!(set(7.5, None), Setting { cwnd: Bytes(7_500), pacing_rate: None });
        assert_eq!(set(0.0, Some(0.0)), Setting { cwnd: Bytes(2_000), pacing_rate: Some(Bandwidth(160_000)) });
        let most = Setting { cwnd: Bytes(1_000_000_000), pacing_rate: Some(Bandwidth(MOST_BPS)) };
        assert_eq!(set(f64::INFINITY, Some(f64::INFINITY)), most);
    }

    #[test]
    fn ends_beyond_what_is_ever_set_are_refused() {
        let window = Action::Cwnd { low_segments: 2, high_segments: 1_000_001 };
        let rate = Action::PacingRate { low_bps: 1, high_bps: 1_000_000_000_001 };
        for (action, field) in [(window, "high_segments"), (rate, "high_bps")] {
            assert_eq!(action.mistake().expect("nothing would come of it").0, field);
        }
        assert_eq!(Action::Cwnd { low_segments: 2, high_segments: 1_000_000 }.mistake(), None);
    }

    #[test]
    fn the_middle_of_a_range_is_its_geometric_mean() {
        let action = Action::Cwnd { low_segments: 4, high_segments: 400 };
        let cwnd = action.setting(0.0, &ground()).cwnd.0;
        assert!((39_999..=40_000).contains(&cwnd), "{cwnd}"); // sqrt(4 * 400) = 40
    }
}
