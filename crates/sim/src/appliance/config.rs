//! Appliances as configured.

use ackclock_cc::ControllerConfig;
use ackclock_net::NodeId;
use ackclock_relay::DisciplineConfig;
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

/// A node that terminates TCP connections which cross it and carries them on by connections of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplianceConfig {
    /// Unique in the scenario.
    pub name: String,
    /// The node that it sits at.
    pub node: NodeId,
    /// Which connection opens first.
    pub handshake: HandshakeOrder,
    /// What it costs to pass octets on.
    pub copying: Copying,
    /// How much each direction of a connection keeps.
    pub discipline: DisciplineConfig,
}

/// Which of the two connections of a flow an appliance opens first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeOrder {
    /// The opener's, at once; the far one when the opener's SYN has arrived.
    AcceptFirst,
    /// The far one; the opener's SYN is answered when that is open, and refused if it was refused.
    ConnectFirst,
}

/// What it costs an appliance to pass octets from one socket to the other. One copier serves all connections in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// From the read to the write of the same octets, besides what the rate makes of it.
    pub delay: SimDuration,
    /// How fast octets are copied; `None` is infinitely fast.
    pub rate: Option<Bandwidth>,
    /// The most that is copied of one connection before another has its turn.
    pub chunk: Bytes,
}

/// A flow that an appliance takes. Flows that cross several have one of these for each, in the order of their path.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitConfig {
    /// Index of the flow; of a group of short flows, the group's.
    pub flow: usize,
    /// Index of the appliance.
    pub appliance: usize,
    /// The end that faces the opener.
    pub near: SideConfig,
    /// The end that faces the acceptor.
    pub far: SideConfig,
}

/// One end of an appliance.
#[derive(Clone, Debug, PartialEq)]
pub struct SideConfig {
    /// TCP of the end on this side.
    pub tcp: TcpConfig,
    /// Congestion control of what it sends.
    pub controller: ControllerConfig,
    /// As named in the scenario, for results.
    pub controller_name: String,
}
