//! A network as a list of steps, evaluated for one observation, with a memory between evaluations.
//!
//! Source: the operators of ONNX, opset 7 to 23, on one row of numbers. Departures: an affine step adds each output's
//! products to its bias in the order of the inputs, in 32-bit floats, so that the result has the same bits on every machine;
//! a runtime that adds in another order differs in the last bits. Exponentials are taken in 64 bits and rounded.

use ackclock_learn::affine;
use ackclock_units::math;

/// The place of a step's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A slot: 0 is the observation, n the output of the n-th step.
    Slot(usize),
    /// A place among the constants.
    Constant(usize),
    /// A value from the evaluation before.
    Memory(usize),
}

/// A function of each number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary {
    Relu,
    LeakyRelu(f32),
    Elu(f32),
    Exp,
    Tanh,
    Sigmoid,
    Softplus,
    /// The function `x Phi(x)` with the normal distribution's function Phi; true: with the usual approximation by tanh.
    Gelu(bool),
    Clip(f32, f32),
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
}

/// The operation of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// An affine map: weights, a row for each output, and biases.
    Affine { weights: Vec<f32>, biases: Vec<f32> },
    /// A function of each number.
    Each(Unary),
    /// A function of the numbers and of another operand; the shorter one is repeated as needed.
    With(Binary, Operand),
    /// A sum of each number and a row's products with another operand.
    AddProducts { weights: Vec<f32>, with: Operand },
    /// The state of an LSTM's cells, from the sums of the gates of input, output, forgetting and cell, and the state
    /// before.
    CellState { before: Operand },
    /// The outputs of an LSTM, from the state of its cells and the same sums.
    CellOutput { sums: Operand },
    /// The softmax `exp x / sum exp x`.
    Softmax,
    /// The logarithm `ln sum exp x`.
    LogSumExp,
    /// The position of the greatest number, the first of equals.
    ArgMax,
}

/// An operation and its operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) from: Operand,
}

/// Numbers that are kept for the next evaluation, zero at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) length: usize,
    /// The slot of the step that computes the next value.
    pub(crate) next: usize,
}

/// A network as a list of steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    pub(crate) constants: Vec<Vec<f32>>,
    pub(crate) steps: Vec<Step>,
    pub(crate) output: Operand,
    pub(crate) memory: Vec<Memory>,
}

/// A flow's memory and scratch space: the observation, and the output of each step. It is empty at the beginning of a
/// flow.
pub(crate) type Work = Vec<Vec<f32>>;

impl Network {
    /// The outputs for an observation, after those that `work` has seen before.
    pub(crate) fn evaluate<'a>(&'a self, input: &[f32], work: &'a mut Work) -> &'a [f32] {
        let first = self.memory.len();
        work.resize_with(first + self.steps.len() + 1, Vec::new);
        for (memory, kept) in self.memory.iter().zip(work.iter_mut()) {
            kept.resize(memory.length, 0.0);
        }
        work[first].clear();
        work[first].extend_from_slice(input);
        for (index, step) in self.steps.iter().enumerate() {
            let (before, into) = work.split_at_mut(first + index + 1);
            let read = |operand| self.read(operand, before);
            step.operation.run(read(step.from), read, &mut into[0]);
        }
        let (kept, slots) = work.split_at_mut(first);
        for (memory, kept) in self.memory.iter().zip(kept) {
            kept.copy_from_slice(&slots[memory.next]);
        }
        self.read(self.output, work)
    }

    fn read<'a>(&'a self, operand: Operand, slots: &'a [Vec<f32>]) -> &'a [f32] {
        match operand {
            Operand::Slot(slot) => &slots[self.memory.len() + slot],
            Operand::Constant(constant) => &self.constants[constant],
            Operand::Memory(place) => &slots[place],
        }
    }
}

