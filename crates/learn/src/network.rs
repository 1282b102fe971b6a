//! A fully connected network: hidden layers with a rectifier, a linear last layer. The first may take readings in turn
//! ([`Shape::readings`]).
//!
//! Source: the usual textbook network (Goodfellow, Bengio, Courville, Deep Learning, 2016, chapter 6). Departures: none.

use ackclock_units::RandomStream;

/// Widths of the layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of equal readings in the inputs. The first hidden layer takes them in turn, each with its output for the
    /// one before; 1 takes all inputs at once.
    pub readings: usize,
    /// Nodes of each hidden layer; may be none, with one reading.
    pub hidden: Vec<usize>,
    /// Number of outputs.
    pub outputs: usize,
}

impl Shape {
    /// Inputs and outputs of every layer.
    pub(crate) fn layers(&self) -> impl Iterator<Item = (usize, usize)> {
        let carried = if self.readings > 1 { self.hidden[0] } else { 0 };
        let first = self.inputs / self.readings + carried;
        let from = std::iter::once(first).chain(self.hidden.iter().copied());
        let to = self.hidden.iter().copied().chain(std::iter::once(self.outputs));
        from.zip(to)
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers().map(|(inputs, outputs)| (inputs + 1) * outputs).sum()
    }
}

/// The position of a layer's numbers among all parameters: first its weights, a row for each output, then its biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    offset: usize,
}

impl Layer {
    fn biases_at(&self) -> usize {
        self.offset + self.inputs * self.outputs
    }

    /// Its weights and biases, from all parameters.
    pub(crate) fn split<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        let biases = self.biases_at();
        (&parameters[self.offset..biases], &parameters[biases..biases + self.outputs])
    }

    pub(crate) fn split_mut<'a>(&self, parameters: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        let layer = &mut parameters[self.offset..self.offset + (self.inputs + 1) * self.outputs];
        layer.split_at_mut(self.inputs * self.outputs)
    }
}

/// A network: its shape and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    inputs: usize,
    readings: usize,
    layers: Vec<Layer>,
    parameters: Vec<f32>,
}

impl Network {
    /// A network with every weight and bias uniform within `1/sqrt(inputs)` of zero, inputs being those of its layer:
    /// the initial values of `PyTorch`'s linear layers.
    pub fn new(shape: &Shape, random: &mut RandomStream) -> Self {
        let mut parameters = Vec::with_capacity(shape.parameters());
        let mut layers = Vec::new();
        for (inputs, outputs) in shape.layers() {
            layers.push(Layer { inputs, outputs, offset: parameters.len() });
            let bound = 1.0 / (inputs as f64).sqrt();
            parameters.extend((0..(inputs + 1) * outputs).map(|_| ((2.0 * random.uniform() - 1.0) * bound) as f32));
        }
        Self { inputs: shape.inputs, readings: shape.readings, layers, parameters }
    }

    /// Weights and biases: layer by layer, each with its weights (a row for each output) and then its biases.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Weights and biases of all layers, mutable.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of readings: see [`Shape::readings`].
    pub(crate) fn readings(&self) -> usize {
        self.readings
    }

    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Weights (a row for each output) and biases of each layer, from the first on.
    pub fn parameters_by_layer(&self) -> impl ExactSizeIterator<Item = (&[f32], &[f32])> {
        self.layers.iter().map(|layer| layer.split(&self.parameters))
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers.last().expect("a network has a layer").outputs
    }

    /// Outputs for one input, without dropout; the same bits as in a batch. `scratch` is working space, and holds the
    /// outputs afterwards.
    pub fn evaluate<'a>(&self, input: &[f32], scratch: &'a mut [Vec<f32>; 2]) -> &'a [f32] {
        let [from, into] = scratch;
        from.clear();
        let last = self.layers.len() - 1;
        let mut apply = |index: usize, from: &mut Vec<f32>| {
            let (weights, biases) = self.layers[index].split(&self.parameters);
            affine(weights, biases, from, into);
            if index < last {
                for value in into.iter_mut() {
                    *value = value.max(0.0);
                }
            }
            std::mem::swap(from, into);
        };
        let first = self.layers[0].inputs;
        let mut next = 0;
        if self.readings > 1 {
            for reading in input.chunks_exact(self.inputs / self.readings) {
                from.splice(..0, reading.iter().copied());
                from.resize(first, 0.0); // nothing came before the first
                apply(0, from);
            }
            next = 1;
        } else {
            from.extend_from_slice(input);
        }
        for index in next..=last {
            apply(index, from);
        }
        from
    }
}

/// A layer without its rectifier: `out = biases + weights input`, a row of weights for each output. Every sum begins with
/// the bias and takes the products in the order of the inputs, of which there is at least one.
pub fn affine(weights: &[f32], biases: &[f32], input: &[f32], out: &mut Vec<f32>) {
    out.clear();
    out.extend_from_slice(biases);
    // Several outputs at once: one sum alone would wait for each addition.
    for (rows, sums) in weights.chunks(EVALUATED * input.len()).zip(out.chunks_mut(EVALUATED)) {
        add_products(rows, input, sums);
    }
}

/// Number of outputs computed together.
const EVALUATED: usize = 8;

/// Adds to each sum its row's products, in the order of the inputs.
fn add_products(rows: &[f32], input: &[f32], sums: &mut [f32]) {
    let mut each: [&[f32]; EVALUATED] = [&[]; EVALUATED];
    let Ok(all): Result<&mut [f32; EVALUATED], _> = (&mut *sums).try_into() else {
        for (row, sum) in rows.chunks_exact(input.len()).zip(sums) {
            *sum = row.iter().zip(input).fold(*sum, |sum, (weight, x)| sum + weight * x);
        }
        return;
    };
    for (slot, row) in each.iter_mut().zip(rows.chunks_exact(input.len())) {
        *slot = row;
    }
    let mut local = *all;
    for (at, x) in input.iter().enumerate() {
        for (sum, row) in local.iter_mut().zip(each) {
            *sum += row[at] * x;
        }
    }
    *all = local;
}
