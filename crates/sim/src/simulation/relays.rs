//! Appliances in the run loop. A scenario without one never comes here.

use ackclock_relay::Orders;
use ackclock_tcp::{Endpoint, State};
use ackclock_units::{Bytes, SimTime};

use super::Simulation;
use crate::appliance::{HandshakeOrder, Relays};
use crate::event_queue::Event;
use crate::network::Port;

impl Simulation {
    /// Something happened at an end of this relay.
    #[cold]
    pub(super) fn on_relay(&mut self, relay: usize) {
        self.carry_handshake(relay);
        if !self.carry_failure(relay) {
            self.pass_on(2 * relay);
            self.pass_on(2 * relay + 1);
        }
    }

    /// A discipline asked to be asked again.
    pub(super) fn on_discipline(&mut self, way: usize) {
        if self.relays.ways[way].wake != self.network.now {
            return; // an earlier event has taken its place
        }
        self.relays.ways[way].wake = SimTime::NEVER;
        if !self.relays.list[Relays::relay_of(way)].is_dead {
            self.pass_on(way);
        }
    }

    /// Nothing has come yet: what is told with a SYN is not taken back, so that disciplines are asked before.
    pub(super) fn begin_relays(&mut self) {
        for way in 0..self.relays.ways.len() {
            self.ask_and_obey(way);
        }
    }

    pub(super) fn ask_and_obey(&mut self, way: usize) -> (Orders, Orders) {
        let orders = self.ask(way);
        let before = std::mem::replace(&mut self.relays.ways[way].orders, orders);
        self.obey(way, &orders, &before);
        (orders, before)
    }

