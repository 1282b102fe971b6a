//! Short flows in operation: groups of them, each flow with a connection of its own, and one more for each appliance
//! that splits it.
//!
//! The connections of a flow follow each other: its opener has the first, its acceptor the last. When it is over, their
//! places are reused.

use std::iter;
use std::sync::Arc;

use ackclock_net::{ConnectionIndex, EndpointId, Router};
use ackclock_tcp::{Endpoint, Output, Reading, State, TcpConfig};
use ackclock_units::{Bytes, Shared, SimTime};
use ackclock_wire::Segment;

use super::arrivals::Arrival;
use super::completions::{CompletionLog, GroupSummary};
use super::config::ArrivalsConfig;
use super::group::FlowGroup;
use crate::appliance::{HandshakeOrder, Relays, SplitConfig};
use crate::captures::{Face, ViewId};
use crate::config::SimulationConfig;
use crate::connections::{NewEnd, Role};
use crate::event_queue::Event;
use crate::hosts::Hosts;
use crate::ids::{GroupId, RelayId, RouteId, ShortFlowId};
use crate::network::{Network, Place};

/// Short flows of all groups.
#[derive(Clone, Debug)]
pub(crate) struct ShortFlows {
    groups: Vec<Group>,
    /// Flows in progress, and the places of those that are over.
    flows: Vec<ShortFlow>,
    /// Flows that are over, by the number of their appliances.
    free: Vec<Vec<ShortFlowId>>,
}

#[derive(Clone, Debug)]
struct Group {
    flows: FlowGroup,
    /// Routes there and back, of each connection from the opener on.
    routes: Vec<[RouteId; 2]>,
    /// The capture at the openers' host.
    view: Option<ViewId>,
}

/// A short flow: the places of its connections, and its progress.
#[derive(Clone, Copy, Debug)]
struct ShortFlow {
    /// The first of the flow's connections.
    first: ConnectionIndex,
    /// Number of appliances on its path, each with one connection more.
    splits: usize,
    /// The first of the flow's relays, if there are appliances.
    relays: RelayId,
    group: GroupId,
    start: SimTime,
    arrival: Arrival,
    is_under_way: bool,
    /// True once the opener has written.
    has_asked: bool,
    /// True once the acceptor has written, or has nothing to write.
    has_answered: bool,
    is_complete: bool,
}

impl ShortFlow {
    fn connections(&self) -> impl Iterator<Item = ConnectionIndex> + use<> {
        let first = self.first.index();
        (first..=first + self.splits).map(ConnectionIndex::new)
    }

    fn relays(&self) -> impl Iterator<Item = RelayId> + use<> {
        let first = self.relays.index();
        (first..first + self.splits).map(RelayId::new)
    }

    fn opener(&self) -> EndpointId {
        EndpointId::opener(self.first)
    }

    fn acceptor(&self) -> EndpointId {
        EndpointId::acceptor(ConnectionIndex::new(self.first.index() + self.splits))
    }
}

impl Group {
    fn new(
        arrivals: &ArrivalsConfig,
        config: &SimulationConfig,
        network: &mut Network,
        router: &mut Router<'_>,
    ) -> Self {
        let flow = &arrivals.flow;
        let mut path = |from, to| router.shortest_path(from, to).expect("a checked scenario has every route");
        let (there, back) = (path(flow.from, flow.to), path(flow.to, flow.from));
        let flows = FlowGroup::new(arrivals, config, &there, &back);
        let far = |split: &SplitConfig| Place::new(config.appliances[split.appliance].node, &split.far.tcp);
        let near = |split: &SplitConfig| Place::new(config.appliances[split.appliance].node, &split.near.tcp);
        let openers = iter::once(Place::new(flow.from, &flow.sender)).chain(arrivals.splits.iter().map(far));
        let acceptors = arrivals.splits.iter().map(near).chain([Place::new(flow.to, &flow.receiver)]);
        let host = &config.network.node(flow.from).name;
        let view = flow.capture.then(|| network.captures.add_view(&flow.name, host));
        let mut route = |from: Place, to: Place| network.add_route(router, from, to);
        let mut both_ways = |(opener, acceptor): (Place, Place)| [route(opener, acceptor), route(acceptor, opener)];
        Self { flows, routes: openers.zip(acceptors).map(&mut both_ways).collect(), view }
    }
}

