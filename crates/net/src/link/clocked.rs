//! A first-in first-out link of fixed rate, as a virtual clock.
//!
//! When a packet arrives, the start of its service and its arrival at the far end are known. So the link keeps its packets in
//! one ring, in order, and needs a single pending event, the arrival of the first; what waits is a second, small ring, brought up
//! to date on demand.
//!
//! Where a link is fed by one other link that is no faster, nothing ever waits for it, and a packet's passage through
//! it follows from its passage through the first: the packet goes straight into the later link's ring, and the event
//! between the two is saved.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, SimDuration, SimTime};

use super::Common;
use crate::clock::LinkClock;
use crate::config::QueueLimit;
use crate::packet::Packet;

/// A packet that waits for service.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Its first bit enters the wire.
    service: SimTime,
    octets: u64,
}

/// What a link of this kind has beside what every link has.
#[derive(Clone, Debug)]
pub(super) struct Clocked {
    limit: QueueLimit,
    clock: LinkClock,
    /// What has not entered service, as of the last [`ClockedLink::advance`].
    waiting: VecDeque<Waiting>,
    waiting_octets: u64,
    /// When the first that waits enters service, or the first that was passed on arrives.
    next_change: SimTime,
    /// Packets that are in a later link's ring: when they arrive at this one's far end, and their octets.
    passed_on: VecDeque<(SimTime, u64)>,
    /// Sending time of the packets that entered ahead of time and have arrived; `None` on a link that packets enter in
    /// real time, whose clock knows.
    sent_ahead: Option<SimDuration>,
}

/// When a packet enters and leaves the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its first bit enters.
    pub service: SimTime,
    /// Its last bit arrives at the far end.
    pub arrival: SimTime,
}

/// See the module.
#[derive(Debug)]
pub struct ClockedLink<'a> {
    pub(super) common: &'a mut Common,
    pub(super) clocked: &'a mut Clocked,
}

impl ClockedLink<'_> {
    /// A packet of `size` octets arrives at the near end. Returns its passage, or `None` if there is no room.
    #[inline]
    pub fn admit(&mut self, now: SimTime, size: u32) -> Option<Passage> {
        self.advance(now);
        let octets = u64::from(size) + self.common.framing;
        self.common.ledger.on_came(octets);
        let service = self.clocked.clock.free_at().max(now);
        if service > now {
            if !self.clocked.has_room(octets, service - now) {
                self.common.on_dropped();
                self.common.ledger.on_dropped(octets);
                return None;
            }
            self.common.stats.on_queue_change(now, self.clocked.waiting.len());
            self.clocked.enqueue(service, octets);
        }
        self.common.stats.on_accepted(service - now);
        let arrival = self.clocked.clock.serialize(now, octets) + self.common.delay;
        Some(Passage { service, arrival })
    }

    /// A packet passes, arriving at the near end at some `time` to come, of a link on which nothing ever waits: one
    /// that a single, no faster link feeds.
    #[inline]
    pub fn admit_ahead(&mut self, time: SimTime, size: u32) -> Passage {
        self.clocked.sent_ahead.get_or_insert_default();
        let octets = u64::from(size) + self.common.framing;
        self.common.ledger.on_came(octets);
        let service = self.clocked.clock.free_at().max(time);
        let arrival = self.clocked.clock.serialize(time, octets) + self.common.delay;
        Passage { service, arrival }
    }

    /// Puts an admitted packet on the way. Returns true if it is the only one, so that its arrival is the link's next
    /// event.
    #[inline]
    pub fn carry(&mut self, arrival: SimTime, packet: &Packet) -> bool {
        self.common.carry(arrival, packet)
    }

    /// An admitted packet travels on in the ring of a later link; it leaves this one at `arrival`.
    #[inline]
    pub fn pass_on(&mut self, arrival: SimTime, size: u32) {
        self.clocked.passed_on.push_back((arrival, u64::from(size) + self.common.framing));
        self.clocked.next_change = self.clocked.next_change.min(arrival);
    }

    /// Brings the counts up to `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: SimTime) {
        if self.clocked.next_change <= now {
            self.advance_past_changes(now);
        }
    }

    fn advance_past_changes(&mut self, now: SimTime) {
        let clocked = &mut *self.clocked;
        while let Some(next) = clocked.waiting.front().filter(|next| next.service <= now) {
            self.common.stats.on_queue_change(next.service, clocked.waiting.len());
            clocked.waiting_octets -= next.octets;
            clocked.waiting.pop_front();
        }
        while let Some((_, octets)) = clocked.passed_on.pop_front_if(|(arrival, _)| *arrival <= now) {
            self.common.on_delivered(octets);
            clocked.on_delivered(octets);
        }
        let service = clocked.waiting.front().map_or(SimTime::NEVER, |next| next.service);
        clocked.next_change = clocked.passed_on.front().map_or(service, |(arrival, _)| service.min(*arrival));
    }
}

impl Clocked {
    pub(super) fn new(rate: Bandwidth, limit: QueueLimit) -> Self {
        Self {
            limit,
            clock: LinkClock::new(rate),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            next_change: SimTime::NEVER,
            passed_on: VecDeque::new(),
            sent_ahead: None,
        }
    }

    fn has_room(&self, octets: u64, wait: SimDuration) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.waiting_octets + octets <= limit.0,
            QueueLimit::Time(limit) => wait <= limit,
        }
    }

    fn enqueue(&mut self, service: SimTime, octets: u64) {
        self.waiting.push_back(Waiting { service, octets });
        self.next_change = self.next_change.min(service);
        self.waiting_octets += octets;
    }

    pub(super) fn on_delivered(&mut self, octets: u64) {
        if let Some(sent) = &mut self.sent_ahead {
            let (whole, rest) = self.clock.parts(octets);
            *sent += SimDuration(whole + u64::from(rest > 0));
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn waiting_octets(&self) -> u64 {
        self.waiting_octets
    }

    /// Of a packet that would arrive now.
    pub(super) fn wait(&self, now: SimTime) -> SimDuration {
        self.clock.free_at().saturating_since(now)
    }

    pub(super) fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent_ahead.unwrap_or_else(|| self.clock.busy_time(now))
    }

    /// Packets that travel on in the ring of a later link, and their octets.
    pub(super) fn passed_on(&self) -> usize {
        self.passed_on.len()
    }

    pub(super) fn passed_on_octets(&self) -> u64 {
        self.passed_on.iter().map(|(_, octets)| octets).sum()
    }

    pub(super) fn check_rate(&self) {
        self.clock.check_rate();
    }
}
