//! 32-bit sequence numbers that wrap, and their way to and from the 64-bit offsets used inside.

/// A sequence number modulo 2^32. It has no order of its own: compare offsets, or use [`Seq::offset_near`] or
/// [`Seq::is_after`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seq(pub u32);

impl Seq {
    /// The sequence number of `offset`, where offset 0 is the connection's initial sequence number.
    pub fn of_offset(initial: u32, offset: u64) -> Self {
        Self(initial.wrapping_add(offset as u32))
    }

    /// The number `octets` further on.
    #[must_use]
    pub fn advanced_by(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }

    /// The offset that this number means, taken as the one nearest to `reference`; `None` if that would lie before
    /// offset zero.
    pub fn offset_near(self, initial: u32, reference: u64) -> Option<u64> {
        let relative = self.0.wrapping_sub(initial).wrapping_sub(reference as u32);
        reference.checked_add_signed(i64::from(relative as i32))
    }

    /// True if this number means a higher offset than `offset`, taken as the one nearest to it.
    #[inline]
    pub fn is_after(self, initial: u32, offset: u64) -> bool {
        self.0.wrapping_sub(initial).wrapping_sub(offset as u32) as i32 > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_the_wrap() {
        let initial = u32::MAX - 10;
        for offset in [0, 11, 1 << 31, (1 << 32) + 5, 10_000_000_000] {
            let seq = Seq::of_offset(initial, offset);
            assert_eq!(seq.offset_near(initial, offset), Some(offset));
            assert_eq!(seq.offset_near(initial, offset + 1_000_000), Some(offset));
            assert_eq!(seq.offset_near(initial, offset.saturating_sub(1_000_000)), Some(offset));
        }
    }

    #[test]
    fn a_number_is_after_the_offsets_below_it_across_the_wrap() {
        let seq = Seq(9); // of offset 20
        let is_after = |offset| seq.is_after(u32::MAX - 10, offset);
        assert!(is_after(19) && !is_after(20) && !is_after(21));
        assert!(is_after((1 << 32) + 19) && !is_after((1 << 32) + 20));
    }

    #[test]
    fn a_number_before_the_beginning_has_no_offset() {
        assert_eq!(Seq(99).offset_near(100, 0), None);
    }
}
