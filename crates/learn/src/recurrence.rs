//! A recurrent first layer: it takes the readings of a state in turn, each with its output for the one before.
//!
//! Source: Elman, "Finding Structure in Time", Cognitive Science 14, 1990, with the network's rectifier; the gradient
//! goes back through every reading (Werbos, "Backpropagation Through Time", Proc. IEEE 78, 1990). A state begins with
//! nothing before it, as in the random updates of Hausknecht and Stone, "Deep Recurrent Q-Learning for Partially
//! Observable MDPs", 2015; the last two from memory. Departures: decisions begin in the same way, and look back no
//! further than a state.

use crate::kernel::{Left, Product, transpose};
use crate::network::Network;

/// The layer of a batch, reading by reading. Columns are samples, as everywhere in a [`Pass`](crate::Pass).
#[derive(Clone, Debug)]
pub(crate) struct Unrolled {
    readings: Vec<Reading>,
    transposed: Vec<f32>,
    /// Contribution of one reading to the gradient.
    weights: Vec<f32>,
    /// Gradient of the loss by each of a reading's inputs.
    before: Vec<f32>,
}

/// One reading in a forward pass.
#[derive(Clone, Debug)]
struct Reading {
    /// The reading's numbers, and then the layer's output for the reading before.
    inputs: Vec<f32>,
    outputs: Vec<f32>,
    slopes: Vec<f32>,
}

impl Unrolled {
    /// The layer of a network; `None` for a network that takes all inputs at once.
    pub(crate) fn of(network: &Network, samples: usize) -> Option<Self> {
        let layer = network.layers()[0];
        let reading = Reading {
            inputs: vec![0.0; layer.inputs * samples],
            outputs: vec![0.0; layer.outputs * samples],
            slopes: vec![0.0; layer.outputs * samples],
        };
        (network.readings() > 1).then(|| Self {
            readings: vec![reading; network.readings()],
            transposed: Vec::new(),
            weights: vec![0.0; layer.inputs * layer.outputs],
            before: Vec::new(),
        })
    }

    /// Propagates a batch of states, and writes the outputs for the last reading. `slopes` holds the nodes that dropout
    /// silences in every reading, and afterwards the slopes of the last one's outputs by their sums.
    pub(crate) fn forward(&mut self, network: &Network, states: &[f32], slopes: &mut [f32], outputs: &mut [f32]) {
        let layer = network.layers()[0];
        let (weights, biases) = layer.split(network.parameters());
        let width = outputs.len() / layer.outputs;
        let (own, carried) = ((layer.inputs - layer.outputs) * width, layer.outputs * width);
        for at in 0..self.readings.len() {
            let (before, rest) = self.readings.split_at_mut(at);
            let Reading { inputs, outputs, slopes: kept } = &mut rest[0];
            inputs[..own].copy_from_slice(&states[at * own..][..own]);
            match before.last() {
                Some(before) => inputs[own..].copy_from_slice(&before.outputs),
                None => inputs[own..][..carried].fill(0.0),
            }
            Product { a: Left::Rows(weights), b: inputs, bias: Some(biases), c: outputs, width }.run();
            for ((kept, slope), value) in kept.iter_mut().zip(&*slopes).zip(outputs) {
                *kept = if *value > 0.0 { *slope } else { 0.0 };
                *value *= *kept;
            }
        }
        let last = &self.readings[self.readings.len() - 1];
        slopes.copy_from_slice(&last.slopes);
        outputs.copy_from_slice(&last.outputs);
    }

    /// The gradient by the layer's parameters, from `delta`: the slope of the loss by each sum of the last reading.
    pub(crate) fn backward(&mut self, network: &Network, delta: &mut [f32], gradient: &mut [f32]) {
        let layer = network.layers()[0];
        let width = delta.len() / layer.outputs;
        let own = (layer.inputs - layer.outputs) * width;
        let (sums, biases) = layer.split_mut(gradient);
        sums.fill(0.0);
        biases.fill(0.0);
        for at in (0..self.readings.len()).rev() {
            transpose(&self.readings[at].inputs, width, &mut self.transposed);
            let (b, c) = (&self.transposed, &mut self.weights);
            Product { a: Left::Rows(delta), b, bias: None, c, width: layer.inputs }.run();
            for (sum, part) in sums.iter_mut().zip(&self.weights) {
                *sum += part;
            }
            for (bias, delta) in biases.iter_mut().zip(delta.chunks_exact(width)) {
                *bias = delta.iter().fold(*bias, |sum, value| sum + value);
            }
            let Some(before) = at.checked_sub(1) else { return };
            self.before.resize(layer.inputs * width, 0.0);
            let a = Left::Columns(layer.split(network.parameters()).0);
            Product { a, b: delta, bias: None, c: &mut self.before, width }.run();
            for ((delta, value), slope) in delta.iter_mut().zip(&self.before[own..]).zip(&self.readings[before].slopes)
            {
                *delta = value * slope;
            }
        }
    }
}