impl ShortFlows {
    /// Adds routes, and the first arrival of every group.
    pub(crate) fn new(config: &SimulationConfig, network: &mut Network, router: &mut Router<'_>) -> Self {
        let mut groups = Vec::with_capacity(config.traffic.arrivals.len());
        for (index, arrivals) in config.traffic.arrivals.iter().enumerate() {
            let group = Group::new(arrivals, config, network, router);
            if let Some(time) = group.flows.next(arrivals) {
                network.queue.push(time, Event::Arrival(GroupId::new(index)));
            }
            groups.push(group);
        }
        Self { groups, flows: Vec::new(), free: Vec::new() }
    }

    /// Starts the next flow of a group, which opens its connection.
    pub(crate) fn start(&mut self, id: GroupId, config: &SimulationConfig, hosts: &mut Hosts, relays: &mut Relays) {
        let now = hosts.now();
        let arrivals = &config.traffic.arrivals[id.index()];
        let group = &mut self.groups[id.index()].flows;
        let arrival = group.begin(now, arrivals, config);
        let next = group.next(arrivals);
        let flow_id = self.take_place(id, config, hosts, relays);
        let flow = &mut self.flows[flow_id.index()];
        *flow = ShortFlow {
            group: id,
            start: now,
            arrival,
            is_under_way: true,
            has_asked: false,
            has_answered: !arrival.has_reply(),
            is_complete: false,
            ..*flow
        };
        let flow = *flow;
        if flow.splits > 0 {
            begin_relays(flow_id, &flow, config, hosts, relays);
        }
        hosts.call(flow.opener(), |endpoint, now, out| endpoint.connect(now, out));
        hosts.arm_timer(flow.opener());
        if let Some(time) = next {
            hosts.schedule(time, Event::Arrival(id));
        }
    }

    /// Connections for a flow of this group: those of a finished flow, or new ones.
    fn take_place(
        &mut self,
        group: GroupId,
        config: &SimulationConfig,
        hosts: &mut Hosts,
        relays: &Relays,
    ) -> ShortFlowId {
        let arrivals = &config.traffic.arrivals[group.index()];
        let splits = arrivals.splits.len();
        let id = self.free.get_mut(splits).and_then(Vec::pop).unwrap_or_else(|| {
            self.flows.push(new_place(hosts.connections.next(), splits, relays.next()));
            ShortFlowId::new(self.flows.len() - 1)
        });
        let flow = &self.flows[id.index()];
        for (place, connection) in flow.connections().enumerate() {
            let [there, back] = self.groups[group.index()].routes[place];
            let role = Role::ShortFlow(id); // an appliance's end has the relay's, once there is one
            let connections = &mut hosts.connections;
            let opening =
                |configs: &mut _| NewEnd { endpoint: opening_end(arrivals, place, configs), route: there, role };
            let accepting = |configs: &mut _| NewEnd {
                endpoint: accepting_end(config, arrivals, place, configs),
                route: back,
                role,
            };
            if connection == connections.next() {
                let ends = [opening(&mut connections.configs), accepting(&mut connections.configs)];
                connections.add(ends);
            } else {
                let end = opening(&mut connections.configs);
                connections.replace(EndpointId::opener(connection), end);
                let end = accepting(&mut connections.configs);
                connections.replace(EndpointId::acceptor(connection), end);
            }
            let face = Face { flow: flow.first.index() as u32, port: arrivals.flow.port };
            hosts.network.captures.set_face(connection, face);
        }
        let Group { view, routes, .. } = &self.groups[group.index()];
        hosts.network.capture_end(flow.opener(), *view, routes[0][0]);
        id
    }

