//! A batch on its way through a network and back.
//!
//! A batch is kept with its samples side by side: a row for each number, a column for each sample. Back-propagation is
//! Rumelhart, Hinton, Williams 1986: with z the sums of a layer and x its inputs, `dW = dz x^T`, `db = sum dz`,
//! `dx = W^T dz`.

use ackclock_units::RandomStream;

use crate::dropout::Dropout;
use crate::kernel::{Left, Product, transpose};
use crate::network::Network;
use crate::recurrence::Unrolled;

/// Buffers for a batch's numbers in every layer, kept from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    samples: usize,
    /// The inputs of each layer, and last the outputs.
    values: Vec<Vec<f32>>,
    /// The slope of each hidden node's output over its sum; 0 where the rectifier or dropout silences it.
    slopes: Vec<Vec<f32>>,
    /// The first layer, if it takes readings in turn.
    unrolled: Option<Unrolled>,
    transposed: Vec<f32>,
    /// Gradient of the loss by each number of the current layer and of the one before it.
    delta: Vec<f32>,
    before: Vec<f32>,
}

impl Pass {
    /// Buffers for batches of `samples` samples through networks of this shape.
    pub fn new(network: &Network, samples: usize) -> Self {
        let widths = std::iter::once(network.inputs()).chain(network.layers().iter().map(|layer| layer.outputs));
        let values: Vec<Vec<f32>> = widths.map(|width| vec![0.0; width * samples]).collect();
        let slopes = values[1..values.len() - 1].to_vec();
        Self { samples, values, slopes, unrolled: Unrolled::of(network, samples), ..Self::default() }
    }

    /// The inputs to fill: a row for each number, a column for each sample.
    pub fn inputs_mut(&mut self) -> &mut [f32] {
        &mut self.values[0]
    }

    /// Outputs: a row for each output, a column for each sample.
    pub fn outputs(&self) -> &[f32] {
        &self.values[self.values.len() - 1]
    }

    /// Propagates the inputs forward, without dropout.
    pub fn forward(&mut self, network: &Network) {
        self.propagate(network, |slopes| slopes.fill(1.0));
    }

    /// Propagates the inputs forward, with dropout.
    pub(crate) fn forward_with(&mut self, network: &Network, dropout: Dropout, random: &mut RandomStream) {
        self.propagate(network, |slopes| dropout.draw(slopes, random));
    }

    fn propagate(&mut self, network: &Network, mut draw: impl FnMut(&mut [f32])) {
        for (index, layer) in network.layers().iter().enumerate() {
            let (weights, biases) = layer.split(network.parameters());
            let (before, after) = self.values.split_at_mut(index + 1);
            let (inputs, outputs) = (&before[index], &mut after[0]);
            if let (0, Some(unrolled)) = (index, &mut self.unrolled) {
                draw(&mut self.slopes[0]);
                unrolled.forward(network, inputs, &mut self.slopes[0], outputs);
                continue;
            }
            let a = Left::Rows(weights);
            let width = self.samples;
            Product { a, b: inputs, bias: Some(biases), c: outputs, width }.run();
            if let Some(slopes) = self.slopes.get_mut(index) {
                draw(slopes);
                for (slope, value) in slopes.iter_mut().zip(outputs) {
                    *slope = if *value > 0.0 { *slope } else { 0.0 };
                    *value *= *slope;
                }
            }
        }
    }

