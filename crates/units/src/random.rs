//! Random streams: one for each component, derived from the seed and the component's name, so that adding one
//! component changes no other's draws.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{SimDuration, math};

/// A named stream of random numbers (xoshiro256++), the same on every machine.
#[derive(Clone, Debug)]
pub struct RandomStream {
    generator: Xoshiro256PlusPlus,
}

impl RandomStream {
    /// The stream of the component `name` under `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, mixed into the seed; `seed_from_u64` spreads it over the state by SplitMix64.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) }
    }

    /// Uniform in `[0, 1)`, with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 64 bits: the seed of a stream that belongs to this one's component.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Normally distributed with mean 0 and deviation 1, by the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
    /// Its second draw is not kept, so that a stream has no other state than its generator's.
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * math::ln(square) / square).sqrt();
            }
        }
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: SimDuration) -> SimDuration {
        SimDuration((-math::ln(1.0 - self.uniform()) * mean.0 as f64) as u64)
    }
}

/// 64 well-mixed bits of a key: `SplitMix64`'s finaliser (Steele, Lea and Flood 2014), a bijection: no two keys collide.
#[inline]
pub fn mix(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Maps well-mixed bits evenly onto `0..end` by multiplication, without division.
#[inline]
pub fn reduce(mixed: u64, end: u64) -> u64 {
    ((u128::from(mixed) * u128::from(end)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let draw = |seed, name| RandomStream::new(seed, name).uniform().to_bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn mixing_gives_the_published_sequence() {
        // The first outputs of SplitMix64 from the seed 0, as its authors' program prints them: mix(n * gamma) for n = 0, 1.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!((reduce(0, 10), reduce(u64::MAX, 10), reduce(1 << 63, 10)), (0, 9, 5));
    }

    #[test]
    fn the_exponential_has_its_mean() {
        let mut stream = RandomStream::new(7, "test");
        let mean = SimDuration::from_millis(50);
        let total: u64 = (0..100_000).map(|_| stream.exponential(mean).0).sum();
        // the standard error of the mean of 1e5 draws is 0.3 %
        assert!((total as f64 / 1e5 / mean.0 as f64 - 1.0).abs() < 0.015);
    }
}
