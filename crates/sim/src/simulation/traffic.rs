//! Short flows and datagrams in the run loop.

use ackclock_cc::{ControllerConfig, FixedConfig};
use ackclock_net::{Datagram, NodeId, Packet, Router};
use ackclock_tcp::{Endpoint, Output, Reading, State, TcpConfig};
use ackclock_units::{Bytes, SimTime};
use ackclock_wire::{Ecn, Segment};

use super::slots::{Slot, Slots};
use super::{NOTHING, PortState, RELAYS, Simulation};
use crate::config::SimulationConfig;
use crate::event_queue::Event;
use crate::network::{Network, Port};
use crate::outcome::Table;
use crate::traffic::{
    ArrivalStream, Completion, CompletionLog, DatagramFlow, DatagramSummary, EmptyPath, GroupCounts, GroupSummary,
    completion_table,
};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// Endpoints from here on receive datagrams, or are those of slots.
    pub(super) first_endpoint: u32,
    pub(super) groups: Vec<Group>,
    datagrams: Vec<Source>,
    pub(super) slots: Slots,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    stream: ArrivalStream,
    path: EmptyPath,
    /// There and back, of each connection from the opener on.
    pub(super) routes: Vec<[u32; 2]>,
    counts: GroupCounts,
    log: CompletionLog,
}

#[derive(Clone, Debug)]
struct Source {
    flow: DatagramFlow,
    route: u32,
}

impl Traffic {
    /// Adds routes, and the first event of every source.
    pub(super) fn new(config: &SimulationConfig, network: &mut Network, router: &mut Router<'_>) -> Self {
        let mut traffic = Self {
            first_endpoint: 2 * config.connections() as u32,
            groups: Vec::new(),
            datagrams: Vec::new(),
            slots: Slots::new(2 * (config.connections() + config.traffic.datagrams.len())),
        };
        for (index, arrivals) in config.traffic.arrivals.iter().enumerate() {
            let flow = &arrivals.flow;
            let stream = ArrivalStream::new(arrivals, config.seed);
            if let Some(time) = stream.next(arrivals) {
                network.queue.push(time, Event::Source(index as u32));
            }
            let mut path = |from, to| router.shortest_path(from, to).expect("a checked scenario has every route");
            let (there, back) = (path(flow.from, flow.to), path(flow.to, flow.from));
            let path = EmptyPath::new(flow, &config.network.links, &there, &back);
            let boxes = arrivals.splits.iter().map(|split| config.appliances[split.appliance].node);
            let stops: Vec<NodeId> = [flow.from].into_iter().chain(boxes).chain([flow.to]).collect();
            let mut route = |from, to| network.add_route(router, from, to);
            let ways = stops.windows(2).map(|ends| [route(ends[0], ends[1]), route(ends[1], ends[0])]).collect();
            let log = CompletionLog::new(&arrivals.buckets);
            traffic.groups.push(Group { stream, path, routes: ways, counts: GroupCounts::default(), log });
        }
        for datagrams in &config.traffic.datagrams {
            let mut flow = DatagramFlow::new(datagrams, config.seed, config.measure);
            let index = traffic.groups.len() + traffic.datagrams.len();
            if let Some(time) = flow.first() {
                network.queue.push(time, Event::Source(index as u32));
            }
            let route = network.add_route(router, datagrams.from, datagrams.to);
            traffic.datagrams.push(Source { flow, route });
        }
        traffic
    }
}

impl Simulation {
    /// A source's time has come.
    pub(super) fn on_source(&mut self, index: usize) {
        let next = match index.checked_sub(self.traffic.groups.len()) {
            None => self.start_short_flow(index),
            Some(flow) => self.send_datagram(flow),
        };
        if let Some(time) = next {
            self.network.queue.push(time, Event::Source(index as u32));
        }
    }

    fn send_datagram(&mut self, index: usize) -> Option<SimTime> {
        let now = self.network.now;
        let config = &self.config.traffic.datagrams[index];
        let source = &mut self.traffic.datagrams[index];
        let (number, next) = source.flow.send(now);
        let datagram = Datagram { number, sent: now, payload: config.payload, ecn: config.ecn };
        let receiver = self.traffic.first_endpoint + 2 * index as u32 + 1;
        let mut packet = Packet::of_datagram(datagram, receiver, source.route + 1);
        self.network.send(source.route, &mut packet);
        next
    }

