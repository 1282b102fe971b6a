//! Links that change and hurt, as a file says them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{kinds, overlay_replaces, table};
use super::topology::Class;
use super::{Duration, List, Rate, Size, TextOr};

table! {
    /// A rate that changes: by a schedule, or as a trace recorded it.
    pub(crate) struct RateTable {
        /// One rate after the other.
        schedule: List<RateStep>,
        /// The schedule begins again after this long; by default it does not.
        repeat: Duration,
        /// A file with one instant a line, in whole milliseconds: at each, one full packet can leave (mahimahi's format).
        /// Its path is relative to the scenario's file. At its end the trace begins again.
        trace: String,
        /// What one line of the trace carries, framing included; 1500 bytes by default.
        opportunity: Size,
        /// The trace does not begin again: the link is dead at its end.
        once: bool,
        /// The trace itself, between blanks, in place of a file. A scenario that names a file is kept with its content.
        instants: String,
    }
}

table! {
    /// From an instant on.
    pub(crate) struct RateStep {
        /// The instant; of the first, 0 s.
        at: Duration,
        /// The rate from then on; "0 bit/s" is an outage.
        #[schemars(required)]
        rate: Rate,
    }
}

table! {
    /// A delay that changes.
    pub(crate) struct DelayTable {
        /// One delay after the other; a packet's is that of the instant at which its last bit leaves.
        #[schemars(required)]
        schedule: List<DelayStep>,
        /// The schedule begins again after this long; by default it does not.
        repeat: Duration,
    }
}

table! {
    /// From an instant on.
    pub(crate) struct DelayStep {
        /// The instant; of the first, 0 s.
        at: Duration,
        /// The delay from then on.
        #[schemars(required)]
        delay: Duration,
    }
}

table! {
    /// The link goes by way of satellite after satellite.
    pub(crate) struct HandoverTable {
        /// From one handover to the next; the first is one period after the start.
        #[schemars(required)]
        period: Duration,
        /// Nothing is sent for so long after each handover; "0 s" by default.
        outage: Duration,
        /// In place of the link's delay: its delay in each period by turns.
        delay: List<Duration>,
    }
}

kinds! {
    /// How a link loses packets after it has sent them.
    pub(crate) enum Loss {
        /// Each with the same probability.
        "random" = Random(RandomLoss),
        /// A channel with a good and a bad state.
        "gilbert_elliott" = GilbertElliott(GilbertElliott),
        /// Several in a row.
        "bursts" = Bursts(BurstLoss),
        /// Those with a wrong bit.
        "bit_errors" = BitErrors(BitErrors),
    }
}

table! {
    /// Each packet is lost with the same probability.
    pub(crate) struct RandomLoss {
        /// From 0 to 1.
        #[schemars(required)]
        p: f64,
    }
}

table! {
    /// A channel with a good and a bad state, which moves after each packet (Gilbert 1960, Elliott 1963).
    pub(crate) struct GilbertElliott {
        /// Probability to go from good to bad.
        #[schemars(required)]
        p: f64,
        /// Probability to go from bad to good.
        #[schemars(required)]
        r: f64,
        /// Probability of loss in the good state, 1 - k; 0 by default.
        loss_good: f64,
        /// Probability of loss in the bad state, 1 - h; 1 by default.
        loss_bad: f64,
    }
}

table! {
    /// Bursts: of packets in a row all are lost.
    pub(crate) struct BurstLoss {
        /// Share of all packets that is lost in the long run.
        #[schemars(required)]
        share: f64,
        /// Mean number of packets in a burst, at least 1.
        #[schemars(required)]
        length: f64,
    }
}

table! {
    /// Each bit, framing included, is wrong with the same probability, and a packet with a wrong bit is lost.
    pub(crate) struct BitErrors {
        /// The bit error rate, such as 1e-6.
        #[schemars(required)]
        rate: f64,
    }
}

kinds! {
    /// The distribution of a random delay, drawn for each packet.
    pub(crate) enum Jitter {
        /// Any time between two bounds is as likely.
        "uniform" = Uniform(UniformJitter),
        /// Normally distributed, zero where it would be negative.
        "normal" = Normal(NormalJitter),
        /// Exponentially distributed.
        "exponential" = Exponential(ExponentialJitter),
    }
}

table! {
    /// Any time between two bounds is as likely.
    pub(crate) struct UniformJitter {
        /// Shortest; "0 s" by default.
        min: Duration,
        /// Longest.
        #[schemars(required)]
        max: Duration,
    }
}

table! {
    /// Normally distributed, zero where it would be negative.
    pub(crate) struct NormalJitter {
        /// Mean.
        #[schemars(required)]
        mean: Duration,
        /// Standard deviation.
        #[schemars(required)]
        deviation: Duration,
    }
}

table! {
    /// Exponentially distributed.
    pub(crate) struct ExponentialJitter {
        /// Mean.
        #[schemars(required)]
        mean: Duration,
    }
}

kinds! {
    /// Which packets are held back, so that others pass them.
    pub(crate) enum Reorder {
        /// Each with the same probability.
        "probability" = Probability(ReorderProbability),
        /// Every k-th.
        "every" = Every(ReorderEvery),
    }
}

table! {
    /// Each packet is held back with the same probability.
    pub(crate) struct ReorderProbability {
        /// From 0 to 1.
        #[schemars(required)]
        p: f64,
        /// For how long.
        #[schemars(required)]
        extra: Duration,
    }
}

table! {
    /// Every k-th packet is held back.
    pub(crate) struct ReorderEvery {
        /// At least 2: where all are held back, none is passed.
        #[schemars(required)]
        k: u64,
        /// For how long.
        #[schemars(required)]
        extra: Duration,
    }
}

table! {
    /// A token bucket that drops what exceeds it, without a queue.
    pub(crate) struct PolicerTable {
        /// Octets of IP that pass in the long run.
        #[schemars(required)]
        rate: Rate,
        /// Octets that may pass at once: the size of the bucket, which is full at first.
        #[schemars(required)]
        burst: Size,
    }
}

table! {
    /// Packets travel in bursts.
    pub(crate) struct AggregateTable {
        /// A burst leaves at multiples of this interval.
        every: Duration,
        /// In place of `every`: a burst leaves when its first packet has waited this long.
        wait: Duration,
        /// A burst of so many packets leaves at once; by default a burst has no largest size.
        packets: u64,
        /// Which packets are gathered; "any" by default.
        of: Class,
    }
}

overlay_replaces!(HandoverTable, Loss, Jitter, Reorder, PolicerTable, AggregateTable);

impl<T: Clone, Table: Clone> super::Overlay for TextOr<T, Table> {
    fn overlaid_by(&self, later: &Self) -> Self {
        later.clone()
    }
}
