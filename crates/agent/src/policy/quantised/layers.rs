//! A network as layers of integers.
//!
//! Source: none. Constant terms and factors become part of the weights of the layer behind them. Weights have as many
//! bits after the point as leave the greatest possible sum within 62 bits.

use ackclock_units::math;

use super::super::error::PolicyError;
use super::super::network::{Binary, Network, Operand, Operation, Step, Unary};

/// A layer of integers.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Number of inputs with the LSTM's hidden state, which follows the others.
    pub(super) inputs: usize,
    /// The number of cells of the LSTM whose gates' sums are the outputs; 0 for another layer.
    pub(super) cells: usize,
    pub(super) weights: Vec<i32>,
    pub(super) biases: Vec<i64>,
    pub(super) fraction: u32,
    pub(super) function: Function,
}

/// The function of each sum.
#[derive(Clone, Debug)]
pub(super) enum Function {
    None,
    Relu,
    Table(Box<Table>),
    /// A clamp at this value on either side, q16.
    Clip(u32),
}

/// A function from -8 to 8 by 512 straight lines, and its slopes beyond, q16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) curve: [i32; 513],
    pub(super) slope_low: i32,
    pub(super) slope_high: i32,
}

/// A layer before its conversion to integers.
struct Real {
    weights: Vec<Vec<f64>>,
    biases: Vec<f64>,
    function: Option<Unary>,
    /// The number of cells: see [`Layer::cells`].
    cells: usize,
}

impl Real {
    /// True if its sums have no function yet.
    fn is_open(&self) -> bool {
        self.function.is_none() && self.cells == 0
    }

    /// Multiplies each sum by a factor, and adds a term.
    fn change(&mut self, factors: &[f64], terms: &[f64]) {
        for (place, row) in self.weights.iter_mut().enumerate() {
            for weight in row {
                *weight *= factors[place];
            }
            self.biases[place] = self.biases[place] * factors[place] + terms[place];
        }
    }
}

fn refused(what: &str) -> PolicyError {
    let remedy = "export layers with one function each: Relu, LeakyRelu, Elu, Tanh, Sigmoid, Softplus or Gelu";
    PolicyError::of_file(format!("{what}, which quantised policies do not support"), remedy)
}

/// The layers of a network whose inputs are bounded by `bounds`.
pub(super) fn of(network: &Network, bounds: &[f64]) -> Result<Vec<Layer>, PolicyError> {
    if network.output != Operand::Slot(network.steps.len()) {
        return Err(refused("branches"));
    }
    let mut layers: Vec<Real> = Vec::new();
    // What stands between the last layer and the next: number i is factors[i] x + terms[i].
    let mut factors = vec![1.0; bounds.len()];
    let mut terms = vec![0.0; bounds.len()];
    for (place, step) in network.steps.iter().enumerate() {
        if step.from != Operand::Slot(place) {
            return Err(refused("branches"));
        }
        match &step.operation {
            Operation::Affine { weights, biases } => {
                let rows: Vec<Vec<f64>> =
                    weights.chunks(factors.len()).map(|row| row.iter().map(|w| f64::from(*w)).collect()).collect();
                let with_terms = |(row, bias): (&Vec<f64>, &f32)| {
                    f64::from(*bias) + row.iter().zip(&terms).map(|(w, term)| w * term).sum::<f64>()
                };
                let biases = rows.iter().zip(biases).map(with_terms).collect();
                let scaled = |row: &Vec<f64>| row.iter().zip(&factors).map(|(w, factor)| w * factor).collect();
                layers.push(Real { weights: rows.iter().map(scaled).collect(), biases, function: None, cells: 0 });
                (factors, terms) = (vec![1.0; rows.len()], vec![0.0; rows.len()]);
            }
            Operation::With(binary, Operand::Constant(constant)) => {
                let constants = &network.constants[*constant];
                if constants.len() > factors.len() {
                    return Err(refused("spreads one number over several"));
                }
                for place in 0..factors.len() {
                    let c = f64::from(constants[place % constants.len()]);
                    match binary {
                        Binary::Add => terms[place] += c,
                        Binary::Sub => terms[place] -= c,
                        Binary::Mul => (factors[place], terms[place]) = (factors[place] * c, terms[place] * c),
                        Binary::Div => (factors[place], terms[place]) = (factors[place] / c, terms[place] / c),
                    }
                }
            }
            Operation::Each(unary) => {
                match layers.last_mut().filter(|layer| layer.is_open()) {
                    Some(layer) => layer.change(&factors, &terms),
                    None => layers.push(diagonal(&factors, &terms)),
                }
                (factors, terms) = (vec![1.0; factors.len()], vec![0.0; factors.len()]);
                layers.last_mut().expect("there is one").function = Some(*unary);
            }
            // neither changes which is the greatest
            Operation::Softmax | Operation::ArgMax if network.steps[place..].iter().all(is_order) => break,
            Operation::AddProducts { weights, .. } => {
                let gates = layers.last_mut().filter(|_| is_lstm(&network.steps[place - 1..]));
                let Some(gates) = gates else { return Err(refused("branches")) };
                gates.cells = gates.biases.len() / 4;
                for (row, more) in gates.weights.iter_mut().zip(weights.chunks(gates.cells)) {
                    row.extend(more.iter().map(|w| f64::from(*w)));
                }
                (factors, terms) = (vec![1.0; gates.cells], vec![0.0; gates.cells]);
            }
            // seen to follow the sums of its gates
            Operation::CellState { .. } | Operation::CellOutput { .. } => {}
            Operation::With(..) | Operation::LogSumExp | Operation::Softmax | Operation::ArgMax => {
                return Err(refused("branches"));
            }
        }
    }
    if factors.iter().any(|f| (f - 1.0).abs() > 0.0) || terms.iter().any(|t| t.abs() > 0.0) {
        layers.push(diagonal(&factors, &terms));
    }
    whole(&layers, bounds)
}

