//! A first-in first-out link of fixed rate, as a virtual clock.
//!
//! The start of a packet's service and its arrival at the far end are known when it arrives. So the link keeps its
//! packets in one ring, in order, and needs a single pending event, the arrival of the first. A second, small ring
//! holds the waiting packets, and is updated on demand.
//!
//! Where one other link feeds a link, and knows when its packets arrive, a packet's passage through it follows from its passage through
//! the first: the packet goes straight into the later link's ring, and the event between the two is saved. That such a
//! packet waits, or is dropped, is known ahead, too, and counted when its time has come.

use ackclock_units::{SimDuration, SimTime};

use super::{Link, Rest};
use crate::queue::Room;
use crate::ring::Ring;

/// A packet that waits for service.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Time at which it came to the near end.
    since: SimTime,
    /// Time at which its first bit enters the wire.
    service: SimTime,
    octets: u64,
}

/// A packet that is in a later link's ring.
#[derive(Clone, Copy, Debug, Default)]
struct PassedOn {
    /// Time of its arrival at this link's far end.
    arrival: SimTime,
    octets: u64,
}

/// Packets that wait for a link, and those that it has passed on.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// Packets that have not entered service, as of the last [`Link::advance`], and behind them those that entered ahead of time, and
    /// will come and wait.
    waiting: Ring<Waiting>,
    to_come: usize,
    /// Octets of those that have come.
    waiting_octets: u64,
    /// The last packet that has entered service.
    served: Waiting,
    /// The last of them, which will wait when the last one comes, and their octets.
    ahead: usize,
    ahead_octets: u64,
    /// Packets that entered ahead of time, and will come and be dropped: their service never begins.
    to_drop: Ring<Waiting>,
    /// Packets passed on, as of the last time that the list was full, or of the last [`Link::advance`].
    passed_on: Ring<PassedOn>,
    /// Passed-on packets that have arrived.
    passed: u64,
    entry: Entry,
    /// Packets that entered ahead of time and come out later than they arrive; as of the last time that the list was
    /// full.
    noted: Ring<PassedOn>,
}

/// Time at which packets enter a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Entry {
    /// Packets enter when they come to its near end.
    #[default]
    InTime,
    /// Packets enter ahead of that time.
    Ahead,
    /// Packets enter ahead of that time, and are noticed at the far end later than they arrive there, so that their
    /// arrivals are noted.
    AheadNoted,
}

/// Times at which a packet enters and leaves the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Time at which its first bit enters.
    pub service: SimTime,
    /// Time at which its last bit arrives at the far end.
    pub arrival: SimTime,
}

/// A [`Link`] of fixed rate in first-in first-out order, whose only events are arrivals ([`mod@crate::link::clocked`]).
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
        if service > now && !rest.wait(&wire.room, (now, service), octets) {
            return None;
        }
        let arrival = clock.serialize(wire.pace, now, octets) + wire.delay;
        Some(Passage { service, arrival })
    }

    /// Admits a packet at `now` that will arrive at the near end at `time`, where a single link feeds this one. Returns its passage, or
    /// `None` if there will be no room.
    #[inline]
    pub fn admit_ahead(&mut self, now: SimTime, time: SimTime, size: u32) -> Option<Passage> {
        let Link { clock, wire, rest, .. } = &mut *self.link;
        let octets = u64::from(size) + wire.framing;
        rest.counts.ledger.on_came(octets);
        let service = clock.free_at().max(time);
        if service > time && !rest.wait_ahead(&wire.room, now, Waiting { since: time, service, octets }) {
            return None;
        }
        let arrival = clock.serialize(wire.pace, time, octets) + wire.delay;
        Some(Passage { service, arrival })
    }
}

impl Link {
    /// Passes an admitted packet on at `now` into the ring of a later link; it leaves this one at `arrival`.
    #[inline]
    pub fn pass_on(&mut self, now: SimTime, arrival: SimTime, size: u32) {
        let Link { wire, rest, .. } = self;
        if rest.waits.passed_on.is_full() {
            rest.count_arrived(now);
        }
        rest.waits.passed_on.push_back(PassedOn { arrival, octets: u64::from(size) + wire.framing });
    }

