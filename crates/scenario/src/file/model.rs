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
        /// How long the least round trip counts before it is measured anew.
        probe_rtt_interval: Duration,
        /// How long that keeps half of a path full in flight.
        probe_rtt_duration: Duration,
    }
}
