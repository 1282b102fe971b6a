//! Links, routes and the events that move packets, as in the simulator: the links are the same, time is what the caller says it is.
//!
//! Departures from the simulator's network: hosts' noise is not added, as real hosts have their own; every link has its events, so that
//! a link on which nothing can wait is no shortcut here.
//!
//! Events within have their exact times however late they are worked out, so that nothing needs to be worked out before it can hand out a
//! packet: [`Network::next_delivery`].

use std::io;
use std::sync::Arc;

use ackclock_net::queue::{HostTable, Treatment};
use ackclock_net::{
    ConnectionIndex, Discarder, EndpointId, Link, LinkId, LinkKind, NetworkConfig, Packet, Packets, Router, Service,
};
use ackclock_sim::{LinkRecorder, LinkSummary, Sampling, SimulationConfig, Table, link_summary};
use ackclock_units::{SimDuration, SimTime};

use super::agenda::Agenda;
use super::capture::{CaptureFile, LinkCaptures};
use super::frames::Frames;
use super::packet::write_ecn;

/// A future event of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(LinkId),
    Service(LinkId),
    /// The change of this number.
    Change(usize),
    Sample,
    MeasureFrom,
    MeasureUntil,
}

/// A packet that has come to the end of its route.
#[derive(Debug)]
pub struct Delivered<'a> {
    /// The end that it is for.
    pub to: EndpointId,
    /// Time at which it is due there.
    pub due: SimTime,
    /// The packet as links have it.
    pub packet: &'a Packet,
    /// Its bytes, marks written into them.
    pub octets: &'a [u8],
}

/// The network of a scenario.
#[derive(Debug)]
pub struct Network {
    links: Vec<Link>,
    config: NetworkConfig,
    packets: Packets,
    frames: Frames,
    agenda: Agenda<Event>,
    now: SimTime,
    /// The links to each end, by its number.
    routes: Vec<Arc<[LinkId]>>,
    /// Least time from each link's far end to a host; [`SimDuration`]'s largest where nothing passes.
    beyond: Vec<SimDuration>,
    discarder_of: Vec<Vec<usize>>,
    discarders: Vec<Discarder>,
    recorder: LinkRecorder,
    captures: LinkCaptures,
    interval: SimDuration,
    summaries: Option<Vec<LinkSummary>>,
    entered: u64,
}

impl Network {
    /// The network of a checked scenario without appliances, at time zero, with the routes of its flows.
    pub fn new(config: &SimulationConfig) -> Self {
        let mut new = Self::without_routes(config);
        for route in routes(config) {
            new.add_route(route);
        }
        let end_of = |route: &Arc<[LinkId]>| route.last().map_or(0, |link| new.config.link(*link).to.index() as u32);
        let hosts = HostTable::Ends(new.routes.iter().map(end_of).collect());
        new.links.iter_mut().filter_map(Link::served).for_each(|mut link| link.set_hosts(&hosts));
        new
    }

    /// A network without routes: see [`Network::connect`].
    pub fn without_routes(config: &SimulationConfig) -> Self {
        let network = &config.network;
        let discarders = |link: &ackclock_net::LinkConfig| {
            network.node(link.from).discarder.into_iter().chain(link.discarder).collect()
        };
        let (Sampling::Interval(interval) | Sampling::Events(interval)) = config.trace.sampling;
        let mut new = Self {
            links: Link::all(&network.links, config.seed),
            config: network.clone(),
            packets: Packets::default(),
            frames: Frames::default(),
            agenda: Agenda::new(),
            now: SimTime::ZERO,
            routes: Vec::new(),
            beyond: vec![SimDuration(u64::MAX); network.links.len()],
            discarder_of: network.links.iter().map(discarders).collect(),
            discarders: network.discarders.iter().map(|one| Discarder::new(one, config.seed)).collect(),
            recorder: LinkRecorder::new(&config.trace),
            captures: LinkCaptures::new(&network.links),
            interval,
            summaries: None,
            entered: 0,
        };
        new.links.iter_mut().filter_map(Link::served).for_each(|mut link| link.watch());
        for (number, change) in network.changes.iter().enumerate() {
            new.schedule(change.at, Event::Change(number));
        }
        new.schedule_measurement(config);
        new
    }

    /// Adds a connection, with the links to its opener and to its acceptor.
    pub fn connect(&mut self, to_opener: Arc<[LinkId]>, to_acceptor: Arc<[LinkId]>) -> ConnectionIndex {
        let connection = ConnectionIndex::new(self.routes.len() / 2);
        self.add_route(to_opener);
        self.add_route(to_acceptor);
        connection
    }

    fn add_route(&mut self, route: Arc<[LinkId]>) {
        let mut rest = SimDuration::ZERO;
        for link in route.iter().rev() {
            let beyond = &mut self.beyond[link.index()];
            *beyond = rest.min(*beyond);
            rest += self.least_delay(*link);
        }
        self.routes.push(route);
    }

