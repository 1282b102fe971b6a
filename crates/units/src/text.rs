//! "number unit" in text, exactly: decimals are scaled as integers and never pass through floating point.

use std::fmt;

/// The units of one quantity, with what an error needs to be helpful.
pub(crate) struct UnitTable {
    pub(crate) quantity: &'static str,
    pub(crate) example: &'static str,
    /// The name of the unit whose factor is one.
    pub(crate) base: &'static str,
    pub(crate) units: &'static [(&'static str, u64)],
    /// Words that stand for a whole quantity; written without its hyphens, too.
    pub(crate) names: &'static [(&'static str, u64)],
    /// Units to write with, largest first.
    pub(crate) written: &'static [&'static str],
}

/// A text that is not a quantity, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    what: String,
}

impl ParseQuantityError {
    /// The error that `text` is wrong as `what` says, for quantities that are made of those of this crate.
    pub fn new(text: &str, what: String) -> Self {
        Self { text: text.to_owned(), what }
    }

    /// The mistake without the text itself, for messages that contain the text already.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.text, self.what)
    }
}

impl std::error::Error for ParseQuantityError {}

pub(crate) fn parse_quantity(text: &str, table: &UnitTable) -> Result<u64, ParseQuantityError> {
    let text = text.trim();
    if let Some((_, value)) = table.names.iter().find(|(name, _)| without_hyphens(name).eq(without_hyphens(text))) {
        return Ok(*value);
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    // `which` says what of the quantity `text` lacks.
    let wrong = |which: &str| {
        let gap = if which.is_empty() { "" } else { " " };
        let what = format!("must be {}{gap}{which}; write it like {:?}", table.quantity, table.example);
        ParseQuantityError::new(text, what)
    };
    // The letter and the sign look alike: U+03BC is U+00B5.
    let (number, unit) = (&text[..split], text[split..].trim().replace('\u{3bc}', "\u{b5}"));
    if text.starts_with('-') {
        return Err(wrong("that is not negative"));
    }
    if number.is_empty() {
        return Err(ParseQuantityError::new(text, wrong("").what + &listed(table.names)));
    }
    if unit.starts_with(['e', 'E']) && unit[1..].starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-') {
        return Err(wrong("in plain digits: powers of ten are not read"));
    }
    let Some(&(_, factor)) = table.units.iter().find(|(name, _)| *name == unit) else {
        let known: Vec<&str> = table.units.iter().map(|(name, _)| *name).collect();
        let what = wrong(if unit.is_empty() { "with a unit" } else { "in a known unit" }).what;
        return Err(ParseQuantityError::new(text, format!("{what} (units: {})", known.join(", "))));
    };
    scale(number, factor).map_err(|problem| {
        wrong(&match problem {
            Unscaled::NoNumber => "with one number".to_owned(),
            Unscaled::TooFine => format!("of whole {}, of which this is not a multiple", table.base),
            Unscaled::TooLarge => format!("of less than 2^64 {}", table.base),
        })
    })
}

fn without_hyphens(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|letter| *letter != '-')
}

/// ` (names: DS1, DS3)`.
fn listed(names: &[(&str, u64)]) -> String {
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    if names.is_empty() { String::new() } else { format!(" (names: {})", names.join(", ")) }
}

/// Reason for which a number in some unit is not one in the base unit.
enum Unscaled {
    NoNumber,
    TooFine,
    TooLarge,
}

/// `number * factor` for a decimal in text, if the product is an integer that fits.
fn scale(number: &str, factor: u64) -> Result<u64, Unscaled> {
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(Unscaled::NoNumber);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let whole = whole.parse().ok().and_then(|whole: u64| whole.checked_mul(factor)).ok_or(Unscaled::TooLarge)?;
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return Ok(whole);
    }
    // So many decimals that 128 bits do not hold them are finer than any unit.
    let ten = u32::try_from(fraction.len()).ok().and_then(|places| 10_u128.checked_pow(places));
    let part = fraction.parse().ok().and_then(|part: u128| part.checked_mul(u128::from(factor)));
    let (Some(ten), Some(part)) = (ten, part) else { return Err(Unscaled::TooFine) };
    if part % ten != 0 {
        return Err(Unscaled::TooFine);
    }
    u64::try_from(part / ten).ok().and_then(|part| whole.checked_add(part)).ok_or(Unscaled::TooLarge)
}

