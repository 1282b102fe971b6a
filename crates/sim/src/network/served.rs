//! Links that are served packet by packet: their queues, and the fate of packets in them.

use ackclock_cc::HopRecord;
use ackclock_events::DropCause;
use ackclock_net::queue::Treatment;
use ackclock_net::{EndpointId, HopIndex, LinkChange, LinkId, Packet, PacketId, Service, UnderWay};
use ackclock_units::Bytes;
use prefetch_index::prefetch_index;

use super::Network;
use super::hop::Next;
use crate::event_queue::Event;
use crate::watch::At;

impl Network {
    /// Records the drops and marks of a link's queue.
    pub(crate) fn watch_link(&mut self, link: LinkId) {
        if let Some(mut link) = self.links[link.index()].served() {
            link.watch();
        }
    }

    /// Offers a packet to a served link, whose queue keeps it until it travels on.
    #[inline(never)]
    pub(super) fn offer(&mut self, id: LinkId, UnderWay { packet: place, hop, .. }: UnderWay) {
        let now = self.now();
        let arrivals = self.depart(id);
        self.arrive_at_once(id, arrivals);
        let Some(mut link) = self.links[id.index()].served() else { return };
        let packet = self.packets.get_mut(place);
        packet.hop = hop;
        let is_admitted = link.offer(now, packet);
        let is_busy = link.is_busy(now);
        let refused = (!is_admitted).then_some(*packet);
        self.packets.remove(place);
        if let Some(refused) = &refused
            && self.departures.add(id, refused, &self.hops, true)
        {
            self.queue.push(now, Event::Left(id));
        }
        let follows = self.follows_packets(id);
        if follows {
            self.tell_loss(id, refused, DropCause::Discarder);
            self.tell_treated(id, true);
        }
        // A busy link begins nothing now; observers of packets still need the queue's drops and marks.
        if is_busy && !follows {
            return self.check_link(id);
        }
        self.serve_and_schedule(id);
    }

