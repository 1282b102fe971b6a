//! An integer policy as it lies in a file and in a program's memory: `struct policy` of
//! crates/bpf/src/programs/policy.h.

use super::super::error::PolicyError;
use super::layers::{Function, Layer};
use super::sight::{self, ONE, Sight};
use crate::action::Action;
use crate::config::AgentConfig;
use crate::decision::Decision;

/// The largest number of a layer's inputs, and of its outputs.
pub(super) const WIDTH: usize = 128;
const LAYERS: usize = 6;
const OBSERVATIONS: usize = 32;
const CHOICES: usize = 64;
const BIASES: usize = 512;
const WEIGHTS: usize = 16_384;
/// The points of the tables of logarithms and powers, and of activation functions.
const POINTS: usize = 257;
const CURVE: usize = 513;
/// The points of the sigmoid of an LSTM's gates, from -16 to 16; and the largest number of its cells.
const GATE: usize = 1025;
pub(super) const CELLS: usize = 32;
/// The codes of functions between layers.
pub(super) const PLAIN: u32 = 0;
pub(super) const RELU: u32 = 1;
pub(super) const TABLE: u32 = 2;
pub(super) const CLIP: u32 = 3;
/// The codes of actions.
const DELTAS: u32 = 0;
const ORCA: u32 = 1;
/// The bound of an activation's numbers: they stay below 2^15.
const MOST: i64 = 1 << 31;

/// A layer: outputs = function((biases + weights inputs) >> fraction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Head {
    inputs: u32,
    outputs: u32,
    function: u32,
    fraction: u32,
    weights: u32,
    biases: u32,
}

/// A policy in the form of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Image {
    pub(super) inputs: u32,
    layers: u32,
    /// The code of the decisions. 0: ACKs, 1: a window, 2: thousandths of a smoothed RTT.
    decide: u32,
    every: u32,
    action: u32,
    choices: u32,
    is_scaled: u32,
    has_values: u32,
    segments: [i32; CHOICES],
    codes: [u32; OBSERVATIONS],
    units: [u32; OBSERVATIONS],
    inverses: [u64; OBSERVATIONS],
    heads: [Head; LAYERS],
    logarithms: [u32; POINTS],
    powers: [u32; POINTS],
    curve: [i32; CURVE],
    slope_low: i32,
    slope_high: i32,
    /// The bound at which inputs are clamped on either side.
    limit: u32,
    biases: [i64; BIASES],
    /// The weights, each with 2^31 added, so that they are loaded without a sign.
    weights: [u32; WEIGHTS],
    /// The layer whose outputs are sums for the gates of an LSTM, counted from one; 0 if there is none. The following
    /// fields belong to it.
    lstm: u32,
    cells: u32,
    /// The position in this layer's inputs at which the hidden state begins.
    hidden: u32,
    gate: [u32; GATE],
}

/// The memory of a flow from one decision to the next, q16: zero at its beginning. `struct memory` of policy.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    hidden: [i64; CELLS],
    cells: [i64; CELLS],
}

macro_rules! words {
    ($self:ident, $each:ident) => {
        $each!(
            $self.inputs,
            $self.layers,
            $self.decide,
            $self.every,
            $self.action,
            $self.choices,
            $self.is_scaled,
            $self.has_values
        );
    };
}

fn too_large(what: &str) -> PolicyError {
    PolicyError::of_file(format!("has {what}"), "train a smaller network")
}

impl Image {
    #[allow(clippy::large_stack_arrays, reason = "a constant, of which each is a copy in a box")]
    pub(super) const EMPTY: Self = Self {
        inputs: 0,
        layers: 0,
        decide: 0,
        every: 0,
        action: 0,
        choices: 0,
        is_scaled: 0,
        has_values: 0,
        segments: [0; CHOICES],
        codes: [0; OBSERVATIONS],
        units: [0; OBSERVATIONS],
        inverses: [0; OBSERVATIONS],
        heads: [Head { inputs: 0, outputs: 0, function: 0, fraction: 0, weights: 0, biases: 0 }; LAYERS],
        logarithms: [0; POINTS],
        powers: [0; POINTS],
        curve: [0; CURVE],
        slope_low: 0,
        slope_high: 0,
        limit: 0,
        biases: [0; BIASES],
        weights: [0; WEIGHTS],
        lstm: 0,
        cells: 0,
        hidden: 0,
        gate: [0; GATE],
    };

