//! The network and the connections over it, for applications, appliances and sources of traffic.

use ackclock_net::{EndpointId, Generation, LinkId, Packet};
use ackclock_quic::QuicEndpoint;
use ackclock_tcp::Endpoint;
use ackclock_units::SimTime;
use ackclock_wire::Segment;
use ackclock_wire::quic::QuicPacket;

use crate::connections::{Connections, Role};
use crate::end_view::EndView;
use crate::event_queue::Event;
use crate::network::{Network, Uplink};

/// The network together with the ends of connections at its hosts.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) network: Network,
    pub(crate) connections: Connections,
}

impl Hosts {
    /// The time that has been simulated.
    pub(crate) fn now(&self) -> SimTime {
        self.network.now()
    }

    /// Prefetches the memory that the packet which comes out of a served link after the next one will need. Only speed
    /// depends on it.
    #[inline]
    pub(crate) fn fetch_ahead(&self, link: LinkId) {
        if let Some(end) = self.network.fetch_ahead(link) {
            self.connections.fetch(end);
        }
    }

    /// The first packet of a link arrives at its far end; see [`Network::on_arrival`].
    #[inline]
    pub(crate) fn on_arrival(&mut self, link: LinkId, arrived: &mut Packet) -> bool {
        let Self { network, connections } = self;
        network.on_arrival(link, arrived, |end| connections.fetch(end))
    }

    /// Schedules an event of the run.
    pub(crate) fn schedule(&mut self, time: SimTime, event: Event) {
        self.network.queue.push(time, event);
    }

    /// The endpoint at one end of a connection.
    pub(crate) fn endpoint(&self, end: EndpointId) -> &Endpoint {
        &self.connections[end]
    }

    /// Read access to an end, whatever its transport.
    pub(crate) fn view(&self, end: EndpointId) -> EndView<'_> {
        self.connections.view(end)
    }

    /// Calls an end's own transport; see [`Self::call`].
    pub(crate) fn either<R>(
        &mut self,
        end: EndpointId,
        tcp: impl FnOnce(&mut Endpoint, SimTime, &mut Uplink<'_>) -> R,
        quic: impl FnOnce(&mut QuicEndpoint, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        self.connections.either(end, &mut self.network, tcp, quic)
    }

    /// Takes a packet of QUIC at an end, and arms the timer there. Returns the user of the end.
    pub(crate) fn on_quic(&mut self, end: EndpointId, packet: &QuicPacket, has_ranges: bool) -> Role {
        self.connections.on_quic(end, packet, has_ranges, &mut self.network)
    }

    /// Calls an endpoint with its way into the network. [`Self::arm_timer`] arms its timer, when the event has been
    /// handled completely.
    #[inline]
    pub(crate) fn call<R>(
        &mut self,
        end: EndpointId,
        call: impl FnOnce(&mut Endpoint, SimTime, &mut Uplink<'_>) -> R,
    ) -> R {
        self.connections.call(end, &mut self.network, call)
    }

    /// Takes a segment at an end, and arms the timer there. Returns the user of the end, unless the segment is too
    /// late.
    #[inline]
    pub(crate) fn on_segment(&mut self, end: EndpointId, generation: Generation, segment: &Segment) -> Option<Role> {
        self.connections.on_segment(end, generation, segment, &mut self.network)
    }

    /// Takes the telemetry that the packet which has just arrived sends back.
    #[cold]
    pub(crate) fn on_telemetry(&mut self, end: EndpointId, generation: Generation) {
        self.connections.on_telemetry(end, generation, self.network.echoed());
    }

    /// Notifies the senders of packets that have left a link.
    #[cold]
    pub(crate) fn tell_left(&mut self, link: LinkId) {
        let mut list = self.network.departures.take(link);
        for departed in list.drain(..) {
            self.connections.on_left(&departed, &mut self.network);
        }
        self.network.departures.give_back(link, list);
    }

    /// Handles the timer event of an end: true if its deadline has come.
    pub(crate) fn take_timer(&mut self, end: EndpointId) -> bool {
        self.connections.take_timer(end, &mut self.network)
    }

    /// Arms the timer: an event comes no later than the endpoint's deadline.
    #[inline]
    pub(crate) fn arm_timer(&mut self, end: EndpointId) {
        self.connections.arm_timer(end, &mut self.network);
    }
}
