//! Queue disciplines as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{kinds, overlay_replaces, table};
use super::{Cake, Codel, Drr, DualPi2, Fq, FqCodel, FqPie, Limit, Pie, Priority, Red, Sfq, SharedBuffer, Size, Tbf};

kinds! {
    /// A queue discipline; `ackclock queues` explains each.
    pub(crate) enum Queue {
        /// First in, first out; what does not fit is dropped.
        "drop_tail" = DropTail(DropTail),
        /// Small packets before all others.
        "sgpq" = Sgpq(Sgpq),
        /// Random Early Detection.
        "red" = Red(Red),
        /// A token bucket that holds packets back to a rate.
        "tbf" = Tbf(Tbf),
        /// Bands of packets in strict order.
        "priority" = Priority(Priority),
        /// Deficit Round Robin: flows in turn, by octets.
        "drr" = Drr(Drr),
        /// Stochastic fairness queueing: flows in turn, told apart by a hash.
        "sfq" = Sfq(Sfq),
        /// Fair queueing, bit by bit.
        "fq" = Fq(Fq),
        /// A queue for every flow in one memory.
        "shared_buffer" = SharedBuffer(SharedBuffer),
        /// Controlled delay (RFC 8289).
        "codel" = Codel(Codel),
        /// Flow queues in turn, each under CoDel (RFC 8290).
        "fq_codel" = FqCodel(FqCodel),
        /// A PI controller of the delay (RFC 8033).
        "pie" = Pie(Pie),
        /// Flow queues in turn, each under PIE.
        "fq_pie" = FqPie(FqPie),
        /// Fair between hosts and flows, with a shaper and an ACK filter.
        "cake" = Cake(Cake),
        /// Coupled queues for L4S and classic packets (RFC 9332).
        "dualpi2" = DualPi2(DualPi2),
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