/// Writes `value` in the largest unit that keeps at most six decimals, exactly if there is one.
pub(crate) fn write_quantity(f: &mut fmt::Formatter<'_>, value: u64, table: &UnitTable) -> fmt::Result {
    let factor_of = |name: &str| table.units.iter().find(|(unit, _)| *unit == name).map_or(1, |(_, factor)| *factor);
    for name in table.written {
        let factor = factor_of(name);
        let exact = factor <= 1_000_000 || value.is_multiple_of(factor / 1_000_000);
        if value >= factor && exact {
            let (whole, rest) = (value / factor, value % factor);
            if rest == 0 {
                return write!(f, "{whole} {name}");
            }
            let decimals = format!("{:0width$}", rest, width = decimal_places(factor));
            return write!(f, "{whole}.{} {name}", decimals.trim_end_matches('0'));
        }
    }
    write!(f, "{value} {}", table.base)
}

fn decimal_places(factor: u64) -> usize {
    factor.ilog10() as usize
}

#[cfg(test)]
mod tests {
    use crate::{Bandwidth, Bytes, SimDuration};

    #[test]
    fn reads_the_forms_of_the_scenario_language() {
        assert_eq!("30 ms".parse(), Ok(SimDuration(30_000_000)));
        assert_eq!("0.513 s".parse(), Ok(SimDuration(513_000_000)));
        assert_eq!("10us".parse(), Ok(SimDuration(10_000)));
        // Unicode 17, table 7-2: the Greek letter is the preferred of the two.
        assert_eq!(["10 \u{b5}s".parse(), "10 \u{3bc}s".parse()], [Ok(SimDuration(10_000)), Ok(SimDuration(10_000))]);
        assert_eq!("44.736 Mbit/s".parse(), Ok(Bandwidth(44_736_000)));
        assert_eq!("50 MB".parse(), Ok(Bytes(50_000_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
    }

    #[test]
    fn refuses_what_it_cannot_hold_exactly() {
        for text in ["0.5 ns", "-3 ms", "3", "ms", "1 parsec", "1.2.3 s", "999999999999 h", "1e3 ms", ""] {
            let error = text.parse::<SimDuration>().expect_err(text).to_string();
            assert!(error.contains("30 ms") || error.contains("ns"), "no remedy in: {error}");
        }
    }

    #[test]
    fn says_of_a_power_of_ten_what_it_is() {
        let error = "1e30 bit/s".parse::<Bandwidth>().expect_err("not read").to_string();
        assert!(error.contains("powers of ten are not read"), "{error}");
    }

    #[test]
    fn writes_what_it_read() {
        for text in ["30 ms", "1.5 s", "44.736 Mbit/s", "10 Gbit/s", "999 ns", "0 ns"] {
            let written = match text.parse::<SimDuration>() {
                Ok(duration) => duration.to_string(),
                Err(_) => text.parse::<Bandwidth>().unwrap().to_string(),
            };
            assert_eq!(written, text);
        }
    }

    #[test]
    fn what_is_wrong_with_a_number_is_said() {
        let what = |text: &str| text.parse::<SimDuration>().expect_err(text).what().to_owned();
        assert!(what("0.1 ns").starts_with("must be a duration of whole ns, of which this is not a multiple"));
        assert!(what("0.00000000000000000000000000000000000000001 s").starts_with("must be a duration of whole ns"));
        // 2^64 ns are 18,446,744,073.7 s
        assert!(what("18446744074 s").starts_with("must be a duration of less than 2^64 ns"));
        assert!(what("99999999999999999999999 ns").starts_with("must be a duration of less than 2^64 ns"));
        assert!(what("1.2.3 s").starts_with("must be a duration with one number"));
        assert_eq!("18446744073 s".parse(), Ok(SimDuration(18_446_744_073_000_000_000)));
    }
}
