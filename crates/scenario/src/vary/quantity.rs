//! Ends of a range: numbers, and texts of a number with a unit. They are drawn in the base unit (ns, bit/s, bytes, ...)
//! and written with a unit again.

use ackclock_net::queue::{Limit, QueueLimit};
use ackclock_units::{Amount, Bandwidth, Bytes, SimDuration};

use crate::file::{EventRate, Rate};
use crate::tree::Value;

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// No unit.
    Bare,
    Nanoseconds,
    BitsPerSecond,
    Bytes,
    Packets,
    Segments,
    /// Millionths of the bandwidth-delay product.
    Bdp,
    EventsPerSecond,
}

/// A number of base units; counts and quantities kept as integers are drawn as integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Real(f64),
}

impl Unit {
    /// The unit in words, for errors.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Bare => "a number without a unit",
            Self::Nanoseconds => "a time",
            Self::BitsPerSecond => "a data rate",
            Self::Bytes => "an amount of data",
            Self::Packets => "a number of packets",
            Self::Segments => "a number of segments",
            Self::Bdp => "a part of the bandwidth-delay product",
            Self::EventsPerSecond => "a number in a time",
        }
    }

    /// `number` as a scenario writes it. Whole numbers with a unit come from ranges between `u64`s.
    pub(crate) fn write(self, number: Number) -> Value {
        let whole = match number {
            Number::Real(real) if self == Self::EventsPerSecond => return Value::Text(EventRate(real).to_string()),
            Number::Real(real) => return Value::Float(real),
            Number::Whole(whole) if self == Self::Bare => return Value::Integer(whole),
            Number::Whole(whole) => u64::try_from(whole).unwrap_or(u64::MAX),
        };
        Value::Text(match self {
            Self::Nanoseconds => SimDuration(whole).to_string(),
            Self::BitsPerSecond => Bandwidth(whole).to_string(),
            Self::Bytes => Bytes(whole).to_string(),
            Self::Segments => Amount::Segments(whole).to_string(),
            Self::Bdp => Limit::Bdp(whole).to_string(),
            Self::Packets | Self::Bare | Self::EventsPerSecond => Limit::Of(QueueLimit::Packets(whole)).to_string(),
        })
    }
}

/// The number that `value` is, with its unit; `None` if it is not a number, as "unlimited".
pub(crate) fn read_number(value: &Value) -> Option<(Unit, Number)> {
    match value {
        Value::Integer(whole) => Some((Unit::Bare, Number::Whole(*whole))),
        Value::Float(real) if real.is_finite() => Some((Unit::Bare, Number::Real(*real))),
        Value::Text(text) => read_text(text),
        _ => None,
    }
}

fn read_text(text: &str) -> Option<(Unit, Number)> {
    let whole = |unit, number: u64| Some((unit, Number::Whole(number.into())));
    match text.parse() {
        Ok(Limit::Of(QueueLimit::Packets(count))) => return whole(Unit::Packets, count),
        Ok(Limit::Of(QueueLimit::Bytes(bytes))) => return whole(Unit::Bytes, bytes.0),
        Ok(Limit::Of(QueueLimit::Time(time))) => return whole(Unit::Nanoseconds, time.0),
        Ok(Limit::Bdp(millionths)) => return whole(Unit::Bdp, millionths),
        Ok(Limit::UNLIMITED) | Err(_) => {}
    }
    if let Ok(Rate(rate)) = text.parse() {
        return whole(Unit::BitsPerSecond, rate.0);
    }
    if let Ok(Amount::Segments(count)) = text.parse() {
        return whole(Unit::Segments, count);
    }
    let EventRate(rate) = text.parse().ok()?;
    Some((Unit::EventsPerSecond, Number::Real(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_in_its_base_and_written_again() {
        // by hand: 30 ms = 30e6 ns, 1.5 Mbit/s = 1.5e6 bit/s, 64 kB = 64e3 bytes, 0.25 bdp = 250000 millionths
        let cases = [
            ("30 ms", Unit::Nanoseconds, 30_000_000),
            ("1.5 Mbit/s", Unit::BitsPerSecond, 1_500_000),
            ("64 kB", Unit::Bytes, 64_000),
            ("100 packets", Unit::Packets, 100),
            ("10 segments", Unit::Segments, 10),
            ("0.25 bdp", Unit::Bdp, 250_000),
        ];
        for (text, unit, number) in cases {
            let read = read_number(&Value::Text(text.to_owned()));
            assert_eq!(read, Some((unit, Number::Whole(number))), "{text}");
            let Value::Text(written) = unit.write(Number::Whole(number)) else { panic!("{text} became no text") };
            assert_eq!(written, text);
        }
        let rate = read_number(&Value::Text("3 /ms".to_owned()));
        assert_eq!(rate, Some((Unit::EventsPerSecond, Number::Real(3_000.0))));
    }

    #[test]
    fn words_are_no_numbers() {
        for text in ["unlimited", "infinite", "ethernet", "cubic", "", "5"] {
            assert_eq!(read_number(&Value::Text(text.to_owned())), None, "{text:?}");
        }
    }
}
