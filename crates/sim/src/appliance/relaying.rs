//! The operation of appliances on the connections that they split. A scenario without appliances never runs this code.

use ackclock_events::Event;
use ackclock_relay::Orders;
use ackclock_tcp::State;
use ackclock_units::{Bytes, SimTime};

use super::Relays;
use super::config::HandshakeOrder;
use crate::event_queue::Event as Scheduled;
use crate::hosts::Hosts;
use crate::ids::{ApplianceId, RelayDirection, RelayId};

impl Relays {
    /// Handles an event at an end of this relay.
    #[cold]
    pub(crate) fn on_event(&mut self, id: RelayId, hosts: &mut Hosts) {
        self.carry_handshake(id, hosts);
        if !self.carry_failure(id, hosts) {
            for at in id.directions() {
                self.pass_on(at, hosts);
            }
        }
    }

    /// Handles the time that a discipline has requested.
    pub(crate) fn on_discipline(&mut self, at: RelayDirection, hosts: &mut Hosts) {
        let stream = self.stream_mut(at);
        if stream.wake != hosts.now() {
            return; // an earlier event has taken its place
        }
        stream.wake = SimTime::NEVER;
        if !self[at.relay()].is_dead {
            self.pass_on(at, hosts);
        }
    }

    /// Begins a relay before any data: a SYN's window is not taken back, so that disciplines are called first.
    pub(crate) fn begin(&mut self, id: RelayId, hosts: &mut Hosts) {
        for at in id.directions() {
            self.ask_discipline(at, hosts);
        }
    }

    fn carry_handshake(&mut self, id: RelayId, hosts: &mut Hosts) {
        let relay = &mut self.list[id.index()];
        let (near, far) = (relay.near, relay.far);
        let has_syn = match relay.handshake {
            HandshakeOrder::AcceptFirst => hosts.endpoint(near).state() != State::Listen,
            HandshakeOrder::ConnectFirst => hosts.endpoint(near).has_waiting_syn(),
        };
        if has_syn && !relay.has_connected {
            relay.has_connected = true;
            hosts.call(far, |endpoint, now, out| endpoint.connect(now, out));
            hosts.arm_timer(far);
        }
        let is_far_open = !matches!(hosts.endpoint(far).state(), State::Closed | State::SynSent | State::SynReceived);
        if hosts.endpoint(near).has_waiting_syn() && is_far_open {
            let [forward, _] = id.directions();
            self.ask_discipline(forward, hosts);
            hosts.call(near, |endpoint, now, out| endpoint.accept(now, out));
            hosts.arm_timer(near);
        }
    }

    /// Carries the failure of one end to the other, which is reset; data between them is lost, as on any reset. Returns
    /// true if an end has failed.
    fn carry_failure(&mut self, id: RelayId, hosts: &mut Hosts) -> bool {
        let relay = &mut self.list[id.index()];
        if relay.is_dead {
            return true;
        }
        let (near, far) = (relay.near, relay.far);
        let other = match (hosts.endpoint(near).error(), hosts.endpoint(far).error()) {
            (None, None) => return false,
            (Some(_), _) => far,
            (None, Some(_)) => near,
        };
        relay.is_dead = true;
        hosts.call(other, |endpoint, now, out| {
            if endpoint.has_waiting_syn() {
                endpoint.refuse(out);
            } else {
                endpoint.abort(now, out);
            }
        });
        true
    }

    /// Passes on available data, calls the discipline, and applies its decision.
    fn pass_on(&mut self, at: RelayDirection, hosts: &mut Hosts) {
        self.note(at, hosts); // what came must be known before some of it leaves
        self.copy(at, hosts);
        let has_changed = self.ask_discipline(at, hosts);
        if has_changed {
            self.copy(at, hosts);
        }
        self.carry_end(at, hosts);
        let stream = &self[at];
        hosts.arm_timer(stream.from);
        hosts.arm_timer(stream.to);
        if hosts.network.watch.is_some() {
            self.tell_hold(at, hosts);
        }
    }

    /// Reports to observers when a discipline begins to hold data back, and when it releases it.
    #[cold]
    fn tell_hold(&mut self, at: RelayDirection, hosts: &mut Hosts) {
        let now = hosts.now();
        let stream = self.stream_mut(at);
        let buffered = stream.readings(now, &hosts.connections).backlog();
        let event = match (stream.held_since, stream.is_held(&hosts.connections)) {
            (None, true) => {
                stream.held_since = Some(now);
                Event::RelayHeld { buffered }
            }
            (Some(since), false) => {
                stream.held_since = None;
                Event::RelayReleased { buffered, held: now - since }
            }
            _ => return,
        };
        if let Some(watch) = &mut hosts.network.watch {
            watch.push_of_end(now, stream.to, event);
        }
    }