    pub(super) fn set_agent(&mut self, config: &AgentConfig, codes: &[u32]) -> Result<(), PolicyError> {
        if codes.len() > OBSERVATIONS {
            return Err(too_large(&format!("{} observations, more than {OBSERVATIONS}", codes.len())));
        }
        self.inputs = codes.len() as u32;
        self.is_scaled = u32::from(config.is_scaled);
        for (place, code) in codes.iter().enumerate() {
            self.codes[place] = *code;
            if let Some((unit, inverse)) = sight::scale(*code) {
                (self.units[place], self.inverses[place]) = (unit as u32, inverse);
            }
        }
        (self.decide, self.every) = match config.decision {
            Decision::Acks(every) => (0, every),
            Decision::Round => (2, 1_000),
            Decision::Rounds { thousandths } => (2, thousandths),
            _ => (1, 0),
        };
        self.action = ORCA;
        if let Action::Deltas { segments } = &config.action {
            if segments.len() > CHOICES {
                return Err(too_large(&format!("{} choices, more than {CHOICES}", segments.len())));
            }
            self.action = DELTAS;
            self.choices = segments.len() as u32;
            self.segments[..segments.len()].copy_from_slice(segments);
        }
        for place in 0..POINTS {
            let part = place as f64 / 256.0;
            self.logarithms[place] =
                (ackclock_units::math::ln_1p(part) / std::f64::consts::LN_2 * 65_536.0).round() as u32;
            self.powers[place] = (ackclock_units::math::pow(2.0, part) * 65_536.0).round() as u32;
        }
        Ok(())
    }

    pub(super) fn set_layers(&mut self, layers: &[Layer]) -> Result<(), PolicyError> {
        if layers.len() > LAYERS {
            return Err(too_large(&format!("{} layers, more than {LAYERS}", layers.len())));
        }
        let (mut weights, mut biases) = (0, 0);
        for (place, layer) in layers.iter().enumerate().filter(|(_, layer)| layer.cells > 0) {
            self.set_lstm(place, layer)?;
        }
        for (head, layer) in self.heads.iter_mut().zip(layers) {
            let outputs = layer.biases.len();
            // in fours, the last filled up with zeros
            let row = layer.inputs.next_multiple_of(4);
            if row.max(outputs) > WIDTH || weights + row * outputs > WEIGHTS || biases + outputs > BIASES {
                return Err(too_large(&format!("a layer wider than {WIDTH}, or more than {WEIGHTS} weights")));
            }
            let function = match layer.function {
                Function::None => PLAIN,
                Function::Relu => RELU,
                Function::Table(_) => TABLE,
                Function::Clip(_) => CLIP,
            };
            *head = Head {
                inputs: row as u32,
                outputs: outputs as u32,
                function,
                fraction: layer.fraction,
                weights: weights as u32,
                biases: biases as u32,
            };
            for output in 0..outputs {
                self.biases[biases + output] = layer.biases[output];
                for place in 0..row {
                    let weight = if place < layer.inputs { layer.weights[output * layer.inputs + place] } else { 0 };
                    self.weights[weights + output * row + place] = (weight as u32).wrapping_add(1 << 31);
                }
            }
            (weights, biases) = (weights + row * outputs, biases + outputs);
            match &layer.function {
                Function::Table(table) => {
                    self.curve.copy_from_slice(&table.curve);
                    (self.slope_low, self.slope_high) = (table.slope_low, table.slope_high);
                }
                Function::Clip(limit) => self.limit = *limit,
                Function::None | Function::Relu => {}
            }
        }
        self.layers = layers.len() as u32;
        let outputs = layers.last().map_or(0, |layer| if layer.cells > 0 { layer.cells } else { layer.biases.len() });
        self.has_values = u32::from(outputs > 1);
        Ok(())
    }

    fn set_lstm(&mut self, place: usize, layer: &Layer) -> Result<(), PolicyError> {
        if layer.cells > CELLS {
            return Err(too_large(&format!("an LSTM of {} cells, more than {CELLS}", layer.cells)));
        }
        (self.lstm, self.cells) = (place as u32 + 1, layer.cells as u32);
        self.hidden = (layer.inputs - layer.cells) as u32;
        for (place, point) in self.gate.iter_mut().enumerate() {
            let x = place as f64 / 32.0 - 16.0;
            *point = (65_536.0 / (1.0 + ackclock_units::math::exp(-x))).round() as u32;
        }
        Ok(())
    }

    /// True if it has a memory of each flow.
    pub(super) fn has_memory(&self) -> bool {
        self.lstm != 0
    }

    pub(super) fn code(&self, place: usize) -> u32 {
        self.codes[place]
    }

    pub(super) fn is_scaled(&self) -> bool {
        self.is_scaled != 0
    }

