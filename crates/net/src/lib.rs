//! The network: links with their queues, discarders, routes.

mod channel;
mod clock;
mod config;
mod datagram;
mod discarder;
mod flight;
mod impairment;
mod link;
mod link_stats;
mod packet;
pub mod queue;
mod rate;
mod rng;
mod route;
mod steps;

pub use channel::ChannelConfig;
pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection, SgpqConfig, ThresholdConfig,
};
pub use datagram::{Datagram, UDP_HEADER};
pub use discarder::Discarder;
pub use flight::{AggregateConfig, Deadline};
pub use impairment::{
    Fate, ImpairmentConfig, Impairments, Jitter, LossConfig, LossProcess, Policer, PolicerConfig, Reorder, Selected,
};
pub use link::{Link, Passage};
pub use link_stats::LinkStats;
pub use packet::{DATAGRAM, Packet};
pub use rate::{Outage, RateConfig, RateProcess, Trace, TraceError, TraceReader};
pub use rng::RandomStream;
pub use route::{Router, shortest_path};
pub use steps::Steps;