    /// Least delay of a link: zero with a channel, whose delay may be shorter than the fixed one.
    fn least_delay(&self, link: LinkId) -> SimDuration {
        let config = self.config.link(link);
        if config.channel.is_some() { SimDuration::ZERO } else { config.delay }
    }

    fn schedule_measurement(&mut self, config: &SimulationConfig) {
        if !self.recorder.traced().is_empty() {
            self.schedule(SimTime::ZERO, Event::Sample);
        }
        if let Some(from) = config.measure.from {
            self.schedule(from, Event::MeasureFrom);
        }
        if let Some(until) = config.measure.until {
            self.schedule(until, Event::MeasureUntil);
        }
    }

    fn schedule(&mut self, time: SimTime, event: Event) {
        self.schedule_known(self.now, time, event);
    }

    /// Schedules an event that is known since `since`.
    fn schedule_known(&mut self, since: SimTime, time: SimTime, event: Event) {
        let later = |wait: SimDuration| SimTime(time.0.saturating_add(wait.0));
        let outcome = match event {
            Event::Arrival(link) => later(self.beyond[link.index()]),
            Event::Service(link) => {
                later(SimDuration(self.least_delay(link).0.saturating_add(self.beyond[link.index()].0)))
            }
            Event::Sample => SimTime::NEVER,
            Event::Change(_) | Event::MeasureFrom | Event::MeasureUntil => time,
        };
        self.agenda.schedule(since, time, event, outcome);
    }

    /// Before this no packet is handed out, if none enters; [`SimTime::NEVER`] if none is at all.
    pub fn next_delivery(&mut self) -> SimTime {
        self.agenda.next_outcome()
    }