    /// Value of an input, q16.
    pub(super) fn input(&self, place: usize, sight: &Sight) -> i64 {
        let value = sight::value(self.codes[place], sight);
        if self.is_scaled == 0 || self.units[place] == 0 {
            return value;
        }
        let unit = u64::from(self.units[place]);
        // of rates, which are whole, the unit is 10^5
        let share = if unit == 1 { value as u64 } else { ((value as u64) << 16) / unit };
        ((u128::from(self.log2(share + ONE as u64)) * u128::from(self.inverses[place])) >> 32) as i64
    }

    /// The logarithm of a number in q16, at least one, in q16.
    fn log2(&self, number: u64) -> u64 {
        let whole = number.ilog2();
        let digits = number << (63 - whole);
        let (place, part) = ((digits >> 55) as usize & 255, (digits >> 39) & 0xffff);
        let (low, high) = (u64::from(self.logarithms[place]), u64::from(self.logarithms[place + 1]));
        (u64::from(whole - 16) << 16) + low + (((high - low) * part) >> 16)
    }

    /// Runs the network on its inputs; returns the decision.
    pub(super) fn run(&self, numbers: &mut [i64; WIDTH], memory: &mut Memory) -> i64 {
        let mut last = 0;
        for (head, place) in self.heads.iter().zip(1..=self.layers) {
            let is_lstm = place == self.lstm;
            let (hidden, cells) = (self.hidden as usize, self.cells as usize);
            if is_lstm {
                numbers[hidden..hidden + cells].copy_from_slice(&memory.hidden[..cells]);
            }
            let mut outputs = [0; WIDTH];
            let inputs = &numbers[..head.inputs as usize];
            for (output, place) in outputs.iter_mut().zip(0..head.outputs as usize) {
                let from = head.weights as usize + place * head.inputs as usize;
                let row = &self.weights[from..from + head.inputs as usize];
                let products = row.iter().zip(inputs).map(|(weight, x)| (i64::from(*weight) - MOST).wrapping_mul(*x));
                let bias = self.biases[head.biases as usize + place];
                let sum = products.fold(bias, i64::wrapping_add) >> head.fraction;
                *output = self.function(head.function, sum.clamp(-MOST, MOST - 1));
            }
            *numbers = outputs;
            last = head.outputs as usize;
            if is_lstm {
                self.step(numbers, memory);
                last = cells;
            }
        }
        if self.has_values == 0 {
            return if self.action == ORCA { numbers[0].clamp(-2 * ONE, 2 * ONE) } else { numbers[0] };
        }
        let values = &numbers[..last];
        (1..values.len()).fold(0, |best, place| if values[place] > values[best] { place } else { best }) as i64
    }

    /// Computes the outputs of an LSTM, in place of its gates' sums, and its new memory.
    fn step(&self, numbers: &mut [i64; WIDTH], memory: &mut Memory) {
        let cells = self.cells as usize;
        for place in 0..cells {
            // the order of ONNX
            let [input, output, forget, cell] = [0, 1, 2, 3].map(|gate| numbers[gate * cells + place]);
            let kept = self.sigmoid(forget) * memory.cells[place];
            let state = nearest(kept + self.sigmoid(input) * self.tanh(cell)).clamp(-MOST, MOST - 1);
            let out = nearest(self.sigmoid(output) * self.tanh(state));
            (memory.cells[place], memory.hidden[place], numbers[place]) = (state, out, out);
        }
    }

    fn sigmoid(&self, x: i64) -> i64 {
        const END: i64 = 16 * ONE;
        if x < -END {
            return 0;
        }
        if x >= END {
            return ONE;
        }
        let (place, part) = (((x + END) >> 11) as usize, (x + END) & 2_047);
        let (low, high) = (i64::from(self.gate[place]), i64::from(self.gate[place + 1]));
        low + (((high - low) * part) >> 11)
    }

    fn tanh(&self, x: i64) -> i64 {
        2 * self.sigmoid(2 * x) - ONE
    }

    fn function(&self, function: u32, x: i64) -> i64 {
        const END: i64 = 8 * ONE;
        match function {
            RELU => x.max(0),
            CLIP => x.clamp(-i64::from(self.limit), i64::from(self.limit)),
            TABLE if x < -END => i64::from(self.curve[0]) + ((i64::from(self.slope_low) * (x + END)) >> 16),
            TABLE if x >= END => i64::from(self.curve[CURVE - 1]) + ((i64::from(self.slope_high) * (x - END)) >> 16),
            TABLE => {
                let (place, part) = (((x + END) >> 11) as usize, (x + END) & 2_047);
                let (low, high) = (i64::from(self.curve[place]), i64::from(self.curve[place + 1]));
                low + (((high - low) * part) >> 11)
            }
            _ => x,
        }
    }

