//! Flows and hosts in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::table;
use super::{App, ArrivalsTable, Controller, Duration, Names, Protocol, Rate, TcpTable, TextOr};

/// A constant length of time, or a random one.
pub(crate) type Spacing = TextOr<Duration, SpanTable>;

table! {
    /// A connection and the application on it, or with `count` a group of them.
    pub(crate) struct FlowTable {
        /// Unique name; "flow1", "flow2", ... by default.
        name: String,
        /// Congestion control (CC); by default that of the sender's profile of TCP.
        controller: Controller,
        /// The application that sends; "bulk" by default.
        app: App,
        /// The transport protocol; "tcp" by default.
        protocol: Protocol,
        /// Short flows that arrive during the run, each on a connection of its own, in place of one long flow.
        arrivals: ArrivalsTable,
        /// The application that sends back on the same connection; nothing by default.
        reply: App,
        /// The time at which the connection is opened; at once by default. A table for a group.
        start: TextOr<Duration, StartTable>,
        /// Number of flows in a group, named "name.1", "name.2", ...
        count: u64,
        /// Dumbbell only: two-way propagation delay of this flow, in place of its access links' delay.
        rtt: Duration,
        /// Sends in the other direction; false by default.
        reverse: bool,
        /// The host that opens the connection and sends.
        from: String,
        /// The host that receives.
        to: String,
        /// Rate at which the receiving application reads; unlimited by default.
        read_rate: Rate,
        /// The time at which the receiving application stops reading for good; never by default.
        stops_reading: Duration,
        /// False if nothing listens at the receiving host, which then refuses the connection; true by default.
        accepts: bool,
        /// The time at which the sending application resets the connection; never by default.
        abort_at: Duration,
        /// Port of the receiving end, which captures show and by which an appliance may choose flows; 5001 by default.
        port: u16,
        /// Record the packets that leave and reach the sending host, for a pcapng file.
        capture: bool,
        /// TCP of both ends.
        tcp: TcpTable,
        /// TCP of the sending end.
        sender_tcp: TcpTable,
        /// TCP of the receiving end.
        receiver_tcp: TcpTable,
    }
}

table! {
    /// The start times of a group.
    pub(crate) struct StartTable {
        /// Start of the first flow; at once by default.
        first: Duration,
        /// Time from one flow's start to the next's; none by default.
        spacing: Spacing,
    }
}

table! {
    /// A random length of time.
    pub(crate) struct SpanTable {
        /// Mean of an exponential distribution.
        #[schemars(required)]
        exponential: Duration,
    }
}

table! {
    /// Hosts with a TCP of their own.
    pub(crate) struct HostTable {
        /// A host's name, or several.
        #[schemars(required)]
        name: Names,
        /// Switches of TCP that differ from the scenario's `tcp`.
        tcp: TcpTable,
    }
}
