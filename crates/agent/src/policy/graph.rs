//! The conversion of an ONNX graph to a [`Network`]: the nodes of the output, in order, with every shape known.
//!
//! Source: the ONNX specification of graphs (static single assignment, nodes sorted). Departures: nodes that the output
//! does not need are ignored, such as an exported value function or log-probability.

use std::collections::{BTreeMap, BTreeSet};

use super::error::PolicyError;
use super::network::{Memory, Network, Operand, Step};
use super::onnx::{FLOAT, GraphProto, NodeProto, ValueInfoProto};
use super::tensor::{Tensor, Values, count};
use super::{operators, states};

/// The value of a name.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) shape: Vec<usize>,
    pub(crate) content: Content,
    /// The number of choices, if the value is the number of a choice.
    pub(crate) index_below: Option<usize>,
}

/// The place of a value's numbers.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Floats that are computed, or constant.
    Floats(Operand),
    /// Constant integers: shapes and axes.
    Integers(Vec<i64>),
}

/// A network under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) network: Network,
    pub(crate) opset: i64,
    values: BTreeMap<String, Value>,
}

/// A network, the number of its outputs, and the number of choices if its output is the number of one.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) network: Network,
    pub(crate) outputs: usize,
    pub(crate) index_below: Option<usize>,
}

/// The names of the output with the action; else it is the first.
const ACTION_NAMES: [&str; 2] = ["action", "actions"];

/// Builds the network of a graph for observations of `history` rows of `width` numbers.
pub(crate) fn build(graph: &GraphProto, opset: i64, history: usize, width: usize) -> Result<Built, PolicyError> {
    let named = graph.output.iter().find(|output| ACTION_NAMES.contains(&output.name.as_str()));
    let Some(output) = named.or(graph.output.first()) else {
        return Err(PolicyError::of_file("has no output", "export a network that gives an action"));
    };
    let (nodes, leaves) = needed(graph, &output.name);
    let states = states::given(graph, &nodes)?;
    let network = Network { constants: Vec::new(), steps: Vec::new(), output: Operand::Slot(0), memory: Vec::new() };
    let mut builder = Builder { network, opset, values: BTreeMap::new() };
    for tensor in graph.initializer.iter().filter(|tensor| leaves.contains(tensor.name.as_str())) {
        let value = builder.constant(Tensor::read(tensor)?);
        builder.values.insert(tensor.name.clone(), value);
    }
    builder.add_inputs(graph, &leaves, &states, (history, width))?;
    for node in nodes {
        let values = operators::apply(&mut builder, node)?;
        builder.define(node, values);
    }
    let value = builder.value(&output.name)?.clone();
    let Content::Floats(operand) = value.content else {
        return Err(PolicyError::of_file("gives a constant", "export a network that gives an action"));
    };
    builder.network.output = operand;
    let outputs = count(&value.shape).unwrap_or(usize::MAX);
    Ok(Built { network: builder.network, outputs, index_below: value.index_below })
}

/// The nodes that the output needs, in the order of the file, and the names that no node defines.
fn needed<'a>(graph: &'a GraphProto, output: &'a str) -> (Vec<&'a NodeProto>, BTreeSet<&'a str>) {
    let mut makers: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, node) in graph.node.iter().enumerate() {
        makers.extend(node.output.iter().map(|name| (name.as_str(), index)));
    }
    let (mut chosen, mut leaves, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![output]);
    while let Some(name) = open.pop() {
        match makers.get(name) {
            Some(index) if chosen.insert(*index) => {
                open.extend(graph.node[*index].input.iter().map(String::as_str).filter(|name| !name.is_empty()));
            }
            Some(_) => {}
            None => {
                leaves.insert(name);
            }
        }
    }
    (chosen.into_iter().map(|index| &graph.node[index]).collect(), leaves)
}

