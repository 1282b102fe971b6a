//! The way from an endpoint into the network.

use ackclock_net::{EndpointId, Generation, Packet};
use ackclock_quic::QuicOutput;
use ackclock_tcp::Output;
use ackclock_units::SimTime;
use ackclock_wire::Segment;
use ackclock_wire::quic::{AckRange, QuicPacket};

use super::Network;
use crate::ids::RouteId;

/// The way of an endpoint's packets into the first link of their route.
pub(crate) struct Uplink<'a> {
    pub(crate) network: &'a mut Network,
    /// The endpoint at the other end.
    pub(crate) peer: EndpointId,
    pub(crate) route: RouteId,
    /// Generation of the connection.
    pub(crate) generation: Generation,
}

impl Output for Uplink<'_> {
    fn send(&mut self, segment: &Segment) {
        self.network.send_segment(self.route, segment, self.peer, self.generation);
    }

    fn leaves_at(&self) -> SimTime {
        self.network.leaves_at(self.route)
    }

    fn tell(&mut self, events: &mut Vec<ackclock_events::Event>) {
        self.hand_over(events);
    }
}

impl QuicOutput for Uplink<'_> {
    fn send(&mut self, packet: QuicPacket, further: &[AckRange]) {
        let packet = Packet { generation: self.generation, ..Packet::quic(packet, self.peer) };
        self.network.send_ranges(self.route, &packet, further);
    }

    fn tell(&mut self, events: &mut Vec<ackclock_events::Event>) {
        self.hand_over(events);
    }
}

impl Uplink<'_> {
    fn hand_over(&mut self, events: &mut Vec<ackclock_events::Event>) {
        let now = self.network.now();
        match &mut self.network.watch {
            Some(watch) => watch.on_endpoint(now, self.peer.peer(), events),
            None => events.clear(),
        }
    }
}
