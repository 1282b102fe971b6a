//! The network: links with their queues, discarders, routes.

mod config;
mod discarder;
mod link;
mod link_stats;
mod packet;
pub mod queue;
mod route;

pub use ackclock_units::RandomStream;
pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection,
};
pub use discarder::Discarder;
pub use link::{Link, Passage};
pub use link_stats::LinkStats;
pub use packet::Packet;
pub use route::{Router, shortest_path};
