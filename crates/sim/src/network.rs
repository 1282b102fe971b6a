//! The network in operation: packets move from link to link along their routes.

mod departures;
mod hop;
mod host_noise;
mod part;
mod served;
mod telemetry;
mod uplink;

use ackclock_cc::HopRecord;
use ackclock_events::DropCause;
use ackclock_net::queue::HostTable;
use ackclock_net::{
    Delivery, Discarder, EndpointId, Generation, HopIndex, Link, LinkId, LinkKind, NetworkConfig, NodeId, Packet,
    PacketId, Packets, Passage, Payload, Router, UnderWay,
};
use ackclock_tcp::TcpConfig;
use ackclock_units::{SimDuration, SimTime};
use ackclock_wire::Segment;
use ackclock_wire::quic::AckRange;

use crate::captures::{Captures, ViewId};
use crate::event_queue::{Event, EventQueue};
use crate::ids::RouteId;
use crate::partition::Borders;
use crate::watch::{At, EventSelection, Watch};

pub(crate) use departures::Departed;
use departures::Departures;
use hop::{Hop, Next};
use host_noise::HostNoise;
use telemetry::Telemetry;
pub(crate) use uplink::Uplink;

/// Links, routes and the events that move packets.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    /// Packets on any link, except for those in the queue of a served one.
    packets: Packets,
    pub(crate) queue: EventQueue,
    /// Discarder in front of each link, if there is one.
    discarder_of: Vec<Vec<usize>>,
    discarders: Vec<Discarder>,
    /// True if no link has a discarder or a capture, and no observer needs packets.
    is_plain: bool,
    /// True if arrivals must also be reported to borders or observers.
    is_arrival_told: bool,
    /// True if packets may come out of links later than they arrive there, or in another part: the exceptions, looked for at once.
    has_noise_or_borders: bool,
    /// Borders of this part of a network.
    borders: Option<Box<Borders>>,
    pub(crate) captures: Captures,
    /// Events of an observed run.
    pub(crate) watch: Option<Box<Watch>>,
    /// True if the fate of each packet in a queue must be reported.
    tells_of_packets: bool,
    /// Telemetry that links write into packets.
    telemetry: Option<Box<Telemetry>>,
    pub(crate) departures: Departures,
    /// Packets that endpoints have sent, and that have arrived at endpoints; counted in builds with assertions.
    sent: u64,
    arrived: u64,
    /// All routes, one behind the other, each closed by [`Hop::END`].
    hops: Vec<Hop>,
    host_noise: HostNoise,
    seed: u64,
}

/// Node of an end of a connection, and the properties of its host that the network needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    noise: SimDuration,
    /// True if it counts the data that waits in the queue of its own link.
    counts_waiting: bool,
}

impl Place {
    /// Place of a TCP endpoint.
    pub(crate) fn new(node: NodeId, tcp: &TcpConfig) -> Self {
        Self { node, noise: tcp.host_noise, counts_waiting: tcp.small_queues.is_some() }
    }

    /// Place of an endpoint of another transport, without noise.
    pub(crate) fn plain(node: NodeId) -> Self {
        Self { node, noise: SimDuration::ZERO, counts_waiting: false }
    }
}

/// Links that put packets onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    None,
    One(LinkId),
    Several,
}

/// True if packets may enter the link ahead of time, where a single link feeds it: it is but a clock, and no observer needs them as
/// they come.
fn is_express(config: &NetworkConfig, link: LinkId) -> bool {
    let this = config.link(link);
    let is_watched = this.capture || this.discarder.is_some() || config.node(this.from).discarder.is_some();
    !is_watched && !this.is_served()
}

impl Network {
    pub(crate) fn new(config: &NetworkConfig, seed: u64) -> Self {
        let discarder_of: Vec<Vec<usize>> = config
            .links
            .iter()
            .map(|link| config.node(link.from).discarder.into_iter().chain(link.discarder).collect())
            .collect();
        let mut network = Self {
            links: Link::all(&config.links, seed),
            packets: Packets::default(),
            queue: EventQueue::default(),
            is_plain: discarder_of.iter().all(Vec::is_empty) && !config.links.iter().any(|link| link.capture),
            is_arrival_told: false,
            has_noise_or_borders: false,
            borders: None,
            discarder_of,
            discarders: config.discarders.iter().map(|discarder| Discarder::new(discarder, seed)).collect(),
            captures: Captures::new(config),
            watch: None,
            tells_of_packets: false,
            telemetry: None,
            departures: Departures::default(),
            sent: 0,
            arrived: 0,
            hops: Vec::new(),
            host_noise: HostNoise::new(seed),
            seed,
        };
        if config.links.iter().any(|link| link.telemetry) {
            network.carry_more(config);
        }
        network
    }

