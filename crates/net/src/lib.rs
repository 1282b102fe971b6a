//! The network: links with their queues, discarders, routes.

mod config;

pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkConfig, LinkId, NetworkConfig, NodeConfig, NodeId, PacketClass,
    QueueConfig, QueueLimit, Selection,
};
