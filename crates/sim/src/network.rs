//! The network at work: packets move from link to link along their routes.

use ackclock_net::{Discarder, Link, NetworkConfig, NodeId, Packet, Router};
use ackclock_tcp::Output;
use ackclock_units::SimTime;
use ackclock_wire::Segment;

use crate::capture::DEFAULT_PORT;
use crate::event_queue::{Event, EventQueue};
use crate::outcome::CapturedPacket;

/// Marks the end of a route.
const END: u32 = EXPRESS - 1;

/// Set in the number of a hop's link on which nothing ever waits.
const EXPRESS: u32 = 1 << 31;

/// Links, routes and the events that move packets.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    pub(crate) queue: EventQueue,
    pub(crate) now: SimTime,
    /// Discarder in front of each link, if there is one.
    discarder_of: Vec<Vec<usize>>,
    discarders: Vec<Discarder>,
    /// No link has a discarder, a capture or a queue that is served packet by packet.
    is_plain: bool,
    /// Captured packets of each link that asked.
    captures: Vec<Option<Vec<CapturedPacket>>>,
    pub(crate) has_captures: bool,
    /// What captures show of each connection, where that is not its number and the default port; empty without captures.
    faces: Vec<Option<Face>>,
    /// Routes as runs of link numbers, those on which nothing ever waits with [`EXPRESS`], each closed by [`END`].
    routes: Vec<u32>,
}

/// What the packets of a connection look like from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Face {
    /// The flow that they are of.
    pub(crate) flow: u32,
    /// Of the accepting end.
    pub(crate) port: u16,
}

/// Which links put packets onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    None,
    One(u32),
    Several,
}

/// Nothing ever waits for a link that a single, no faster link feeds, and nothing looks at its packets.
fn is_express(config: &NetworkConfig, link: usize, feeder: Feeder) -> bool {
    let Feeder::One(feeder) = feeder else { return false };
    let (this, before) = (&config.links[link], &config.links[feeder as usize]);
    let is_watched = this.capture || this.discarder.is_some() || config.nodes[this.from].discarder.is_some();
    !is_watched
        && !this.is_served()
        && !before.is_served()
        && this.rate >= before.rate
        && this.framing <= before.framing
}