    fn start_short_flow(&mut self, index: usize) -> Option<SimTime> {
        let now = self.network.now;
        let config = &self.config.traffic.arrivals[index];
        let group = &mut self.traffic.groups[index];
        let arrival = group.stream.take(config);
        let next = group.stream.next(config);
        group.counts.started += u64::from(self.config.measure.holds(now));
        group.counts.concurrent += 1;
        group.counts.max_concurrent = group.counts.max_concurrent.max(group.counts.concurrent);
        let opener = self.take_slot(index);
        let slot = self.traffic.slots.flow(opener);
        *slot = Slot {
            start: now,
            group: index as u32,
            size: arrival.size,
            reply: arrival.reply,
            is_used: true,
            has_asked: false,
            has_answered: arrival.reply == Bytes::ZERO,
            is_complete: false,
            ..*slot
        };
        if slot.splits > 0 {
            self.begin_short_relays(opener);
        }
        self.with_short_port(opener, |endpoint, now, port| endpoint.connect(now, port));
        self.arm_timer(opener);
        next
    }

    /// As `with_port`, with the flow's incarnation on every packet.
    pub(super) fn with_short_port(
        &mut self,
        endpoint: usize,
        call: impl FnOnce(&mut Endpoint, SimTime, &mut Port<'_>),
    ) {
        let incarnation = self.traffic.slots.incarnation(endpoint);
        let (now, route) = (self.network.now, self.ports[endpoint].route);
        let mut port = Port { network: &mut self.network, peer: endpoint as u32 ^ 1, route, incarnation };
        call(&mut self.endpoints[endpoint], now, &mut port);
    }

    /// A packet arrived that belongs to no flow of the scenario's own list.
    #[cold]
    pub(super) fn on_traffic(&mut self, packet: &Packet) {
        match packet.as_datagram() {
            Some(datagram) => {
                let marked = datagram.ecn == Ecn::Ce;
                self.counters.packets_delivered += 1;
                let index = (packet.endpoint - self.traffic.first_endpoint) / 2;
                let flow = &mut self.traffic.datagrams[index as usize].flow;
                flow.receive(self.network.now, datagram.sent, datagram.number, marked);
            }
            None => self.on_short_segment(packet),
        }
    }

    fn on_short_segment(&mut self, packet: &Packet) {
        let (endpoint, segment) = (packet.endpoint as usize, &packet.segment);
        if self.traffic.slots.incarnation(endpoint) != packet.incarnation {
            return; // the flow is over
        }
        self.counters.packets_delivered += u64::from(segment.payload > 0);
        self.with_short_port(endpoint, |endpoint, now, port| endpoint.on_segment(now, segment, port));
        self.after_short_call(endpoint);
    }

    /// The timer event of a slot's endpoint.
    pub(super) fn on_short_timer(&mut self, endpoint: usize) {
        if self.endpoints[endpoint].deadline() <= self.network.now {
            self.with_short_port(endpoint, |endpoint, now, port| endpoint.on_timer(now, port));
            self.after_short_call(endpoint);
        } else {
            self.arm_timer(endpoint);
        }
    }

    /// What follows a call into an endpoint of a slot.
    fn after_short_call(&mut self, endpoint: usize) {
        self.arm_timer(endpoint);
        let opener = self.traffic.slots.opener(endpoint);
        if self.ports[endpoint].sends == NOTHING {
            self.act_in_short_flow(endpoint, opener);
        } else {
            self.on_relay((self.ports[endpoint].sends - RELAYS) as usize);
        }
        self.release_if_over(opener);
    }

    /// The application at this end of a short flow writes, or finds that it has everything.
    fn act_in_short_flow(&mut self, endpoint: usize, opener: usize) {
        let slot = *self.traffic.slots.flow(opener);
        let acceptor = slot.acceptor(opener);
        if endpoint == opener && !slot.has_asked && self.endpoints[opener].state() == State::Established {
            self.traffic.slots.flow(opener).has_asked = true;
            self.write_all(opener, slot.size);
        }
        if endpoint != opener && !slot.has_answered && self.has_read_all(endpoint, slot.size) {
            self.traffic.slots.flow(opener).has_answered = true;
            self.write_all(endpoint, slot.reply);
        }
        let (reader, wanted) = if slot.reply > Bytes::ZERO { (opener, slot.reply) } else { (acceptor, slot.size) };
        if endpoint == reader && !slot.is_complete && self.endpoints[reader].received() >= wanted {
            self.traffic.slots.flow(opener).is_complete = true;
            self.complete_short_flow(&slot);
        }
    }

    fn has_read_all(&self, acceptor: usize, size: Bytes) -> bool {
        let is_open = matches!(self.endpoints[acceptor].state(), State::Established | State::CloseWait);
        is_open && self.endpoints[acceptor].received() >= size
    }

    fn write_all(&mut self, endpoint: usize, octets: Bytes) {
        self.with_short_port(endpoint, |endpoint, now, port| {
            if octets > Bytes::ZERO {
                endpoint.write(now, octets, port);
            }
            endpoint.close(now, port);
        });
        self.arm_timer(endpoint);
    }

    fn complete_short_flow(&mut self, slot: &Slot) {
        let group = &mut self.traffic.groups[slot.group as usize];
        let ideal = group.path.completion(slot.size, slot.reply);
        let time = self.network.now - slot.start;
        let completion = Completion { start: slot.start, size: slot.size + slot.reply, time, ideal };
        group.log.add(completion, &self.config.measure);
    }

    /// Gives the slots back once all is acknowledged on every connection, or one of them has failed.
    fn release_if_over(&mut self, opener: usize) {
        let slot = *self.traffic.slots.flow(opener);
        let acceptor = slot.acceptor(opener);
        let (mut is_over, mut has_failed) = (slot.is_complete, false);
        for ends in self.endpoints[opener..=acceptor].chunks_exact(2) {
            has_failed |= ends[0].is_aborted() || ends[1].is_aborted();
            is_over = is_over && is_acknowledged(&ends[0]) && (slot.reply == Bytes::ZERO || is_acknowledged(&ends[1]));
        }
        if !is_over && !has_failed {
            return;
        }
        if slot.splits > 0 {
            self.end_short_relays(&slot, has_failed);
        }
        self.count_ends(opener, acceptor, slot.group);
        let counts = &mut self.traffic.groups[slot.group as usize].counts;
        counts.concurrent -= 1;
        counts.aborted += u64::from(!slot.is_complete);
        self.traffic.slots.release(opener);
        // Timers of the flow that is over find closed endpoints.
        for endpoint in opener..=acceptor {
            self.endpoints[endpoint].abort(self.network.now, &mut Nowhere);
        }
    }

    /// Adds what the flow's own ends have counted.
    fn count_ends(&mut self, opener: usize, acceptor: usize, group: u32) {
        let counts = &mut self.traffic.groups[group as usize].counts;
        for endpoint in [opener, acceptor] {
            let counters = self.endpoints[endpoint].counters();
            counts.retransmitted_segments += counters.retransmitted_segments;
            counts.timeouts += counters.timeouts;
        }
    }

    /// Summaries of groups and datagrams.
    pub(super) fn traffic_summaries(&self) -> (Vec<GroupSummary>, Vec<DatagramSummary>) {
        let groups = self.traffic.groups.iter().zip(&self.config.traffic.arrivals).map(|(group, config)| {
            GroupSummary::new(&config.flow.name, &config.flow.controller_name, &group.counts, &group.log)
        });
        let datagrams = self.traffic.datagrams.iter().zip(&self.config.traffic.datagrams);
        (groups.collect(), datagrams.map(|(source, config)| source.flow.summary(config, self.end)).collect())
    }

    /// Adds what short flows that are not over have counted, here and at appliances.
    pub(super) fn count_what_is_under_way(&mut self) {
        let under_way: Vec<(usize, Slot)> =
            self.traffic.slots.under_way().map(|(opener, slot)| (opener, *slot)).collect();
        for (opener, slot) in under_way {
            self.count_ends(opener, slot.acceptor(opener), slot.group);
            for relay in slot.relays() {
                self.relays.count_short(relay, &self.endpoints);
            }
        }
    }

    /// One row for each short flow, and for each exchange of a connection.
    pub(super) fn completions(&self) -> Table {
        let of_streams = self.streams.iter().filter_map(|stream| {
            let exchanges = stream.exchanges.as_ref()?;
            Some((stream.name.clone(), &exchanges.0))
        });
        let groups = self.traffic.groups.iter().zip(&self.config.traffic.arrivals);
        let of_groups = groups.map(|(group, config)| (config.flow.name.clone(), &group.log));
        completion_table(&of_streams.chain(of_groups).collect::<Vec<_>>())
    }
}

/// Queues that tell flows apart take the number of an endpoint for a place in a list, so that numbers count on through flows of
/// datagrams, too. No endpoint is at work there; what stands in its place keeps the list whole.
pub(super) fn hold_numbers_of_datagrams(
    config: &SimulationConfig,
    endpoints: &mut Vec<Endpoint>,
    ports: &mut Vec<PortState>,
) {
    let controller = ControllerConfig::Fixed(FixedConfig { window: Bytes(1) });
    for _ in 0..2 * config.traffic.datagrams.len() {
        endpoints.push(Endpoint::new(&TcpConfig::default(), &controller, Reading::AtOnce));
        ports.push(PortState { route: 0, timer: SimTime::NEVER, sends: NOTHING, delivers: NOTHING });
    }
}

/// True if the peer has acknowledged all that this end wrote, and its FIN.
fn is_acknowledged(endpoint: &Endpoint) -> bool {
    matches!(endpoint.state(), State::FinWait2 | State::TimeWait | State::Closed)
}

/// Where the reset of a connection goes that is over for both ends.
struct Nowhere;

impl Output for Nowhere {
    fn send(&mut self, _segment: Segment) {}
}
