//! Ranges of numbers and quantities, with open or closed ends, and their words.

use std::fmt::Display;

use ackclock_units::{Bandwidth, Bytes, SimDuration};

/// The type of a range's ends.
pub trait Bound: Clone + PartialOrd + Display + Send + Sync + 'static {
    /// The next larger value; itself at the end of the type.
    #[must_use]
    fn next(&self) -> Self;

    /// The next smaller value; itself at the end of the type.
    #[must_use]
    fn previous(&self) -> Self;

    /// The smallest and the largest value that a scenario can write.
    fn ends() -> (Self, Self);

    /// A value between the two.
    #[must_use]
    fn between(&self, other: &Self) -> Self;

    /// The value in words.
    fn in_words(&self) -> String {
        self.to_string()
    }
}

impl Bound for f64 {
    fn next(&self) -> Self {
        self.next_up().min(Self::MAX)
    }
    fn previous(&self) -> Self {
        self.next_down().max(Self::MIN)
    }
    fn ends() -> (Self, Self) {
        (Self::MIN, Self::MAX)
    }
    fn between(&self, other: &Self) -> Self {
        self / 2.0 + other / 2.0
    }
    fn in_words(&self) -> String {
        number_text(*self)
    }
}

/// A number in its shortest form without loss: with an exponent where there would be many zeros.
pub(crate) fn number_text(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-4..1e7).contains(&size) { number.to_string() } else { format!("{number:e}") }
}

macro_rules! bound_by_integers {
    ($($type:ty),*) => {
        $(impl Bound for $type {
            fn next(&self) -> Self {
                self.saturating_add(1)
            }
            fn previous(&self) -> Self {
                self.saturating_sub(1)
            }
            fn ends() -> (Self, Self) {
                (Self::MIN, Self::MAX)
            }
            fn between(&self, other: &Self) -> Self {
                self / 2 + other / 2
            }
        })*
    };
}

bound_by_integers!(u8, u16, u32, u64, usize, i64);

macro_rules! bound_by_quantities {
    ($($type:ident: $in_words:path),*) => {
        $(impl Bound for $type {
            fn in_words(&self) -> String {
                $in_words(*self)
            }
            fn next(&self) -> Self {
                Self(self.0.next())
            }
            fn previous(&self) -> Self {
                Self(self.0.previous())
            }
            fn ends() -> (Self, Self) {
                (Self(u64::MIN), Self(u64::MAX))
            }
            fn between(&self, other: &Self) -> Self {
                Self(self.0.between(&other.0))
            }
        })*
    };
}

bound_by_quantities!(SimDuration: as_written, Bytes: bytes_in_words, Bandwidth: as_written);

fn as_written(quantity: impl Display) -> String {
    quantity.to_string()
}

