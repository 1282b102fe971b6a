//! The controllers that there are as programs of the kernel, and their parameters out of the declarations of `ackclock-cc`.

use ackclock_cc::classic::{
    ClassicVariant, HighSpeedIncrease, HighSpeedResponse, HighSpeedVariant, IllinoisConfig, WestwoodConfig,
};
use ackclock_cc::vegas::{VegasRtt, VegasVariant};
use ackclock_cc::{ControllerConfig, HtcpConfig, ScalableConfig, TICKS, VegasConfig, controllers};
use ackclock_declare::{Context, Table, meant};
use serde_json::Value;

use crate::error::Error;
use crate::exchange::{ONE, PARAMS};
use crate::highspeed::Curve;

/// A controller for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in the kernel, which has room for 15 letters.
    pub kernel_name: &'static str,
    /// Departures from the controller of `ackclock-cc`; empty if there are none.
    pub departures: &'static str,
    /// Whether it has a rate of its own beside a window, and its events are a [`Flight`](crate::Flight) and no
    /// [`Exchange`](crate::Exchange).
    pub is_paced: bool,
    /// The compiled program, and the rules alone for runs by hand.
    pub(crate) object: &'static [u8],
    pub(crate) replay: &'static [u8],
}

macro_rules! programs {
    ($($name:literal = $kernel_name:literal, $is_paced:literal, $departures:literal;)*) => {
        /// Every one, in the order of the catalogue.
        pub const PROGRAMS: &[Program] = &[$(Program {
            name: $name,
            kernel_name: $kernel_name,
            departures: $departures,
            is_paced: $is_paced,
            object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
            replay: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".replay.o")),
        },)*];
    };
}

programs! {
    "aimd" = "ac_aimd", false, "";
    "scalable" = "ac_scalable", false, "";
    "highspeed" = "ac_highspeed", false, "a(w) and b(w) are straight lines between 32 windows in each octave";
    "htcp" = "ac_htcp", false, "after more than 1000 s without congestion growth is that of 1000 s";
    "westwood" = "ac_westwood", false, "";
    "illinois" = "ac_illinois", false, "";
    "vegas" = "ac_vegas", false, "after a timeout the window is one segment";
    "vegas_modified" = "ac_vegas_mod", false, "after a timeout the window is one segment";
    "copa" = "ac_copa", true, "least and greatest round trips of the recent past to 1/32 of it; 64 moves for an ACK at most; no restart after idle time";
    "bbr3" = "ac_bbr3", true, "what was in flight and lost when a segment left is that of its burst; an ACK's losses are one; no restart after idle time";
}

/// A parameter as the command line has it: `NAME=VALUE`.
pub type Assignment = (String, String);

/// A remedy for a name that is not known: the ones that may be meant, and all that there are.
fn suggest(name: &str, known: &[&str]) -> String {
    let described: Vec<(&str, &str)> = known.iter().map(|known| (*known, "")).collect();
    let meant = match &meant(name, &described)[..] {
        [] => String::new(),
        found => format!("did you mean {}? ", found.join(" or ")),
    };
    format!("{meant}known: {}", known.join(", "))
}