    /// Notes that an admitted packet will arrive at the far end at `arrival`, and be noticed there later.
    #[inline]
    pub fn note(&mut self, now: SimTime, arrival: SimTime, size: u32) {
        let Link { wire, rest, .. } = self;
        rest.waits.note(now, PassedOn { arrival, octets: u64::from(size) + wire.framing });
    }

    /// Lets packets enter ahead of time from now on; the far end may notice them later than they arrive there.
    pub fn enter_ahead(&mut self, may_be_noticed_late: bool) {
        self.rest.waits.entry = if may_be_noticed_late { Entry::AheadNoted } else { Entry::Ahead };
    }

    /// Brings the counts of waiting and of passed-on packets up to `now`.
    pub fn advance(&mut self, now: SimTime) {
        let Rest { planned, served, counts, .. } = &mut *self.rest;
        if let Some(planned) = planned {
            planned.advance(now, &mut counts.stats);
        }
        if let Some(served) = served {
            served.advance(now);
        }
        self.rest.let_come(now);
        self.rest.advance(now);
        self.rest.count_arrived(now);
    }

    /// Time for which the link has been sending: see [`Link::busy_time`].
    pub(super) fn clocked_busy_time(&self, now: SimTime) -> SimDuration {
        if self.rest.waits.entry == Entry::InTime {
            return self.clock.busy_time(now);
        }
        self.services_to_end(now).fold(self.clock.sent(), |sent, (begin, end)| sent - (end - begin.max(now)))
    }

    /// Packets that have entered and whose service has not begun by `now`, the time of the last advance.
    pub(super) fn not_begun(&self, now: SimTime) -> usize {
        match self.rest.waits.entry {
            Entry::InTime => self.rest.waits.waiting(),
            Entry::Ahead | Entry::AheadNoted => {
                self.services_to_end(now).filter(|(begin, _)| *begin > now).count() + self.rest.waits.to_drop()
            }
        }
    }

    /// Begin and end of each service that ends after `now`, on a link that packets enter ahead of time.
    ///
    /// A packet that follows another begins where that one ends, and takes at most its time alone; any other takes
    /// exactly that. Where the one before has ended by `now`, so much of the beginning does not count.
    fn services_to_end(&self, now: SimTime) -> impl Iterator<Item = (SimTime, SimTime)> {
        let (waits, wire) = (&self.rest.waits, &*self.wire);
        let arrives_by = now + wire.delay; // if its service ends by now
        let is_noted = waits.entry == Entry::AheadNoted;
        let on_way = self.transit.iter_behind(move |on_way| on_way.arrival <= arrives_by);
        let on_way = on_way
            .map(|on_way| PassedOn { arrival: on_way.arrival, octets: u64::from(on_way.packet.size) + wire.framing });
        let on_way = on_way.take(if is_noted { 0 } else { usize::MAX });
        let elsewhere = if is_noted { &waits.noted } else { &waits.passed_on };
        let elsewhere = elsewhere.iter_behind(move |packet| packet.arrival <= arrives_by).copied();
        let (mut on_way, mut elsewhere) = (on_way.peekable(), elsewhere.peekable());
        let in_order = std::iter::from_fn(move || match (on_way.peek(), elsewhere.peek()) {
            (Some(one), Some(other)) if one.arrival <= other.arrival => on_way.next(),
            (Some(_), None) => on_way.next(),
            _ => elsewhere.next(),
        });
        let ends = in_order.map(|packet| (SimTime(packet.arrival.0 - wire.delay.0), packet.octets));
        ends.scan(SimTime::ZERO, |before, (end, octets)| {
            let begin = SimTime(end.0 - wire.pace.rounded_up(octets).0).max(*before);
            *before = end;
            Some((begin, end))
        })
    }
}