    /// Prepares for packets with more content than they have space for: telemetry of links, or the ACK ranges of QUIC.
    pub(crate) fn carry_more(&mut self, config: &NetworkConfig) {
        self.telemetry.get_or_insert_with(|| Box::new(Telemetry::new(config)));
        self.is_plain = false;
        // What is dropped in a queue gives its place back.
        config.numbered_links().for_each(|(link, _)| self.watch_link(link));
    }

    /// The time that has been simulated.
    #[inline]
    pub(crate) fn now(&self) -> SimTime {
        self.queue.now()
    }

    /// Adds the route between two ends, and returns its beginning.
    pub(crate) fn add_route(&mut self, router: &mut Router<'_>, from: Place, to: Place) -> RouteId {
        let path = router.shortest_path(from.node, to.node).expect("a checked scenario has a route for every flow");
        let start = RouteId::new(self.hops.len());
        let [first, last] =
            [path.first(), path.last()].map(|link| *link.expect("a route between two hosts has a link"));
        self.serve_uplink(first, router);
        self.host_noise.add(first, from.noise);
        self.host_noise.add(last, to.noise);
        self.has_noise_or_borders |= self.host_noise.is_on(first) || self.host_noise.is_on(last);
        if from.counts_waiting {
            self.departures.want(first);
            self.watch_link(first);
            if let Some(mut link) = self.links[first.index()].served() {
                link.tell_ends();
            }
        }
        self.hops.extend(path.into_iter().map(Hop::onto).chain([Hop::END]));
        start
    }

    /// Hosts ask when their data leaves, and whether their device has room: a link that follows a trace tells them as packets leave.
    fn serve_uplink(&mut self, link: LinkId, router: &Router<'_>) {
        if self.links[link.index()].is_planned() {
            self.links[link.index()] = Link::packet_by_packet(router.link(link), self.seed);
            if self.telemetry.is_some() {
                self.watch_link(link);
            }
        }
    }

    /// Closes the routes: queues learn the hosts of all routes, and links that packets enter ahead of time are found.
    pub(crate) fn close_routes(&mut self, config: &NetworkConfig) {
        let ends = |route: &[Hop]| {
            let link = |hop: &Hop| if let Next::Link(link) = hop.next() { Some(config.link(link)) } else { None };
            let from = route.first().and_then(link).map_or(0, |link| link.from.index());
            let to = route.iter().rev().find_map(link).map_or(0, |link| link.to.index());
            [from as u32, to as u32]
        };
        let routes = self.hops.split_inclusive(|hop| *hop == Hop::END);
        let hosts = routes.flat_map(|route| std::iter::repeat_n(ends(route), route.len())).collect();
        let hosts = HostTable::Routes(hosts);
        self.links.iter_mut().filter_map(Link::served).for_each(|mut link| link.set_hosts(&hosts));
        self.find_express_links(config);
    }

    /// Finds the links that packets enter ahead of time.
    fn find_express_links(&mut self, config: &NetworkConfig) {
        let mut feeder: Vec<Feeder> = vec![Feeder::None; self.links.len()];
        let mut before = Feeder::Several; // hosts send at any rate, and what they have sent may come in bunches
        for hop in &self.hops {
            let Next::Link(link) = hop.next() else {
                before = Feeder::Several;
                continue;
            };
            let known = &mut feeder[link.index()];
            *known = if *known == Feeder::None || *known == before { before } else { Feeder::Several };
            before = Feeder::One(link);
        }
        for hop in &mut self.hops {
            if let Next::Link(link) = hop.next()
                && let Feeder::One(feeder) = feeder[link.index()]
                && self.links[feeder.index()].knows_arrivals()
                && is_express(config, link)
            {
                *hop = hop.express();
                self.links[link.index()].enter_ahead(self.host_noise.is_on(link));
            }
        }
    }

