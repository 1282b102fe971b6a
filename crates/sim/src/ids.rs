//! Numbers of the items of a simulation.

use ackclock_net::{Direction, typed_index};

typed_index! {
    /// A flow of the scenario's own list: its place in [`SimulationConfig::flows`](crate::SimulationConfig::flows).
    pub struct FlowId;
    /// One sending direction of such a flow, with its application.
    pub(crate) struct StreamId;
    /// A group of short flows.
    pub(crate) struct GroupId;
    /// A short flow; its number is reused after its end.
    pub(crate) struct ShortFlowId;
    /// A flow of datagrams.
    pub(crate) struct DatagramFlowId;
    /// Number of an appliance.
    pub(crate) struct ApplianceId;
    /// A split connection at one appliance.
    pub(crate) struct RelayId;
    /// Place in the table of routes at which a route begins.
    pub(crate) struct RouteId;
}

/// One direction of a split connection at one appliance, in the 32 bits of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelayDirection(u32);

impl RelayDirection {
    pub(crate) fn new(relay: RelayId, direction: Direction) -> Self {
        Self::of_number(2 * relay.index() + direction.index())
    }

    pub(crate) fn relay(self) -> RelayId {
        RelayId::new(self.0 as usize / 2)
    }

    pub(crate) fn direction(self) -> Direction {
        Direction::BOTH[self.0 as usize % 2]
    }

    /// The number of the direction: two for each relay.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// The direction of this number.
    pub(crate) fn of_number(number: usize) -> Self {
        Self(number as u32)
    }
}

impl RelayId {
    /// Both directions of the relay.
    pub(crate) fn directions(self) -> [RelayDirection; 2] {
        Direction::BOTH.map(|direction| RelayDirection::new(self, direction))
    }
}