impl Network {
    pub(crate) fn new(config: &NetworkConfig, seed: u64) -> Self {
        let discarder_of: Vec<Vec<usize>> = config
            .links
            .iter()
            .map(|link| config.nodes[link.from].discarder.into_iter().chain(link.discarder).collect())
            .collect();
        Self {
            links: config.links.iter().map(|link| Link::new(link, seed)).collect(),
            queue: EventQueue::default(),
            now: SimTime::ZERO,
            is_plain: discarder_of.iter().all(Vec::is_empty)
                && !config.links.iter().any(|link| link.capture || link.is_served()),
            discarder_of,
            discarders: config.discarders.iter().map(|discarder| Discarder::new(discarder, seed)).collect(),
            captures: config.links.iter().map(|link| link.capture.then(Vec::new)).collect(),
            has_captures: config.links.iter().any(|link| link.capture),
            faces: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// Adds the route between two hosts and returns where it begins.
    pub(crate) fn add_route(&mut self, router: &mut Router<'_>, from: NodeId, to: NodeId) -> u32 {
        let path = router.shortest_path(from, to).expect("a checked scenario has a route for every flow");
        let start = self.routes.len() as u32;
        self.routes.extend(path.iter().map(|&link| link as u32));
        self.routes.push(END);
        start
    }

    /// All routes are known: finds the links on which nothing can ever wait.
    pub(crate) fn find_express_links(&mut self, config: &NetworkConfig) {
        let mut feeder: Vec<Feeder> = vec![Feeder::None; self.links.len()];
        for route in self.routes.split(|&link| link == END) {
            let mut before = Feeder::Several; // hosts send at any rate
            for &link in route {
                let known = &mut feeder[link as usize];
                *known = if *known == Feeder::None || *known == before { before } else { Feeder::Several };
                before = Feeder::One(link);
            }
        }
        for hop in self.routes.iter_mut().filter(|hop| **hop != END) {
            let link = *hop as usize;
            *hop |= if is_express(config, link, feeder[link]) { EXPRESS } else { 0 };
        }
    }

    /// The first packet of `link` arrives at its far end. The event is the queue's first.
    /// Returns true if it is at its endpoint; otherwise it has gone on, or was lost.
    pub(crate) fn on_arrival(&mut self, link: u32, packet: &mut Packet) -> bool {
        let next = self.links[link as usize].deliver(packet);
        match next {
            Some(time) => self.queue.replace_first(time, Event::Link(link)),
            None => self.queue.drop_first(),
        }
        let next_hop = self.routes[packet.hop as usize];
        if next_hop == END {
            return true;
        }
        packet.hop += 1;
        self.transmit(next_hop & !EXPRESS, packet);
        false
    }

    /// A packet enters the network at the first link of a route.
    #[inline]
    pub(crate) fn send(&mut self, route: u32, packet: &mut Packet) {
        let first = self.routes[route as usize] & !EXPRESS;
        self.transmit(first, packet);
    }

    fn transmit(&mut self, link: u32, packet: &mut Packet) {
        let mut index = link as usize;
        if !self.is_plain && self.is_settled(index, packet) {
            return;
        }
        let Some(mut passage) = self.links[index].admit(self.now, packet.size) else { return };
        if !self.is_plain {
            self.capture(index, passage.service, packet);
        }
        let mut link = &mut self.links[index];
        loop {
            let next = self.routes[packet.hop as usize];
            if next & EXPRESS == 0 {
                break;
            }
            link.pass_on(passage.arrival, packet.size);
            index = (next & !EXPRESS) as usize;
            packet.hop += 1;
            link = &mut self.links[index];
            passage = link.admit_ahead(passage.arrival, packet.size);
        }
        if link.carry(passage.arrival, packet) {
            self.queue.push(passage.arrival, Event::Link(index as u32));
        }
    }

    /// True if a packet needs no passage through `link`: it is discarded in front of it, or the link is served packet by packet.
    fn is_settled(&mut self, link: usize, packet: &Packet) -> bool {
        if self.is_discarded(link, packet) {
            self.links[link].on_discarded();
            return true;
        }
        if self.links[link].is_served() {
            self.offer(link, packet);
            return true;
        }
        false
    }

    /// A packet arrives at a served link.
    fn offer(&mut self, link: usize, packet: &Packet) {
        self.depart(link);
        self.links[link].offer(self.now, packet);
        if let Some(time) = self.serve(link) {
            self.queue.push(time, Event::Service(link as u32));
        }
    }

    /// The service event of `link` fires; it is the queue's first.
    pub(crate) fn on_service(&mut self, link: u32) {
        let index = link as usize;
        let mut next = None;
        if self.links[index].is_due(self.now) {
            self.depart(index);
            next = self.serve(index);
        }
        match next {
            Some(time) => self.queue.replace_first(time, Event::Service(link)),
            None => self.queue.drop_first(),
        }
    }

    /// What has left a served link travels on.
    fn depart(&mut self, link: usize) {
        let queue = &mut self.queue;
        self.links[link].depart(self.now, |arrival| queue.push(arrival, Event::Link(link as u32)));
    }

    /// Begins what service a link can. Returns when it is to be served again, if no event is pending for that.
    fn serve(&mut self, link: usize) -> Option<SimTime> {
        let service = self.links[link].serve(self.now);
        if service.begins && self.captures[link].is_some() {
            let packet = *self.links[link].in_service().expect("it has just begun");
            self.capture(link, self.now, &packet);
        }
        service.wake
    }

    fn capture(&mut self, link: usize, time: SimTime, packet: &Packet) {
        if let Some(capture) = &mut self.captures[link] {
            let connection = packet.flow();
            let face = self.faces.get(connection as usize).copied().flatten();
            let Face { flow, port } = face.unwrap_or(Face { flow: connection, port: DEFAULT_PORT });
            let (forward, Packet { segment, incarnation, .. }) = (packet.is_forward(), *packet);
            capture.push(CapturedPacket { time, flow, forward, port, incarnation, segment });
        }
    }

    /// From now on captures show `face` of a connection.
    pub(crate) fn set_face(&mut self, connection: usize, face: Face) {
        if self.has_captures {
            self.faces.resize(self.faces.len().max(connection + 1), None);
            self.faces[connection] = Some(face);
        }
    }

    fn is_discarded(&mut self, link: usize, packet: &Packet) -> bool {
        let mut discarded = false;
        for &discarder in &self.discarder_of[link] {
            discarded |= self.discarders[discarder].drops(self.now, packet);
        }
        discarded
    }

    /// What each link captured, by index.
    pub(crate) fn take_captures(&mut self) -> Vec<Option<Vec<CapturedPacket>>> {
        std::mem::take(&mut self.captures)
    }
}

/// The way out of an endpoint: its packets enter the network at the first link of its route.
pub(crate) struct Port<'a> {
    pub(crate) network: &'a mut Network,
    /// The endpoint at the other end.
    pub(crate) peer: u32,
    pub(crate) route: u32,
    /// Of the connection; 0 where its endpoints serve no other.
    pub(crate) incarnation: u32,
}

impl Output for Port<'_> {
    fn send(&mut self, segment: Segment) {
        let mut packet = Packet::new(segment, self.peer, self.route + 1);
        packet.incarnation = self.incarnation;
        self.network.send(self.route, &mut packet);
    }
}