impl Program {
    /// Program by its name, in scenarios or in the kernel.
    pub fn find(name: &str) -> Result<&'static Self, Error> {
        let found = PROGRAMS.iter().find(|program| program.name == name || program.kernel_name == name);
        found.ok_or_else(|| Error::UnknownController {
            name: name.to_owned(),
            remedy: suggest(name, &PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>()),
        })
    }

    /// The configuration that these assignments come to, as a scenario would.
    pub fn config(&self, assignments: &[Assignment]) -> Result<ControllerConfig, Error> {
        let part = controllers().find(self.name).expect("each program is of a controller that scenarios know");
        let mut table = Table::new();
        for (field, value) in assignments {
            if part.field(field).is_none() {
                return Err(Error::UnknownParameter {
                    controller: self.name,
                    field: field.clone(),
                    remedy: suggest(field, part.field_names()),
                });
            }
            // A number or true or false; anything else is a word.
            table.insert(field.clone(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value.as_str())));
        }
        let reading = part.read(&table, &Context { mss: 1448, link: None });
        match reading.mistakes.into_iter().next() {
            None => Ok(reading.config),
            Some(mistake) => Err(Error::WrongParameter {
                controller: self.name,
                field: mistake.field,
                message: mistake.message,
                remedy: mistake.remedy,
            }),
        }
    }

    /// Parameter words of the programs for a configuration. `slow_start_limit` is the most segments that an ACK counts
    /// for in slow start (RFC 3465's L); the kernel's own controllers have no limit, which is 0.
    pub fn params(&self, config: &ControllerConfig, slow_start_limit: u32) -> Result<[u64; PARAMS], Error> {
        let mut words = if self.is_paced { vec![] } else { vec![u64::from(slow_start_limit)] };
        words.extend(match config {
            ControllerConfig::Copa(c) => {
                vec![q32(1.0 / c.delta), u64::from(c.mode_switch), u64::from(c.empty_round_trips), q32(c.nearly_empty)]
            }
            ControllerConfig::Bbr3(c) => vec![
                q24(c.startup_gain),
                q24(c.loss_threshold),
                q24(c.beta),
                q24(c.headroom),
                c.probe_rtt_interval.0 / 1_000,
                c.probe_rtt_duration.0 / 1_000,
            ],
            ControllerConfig::Aimd(aimd) => vec![q32(aimd.increase), q32(1.0 - aimd.decrease)],
            ControllerConfig::Scalable(ScalableConfig { variant: ClassicVariant::Linux, .. })
            | ControllerConfig::Htcp(HtcpConfig { variant: ClassicVariant::Linux, .. })
            | ControllerConfig::Westwood(WestwoodConfig { variant: ClassicVariant::Linux, .. })
            | ControllerConfig::Illinois(IllinoisConfig { variant: ClassicVariant::Linux, .. }) => {
                return Err(self.refuses("variant", "must be \"paper\""));
            }
            ControllerConfig::HighSpeed(c) if c.variant != HighSpeedVariant::Rfc3649 => {
                return Err(self.refuses("variant", "must be \"rfc3649\""));
            }
            ControllerConfig::Scalable(c) => vec![q32(c.increase), q32(1.0 - c.decrease), q32(c.legacy_window)],
            ControllerConfig::HighSpeed(c) if c.response != HighSpeedResponse::Formula => {
                return Err(self.refuses("response", "must be \"formula\""));
            }
            ControllerConfig::HighSpeed(c) if c.increase != HighSpeedIncrease::Bytes => {
                return Err(self.refuses("increase", "must be \"bytes\""));
            }
            ControllerConfig::HighSpeed(c) => vec![q32(c.low_window)],
            ControllerConfig::Htcp(c) => vec![u64::from(c.adaptive_backoff), u64::from(c.rtt_scaling)],
            ControllerConfig::Westwood(c) => vec![q32(c.filter), u64::from(c.filter_twice)],
            ControllerConfig::Illinois(c) => {
                let range = c.alpha_max - c.alpha_min;
                if c.alpha_min * c.alpha_max / range >= 16.0 {
                    return Err(self.refuses("alpha_min", "must be less, or alpha_max further above it"));
                }
                vec![
                    q32(c.alpha_max),
                    q32(c.alpha_min * c.alpha_max / range),
                    q32(c.alpha_min / range),
                    q32(c.beta_min),
                    q32(c.beta_max),
                    q32(c.window_threshold),
                ]
            }
            ControllerConfig::Vegas(vegas) => self.vegas(vegas)?,
            _ => unreachable!("each program is of one of these controllers"),
        });
        if let Some(word) = words[usize::from(!self.is_paced)..].iter().find(|word| **word > MOST) {
            let message = format!("is {}, more than a program in the kernel supports", *word as f64 / ONE as f64);
            return Err(self.refuses("", &message));
        }
        words.resize(PARAMS, 0);
        Ok(words.try_into().expect("as many words as asked for"))
    }

    fn vegas(&self, config: &VegasConfig) -> Result<Vec<u64>, Error> {
        let variant = match config.variant {
            VegasVariant::Brakmo => 0,
            VegasVariant::Ns2 => 1,
            VegasVariant::Linux => 2,
            VegasVariant::LinuxModule => return Err(self.refuses("variant", "must be \"linux\"")),
        };
        let rtt = match config.rtt {
            VegasRtt::Latest => 0,
            VegasRtt::Least => 1,
            VegasRtt::Mean => 2,
        };
        let tick = config.receiver_tick.map_or(0, |tick| tick.0);
        if tick != 0 && !TICKS.contains(&(tick as i64)) {
            return Err(
                self.refuses("receiver_tick", "must be 1, 10, 100 us, 1, 2, 4, 10, 20, 100, 200, 500 ms or 1 s")
            );
        }
        Ok(vec![variant, q32(config.alpha), q32(config.beta), q32(config.gamma), rtt, tick])
    }

    /// The response of `HighSpeed`, if it is that.
    pub fn curve(config: &ControllerConfig) -> Option<Curve> {
        if let ControllerConfig::HighSpeed(config) = config { Some(Curve::of(config)) } else { None }
    }

    fn refuses(&self, field: &str, message: &str) -> Error {
        Error::WrongParameter {
            controller: self.name,
            field: field.to_owned(),
            message: format!("{message}, for a program in the kernel"),
            remedy: "change it, or simulate the controller".to_owned(),
        }
    }
}

/// Products of larger numbers would not fit: a(w), in segments a round trip, and windows.
const MOST: u64 = (1 << 20) * ONE;

fn q32(number: f64) -> u64 {
    (number * ONE as f64).round() as u64
}

/// A fraction or gain of the programs that reckon in octets.
fn q24(number: f64) -> u64 {
    (number * f64::from(1 << 24)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program in the kernel has its own list, as clang reads it.
    #[test]
    fn the_ticks_in_c_are_those_of_the_clocks_in_rust() {
        let text = include_str!("programs/rules/vegas_modified.h");
        let list = text.split("ticks[TICKS] = {").nth(1).and_then(|rest| rest.split('}').next()).expect("one list");
        let ticks: Vec<i64> = list.split(',').map(|tick| tick.trim().parse().expect("a number")).collect();
        assert_eq!(ticks, TICKS);
    }
}
