//! The network: links with their queues, discarders, routes.

mod channel;
mod clock;
mod config;
mod discarder;
mod effects;
mod ids;
mod impairment;
mod link;
mod link_stats;
mod packet;
mod packets;
mod propagation;
pub mod queue;
mod rate;
mod ring;
mod rng;
mod route;
mod schedule;

pub use channel::ChannelConfig;
pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, NetworkConfig, NodeConfig, PacketClass, QueueConfig,
    QueueLimit, Selection, SgpqConfig, ThresholdConfig,
};
pub use discarder::{Discarder, NamedRule, discard_rules};
pub use effects::{MAX_DELAY, MAX_RATE, effects};
pub use ids::{ConnectionIndex, Direction, EndpointId, Generation, HopIndex, LinkId, NodeId};
pub use impairment::{
    BitErrors, BurstLoss, ExponentialJitter, Fate, GilbertElliott, ImpairmentConfig, Impairments, Jitter, LossConfig,
    LossProcess, NormalJitter, Policer, PolicerConfig, RandomLoss, Reorder, ReorderEvery, ReorderProbability,
    UniformJitter, jitters, losses, reorders,
};
pub use link::{ClockedLink, Delivery, Link, LinkKind, Passage, ServedLink, Service};
pub use link_stats::LinkStats;
pub use packet::{Datagram, Packet, Payload, UDP_HEADER};
pub use packets::{PacketId, Packets};
pub use propagation::AggregateConfig;
pub use rate::{
    ChangingRate, HandoverConfig, Outage, RateConfig, RateProcess, RateStep, Trace, TraceError, TraceReader,
};
pub use rng::RandomStream;
pub use route::{Router, shortest_path};
pub use schedule::{ChangingDelay, DelayStep, Schedule};
