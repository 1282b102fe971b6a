//! Parameters of Reno's relatives, as a file says them.

use ackclock_cc::HighSpeedResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;
use super::macros::{table, words};

table! {
    /// Additive increase, multiplicative decrease.
    pub(crate) struct AimdParameters {
        /// Segments added in a round trip.
        a: f64,
        /// Fraction taken away on congestion.
        b: f64,
    }
}

table! {
    /// Parameters of BIC.
    pub(crate) struct BicParameters {
        /// The most that a round trip adds, segments.
        max_increment: f64,
        /// The least, segments.
        min_increment: f64,
        /// Fraction taken away on congestion.
        beta: f64,
        /// Segments up to which Reno's rules hold.
        low_window: f64,
        /// Aim lower when the window falls twice in a row.
        fast_convergence: bool,
    }
}

words! {
    /// Where a(w) and b(w) come from.
    pub(crate) enum HighSpeedResponseWord for HighSpeedResponse {
        "formula" = Formula,
        "table" = Table,
    }
}

table! {
    /// Parameters of `HighSpeed` TCP.
    pub(crate) struct HighSpeedParameters {
        /// The RFC's formulas, or the table of its appendix B.
        response: HighSpeedResponseWord,
        /// Segments up to which Reno's rules hold.
        low_window: f64,
        /// The window to be reached at `high_p`, segments.
        high_window: f64,
        /// The loss rate at `high_window`.
        high_p: f64,
        /// The fraction taken away at `high_window`.
        high_decrease: f64,
    }
}

table! {
    /// Parameters of H-TCP.
    pub(crate) struct HtcpParameters {
        /// What is kept follows the round trips.
        adaptive_backoff: bool,
        /// Growth in proportion to the round trip.
        rtt_scaling: bool,
    }
}

table! {
    /// Parameters of Hybla.
    pub(crate) struct HyblaParameters {
        /// The round trip whose growth to equal.
        rtt0: Duration,
    }
}

table! {
    /// Parameters of Illinois.
    pub(crate) struct IllinoisParameters {
        /// The most that a round trip adds, segments.
        alpha_max: f64,
        /// The least, segments.
        alpha_min: f64,
        /// The most that congestion takes away, a fraction.
        beta_max: f64,
        /// The least.
        beta_min: f64,
        /// Segments up to which Reno's rules hold.
        window_threshold: f64,
    }
}

table! {
    /// Parameters of Scalable TCP.
    pub(crate) struct ScalableParameters {
        /// Segments added for each acknowledged one.
        a: f64,
        /// Fraction taken away on congestion.
        b: f64,
        /// Segments up to which Reno's rules hold.
        legacy_window: f64,
    }
}

table! {
    /// Parameters of Veno.
    pub(crate) struct VenoParameters {
        /// Segments queued from which the path counts as congested.
        beta: f64,
    }
}

table! {
    /// Parameters of Westwood+.
    pub(crate) struct WestwoodParameters {
        /// Share of the old bandwidth estimate in the new one.
        filter: f64,
    }
}

table! {
    /// Parameters of `YeAH`.
    pub(crate) struct YeahParameters {
        /// Segments queued at most.
        max_queue: f64,
        /// The round trip may be longer than its least by this part of it.
        phi: f64,
        /// Segments added for each acknowledged one while fast.
        increase: f64,
    }
}