impl Operation {
    fn run<'a>(&self, from: &[f32], read: impl Fn(Operand) -> &'a [f32], into: &mut Vec<f32>) {
        match self {
            Self::Affine { weights, biases } => return affine(weights, biases, from, into),
            Self::With(binary, other) => return binary.run(from, read(*other), into),
            Self::AddProducts { weights, with } => return affine(weights, from, read(*with), into),
            _ => into.clear(),
        }
        match self {
            Self::Each(unary) => into.extend(from.iter().map(|x| unary.of(*x))),
            Self::Softmax => softmax(from, into),
            Self::LogSumExp => into.push(log_sum_exp(from)),
            Self::ArgMax => into.push(arg_max(from) as f32),
            Self::CellState { before } => cell_state(from, read(*before), into),
            Self::CellOutput { sums } => cell_output(from, read(*sums), into),
            Self::Affine { .. } | Self::With(..) | Self::AddProducts { .. } => unreachable!("done above"),
        }
    }
}

impl Unary {
    fn of(self, x: f32) -> f32 {
        self.at(f64::from(x)) as f32
    }

    /// The value in 64 bits, which [`Self::of`] rounds once, so that functions of 32 bits are exact.
    pub(crate) fn at(self, x: f64) -> f64 {
        match self {
            Self::Relu if x > 0.0 => x,
            Self::Relu => 0.0,
            Self::LeakyRelu(slope) if x < 0.0 => f64::from(slope) * x,
            Self::Elu(scale) if x < 0.0 => f64::from(scale) * math::exp_m1(x),
            Self::LeakyRelu(_) | Self::Elu(_) => x,
            Self::Exp => math::exp(x),
            Self::Tanh => math::tanh(x),
            Self::Sigmoid => 1.0 / (1.0 + math::exp(-x)),
            Self::Softplus => x.max(0.0) + math::ln_1p(math::exp(-x.abs())),
            Self::Gelu(false) => 0.5 * x * (1.0 + math::erf(x * std::f64::consts::FRAC_1_SQRT_2)),
            Self::Gelu(true) => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                0.5 * x * (1.0 + math::tanh(inner))
            }
            Self::Clip(low, high) => {
                // ONNX's Min(max, Max(input, min)): where min is above max, every input becomes max. NaN stays what it is.
                let (low, high) = (f64::from(low), f64::from(high));
                let least = if x < low { low } else { x };
                if least > high { high } else { least }
            }
        }
    }
}

impl Binary {
    fn run(self, a: &[f32], b: &[f32], into: &mut Vec<f32>) {
        let length = a.len().max(b.len());
        let pairs = a.iter().cycle().zip(b.iter().cycle()).take(length);
        into.clear();
        into.extend(pairs.map(|(a, b)| match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
        }));
    }
}

fn softmax(from: &[f32], into: &mut Vec<f32>) {
    let greatest = f64::from(from[arg_max(from)]);
    let exponential = |x: &f32| math::exp(f64::from(*x) - greatest);
    let sum: f64 = from.iter().map(exponential).sum();
    into.extend(from.iter().map(|x| (exponential(x) / sum) as f32));
}

fn log_sum_exp(from: &[f32]) -> f32 {
    let greatest = f64::from(from[arg_max(from)]);
    let sum: f64 = from.iter().map(|x| math::exp(f64::from(*x) - greatest)).sum();
    (greatest + math::ln(sum)) as f32
}

/// The gates of an LSTM, in the order of ONNX.
const INPUT: usize = 0;
const OUTPUT: usize = 1;
const FORGET: usize = 2;
const CELL: usize = 3;

/// The state of a cell, `sigmoid(f) c + sigmoid(i) tanh(g)`.
fn cell_state(sums: &[f32], before: &[f32], into: &mut Vec<f32>) {
    let cells = before.len();
    let after = |(cell, before): (usize, &f32)| {
        let [input, forget] = [INPUT, FORGET].map(|gate| Unary::Sigmoid.of(sums[gate * cells + cell]));
        forget * before + input * Unary::Tanh.of(sums[CELL * cells + cell])
    };
    into.extend(before.iter().enumerate().map(after));
}

/// The output of a cell, `sigmoid(o) tanh(c)`.
fn cell_output(state: &[f32], sums: &[f32], into: &mut Vec<f32>) {
    let gates = &sums[OUTPUT * state.len()..];
    into.extend(gates.iter().zip(state).map(|(gate, c)| Unary::Sigmoid.of(*gate) * Unary::Tanh.of(*c)));
}

/// The position of the greatest number, the first of equals.
pub(crate) fn arg_max(values: &[f32]) -> usize {
    values.iter().enumerate().fold(0, |best, (at, value)| if *value > values[best] { at } else { best })
}
