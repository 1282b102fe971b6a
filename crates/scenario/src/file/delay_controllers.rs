//! Parameters of the controllers that go by delay, as a file says them.

use ackclock_cc::{LedbatDelay, VegasRtt, VegasVariant};
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

words! {
    /// Which delay LEDBAT measures.
    pub(crate) enum LedbatDelayWord for LedbatDelay {
        "forward" = Forward,
        "round_trip" = RoundTrip,
    }
}

table! {
    /// Parameters of FAST.
    pub(crate) struct FastParameters {
        /// Packets of the flow to keep in queues.
        alpha: f64,
        /// Weight of the new window.
        gamma: f64,
        /// Below this queueing delay the window doubles.
        threshold: Duration,
    }
}

table! {
    /// Parameters of LEDBAT.
    pub(crate) struct LedbatParameters {
        /// The queueing delay to hold.
        target: Duration,
        /// Segments per round trip that the window grows by on an empty queue.
        gain: f64,
        /// Segments by which the window may exceed what is in flight.
        allowed_increase: u32,
        /// Minutes after which a base delay is forgotten.
        base_history: u32,
        /// Samples of which the current delay is the least.
        current_filter: u32,
        /// Which delay counts.
        delay: LedbatDelayWord,
        /// Begin as Reno does.
        slow_start: bool,
    }
}

table! {
    /// Parameters of `LEDBAT++`.
    pub(crate) struct LedbatPlusPlusParameters {
        /// The queueing delay to stay below.
        target: Duration,
        /// Weight of the multiplicative decrease.
        constant: f64,
        /// Minutes after which a base delay is forgotten.
        base_history: u32,
        /// Samples of which the current delay is the least.
        current_filter: u32,
        /// Slow down now and then.
        slowdown: bool,
    }
}

table! {
    /// Parameters of Copa.
    pub(crate) struct CopaParameters {
        /// Weight of delay against throughput: 1/delta packets wait.
        delta: f64,
        /// Compete with flows that fill the queue.
        mode_switch: bool,
        /// Round trips in which the queue must have been nearly empty for the flow to be alone.
        empty_round_trips: u32,
        /// The queue is nearly empty below this share of the range of the RTT.
        nearly_empty: f64,
    }
}

table! {
    /// Parameters of Swift; windows in segments.
    pub(crate) struct SwiftParameters {
        /// Target of the RTT, propagation included, for flows with a large window.
        #[schemars(required)]
        base_target: Duration,
        /// What flow scaling adds at most, for small windows.
        flow_scaling_range: Duration,
        /// The smallest of the windows between which it does.
        flow_scaling_min_window: f64,
        /// The largest of them.
        flow_scaling_max_window: f64,
        /// Segments that the window grows by in a round trip.
        additive_increase: f64,
        /// Weight of the decrease.
        beta: f64,
        /// The largest share that the window loses at once.
        max_decrease: f64,
        /// The smallest window.
        min_window: f64,
    }
}

impl ModifiedVegasParameters {
    /// What it shares with plain Vegas.
    pub(crate) fn vegas(&self) -> VegasParameters {
        VegasParameters { variant: self.variant, alpha: self.alpha, beta: self.beta, gamma: self.gamma, rtt: self.rtt }
    }
}
