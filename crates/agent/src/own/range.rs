//! The values of a user's observation.

use serde_json::{Value as Json, json};

use crate::observation::{Scale, scaled};

/// Values of a user's observation, and their map into [-1, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservationRange {
    low: f64,
    high: f64,
    scale: Scale,
}

impl ObservationRange {
    /// Any number, without scaling.
    pub const ANY: Self = Self::new(f64::NEG_INFINITY, f64::INFINITY);

    /// The range from `low` to `high`, which are scaled to -1 and 1.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high, scale: Scale::Linear }
    }

    /// The range with logarithmic scaling from 0 to 1, for values over several decades. It turns from linear to
    /// logarithmic at `unit`.
    #[must_use]
    pub const fn logarithmic_from(self, unit: f64) -> Self {
        Self { scale: Scale::Log { unit }, ..self }
    }

    /// The range from a description of another language, or from beyond another boundary: `low`, `high` and
    /// `logarithmic_from`, each a number or null.
    pub fn of_description(description: &Json) -> Self {
        let number = |key: &str| description[key].as_f64();
        let (low, high) = (number("low").unwrap_or(f64::NEG_INFINITY), number("high").unwrap_or(f64::INFINITY));
        let range = Self::new(low, high);
        number("logarithmic_from").map_or(range, |unit| range.logarithmic_from(unit))
    }

    /// The description for [`Self::of_description`].
    pub fn describe(&self) -> Json {
        let unit = if let Scale::Log { unit } = self.scale { Some(unit) } else { None };
        json!({ "low": self.low, "high": self.high, "logarithmic_from": unit })
    }

    /// Mistake in the range, if any.
    pub fn mistake(&self) -> Option<String> {
        let Self { low, high, scale } = *self;
        if low.is_nan() || high.is_nan() || low >= high {
            return Some(format!("has low = {low}, which is not below high = {high}"));
        }
        match scale {
            Scale::Log { unit } if !unit.is_finite() || unit <= 0.0 => {
                Some(format!("is logarithmic from {unit}; give a number above 0"))
            }
            Scale::Log { .. } if low < 0.0 => Some(format!("is logarithmic and has low = {low}; give at least 0")),
            _ => None,
        }
    }

    /// True if its values can be scaled to [-1, 1].
    pub(crate) fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The value for the agent, scaled or not.
    pub(crate) fn shown(&self, value: f64, is_scaled: bool) -> f64 {
        let Self { low, high, scale } = *self;
        let value = if value.is_nan() { low } else { value.clamp(low, high) };
        match scale {
            _ if !is_scaled => value,
            Scale::Linear => 2.0 * (value - low) / (high - low) - 1.0,
            Scale::Log { .. } => scaled(value, high, scale),
        }
    }

    /// The least and greatest of [`Self::shown`].
    pub(crate) fn bounds(&self, is_scaled: bool) -> (f64, f64) {
        (self.shown(self.low, is_scaled), self.shown(self.high, is_scaled))
    }
}