    /// Handles an event at an end of a flow: the application there writes, or finds that it has all data.
    pub(crate) fn on_event(&mut self, id: ShortFlowId, end: EndpointId, config: &SimulationConfig, hosts: &mut Hosts) {
        let flow = &mut self.flows[id.index()];
        let (opener, acceptor) = (flow.opener(), flow.acceptor());
        if end == opener && !flow.has_asked && hosts.endpoint(opener).state() == State::Established {
            flow.has_asked = true;
            write_all(opener, flow.arrival.size, hosts);
        }
        if end == acceptor && !flow.has_answered && has_read_all(hosts.endpoint(acceptor), flow.arrival.size) {
            flow.has_answered = true;
            write_all(acceptor, flow.arrival.reply, hosts);
        }
        let Arrival { size, reply } = flow.arrival;
        let (reader, wanted) = if reply > Bytes::ZERO { (opener, reply) } else { (acceptor, size) };
        if end == reader && !flow.is_complete && hosts.endpoint(reader).received() >= wanted {
            flow.is_complete = true;
            let group = &mut self.groups[flow.group.index()].flows;
            group.complete((flow.start, hosts.now()), flow.arrival, config);
        }
    }

    /// Frees the places of a flow once all is acknowledged on every connection, or one of them has failed; the event
    /// was at `end`.
    pub(crate) fn release_if_over(
        &mut self,
        (id, end): (ShortFlowId, EndpointId),
        hosts: &mut Hosts,
        relays: &mut Relays,
    ) {
        let flow = &self.flows[id.index()];
        // Of a flow's only connection, an end that has failed has failed in what happened at it.
        let is_single = flow.splits == 0;
        if flow.is_complete || !is_single || hosts.endpoint(end).is_aborted() {
            self.look_whether_over(id, hosts, relays);
        }
    }

    fn look_whether_over(&mut self, id: ShortFlowId, hosts: &mut Hosts, relays: &mut Relays) {
        let flow = self.flows[id.index()];
        let (mut is_over, mut has_failed) = (flow.is_complete, false);
        for connection in flow.connections() {
            let opener = hosts.endpoint(EndpointId::opener(connection));
            let acceptor = hosts.endpoint(EndpointId::acceptor(connection));
            has_failed |= opener.is_aborted() || acceptor.is_aborted();
            is_over = is_over && is_acknowledged(opener) && (!flow.arrival.has_reply() || is_acknowledged(acceptor));
        }
        if is_over || has_failed {
            self.release(id, has_failed, hosts, relays);
        }
    }

    fn release(&mut self, id: ShortFlowId, has_failed: bool, hosts: &mut Hosts, relays: &mut Relays) {
        let flow = self.flows[id.index()];
        if flow.splits > 0 {
            end_relays(&flow, has_failed, hosts, relays);
        }
        self.count_ends(&flow, hosts);
        self.groups[flow.group.index()].flows.end(flow.is_complete);
        self.flows[id.index()].is_under_way = false;
        if self.free.len() <= flow.splits {
            self.free.resize(flow.splits + 1, Vec::new());
        }
        self.free[flow.splits].push(id);
        let now = hosts.now();
        for connection in flow.connections() {
            hosts.connections.retire(connection);
            // Timers of the flow that is over find closed endpoints.
            for end in [EndpointId::opener(connection), EndpointId::acceptor(connection)] {
                hosts.connections[end].abort(now, &mut Nowhere);
            }
        }
    }

    /// Adds the counts of the flow's own ends.
    fn count_ends(&mut self, flow: &ShortFlow, hosts: &Hosts) {
        let group = &mut self.groups[flow.group.index()].flows;
        for end in [flow.opener(), flow.acceptor()] {
            let counters = hosts.endpoint(end).counters();
            group.count(counters.retransmitted_segments, counters.timeouts);
        }
    }

    /// Adds the counts of unfinished flows, here and at appliances.
    pub(crate) fn count_what_is_under_way(&mut self, hosts: &Hosts, relays: &mut Relays) {
        let under_way: Vec<ShortFlow> = self.flows.iter().filter(|flow| flow.is_under_way).copied().collect();
        for flow in &under_way {
            self.count_ends(flow, hosts);
            for relay in flow.relays() {
                relays.count_short(relay, &hosts.connections);
            }
        }
    }

    pub(crate) fn summaries(&self, config: &SimulationConfig) -> Vec<GroupSummary> {
        let groups = self.groups.iter().zip(&config.traffic.arrivals);
        groups.map(|(group, config)| group.flows.summary(config)).collect()
    }

