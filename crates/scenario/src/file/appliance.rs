//! Appliances as a file says them: nodes that split TCP connections.

use ackclock_sim::HandshakeOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{table, words};
use super::{BufferPolicy, Controller, Duration, List, Names, Rate, Size, TcpTable};

table! {
    /// A router that terminates the TCP connections which cross it, and continues them on connections of its own.
    pub(crate) struct ApplianceTable {
        /// Unique name; "appliance1", "appliance2", ... by default.
        name: String,
        /// The router on which it sits.
        #[schemars(required)]
        node: String,
        /// The flows that it splits, of those that cross it; all by default.
        take: TakeTable,
        /// The connection of a flow that opens first; `accept_first` by default.
        handshake: HandshakeWord,
        /// Cost of passing octets on; nothing by default.
        copying: CopyingTable,
        /// The end towards the opener; "cubic" by default.
        near: SideTable,
        /// The end towards the acceptor; "highspeed" by default.
        far: SideTable,
        /// The policy by which it buffers octets between the two ends, in each direction; "socket" by default.
        buffer_policy: BufferPolicy,
    }
}

table! {
    /// The flows that an appliance takes: those that every list here allows.
    pub(crate) struct TakeTable {
        /// Names of flows, or of groups.
        flows: Names,
        /// Hosts that open the connection.
        from: Names,
        /// Hosts that accept it.
        to: Names,
        /// Congestion control of the flow's own ends.
        controller: Names,
        /// Ports of the accepting end.
        port: List<u16>,
    }
}

words! {
    /// The connection of a flow that opens first.
    pub(crate) enum HandshakeWord for HandshakeOrder {
        "accept_first" = AcceptFirst,
        "connect_first" = ConnectFirst,
    }
}

table! {
    /// Cost of passing octets from one connection to the other. One copier serves all connections in turn.
    pub(crate) struct CopyingTable {
        /// Time from reading to writing the same octets, besides what the rate adds; none by default.
        delay: Duration,
        /// Rate at which octets are copied; infinite by default.
        rate: Rate,
        /// The most that is copied from one connection before another has its turn; "64 KiB" by default.
        chunk: Size,
    }
}

table! {
    /// One end of an appliance.
    pub(crate) struct SideTable {
        /// Congestion control of the data that it sends.
        controller: Controller,
        /// Switches of TCP that differ from the scenario's `tcp`.
        tcp: TcpTable,
    }
}