    /// Works out all that happens up to `now`, each at its own time, and hands out what arrives.
    pub fn run_until(&mut self, now: SimTime, deliver: &mut impl FnMut(Delivered<'_>)) {
        while let Some((time, event)) = self.agenda.pop(now) {
            self.move_to(time);
            match event {
                Event::Arrival(link) => self.arrive(link, deliver),
                Event::Service(link) => self.service(link),
                Event::Change(number) => self.change(number),
                Event::Sample => self.sample(),
                Event::MeasureFrom => self.links.iter_mut().for_each(|link| link.begin_measurement(time)),
                Event::MeasureUntil => self.end_measurement(),
            }
        }
        self.move_to(now);
    }

    fn move_to(&mut self, time: SimTime) {
        if time > self.now {
            self.now = time;
            self.frames.settle();
        }
    }

    /// A host has sent a packet, at the time up to which the network has been run; `octets` are its bytes.
    pub fn enter(&mut self, packet: Packet, octets: &[u8]) {
        let Some(&first) = self.routes.get(packet.to.index()).and_then(|route| route.first()) else { return };
        self.entered += 1;
        let packet = self.frames.keep(packet, octets);
        self.transmit(first, packet);
    }

    fn transmit(&mut self, at: LinkId, packet: Packet) {
        let (now, index) = (self.now, at.index());
        let mut is_discarded = false;
        for &discarder in &self.discarder_of[index] {
            is_discarded |= self.discarders[discarder].drops(now, &packet);
        }
        if is_discarded {
            self.links[index].on_discarded();
            return self.frames.leave(&packet);
        }
        let admitted = match self.links[index].kind() {
            LinkKind::Clocked(mut link) => link.admit(now, packet.size),
            LinkKind::Planned(mut link) => link.admit(now, packet.size),
            LinkKind::Served(_) => return self.offer(at, &packet),
        };
        let Some(passage) = admitted else { return self.frames.leave(&packet) };
        if self.captures.are_wanted(at) && passage.service < SimTime::NEVER {
            self.captures.record(at, passage.service, marked(&mut self.frames, &packet));
        }
        if self.links[index].carry(passage.arrival, self.packets.put(&packet)) {
            self.schedule(passage.arrival, Event::Arrival(at));
        }
    }

    /// A packet comes to a link that is served packet by packet.
    fn offer(&mut self, at: LinkId, packet: &Packet) {
        self.depart(at);
        let Some(mut link) = self.links[at.index()].served() else { return };
        if !link.offer(self.now, packet) {
            self.frames.leave(packet);
        }
        self.serve(at);
    }

    fn service(&mut self, at: LinkId) {
        let now = self.now;
        if self.links[at.index()].served().is_some_and(|mut link| link.take_wake(now)) {
            self.depart(at);
            self.serve(at);
        }
    }

    /// A link becomes another, packets in it and before it as they are.
    fn change(&mut self, number: usize) {
        let at = self.config.changes[number].link;
        self.depart(at);
        if let Some(mut link) = self.links[at.index()].served() {
            link.change(self.now, &self.config.changes[number]);
        }
        self.serve(at);
    }

    /// Passes on a packet that leaves a served link.
    fn depart(&mut self, at: LinkId) {
        let Self { links, packets, agenda, beyond, frames, now, .. } = self;
        let Some(mut link) = links[at.index()].served() else { return };
        if link.settle(*now) {
            return;
        }
        let beyond = beyond[at.index()].0;
        let arrives = |time: SimTime| {
            agenda.schedule(*now, time, Event::Arrival(at), SimTime(time.0.saturating_add(beyond)));
        };
        let lost = link.depart(*now, packets, |time| time, arrives);
        if let Some(lost) = lost {
            frames.leave(&lost);
        }
    }

    /// Begins what service a link can, and lets go of what its queue has dropped.
    fn serve(&mut self, at: LinkId) {
        let Some(mut link) = self.links[at.index()].served() else { return };
        let Service { begins, wake } = link.serve(self.now);
        if let Some(packet) = link.in_service().filter(|_| begins && self.captures.are_wanted(at)) {
            self.captures.record(at, self.now, marked(&mut self.frames, packet));
        }
        for (packet, treatment) in link.treated() {
            if treatment == Treatment::Dropped {
                self.frames.leave(&packet);
            }
        }
        let ahead = if begins { link.send_ahead(&mut self.packets) } else { None };
        if let Some((arrival, packet)) = ahead
            && self.links[at.index()].carry(arrival, packet)
        {
            self.schedule(arrival, Event::Arrival(at));
        }
        if let Some((since, time)) = wake {
            self.schedule_known(since, time, Event::Service(at));
        }
    }

    /// The first packet of a link comes out of it.
    fn arrive(&mut self, at: LinkId, deliver: &mut impl FnMut(Delivered<'_>)) {
        let delivery = self.links[at.index()].deliver();
        if let Some(time) = delivery.next {
            self.schedule(time, Event::Arrival(at));
        }
        let packet = *self.packets.get(delivery.packet.packet);
        self.packets.remove(delivery.packet.packet);
        let packet = self.frames.arrived(packet);
        if let Some(next) = self.next_link(&packet, at) {
            return self.transmit(next, packet);
        }
        let octets = marked(&mut self.frames, &packet);
        deliver(Delivered { to: packet.to, due: self.now, packet: &packet, octets });
        self.frames.leave(&packet);
    }

    /// No route has a link twice.
    fn next_link(&self, packet: &Packet, after: LinkId) -> Option<LinkId> {
        let route = &self.routes[packet.to.index()];
        let place = route.iter().position(|link| *link == after)?;
        route.get(place + 1).copied()
    }

    fn sample(&mut self) {
        for position in 0..self.recorder.traced().len() {
            let link = self.recorder.traced()[position];
            self.recorder.record(self.now, position, &mut self.links[link.index()]);
        }
        self.schedule(self.now + self.interval, Event::Sample);
    }

    fn end_measurement(&mut self) {
        let now = self.now;
        if self.summaries.is_none() {
            let links = self.config.links.iter().zip(&mut self.links);
            self.summaries =
                Some(links.map(|(config, link)| link_summary(&config.name, &link.end_measurement(now))).collect());
        }
    }

    /// Packets that hosts have sent into it.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Number of packets in the network.
    pub fn under_way(&self) -> usize {
        self.frames.under_way()
    }

    /// The packets that links recorded until now, as files; once.
    pub fn captures(&mut self) -> io::Result<Vec<CaptureFile>> {
        std::mem::take(&mut self.captures).finish(self.now)
    }

    /// Summaries of the links, and the recorded series.
    pub fn finish(mut self) -> (Vec<LinkSummary>, Table) {
        self.end_measurement();
        let summaries = self.summaries.unwrap_or_default();
        (summaries, self.recorder.into_table(&self.config.links))
    }
}

/// The bytes of a packet, with the mark that it has by now.
fn marked<'a>(frames: &'a mut Frames, packet: &Packet) -> &'a [u8] {
    let octets = frames.bytes(packet);
    write_ecn(octets, packet.ecn());
    octets
}

/// The links to each end of each connection: flows first, then datagrams, as the simulator numbers them.
fn routes(config: &SimulationConfig) -> Vec<Arc<[LinkId]>> {
    let mut finder = Router::new(&config.network);
    let flows = config.flows.iter().map(|flow| (flow.from, flow.to));
    let datagrams = config.traffic.datagrams.iter().map(|flow| (flow.from, flow.to));
    let mut routes = Vec::new();
    for (index, (from, to)) in flows.chain(datagrams).enumerate() {
        let connection = ConnectionIndex::new(index);
        debug_assert_eq!(EndpointId::opener(connection).index(), routes.len());
        let mut route =
            |from, to| finder.shortest_path(from, to).expect("a checked scenario has a route for every flow");
        let (forward, backward) = (route(from, to), route(to, from));
        routes.extend([backward.into(), forward.into()]); // by the end that they lead to: the opener's number comes first
    }
    routes
}

#[cfg(test)]
mod tests;