/// True for the steps of an LSTM from the sums of its inputs on: those of its state, and their results.
fn is_lstm(steps: &[Step]) -> bool {
    match steps {
        [inputs, sums, state, output, ..] => {
            let Operand::Slot(of_sums) = state.from else { return false };
            matches!(inputs.operation, Operation::Affine { .. })
                && matches!(sums.operation, Operation::AddProducts { .. })
                && matches!(state.operation, Operation::CellState { .. })
                && output.operation == Operation::CellOutput { sums: Operand::Slot(of_sums) }
        }
        _ => false,
    }
}

fn is_order(step: &Step) -> bool {
    matches!(step.operation, Operation::Softmax | Operation::ArgMax)
}

fn diagonal(factors: &[f64], terms: &[f64]) -> Real {
    let row =
        |place: usize| (0..factors.len()).map(|other| if other == place { factors[place] } else { 0.0 }).collect();
    Real { weights: (0..factors.len()).map(row).collect(), biases: terms.to_vec(), function: None, cells: 0 }
}

fn whole(layers: &[Real], bounds: &[f64]) -> Result<Vec<Layer>, PolicyError> {
    let mut bounds = bounds.to_vec();
    let (mut table, mut limit): (Option<Table>, Option<u32>) = (None, None);
    let mut found: Vec<Layer> = Vec::new();
    for layer in layers {
        if layer.cells > 0 && found.iter().any(|layer| layer.cells > 0) {
            return Err(refused("has two LSTMs"));
        }
        // what an LSTM gives is at most one
        bounds.resize(bounds.len() + layer.cells, 1.0);
        let reach = |(row, bias): (&Vec<f64>, &f64)| {
            bias.abs() + row.iter().zip(&bounds).map(|(weight, bound)| weight.abs() * bound).sum::<f64>()
        };
        let reaches: Vec<f64> = layer.weights.iter().zip(&layer.biases).map(reach).collect();
        let greatest = reaches.iter().fold(1.0_f64, |most, reach| most.max(*reach));
        let weight = layer.weights.iter().flatten().fold(0.0_f64, |most, weight| most.max(weight.abs()));
        if !greatest.is_finite() {
            return Err(refused("has weights that are not finite"));
        }
        // sums stay below 2^62 = reach 2^16 2^fraction, weights below 2^31
        let fraction = (46.0 - log2(greatest)).min(30.9 - log2(weight.max(1e-9))).floor().clamp(0.0, 30.0);
        let unit = math::pow(2.0, fraction);
        let function = match layer.function {
            None => Function::None,
            Some(Unary::Relu) => Function::Relu,
            Some(Unary::Clip(low, high)) if (low + high).abs() <= 0.0 && high > 0.0 && high < 32_768.0 => {
                Function::Clip((f64::from(high) * 65_536.0).round() as u32)
            }
            Some(unary) => {
                let tabled = tabled(unary)?;
                if table.get_or_insert_with(|| tabled.clone()) != &tabled {
                    return Err(refused("has two activation functions besides Relu"));
                }
                Function::Table(Box::new(tabled))
            }
        };
        if let Function::Clip(at) = function
            && *limit.get_or_insert(at) != at
        {
            return Err(refused("clips numbers at two limits"));
        }
        found.push(Layer {
            inputs: bounds.len(),
            cells: layer.cells,
            weights: layer.weights.iter().flatten().map(|weight| (weight * unit).round() as i32).collect(),
            biases: layer.biases.iter().map(|bias| (bias * unit * 65_536.0).round() as i64).collect(),
            fraction: fraction as u32,
            function,
        });
        bounds = match layer.cells {
            0 => reaches.iter().map(|reach| reach.min(32_768.0)).collect(),
            cells => vec![1.0; cells],
        };
    }
    if found.is_empty() { Err(refused("has no layer")) } else { Ok(found) }
}

fn log2(x: f64) -> f64 {
    math::ln(x) / std::f64::consts::LN_2
}

fn tabled(unary: Unary) -> Result<Table, PolicyError> {
    if matches!(unary, Unary::Relu | Unary::Exp | Unary::Clip(..)) {
        return Err(refused("has Exp or Clip between layers"));
    }
    let point = |place: usize| (unary.at(place as f64 / 32.0 - 8.0) * 65_536.0).round() as i32;
    let curve = std::array::from_fn(point);
    let (slope_low, slope_high) = match unary {
        Unary::LeakyRelu(slope) => ((f64::from(slope) * 65_536.0).round() as i32, 65_536),
        Unary::Elu(_) | Unary::Softplus | Unary::Gelu(_) => (0, 65_536),
        _ => (0, 0),
    };
    Ok(Table { curve, slope_low, slope_high })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ONNX, Gelu: 0.5 x (1 + erf(x / sqrt 2)), or with approximate = "tanh" 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): at 2.5
    /// 2.484 476 and 2.484 911, in units of 2^-16, at place (2.5 + 8) 32.
    #[test]
    fn each_form_of_gelu_has_a_table_of_its_own() {
        for (by_tanh, expected) in [(false, 162_823), (true, 162_851)] {
            let table = tabled(Unary::Gelu(by_tanh)).expect("it has one");
            assert_eq!(table.curve[336], expected);
        }
    }
}
