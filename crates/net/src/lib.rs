//! The network: links with their queues, discarders, routes.

mod clock;
mod config;
mod discarder;
mod impairments;
mod link;
mod link_stats;
mod packet;
pub mod queue;
mod rate;
mod rng;
mod route;

pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection, SgpqConfig, ThresholdConfig,
};
pub use discarder::Discarder;
pub use impairments::{Fate, Impairments};
pub use link::{Link, Passage};
pub use link_stats::LinkStats;
pub use packet::Packet;
pub use rate::RateProcess;
pub use rng::RandomStream;
pub use route::{Router, shortest_path};
