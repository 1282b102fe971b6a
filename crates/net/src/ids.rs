//! Numbers of things: each kind has a type of its own, so that the number of a link is not taken for that of a node.

use crate::config::{LinkConfig, NetworkConfig, NodeConfig};

/// Index types of lists. Each holds 32 bits: no list is longer, and the fields of every packet stay small.
#[macro_export]
macro_rules! typed_index {
    ($($(#[$meta:meta])* $visibility:vis struct $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        $visibility struct $name(u32);

        impl $name {
            /// The one at this place of its list.
            #[inline]
            $visibility const fn new(place: usize) -> Self {
                assert!(place <= u32::MAX as usize, "no list is longer than 2^32");
                Self(place as u32)
            }

            /// Its place in the list.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

typed_index! {
    /// A node: its place in [`NetworkConfig::nodes`].
    pub struct NodeId;
    /// A one-way link: its place in [`NetworkConfig::links`].
    pub struct LinkId;
    /// A conversation of two ends: a TCP connection, or a flow of datagrams. Several connections can have the same
    /// place in turn; a [`Generation`] distinguishes them.
    pub struct ConnectionIndex;
    /// The next hop of a packet, in the table of routes.
    pub struct HopIndex;
}

/// Place of the telemetry records of a packet; none for most packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TelemetryId(u32);

impl TelemetryId {
    /// The one with this place of its list.
    pub const fn of_place(place: usize) -> Self {
        assert!(place < u32::MAX as usize, "no list is longer than 2^32");
        Self(place as u32 + 1)
    }

    /// True if there are records.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 > 0
    }

    /// The place of existing records in their list.
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }
}

impl HopIndex {
    /// The hop behind it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Number of a connection among those with the same place in turn, modulo 2^16. No packet stays on its way while that
/// many connections end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generation(u16);

impl Generation {
    /// Generation of the next connection with the place.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Number of connections that have had the place before, modulo 2^16.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// One of the two directions along a connection, or along a split one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the end that opened the connection to the end that accepted it.
    Forward,
    /// From the end that accepted it to the end that opened it.
    Backward,
}

impl Direction {
    /// Both directions, in the order of their codes in results.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Backward];

    /// The direction's place in a list of both.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The direction's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

/// One end of a connection, in the 32 bits that every packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointId(u32);

impl EndpointId {
    /// The end that opened the connection, or sends its datagrams.
    pub const fn opener(connection: ConnectionIndex) -> Self {
        assert!(connection.0 <= u32::MAX / 2, "there are no more than 2^31 connections");
        Self(2 * connection.0)
    }

    /// The end that accepted it, or receives its datagrams.
    pub const fn acceptor(connection: ConnectionIndex) -> Self {
        Self(Self::opener(connection).0 + 1)
    }

    /// The connection of this end.
    pub const fn connection(self) -> ConnectionIndex {
        ConnectionIndex(self.0 / 2)
    }

    /// The other end of the same connection.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Direction of packets to this end.
    pub const fn inbound(self) -> Direction {
        if self.0.is_multiple_of(2) { Direction::Backward } else { Direction::Forward }
    }

    /// Direction of packets from this end.
    pub const fn outbound(self) -> Direction {
        self.peer().inbound()
    }

    /// Number of the end: openers have even ones, their peers the next. Queues separate flows by the number of the
    /// destination end, as they would by the 5-tuple.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The end of this number.
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// The end's place in a list of all ends.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NetworkConfig {
    /// The node of this number.
    pub fn node(&self, id: NodeId) -> &NodeConfig {
        &self.nodes[id.index()]
    }

    /// The link of this number.
    pub fn link(&self, id: LinkId) -> &LinkConfig {
        &self.links[id.index()]
    }

    /// The node with this number, to change it.
    pub fn node_mut(&mut self, id: NodeId) -> &mut NodeConfig {
        &mut self.nodes[id.index()]
    }

    /// Every node with its number.
    pub fn numbered_nodes(&self) -> impl Iterator<Item = (NodeId, &NodeConfig)> {
        self.nodes.iter().enumerate().map(|(place, node)| (NodeId::new(place), node))
    }

    /// Every link with its number.
    pub fn numbered_links(&self) -> impl Iterator<Item = (LinkId, &LinkConfig)> {
        self.links.iter().enumerate().map(|(place, link)| (LinkId::new(place), link))
    }
}
