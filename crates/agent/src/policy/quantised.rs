//! A policy in integer arithmetic, for a machine without floating point, such as a program in the kernel.
//!
//! Source: none but arithmetic. Numbers are fixed-point with 16 bits after the point ("q16"); weights have as many as
//! the sums of their layer allow. A layer's sum is exact in 64 bits, then shifted, rounding down. Logarithms, powers of
//! two and activation functions are tables with straight lines between, which are part of the file, so that all
//! machines use the same. An LSTM's state is rounded to the nearest, since errors that all point one way would add up.
//! The same arithmetic in C is crates/bpf/src/programs/policy.h, which is held to this; [`module`] writes it with a policy into a file.
//!
//! Departures from the policy in floating point: these roundings; an action of a range is a multiple of 2^-16; and observations are
//! those of [`sight`], of whole microseconds.

mod accuracy;
mod image;
mod layers;
pub mod module;
pub mod sight;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use accuracy::Accuracy;
pub use image::{Image, Memory};
pub use sight::Sight;

use super::error::PolicyError;
use super::{Form, Policy};
use crate::action::{Action, ActionSpace};
use crate::config::AgentConfig;
use crate::decision::Decision;

/// The first line of such a file; the second is the agent's configuration as JSON, and an [`Image`] follows.
pub const MAGIC: &str = "ackclock policy in whole numbers, 2\n";
/// The first line of earlier files, whose [`Image`] lacks the LSTM and ends before it.
const MAGIC_1: &str = "ackclock policy in whole numbers, 1\n";

/// A policy in integer arithmetic.
#[derive(Clone, Debug)]
pub struct Quantised {
    image: Arc<Image>,
}

/// The decision times of the catalogue with an integer form.
pub const DECISIONS: [&str; 3] = ["ack", "window", "round"];

/// The actions of the catalogue with an integer form.
pub const ACTIONS: [&str; 2] = ["deltas", "orca"];

impl Quantised {
    /// Checks whether a policy of this agent converts to integers, if its network does.
    pub fn check(config: &AgentConfig) -> Result<(), PolicyError> {
        Self::without_network(config).map(drop)
    }

    /// An image of the agent, without layers; and the codes of its observations.
    fn without_network(config: &AgentConfig) -> Result<(Box<Image>, Vec<u32>), PolicyError> {
        refuse_what_no_program_does(config)?;
        let codes = sight::codes(config)?;
        let mut image = Box::new(Image::EMPTY);
        image.set_agent(config, &codes)?;
        Ok((image, codes))
    }

    /// Converts a policy to integers.
    pub fn of(policy: &Policy) -> Result<Self, PolicyError> {
        let config = &policy.config;
        let (mut image, codes) = Self::without_network(config)?;
        let bounds: Vec<f64> = codes.iter().map(|code| sight::bound(*code, config.is_scaled)).collect();
        let layers = layers::of(&policy.network, &bounds)?;
        image.set_layers(&layers)?;
        Ok(Self { image: image.into() })
    }

    /// Reads a file that [`Quantised::file`] wrote; `None` for another file. Its agent's configuration comes with it.
    pub fn read(bytes: &[u8]) -> Option<Result<(Self, String), PolicyError>> {
        let (rest, has_lstm) = match bytes.strip_prefix(MAGIC_1.as_bytes()) {
            Some(rest) => (rest, false),
            None => (bytes.strip_prefix(MAGIC.as_bytes())?, true),
        };
        let broken = || PolicyError::of_file("is truncated or damaged", "export it again: ackclock export --to bpf");
        let read = || {
            let end = rest.iter().position(|octet| *octet == b'\n').ok_or_else(broken)?;
            let config = std::str::from_utf8(&rest[..end]).map_err(|_| broken())?.to_owned();
            let octets = &rest[end + 1..];
            if has_lstm == (octets.len() == Image::WITHOUT_LSTM) {
                return Err(broken());
            }
            let image = Image::read(octets).ok_or_else(broken)?;
            Ok((Self { image: image.into() }, config))
        };
        Some(read())
    }

    /// The policy as a file, with the agent's configuration as JSON in one line.
    pub fn file(&self, config: &str) -> Vec<u8> {
        let mut file = MAGIC.as_bytes().to_vec();
        file.extend(config.replace('\n', " ").bytes());
        file.push(b'\n');
        file.extend(self.image.octets());
        file
    }

    /// Decides: the number of a choice, or a value in q16. `memory` is that of the flow, and is updated.
    pub fn decide(&self, sight: &Sight, memory: &mut Memory) -> i64 {
        let mut inputs = [0; image::WIDTH];
        for (place, input) in inputs.iter_mut().enumerate().take(self.image.inputs as usize) {
            *input = self.image.input(place, sight);
        }
        self.image.run(&mut inputs, memory)
    }

    /// Decides by given inputs, q16.
    pub fn decide_on(&self, given: &[i64], memory: &mut Memory) -> i64 {
        let mut inputs = [0; image::WIDTH];
        inputs[..given.len()].copy_from_slice(given);
        self.image.run(&mut inputs, memory)
    }

    /// True if a policy with this configuration converts to this one.
    pub(super) fn is_of(&self, config: &AgentConfig) -> bool {
        let mut expected = Box::new(Image::clone(&self.image));
        let codes = sight::codes(config);
        codes.is_ok_and(|codes| expected.set_agent(config, &codes).is_ok()) && *expected == *self.image
    }

    /// The image behind the configuration in the file.
    pub fn image(&self) -> &Image {
        &self.image
    }
}

/// The action of a decision, where actions are [`f64`]s.
pub(super) fn action_of(decision: i64, form: Form, space: ActionSpace) -> f64 {
    match (form, space) {
        (Form::Values, _) | (Form::Action, ActionSpace::Discrete(_)) => decision as f64,
        (Form::Action, ActionSpace::Range(..)) => decision as f64 / 65_536.0,
    }
}

fn refuse_what_no_program_does(config: &AgentConfig) -> Result<(), PolicyError> {
    let refused = |what: &str, remedy: &str| Err(PolicyError::of_agent(what.to_owned(), remedy.to_owned()));
    if config.history != 1 {
        return refused("has a history, which quantised policies do not support", "train with history = 1");
    }
    if config.has_slow_start || config.answers_losses {
        let what = "responds to losses or does slow start, which the kernel's CUBIC keeps";
        return refused(what, "train with slow_start = \"stack\" and on_loss = \"stack\"");
    }
    if matches!(config.decision, Decision::CubicPace | Decision::Every(_)) {
        return refused("decides on a timer, not on ACKs", "decide by ack, window, round or rounds");
    }
    if !matches!(config.action, Action::Deltas { .. } | Action::Orca) {
        return refused("has an action that quantised policies do not support", "train with deltas or orca");
    }
    Ok(())
}
