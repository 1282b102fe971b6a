//! The network: links with their queues, discarders, routes.

mod config;
mod datagram;
mod discarder;
mod link;
mod link_stats;
mod packet;
pub mod queue;
mod rng;
mod route;

pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection,
};
pub use datagram::{Datagram, FIRST_DATAGRAM_ENDPOINT, UDP_HEADER};
pub use discarder::Discarder;
pub use link::{Link, Passage};
pub use link_stats::LinkStats;
pub use packet::Packet;
pub use rng::RandomStream;
pub use route::{Router, shortest_path};