    /// The gradient of a loss by every parameter, after [`Self::forward`] with the same network. `fill` gets the
    /// outputs and sets the slope of the loss by each of them, in the layout of [`Self::outputs`].
    pub fn backward(&mut self, network: &Network, gradient: &mut [f32], fill: impl FnOnce(&[f32], &mut [f32])) {
        let mut delta = std::mem::take(&mut self.delta);
        delta.clear();
        delta.resize(self.outputs().len(), 0.0);
        fill(self.outputs(), &mut delta);
        for (index, layer) in network.layers().iter().enumerate().rev() {
            if let (0, Some(unrolled)) = (index, &mut self.unrolled) {
                unrolled.backward(network, &mut delta, gradient);
                continue;
            }
            let (weights, biases) = layer.split_mut(gradient);
            transpose(&self.values[index], self.samples, &mut self.transposed);
            let a = Left::Rows(&delta);
            let b = &self.transposed;
            Product { a, b, bias: None, c: weights, width: layer.inputs }.run();
            for (bias, delta) in biases.iter_mut().zip(delta.chunks_exact(self.samples)) {
                *bias = delta.iter().fold(0.0, |sum, value| sum + value);
            }
            if index > 0 {
                self.before.resize(layer.inputs * self.samples, 0.0);
                let a = Left::Columns(layer.split(network.parameters()).0);
                let (c, width) = (&mut self.before, self.samples);
                Product { a, b: &delta, bias: None, c, width }.run();
                for (value, slope) in self.before.iter_mut().zip(&self.slopes[index - 1]) {
                    *value *= *slope;
                }
                std::mem::swap(&mut delta, &mut self.before);
            }
        }
        self.delta = delta;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Shape;

    /// A network over three readings of three numbers.
    fn recurrent() -> (Network, RandomStream) {
        let mut random = RandomStream::new(3, "network");
        let shape = Shape { inputs: 9, readings: 3, hidden: vec![7, 5], outputs: 2 };
        assert_eq!(shape.parameters(), (3 + 7 + 1) * 7 + 8 * 5 + 6 * 2);
        (Network::new(&shape, &mut random), random)
    }

    fn network() -> (Network, RandomStream) {
        let mut random = RandomStream::new(3, "network");
        let shape = Shape { inputs: 3, readings: 1, hidden: vec![7, 5], outputs: 2 };
        assert_eq!(shape.parameters(), 4 * 7 + 8 * 5 + 6 * 2);
        (Network::new(&shape, &mut random), random)
    }

    fn fill(pass: &mut Pass, random: &mut RandomStream) {
        pass.inputs_mut().iter_mut().for_each(|value| *value = random.uniform() as f32 * 2.0 - 1.0);
    }

    #[test]
    fn a_network_by_hand() {
        let mut network =
            Network::new(&Shape { inputs: 2, readings: 1, hidden: vec![2], outputs: 1 }, &mut network().1);
        // h = relu([1 -1; 2 1] x + [0; -10]), y = [3 5] h + 0.5
        network.parameters_mut().copy_from_slice(&[1.0, -1.0, 2.0, 1.0, 0.0, -10.0, 3.0, 5.0, 0.5]);
        let mut pass = Pass::new(&network, 2);
        pass.inputs_mut().copy_from_slice(&[3.0, 6.0, 1.0, 2.0]); // (3, 1) and (6, 2)
        pass.forward(&network);
        // h = (2, relu(-3)): 3*2 + 0.5; h = (4, 4): 3*4 + 5*4 + 0.5
        assert_eq!(pass.outputs(), [6.5, 32.5]);
        let mut gradient = [f32::NAN; 9];
        pass.backward(&network, &mut gradient, |_, delta| delta.fill(1.0));
        // dz2 = 1, 1: dW2 = (2+4, 0+4), db2 = 2; dz1 = (3, 0), (3, 5): dW1 = (3*3+3*6, 3*1+3*2), (5*6, 5*2)
        assert_eq!(gradient, [27.0, 9.0, 30.0, 10.0, 6.0, 5.0, 6.0, 4.0, 2.0]);
    }

    #[test]
    fn two_readings_by_hand() {
        let shape = Shape { inputs: 2, readings: 2, hidden: vec![1], outputs: 1 };
        let mut network = Network::new(&shape, &mut network().1);
        // h = relu(2 x + 3 h' + 1), y = 5 h + 7: h1 = 2*1 + 1 = 3, h2 = 2*4 + 3*3 + 1 = 18
        network.parameters_mut().copy_from_slice(&[2.0, 3.0, 1.0, 5.0, 7.0]);
        let mut pass = Pass::new(&network, 1);
        pass.inputs_mut().copy_from_slice(&[1.0, 4.0]);
        pass.forward(&network);
        assert_eq!(pass.outputs(), [97.0]);
        let mut gradient = [f32::NAN; 5];
        pass.backward(&network, &mut gradient, |_, delta| delta.fill(1.0));
        // dh2 = 5, dh1 = 3*5: dw = 5*4 + 15*1, dv = 5*3 + 15*0, db = 5 + 15; of the last layer 18 and 1
        assert_eq!(gradient, [35.0, 15.0, 20.0, 18.0, 1.0]);
    }

    #[test]
    fn one_input_has_the_bits_of_a_batch() {
        [network(), recurrent()].into_iter().for_each(one_input);
    }

    fn one_input((network, mut random): (Network, RandomStream)) {
        let mut pass = Pass::new(&network, 13);
        fill(&mut pass, &mut random);
        pass.forward(&network);
        for sample in 0..13 {
            let column = |rows: &[f32]| -> Vec<f32> { rows[sample..].iter().step_by(13).copied().collect() };
            let mut scratch = [Vec::new(), Vec::new()];
            assert_eq!(network.evaluate(&column(pass.inputs_mut()), &mut scratch), column(pass.outputs()));
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        [network(), recurrent()].into_iter().for_each(finite_differences);
    }

    fn finite_differences((mut network, mut random): (Network, RandomStream)) {
        let (mut pass, dropout) = (Pass::new(&network, 9), Dropout::new(0.2));
        fill(&mut pass, &mut random);
        // The loss: half the sum of squares. Dropout draws the same each time from a copy of the stream.
        let loss = |network: &Network, pass: &mut Pass| -> f64 {
            pass.forward_with(network, dropout, &mut random.clone());
            pass.outputs().iter().map(|value| f64::from(*value).powi(2) / 2.0).sum()
        };
        loss(&network, &mut pass);
        let mut gradient = vec![f32::NAN; network.parameters().len()];
        pass.backward(&network, &mut gradient, |outputs, delta| delta.copy_from_slice(outputs));
        assert!(gradient.iter().filter(|value| **value != 0.0).count() > gradient.len() / 2);
        for (at, found) in gradient.iter().enumerate() {
            let step = 1e-3;
            let original = network.parameters()[at];
            let mut at_distance = |distance: f32| {
                network.parameters_mut()[at] = original + distance;
                let loss = loss(&network, &mut pass);
                network.parameters_mut()[at] = original;
                loss
            };
            let slope = (at_distance(step) - at_distance(-step)) / f64::from(2.0 * step);
            // Rounding of f32 sums near 1, 1e-7, over 2e-3: 1e-4; kinks of the rectifier within the step: little more.
            assert!((slope - f64::from(*found)).abs() < 3e-3, "{at}: {slope} and {found}");
        }
    }
}
