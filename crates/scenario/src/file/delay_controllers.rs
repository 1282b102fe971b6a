//! Parameters of the controllers that go by delay, as a file says them.

use ackclock_cc::{VegasRtt, VegasVariant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;
use super::macros::{table, words};

words! {
    /// Whose Vegas.
    pub(crate) enum VegasVariantWord for VegasVariant {
        "brakmo" = Brakmo,
        "ns2" = Ns2,
        "linux" = Linux,
    }
}

words! {
    /// Which of the delays measured in a round trip stands for it.
    pub(crate) enum VegasRttWord for VegasRtt {
        "latest" = Latest,
        "least" = Least,
        "mean" = Mean,
    }
}

table! {
    /// Parameters of Vegas; thresholds in segments queued.
    pub(crate) struct VegasParameters {
        /// Whose rules and constants.
        variant: VegasVariantWord,
        /// Fewer make the window grow.
        alpha: f64,
        /// More make it shrink.
        beta: f64,
        /// More end slow start.
        gamma: f64,
        /// The RTT of a round trip.
        rtt: VegasRttWord,
    }
}

table! {
    /// Parameters of Vegas on the forward delay; thresholds in segments queued.
    pub(crate) struct ModifiedVegasParameters {
        /// Whose rules and constants.
        variant: VegasVariantWord,
        /// Fewer make the window grow.
        alpha: f64,
        /// More make it shrink.
        beta: f64,
        /// More end slow start.
        gamma: f64,
        /// The delay of a round trip.
        rtt: VegasRttWord,
        /// A tick of the receiver's timestamp clock; by default estimated.
        receiver_tick: Duration,
    }
}

impl ModifiedVegasParameters {
    /// What it shares with plain Vegas.
    pub(crate) fn vegas(&self) -> VegasParameters {
        VegasParameters { variant: self.variant, alpha: self.alpha, beta: self.beta, gamma: self.gamma, rtt: self.rtt }
    }
}
