//! What makes a link more than a fixed rate and a fixed delay.

use ackclock_units::{Bandwidth, SimDuration};

use crate::impairment::{ImpairmentConfig, PolicerConfig};
use crate::propagation::AggregateConfig;
use crate::rate::{Outage, RateConfig};
use crate::schedule::Schedule;

/// A link whose rate or delay changes, or that hurts what it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelConfig {
    /// Its rate over time.
    pub rate: RateConfig,
    /// Its propagation delay over time: a packet's is that of the instant at which its last bit leaves.
    pub delay: Schedule<SimDuration>,
    /// Periodic outages, in which nothing is sent.
    pub outage: Option<Outage>,
    /// Drops what exceeds a rate, in front of the queue.
    pub policer: Option<PolicerConfig>,
    /// Lets packets travel in bursts.
    pub aggregate: Option<AggregateConfig>,
    /// What it does to packets on their way.
    pub impairments: ImpairmentConfig,
    /// No packet arrives before one that left earlier, unless `impairments.reorder` holds that one back: what a shorter
    /// delay would let pass waits for what is ahead of it.
    pub keeps_order: bool,
}

impl ChannelConfig {
    /// A channel that does nothing to its packets.
    pub fn constant(rate: Bandwidth, delay: SimDuration) -> Self {
        Self {
            rate: RateConfig::Constant(rate),
            delay: Schedule::constant(delay),
            outage: None,
            policer: None,
            aggregate: None,
            impairments: ImpairmentConfig::default(),
            keeps_order: true,
        }
    }

    /// True if the link is no more than a fixed rate and a fixed delay.
    pub fn is_plain(&self) -> bool {
        matches!(self.rate, RateConfig::Constant(_))
            && self.delay.values().nth(1).is_none()
            && self.outage.is_none()
            && self.policer.is_none()
            && self.aggregate.is_none()
            && self.impairments.is_none()
    }

    /// True if a packet can arrive before one that was sent earlier.
    pub fn lets_overtake(&self) -> bool {
        self.impairments.reorder.is_some() || !self.keeps_order || self.aggregate.is_some_and(|rule| !rule.holds_all())
    }
}
