//! The file format before any check. Every field is optional here, so that reading never stops at a missing one.
//! [`crate::check`] decides what is required, and fills in every default.

mod app;
mod appliance;
mod chosen;
mod controller;
mod either;
mod external;
mod fields;
mod flow;
mod macros;
mod parts;
mod policy;
mod tcp;
mod text;
mod topology;
mod trace;
mod traffic;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use app::App;
pub(crate) use appliance::{ApplianceTable, CopyingTable, SideTable};
pub(crate) use chosen::{Chosen, Kind};
pub(crate) use controller::Controller;
pub(crate) use either::{CountOrNames, List, Names, SwitchOr, TextOr};
pub(crate) use external::{ExternalParameters, PythonParameters};
pub(crate) use fields::{Fields, OwnTable};
pub(crate) use flow::{FlowTable, HostTable, Spacing, StartTable};
pub(crate) use macros::Overlay;
pub(crate) use parts::{BufferPolicy, DiscardRule, Effect, Jitter, Loss, Queue, Reorder, Source, taken_names};
pub(crate) use policy::PolicyParameters;
pub(crate) use tcp::{TcpSwitches, TcpTable};
pub(crate) use text::{Duration, EventRate, Framing, Rate, Size};
pub(crate) use topology::{
    Chain, Dumbbell, Explicit, ExplicitLink, HalfLink, LinkTable, NodeKind, NodeTable, ParkingLot, Star, Topology,
};
pub(crate) use trace::{AllOrNone, Per, SeriesChoice, TraceTable};
pub(crate) use traffic::{ArrivalsTable, Process, Protocol, RequestResponseApp, SizeTable, Sizes, Workload};

macros::table! {
    /// A scenario: a network, TCP flows on it, and what to record.
    pub(crate) struct ScenarioFile {
        /// The name of the results; by default the file's name.
        name: String,
        /// Simulated time of the run, such as "50 s".
        #[schemars(required)]
        duration: Duration,
        /// Seed of every random stream; 1 by default.
        seed: u64,
        /// The part of the run over which averages are taken; by default each flow's own lifetime.
        measure: MeasureTable,
        /// Modules of Python, their files, or plug-ins with custom parts, which the scenario may then name like
        /// built-in parts.
        #[serde(rename = "use")]
        own_parts: List<String>,
        /// The nodes and links of the network.
        #[schemars(required)]
        topology: Topology,
        /// TCP of every host, unless a host or a flow says otherwise.
        tcp: TcpTable,
        /// Hosts with a TCP of their own.
        host: List<HostTable>,
        /// The connections.
        #[schemars(required)]
        flow: List<FlowTable>,
        /// Routers that split TCP connections which cross them.
        appliance: List<ApplianceTable>,
        /// Quantities to record over time; false records nothing.
        trace: SwitchOr<TraceTable>,
        /// Changes of links during the run.
        change: List<ChangeTable>,
    }
}

macros::table! {
    /// A change of a link, as an operator would make it. Fields that are absent stay as they are.
    pub(crate) struct ChangeTable {
        /// The time of the change, such as "10 s".
        #[schemars(required)]
        at: Duration,
        /// The link's name in results.
        #[schemars(required)]
        link: String,
        /// The new rate; a packet that is being sent ends at the rate at which it began. "0 bit/s" is an outage.
        rate: Rate,
        /// The new one-way propagation delay, for packets whose last bit leaves from then on.
        delay: Duration,
        /// Probability that a packet is lost after it was sent, in place of the link's earlier loss; 0 to 1.
        loss: f64,
        /// The queue's new limit, such as "100 packets", "150 kB" or "20 ms". Packets that wait already stay.
        limit: String,
    }
}

macros::table! {
    /// The options of a single endpoint.
    pub(crate) struct EndpointFile {
        /// Switches of its TCP.
        tcp: TcpTable,
        /// Its congestion control; by default that of its TCP's profile.
        controller: Controller,
        /// Seed of what the congestion control draws.
        seed: u64,
    }
}

macros::table! {
    /// The part of the run over which averages are taken.
    pub(crate) struct MeasureTable {
        /// The time at which averages begin: all before is warm-up.
        from: Duration,
        /// The time at which averages end; by default the end of the run.
        to: Duration,
    }
}
