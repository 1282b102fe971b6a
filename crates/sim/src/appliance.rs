//! The split-connection appliance.

mod config;

pub use config::{ApplianceConfig, Copying, HandshakeOrder, SideConfig, SplitConfig};
