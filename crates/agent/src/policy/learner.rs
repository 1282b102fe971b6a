//! The state that a policy from a flow needs besides its network, to continue as the controller that learnt it.
//!
//! A file of `dqn_newreno` or `dqn_cubic` names its controller under [`LEARNER_KEY`], with the settings that apply
//! without learning. The engine then runs that controller, slow start and answer to losses included, with the network
//! in the place of its agent. Source: none. Departures: no action is random, and "running" normalisation begins with
//! its final statistics.

use ackclock_cc::{
    BelowSsthresh, ControllerConfig, DecreaseFrom, Frozen, FrozenNetwork, Hystart, Learned, LearnedKind,
    SlowStartCount, WindowRules, frozen,
};
use ackclock_declare::{Words, read_word};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::error::PolicyError;
use super::network::Network;
use super::{Form, Policy};

/// Key of the file's metadata about the controller that learnt it, with its settings.
pub const LEARNER_KEY: &str = "ackclock.learner";

/// A controller that learnt, and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learner {
    kind: LearnedKind,
    rules: WindowRules,
}

/// Settings as written, with the names of a scenario's file. Files of earlier versions lack the fields after
/// `below_ssthresh`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Written {
    DqnNewreno {
        beta: f64,
        min_window: u64,
        below_ssthresh: Word<BelowSsthresh>,
        #[serde(default = "once_from_flight")]
        decrease_from: Word<DecreaseFrom>,
        #[serde(default)]
        slow_start: Word<SlowStartCount>,
    },
    DqnCubic {
        beta: f64,
        min_window: u64,
        below_ssthresh: Word<BelowSsthresh>,
        #[serde(default = "once_from_flight")]
        decrease_from: Word<DecreaseFrom>,
        #[serde(default)]
        hystart: Word<Hystart>,
        c: f64,
        formula_c: bool,
    },
}

/// The default of controllers from before there was a choice.
fn once_from_flight() -> Word<DecreaseFrom> {
    Word(DecreaseFrom::FlightSize)
}

/// A value by its word in a scenario's file.
#[derive(Clone, Copy, Default)]
struct Word<T>(T);

impl<T: Words> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = serde_json::Value::deserialize(deserializer)?;
        read_word(&word).map(Self).map_err(de::Error::custom)
    }
}

/// The settings of a learning controller, as a file holds them.
pub(super) fn written(learned: &Learned) -> String {
    let WindowRules { beta, decrease_from, min_window, below_ssthresh, slow_start, hystart } = learned.rules;
    let (below_ssthresh, decrease_from) = (Word(below_ssthresh), Word(decrease_from));
    let written = match learned.kind {
        LearnedKind::NewReno => {
            Written::DqnNewreno { beta, min_window, below_ssthresh, decrease_from, slow_start: Word(slow_start) }
        }
        LearnedKind::Cubic { c, formula_c } => {
            Written::DqnCubic { beta, min_window, below_ssthresh, decrease_from, hystart: Word(hystart), c, formula_c }
        }
    };
    serde_json::to_string(&written).expect("names and numbers")
}

impl Learner {
    /// Reads the settings in a file, for a network of `inputs` inputs.
    pub(super) fn read(text: &str, inputs: usize) -> Result<Self, PolicyError> {
        let wrong = |what: String| {
            let remedy = "save it again with `ackclock run --save-policy`, or remove the key";
            PolicyError::of_file(format!("has wrong metadata {LEARNER_KEY}: {what}"), remedy)
        };
        let learner = match serde_json::from_str(text).map_err(|error| wrong(error.to_string()))? {
            Written::DqnNewreno { beta, min_window, below_ssthresh, decrease_from, slow_start } => {
                let (below_ssthresh, decrease_from, slow_start) = (below_ssthresh.0, decrease_from.0, slow_start.0);
                let hystart = Hystart::Off;
                let rules = WindowRules { beta, decrease_from, min_window, below_ssthresh, slow_start, hystart };
                Self { kind: LearnedKind::NewReno, rules }
            }
            Written::DqnCubic { beta, min_window, below_ssthresh, decrease_from, hystart, c, formula_c } => {
                let (below_ssthresh, decrease_from, hystart) = (below_ssthresh.0, decrease_from.0, hystart.0);
                let slow_start = SlowStartCount::Bytes;
                let rules = WindowRules { beta, decrease_from, min_window, below_ssthresh, slow_start, hystart };
                Self { kind: LearnedKind::Cubic { c, formula_c }, rules }
            }
        };
        match learner.mistake(inputs) {
            Some(what) => Err(wrong(what)),
            None => Ok(learner),
        }
    }

    /// The first mistake; the limits are those of a scenario's file.
    fn mistake(&self, inputs: usize) -> Option<String> {
        let WindowRules { beta, min_window, .. } = self.rules;
        if !(beta > 0.0 && beta < 1.0) {
            return Some(format!("beta = {beta} is out of range, which is above 0 and below 1"));
        }
        if !(1..=10_000).contains(&min_window) {
            return Some(format!("min_window = {min_window} is out of range, which is 1 to 10000"));
        }
        if let LearnedKind::Cubic { c, .. } = self.kind
            && !(1e-6..=1e6).contains(&c)
        {
            return Some(format!("c = {c} is out of range, which is 1e-6 to 1e6"));
        }
        let wanted = self.kind.inputs();
        (inputs != wanted).then(|| format!("its controller observes {wanted} numbers, but the network takes {inputs}"))
    }

    /// True if the outputs are the values of its actions.
    pub(super) fn fits(&self, form: Form, outputs: usize) -> bool {
        form == Form::Values && outputs == self.kind.actions()
    }
}

impl Policy {
    /// The controller that learnt the policy in its flow, without further learning; `None` for a policy that was
    /// trained otherwise.
    pub fn learner(&self) -> Option<ControllerConfig> {
        let Learner { kind, rules } = self.learner?;
        Some(frozen(kind, rules, Frozen::new(self.network.clone())))
    }
}

impl FrozenNetwork for Network {
    fn values<'a>(&'a self, state: &[f32], room: &'a mut Vec<Vec<f32>>) -> &'a [f32] {
        self.evaluate(state, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_earlier_version_goes_on_as_it_was_learnt() {
        let text = r#"{"kind":"dqn_newreno","beta":0.7,"min_window":2,"below_ssthresh":"avoidance"}"#;
        let rules = Learner::read(text, 3).expect("all that it had").rules;
        assert_eq!((rules.below_ssthresh, rules.decrease_from), (BelowSsthresh::Avoidance, DecreaseFrom::FlightSize));
        assert_eq!((rules.slow_start, rules.hystart), (SlowStartCount::Bytes, Hystart::Off));
        let wrong = text.replace("avoidance", "flight");
        assert!(
            Learner::read(&wrong, 3).expect_err("no such word").to_string().contains("\"slow_start\" or \"avoidance\"")
        );
    }
}
