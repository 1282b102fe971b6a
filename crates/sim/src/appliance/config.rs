//! The configuration of appliances.

use ackclock_cc::ControllerConfig;
use ackclock_net::NodeId;
use ackclock_relay::DisciplineConfig;
use ackclock_tcp::TcpConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};

/// A node that terminates the TCP connections crossing it and continues them by connections of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplianceConfig {
    /// The name, which is unique in the scenario.
    pub name: String,
    /// The node of the appliance.
    pub node: NodeId,
    /// Order in which the two connections open.
    pub handshake: HandshakeOrder,
    /// Cost of copying octets from one socket to the other.
    pub copying: Copying,
    /// Rule that limits the octets kept in each direction of a connection.
    pub discipline: DisciplineConfig,
}

/// Order in which an appliance opens the two connections of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeOrder {
    /// The opener's first; the far one when the opener's SYN has arrived.
    AcceptFirst,
    /// The far one first; the opener's SYN is answered when that is open, and refused if it was refused.
    ConnectFirst,
}

/// Cost of copying octets from one socket of an appliance to the other. One copier serves all connections in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Delay from the read to the write of the same octets, besides the time by the rate.
    pub delay: SimDuration,
    /// Rate of copying; `None` is infinitely fast.
    pub rate: Option<Bandwidth>,
    /// Octets copied for one connection before another has its turn.
    pub chunk: Bytes,
}

/// A flow that an appliance takes. A flow that crosses several has one of these for each, in the order of its path.
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
    /// Congestion control of its sending.
    pub controller: ControllerConfig,
    /// Name in the scenario, for results.
    pub controller_name: String,
}