    fn note(&mut self, at: RelayDirection, hosts: &Hosts) {
        let readings = self[at].readings(hosts.now(), &hosts.connections);
        let relay = &mut self.list[at.relay().index()];
        let totals = &mut self.totals[relay.totals][at.direction().index()];
        relay.streams[at.direction().index()].note(&readings, &self.window, totals);
    }

    /// Calls the discipline and applies its decision. Returns true if the limit of unsent data has changed.
    fn ask_discipline(&mut self, at: RelayDirection, hosts: &mut Hosts) -> bool {
        let readings = self[at].readings(hosts.now(), &hosts.connections);
        let stream = self.stream_mut(at);
        let orders = stream.discipline.update(&readings);
        let before = std::mem::replace(&mut stream.orders, orders);
        self.apply(at, &orders, &before, hosts);
        orders.not_sent != before.not_sent
    }

    fn apply(&mut self, at: RelayDirection, orders: &Orders, before: &Orders, hosts: &mut Hosts) {
        let stream = self.stream_mut(at);
        if let Some(time) = orders.wake_at
            && time < stream.wake
        {
            stream.wake = time.max(hosts.now());
            hosts.schedule(stream.wake, Scheduled::Discipline(at));
        }
        stream.ece_raised += u64::from(orders.raise_ece);
        hosts.call(stream.from, |endpoint, now, out| {
            // It counts from what has arrived by now: the same window reaches further than before.
            if orders.window.is_some() || before.window.is_some() {
                endpoint.grant_window(now, orders.window, out);
            }
            if orders.raise_ece {
                endpoint.raise_ece(now, out);
            }
        });
    }

    /// Passes the end of the stream on to the receiver, after all its data.
    fn carry_end(&mut self, at: RelayDirection, hosts: &mut Hosts) {
        let stream = self.stream_mut(at);
        if stream.is_at_end(&hosts.connections) {
            stream.is_finished = true;
            hosts.call(stream.to, |endpoint, now, out| endpoint.close(now, out));
        }
    }

    /// Passes on available data, directly or through the copier.
    fn copy(&mut self, at: RelayDirection, hosts: &mut Hosts) {
        let ready = self[at].ready(&hosts.connections);
        if ready == Bytes::ZERO {
            return;
        }
        let appliance = self[at.relay()].appliance;
        if self.copiers[appliance.index()].is_free() {
            let octets = self.take(at, ready, hosts);
            self.write(at, octets, hosts);
        } else if !std::mem::replace(&mut self.stream_mut(at).is_queued, true) {
            self.copiers[appliance.index()].enqueue(at);
            self.run_copier(appliance, hosts);
        }
    }

    /// Runs the copier, which may have finished a chunk, or be free for one.
    pub(crate) fn run_copier(&mut self, appliance: ApplianceId, hosts: &mut Hosts) {
        let now = hosts.now();
        while let Some((at, octets)) = self.copiers[appliance.index()].take_done(now) {
            self.stream_mut(at).copying -= octets;
            self.write(at, octets, hosts);
            if !self[at.relay()].is_dead {
                self.pass_on(at, hosts);
            }
        }
        while let Some(at) = self.copiers[appliance.index()].next_turn(now) {
            self.stream_mut(at).is_queued = false;
            let chunk = self.copiers[appliance.index()].chunk();
            let octets = self.take(at, self[at].ready(&hosts.connections).min(chunk), hosts);
            if octets == Bytes::ZERO {
                continue; // the send buffer has filled since it asked
            }
            self.stream_mut(at).copying += octets;
            let (free_at, written) = self.copiers[appliance.index()].begin(now, at, octets);
            hosts.schedule(free_at, Scheduled::Copier(appliance));
            if written > free_at {
                hosts.schedule(written, Scheduled::Copier(appliance));
            }
            self.queue_again(appliance, at, hosts);
        }
    }

    /// Queues a stream again, after the others, if it has more than a chunk.
    fn queue_again(&mut self, appliance: ApplianceId, at: RelayDirection, hosts: &Hosts) {
        let stream = self.stream_mut(at);
        if stream.ready(&hosts.connections) > Bytes::ZERO {
            stream.is_queued = true;
            self.copiers[appliance.index()].enqueue(at);
        }
    }

    /// Takes octets out of the receive buffer; returns their number.
    fn take(&mut self, at: RelayDirection, octets: Bytes, hosts: &mut Hosts) -> Bytes {
        let from = self[at].from;
        let taken = hosts.call(from, |endpoint, now, out| endpoint.read_now(now, octets, out));
        hosts.arm_timer(from);
        taken
    }

    fn write(&mut self, at: RelayDirection, octets: Bytes, hosts: &mut Hosts) {
        let stream = self.stream_mut(at);
        stream.written += octets;
        let to = stream.to;
        hosts.call(to, |endpoint, now, out| endpoint.write(now, octets, out));
        hosts.arm_timer(to);
        self.note(at, hosts);
    }
}
