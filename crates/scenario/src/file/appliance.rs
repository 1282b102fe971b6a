//! Appliances as a file says them: nodes that split TCP connections.

use ackclock_sim::HandshakeOrder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{table, words};
use super::{BufferPolicy, Controller, Duration, List, Names, Rate, Size, TcpTable};

table! {
    /// A router that terminates TCP connections which cross it and carries them on by connections of its own.
    pub(crate) struct ApplianceTable {
        /// Unique; "appliance1", "appliance2", ... by default.
        name: String,
        /// The router on which it sits.
        #[schemars(required)]
        node: String,
        /// Which of the flows that cross it are split; all by default.
        take: TakeTable,
        /// Which of a flow's two connections opens first; `accept_first` by default.
        handshake: HandshakeWord,
        /// Cost of passing octets on; nothing by default.
        copying: CopyingTable,
        /// The end that faces the opener; "cubic" by default.
        near: SideTable,
        /// The end that faces the acceptor; "highspeed" by default.
        far: SideTable,
        /// The policy by which it buffers octets between the two ends, in each direction; "socket" by default.
        buffer_policy: BufferPolicy,
    }
}

table! {
    /// Which flows an appliance takes: those that every list here allows.
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
    /// Which of the two connections of a flow opens first.
    pub(crate) enum HandshakeWord for HandshakeOrder {
        "accept_first" = AcceptFirst,
        "connect_first" = ConnectFirst,
    }
}

table! {
    /// Cost of passing octets from one connection to the other. One copier serves all connections in turn.
    pub(crate) struct CopyingTable {
        /// From the read to the write of the same octets, besides what the rate makes of it; none by default.
        delay: Duration,
        /// Rate at which octets are copied; infinite by default.
        rate: Rate,
        /// The most that is copied of one connection before another has its turn; "64 KiB" by default.
        chunk: Size,
    }
}

table! {
    /// One end of an appliance.
    pub(crate) struct SideTable {
        /// Congestion control of what it sends.
        controller: Controller,
        /// Switches of TCP that differ from the scenario's `tcp`.
        tcp: TcpTable,
    }
}
