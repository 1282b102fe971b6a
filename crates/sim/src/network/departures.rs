//! Packets that have left the first link of their route, or were dropped there: their senders count the data that waits
//! at their hosts.
//!
//! A clocked link knows the departure of a packet as soon as it comes: only its drops are reported.

use ackclock_net::{EndpointId, Generation, LinkId, Packet, Payload};

use super::hop::Hop;

/// The data of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    /// Sender of the packet.
    pub(crate) sender: EndpointId,
    /// Generation of the connection.
    pub(crate) generation: Generation,
    /// The octets of payload.
    pub(crate) octets: u32,
    /// True if it was dropped as it arrived, and not later or sent.
    pub(crate) is_refused: bool,
}

/// Departures to report, by link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departures {
    /// Lists by link, if the link's departures are recorded.
    of: Vec<Option<Vec<Departed>>>,
}

impl Departures {
    /// Records departures from a link from now on.
    pub(super) fn want(&mut self, link: LinkId) {
        if self.of.len() <= link.index() {
            self.of.resize(link.index() + 1, None);
        }
        self.of[link.index()].get_or_insert_default();
    }

    #[inline]
    pub(super) fn are_wanted(&self, link: LinkId) -> bool {
        self.of.get(link.index()).is_some_and(Option::is_some)
    }

    /// Records a packet with data that has left a link, or was dropped there; `is_refused` if it was dropped as it
    /// arrived. Only at the first link of its route. Returns true if it is the only unreported one.
    pub(super) fn add(&mut self, link: LinkId, packet: &Packet, hops: &[Hop], is_refused: bool) -> bool {
        let Some(Some(list)) = self.of.get_mut(link.index()) else { return false };
        let Payload::Tcp(segment) = &packet.payload else { return false };
        if segment.payload == 0 || !Hop::is_behind_first(hops, packet.hop) {
            return false;
        }
        let (sender, generation) = (packet.to.peer(), packet.generation);
        list.push(Departed { sender, generation, octets: segment.payload, is_refused });
        list.len() == 1
    }

    /// Takes the unreported departures of a link; the list must be given back.
    pub(crate) fn take(&mut self, link: LinkId) -> Vec<Departed> {
        self.of[link.index()].replace(Vec::new()).unwrap_or_default()
    }

    /// Takes the list back: see [`Self::take`].
    pub(crate) fn give_back(&mut self, link: LinkId, list: Vec<Departed>) {
        self.of[link.index()] = Some(list);
    }

    /// Exchanges the departures of a link between two parts.
    pub(super) fn swap(&mut self, other: &mut Self, link: LinkId) {
        if let (Some(here), Some(there)) = (self.of.get_mut(link.index()), other.of.get_mut(link.index())) {
            std::mem::swap(here, there);
        }
    }
}