    /// Takes the departing packet of a served link, which travels on. Returns the number of arrivals at this very
    /// moment that [`Self::arrive_at_once`] must schedule: they come before other events scheduled now for now, such as
    /// the service of this link.
    #[must_use]
    fn depart(&mut self, id: LinkId) -> usize {
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return 0 };
        if link.keeps_all(now) {
            return 0;
        }
        if self.departures.are_wanted(id)
            && let Some(packet) = link.leaving(now)
            && self.departures.add(id, packet, &self.hops, false)
        {
            self.queue.push(now, Event::Left(id));
        }
        if link.settle(now) {
            return 0;
        }
        let notice = |arrival| self.host_noise.at(id, arrival).unwrap_or(arrival);
        let mut at_once = 0;
        let lost = link.depart(now, &mut self.packets, notice, |arrival| {
            if arrival > now {
                self.queue.push(arrival, Event::Link(id));
            } else {
                at_once += 1;
            }
        });
        if self.follows_packets(id) {
            self.tell_loss(id, lost, DropCause::Loss);
        }
        at_once
    }

    /// Schedules these arrivals: see [`Self::depart`].
    fn arrive_at_once(&mut self, id: LinkId, arrivals: usize) {
        for _ in 0..arrivals {
            self.queue.push(self.now(), Event::Link(id));
        }
    }

    /// Handles the service event of a link, the queue's first.
    pub(crate) fn on_service(&mut self, id: LinkId) {
        let now = self.now();
        let (mut service, mut arrivals) = (Service::default(), 0);
        if self.links[id.index()].served().is_some_and(|mut link| link.take_wake(now)) {
            arrivals = self.depart(id);
            service = self.serve(id);
        }
        match service.wake {
            Some((_, time)) => self.queue.replace_first(time, Event::Service(id)),
            None => self.queue.drop_first(),
        }
        self.arrive_at_once(id, arrivals);
        self.send_ahead(id, service);
    }

    /// Prefetches the packet that comes out of a link after the next one, and the link behind. Returns its destination
    /// end.
    ///
    /// Queues by flow let flows take turns, so that the memory of each packet is no longer cached; but the next packet
    /// of a link is known long before.
    #[inline]
    pub(crate) fn fetch_ahead(&self, id: LinkId) -> Option<EndpointId> {
        let packet = self.links[id.index()].second()?;
        self.packets.fetch(packet.packet);
        if let Next::Link(link) | Next::Express(link) = self.hops[packet.hop.index()].next() {
            prefetch_index(&self.links, link.index());
        }
        Some(packet.to)
    }

    /// Changes a link, as an operator would.
    #[cold]
    pub(crate) fn change(&mut self, change: &LinkChange) {
        let (now, id) = (self.now(), change.link);
        let arrivals = self.depart(id);
        self.arrive_at_once(id, arrivals);
        if let Some(mut link) = self.links[id.index()].served() {
            link.change(now, change);
        }
        self.serve_and_schedule(id);
    }

    /// Serves a link outside of its service event: see [`Self::serve`].
    fn serve_and_schedule(&mut self, id: LinkId) {
        let service = self.serve(id);
        if let Some((since, time)) = service.wake {
            self.queue.push_since(since, time, Event::Service(id));
        }
        self.send_ahead(id, service);
    }

    /// Begins a service of a link if it can. The service event must be scheduled, and [`Self::send_ahead`] must follow.
    #[must_use]
    fn serve(&mut self, id: LinkId) -> Service {
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return Service::default() };
        let service = link.serve(now);
        if service.begins && self.captures.are_wanted(id) {
            self.captures.record(id, now, link.in_service().expect("it has just begun"));
        }
        if self.follows_packets(id) {
            self.tell_service(id, service.begins);
        }
        service
    }

    /// Puts the packet that has just entered service on the way, where the wire allows that.
    fn send_ahead(&mut self, id: LinkId, service: Service) {
        let link = self.links[id.index()].served().filter(|_| service.begins);
        if let Some((arrival, packet)) = link.and_then(|link| link.send_ahead(&mut self.packets)) {
            if self.is_plain {
                self.put_on_way::<false>(id, arrival, packet);
            } else {
                self.put_on_way::<true>(id, arrival, packet);
            }
        }
        self.check_link(id);
    }

    /// True if the fate of each packet is needed: by observers, for telemetry that links have written into it, or by
    /// its sender.
    #[inline]
    fn follows_packets(&self, link: LinkId) -> bool {
        self.tells_of_packets || self.telemetry.is_some() || self.departures.are_wanted(link)
    }

    /// Notes that a packet was dropped at the link to which it came, the next on its way before `hop`. Its sender is
    /// notified if it counts the data that waits there.
    #[cold]
    pub(super) fn note_refused(&mut self, link: LinkId, place: PacketId, hop: HopIndex) {
        if !self.departures.are_wanted(link) || self.links[link.index()].free_at() <= self.now() {
            return;
        }
        let packet = Packet { hop, ..*self.packets.get(place) };
        if self.departures.add(link, &packet, &self.hops, true) {
            self.queue.push(self.now(), Event::Left(link));
        }
    }

    /// Reports a packet that was lost on a served link.
    #[cold]
    fn tell_loss(&mut self, link: LinkId, lost: Option<Packet>, cause: DropCause) {
        let now = self.now();
        let Some(packet) = &lost else { return };
        if let Some(watch) = &mut self.watch {
            watch.on_dropped(now, now, &At { link, packet, captures: &self.captures }, cause);
        }
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.free(packet.telemetry);
        }
    }

    /// Reports drops and marks by the queue of a served link: at an arrival, whose packet is taken for the dropped one,
    /// or later, of packets that have waited.
    #[cold]
    fn tell_treated(&mut self, id: LinkId, on_arrival: bool) {
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return };
        let captures = &self.captures;
        for (packet, treatment) in link.treated() {
            if let Some(watch) = &mut self.watch {
                watch.on_treated(now, &At { link: id, packet: &packet, captures }, treatment);
            }
            if treatment != Treatment::Dropped {
                continue;
            }
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.free(packet.telemetry);
            }
            if self.departures.add(id, &packet, &self.hops, on_arrival) {
                self.queue.push(now, Event::Left(id));
            }
        }
    }

    /// Reports the events of a served link's queue, and a packet that entered service.
    #[cold]
    fn tell_service(&mut self, id: LinkId, begins: bool) {
        self.tell_treated(id, false);
        let now = self.now();
        let Some(mut link) = self.links[id.index()].served() else { return };
        let captures = &self.captures;
        let waited = link.waited();
        if let (Some(watch), Some(packet)) = (&mut self.watch, link.in_service().filter(|_| begins)) {
            watch.on_service(now, &At { link: id, packet, captures }, waited);
        }
        if begins {
            self.write_telemetry(id);
        }
    }

    /// Writes telemetry into a packet with data that enters service, if the link does.
    fn write_telemetry(&mut self, id: LinkId) {
        let now = self.now();
        let Some(telemetry) = &mut self.telemetry else { return };
        let link = &mut self.links[id.index()];
        let (queue, sent) = (link.waiting_octets(), link.sent_octets(now).unwrap_or_default());
        let Some(mut link) = link.served() else { return };
        if link.in_service().is_some_and(|packet| telemetry.is_written(id, packet)) {
            let rate = link.rate_of_service();
            let record = HopRecord { link: id.index() as u32, queue, sent: Bytes(sent), at: now, rate };
            let place = link.telemetry_mut().expect("a packet is in service");
            *place = telemetry.write(*place, record);
        }
    }
}
