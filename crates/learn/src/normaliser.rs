//! The scaling of numbers with different units to inputs of a network.
//!
//! Source: `LeCun`, Bottou, Orr, Mueller, "Efficient `BackProp`", 1998, section 4.3, for inputs of mean 0 and deviation
//! 1; Welford 1962 for the running moments. Departures: numbers beyond five deviations are clamped to five.

/// Method of normalising an agent's observations.
#[derive(Clone, Debug, PartialEq)]
pub enum Normalisation {
    /// No normalisation.
    Raw,
    /// Division of each number by its own constant.
    Scale(Vec<f64>),
    /// Normalisation by mean and standard deviation of all observations so far.
    Running,
}

/// The bound of normalised numbers, in deviations.
const FARTHEST: f32 = 5.0;

/// A normaliser, which scales numbers with different units to inputs of a network. Source and departures:
/// [`mod@crate::normaliser`].
#[derive(Clone, Debug)]
pub struct Normaliser {
    is_running: bool,
    seen: u64,
    means: Vec<f64>,
    /// Sums of squared distances from the mean.
    squares: Vec<f64>,
    /// Numbers that are subtracted, and factors of the rest.
    shifts: Vec<f32>,
    factors: Vec<f32>,
}

impl Normaliser {
    /// A normaliser for rows of `width` numbers.
    pub fn new(normalisation: &Normalisation, width: usize) -> Self {
        let factors = match normalisation {
            Normalisation::Scale(scales) => scales.iter().map(|scale| (1.0 / scale) as f32).collect(),
            Normalisation::Raw | Normalisation::Running => vec![1.0; width],
        };
        let zeros = vec![0.0; width];
        let is_running = *normalisation == Normalisation::Running;
        Self { is_running, seen: 0, means: zeros.clone(), squares: zeros, shifts: vec![0.0; width], factors }
    }

    /// Learns from an observation.
    pub fn observe(&mut self, numbers: &[f32]) {
        if !self.is_running {
            return;
        }
        self.seen += 1;
        let count = self.seen as f64;
        for (at, number) in numbers.iter().enumerate() {
            let number = f64::from(*number);
            let distance = number - self.means[at];
            self.means[at] += distance / count;
            self.squares[at] += distance * (number - self.means[at]);
            let deviation = (self.squares[at] / count).sqrt();
            self.shifts[at] = self.means[at] as f32;
            // A number that never changed says nothing.
            self.factors[at] = if deviation > 1e-6 * self.means[at].abs() { (1.0 / deviation) as f32 } else { 0.0 };
        }
    }

    /// The subtracted numbers, the factors of the rest, and the bound of the product.
    pub fn parameters(&self) -> (&[f32], &[f32], Option<f32>) {
        (&self.shifts, &self.factors, self.is_running.then_some(FARTHEST))
    }

    /// One of the numbers, normalised.
    pub fn apply(&self, at: usize, number: f32) -> f32 {
        let value = (number - self.shifts[at]) * self.factors[at];
        if self.is_running { value.clamp(-FARTHEST, FARTHEST) } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_moments_by_hand() {
        let mut normaliser = Normaliser::new(&Normalisation::Running, 2);
        for number in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            normaliser.observe(&[number, 3.0]);
        }
        // mean 5, variance (9+1+1+1+0+0+4+16)/8 = 4
        assert_eq!((normaliser.apply(0, 9.0), normaliser.apply(0, 4.0), normaliser.apply(0, 99.0)), (2.0, -0.5, 5.0));
        assert_eq!(normaliser.apply(1, 3.0), 0.0);
    }

    #[test]
    fn scales_divide_and_raw_numbers_stay() {
        let scaled = Normaliser::new(&Normalisation::Scale(vec![100.0, 2.0]), 2);
        assert_eq!((scaled.apply(0, 250.0), scaled.apply(1, 3.0)), (2.5, 1.5));
        assert_eq!(Normaliser::new(&Normalisation::Raw, 1).apply(0, 250.0), 250.0);
    }
}