/// The amount in words, in binary units if it is round in these.
fn bytes_in_words(amount: Bytes) -> String {
    if amount == Bytes(1) {
        return "1 byte".to_owned();
    }
    let units = [("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20)];
    let round = units.iter().find(|(_, bits)| amount.0 > 0 && amount.0.trailing_zeros() >= *bits);
    round.map_or_else(|| amount.to_string(), |(unit, bits)| format!("{} {unit}", amount.0 >> bits))
}

/// The bound of values without order: a range of them has no ends.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Unordered {}

impl Display for Unordered {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl Bound for Unordered {
    fn next(&self) -> Self {
        match *self {}
    }
    fn previous(&self) -> Self {
        match *self {}
    }
    fn ends() -> (Self, Self) {
        unreachable!("asked of ordered values only")
    }
    fn between(&self, _: &Self) -> Self {
        match *self {}
    }
}

/// An end of a range: the value, and whether it belongs to the range.
#[derive(Clone, Debug, PartialEq)]
struct End<B> {
    at: B,
    is_in: bool,
}

/// A requirement on a value; without ends every value meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Range<B> {
    least: Option<End<B>>,
    most: Option<End<B>>,
}

impl<B> Range<B> {
    /// Every value of the type.
    pub const ALL: Self = Self { least: None, most: None };
}

impl<B: Bound> Range<B> {
    pub(crate) fn from(&mut self, at: B, is_in: bool) {
        self.least = Some(End { at, is_in });
    }

    pub(crate) fn to(&mut self, at: B, is_in: bool) {
        self.most = Some(End { at, is_in });
    }

    /// True if `value` is in the range.
    pub fn holds(&self, value: &B) -> bool {
        let above = self.least.as_ref().is_none_or(|end| *value > end.at || end.is_in && *value == end.at);
        let below = self.most.as_ref().is_none_or(|end| *value < end.at || end.is_in && *value == end.at);
        above && below
    }

    /// The range in words: "more than 0 and at most 100 ms"; empty if it holds every value.
    #[inline(never)]
    pub fn in_words(&self, unit: &str) -> String {
        let words = |end: &End<B>, closed: &str, open: &str| {
            format!("{} {}", if end.is_in { closed } else { open }, end.at.in_words())
        };
        let least = self.least.as_ref().map(|end| words(end, "at least", "more than"));
        let most = self.most.as_ref().map(|end| words(end, "at most", "less than"));
        let both: Vec<String> = [least, most].into_iter().flatten().collect();
        let Some(end) = both.last() else { return String::new() };
        // what is counted, as segments, and not a symbol, as ms
        let one = unit.strip_suffix('s').filter(|word| word.len() > 2 && end.ends_with(" 1"));
        let unit = one.unwrap_or(unit);
        format!("{} {unit}", both.join(" and ")).trim_end().to_owned()
    }

    /// Values in the range: its ends, or their neighbours, and some between.
    #[inline(never)]
    pub(crate) fn inside(&self) -> Vec<B> {
        let (smallest, largest) = B::ends();
        let least = self.least.as_ref().map_or(smallest, |end| if end.is_in { end.at.clone() } else { end.at.next() });
        let most = self.most.as_ref().map_or(largest, |end| if end.is_in { end.at.clone() } else { end.at.previous() });
        let middle = least.between(&most);
        let few = least.between(&middle);
        let mut values = vec![least, few, middle, most];
        values.dedup();
        values.retain(|value| self.holds(value));
        values
    }

    /// Values outside the range, next to its ends.
    #[inline(never)]
    pub(crate) fn outside(&self) -> Vec<B> {
        let below = self.least.as_ref().map(|end| if end.is_in { end.at.previous() } else { end.at.clone() });
        let above = self.most.as_ref().map(|end| if end.is_in { end.at.next() } else { end.at.clone() });
        [below, above].into_iter().flatten().filter(|value| !self.holds(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range<B: Bound>(least: Option<(B, bool)>, most: Option<(B, bool)>) -> Range<B> {
        let mut range = Range::ALL;
        if let Some((at, is_in)) = least {
            range.from(at, is_in);
        }
        if let Some((at, is_in)) = most {
            range.to(at, is_in);
        }
        range
    }

    #[test]
    fn says_its_ends_and_whether_they_belong_to_it() {
        let target = range(Some((SimDuration::ZERO, false)), Some((SimDuration::from_millis(100), true)));
        assert_eq!(target.in_words(""), "more than 0 ns and at most 100 ms");
        assert_eq!(range(Some((1_u32, true)), None).in_words("segments"), "at least 1 segment");
        assert_eq!(
            range(Some((1_u32, true)), Some((2_u32, false))).in_words("rounds"),
            "at least 1 and less than 2 rounds"
        );
        assert_eq!(range(Some((1.0, true)), None).in_words("ms"), "at least 1 ms");
        assert_eq!(range(Some((Bytes(1), true)), None).in_words(""), "at least 1 byte");
        assert_eq!(range::<f64>(None, Some((1e-7, false))).in_words(""), "less than 1e-7");
        assert_eq!(Range::<f64>::ALL.in_words("segments"), "");
    }

    #[test]
    fn open_ends_are_out_and_closed_ones_in() {
        let fraction = range(Some((0.0, false)), Some((1.0, true)));
        assert!(fraction.holds(&f64::MIN_POSITIVE) && fraction.holds(&1.0));
        assert!(!fraction.holds(&0.0) && !fraction.holds(&1.000_000_1) && !fraction.holds(&f64::NAN));
    }

    #[test]
    fn the_values_for_tests_lie_at_the_ends() {
        let few = range(Some((2_u64, true)), Some((7, false)));
        assert_eq!(few.inside(), [2, 3, 4, 6]); // 2/2 + 6/2 = 4, 2/2 + 4/2 = 3
        assert_eq!(few.outside(), [1, 7]);
        let any = range::<u64>(Some((0, true)), None);
        assert_eq!(any.outside(), Vec::<u64>::new()); // nothing is below 0
        assert_eq!(range(Some((0.0, false)), None).outside(), [0.0]);
    }
}
