//! Numbers that say which, of what a simulation holds.

use ackclock_net::{Direction, typed_index};

typed_index! {
    /// A flow of the scenario's own list: its place in [`SimulationConfig::flows`](crate::SimulationConfig::flows).
    pub struct FlowId;
    /// One sending direction of such a flow, with its application.
    pub(crate) struct StreamId;
    /// A group of short flows.
    pub(crate) struct GroupId;
    /// A short flow; its number is another's after it.
    pub(crate) struct ShortFlowId;
    /// A flow of datagrams.
    pub(crate) struct DatagramFlowId;
    /// An appliance.
    pub(crate) struct ApplianceId;
    /// A split connection at one appliance.
    pub(crate) struct RelayId;
    /// Where a route begins in the table of routes.
    pub(crate) struct RouteId;
}

/// One direction of a split connection at one appliance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelayDirection {
    pub(crate) relay: RelayId,
    pub(crate) direction: Direction,
}

impl RelayId {
    /// Both its directions.
    pub(crate) fn directions(self) -> [RelayDirection; 2] {
        Direction::BOTH.map(|direction| RelayDirection { relay: self, direction })
    }
}
