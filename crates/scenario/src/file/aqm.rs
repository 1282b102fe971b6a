//! Disciplines that manage delay, as a file says them. Every default is the discipline's own.

use ackclock_net::queue::{AckFilter, CellFraming, DelayEstimate, Isolation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{table, words};
use super::{Duration, Limit, Rate, Size};

table! {
    /// Controlled delay (RFC 8289).
    pub(crate) struct Codel {
        /// How much may wait; "1000 packets" by default.
        limit: Limit,
        /// Waiting that is acceptable for good; "5 ms" by default.
        target: Duration,
        /// How long waiting may be longer; "100 ms" by default.
        interval: Duration,
        /// Mark ECN-capable packets instead of dropping them; true by default.
        ecn: bool,
        /// Mark every ECN-capable packet that waited longer than this; none by default.
        ce_threshold: Duration,
    }
}

table! {
    /// Flow queues in turn, each under CoDel (RFC 8290).
    pub(crate) struct FqCodel {
        /// How much may wait in all queues; "10240 packets" by default.
        limit: Limit,
        /// Packets that may wait, in octets; "32 MiB" by default.
        memory_limit: Size,
        /// Queues that flows are hashed into; 1024 by default.
        flows: u32,
        /// What a queue may send each round; "1514 bytes" by default.
        quantum: Size,
        /// How many packets the fattest queue loses at once; 64 by default.
        drop_batch: u32,
        /// As of `codel`.
        target: Duration,
        /// As of `codel`.
        interval: Duration,
        /// As of `codel`.
        ecn: bool,
        /// As of `codel`.
        ce_threshold: Duration,
    }
}

words! {
    /// How PIE learns how long packets wait.
    pub(crate) enum Delays for DelayEstimate {
        "timestamps" = Timestamps,
        "departure_rate" = DepartureRate,
    }
}

/// A table with the fields of PIE's controller, and those.
macro_rules! pie_table {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        table! {
            $(#[$meta])*
            $vis struct $name {
                $($(#[$field_meta])* $field: $type,)*
                /// Queueing delay to hold; "15 ms" by default.
                target: Duration,
                /// Time between updates of the drop probability; "15 ms" by default.
                t_update: Duration,
                /// Gain for the distance from the target, in Hz; 0.125 by default.
                alpha: f64,
                /// Gain for the change since the last update, in Hz; 1.25 by default.
                beta: f64,
                /// How long a queue may build up before anything is dropped; "150 ms" by default.
                max_burst: Duration,
                /// Mark ECN-capable packets instead of dropping them; true by default.
                ecn: bool,
                /// Drop probability from which on ECN-capable packets are dropped too; 0.1 by default.
                mark_threshold: f64,
                /// Delay estimation; "timestamps" by default.
                delay: Delays,
                /// Spread drops evenly; true by default.
                derandomize: bool,
                /// Drop small packets less; false by default.
                byte_mode: bool,
                /// What counts as a packet: a queue of no more than two drops nothing; "1500 bytes" by default.
                mean_packet: Size,
                /// Do nothing until so much waits; none by default.
                activation: Size,
            }
        }

        impl From<&$name> for PieControl {
            fn from(table: &$name) -> Self {
                Self {
                    target: table.target,
                    t_update: table.t_update,
                    alpha: table.alpha,
                    beta: table.beta,
                    max_burst: table.max_burst,
                    ecn: table.ecn,
                    mark_threshold: table.mark_threshold,
                    delay: table.delay,
                    derandomize: table.derandomize,
                    byte_mode: table.byte_mode,
                    mean_packet: table.mean_packet,
                    activation: table.activation,
                }
            }
        }
    };
}

pie_table! {
    /// PIE's controller.
    pub(crate) struct PieControl {}
}

pie_table! {
    /// A PI controller of the delay (RFC 8033).
    pub(crate) struct Pie {
        /// How much may wait; "1000 packets" by default.
        limit: Limit,
    }
}

pie_table! {
    /// Flow queues in turn, each under PIE.
    pub(crate) struct FqPie {
        /// How much may wait in all queues; "10240 packets" by default.
        limit: Limit,
        /// Packets that may wait, in octets; "32 MiB" by default.
        memory_limit: Size,
        /// Queues that flows are hashed into; 1024 by default.
        flows: u32,
        /// What a queue may send each round; "1514 bytes" by default.
        quantum: Size,
    }
}

words! {
    /// Between whom CAKE is fair.
    pub(crate) enum Isolations for Isolation {
        "flows" = Flows,
        "dual_srchost" = DualSource,
        "dual_dsthost" = DualDestination,
        "triple" = Triple,
    }
}

words! {
    /// How eagerly CAKE drops superfluous ACKs.
    pub(crate) enum AckFilters for AckFilter {
        "off" = Off,
        "conservative" = Conservative,
        "aggressive" = Aggressive,
    }
}

words! {
    /// How the link behind CAKE's shaper cuts packets up.
    pub(crate) enum Cells for CellFraming {
        "none" = None,
        "atm" = Atm,
        "ptm" = Ptm,
    }
}

table! {
    /// Fair between hosts and flows, with a shaper and an ACK filter.
    pub(crate) struct Cake {
        /// Rate of the shaper; none by default.
        bandwidth: Rate,
        /// Octets that the shaper adds to each IP packet, which may be negative; 0 by default.
        overhead: i64,
        /// What a packet counts at least; "0 bytes" by default.
        minimum: Size,
        /// Cells that the shaper reckons with; "none" by default.
        cells: Cells,
        /// Between whom it is fair; "triple" by default.
        isolation: Isolations,
        /// What becomes of superfluous ACKs; "off" by default.
        ack_filter: AckFilters,
        /// Round trip that the control law reckons with, twenty times its target; "100 ms" by default.
        rtt: Duration,
        /// Mark ECN-capable packets instead of dropping them; true by default.
        ecn: bool,
        /// Octets that may wait; four times the rate times `rtt` by default, and 4 MiB at least.
        memory_limit: Size,
        /// Queues that flows are hashed into, a multiple of 8; 1024 by default.
        flows: u32,
    }
}

/// Which queue of DualPI2 sends when both could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DualScheduling {
    Weighted,
    TimeShifted,
}

table! {
    /// Coupled queues for L4S and classic packets (RFC 9332).
    pub(crate) struct DualPi2 {
        /// How much may wait in both queues; "10000 packets" by default.
        limit: Limit,
        /// Classic queueing delay to hold; "15 ms" by default.
        target: Duration,
        /// The longest round trip to be stable with; "100 ms" by default.
        rtt_max: Duration,
        /// Coupling factor k; 2 by default.
        coupling: f64,
        /// L4S packets that waited longer are marked; "1 ms" by default.
        threshold: Duration,
        /// From nothing to everything marked within so much more waiting; "0 ms" by default, a step.
        ramp: Duration,
        /// Mark no L4S packet for its waiting unless more than this many wait; 1 by default.
        threshold_packets: u32,
        /// Who sends when both queues could; "weighted" by default.
        scheduler: DualScheduling,
        /// Weighted: the least that the classic queue gets of the link; 0.0625 by default.
        classic_share: f64,
        /// Time-shifted: by how much L4S packets count as earlier; "30 ms" by default.
        shift: Duration,
    }
}
