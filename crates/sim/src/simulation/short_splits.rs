//! The endpoints of a short flow: its own two, and two more for each appliance on its way.

use ackclock_tcp::{Endpoint, Reading};
use ackclock_units::SimTime;

use super::slots::Slot;
use super::{NOTHING, PortState, RELAYS, Simulation};
use crate::appliance::HandshakeOrder;
use crate::config::SimulationConfig;
use crate::network::Face;

impl Simulation {
    /// Endpoints for a flow of this group; returns the opener's number.
    pub(super) fn take_slot(&mut self, group: usize) -> usize {
        let splits = self.config.traffic.arrivals[group].splits.len();
        let opener = self.traffic.slots.take(splits).unwrap_or_else(|| {
            self.traffic.slots.add(splits, self.relays.list.len());
            self.endpoints.len()
        });
        for connection in 0..=splits {
            let first = opener + 2 * connection;
            let [there, back] = self.traffic.groups[group].routes[connection];
            self.put_endpoint(first, opening_end(&self.config, group, connection), there);
            self.put_endpoint(first + 1, accepting_end(&self.config, group, connection), back);
        }
        if self.network.has_captures {
            let face = Face { flow: opener as u32 / 2, port: self.config.traffic.arrivals[group].flow.port };
            for connection in 0..=splits {
                self.network.set_face(opener / 2 + connection, face);
            }
        }
        opener
    }

    /// In place of an earlier one, or as the next.
    fn put_endpoint(&mut self, number: usize, endpoint: Endpoint, route: u32) {
        if number == self.endpoints.len() {
            self.endpoints.push(endpoint);
            self.ports.push(PortState { route, timer: SimTime::NEVER, sends: NOTHING, delivers: NOTHING });
        } else {
            self.endpoints[number] = endpoint;
            // A timer event that is still pending serves the new flow: when it comes it looks at the deadline as it then is.
            self.ports[number].route = route;
        }
    }

    /// The appliances on the way of a flow that is about to begin expect it.
    #[cold]
    pub(super) fn begin_short_relays(&mut self, opener: usize) {
        let slot = *self.traffic.slots.flow(opener);
        let first_pool = self.relays.first_pool(slot.group as usize);
        for (place, relay) in slot.relays().enumerate() {
            let near = opener + 2 * place + 1;
            self.relays.begin_short(relay, first_pool + place, near, &self.config);
            for end in [near, near + 1] {
                self.ports[end].sends = RELAYS + relay as u32;
            }
            // What is told with a SYN is not taken back.
            self.ask_and_obey(2 * relay);
            self.ask_and_obey(2 * relay + 1);
        }
    }

    /// A flow is over; its relays serve another one.
    #[cold]
    pub(super) fn end_short_relays(&mut self, slot: &Slot, has_failed: bool) {
        let now = self.network.now;
        let counts = self.config.measure.holds(now);
        let first_pool = self.relays.first_pool(slot.group as usize);
        for (place, relay) in slot.relays().enumerate() {
            self.relays.pools[first_pool + place].resets += u64::from(has_failed);
            self.relays.end_short(relay, now, counts, &self.endpoints);
        }
    }
}

/// What opens a connection of a flow of this group: its own end, or the far end of the appliance before.
fn opening_end(config: &SimulationConfig, group: usize, connection: usize) -> Endpoint {
    let arrivals = &config.traffic.arrivals[group];
    let Some(before) = connection.checked_sub(1) else {
        return Endpoint::new(&arrivals.flow.sender, &arrivals.flow.controller, Reading::AtOnce);
    };
    let far = &arrivals.splits[before].far;
    Endpoint::new(&far.tcp, &far.controller, Reading::OnCall)
}

/// What accepts it: the near end of the next appliance, or the flow's own end.
fn accepting_end(config: &SimulationConfig, group: usize, connection: usize) -> Endpoint {
    let arrivals = &config.traffic.arrivals[group];
    let Some(split) = arrivals.splits.get(connection) else {
        let mut acceptor = Endpoint::new(&arrivals.flow.receiver, &arrivals.flow.controller, Reading::AtOnce);
        acceptor.listen();
        return acceptor;
    };
    let mut near = Endpoint::new(&split.near.tcp, &split.near.controller, Reading::OnCall);
    match config.appliances[split.appliance].handshake {
        HandshakeOrder::AcceptFirst => near.listen(),
        HandshakeOrder::ConnectFirst => near.listen_and_ask(),
    }
    near
}
