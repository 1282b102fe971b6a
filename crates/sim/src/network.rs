//! The network at work: packets move from link to link along their routes.

mod hop;
mod host_noise;
mod telemetry;

use ackclock_cc::HopRecord;
use ackclock_events::DropCause;
use ackclock_net::queue::Treatment;
use ackclock_net::{
    Delivery, Discarder, EndpointId, Generation, HopIndex, Link, LinkChange, LinkId, LinkKind, NetworkConfig, NodeId,
    Packet, PacketId, Packets, Router,
};
use ackclock_quic::QuicOutput;
use ackclock_tcp::Output;
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::Segment;
use ackclock_wire::quic::{AckRange, QuicPacket};

use crate::captures::{Captures, ViewId};
use crate::event_queue::{Event, EventQueue};
use crate::ids::RouteId;
use crate::partition::{Borders, Crossing};
use crate::watch::{At, Watch};

use hop::{Hop, Next};
use host_noise::HostNoise;
use telemetry::Telemetry;

/// A packet under way that goes on.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    id: PacketId,
    /// Octets of the IP packet.
    size: u32,
    /// The next hop.
    hop: HopIndex,
}

/// Links, routes and the events that move packets.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    /// On any link but in the queue of a served one.
    packets: Packets,
    pub(crate) queue: EventQueue,
    /// Discarder in front of each link, if there is one.
    discarder_of: Vec<Vec<usize>>,
    discarders: Vec<Discarder>,
    /// No link has a discarder or a capture, and nobody looks at packets.
    is_plain: bool,
    /// This is a part of a network, which has borders.
    is_part: bool,
    /// That, or somebody watches: more than the queue of events is told when a packet arrives.
    is_arrival_told: bool,
    borders: Option<Box<Borders>>,
    pub(crate) captures: Captures,
    /// Of a run that is watched.
    pub(crate) watch: Option<Box<Watch>>,
    /// Of a network in which links write into packets.
    telemetry: Option<Box<Telemetry>>,
    /// Packets that endpoints have sent, and that have come to endpoints; counted where assertions are checked.
    sent: u64,
    arrived: u64,
    /// All routes, one behind the other, each closed by [`Hop::END`].
    hops: Vec<Hop>,
    host_noise: HostNoise,
}

/// Which links put packets onto a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    None,
    One(LinkId),
    Several,
}

