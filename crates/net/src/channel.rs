//! Properties of a link beyond a fixed rate and a fixed delay.

use ackclock_declare::{About, Entry, declare};
use ackclock_units::{Bandwidth, SimDuration};

use crate::impairment::{ImpairmentConfig, PolicerConfig};
use crate::propagation::AggregateConfig;
use crate::rate::{Outage, RateConfig};
use crate::schedule::Schedule;

declare! {
    /// A link whose rate or delay changes, or whose wire impairs packets.
    pub struct ChannelConfig {
        /// Keep packets in order, except those that `reorder` holds back: a packet that a shorter delay would let pass
        /// waits for those ahead of it.
        keeps_order as "keep_order": bool = true,
    }
    apart {
        /// The rate over time.
        rate: RateConfig = RateConfig::Constant(Bandwidth(1_000_000)),
        /// The propagation delay over time: that of a packet is taken at the instant at which its last bit leaves.
        delay: Schedule<SimDuration> = Schedule::constant(SimDuration::ZERO),
        /// Periodic outages, in which nothing is sent.
        outage: Option<Outage> = None,
        /// Drops packets that exceed a rate, in front of the queue.
        policer: Option<PolicerConfig> = None,
        /// Lets packets travel in bursts.
        aggregate: Option<AggregateConfig> = None,
        /// Effects on packets on their way.
        impairments: ImpairmentConfig = ImpairmentConfig::default(),
    }
}

impl Entry for ChannelConfig {
    const ABOUT: About = About {
        name: "keep_order",
        aliases: &[],
        summary: "whether jitter and changing delays keep the order of packets",
        source: "-",
        departures: "none",
    };
}

impl ChannelConfig {
    /// A channel that does nothing to its packets.
    pub fn constant(rate: Bandwidth, delay: SimDuration) -> Self {
        Self { rate: RateConfig::Constant(rate), delay: Schedule::constant(delay), ..Self::default() }
    }

    /// True if the link has only a fixed rate and a fixed delay.
    pub fn is_plain(&self) -> bool {
        matches!(self.rate, RateConfig::Constant(_)) && self.outage.is_none() && self.only_changes_rate()
    }

    /// True if the link has only a fixed delay, whatever its rate.
    pub fn only_changes_rate(&self) -> bool {
        self.delay.values().nth(1).is_none()
            && self.policer.is_none()
            && self.aggregate.is_none()
            && self.impairments.is_none()
    }

    /// True if a packet can arrive before one that was sent earlier.
    pub fn lets_overtake(&self) -> bool {
        self.impairments.reorder.is_some() || !self.keeps_order || self.aggregate.is_some_and(|rule| !rule.holds_all())
    }
}
