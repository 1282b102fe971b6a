//! Read access to a simulation while it runs.

use ackclock_cc::{Controller, RttStats};
use ackclock_net::{EndpointId, Link, LinkId};
use ackclock_tcp::Endpoint;
use ackclock_units::{Bytes, SimTime};

use super::{Simulation, opener_of};
use crate::config::SimulationConfig;
use crate::ids::FlowId;
use crate::outcome::EngineCounters;

impl Simulation {
    /// True once the receiver has all data of a flow, or the connection was given up.
    pub fn is_over(&self, flow: FlowId) -> bool {
        let stream = self.hosts.connections.sends(opener_of(flow));
        let is_complete = stream.is_some_and(|stream| self.streams.get(stream).completion.is_some());
        is_complete || self.hosts.view(opener_of(flow)).is_aborted()
    }

    /// Number of packets that wait for a link.
    pub fn waiting_packets(&mut self, link: LinkId) -> usize {
        self.link(link).waiting()
    }

    /// The present state of a link.
    pub fn link(&mut self, link: LinkId) -> &Link {
        let now = self.now();
        let link = &mut self.hosts.network.links[link.index()];
        link.advance(now);
        link
    }

    /// Flight size (`FlightSize`) at the sending end of a flow (RFC 5681).
    pub fn flight_size(&self, flow: FlowId) -> Bytes {
        self.hosts.view(opener_of(flow)).flight_size()
    }

    /// True once the sending end of a flow has an RTT sample.
    pub fn has_rtt_sample(&self, flow: FlowId) -> bool {
        self.hosts.view(opener_of(flow)).has_rtt_sample()
    }

    /// Segments that the sending end of a flow has retransmitted.
    pub fn retransmissions(&self, flow: FlowId) -> u64 {
        self.hosts.view(opener_of(flow)).counters().retransmitted_segments
    }

    /// Octets that the application at the far end of a flow has read.
    pub fn read(&self, flow: FlowId) -> Bytes {
        self.hosts.view(EndpointId::acceptor(self.config.last_connection(flow))).read(self.now())
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.hosts.now()
    }

    /// Configuration of the run, with the changes since.
    pub fn config(&self) -> &SimulationConfig {
        &self.config
    }

    /// The flows of the scenario's own list, in its order.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.config.flows.len()).map(FlowId::new)
    }

    /// The links, in the network's order.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.config.network.links.len()).map(LinkId::new)
    }

    /// The controller at the sending end of a flow.
    pub fn controller(&self, flow: FlowId) -> &Controller {
        self.hosts.view(opener_of(flow)).controller()
    }

    /// The congestion window at the sending end of a flow.
    pub fn cwnd(&self, flow: FlowId) -> Bytes {
        self.hosts.view(opener_of(flow)).cwnd()
    }

    /// Round-trip estimates of the sending end of a flow.
    pub fn rtt(&self, flow: FlowId) -> RttStats {
        self.hosts.view(opener_of(flow)).rtt()
    }

    /// The sending end of a TCP connection, by its place in the scenario.
    ///
    /// # Panics
    ///
    /// If the flow is one of QUIC.
    pub fn sender(&self, flow: FlowId) -> &Endpoint {
        self.hosts.endpoint(opener_of(flow))
    }

    /// True at the scenario's end.
    pub fn is_finished(&self) -> bool {
        self.now() >= self.end
    }

    /// Work of the engine so far.
    pub fn counters(&self) -> EngineCounters {
        self.counters
    }
}
