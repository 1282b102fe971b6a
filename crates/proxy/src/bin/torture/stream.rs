//! Streams whose octets show their place.

/// The octets of a stream from `from` on: eight at a time, a number mixed from their place and the stream's own.
pub(crate) fn fill(stream: u64, from: u64, octets: &mut [u8]) {
    for (offset, octet) in octets.iter_mut().enumerate() {
        let place = from + offset as u64;
        *octet = mixed((stream << 48) ^ (place / 8)).to_le_bytes()[(place % 8) as usize];
    }
}

/// True if `octets` are those of the stream from `from` on.
pub(crate) fn is_right(stream: u64, from: u64, octets: &[u8]) -> bool {
    let mut expected = vec![0; octets.len()];
    fill(stream, from, &mut expected);
    expected == octets
}

/// Steele, Lea and Flood 2014: the finaliser of `SplitMix64`, written from memory; any good mixture would do.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A small stream of random numbers, for cases that are drawn.
pub(crate) struct Random(pub u64);

impl Random {
    /// A number below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 += 1;
        mixed(self.0) % most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_right_at_its_place_alone() {
        let mut octets = [0; 100];
        fill(1, 1000, &mut octets);
        assert!(is_right(1, 1000, &octets) && is_right(1, 1010, &octets[10..]));
        assert!(!is_right(1, 1001, &octets) && !is_right(2, 1000, &octets));
    }
}