    /// The image as octets, little-endian, in the order of the fields.
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(size_of::<Self>());
        macro_rules! put { ($($word:expr),*) => {{ $(octets.extend($word.to_le_bytes());)* }}; }
        words!(self, put);
        self.segments.iter().for_each(|word| put!(word));
        self.codes.iter().chain(&self.units).for_each(|word| put!(word));
        self.inverses.iter().for_each(|word| put!(word));
        for head in &self.heads {
            put!(head.inputs, head.outputs, head.function, head.fraction, head.weights, head.biases);
        }
        self.logarithms.iter().chain(&self.powers).for_each(|word| put!(word));
        self.curve.iter().for_each(|word| put!(word));
        put!(self.slope_low, self.slope_high, self.limit);
        self.biases.iter().for_each(|word| put!(word));
        self.weights.iter().for_each(|word| put!(word));
        put!(self.lstm, self.cells, self.hidden);
        self.gate.iter().for_each(|word| put!(word));
        octets
    }

    /// The length of an image without the part of the LSTM, as in the first form of files.
    pub(super) const WITHOUT_LSTM: usize = size_of::<Self>() - 4 * (3 + GATE);

    /// Reads an image; `None` if the octets are not one, or it would reach beyond itself.
    pub(super) fn read(octets: &[u8]) -> Option<Box<Self>> {
        let mut image = Box::new(Self::EMPTY);
        let mut rest = octets;
        macro_rules! take {
            ($($word:expr),*) => {{ $({
                let (first, after) = rest.split_first_chunk()?;
                $word = le(*first);
                rest = after;
            })* }};
        }
        words!(image, take);
        for word in &mut image.segments {
            take!(*word);
        }
        for word in image.codes.iter_mut().chain(&mut image.units) {
            take!(*word);
        }
        for word in &mut image.inverses {
            take!(*word);
        }
        for head in &mut image.heads {
            take!(head.inputs, head.outputs, head.function, head.fraction, head.weights, head.biases);
        }
        for word in image.logarithms.iter_mut().chain(&mut image.powers) {
            take!(*word);
        }
        for word in &mut image.curve {
            take!(*word);
        }
        take!(image.slope_low, image.slope_high, image.limit);
        for word in &mut image.biases {
            take!(*word);
        }
        for word in &mut image.weights {
            take!(*word);
        }
        if rest.is_empty() {
            return image.is_whole().then_some(image);
        }
        take!(image.lstm, image.cells, image.hidden);
        for word in &mut image.gate {
            take!(*word);
        }
        (rest.is_empty() && image.is_whole()).then_some(image)
    }

    fn is_whole(&self) -> bool {
        let fits = |head: &Head| {
            head.inputs as usize <= WIDTH
                && head.outputs as usize <= WIDTH
                && head.inputs.is_multiple_of(4)
                && head.fraction < 64
                && (head.weights as usize).saturating_add((head.inputs * head.outputs) as usize) <= WEIGHTS
                && (head.biases as usize).saturating_add(head.outputs as usize) <= BIASES
        };
        let logarithms = self.logarithms.windows(2).all(|pair| pair[0] <= pair[1]);
        let lstm = self.lstm == 0
            || self.lstm <= self.layers.min(LAYERS as u32)
                && (1..=CELLS).contains(&(self.cells as usize))
                && self.hidden.saturating_add(self.cells) <= self.heads[self.lstm as usize - 1].inputs
                && self.heads[self.lstm as usize - 1].outputs == 4 * self.cells
                && self.gate.iter().all(|point| *point <= ONE as u32);
        self.inputs as usize <= OBSERVATIONS
            && (1..=LAYERS).contains(&(self.layers as usize))
            && self.choices as usize <= CHOICES
            && self.codes.iter().all(|code| (*code as usize) < sight::NAMES.len())
            && self.heads.iter().all(fits)
            && logarithms
            && lstm
    }
}

/// Rounds from 32 bits after the point to 16.
fn nearest(number: i64) -> i64 {
    (number + (1 << 15)) >> 16
}

/// A number that is read from its octets.
trait Word<const N: usize> {
    fn of(octets: [u8; N]) -> Self;
}

macro_rules! word {
    ($($kind:ty, $size:literal;)*) => { $(impl Word<$size> for $kind {
        fn of(octets: [u8; $size]) -> Self {
            Self::from_le_bytes(octets)
        }
    })* };
}
word! { u32, 4; i32, 4; u64, 8; i64, 8; }

fn le<const N: usize, W: Word<N>>(octets: [u8; N]) -> W {
    W::of(octets)
}
