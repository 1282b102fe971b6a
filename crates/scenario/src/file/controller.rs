//! Congestion controllers as a file says them.

use ackclock_cc::Increase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Amount;
use super::macros::{kinds, table, words};

kinds! {
    /// Congestion control; `ackclock controllers` explains each.
    pub(crate) enum Controller {
        /// Reno's window with Tahoe's recovery.
        "tahoe" = Tahoe(RenoParameters),
        /// Reno's window; the recovery is the stack's.
        "reno" = Reno(RenoParameters),
        /// Reno's window with NewReno's recovery.
        "newreno" = NewReno(RenoParameters),
        /// RFC 9438.
        "cubic" = Cubic(CubicParameters),
        /// A window that never changes.
        "fixed" = Fixed(FixedParameters),
    }
}

table! {
    /// Parameters of Reno's window rules.
    pub(crate) struct RenoParameters {
        /// What congestion avoidance counts.
        increase: IncreaseWord,
        /// Fraction of the flight size kept on congestion.
        beta: f64,
    }
}

words! {
    /// What congestion avoidance counts.
    pub(crate) enum IncreaseWord for Increase {
        "bytes" = Bytes,
        "acks" = Acks,
    }
}

table! {
    /// Parameters of CUBIC.
    pub(crate) struct CubicParameters {
        /// Steepness of the curve, in segments/s^3.
        c: f64,
        /// Fraction of the flight size kept on congestion.
        beta: f64,
        /// Lower `W_max` when the window falls twice in a row.
        fast_convergence: bool,
        /// Never be slower than Reno would be.
        reno_friendly: bool,
    }
}

table! {
    /// A window that never changes.
    pub(crate) struct FixedParameters {
        /// The window.
        #[schemars(required)]
        window: Amount,
    }
}
