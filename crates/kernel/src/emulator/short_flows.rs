//! Mapping of a short flow's packets to a connection of the network: the acceptor's port determines its group, the
//! opener's the flow.

use std::collections::HashMap;
use std::sync::Arc;

use ackclock_net::{ConnectionIndex, EndpointId, LinkId, NodeId, Packet, Router};
use ackclock_sim::SimulationConfig;

use super::network::Network;
use super::packet::{Side, opener_port};

/// The links from one end of a group's flows to the other.
type Route = Arc<[LinkId]>;

/// See the module. Connections keep their numbers: a port that is used again is the same connection to queues.
#[derive(Debug)]
pub(super) struct ShortConnections {
    /// The number that a packet of the first group seems to have.
    first: usize,
    /// Routes of each group, to the opener and to the acceptor.
    routes: Vec<[Route; 2]>,
    known: HashMap<(usize, u16), ConnectionIndex>,
}

impl ShortConnections {
    /// Behind the connections that are there from the beginning.
    pub(super) fn new(config: &SimulationConfig) -> Self {
        let mut finder = Router::new(&config.network);
        let mut links = |from: NodeId, to: NodeId| -> Route {
            finder.shortest_path(from, to).expect("a checked scenario has a route for every flow").into()
        };
        let ends = config.traffic.arrivals.iter().map(|group| (group.flow.from, group.flow.to));
        let routes = ends.map(|(from, to)| [links(to, from), links(from, to)]).collect();
        Self { first: config.flows.len() + config.traffic.datagrams.len(), routes, known: HashMap::new() }
    }

    /// The group of a packet that is still numbered by its acceptor's port.
    fn group(&self, packet: &Packet) -> Option<usize> {
        packet.connection().index().checked_sub(self.first).filter(|group| *group < self.routes.len())
    }

    /// Says of a packet of a short flow which connection it is of, and returns true; false of any other.
    pub(super) fn claim(&mut self, packet: &mut Packet, octets: &[u8], network: &mut Network) -> bool {
        let Some(group) = self.group(packet) else { return false };
        let side = Side::of(packet.to);
        let [to_opener, to_acceptor] = &self.routes[group];
        let connect = || network.connect(Arc::clone(to_opener), Arc::clone(to_acceptor));
        let connection = *self.known.entry((group, opener_port(octets, side))).or_insert_with(connect);
        packet.to = match side {
            Side::Openers => EndpointId::opener(connection),
            Side::Acceptors => EndpointId::acceptor(connection),
        };
        true
    }
}
