//! A first-in first-out link whose rate changes as it is known before the run: by a trace, or by outages.
//!
//! The passage of a packet is known when it arrives, as on a link of fixed rate ([`mod@crate::link::clocked`]); only the times come from a
//! [`RateProcess`]. So a packet takes one event here, its arrival at the far end.

use ackclock_units::{SimDuration, SimTime};

use super::Link;
use super::clocked::Passage;
use super::counts::Counts;
use super::served::used_of;
use super::wire::Wire;
use crate::config::LinkConfig;
use crate::link_stats::LinkStats;
use crate::rate::RateProcess;
use crate::ring::Ring;

/// A packet that has come and whose last bit has not left.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    since: SimTime,
    /// Times at which its first bit leaves, and its last.
    start: SimTime,
    end: SimTime,
    octets: u64,
    /// Octets that the link could still send at `end`.
    to_spare: f64,
}

/// State of a link of planned rate beside that of every link.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    rate: RateProcess,
    /// Packets that wait, behind the one in service, as of the last [`Self::advance`].
    held: Ring<Held>,
    waiting_octets: u64,
    /// True if the first of them is in service.
    serves: bool,
    latest_wait: SimDuration,
    free_at: SimTime,
    /// Octets and sending time of the packets that have left, and the time of the latest.
    carried: u64,
    sent: SimDuration,
    ended: SimTime,
    /// Octets sent until the measurement window began.
    carried_before: f64,
}

/// A [`Link`] of planned rate in first-in first-out order, whose only events are arrivals ([`mod@crate::link::planned`]).
#[derive(Debug)]
pub struct PlannedLink<'a> {
    pub(super) link: &'a mut Link,
}

impl PlannedLink<'_> {
    /// A packet of `size` octets arrives at the near end. Returns its passage, at the end of time if it never leaves, or `None` if there is
    /// no room.
    pub fn admit(&mut self, now: SimTime, size: u32) -> Option<Passage> {
        let Link { clock, wire, rest, .. } = &mut *self.link;
        let octets = u64::from(size) + wire.framing;
        rest.counts.ledger.on_came(octets);
        let planned = rest.planned.as_mut().expect("the rate of the link is planned");
        let passage = planned.admit(now, octets, wire, &mut rest.counts)?;
        clock.hold_until(planned.free_at);
        Some(passage)
    }
}

impl Planned {
    /// The state of a link that is planned ([`LinkConfig::is_planned`]).
    pub(super) fn new(config: &LinkConfig) -> Self {
        let channel = config.channel.as_ref().expect("a planned link has a channel");
        Self {
            rate: RateProcess::new(&channel.rate, channel.outage),
            held: Ring::default(),
            waiting_octets: 0,
            serves: false,
            latest_wait: SimDuration::ZERO,
            free_at: SimTime::ZERO,
            carried: 0,
            sent: SimDuration::ZERO,
            ended: SimTime::ZERO,
            carried_before: 0.0,
        }
    }

    fn admit(&mut self, now: SimTime, octets: u64, wire: &Wire, counts: &mut Counts) -> Option<Passage> {
        self.advance(now, &mut counts.stats);
        counts.stats.on_queue_change(now, self.waiting());
        if !wire.room.takes(self.waiting(), self.waiting_octets, octets) {
            counts.on_dropped();
            counts.ledger.on_dropped(octets);
            return None;
        }
        let (start, end) = self.plan(now, octets);
        self.held.push_back(Held { since: now, start, end, octets, to_spare: self.rate.to_spare() });
        self.waiting_octets += octets;
        self.advance(now, &mut counts.stats);
        let arrival = if end == SimTime::NEVER { end } else { end + wire.delay };
        Some(Passage { service: start, arrival })
    }

    /// The service of a packet behind all others.
    fn plan(&mut self, now: SimTime, octets: u64) -> (SimTime, SimTime) {
        let free_at = self.free_at.max(now);
        let start = if free_at == SimTime::NEVER { free_at } else { self.rate.service_start(free_at) };
        self.free_at = if start == SimTime::NEVER { start } else { self.rate.service_end(start, octets) };
        (start, self.free_at)
    }

    /// Brings what waits, and what has left, up to `now`.
    pub(super) fn advance(&mut self, now: SimTime, stats: &mut LinkStats) {
        while let Some(&first) = self.held.front() {
            if !self.serves {
                if first.start > now {
                    return;
                }
                stats.on_queue_change(first.start, self.waiting());
                self.latest_wait = first.start - first.since;
                stats.on_accepted(self.latest_wait);
                self.waiting_octets -= first.octets;
                self.serves = true;
            }
            if first.end > now {
                return;
            }
            self.carried += first.octets;
            self.sent += first.end - first.start;
            self.ended = first.end;
            self.held.drop_front();
            self.serves = false;
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.held.len() - usize::from(self.serves)
    }

    pub(super) fn waiting_octets(&self) -> u64 {
        self.waiting_octets
    }

    /// Waiting time of the packet that entered service last; zero if none waits.
    pub(super) fn wait(&self) -> SimDuration {
        if self.waiting() == 0 { SimDuration::ZERO } else { self.latest_wait }
    }

    pub(super) fn busy_time(&self, now: SimTime) -> SimDuration {
        let current = self.held.front().filter(|_| self.serves);
        self.sent + current.map_or(SimDuration::ZERO, |current| now.min(current.end) - current.start)
    }

    /// Octets sent up to `now`, including the sent part of the packet in service.
    pub(super) fn carried(&self, now: SimTime) -> u64 {
        let (whole, part) = self.sent_by(now);
        whole + part as u64
    }

    /// Octets of the packets that have left by `now`, and of the one that is leaving.
    fn sent_by(&self, now: SimTime) -> (u64, f64) {
        let mut whole = self.carried;
        for held in self.held.iter() {
            if held.end > now {
                let part = |held: &Held| self.rate.sent_of((held.octets, held.to_spare), (held.start, held.end), now);
                return (whole, Some(held).filter(|held| held.start <= now).and_then(part).unwrap_or(0.0));
            }
            whole += held.octets;
        }
        (whole, 0.0)
    }

    fn carried_in_parts(&self, now: SimTime) -> f64 {
        let (whole, part) = self.sent_by(now);
        whole as f64 + part
    }

    /// Begins the measurement window at `now`.
    pub(super) fn begin_measurement(&mut self, now: SimTime) {
        self.carried_before = self.carried_in_parts(self.rate.just_before(now));
    }

    /// Used share of the capacity since `from`.
    pub(super) fn used(&self, from: SimTime, now: SimTime) -> Option<f64> {
        let capacity = self.rate.capacity_within(from, now, self.ended == now)?;
        Some(used_of(capacity, self.carried_in_parts(self.rate.just_before(now)) - self.carried_before))
    }

    /// Checks that no more octets have left than the rate allows.
    pub(super) fn check_capacity(&self, now: SimTime) {
        self.rate.check_capacity(self.carried_in_parts(now), now);
    }
}
