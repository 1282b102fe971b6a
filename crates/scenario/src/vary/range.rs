//! Ranges from which numbers are drawn, and the laws of the draws.
//!
//! Whole numbers (all quantities with a unit but events in a time, counts) are drawn from low to high, both included.
//! `uniform`: each is as likely. `log_uniform`: k has the probability ln((k + 1) / k) / ln((high + 1) / low), that is, the
//! floor of a number whose logarithm is uniform between those of low and high + 1. Real numbers: the value, or its
//! logarithm, is uniform from low to high.

use ackclock_units::{RandomStream, math};

use super::quantity::{Number, Unit};
use crate::tree::Value;

/// The distribution of numbers over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Uniform,
    LogUniform,
}

/// A range with its law; `low` is at most `high`, and above zero under `LogUniform`.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    law: Law,
    unit: Unit,
    ends: Ends,
}

#[derive(Clone, Copy, Debug)]
enum Ends {
    Whole(i128, i128),
    Real(f64, f64),
}

impl Range {
    /// The range from `low` to `high`, real if `is_real` or if an end is; else what is wrong, and the remedy.
    pub(crate) fn new(
        law: Law,
        (low_unit, low): (Unit, Number),
        (high_unit, high): (Unit, Number),
        is_real: bool,
    ) -> Result<Self, (String, String)> {
        if low_unit != high_unit {
            let what = format!(
                "must have ends of the same quantity: it goes from {} to {}",
                low_unit.describe(),
                high_unit.describe()
            );
            return Err((what, "give both ends in units of the same quantity".to_owned()));
        }
        let ends = match (low, high) {
            (Number::Whole(low), Number::Whole(high)) if !is_real => Ends::Whole(low, high),
            (low, high) => Ends::Real(low.as_real(), high.as_real()),
        };
        let (is_falling, is_positive) = match ends {
            Ends::Whole(low, high) => (low > high, low > 0),
            Ends::Real(low, high) => (low > high, low > 0.0),
        };
        if is_falling {
            return Err(("must not begin above its end".to_owned(), "write the smaller number first".to_owned()));
        }
        if law == Law::LogUniform && !is_positive {
            let remedy = "begin above 0, or draw with uniform, which can begin at 0".to_owned();
            return Err(("must begin above 0 to have a logarithm".to_owned(), remedy));
        }
        let fits = |end| u64::try_from(end).is_ok() || i64::try_from(end).is_ok();
        match ends {
            Ends::Whole(low, high) if !(fits(low) && fits(high)) => {
                Err(("must fit an integer".to_owned(), "stay between -2^63 and 2^64 - 1".to_owned()))
            }
            _ => Ok(Self { law, unit: low_unit, ends }),
        }
    }

    pub(crate) fn lowest(&self) -> Value {
        self.unit.write(match self.ends {
            Ends::Whole(low, _) => Number::Whole(low),
            Ends::Real(low, _) => Number::Real(low),
        })
    }

    pub(crate) fn highest(&self) -> Value {
        self.unit.write(match self.ends {
            Ends::Whole(_, high) => Number::Whole(high),
            Ends::Real(_, high) => Number::Real(high),
        })
    }

    pub(crate) fn draw(&self, stream: &mut RandomStream) -> Value {
        self.unit.write(match (self.ends, self.law) {
            (Ends::Whole(low, high), Law::Uniform) => Number::Whole(low + below(high - low + 1, stream)),
            (Ends::Whole(low, high), Law::LogUniform) => {
                let drawn = log_uniform(low as f64, (high + 1) as f64, stream.uniform());
                Number::Whole((drawn as i128).clamp(low, high))
            }
            (Ends::Real(low, high), Law::Uniform) => {
                // weights, not low + share * (high - low), which could overflow
                let share = stream.uniform();
                Number::Real((low * (1.0 - share) + high * share).clamp(low, high))
            }
            (Ends::Real(low, high), Law::LogUniform) => {
                Number::Real(log_uniform(low, high, stream.uniform()).clamp(low, high))
            }
        })
    }
}

impl Number {
    fn as_real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }
}

/// A whole number from 0 to `count` - 1, each as likely to within `count` / 2^64. `count` is from 1 to 2^65.
fn below(count: i128, stream: &mut RandomStream) -> i128 {
    let count = count.unsigned_abs();
    let (high, low) = (u128::from(stream.bits()), count & u128::from(u64::MAX));
    // bits / 2^64 * count, rounded down; in two parts, since a count can have 66 bits
    let whole = (count >> 64) * high + ((low * high) >> 64);
    i128::try_from(whole.min(count - 1)).unwrap_or(0)
}

/// A number from `low` to `high`; its logarithm is at `share` of the way between their logarithms.
fn log_uniform(low: f64, high: f64, share: f64) -> f64 {
    let (from, to) = (math::ln(low), math::ln(high));
    math::exp(from + share * (to - from))
}

/// The index of one of `count` things, each as likely.
pub(crate) fn pick(count: usize, stream: &mut RandomStream) -> usize {
    usize::try_from(below(count.max(1) as i128, stream)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
