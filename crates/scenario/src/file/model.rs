//! Parameters of the controllers that model their path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;
use super::macros::table;

table! {
    /// Parameters of BBR's first version.
    pub(crate) struct BbrParameters {
        /// Gain of rate and window in Startup.
        high_gain: f64,
        /// Window in `ProbeBW`, in estimated bandwidth-delay products.
        cwnd_gain: f64,
        /// Round trips over which the greatest rate is taken.
        bandwidth_window: u64,
        /// How long the least round trip counts before it is measured anew.
        min_rtt_window: Duration,
        /// How long that keeps four segments in flight.
        probe_rtt_duration: Duration,
    }
}

table! {
    /// Parameters of BBR's third version.
    pub(crate) struct Bbr3Parameters {
        /// Gain of the rate in Startup.
        startup_gain: f64,
        /// Fraction of a round trip's data whose loss means that it was too much.
        loss_threshold: f64,
        /// Fraction that a round trip with losses keeps at least.
        beta: f64,
        /// Fraction of the long-term limit left free while cruising.
        headroom: f64,
        /// Time without a shorter round trip after which it is measured anew.
        probe_rtt_interval: Duration,
        /// How long that keeps half of a path full in flight.
        probe_rtt_duration: Duration,
    }
}

table! {
    /// Parameters of DCTCP.
    pub(crate) struct DctcpParameters {
        /// Weight of the latest window in the average of the marked fraction.
        gain: f64,
        /// That average to begin with.
        initial_alpha: f64,
    }
}

table! {
    /// Parameters of Prague.
    pub(crate) struct PragueParameters {
        /// Weight of the latest window in the average of the marked fraction.
        gain: f64,
        /// That average to begin with.
        initial_alpha: f64,
        /// No round trip counts as shorter.
        reference_rtt: Duration,
        /// Fraction of the window kept on a loss.
        beta: f64,
    }
}

table! {
    /// Parameters of PCC Allegro.
    pub(crate) struct AllegroParameters {
        /// The loss beyond which throughput is worth nothing.
        loss_threshold: f64,
        /// How sharply that sets in.
        steepness: f64,
        /// The least step of a trial, as a fraction of the rate.
        min_epsilon: f64,
        /// The greatest.
        max_epsilon: f64,
    }
}

table! {
    /// Parameters of PCC Vivace.
    pub(crate) struct VivaceParameters {
        /// What a rate is worth: its power.
        exponent: f64,
        /// The price of a round trip that grows.
        latency_coefficient: f64,
        /// The price of loss.
        loss_coefficient: f64,
        /// The step of a trial, as a fraction of the rate.
        epsilon: f64,
        /// The step along the gradient, Mbit/s for each unit of it.
        conversion: f64,
        /// The bound of a change, as a fraction of the rate.
        bound: f64,
        /// What each change that meets the bound adds to it.
        bound_step: f64,
        /// Growth of the round trip, seconds a second, that is taken for noise.
        latency_tolerance: f64,
    }
}

table! {
    /// Parameters of SIAD.
    pub(crate) struct SiadParameters {
        /// Round trips from one congestion event to the next.
        rounds: u32,
        /// Round trips are measured in whole ticks of this length.
        tick: Duration,
    }
}
