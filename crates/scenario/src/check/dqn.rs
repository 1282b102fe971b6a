//! Controllers that learn: their parameters, checked.

use ackclock_cc::{DqnConfig, DqnCubicConfig, DqnNewRenoConfig, Learning};

use super::Checker;
use super::model::Range;
use crate::file::dqn::{AgentParameters, DqnCubicParameters, DqnNewRenoParameters};
use crate::tree::FieldPath;

/// Hidden layers, and nodes in each, at most: a step of learning on the largest network takes about a second.
const MOST_LAYERS: usize = 16;
const MOST_NODES: u32 = 1_024;

impl Checker<'_, '_> {
    pub(crate) fn dqn_newreno(&mut self, table: &DqnNewRenoParameters, path: &FieldPath) -> DqnNewRenoConfig {
        let default = DqnNewRenoConfig::default();
        DqnNewRenoConfig {
            dqn: self.agent(&table.into(), default.dqn, path),
            store_on: table.store_on.map_or(default.store_on, Into::into),
        }
    }

    pub(crate) fn dqn_cubic(&mut self, table: &DqnCubicParameters, path: &FieldPath) -> DqnCubicConfig {
        let default = DqnCubicConfig::default();
        DqnCubicConfig {
            dqn: self.agent(&table.into(), default.dqn, path),
            c: self.parameter(table.c, default.c, Range::Within(1e-6, 1e6), &path.key("c")),
            formula_c: table.formula_c.unwrap_or(default.formula_c),
        }
    }

    fn agent(&mut self, table: &AgentParameters, default: DqnConfig, path: &FieldPath) -> DqnConfig {
        let scale = Range::Within(1e-6, 1e9);
        DqnConfig {
            learning: self.learning(table, default.learning, path),
            learn_on: table.learn_on.map_or(default.learn_on, Into::into),
            normalisation: table.normalisation.map_or(default.normalisation, Into::into),
            segment_scale: self.parameter(
                table.segment_scale,
                default.segment_scale,
                scale,
                &path.key("segment_scale"),
            ),
            time_scale: self.time(table.time_scale, default.time_scale, &path.key("time_scale")),
            max_throughput: table.max_throughput.map_or(default.max_throughput, Into::into),
            beta: self.parameter(table.beta, default.beta, Range::Fraction, &path.key("beta")),
            min_window: self.count(table.min_window, default.min_window, (1, 10_000), &path.key("min_window")),
            below_ssthresh: table.below_ssthresh.map_or(default.below_ssthresh, Into::into),
            seed: default.seed,
            frozen: default.frozen,
        }
    }

    fn learning(&mut self, table: &AgentParameters, default: Learning, path: &FieldPath) -> Learning {
        let mut number = |value, default, least, most, name| {
            self.parameter(value, default, Range::Within(least, most), &path.key(name))
        };
        let dropout = number(table.dropout, default.dropout, 0.0, 0.9, "dropout");
        let learning_rate = number(table.learning_rate, default.learning_rate, 1e-9, 1.0, "learning_rate");
        let discount = number(table.discount, default.discount, 0.0, 0.9999, "discount");
        let epsilon = number(table.epsilon, default.epsilon, 0.0, 1.0, "epsilon");
        let mut count = |value, default, most, name| self.count(value, default, most, &path.key(name));
        Learning {
            dropout,
            learning_rate,
            discount,
            epsilon,
            optimiser: table.optimizer.map_or(default.optimiser, Into::into),
            batch: count(table.batch, default.batch as u64, (1, 4_096), "batch") as usize,
            target_update: count(table.target_update, default.target_update, (0, 1_000_000_000), "target_update"),
            replay_capacity: count(
                table.replay_capacity,
                default.replay_capacity as u64,
                (1, 10_000_000),
                "replay_capacity",
            ) as usize,
            warm_up: count(table.warm_up, default.warm_up, (0, 1_000_000_000), "warm_up"),
            hidden: self.hidden(table.hidden.as_deref(), default.hidden, path),
        }
    }

    /// A whole number that a file may set, from the first to the second.
    fn count(&mut self, value: Option<u32>, default: u64, (least, most): (u64, u64), path: &FieldPath) -> u64 {
        let value = value.map_or(default, u64::from);
        if (least..=most).contains(&value) {
            return value;
        }
        let remedy = format!("use {least} to {most}; the default is {default}");
        self.report(path, format!("is {value}, out of range"), remedy);
        default
    }

    fn hidden(&mut self, value: Option<&[u32]>, default: Vec<usize>, path: &FieldPath) -> Vec<usize> {
        let Some(layers) = value else { return default };
        if layers.len() > MOST_LAYERS || layers.iter().any(|nodes| !(1..=MOST_NODES).contains(nodes)) {
            let what = format!("is {layers:?}, no list of hidden layers");
            let remedy =
                format!("use up to {MOST_LAYERS} numbers of nodes from 1 to {MOST_NODES}; the default is {default:?}");
            self.report(&path.key("hidden"), what, remedy);
            return default;
        }
        layers.iter().map(|nodes| *nodes as usize).collect()
    }
}
