//! Dropout: each hidden node is dropped with some probability in a learning step.
//!
//! Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, JMLR 15, 2014. Departures: nodes that stay are
//! scaled by `1 / (1 - p)` while learning, and not by `1 - p` afterwards; the probability is a whole number of 65536ths.

use ackclock_units::RandomStream;

/// The draws of 16 bits in one of 64.
const LANES: usize = 4;

/// The dropout of hidden nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dropout {
    /// The bound of 16 random bits below which a node is dropped.
    threshold: u16,
    /// The factor of the remaining nodes.
    scale: f32,
}

impl Dropout {
    /// A dropout with `probability`, which is at least 0 and below 1.
    pub(crate) fn new(probability: f64) -> Self {
        let threshold = (probability * 65_536.0).round().min(65_535.0);
        Self { threshold: threshold as u16, scale: (1.0 / (1.0 - threshold / 65_536.0)) as f32 }
    }

    /// Fills `factors` with 0 or the scale.
    pub(crate) fn draw(self, factors: &mut [f32], random: &mut RandomStream) {
        if self.threshold == 0 {
            return factors.fill(1.0);
        }
        for group in factors.chunks_mut(LANES) {
            let bits = random.bits();
            for (lane, factor) in group.iter_mut().enumerate() {
                let drawn = (bits >> (16 * lane)) as u16;
                *factor = if drawn < self.threshold { 0.0 } else { self.scale };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_silent_and_the_mean_is_kept() {
        let mut factors = vec![0.0; 100_000];
        Dropout::new(0.25).draw(&mut factors, &mut RandomStream::new(1, "dropout"));
        let silent = factors.iter().filter(|factor| **factor == 0.0).count();
        // 25 000, with a standard deviation of sqrt(1e5 * 0.25 * 0.75) = 137
        assert!((24_300..25_700).contains(&silent), "{silent}");
        assert!(factors.iter().all(|factor| *factor == 0.0 || *factor == 1.0 / 0.75));
    }

    #[test]
    fn without_dropout_nothing_is_drawn() {
        let (mut random, mut factors) = (RandomStream::new(1, "dropout"), [0.0; 5]);
        Dropout::new(0.0).draw(&mut factors, &mut random);
        assert_eq!(factors, [1.0; 5]);
        assert_eq!(random.bits(), RandomStream::new(1, "dropout").bits());
    }
}
