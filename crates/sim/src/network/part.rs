//! A network that is one part of several, each run by a thread of its own: packets across its borders, and the exchange
//! between parts.

use ackclock_net::{LinkId, Packet, UnderWay};
use ackclock_units::SimTime;

use super::Network;
use super::hop::{Hop, Next};
use crate::event_queue::Event;
use crate::partition::{Borders, Crossing};

impl Network {
    /// Schedules the arrival of the next packet of `link` at `time`, in place of the queue's first event. An event from
    /// another part counts as scheduled when the packet was sent, or now, at the arrival of the one before it, if that
    /// is later.
    pub(super) fn arrive_next(&mut self, link: LinkId, time: SimTime) {
        let sent = self.borders.as_mut().and_then(|borders| borders.deliver(link));
        let since = self.now().max(sent.unwrap_or(SimTime::ZERO));
        self.queue.drop_first();
        self.queue.push_since(since, time, Event::Link(link));
    }

    /// Makes this a part of a network, which packets leave at `borders`.
    pub(crate) fn become_part(&mut self, borders: Borders) {
        self.borders = Some(Box::new(borders));
        self.has_noise_or_borders = true;
        self.is_arrival_told = true;
    }

    /// Sends a packet to another part, where it will come out at the far end of `link`.
    pub(super) fn leave(&mut self, link: LinkId, arrival: SimTime, UnderWay { packet: id, hop, .. }: UnderWay) {
        let packet = Packet { hop, ..*self.packets.get(id) };
        let crossing = Crossing { link, sent: self.now(), arrival, packet };
        self.packets.remove(id);
        self.borders.as_mut().expect("it lies at a border").send(crossing);
        if cfg!(debug_assertions) {
            self.arrived += 1;
        }
    }

    /// Takes a packet from another part.
    pub(crate) fn receive(&mut self, crossing: &Crossing) {
        let Crossing { link, arrival, packet, .. } = crossing;
        let is_alone = self.links[link.index()].receive(*arrival, self.packets.put(packet));
        let since = self.borders().receive(crossing, is_alone);
        if is_alone {
            self.queue.push_since(since, *arrival, Event::Link(*link));
        }
        if cfg!(debug_assertions) {
            self.sent += 1;
        }
    }

    /// Exchanges the links for which `is_there` is true with another part.
    pub(crate) fn swap(&mut self, other: &mut Self, is_there: impl Fn(LinkId) -> bool) {
        for link in (0..self.links.len()).map(LinkId::new).filter(|link| is_there(*link)) {
            std::mem::swap(&mut self.links[link.index()], &mut other.links[link.index()]);
            self.captures.swap(&mut other.captures, link);
            self.departures.swap(&mut other.departures, link);
        }
    }

    /// The borders of this part.
    pub(crate) fn borders(&mut self) -> &mut Borders {
        self.borders.as_mut().expect("this is a part of a network")
    }

    /// The routes as lists of stages. A stage is the way of packets between two events: a link, and those behind it
    /// that they enter ahead of time.
    pub(crate) fn routes(&self) -> impl Iterator<Item = Vec<Vec<LinkId>>> {
        let goes_on = |_: &Hop, next: &Hop| matches!(next.next(), Next::Express(_));
        let link = |hop: &Hop| match hop.next() {
            Next::Link(link) | Next::Express(link) => link,
            Next::Endpoint => unreachable!("routes are split there"),
        };
        let routes = self.hops.split(|hop| *hop == Hop::END).filter(|route| !route.is_empty());
        routes.map(move |route| route.chunk_by(goes_on).map(|stage| stage.iter().map(link).collect()).collect())
    }
}
