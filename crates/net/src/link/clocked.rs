//! A first-in first-out link of fixed rate, as a virtual clock.
//!
//! When a packet arrives, the start of its service and its arrival at the far end are known. So the link keeps its packets in
//! one ring, in order, and needs a single pending event, the arrival of the first; what waits is a second, small ring, brought up
//! to date on demand.
//!
//! Where a link is fed by one other link that is no faster, nothing ever waits for it, and a packet's passage through
//! it follows from its passage through the first: the packet goes straight into the later link's ring, and the event
//! between the two is saved.

use ackclock_units::{SimDuration, SimTime};

use super::wire::Bounds;
use super::{Link, Rest};
use crate::packets::UnderWay;
use crate::ring::Ring;

/// A packet that waits for service.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Its first bit enters the wire.
    service: SimTime,
    octets: u64,
}

/// A packet that is in a later link's ring.
#[derive(Clone, Copy, Debug, Default)]
struct PassedOn {
    /// At this link's far end.
    arrival: SimTime,
    octets: u64,
}

/// What waits for a link, and what it has passed on.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// What has not entered service, as of the last [`Link::advance`].
    waiting: Ring<Waiting>,
    waiting_octets: u64,
    /// As of the last time that it was full, or of the last [`Link::advance`].
    passed_on: Ring<PassedOn>,
    /// Those of them that have arrived.
    passed: u64,
    /// Packets enter ahead of time.
    is_entered_ahead: bool,
}

/// When a packet enters and leaves the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its first bit enters.
    pub service: SimTime,
    /// Its last bit arrives at the far end.
    pub arrival: SimTime,
}

/// A [`Link`] of fixed rate and first-in first-out order, which needs no event but arrivals
/// ([`mod@crate::link::clocked`]).
#[derive(Debug)]
pub struct ClockedLink<'a> {
    pub(super) link: &'a mut Link,
}

impl ClockedLink<'_> {
    /// A packet of `size` octets arrives at the near end. Returns its passage, or `None` if there is no room.
    #[allow(
        clippy::inline_always,
        reason = "every packet comes here, and as a call it takes a hundredth more of its time"
    )]
    #[inline(always)]
    pub fn admit(&mut self, now: SimTime, size: u32) -> Option<Passage> {
        let Link { clock, wire, rest, .. } = &mut *self.link;
        let octets = u64::from(size) + wire.framing;
        rest.counts.ledger.on_came(octets);
        let service = clock.free_at().max(now);
        if service > now && !rest.wait(&wire.bounds, (now, service), octets) {
            return None;
        }
        let arrival = clock.serialize(wire.pace, now, octets) + wire.delay;
        Some(Passage { service, arrival })
    }

    /// A packet passes, arriving at the near end at some `time` to come, of a link on which nothing ever waits: one
    /// that a single, no faster link feeds.
    #[inline]
    pub fn admit_ahead(&mut self, time: SimTime, size: u32) -> Passage {
        let Link { clock, wire, rest, .. } = &mut *self.link;
        let octets = u64::from(size) + wire.framing;
        rest.counts.ledger.on_came(octets);
        let service = clock.free_at().max(time);
        let arrival = clock.serialize_ahead(wire.pace, time, octets) + wire.delay;
        Passage { service, arrival }
    }

    /// Puts an admitted packet on the way. Returns true if it is the only one, so that its arrival is the link's next
    /// event.
    #[inline]
    pub fn carry(&mut self, arrival: SimTime, packet: UnderWay) -> bool {
        self.link.carry(arrival, packet)
    }

    /// An admitted packet travels on at `now` in the ring of a later link; it leaves this one at `arrival`.
    #[inline]
    pub fn pass_on(&mut self, now: SimTime, arrival: SimTime, size: u32) {
        let Link { wire, rest, .. } = &mut *self.link;
        if rest.waits.passed_on.is_full() {
            rest.count_arrived(now);
        }
        rest.waits.passed_on.push_back(PassedOn { arrival, octets: u64::from(size) + wire.framing });
    }
}

impl Link {
    /// From now on packets enter ahead of time.
    pub fn enter_ahead(&mut self) {
        self.rest.waits.is_entered_ahead = true;
    }

    /// Brings the counts of what waits and of what was passed on up to `now`.
    pub fn advance(&mut self, now: SimTime) {
        self.rest.advance(now);
        self.rest.count_arrived(now);
    }

    /// See [`Link::busy_time`].
    pub(super) fn clocked_busy_time(&self, now: SimTime) -> SimDuration {
        if !self.rest.waits.is_entered_ahead {
            return self.clock.busy_time(now);
        }
        let to_come = self.transit.iter().map(|on_way| u64::from(on_way.packet.size) + self.wire.framing);
        let passed_on = self.rest.waits.passed_on.iter().map(|packet| packet.octets);
        to_come.chain(passed_on).fold(self.clock.sent(), |sent, octets| sent - self.wire.pace.rounded_up(octets))
    }
}

impl Rest {
    /// A packet arrives at `now` for the link, which is free at `service`. False if there is no room.
    #[allow(clippy::inline_always, reason = "as ClockedLink::admit, of which it is most")]
    #[inline(always)]
    fn wait(&mut self, bounds: &Bounds, (now, service): (SimTime, SimTime), octets: u64) -> bool {
        self.advance(now);
        if !self.waits.has_room(bounds, octets, service - now) {
            self.counts.on_dropped();
            self.counts.ledger.on_dropped(octets);
            return false;
        }
        self.counts.stats.on_queue_change(now, self.waits.waiting());
        self.waits.enqueue(Waiting { service, octets });
        self.counts.stats.on_waited(service - now);
        true
    }

    /// What has entered service by `now` waits no longer.
    #[inline]
    fn advance(&mut self, now: SimTime) {
        let waits = &mut self.waits;
        while let Some(next) = waits.waiting.front().filter(|next| next.service <= now) {
            self.counts.stats.on_queue_change(next.service, waits.waiting.len());
            waits.waiting_octets -= next.octets;
            waits.waiting.drop_front();
        }
    }

    /// What was passed on and has arrived by `now` is delivered.
    fn count_arrived(&mut self, now: SimTime) {
        let waits = &mut self.waits;
        while let Some(first) = waits.passed_on.front().filter(|first| first.arrival <= now) {
            self.counts.ledger.on_delivered(first.octets);
            waits.passed += 1;
            waits.passed_on.drop_front();
        }
    }
}

impl Waits {
    fn has_room(&self, bounds: &Bounds, octets: u64, wait: SimDuration) -> bool {
        (self.waiting.len() as u64) < bounds.packets
            && self.waiting_octets + octets <= bounds.octets
            && wait <= bounds.wait
    }

    fn enqueue(&mut self, packet: Waiting) {
        self.waiting_octets += packet.octets;
        self.waiting.push_back(packet);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn waiting_octets(&self) -> u64 {
        self.waiting_octets
    }

    /// Packets that travel on in the ring of a later link.
    pub(super) fn passed_on(&self) -> usize {
        self.passed_on.len()
    }

    pub(super) fn passed_on_octets(&self) -> u64 {
        self.passed_on.iter().map(|packet| packet.octets).sum()
    }

    /// Packets that have travelled on so and have arrived at this link's far end.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }
}