    /// Runs `call` on an end of an appliance, which may be a short flow's.
    fn with_end(&mut self, endpoint: usize, call: impl FnOnce(&mut Endpoint, SimTime, &mut Port<'_>)) {
        if endpoint >= self.traffic.first_endpoint as usize {
            self.with_short_port(endpoint, call);
        } else {
            self.with_port(endpoint, call);
        }
    }

    fn carry_handshake(&mut self, index: usize) {
        let relay = &mut self.relays.list[index];
        let (near, far) = (relay.near, relay.far);
        let has_syn = match relay.handshake {
            HandshakeOrder::AcceptFirst => self.endpoints[near].state() != State::Listen,
            HandshakeOrder::ConnectFirst => self.endpoints[near].has_waiting_syn(),
        };
        if has_syn && !relay.has_connected {
            relay.has_connected = true;
            self.with_end(far, |endpoint, now, port| endpoint.connect(now, port));
            self.arm_timer(far);
        }
        let is_far_open = !matches!(self.endpoints[far].state(), State::Closed | State::SynSent | State::SynReceived);
        if self.endpoints[near].has_waiting_syn() && is_far_open {
            self.ask_and_obey(2 * index);
            self.with_end(near, |endpoint, now, port| endpoint.accept(now, port));
            self.arm_timer(near);
        }
    }

    /// If one end has failed, the other is reset, and what is still on its way between them is lost as it is to a
    /// connection that is reset. True if so.
    fn carry_failure(&mut self, index: usize) -> bool {
        let relay = &mut self.relays.list[index];
        if relay.is_dead {
            return true;
        }
        let (near, far) = (relay.near, relay.far);
        let other = match (self.endpoints[near].error(), self.endpoints[far].error()) {
            (None, None) => return false,
            (Some(_), _) => far,
            (None, Some(_)) => near,
        };
        relay.is_dead = true;
        self.with_end(other, |endpoint, now, port| {
            if endpoint.has_waiting_syn() {
                endpoint.refuse(port);
            } else {
                endpoint.abort(now, port);
            }
        });
        true
    }

    /// Passes on what can be, asks the discipline, and obeys.
    fn pass_on(&mut self, way: usize) {
        self.note(way); // what came must be known before some of it leaves
        self.copy(way);
        let (orders, before) = self.ask_and_obey(way);
        if orders.not_sent != before.not_sent {
            self.copy(way);
        }
        self.carry_end(way);
        let (from, to) = (self.relays.ways[way].from, self.relays.ways[way].to);
        self.arm_timer(from);
        self.arm_timer(to);
    }

    fn note(&mut self, way: usize) {
        let now = self.network.now;
        let counts = self.config.measure.holds(now);
        let readings = self.relays.ways[way].readings(now, &self.endpoints);
        let Relays { ways, totals, .. } = &mut self.relays;
        let way = &mut ways[way];
        way.note(&readings, counts, &mut totals[way.totals]);
    }

    fn ask(&mut self, way: usize) -> Orders {
        let now = self.network.now;
        let readings = self.relays.ways[way].readings(now, &self.endpoints);
        self.relays.ways[way].discipline.update(&readings)
    }

    fn obey(&mut self, index: usize, orders: &Orders, before: &Orders) {
        let now = self.network.now;
        let way = &mut self.relays.ways[index];
        let from = way.from;
        if let Some(time) = orders.wake_at
            && time < way.wake
        {
            way.wake = time.max(now);
            self.network.queue.push(way.wake, Event::Discipline(index as u32));
        }
        way.ece_raised += u64::from(orders.raise_ece);
        self.with_end(from, |endpoint, now, port| {
            // It counts from what has arrived by now: the same window reaches further than before.
            if orders.window.is_some() || before.window.is_some() {
                endpoint.grant_window(now, orders.window, port);
            }
            if orders.raise_ece {
                endpoint.raise_ece(now, port);
            }
        });
    }

    /// The sender is done, and the receiver is told so once it has everything.
    fn carry_end(&mut self, index: usize) {
        let way = &mut self.relays.ways[index];
        if way.is_at_end(&self.endpoints) {
            way.is_finished = true;
            let to = way.to;
            self.with_end(to, |endpoint, now, port| endpoint.close(now, port));
        }
    }

    /// Passes on what is ready, at once or through the copier.
    fn copy(&mut self, index: usize) {
        let ready = self.relays.ways[index].ready(&self.endpoints);
        if ready == Bytes::ZERO {
            return;
        }
        let appliance = self.relays.list[Relays::relay_of(index)].appliance;
        if self.relays.copiers[appliance].is_free() {
            let octets = self.take(index, ready);
            self.write(index, octets);
        } else if !std::mem::replace(&mut self.relays.ways[index].is_queued, true) {
            self.relays.copiers[appliance].enqueue(index);
            self.run_copier(appliance);
        }
    }

    /// The copier may have finished a chunk, or have time for one.
    pub(super) fn run_copier(&mut self, appliance: usize) {
        let now = self.network.now;
        while let Some((way, octets)) = self.relays.copiers[appliance].take_done(now) {
            self.relays.ways[way].copying -= octets;
            self.write(way, octets);
            if !self.relays.list[Relays::relay_of(way)].is_dead {
                self.pass_on(way);
            }
        }
        while let Some(index) = self.relays.copiers[appliance].next_turn(now) {
            self.relays.ways[index].is_queued = false;
            let chunk = self.relays.copiers[appliance].chunk();
            let octets = self.take(index, self.relays.ways[index].ready(&self.endpoints).min(chunk));
            if octets == Bytes::ZERO {
                continue; // the send buffer has filled since it asked
            }
            self.relays.ways[index].copying += octets;
            let (free_at, written) = self.relays.copiers[appliance].begin(now, index, octets);
            self.network.queue.push(free_at, Event::Copier(appliance as u32));
            if written > free_at {
                self.network.queue.push(written, Event::Copier(appliance as u32));
            }
            self.queue_again(appliance, index);
        }
    }

    /// A way with more than a chunk has another turn, after the others.
    fn queue_again(&mut self, appliance: usize, index: usize) {
        let way = &mut self.relays.ways[index];
        if way.ready(&self.endpoints) > Bytes::ZERO {
            way.is_queued = true;
            self.relays.copiers[appliance].enqueue(index);
        }
    }

    /// Takes octets out of the receive buffer; returns how many it had.
    fn take(&mut self, index: usize, octets: Bytes) -> Bytes {
        let from = self.relays.ways[index].from;
        let mut taken = Bytes::ZERO;
        self.with_end(from, |endpoint, now, port| taken = endpoint.read_now(now, octets, port));
        self.arm_timer(from);
        taken
    }

    fn write(&mut self, index: usize, octets: Bytes) {
        let way = &mut self.relays.ways[index];
        way.written += octets;
        let to = way.to;
        self.with_end(to, |endpoint, now, port| endpoint.write(now, octets, port));
        self.arm_timer(to);
        self.note(index);
    }
}