/// Nothing ever waits for a link that a single, no faster link feeds, and nothing looks at its packets.
fn is_express(config: &NetworkConfig, link: LinkId, feeder: Feeder) -> bool {
    let Feeder::One(feeder) = feeder else { return false };
    let (this, before) = (config.link(link), config.link(feeder));
    let is_watched = this.capture || this.discarder.is_some() || config.node(this.from).discarder.is_some();
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
            .map(|link| config.node(link.from).discarder.into_iter().chain(link.discarder).collect())
            .collect();
        let mut network = Self {
            links: Link::all(&config.links, seed),
            packets: Packets::default(),
            queue: EventQueue::default(),
            is_plain: discarder_of.iter().all(Vec::is_empty) && !config.links.iter().any(|link| link.capture),
            is_part: false,
            is_arrival_told: false,
            borders: None,
            discarder_of,
            discarders: config.discarders.iter().map(|discarder| Discarder::new(discarder, seed)).collect(),
            captures: Captures::new(config),
            watch: None,
            telemetry: None,
            sent: 0,
            arrived: 0,
            hops: Vec::new(),
            host_noise: HostNoise::new(seed),
        };
        if config.links.iter().any(|link| link.telemetry) {
            network.carry_more(config);
        }
        network
    }

    /// Packets carry more than they have space for: what links write, or the ACK ranges of QUIC.
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

    /// Adds the route between two hosts of this noise, and returns where it begins.
    pub(crate) fn add_route(
        &mut self,
        router: &mut Router<'_>,
        (from, sends): (NodeId, SimDuration),
        (to, receives): (NodeId, SimDuration),
    ) -> RouteId {
        let path = router.shortest_path(from, to).expect("a checked scenario has a route for every flow");
        let start = RouteId::new(self.hops.len());
        for (link, noise) in [(path.first(), sends), (path.last(), receives)] {
            self.host_noise.add(*link.expect("a route between two hosts has a link"), noise);
        }
        self.hops.extend(path.into_iter().map(Hop::onto).chain([Hop::END]));
        start
    }

    /// All routes are known: finds the links on which nothing can ever wait.
    pub(crate) fn find_express_links(&mut self, config: &NetworkConfig) {
        let mut feeder: Vec<Feeder> = vec![Feeder::None; self.links.len()];
        let mut before = Feeder::Several; // hosts send at any rate, and what they have sent may come in bunches
        for hop in &self.hops {
            let Next::Link(link) = hop.next() else {
                before = Feeder::Several;
                continue;
            };
            let known = &mut feeder[link.index()];
            *known = if *known == Feeder::None || *known == before { before } else { Feeder::Several };
            before = if self.host_noise.is_on(link) { Feeder::Several } else { Feeder::One(link) };
        }
        for hop in &mut self.hops {
            if let Next::Link(link) = hop.next()
                && is_express(config, link, feeder[link.index()])
            {
                *hop = hop.express();
                self.links[link.index()].enter_ahead();
            }
        }
    }

    /// The first packet of `link` arrives at its far end. The event is the queue's first.
    /// Returns true if it is at its endpoint, and is then `arrived`; otherwise it has gone on, or was lost.
    pub(crate) fn on_arrival(&mut self, link: LinkId, arrived: &mut Packet) -> bool {
        if self.is_arrival_told {
            return self.on_told_arrival(link, arrived);
        }
        let delivery = self.links[link.index()].deliver();
        match delivery.next {
            Some(time) => self.queue.replace_first(time, Event::Link(link)),
            None => self.queue.drop_first(),
        }
        self.move_on(link, &delivery, arrived)
    }

    /// The same in a part of a network, or where somebody watches.
    #[inline(never)]
    fn on_told_arrival(&mut self, link: LinkId, arrived: &mut Packet) -> bool {
        let now = self.now();
        let delivery = self.links[link.index()].deliver();
        if let Some(watch) = &mut self.watch {
            let packet = self.packets.get(delivery.packet);
            watch.on_delivery(now, &At { link, packet, captures: &self.captures }, now);
        }
        match delivery.next {
            Some(time) if self.is_part => self.arrive_next(link, time),
            Some(time) => self.queue.replace_first(time, Event::Link(link)),
            None => self.queue.drop_first(),
        }
        self.move_on(link, &delivery, arrived)
    }

    /// A packet that came out at the far end of `link` is at its endpoint, or goes on.
    #[allow(clippy::inline_always, reason = "a call takes as long as half of what it does")]
    #[inline(always)]
    fn move_on(&mut self, link: LinkId, &Delivery { packet: id, size, .. }: &Delivery, arrived: &mut Packet) -> bool {
        self.check_link(link);
        let packet = self.packets.get(id);
        let hop = packet.hop;
        let (Next::Link(link) | Next::Express(link)) = self.hops[hop.index()].next() else {
            *arrived = *packet;
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
        self.transmit(link, UnderWay { id, size, hop: hop.next() });
        false
    }

    /// The next packet of `link` arrives at `time`, in place of the queue's first event. Where it has come from another part, its
    /// event would have been scheduled when it was sent, if that was later than the arrival of the one before it, now.
    fn arrive_next(&mut self, link: LinkId, time: SimTime) {
        let sent = self.borders.as_mut().and_then(|borders| borders.deliver(link));
        let since = self.now().max(sent.unwrap_or(SimTime::ZERO));
        self.queue.drop_first();
        self.queue.push_since(since, time, Event::Link(link));
    }

    /// A packet enters the network at the first link of a route.
    #[inline]
    pub(crate) fn send(&mut self, route: RouteId, packet: &Packet) {
        let first = HopIndex::new(route.index());
        let link = self.uplink(route);
        if cfg!(debug_assertions) {
            self.sent += 1;
        }
        let id = self.packets.put(packet);
        if !self.is_plain {
            let packet = self.packets.get_mut(id);
            packet.identification = self.captures.identify(packet.to);
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.on_send(packet);
            }
        }
        self.transmit(link, UnderWay { id, size: packet.size, hop: first.next() });
    }

    /// The same, with these ACK ranges.
    fn send_ranges(&mut self, route: RouteId, packet: &Packet, ranges: &[AckRange]) {
        if ranges.is_empty() {
            return self.send(route, packet);
        }
        let telemetry = self.telemetry.as_mut().expect("a network with QUIC carries ACK ranges").put_ranges(ranges);
        self.send(route, &Packet { telemetry, ..*packet });
    }

    /// The ACK ranges of the packet that has just come to an end, which are to be given back.
    pub(crate) fn take_ranges(&mut self) -> Vec<AckRange> {
        self.telemetry.as_mut().map(|telemetry| std::mem::take(telemetry.ranges())).unwrap_or_default()
    }

    /// The buffer of ACK ranges that were taken in.
    pub(crate) fn give_back(&mut self, mut ranges: Vec<AckRange>) {
        ranges.clear();
        if let Some(telemetry) = &mut self.telemetry {
            *telemetry.ranges() = ranges;
        }
    }

    /// When all has left that was sent onto the first link of a route, if that is known.
    #[inline]
    fn leaves_at(&self, route: RouteId) -> SimTime {
        self.links[self.uplink(route).index()].free_at()
    }

    /// From now on `end`, from which this route leads away, is in the capture `view`, or in none.
    pub(crate) fn capture_end(&mut self, end: EndpointId, view: Option<ViewId>, route: RouteId) {
        self.captures.set_view(end, view, self.uplink(route));
    }

    /// The link by which a route begins.
    fn uplink(&self, route: RouteId) -> LinkId {
        match self.hops[route.index()].next() {
            Next::Link(link) | Next::Express(link) => link,
            Next::Endpoint => unreachable!("a route between two hosts has a link"),
        }
    }

    /// Flows will be captured at the hosts of their senders.
    pub(crate) fn expect_captures(&mut self) {
        self.is_plain = false;
        self.captures.expect_views(self.links.len());
    }

    #[inline]
    fn transmit(&mut self, at: LinkId, packet: UnderWay) {
        if self.is_plain { self.pass::<false>(at, packet) } else { self.pass::<true>(at, packet) }
    }

    /// `LOOKS`: there is a discarder, a capture, or somebody who watches.
    fn pass<const LOOKS: bool>(&mut self, mut at: LinkId, mut packet: UnderWay) {
        if LOOKS && self.is_discarded(at, packet.id) {
            self.drop_on_arrival(at, packet.id, DropCause::Discarder);
            return self.links[at.index()].on_discarded();
        }
        let now = self.now();
        let LinkKind::Clocked(mut link) = self.links[at.index()].kind() else { return self.offer(at, packet) };
        let Some(mut passage) = link.admit(now, packet.size) else {
            return self.drop_on_arrival(at, packet.id, DropCause::Queue);
        };
        if LOOKS {
            let packet = self.packets.get(packet.id);
            self.captures.record(at, passage.service, packet);
            if let Some(watch) = &mut self.watch {
                watch.on_passage(now, &At { link: at, packet, captures: &self.captures }, now, passage);
            }
        }
        while let Next::Express(next) = self.hops[packet.hop.index()].next() {
            link.pass_on(now, passage.arrival, packet.size);
            let before = (at, passage.arrival);
            at = next;
            packet.hop = packet.hop.next();
            link = self.links[at.index()].clocked().expect("an express link is but a clock");
            passage = link.admit_ahead(passage.arrival, packet.size);
            if LOOKS && let Some(watch) = &mut self.watch {
                let on = |link| At { link, packet: self.packets.get(packet.id), captures: &self.captures };
                watch.on_delivery(now, &on(before.0), before.1);
                watch.on_passage(now, &on(at), before.1, passage);
            }
        }
        self.packets.get_mut(packet.id).hop = packet.hop;
        let arrival = self.host_noise.at(at, passage.arrival);
        if self.is_part && self.borders.as_ref().is_some_and(|borders| borders.lie_behind(at)) {
            link.pass_on(now, arrival, packet.size);
            return self.leave(at, arrival, packet.id);
        }
        if link.carry(arrival, packet.id, packet.size) {
            self.queue.push(arrival, Event::Link(at));
        }
        self.check_link(at);
    }

    /// A packet that came for a link goes no further.
    fn drop_on_arrival(&mut self, link: LinkId, id: PacketId, cause: DropCause) {
        let now = self.now();
        if let Some(watch) = &mut self.watch {
            watch.on_dropped(now, &At { link, packet: self.packets.get(id), captures: &self.captures }, cause);
        }
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.free(self.packets.get(id).telemetry);
        }
        self.packets.remove(id);
    }

    /// Somebody watches from now on, packets on links, too, if `looks_at_packets`.
    pub(crate) fn begin_watch(&mut self, watch: Watch, looks_at_packets: bool) {
        self.watch = Some(Box::new(watch));
        self.is_plain &= !looks_at_packets;
        self.is_arrival_told |= looks_at_packets;
    }

    /// What the queue of a link does to packets is to be known.
    pub(crate) fn watch_link(&mut self, link: LinkId) {
        if let Some(mut link) = self.links[link.index()].served() {
            link.watch();
        }
    }

    /// From now on this is a part of a network, and packets leave it where `borders` say.
    pub(crate) fn become_part(&mut self, borders: Borders) {
        self.borders = Some(Box::new(borders));
        (self.is_part, self.is_arrival_told) = (true, true);
    }

    /// A packet goes on in another part, where it will come out at the far end of `link`.
    fn leave(&mut self, link: LinkId, arrival: SimTime, id: PacketId) {
        let crossing = Crossing { link, sent: self.now(), arrival, packet: *self.packets.get(id) };
        self.packets.remove(id);
        self.borders.as_mut().expect("it lies at a border").send(crossing);
        if cfg!(debug_assertions) {
            self.arrived += 1;
        }
    }

    /// A packet has come from another part.
    pub(crate) fn receive(&mut self, crossing: &Crossing) {
        let Crossing { link, arrival, packet, .. } = crossing;
        let id = self.packets.put(packet);
        let is_alone = self.links[link.index()].receive(*arrival, id, packet.size);
        let since = self.borders().receive(crossing, is_alone);
        if is_alone {
            self.queue.push_since(since, *arrival, Event::Link(*link));
        }
        if cfg!(debug_assertions) {
            self.sent += 1;
        }
    }

    /// Takes the links that `is_there` says so of over from another part, and gives others for them.
    pub(crate) fn swap(&mut self, other: &mut Self, is_there: impl Fn(LinkId) -> bool) {
        for link in (0..self.links.len()).map(LinkId::new).filter(|link| is_there(*link)) {
            std::mem::swap(&mut self.links[link.index()], &mut other.links[link.index()]);
            self.captures.swap(&mut other.captures, link);
        }
    }

    /// Of a part.
    pub(crate) fn borders(&mut self) -> &mut Borders {
        self.borders.as_mut().expect("this is a part of a network")
    }

    /// Each route as its stages, which are what packets pass between two events: a link, and those behind it on which nothing ever
    /// waits.
    pub(crate) fn routes(&self) -> impl Iterator<Item = Vec<Vec<LinkId>>> {
        let goes_on = |_: &Hop, next: &Hop| matches!(next.next(), Next::Express(_));
        let link = |hop: &Hop| match hop.next() {
            Next::Link(link) | Next::Express(link) => link,
            Next::Endpoint => unreachable!("routes are split there"),
        };
        let routes = self.hops.split(|hop| *hop == Hop::END).filter(|route| !route.is_empty());
        routes.map(move |route| route.chunk_by(goes_on).map(|stage| stage.iter().map(link).collect()).collect())
    }

    /// A packet arrives at a served link, whose queue keeps it until it travels on.
    #[inline(never)]
    fn offer(&mut self, id: LinkId, UnderWay { id: place, hop, .. }: UnderWay) {
        let now = self.now();
        let packet = Packet { hop, ..*self.packets.get(place) };
        self.packets.remove(place);
        self.depart(id);
        let Some(mut link) = self.links[id.index()].served() else { return };
        let is_admitted = link.offer(now, &packet);
        let is_busy = link.is_busy();
        if self.follows_packets() {
            self.tell_loss(id, (!is_admitted).then_some(packet), DropCause::Discarder);
        } else if is_busy {
            return self.check_link(id);
        }
        if let Some(time) = self.serve(id) {
            self.queue.push(time, Event::Service(id));
        }
    }

    /// What leaves a served link travels on.
    fn depart(&mut self, id: LinkId) {
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return };
        if link.keeps_all(now) {
            return;
        }
        let notice = |arrival| self.host_noise.at(id, arrival);
        let lost = link.depart(now, &mut self.packets, notice, |arrival| self.queue.push(arrival, Event::Link(id)));
        if self.follows_packets() {
            self.tell_loss(id, lost, DropCause::Loss);
        }
    }

    /// The service event of a link fires; it is the queue's first.
    pub(crate) fn on_service(&mut self, id: LinkId) {
        let now = self.now();
        let mut next = None;
        if self.links[id.index()].served().is_some_and(|mut link| link.is_due(now)) {
            self.depart(id);
            next = self.serve(id);
        }
        match next {
            Some(time) => self.queue.replace_first(time, Event::Service(id)),
            None => self.queue.drop_first(),
        }
    }

    /// A link is changed, as an operator would.
    #[cold]
    pub(crate) fn change(&mut self, change: &LinkChange) {
        let (now, id) = (self.now(), change.link);
        self.depart(id);
        if let Some(mut link) = self.links[id.index()].served() {
            link.change(now, change);
        }
        if let Some(time) = self.serve(id) {
            self.queue.push(time, Event::Service(id));
        }
    }

    /// Begins what service a link can. Returns when it is to be served again, if no event is pending for that.
    fn serve(&mut self, id: LinkId) -> Option<SimTime> {
        let now = self.now();
        let mut link = self.links[id.index()].served()?;
        let service = link.serve(now);
        if service.begins && self.captures.are_wanted(id) {
            self.captures.record(id, now, link.in_service().expect("it has just begun"));
        }
        if self.follows_packets() {
            self.tell_service(id, service.begins);
        }
        self.check_link(id);
        service.wake
    }

    /// What becomes of each packet is of interest: to whoever watches, or for what links have written into it.
    #[inline]
    fn follows_packets(&self) -> bool {
        self.watch.is_some() || self.telemetry.is_some()
    }

    /// A packet went no further on a served link.
    #[cold]
    fn tell_loss(&mut self, link: LinkId, lost: Option<Packet>, cause: DropCause) {
        let now = self.now();
        let Some(packet) = &lost else { return };
        if let Some(watch) = &mut self.watch {
            watch.on_dropped(now, &At { link, packet, captures: &self.captures }, cause);
        }
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.free(packet.telemetry);
        }
    }

    /// What the queue of a served link has done, and whether a packet entered service.
    #[cold]
    fn tell_service(&mut self, id: LinkId, begins: bool) {
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return };
        let captures = &self.captures;
        for (packet, treatment) in link.treated() {
            if let Some(watch) = &mut self.watch {
                watch.on_treated(now, &At { link: id, packet: &packet, captures }, treatment);
            }
            if let Some(telemetry) = self.telemetry.as_mut().filter(|_| treatment == Treatment::Dropped) {
                telemetry.free(packet.telemetry);
            }
        }
        let waited = link.waited();
        if let (Some(watch), Some(packet)) = (&mut self.watch, link.in_service().filter(|_| begins)) {
            watch.on_service(now, &At { link: id, packet, captures }, waited);
        }
        if begins {
            self.write_telemetry(id);
        }
    }

    /// A packet enters service: a link that writes does so into one with data.
    fn write_telemetry(&mut self, id: LinkId) {
        let now = self.now();
        let Some(telemetry) = &mut self.telemetry else { return };
        let link = &mut self.links[id.index()];
        let (queue, sent) = (link.waiting_octets(), link.served_octets(now).unwrap_or_default());
        let Some(mut link) = link.served() else { return };
        if link.in_service().is_some_and(|packet| telemetry.is_written(id, packet)) {
            let rate = link.rate_of_service();
            let record = HopRecord { link: id.index() as u32, queue, sent: Bytes(sent), at: now, rate };
            let place = link.telemetry_mut().expect("a packet is in service");
            *place = telemetry.write(*place, record);
        }
    }

    /// A packet has brought what links wrote: for its receiver to send back, or sent back by its receiver.
    #[cold]
    fn take_telemetry(&mut self, arrived: &Packet) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.on_arrival(arrived);
        }
    }

    /// What links wrote into data of the end to which a packet has just come, if that packet sends any of it back.
    pub(crate) fn echoed(&self) -> &[HopRecord] {
        self.telemetry.as_ref().map_or(&[], |telemetry| telemetry.echoed())
    }

    /// In builds with assertions, checks what holds of a link between any two events.
    #[inline]
    fn check_link(&self, link: LinkId) {
        if cfg!(debug_assertions) {
            self.links[link.index()].check_invariants();
        }
    }

    /// The same of the whole network, when a run is over: each packet that was sent has arrived, or was dropped or lost, or is
    /// still on a link; none is made but copies.
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

/// The way out of an endpoint: its packets enter the network at the first link of its route.
pub(crate) struct Uplink<'a> {
    pub(crate) network: &'a mut Network,
    /// The endpoint at the other end.
    pub(crate) peer: EndpointId,
    pub(crate) route: RouteId,
    /// Of the connection.
    pub(crate) generation: Generation,
}

impl Output for Uplink<'_> {
    fn send(&mut self, segment: Segment) {
        let packet = Packet { generation: self.generation, ..Packet::tcp(segment, self.peer) };
        self.network.send(self.route, &packet);
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