    /// Takes the first packet of `link` out at its far end. The event is the queue's first. Returns true if it is at
    /// its endpoint, and is then `arrived`; otherwise it has gone on, or was lost. `ask_for` receives the endpoint
    /// before the packet is read, to overlap the two memory accesses.
    pub(crate) fn on_arrival(&mut self, link: LinkId, arrived: &mut Packet, ask_for: impl FnOnce(EndpointId)) -> bool {
        if self.is_arrival_told {
            return self.on_told_arrival(link, arrived);
        }
        let delivery = self.links[link.index()].deliver();
        match delivery.next {
            Some(time) => self.queue.replace_first(time, Event::Link(link)),
            None => self.queue.drop_first(),
        }
        self.move_on(link, &delivery, arrived, ask_for)
    }

    /// Handles an arrival in a part of a network, or with observers.
    #[inline(never)]
    fn on_told_arrival(&mut self, link: LinkId, arrived: &mut Packet) -> bool {
        let now = self.now();
        let delivery = self.links[link.index()].deliver();
        if let Some(watch) = &mut self.watch {
            let packet = self.packets.get(delivery.packet.packet);
            watch.on_delivery(now, &At { link, packet, captures: &self.captures }, now);
        }
        match delivery.next {
            Some(time) if self.borders.is_some() => self.arrive_next(link, time),
            Some(time) => self.queue.replace_first(time, Event::Link(link)),
            None => self.queue.drop_first(),
        }
        self.move_on(link, &delivery, arrived, |_| {})
    }

    /// Moves a packet on that came out at the far end of `link`: it is at its endpoint, or goes on.
    #[allow(clippy::inline_always, reason = "a call takes as long as half of what it does")]
    #[inline(always)]
    fn move_on(
        &mut self,
        from: LinkId,
        &Delivery { packet, .. }: &Delivery,
        arrived: &mut Packet,
        ask_for: impl FnOnce(EndpointId),
    ) -> bool {
        self.check_link(from);
        let UnderWay { packet: id, hop, to, .. } = packet;
        let (Next::Link(link) | Next::Express(link)) = self.hops[hop.index()].next() else {
            ask_for(to);
            if let Some(next) = self.links[from.index()].first() {
                self.packets.fetch(next.packet); // with many under way it has been left for long
            }
            *arrived = *self.packets.get(id);
            self.packets.remove(id);
            if !self.is_plain {
                self.captures.record_arrival(self.now(), arrived);
                if arrived.telemetry.is_some() {
                    self.take_telemetry(arrived);
                }
            }
            if cfg!(debug_assertions) {
                self.arrived += 1;
            }
            return true;
        };
        self.transmit(link, UnderWay { hop: hop.next(), ..packet });
        false
    }

    /// Sends a packet into the first link of a route.
    pub(crate) fn send(&mut self, route: RouteId, packet: &Packet) {
        let hop = HopIndex::new(route.index()).next();
        let packet = self.packets.put(&Packet { hop, ..*packet });
        self.enter(route, packet);
    }

    /// Sends a segment, which is written once in its final place: most packets are segments.
    pub(crate) fn send_segment(&mut self, route: RouteId, segment: &Segment, to: EndpointId, generation: Generation) {
        let (size, hop) = (segment.ip_len(), HopIndex::new(route.index()).next());
        let payload = Payload::Tcp(*segment);
        let packet = self.packets.put(&Packet { payload, to, generation, size, hop, ..Packet::default() });
        self.enter(route, packet);
    }

