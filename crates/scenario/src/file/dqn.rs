//! Controllers that learn, as a file says them.

use ackclock_cc::{BelowSsthresh, LearnOn, MaxThroughput, OptimiserKind, StateScale, StoreOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;
use super::macros::{table, words};

words! {
    /// What learns.
    pub(crate) enum OptimizerWord for OptimiserKind {
        "adam" = Adam,
        "sgd" = Sgd,
    }
}

words! {
    /// When a step of learning is taken.
    pub(crate) enum LearnOnWord for LearnOn {
        "action" = Action,
        "tuple" = Tuple,
    }
}

words! {
    /// When a tuple is stored.
    pub(crate) enum StoreOnWord for StoreOn {
        "ack" = Ack,
        "action" = Action,
    }
}

words! {
    /// How states are brought to size.
    pub(crate) enum StateScaleWord for StateScale {
        "running" = Running,
        "fixed" = Fixed,
        "raw" = Raw,
    }
}

words! {
    /// Which throughput rewards relate to.
    pub(crate) enum MaxThroughputWord for MaxThroughput {
        "congestion" = Congestion,
        "always" = Always,
    }
}

words! {
    /// What holds when an action takes the window below ssthresh.
    pub(crate) enum BelowSsthreshWord for BelowSsthresh {
        "slow_start" = SlowStart,
        "avoidance" = Avoidance,
    }
}

/// A table of what every agent has, and of some fields more.
macro_rules! agent_table {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        agent_table! {
            @with $(#[$meta])* $name { $($(#[$field_meta])* $field: $type,)* }
            /// Nodes of each hidden layer.
            hidden: Vec<u32>,
            /// Probability that a hidden node is silent in a step of learning.
            dropout: f64,
            /// What learns.
            optimizer: OptimizerWord,
            /// Its learning rate.
            learning_rate: f64,
            /// What a reward is worth a step later.
            discount: f64,
            /// Tuples in a step of learning.
            batch: u32,
            /// Steps of learning from a copy of the network for the targets to the next; 0: none is kept.
            target_update: u32,
            /// The most tuples kept.
            replay_capacity: u32,
            /// Tuples to be stored before anything is learnt.
            warm_up: u32,
            /// The fraction of actions that are random after that.
            epsilon: f64,
            /// When a step of learning is taken.
            learn_on: LearnOnWord,
            /// How states are brought to size.
            normalisation: StateScaleWord,
            /// A window that counts as 1 under normalisation = "fixed", segments.
            segment_scale: f64,
            /// A time that counts as 1 under normalisation = "fixed".
            time_scale: Duration,
            /// Which throughput rewards relate to.
            max_throughput: MaxThroughputWord,
            /// Fraction of the flight size kept on congestion.
            beta: f64,
            /// No action takes the window below, segments.
            min_window: u32,
            /// What holds when an action takes the window below ssthresh.
            below_ssthresh: BelowSsthreshWord,
        }
    };
    (@with $(#[$meta:meta])* $name:ident { $($own:tt)* } $($(#[$field_meta:meta])* $field:ident: $type:ty,)*) => {
        table! { $(#[$meta])* pub(crate) struct $name { $($own)* $($(#[$field_meta])* $field: $type,)* } }

        impl From<&$name> for AgentParameters {
            /// What it says of its agent.
            fn from(table: &$name) -> Self {
                Self { $($field: table.$field.clone(),)* }
            }
        }
    };
}

agent_table! {
    /// What every agent has.
    AgentParameters {}
}

agent_table! {
    /// Parameters of `NewReno` with an agent.
    DqnNewRenoParameters {
        /// When a tuple is stored.
        store_on: StoreOnWord,
    }
}

agent_table! {
    /// Parameters of CUBIC with an agent.
    DqnCubicParameters {
        /// Steepness of the curve, in segments/s^3.
        c: f64,
        /// Whether C stands before the cube of action 2.
        formula_c: bool,
    }
}
