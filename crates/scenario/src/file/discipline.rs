//! How much an appliance keeps between its two ends, as a file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{Empty, kinds, table};
use super::{Duration, Size};

kinds! {
    /// How much of a direction an appliance keeps; `ackclock disciplines` explains each.
    pub(crate) enum Discipline {
        /// What both socket buffers hold.
        "socket" = Socket(Empty),
        /// ECE at intervals.
        "ece_interval" = EceInterval(EceInterval),
        /// ECE above a limit.
        "ece_droptail" = EceDropTail(EceDropTail),
        /// ECE with a probability that grows with what is kept.
        "ece_red" = EceRed(EceRed),
        /// A window by the rate at which the far side drains.
        "drain_rate" = DrainRate(DrainRate),
        /// A window that shrinks while octets stay too long.
        "codel_window" = CodelWindow(CodelWindow),
        /// A low-water mark of what is not sent, and a small window.
        "not_sent" = NotSent(NotSent),
        /// A window of what the far side will be able to send when it arrives.
        "credit" = Credit(Credit),
    }
}

table! {
    /// ECE at intervals.
    pub(crate) struct EceInterval {
        /// Time between signals; "20 ms" by default.
        interval: Duration,
    }
}

table! {
    /// ECE above a limit.
    pub(crate) struct EceDropTail {
        /// Octets arrived and not acknowledged by the far end above which it signals; "500 kB" by default.
        limit: Size,
        /// At most one signal in a near-side round trip; false by default.
        every_rtt: bool,
    }
}

table! {
    /// ECE with a probability that grows with what is kept.
    pub(crate) struct EceRed {
        /// Octets arrived and not acknowledged by the far end up to which it is silent; "320 kB" by default.
        threshold: Size,
        /// Where the probability reaches `max_probability`, and beyond which it is 1; "680 kB" by default.
        limit: Size,
        /// Probability of a signal for a segment that arrives at `limit`; 0.1 by default.
        max_probability: f64,
    }
}

table! {
    /// A window by the rate at which the far side drains.
    pub(crate) struct DrainRate {
        /// How long an octet may wait; "5 ms" by default.
        target: Duration,
        /// Over how long the rate is measured, at least; "10 ms" by default.
        measure: Duration,
        /// The least window, in segments; 10 by default.
        min_segments: u64,
    }
}

table! {
    /// A window that shrinks while octets stay too long.
    pub(crate) struct CodelWindow {
        /// Stay that is acceptable for good; "5 ms" by default.
        target: Duration,
        /// How long every stay must be longer before the window shrinks; "10 ms" by default.
        interval: Duration,
        /// The least window, in segments; 2 by default.
        min_segments: u64,
    }
}

table! {
    /// A low-water mark of what is not sent, and a small window.
    pub(crate) struct NotSent {
        /// Octets not yet sent with which the far socket is content; "16 kB" by default.
        low_water: Size,
        /// Octets that may have arrived and not yet been handed on; "64 kB" by default.
        window: Size,
    }
}

table! {
    /// A window of what the far side will be able to send when it arrives.
    pub(crate) struct Credit {
        /// How long an octet may wait, but for one in a hundred; "10 ms" by default.
        target: Duration,
        /// How long before they can leave octets should arrive; "3 ms" by default.
        margin: Duration,
        /// What an ACK frees in slow start, as a multiple of what it acknowledges; 2 by default.
        slow_start_growth: f64,
    }
}