impl Builder {
    /// Adds the one input with the observation, and those that are states.
    fn add_inputs(
        &mut self,
        graph: &GraphProto,
        leaves: &BTreeSet<&str>,
        states: &BTreeSet<&str>,
        (history, width): (usize, usize),
    ) -> Result<(), PolicyError> {
        let is_open = |input: &&ValueInfoProto| {
            leaves.contains(input.name.as_str()) && !self.values.contains_key(input.name.as_str())
        };
        let (kept, inputs): (Vec<&ValueInfoProto>, Vec<_>) =
            graph.input.iter().filter(is_open).partition(|input| states.contains(input.name.as_str()));
        for input in kept {
            let shape =
                declared(input)?.into_iter().flatten().map(|dim| dim.map_or(1, |dim| dim.max(0) as usize)).collect();
            let content = Content::Floats(Operand::Memory(self.memory()));
            self.values.insert(input.name.clone(), Value { shape, content, index_below: None });
        }
        let [input] = inputs[..] else {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            let what = format!("has {} inputs that decide the action: {}", names.len(), names.join(", "));
            let remedy = "export a network with one input, the observation; a memory of the past is the agent's history, or the state of an LSTM \
                          (torch.nn.LSTM, not LSTMCell)";
            return Err(PolicyError::of_file(what, remedy));
        };
        let shape = input_shape(input, history, width)?;
        let value = Value { shape, content: Content::Floats(Operand::Slot(0)), index_below: None };
        self.values.insert(input.name.clone(), value);
        Ok(())
    }

    pub(crate) fn constant(&mut self, tensor: Tensor) -> Value {
        let content = match tensor.values {
            Values::Integers(values) => Content::Integers(values),
            Values::Floats(values) => {
                self.network.constants.push(values);
                Content::Floats(Operand::Constant(self.network.constants.len() - 1))
            }
        };
        Value { shape: tensor.shape, content, index_below: None }
    }

    /// A place for numbers that are kept from one evaluation to the next.
    pub(crate) fn memory(&mut self) -> usize {
        self.network.memory.push(Memory { length: 0, next: 0 });
        self.network.memory.len() - 1
    }

    /// Stores a value at a place of the memory.
    pub(crate) fn remember(&mut self, place: usize, value: &Value) {
        if let Content::Floats(Operand::Slot(next)) = value.content {
            self.network.memory[place] = Memory { length: count(&value.shape).unwrap_or(0), next };
        }
    }

    /// Adds a step with an output of this shape.
    pub(crate) fn step(&mut self, step: Step, shape: Vec<usize>) -> Value {
        self.network.steps.push(step);
        Value { shape, content: Content::Floats(Operand::Slot(self.network.steps.len())), index_below: None }
    }

    pub(crate) fn value(&self, name: &str) -> Result<&Value, PolicyError> {
        self.values.get(name).ok_or_else(|| {
            let what = format!("uses {name:?} before it is computed");
            PolicyError::of_file(what, "export it again; it is damaged")
        })
    }

    fn define(&mut self, node: &NodeProto, values: Vec<Value>) {
        let named = node.output.iter().cloned().zip(values).filter(|(name, _)| !name.is_empty());
        self.values.extend(named);
    }
}

/// The shape that an input of floats declares, `None` for a dimension of any size; `None` without a declaration.
fn declared(input: &ValueInfoProto) -> Result<Option<Vec<Option<i64>>>, PolicyError> {
    let tensor = input.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    if let Some(tensor) = tensor.filter(|tensor| tensor.elem_type != FLOAT) {
        let what = format!("takes {:?} of ONNX type {}, no 32-bit floats", input.name, tensor.elem_type);
        return Err(PolicyError::of_file(what, "export the network in 32-bit floats"));
    }
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    Ok(shape.map(|shape| shape.dim.iter().map(|dim| dim.dim_value).collect()))
}

/// The shape of the input, checked against the agent's observations. A batch has one item.
fn input_shape(input: &ValueInfoProto, history: usize, width: usize) -> Result<Vec<usize>, PolicyError> {
    let length = history * width;
    let Some(declared) = declared(input)? else { return Ok(vec![1, length]) };
    let allowed = [vec![1, length], vec![1, history, width], vec![length], vec![history, width]];
    let fits = |shape: &&Vec<usize>| {
        let fits_one = |(declared, wanted): (&Option<i64>, &usize)| declared.is_none_or(|dim| dim == *wanted as i64);
        declared.len() == shape.len() && declared.iter().zip(shape.iter()).all(fits_one)
    };
    allowed.iter().find(fits).cloned().ok_or_else(|| {
        let told: Vec<String> = declared.iter().map(|dim| dim.map_or("any".to_owned(), |dim| dim.to_string())).collect();
        let what = format!("takes observations of shape [{}], not {length} numbers", told.join(", "));
        let remedy = format!(
            "let the agent have the observations and the history that it was trained with, in a batch of one or of any size: [1, {length}]"
        );
        PolicyError::of_file(what, remedy)
    })
}