    /// Completions of each group, with its name.
    pub(crate) fn logs<'a>(
        &'a self,
        config: &'a SimulationConfig,
    ) -> impl Iterator<Item = (String, &'a CompletionLog)> {
        let groups = self.groups.iter().zip(&config.traffic.arrivals);
        groups.map(|(group, config)| (config.flow.name.clone(), group.flows.log()))
    }
}

/// The places of a flow that is not under way.
fn new_place(first: ConnectionIndex, splits: usize, relays: RelayId) -> ShortFlow {
    ShortFlow {
        first,
        splits,
        relays,
        group: GroupId::default(),
        start: SimTime::ZERO,
        arrival: Arrival { size: Bytes::ZERO, reply: Bytes::ZERO },
        is_under_way: false,
        has_asked: false,
        has_answered: false,
        is_complete: false,
    }
}

/// Prepares the appliances on the path of a flow that is about to begin.
#[cold]
fn begin_relays(id: ShortFlowId, flow: &ShortFlow, config: &SimulationConfig, hosts: &mut Hosts, relays: &mut Relays) {
    let first_pool = relays.first_pool(flow.group);
    let ends = flow.connections().zip(flow.connections().skip(1));
    for ((pool, relay), (before, after)) in (first_pool..).zip(flow.relays()).zip(ends) {
        let ends = [EndpointId::acceptor(before), EndpointId::opener(after)];
        relays.begin_short(relay, pool, id, ends, config);
        for end in ends {
            hosts.connections.set_role(end, Role::Relay(relay));
        }
        relays.begin(relay, hosts);
    }
}

/// Ends the relays of a flow, which serve another one.
#[cold]
fn end_relays(flow: &ShortFlow, has_failed: bool, hosts: &Hosts, relays: &mut Relays) {
    let first_pool = relays.first_pool(flow.group);
    for (pool, relay) in (first_pool..).zip(flow.relays()) {
        relays.end_short(relay, pool, has_failed, hosts.now(), &hosts.connections);
    }
}

/// The end that opens the connection at this place of a flow: its own end, or the far end of the appliance before.
fn opening_end(arrivals: &ArrivalsConfig, place: usize, configs: &mut Shared<TcpConfig>) -> Endpoint {
    let Some(before) = place.checked_sub(1) else {
        return Endpoint::new(Arc::clone(&arrivals.flow.sender), &arrivals.flow.controller, Reading::AtOnce);
    };
    let far = &arrivals.splits[before].far;
    Endpoint::new(configs.get(&far.tcp), &far.controller, Reading::OnCall)
}

/// The end that accepts the connection: the near end of the next appliance, or the flow's own end.
fn accepting_end(
    config: &SimulationConfig,
    arrivals: &ArrivalsConfig,
    place: usize,
    configs: &mut Shared<TcpConfig>,
) -> Endpoint {
    let Some(split) = arrivals.splits.get(place) else {
        let mut acceptor =
            Endpoint::new(Arc::clone(&arrivals.flow.receiver), &arrivals.flow.controller, Reading::AtOnce);
        acceptor.listen();
        return acceptor;
    };
    let mut near = Endpoint::new(configs.get(&split.near.tcp), &split.near.controller, Reading::OnCall);
    match config.appliances[split.appliance].handshake {
        HandshakeOrder::AcceptFirst => near.listen(),
        HandshakeOrder::ConnectFirst => near.listen_and_ask(),
    }
    near
}

fn write_all(end: EndpointId, octets: Bytes, hosts: &mut Hosts) {
    hosts.call(end, |endpoint, now, out| {
        if octets > Bytes::ZERO {
            endpoint.write(now, octets, out);
        }
        endpoint.close(now, out);
    });
    hosts.arm_timer(end);
}

fn has_read_all(acceptor: &Endpoint, size: Bytes) -> bool {
    let is_open = matches!(acceptor.state(), State::Established | State::CloseWait);
    is_open && acceptor.received() >= size
}

/// True if the peer has acknowledged all data of this end, and its FIN.
fn is_acknowledged(endpoint: &Endpoint) -> bool {
    matches!(endpoint.state(), State::FinWait2 | State::TimeWait | State::Closed)
}

/// An output that discards the reset of a connection that is over for both ends.
struct Nowhere;

impl Output for Nowhere {
    fn send(&mut self, _segment: &Segment) {}
}
