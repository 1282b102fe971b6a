//! A segment on its way through the network.

use ackclock_units::Bytes;
use ackclock_wire::Segment;

/// The incarnation of a datagram, which has no connection.
pub const DATAGRAM: u32 = u32::MAX;

/// A packet: a segment, where it goes, and how far it is.
///
/// Endpoints are numbered two to a connection: `2 * flow` opened it, `2 * flow + 1` accepted it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// What it carries.
    pub segment: Segment,
    /// The endpoint that it goes to.
    pub endpoint: u32,
    /// Position of its next hop in the table of routes.
    pub hop: u32,
    /// Octets of the IP packet.
    pub size: u32,
    /// Which of the connections that use the endpoint in turn it belongs to; [`DATAGRAM`] if to none.
    pub incarnation: u32,
}

impl Packet {
    /// A packet that leaves for `endpoint` by the route that begins at `hop`.
    pub fn new(segment: Segment, endpoint: u32, hop: u32) -> Self {
        Self { segment, endpoint, hop, size: segment.ip_len(), incarnation: 0 }
    }

    /// The connection that it belongs to.
    pub fn flow(&self) -> u32 {
        self.endpoint / 2
    }

    /// True if it goes from the end that opened the connection to the other.
    pub fn is_forward(&self) -> bool {
        self.endpoint % 2 == 1
    }

    /// Octets of the IP packet.
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
}
