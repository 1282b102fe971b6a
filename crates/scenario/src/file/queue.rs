//! Queue disciplines as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{kinds, overlay_replaces, table};
use super::{Limit, Size};

kinds! {
    /// A queue discipline; `ackclock queues` explains each.
    pub(crate) enum Queue {
        /// First in, first out; what does not fit is dropped.
        "drop_tail" = DropTail(DropTail),
        /// Small packets before all others.
        "sgpq" = Sgpq(Sgpq),
        /// First in, first out, with a mark for what finds more than a threshold.
        "threshold" = Threshold(Threshold),
    }
}

overlay_replaces!(Queue);

table! {
    /// First in, first out; what does not fit is dropped.
    pub(crate) struct DropTail {
        /// How much may wait: "1 bdp" by default at the bottleneck of a dumbbell or parking lot, else "unlimited".
        limit: Limit,
    }
}

table! {
    /// Small packets before all others.
    pub(crate) struct Sgpq {
        /// Packets of at most this size (IP, without framing) are small; 80 bytes by default: every pure ACK.
        threshold: Size,
        /// How many small packets may wait; "unlimited" by default.
        small_limit: Limit,
        /// How many of the others may wait: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// First in, first out, with a mark for what finds more than a threshold.
    pub(crate) struct Threshold {
        /// A packet that finds more than this waiting is marked, if it allows that.
        #[schemars(required)]
        threshold: Limit,
        /// How much may wait: as `drop_tail`.
        limit: Limit,
    }
}