    #[inline]
    fn enter(&mut self, route: RouteId, under_way: UnderWay) {
        let link = self.uplink(route);
        if cfg!(debug_assertions) {
            self.sent += 1;
        }
        if !self.is_plain {
            let packet = self.packets.get_mut(under_way.packet);
            packet.identification = self.captures.identify(packet.to);
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.on_send(packet);
            }
        }
        self.transmit(link, under_way);
    }

    /// Sends a packet like [`Self::send`], with these ACK ranges.
    fn send_ranges(&mut self, route: RouteId, packet: &Packet, ranges: &[AckRange]) {
        if ranges.is_empty() {
            return self.send(route, packet);
        }
        let telemetry = self.telemetry.as_mut().expect("a network with QUIC carries ACK ranges").put_ranges(ranges);
        self.send(route, &Packet { telemetry, ..*packet });
    }

    /// The ACK ranges of the packet that has just arrived, whose buffer is to be given back.
    pub(crate) fn take_ranges(&mut self) -> Vec<AckRange> {
        self.telemetry.as_mut().map(|telemetry| std::mem::take(telemetry.ranges())).unwrap_or_default()
    }

    /// Takes back the buffer of ACK ranges.
    pub(crate) fn give_back(&mut self, mut ranges: Vec<AckRange>) {
        ranges.clear();
        if let Some(telemetry) = &mut self.telemetry {
            *telemetry.ranges() = ranges;
        }
    }

    /// Time at which all packets sent onto the first link of a route have left; [`SimTime::NEVER`] if it is reported
    /// later.
    #[inline]
    fn leaves_at(&self, route: RouteId) -> SimTime {
        self.links[self.uplink(route).index()].free_at()
    }

    /// Puts `end`, from which this route leads away, into the capture `view` from now on, or into none.
    pub(crate) fn capture_end(&mut self, end: EndpointId, view: Option<ViewId>, route: RouteId) {
        self.captures.set_view(end, view, self.uplink(route));
    }

    /// The first link of a route.
    fn uplink(&self, route: RouteId) -> LinkId {
        match self.hops[route.index()].next() {
            Next::Link(link) | Next::Express(link) => link,
            Next::Endpoint => unreachable!("a route between two hosts has a link"),
        }
    }

    /// Prepares for captures of flows at the hosts of their senders.
    pub(crate) fn expect_captures(&mut self) {
        self.is_plain = false;
        self.captures.expect_views(self.links.len());
    }

    #[inline]
    fn transmit(&mut self, at: LinkId, packet: UnderWay) {
        if self.is_plain { self.pass::<false>(at, packet) } else { self.pass::<true>(at, packet) }
    }

    /// Passes a packet through links. `LOOKS`: there is a discarder, a capture, or an observer.
    fn pass<const LOOKS: bool>(&mut self, at: LinkId, packet: UnderWay) {
        if LOOKS && self.is_discarded(at, packet.packet) {
            self.note_refused(at, packet.packet, packet.hop);
            self.drop_on_arrival(at, packet.packet, DropCause::Discarder);
            return self.links[at.index()].on_discarded();
        }
        let now = self.now();
        let mut link = match self.links[at.index()].kind() {
            LinkKind::Clocked(link) => link,
            LinkKind::Planned(_) => return self.pass_planned::<LOOKS>(at, packet),
            LinkKind::Served(_) => return self.offer(at, packet),
        };
        let Some(passage) = link.admit(now, packet.size) else {
            self.note_refused(at, packet.packet, packet.hop);
            return self.drop_on_arrival(at, packet.packet, DropCause::Queue);
        };
        if LOOKS {
            self.observe(at, packet.packet, passage);
        }
        self.put_on_way::<LOOKS>(at, passage.arrival, packet);
    }

    /// Passes a packet through a link of planned rate.
    #[inline(never)]
    fn pass_planned<const LOOKS: bool>(&mut self, at: LinkId, packet: UnderWay) {
        let now = self.now();
        let LinkKind::Planned(mut link) = self.links[at.index()].kind() else { return };
        let Some(passage) = link.admit(now, packet.size) else {
            self.note_refused(at, packet.packet, packet.hop);
            return self.drop_on_arrival(at, packet.packet, DropCause::Queue);
        };
        if LOOKS && passage.service < SimTime::NEVER {
            self.observe(at, packet.packet, passage);
        }
        if passage.arrival == SimTime::NEVER {
            self.links[at.index()].carry(passage.arrival, packet);
            return self.check_link(at);
        }
        self.put_on_way::<LOOKS>(at, passage.arrival, packet);
    }

    /// Puts an admitted packet on the way that arrives at the far end of `at` at `arrival`, through the links behind that it enters
    /// ahead of time.
    #[allow(
        clippy::inline_always,
        reason = "every packet comes here, and as a call it takes a hundredth more of its time"
    )]
    #[inline(always)]
    fn put_on_way<const LOOKS: bool>(&mut self, mut at: LinkId, mut arrival: SimTime, mut packet: UnderWay) {
        let now = self.now();
        let mut link = &mut self.links[at.index()];
        loop {
            if self.has_noise_or_borders
                && let Some(noticed) = self.host_noise.at(at, arrival)
            {
                link.note(now, arrival, packet.size);
                arrival = noticed;
            }
            let Next::Express(next) = self.hops[packet.hop.index()].next() else { break };
            link.pass_on(now, arrival, packet.size);
            let before = (at, arrival);
            at = next;
            packet.hop = packet.hop.next();
            link = &mut self.links[at.index()];
            let passage =
                link.clocked().expect("an express link is but a clock").admit_ahead(now, arrival, packet.size);
            if LOOKS && let Some(watch) = &mut self.watch {
                let on = |link| At { link, packet: self.packets.get(packet.packet), captures: &self.captures };
                watch.on_delivery(now, &on(before.0), before.1);
                if let Some(passage) = passage {
                    watch.on_passage(now, &on(at), before.1, passage);
                }
            }
            let Some(passage) = passage else { return self.drop_at(before.1, at, packet.packet, DropCause::Queue) };
            arrival = passage.arrival;
        }
        if self.has_noise_or_borders && self.borders.as_ref().is_some_and(|borders| borders.lie_behind(at)) {
            link.pass_on(now, arrival, packet.size);
            return self.leave(at, arrival, packet);
        }
        if link.carry(arrival, packet) {
            self.queue.push(arrival, Event::Link(at));
        }
        self.check_link(at);
    }

    /// Tells observers of a packet's passage through the link to which it has just come.
    fn observe(&mut self, at: LinkId, packet: PacketId, passage: Passage) {
        let (now, packet) = (self.now(), self.packets.get(packet));
        self.captures.record(at, passage.service, packet);
        if let Some(watch) = &mut self.watch {
            watch.on_passage(now, &At { link: at, packet, captures: &self.captures }, now, passage);
        }
    }

    /// Drops a packet that came to a link.
    fn drop_on_arrival(&mut self, link: LinkId, id: PacketId, cause: DropCause) {
        self.drop_at(self.now(), link, id, cause);
    }

    /// Drops a packet that comes to a link at `time`, or will come to it then.
    #[cold]
    fn drop_at(&mut self, time: SimTime, link: LinkId, id: PacketId, cause: DropCause) {
        let now = self.now();
        if let Some(watch) = &mut self.watch {
            watch.on_dropped(now, time, &At { link, packet: self.packets.get(id), captures: &self.captures }, cause);
        }
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.free(self.packets.get(id).telemetry);
        }
        self.packets.remove(id);
    }

    /// Begins to observe the run; drops and marks are reported without inspecting each packet.
    pub(crate) fn begin_watch(&mut self, watch: Watch, selection: &EventSelection) {
        self.watch = Some(Box::new(watch));
        self.is_plain &= !selection.has_passages();
        self.is_arrival_told |= selection.has_passages();
        self.tells_of_packets |= selection.has_packets();
    }

    /// Takes the telemetry of a packet: for its receiver to send back, or sent back by its receiver.
    #[cold]
    fn take_telemetry(&mut self, arrived: &Packet) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.on_arrival(arrived);
        }
    }

    /// Telemetry that the packet which has just arrived sends back.
    pub(crate) fn echoed(&self) -> &[HopRecord] {
        self.telemetry.as_ref().map_or(&[], |telemetry| telemetry.echoed())
    }

    /// Checks the invariants of a link between any two events, in builds with assertions.
    #[inline]
    fn check_link(&self, link: LinkId) {
        if cfg!(debug_assertions) {
            self.links[link.index()].check_invariants();
        }
    }

    /// Checks the whole network at the end of a run. Each sent packet has arrived, was dropped or lost, or is still on
    /// a link; only copies are added.
    pub(crate) fn check_at_end(&mut self) {
        if cfg!(debug_assertions) {
            let on_the_way: usize = self.links.iter().map(Link::in_transit).sum();
            assert_eq!(self.packets.len(), on_the_way, "packets that have a place, and packets on links");
            let mut accounted = self.arrived as i64;
            let now = self.now();
            for link in &mut self.links {
                link.advance(now);
                link.check_at_end(now);
                accounted += link.total_drops() as i64 + link.net_losses() + link.own_packets() as i64;
            }
            assert_eq!(self.sent as i64, accounted, "packets sent, and packets accounted for");
            if let Some(telemetry) = &self.telemetry {
                let under_way: usize = self.links.iter().map(Link::own_packets).sum();
                assert!(telemetry.in_use() <= under_way, "a packet that is gone has what links wrote into it");
            }
        }
    }

    fn is_discarded(&mut self, link: LinkId, packet: PacketId) -> bool {
        let (now, packet) = (self.now(), self.packets.get(packet));
        let mut discarded = false;
        for &discarder in &self.discarder_of[link.index()] {
            discarded |= self.discarders[discarder].drops(now, packet);
        }
        discarded
    }
}