impl Rest {
    /// Lets a packet wait that arrives at `now`, where the link is free at `service`. False if there is no room.
    #[allow(clippy::inline_always, reason = "as ClockedLink::admit, of which it is most")]
    #[inline(always)]
    fn wait(&mut self, room: &Room, (now, service): (SimTime, SimTime), octets: u64) -> bool {
        self.advance(now);
        if !room.takes(self.waits.waiting(), self.waits.waiting_octets, octets) {
            self.counts.on_dropped();
            self.counts.ledger.on_dropped(octets);
            return false;
        }
        self.counts.stats.on_queue_change(now, self.waits.waiting());
        self.waits.enqueue(Waiting { since: now, service, octets });
        true
    }

    /// Notes that a packet, on its way at `now`, will wait. False if there will be no room.
    #[inline(never)]
    fn wait_ahead(&mut self, room: &Room, now: SimTime, packet: Waiting) -> bool {
        if self.waits.waiting.is_full() {
            self.let_come(now);
            self.advance(now);
        }
        let waits = &mut self.waits;
        while let Some(first) = waits.waiting.last(waits.ahead).filter(|first| first.service <= packet.since) {
            waits.ahead -= 1;
            waits.ahead_octets -= first.octets;
        }
        if !room.takes(waits.ahead, waits.ahead_octets, packet.octets) {
            waits.to_drop.push_back(Waiting { service: SimTime::NEVER, ..packet });
            return false;
        }
        waits.ahead += 1;
        waits.ahead_octets += packet.octets;
        waits.to_come += 1;
        waits.waiting.push_back(packet);
        true
    }

    /// Lets the packets wait, or drops them, that have come by `now`.
    fn let_come(&mut self, now: SimTime) {
        while let Some(&next) = self.waits.waiting.last(self.waits.to_come).filter(|next| next.since <= now) {
            self.advance(next.since);
            self.counts.stats.on_queue_change(next.since, self.waits.waiting());
            self.waits.to_come -= 1;
            self.waits.waiting_octets += next.octets;
        }
        while let Some(next) = self.waits.to_drop.front().filter(|next| next.since <= now) {
            self.counts.on_dropped();
            self.counts.ledger.on_dropped(next.octets);
            self.waits.to_drop.drop_front();
        }
    }

    /// Removes the packets that have entered service by `now` from those that wait.
    #[inline]
    fn advance(&mut self, now: SimTime) {
        let waits = &mut self.waits;
        while let Some(&next) = waits.waiting.front().filter(|next| next.service <= now) {
            self.counts.stats.on_queue_change(next.service, waits.waiting());
            self.counts.stats.on_waited(next.service - next.since);
            waits.waiting_octets -= next.octets;
            waits.served = next;
            waits.waiting.drop_front();
            if waits.ahead > waits.waiting.len() {
                waits.ahead -= 1;
                waits.ahead_octets -= next.octets;
            }
        }
    }

    /// Counts the packets that were passed on and have arrived by `now` as delivered.
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
    /// Notes an arrival: see [`ClockedLink::note`].
    fn note(&mut self, now: SimTime, packet: PassedOn) {
        if self.entry != Entry::AheadNoted {
            return;
        }
        if self.noted.is_full() {
            while self.noted.front().is_some_and(|first| first.arrival <= now) {
                self.noted.drop_front();
            }
        }
        self.noted.push_back(packet);
    }

    /// Waiting time of the packet in service, zero if none waits behind it; `alone` gives the time that octets take.
    pub(super) fn latest_wait(&self, alone: impl Fn(u64) -> SimDuration) -> SimDuration {
        let Waiting { since, service, octets } = self.served;
        // The next begins where the packet in service ends: with the last that has waited, unless one that did not wait came since.
        let is_in_service = self
            .waiting
            .front()
            .filter(|_| self.waiting() > 0)
            .is_some_and(|next| next.service <= service + alone(octets));
        if is_in_service { service - since } else { SimDuration::ZERO }
    }

    fn enqueue(&mut self, packet: Waiting) {
        self.waiting_octets += packet.octets;
        self.waiting.push_back(packet);
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() - self.to_come
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

    /// Packets that will come and be dropped.
    pub(super) fn to_drop(&self) -> usize {
        self.to_drop.len()
    }

    pub(super) fn to_drop_octets(&self) -> u64 {
        self.to_drop.iter().map(|packet| packet.octets).sum()
    }

    /// Passed-on packets that have arrived at this link's far end.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }
}
