//! RED, and disciplines that decide who goes next, as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds, overlay_replaces, table};
use super::topology::Class;
use super::{Duration, Limit, List, Names, Rate, Size};

table! {
    /// Random Early Detection.
    pub(crate) struct Red {
        /// Below this average nothing is dropped: packets, or an amount of data; "5 packets" by default.
        min_threshold: Limit,
        /// From this average on (if gentle, twice of it) everything is; three times `min_threshold` by default.
        max_threshold: Limit,
        /// Probability as the average reaches `max_threshold`; 0.1 by default.
        max_p: f64,
        /// Weight of a sample in the average: 0.002 by default; if adaptive, from the link's rate.
        weight: f64,
        /// The probability grows on to 1 up to twice `max_threshold`; true by default.
        gentle: bool,
        /// `max_p` follows the average; false by default.
        adaptive: bool,
        /// Mark packets that allow it; false by default.
        ecn: bool,
        /// What a packet takes of the link on average; "1500 bytes" by default.
        mean_packet: Size,
        /// How much may wait: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// A token bucket that holds packets back to a rate.
    pub(crate) struct Tbf {
        /// How fast tokens come.
        #[schemars(required)]
        rate: Rate,
        /// How many octets may go at once.
        #[schemars(required)]
        burst: Size,
        /// How much may wait: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// Bands of packets, each served while nothing waits in those before it.
    pub(crate) struct Priority {
        /// The most urgent first; a packet goes into the first that takes it, else into the last.
        #[schemars(required)]
        bands: List<Band>,
    }
}

table! {
    /// Which packets a band takes.
    pub(crate) struct Band {
        /// These packets only; "any" by default.
        of: Class,
        /// The packets of these flows only.
        flows: Names,
        /// Packets of at most this size (IP, without framing) only.
        max_size: Size,
        /// How much of them may wait: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// Deficit Round Robin.
    pub(crate) struct Drr {
        /// What a flow may send in a turn; "1500 bytes" by default.
        quantum: Size,
        /// How much may wait, all flows together: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// Stochastic fairness queueing.
    pub(crate) struct Sfq {
        /// How many queues there are; 1024 by default.
        buckets: u64,
        /// What a queue may send in a turn; "1514 bytes" by default.
        quantum: Size,
        /// How often the hash changes; "0 s", by default, is never.
        perturb: Duration,
        /// How much may wait, all queues together; "127 packets" by default.
        limit: Limit,
    }
}

table! {
    /// Fair queueing, bit by bit.
    pub(crate) struct Fq {
        /// How much may wait, all flows together: as `drop_tail`.
        limit: Limit,
    }
}

table! {
    /// A queue for every flow in one memory.
    pub(crate) struct SharedBuffer {
        /// Who may fill it; `longest_queue_drop` by default.
        sharing: Sharing,
        /// What a flow may send in a turn; "1500 bytes" by default.
        quantum: Size,
        /// The memory: as `drop_tail`.
        limit: Limit,
    }
}

kinds! {
    /// Who may fill a shared buffer.
    pub(crate) enum Sharing {
        /// Anyone; when it is full the longest queue gives way.
        "longest_queue_drop" = LongestQueueDrop(Empty),
        /// A queue may grow to a multiple of the room that is left.
        "dynamic_threshold" = DynamicThreshold(DynamicThreshold),
    }
}

overlay_replaces!(Sharing);

table! {
    /// A queue may grow to a multiple of the room that is left.
    pub(crate) struct DynamicThreshold {
        /// The multiple; 1 by default.
        alpha: f64,
    }
}
