//! Random delay of each packet, independent of the others'.
//!
//! Departures: draws are independent; where order is kept, a packet that would arrive too early waits.

use std::sync::LazyLock;

use ackclock_declare::{About, Parts, Review, declare, required};
use ackclock_units::SimDuration;

use crate::effects::{MAX_DELAY, part};
use crate::rng::RandomStream;

declare! {
    /// The uniform distribution between two bounds.
    #[derive(Copy, Eq)]
    pub struct UniformJitter {
        /// Shortest random delay.
        min: SimDuration = SimDuration::ZERO,
        /// Longest random delay.
        max: SimDuration = required(SimDuration::from_millis(5)).at_most(MAX_DELAY),
    }
    check UniformJitter::review;
}

impl UniformJitter {
    fn review(&self, review: &mut Review<'_>) {
        if self.min > self.max {
            review.report("min", format!("must be at most max, which is {}", self.max), "use no more, or a larger max");
        }
    }
}

declare! {
    /// The normal distribution, cut at zero.
    #[derive(Copy, Eq)]
    pub struct NormalJitter {
        /// Mean of the distribution before the cut at zero.
        mean: SimDuration = required(SimDuration::from_millis(10)).at_most(MAX_DELAY),
        /// Standard deviation of the delay.
        deviation: SimDuration = required(SimDuration::from_millis(2)).at_most(MAX_DELAY),
    }
}

declare! {
    /// Exponential distribution of the delay.
    #[derive(Copy, Eq)]
    pub struct ExponentialJitter {
        /// Mean of the delay.
        mean: SimDuration = required(SimDuration::from_millis(2)).at_most(MAX_DELAY),
    }
}

/// The distribution of the random part of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// The uniform distribution between two bounds.
    Uniform(UniformJitter),
    /// The normal distribution, cut at zero.
    Normal(NormalJitter),
    /// The exponential distribution.
    Exponential(ExponentialJitter),
}

/// Catalogue entry of jitter.
pub(crate) const ABOUT: About = About {
    name: "jitter",
    aliases: &[],
    summary: "a random delay of each packet, besides the link's: kind uniform, normal or exponential",
    source: "-",
    departures: "draws are independent; where order is kept, a packet that would arrive too early waits",
};

static JITTERS: LazyLock<Parts<Jitter>> = LazyLock::new(|| {
    Parts::new(vec![
        part("uniform", "any time between two bounds is as likely", Jitter::Uniform),
        part("normal", "normally distributed, zero where it would be negative", Jitter::Normal),
        part("exponential", "exponentially distributed", Jitter::Exponential),
    ])
});

/// Every distribution of a random delay that a scenario can name, as it declares itself.
pub fn jitters() -> &'static Parts<Jitter> {
    &JITTERS
}

impl Jitter {
    /// The delay of the next packet.
    pub fn draw(&self, random: &mut RandomStream) -> SimDuration {
        match *self {
            Self::Uniform(UniformJitter { min, max }) => {
                let width = (max - min).0 as f64 + 1.0;
                SimDuration(min.0 + (random.uniform() * width) as u64).min(max)
            }
            Self::Normal(NormalJitter { mean, deviation }) => {
                SimDuration((mean.0 as f64 + random.standard_normal() * deviation.0 as f64) as u64)
            }
            Self::Exponential(ExponentialJitter { mean }) => random.exponential(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of 100 000 draws, and the given quantiles, in milliseconds.
    fn draws(jitter: Jitter, quantiles: [f64; 3]) -> (f64, [f64; 3]) {
        let mut random = RandomStream::new(5, "jitter");
        let mut draws: Vec<f64> = (0..100_000).map(|_| jitter.draw(&mut random).as_millis_f64()).collect();
        draws.sort_by(f64::total_cmp);
        (draws.iter().sum::<f64>() / 1e5, quantiles.map(|quantile| draws[(quantile * 1e5) as usize]))
    }

    fn assert_near(values: [f64; 3], expected: [f64; 3], tolerance: f64) {
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value - expected).abs() < tolerance, "{values:?} instead of {expected:?}");
        }
    }

    #[test]
    fn uniform_jitter_fills_its_range() {
        let jitter =
            Jitter::Uniform(UniformJitter { min: SimDuration::from_millis(2), max: SimDuration::from_millis(10) });
        let (mean, quantiles) = draws(jitter, [0.0, 0.25, 0.999_99]);
        assert!((mean - 6.0).abs() < 0.022, "{mean}"); // deviation 8 / sqrt(12) = 2.3; three standard errors 0.022
        assert_near(quantiles, [2.0, 4.0, 10.0], 0.05);
    }

    #[test]
    fn normal_jitter_has_its_quantiles() {
        let jitter =
            Jitter::Normal(NormalJitter { mean: SimDuration::from_millis(20), deviation: SimDuration::from_millis(4) });
        let (mean, quantiles) = draws(jitter, [0.158_655, 0.5, 0.975]);
        assert!((mean - 20.0).abs() < 0.038, "{mean}");
        // one deviation below, the median, 1.96 deviations above
        assert_near(quantiles, [16.0, 20.0, 27.84], 0.11);
    }

    #[test]
    fn normal_jitter_is_cut_at_zero() {
        let jitter = Jitter::Normal(NormalJitter { mean: SimDuration::ZERO, deviation: SimDuration::from_millis(4) });
        let (mean, quantiles) = draws(jitter, [0.25, 0.49, 0.975]);
        assert!((mean - 4.0 / (2.0 * std::f64::consts::PI).sqrt()).abs() < 0.03, "{mean}"); // half-normal: s / sqrt(2 pi)
        assert_near(quantiles, [0.0, 0.0, 7.84], 0.12);
    }

    #[test]
    fn exponential_jitter_has_its_quantiles() {
        let (mean, quantiles) =
            draws(Jitter::Exponential(ExponentialJitter { mean: SimDuration::from_millis(5) }), [0.5, 0.9, 0.99]);
        assert!((mean - 5.0).abs() < 0.048, "{mean}");
        // 5 ln 2, 5 ln 10, 5 ln 100; the standard error of the last is 0.16
        assert_near(quantiles, [3.466, 11.513, 23.026], 0.5);
    }
}
