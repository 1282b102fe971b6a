//! Steps along a gradient.
//!
//! Source: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1; stochastic gradient
//! descent, Robbins and Monro 1951. Departures: Adam treats slopes below 1e-17, and averages below the normal numbers,
//! as zero. A step differs by less than 1e-9 of the learning rate. Some processors are many times slower with such
//! small numbers, and inactive nodes leave thousands of them.

use ackclock_declare::words;

use pulp::Arch;

/// Adam's decay rates and the constant that keeps its division from zero, as in the paper.
const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The slope below which a slope counts as zero: its share of an average of squares would be below 1e-37, about the
/// least normal number.
const NO_SLOPE: f32 = 1e-17;

words! {
    /// The optimizer's algorithm.
    #[derive(Default)]
    pub enum OptimiserKind {
        /// Adam: steps of a size that each parameter's own gradients decide.
        #[default]
        "adam" = Adam,
        /// Gradient descent: the gradient times the learning rate.
        "sgd" = Sgd,
    }
}

/// An optimiser with its state.
#[derive(Clone, Debug)]
pub struct Optimiser {
    learning_rate: f32,
    adam: Option<Adam>,
}

#[derive(Clone, Debug)]
struct Adam {
    /// Moving averages of the gradient and of its square.
    first: Vec<f32>,
    second: Vec<f32>,
    /// The powers of the decay rates by the steps so far.
    power_1: f64,
    power_2: f64,
}

impl Optimiser {
    /// An optimizer for this number of parameters.
    pub fn new(kind: OptimiserKind, learning_rate: f64, parameters: usize) -> Self {
        let moments = vec![0.0; parameters];
        let adam = Adam { first: moments.clone(), second: moments, power_1: 1.0, power_2: 1.0 };
        Self { learning_rate: learning_rate as f32, adam: (kind == OptimiserKind::Adam).then_some(adam) }
    }

    /// Changes the parameters against the gradient.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        let rate = self.learning_rate;
        match &mut self.adam {
            Some(adam) => adam.step(rate, parameters, gradient),
            None => parameters.iter_mut().zip(gradient).for_each(|(parameter, slope)| *parameter -= rate * slope),
        }
    }
}

impl Adam {
    fn step(&mut self, rate: f32, parameters: &mut [f32], gradient: &[f32]) {
        self.power_1 *= f64::from(BETA_1);
        self.power_2 *= f64::from(BETA_2);
        let correct_1 = (1.0 / (1.0 - self.power_1)) as f32;
        let correct_2 = (1.0 / (1.0 - self.power_2)) as f32;
        let moments = self.first.iter_mut().zip(&mut self.second);
        Arch::new().dispatch(|| {
            for ((parameter, slope), (first, second)) in parameters.iter_mut().zip(gradient).zip(moments) {
                let slope = zero_below(NO_SLOPE, *slope);
                *first = zero_below(f32::MIN_POSITIVE, BETA_1 * *first + (1.0 - BETA_1) * slope);
                *second = zero_below(f32::MIN_POSITIVE, BETA_2 * *second + (1.0 - BETA_2) * (slope * slope));
                *parameter -= rate * (*first * correct_1) / ((*second * correct_2).sqrt() + EPSILON);
            }
        });
    }
}

/// The number, or zero if it is below `least`.
fn zero_below(least: f32, number: f32) -> f32 {
    if number.abs() < least { 0.0 } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f32, expected: f32) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn adams_first_two_steps_by_hand() {
        let mut optimiser = Optimiser::new(OptimiserKind::Adam, 0.1, 3);
        let mut parameters = [1.0, 1.0, 1.0];
        // First step: m = 0.1 g, corrected g; v = 0.001 g^2, corrected g^2: a step of 0.1 g / |g|, whatever the size of g.
        optimiser.step(&mut parameters, &[2.0, -0.01, 0.0]);
        assert!(close(parameters[0], 0.9) && close(parameters[1], 1.1) && parameters[2] == 1.0, "{parameters:?}");
        // Second, gradient 1 after 2: m = 0.9*0.2 + 0.1 = 0.28, / (1 - 0.81) = 1.473 684;
        // v = 0.999*0.004 + 0.001 = 0.004 996, / (1 - 0.998 001) = 2.499 250, root 1.580 902; step 0.1 * 0.932 179
        optimiser.step(&mut parameters, &[1.0, 0.0, 0.0]);
        assert!(close(parameters[0], 0.9 - 0.093_217_9), "{parameters:?}");
    }

    /// Algorithm 1 of the paper, literally.
    fn adam(steps: &[[f32; 4]], parameters: &mut [f32; 4]) {
        let (mut first, mut second, mut powers) = ([0.0; 4], [0.0; 4], (1.0, 1.0));
        for slopes in steps {
            powers = (powers.0 * f64::from(BETA_1), powers.1 * f64::from(BETA_2));
            for (at, slope) in slopes.iter().enumerate() {
                first[at] = BETA_1 * first[at] + (1.0 - BETA_1) * slope;
                second[at] = BETA_2 * second[at] + (1.0 - BETA_2) * (slope * slope);
                let (m, v) =
                    (first[at] * (1.0 / (1.0 - powers.0)) as f32, second[at] * (1.0 / (1.0 - powers.1)) as f32);
                parameters[at] -= 0.001 * m / (v.sqrt() + EPSILON);
            }
        }
    }

    #[test]
    fn what_is_too_small_is_zero_and_changes_no_parameter() {
        // The first has a slope always, the second falls silent, the third fades out to the smallest of numbers, the fourth comes back.
        let slopes = |step: i32| {
            let (early, late) = (step < 10, step > 3_000);
            let fades = 0.97_f32.powi(step) * 1e-3;
            [0.02 * (step as f32).cos(), if early { 0.3 } else { 0.0 }, fades, if early || late { 0.1 } else { 0.0 }]
        };
        let steps: Vec<[f32; 4]> = (0..4_000).map(slopes).collect();
        assert!(steps.iter().any(|slopes| slopes[2].is_subnormal()));
        let mut expected = [0.5, -0.25, 0.125, 1e-3];
        let mut found = expected;
        adam(&steps, &mut expected);
        let mut optimiser = Optimiser::new(OptimiserKind::Adam, 0.001, 4);
        for slopes in &steps {
            optimiser.step(&mut found, slopes);
            let Adam { first, second, .. } = optimiser.adam.as_ref().expect("it is Adam");
            assert!(first.iter().chain(second).all(|moment| !moment.is_subnormal()), "{first:?} {second:?}");
        }
        assert_eq!(found.map(f32::to_bits), expected.map(f32::to_bits));
    }

    #[test]
    fn gradient_descent_by_hand() {
        let mut parameters = [1.0, 2.0];
        Optimiser::new(OptimiserKind::Sgd, 0.5, 2).step(&mut parameters, &[2.0, -1.0]);
        assert_eq!(parameters, [0.0, 2.5]);
    }
}
