//! A link that is served packet by packet: any discipline, a rate that may change, a wire that may impair packets.
//!
//! A packet that arrives is offered to the queue. When the link is free and the queue hands out a packet, that packet
//! is in service until its last bit has left, by the rate process. Its propagation then decides its fate, and it
//! travels on in the link's ring as packets of any link do. The link has one event for its service, beside the one for
//! the first arrival at its far end: the end of the service, or the time at which a held packet or a gathering burst
//! may leave.
//!
//! On a plain wire a packet goes on as its service begins, ahead of time, since its arrival is known then. Where no packet waits
//! behind it, the end of its service is no event.
//!
//! A packet whose service ends at some instant has left for one that arrives at that instant.

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, SimDuration, SimTime};

use super::counts::Counts;
use super::{InTransit, Link, Rest, served_of};
use crate::channel::ChannelConfig;
use crate::config::{LinkChange, LinkConfig};
use crate::ids::TelemetryId;
use crate::impairment::Policer;
use crate::link_stats::LinkStats;
use crate::packet::Packet;
use crate::packets::{Packets, UnderWay};
use crate::propagation::{Arrival, Propagation};
use crate::queue::{HostTable, Queue, QueueCounters, QueueDiscipline, QueuePlace, Queued, Treatment};
use crate::rate::RateProcess;

/// State of a served link beside that of every link.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    queue: Queue,
    rate: RateProcess,
    /// The span over which the queue wants the link's rate measured, if it does; and the rate where it does not change.
    rate_span: Option<SimDuration>,
    nominal: Bandwidth,
    /// The rate that the queue knows, and the time until which it holds.
    known_rate: Bandwidth,
    rate_known_until: SimTime,
    policer: Option<Policer>,
    /// The effects of the wire; `None` on a plain link, whose only effect is its delay.
    propagation: Option<Propagation>,
    /// True if packets may overtake each other on the wire, so that each has an event of its own.
    overtaking: bool,
    /// Packets that are about to travel on.
    arrivals: Vec<Arrival>,
    /// On a link with overtaking, the number of packets that left before each packet on the wire, in the order of
    /// arrival.
    places: VecDeque<Option<u64>>,
    /// Number of packets that had left before the last one in order, itself included (`NextExp` of RFC 4737 section
    /// 3.3).
    next_place: u64,
    /// Octets sent until the measurement window began.
    carried_before: f64,
    current: Option<InService>,
    /// Time of the pending service event; [`SimTime::NEVER`] if there is none.
    wake: SimTime,
    /// True if each end of a service is an event, where it would not need one.
    tells_ends: bool,
    /// Part of the queue's counts that is in the link's.
    counted: QueueCounters,
    /// Octets and sending time of the packets whose service has ended.
    carried: u64,
    sent: SimDuration,
    /// End of the latest of these services.
    ended: SimTime,
    /// Wait of the packet that entered service last.
    latest_wait: SimDuration,
}

/// Largest number of rate changes that a link reports to its queue after an idle time, in which the queue is empty.
const MOST_TOLD: u32 = 1_000;

/// The packet in service.
#[derive(Clone, Copy, Debug)]
struct InService {
    queued: Queued,
    start: SimTime,
    end: SimTime,
}

/// Result of serving a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// A packet entered service: [`ServedLink::in_service`].
    pub begins: bool,
    /// The time at which the link is to be served again, if no event for it is pending; and the time since which that is known, which
    /// for the end of a service is its beginning.
    pub wake: Option<(SimTime, SimTime)>,
}

impl Served {
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        let plain = || Box::new(ChannelConfig::constant(config.rate, config.delay));
        let channel = config.channel.clone().unwrap_or_else(plain);
        let place = QueuePlace { link: &config.name, seed };
        let queue = Queue::of(config, &place);
        Self {
            rate_span: queue.rate_span(),
            nominal: config.rate,
            known_rate: config.rate,
            rate_known_until: SimTime::ZERO,
            queue,
            rate: RateProcess::new(&channel.rate, channel.outage),
            policer: channel.policer.map(Policer::new),
            overtaking: config.channel.as_ref().is_some_and(|channel| channel.lets_overtake()),
            propagation: config.channel.is_some().then(|| Propagation::new(&channel, &config.name, config.rate, seed)),
            arrivals: Vec::new(),
            places: VecDeque::new(),
            next_place: 0,
            carried_before: 0.0,
            current: None,
            wake: SimTime::NEVER,
            tells_ends: false,
            counted: QueueCounters::default(),
            carried: 0,
            sent: SimDuration::ZERO,
            ended: SimTime::ZERO,
            latest_wait: SimDuration::ZERO,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Waiting time of the packet that entered service last; zero if none waits.
    pub(super) fn wait(&self) -> SimDuration {
        if self.queue.is_empty() { SimDuration::ZERO } else { self.latest_wait }
    }

    /// The internal that the discipline calls `name`, if it has one.
    pub(super) fn inspect(&self, now: SimTime, name: &str) -> Option<f64> {
        let mut found = None;
        self.queue.inspect(now, &mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
        found
    }

    /// True if packets may overtake each other, so that each has an event of its own.
    pub(super) fn is_overtaking(&self) -> bool {
        self.overtaking
    }

    /// True if packets only propagate on the wire, for a constant time.
    pub(super) fn has_plain_wire(&self) -> bool {
        self.propagation.is_none()
    }

    /// True if the packet in service is here until it has left, and not on its way already.
    fn has_not_gone_on(&self) -> bool {
        self.current.is_some() && !self.has_plain_wire()
    }

    /// Counts the arrival of the first packet: in order, or after one that left later.
    pub(super) fn on_delivered(&mut self, stats: &mut LinkStats) {
        if let Some(place) = self.places.pop_front().flatten() {
            if place < self.next_place {
                stats.on_reordered();
            } else {
                self.next_place = place + 1;
            }
        }
    }

    /// Packets that wait, are in service or gather for a burst.
    pub(super) fn held_packets(&self) -> usize {
        let gathering = self.propagation.as_ref().map_or(0, Propagation::gathering);
        self.queue.len() + usize::from(self.has_not_gone_on()) + gathering
    }

    /// Their octets, framing included, without those that gather for a burst.
    pub(super) fn held_octets(&self) -> u64 {
        self.queue.octets() + self.current.filter(|_| self.has_not_gone_on()).map_or(0, |current| current.queued.octets)
    }

    /// True if the queue has dropped packets, or packets gather, so that not every octet can be found.
    pub(super) fn hides_octets(&self) -> bool {
        self.counted.drops > 0 || self.propagation.as_ref().is_some_and(|wire| wire.gathering() > 0)
    }

    /// Checks that no octet has left faster than at the constant rate.
    pub(super) fn check_rate(&self) {
        self.rate.check_rate();
    }

    /// Checks that no more octets have left than the changing rate allows.
    pub(super) fn check_capacity(&self, now: SimTime) {
        self.rate.check_capacity(self.carried_in_parts(now), now);
    }

    pub(super) fn waiting_octets(&self) -> u64 {
        self.queue.octets()
    }

    pub(super) fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent + self.current.map_or(SimDuration::ZERO, |current| now.min(current.end) - current.start)
    }

    /// Octets sent up to `now`, including the sent part of the packet in service.
    pub(super) fn carried(&self, now: SimTime) -> u64 {
        self.carried + self.current.map_or(0, |current| self.sent_of(&current, now) as u64)
    }

    /// Octets of the packet in service that have left.
    fn sent_of(&self, current: &InService, now: SimTime) -> f64 {
        let InService { queued: Queued { octets, .. }, start, end } = *current;
        if let Some(sent) = self.rate.sent_of((octets, self.rate.to_spare()), (start, end), now) {
            return sent;
        }
        let (elapsed, whole) = (now.min(end) - start, end - start);
        let product = u128::from(octets) * u128::from(elapsed.0);
        product.checked_div(u128::from(whole.0)).map_or(0.0, |octets| octets as f64)
    }

    fn carried_in_parts(&self, now: SimTime) -> f64 {
        self.carried as f64 + self.current.map_or(0.0, |current| self.sent_of(&current, now))
    }

    /// Begins the measurement window.
    pub(super) fn begin_measurement(&mut self, now: SimTime) {
        self.carried_before = self.carried_in_parts(self.rate.just_before(now));
    }

    /// Used share of a changing link's capacity since `from`; `None` if its rate does not change.
    pub(super) fn used(&self, from: SimTime, now: SimTime) -> Option<f64> {
        // The window begins and ends before what happens at its borders. At the end of a run that has happened: what ended now has used
        // an opportunity of now, of which the packet behind it may have the rest.
        let has_happened =
            self.ended == now || self.current.is_none_or(|current| current.end != now) && self.rate.has_used(now);
        let capacity = self.rate.capacity_within(from, now, has_happened)?;
        Some(used_of(capacity, self.carried_in_parts(self.rate.just_before(now)) - self.carried_before))
    }

    /// True if the next event is the end of a service, or an opportunity of a trace for which a packet waits.
    fn is_busy(&self, now: SimTime) -> bool {
        match &self.current {
            Some(current) => current.end == self.wake,
            None => now < self.wake && self.wake < SimTime::NEVER && self.rate.promised() == Some(self.wake),
        }
    }

    /// True if nothing leaves at `now`.
    fn keeps_all(&self, now: SimTime) -> bool {
        self.has_plain_wire() && self.current.as_ref().is_none_or(|current| current.end > now)
    }

    /// The packet whose last bit has left by `now`, which ends its service.
    fn finish(&mut self, now: SimTime) -> Option<&Queued> {
        let done = self.current.as_ref().filter(|current| current.end <= now)?;
        self.sent += done.end - done.start;
        self.carried += done.queued.octets;
        self.ended = done.end;
        Some(&done.queued)
    }

    /// Ends the service of a packet that went on ahead of time, if that is over. No event tells of it where none waits behind it: then
    /// the queue hears of the idle link now.
    fn settle(&mut self, now: SimTime) -> bool {
        if !self.has_plain_wire() || self.finish(now).is_none() {
            return false;
        }
        self.current = None;
        if self.ended < now {
            self.begin(self.ended);
        }
        true
    }

    /// Lets the next packet enter service if it can; the link is free.
    fn begin(&mut self, now: SimTime) -> bool {
        if !self.queue.is_empty() && self.rate.service_start(now) > now {
            return false;
        }
        self.set_rate(now);
        if let Some(span) = self.rate_span {
            self.tell_rate(now, span);
        }
        let Some(queued) = self.queue.dequeue(now) else { return false };
        let end = self.rate.service_end(now, queued.octets);
        self.latest_wait = now - queued.since;
        self.current = Some(InService { queued, start: now, end });
        true
    }

    /// Reports each change of the link's rate to the queue, with its time; beyond [`MOST_TOLD`] changes only the last.
    /// Outages are not reported: waiting packets are still there after them.
    fn set_rate(&mut self, now: SimTime) {
        let mut told = 0;
        while now >= self.rate_known_until {
            let at = if told < MOST_TOLD { self.rate_known_until } else { now };
            let (rate, until) = self.rate.step_at(at).unwrap_or((Bandwidth(0), SimTime::NEVER));
            self.rate_known_until = until;
            told += 1;
            if rate > Bandwidth(0) && rate != self.known_rate {
                self.known_rate = rate;
                self.queue.set_rate(at, rate);
            }
        }
    }

    /// Reports the link's capacity of the last `span` to the queue.
    fn tell_rate(&mut self, now: SimTime, span: SimDuration) {
        let from = SimTime(now.0.saturating_sub(span.0));
        let measured = self.rate.capacity(from, now).filter(|_| now > from);
        let rate = measured.map_or(self.nominal.0 as f64 / 8.0, |octets| octets / (now - from).as_secs_f64());
        self.queue.on_rate(rate);
    }

    /// Time of the next action, if no event is pending for it.
    fn next_wake(&mut self, now: SimTime) -> Option<SimTime> {
        let service = match &self.current {
            Some(_) if self.needs_no_end() => SimTime::NEVER,
            Some(current) => current.end,
            None => self.next_start(now),
        };
        let next = self.propagation.as_ref().map_or(service, |wire| service.min(wire.release_at()));
        if next == self.wake {
            return None;
        }
        self.wake = next;
        (next < SimTime::NEVER).then_some(next)
    }

    /// Ends a service that was over before `now`: see [`Self::settle`]. What ends at `now` has its event, or comes with the next packet.
    pub(super) fn advance(&mut self, now: SimTime) {
        if self.current.as_ref().is_some_and(|current| current.end < now) {
            self.settle(now);
        }
    }

    /// True if nothing is to be done at the end of the service: its packet has gone on ahead of time, and none waits.
    fn needs_no_end(&self) -> bool {
        self.has_plain_wire() && !self.tells_ends && self.queue.is_empty()
    }

    /// Time at which a free link may begin its next service.
    fn next_start(&mut self, now: SimTime) -> SimTime {
        match self.queue.ready_at(now) {
            None => SimTime::NEVER,
            Some(ready) if ready > now => ready,
            Some(_) => self.rate.service_start(now).max(SimTime(now.0 + 1)),
        }
    }

    /// Drops and marks of the queue since the last call.
    fn new_counts(&mut self) -> QueueCounters {
        let now = self.queue.counters();
        let before = std::mem::replace(&mut self.counted, now);
        QueueCounters { drops: now.drops - before.drops, marks: now.marks - before.marks }
    }
}

/// The share of `capacity` that `sent` octets have used.
pub(super) fn used_of(capacity: f64, sent: f64) -> f64 {
    if capacity > 0.0 { sent / capacity } else { 0.0 }
}

/// A [`Link`] served packet by packet: any discipline, a rate that may change, a wire that may impair packets
/// ([`mod@crate::link::served`]).
#[derive(Debug)]
pub struct ServedLink<'a> {
    pub(super) link: &'a mut Link,
}

impl ServedLink<'_> {
    fn parts(&mut self) -> (&mut Served, &mut Counts) {
        let Rest { served, counts, .. } = &mut *self.link.rest;
        (served_of(served), counts)
    }

    /// Takes a packet at the near end. Packets whose service ends at `now` must have departed; [`Self::serve`] must
    /// follow. False if a policer dropped it.
    pub fn offer(&mut self, now: SimTime, packet: &Packet) -> bool {
        let octets = u64::from(packet.size) + self.link.wire.framing;
        let (served, counts) = self.parts();
        if served.policer.as_mut().is_some_and(|policer| !policer.admits(now, u64::from(packet.size))) {
            counts.on_dropped();
            return false;
        }
        counts.ledger.on_came(octets);
        counts.stats.on_queue_change(now, served.queue.len());
        served.set_rate(now);
        served.queue.enqueue(now, Queued { packet: *packet, octets, since: now });
        counts.add(served.new_counts());
        true
    }

    /// Changes the link at `now`, after departures at that time; [`Self::serve`] must follow.
    pub fn change(&mut self, now: SimTime, change: &LinkChange) {
        let (served, _) = self.parts();
        if let Some(rate) = change.rate {
            let from = served.current.map_or(now, |current| current.end);
            served.rate.change(from, rate);
            served.rate_known_until = served.rate_known_until.min(from);
        }
        let propagation = served.propagation.as_mut().expect("a link that is changed has a channel");
        if let Some(delay) = change.delay {
            propagation.change_delay(now, delay);
        }
        if let Some(p) = change.loss {
            propagation.change_loss(p);
        }
        if let (Some(room), Some(limit)) = (served.queue.room(), change.limit) {
            room.set_limit(limit);
        }
    }

    /// Sets the hosts of all packets.
    pub fn set_hosts(&mut self, hosts: &HostTable) {
        self.parts().0.queue.set_hosts(hosts);
    }

    /// Makes each end of a service an event from now on.
    pub fn tell_ends(&mut self) {
        self.parts().0.tells_ends = true;
    }

    /// Keeps dropped and marked packets from now on, for [`Self::treated`].
    pub fn watch(&mut self) {
        self.parts().0.queue.tally().watch();
    }

    /// The packets that the queue has dropped or marked since the last call, in order; none before [`Self::watch`].
    pub fn treated(&mut self) -> impl Iterator<Item = (Packet, Treatment)> {
        self.parts().0.queue.tally().take()
    }

    /// True if serving it again would have no effect. An event is pending, for the end of a service or for an
    /// opportunity of a trace, before which there is nothing to do.
    #[inline]
    pub fn is_busy(&self, now: SimTime) -> bool {
        self.link.rest.served.as_ref().is_some_and(|served| served.is_busy(now))
    }

    /// True if nothing leaves the link at `now`, so that [`Self::depart`] would have no effect.
    #[inline]
    pub fn keeps_all(&self, now: SimTime) -> bool {
        self.link.rest.served.as_ref().is_some_and(|served| served.keeps_all(now))
    }

    /// The packet whose last bit has left by `now`, before [`Self::depart`].
    pub fn leaving(&self, now: SimTime) -> Option<&Packet> {
        let current = self.link.rest.served.as_ref()?.current.as_ref()?;
        (current.end <= now).then_some(&current.queued.packet)
    }

    /// Takes the packet that has just entered service, and the time of its arrival at the far end, if nothing on the wire changes that:
    /// it goes on ahead of time, and must be put on the way. On any other wire [`Self::depart`] does that when it has left.
    pub fn send_ahead(&self, packets: &mut Packets) -> Option<(SimTime, UnderWay)> {
        let served = self.link.rest.served.as_ref()?;
        let current = served.current.as_ref().filter(|_| served.has_plain_wire())?;
        Some((current.end + self.link.wire.delay, packets.put(&current.queued.packet)))
    }

    /// Ends the service of a packet that went on ahead of time, if that is over by `now`. Returns true if it is.
    pub fn settle(&mut self, now: SimTime) -> bool {
        self.parts().0.settle(now)
    }

    /// Passes on the packet that leaves the link at `now`, on a wire that may change its way. `notice` gives the time at which an arriving packet goes on,
    /// in order; `schedule` takes the arrivals that need an event. Returns the packet if it was lost.
    pub fn depart(
        &mut self,
        now: SimTime,
        packets: &mut Packets,
        notice: impl Fn(SimTime) -> SimTime,
        mut schedule: impl FnMut(SimTime),
    ) -> Option<Packet> {
        let (served, counts) = self.parts();
        let sent = served.finish(now).copied();
        served.current.take_if(|_| sent.is_some());
        let propagation = served.propagation.as_mut()?;
        let mut arrivals = std::mem::take(&mut served.arrivals);
        let mut lost = None;
        if let Some(sent) = sent
            && !propagation.depart(now, &sent.packet, sent.octets, &mut arrivals)
        {
            counts.stats.on_lost();
            counts.ledger.on_lost(sent.octets);
            lost = Some(sent.packet);
        }
        propagation.release(now, &mut arrivals);
        for arrival in &mut arrivals {
            arrival.time = notice(arrival.time);
            self.carry(arrival, packets, &mut schedule);
        }
        arrivals.clear();
        self.parts().0.arrivals = arrivals;
        lost
    }

    fn carry(&mut self, arrival: &Arrival, packets: &mut Packets, schedule: &mut impl FnMut(SimTime)) {
        let Arrival { time, packet, place } = arrival;
        let octets = u64::from(packet.size) + self.link.wire.framing;
        // A copy has nothing of what links wrote.
        let telemetry = if place.is_some() { packet.telemetry } else { TelemetryId::default() };
        let packet = packets.put(&Packet { telemetry, ..*packet });
        let (served, counts) = self.parts();
        if place.is_none() {
            counts.stats.on_duplicated();
            counts.ledger.on_copied(octets);
        }
        if !served.overtaking {
            if self.link.put_behind(*time, packet) {
                schedule(*time);
            }
            return;
        }
        let on_way = InTransit { arrival: *time, packet };
        let position = self.link.transit.insert_behind(on_way, |other| other.arrival <= *time);
        self.parts().0.places.insert(position, *place);
        schedule(*time);
    }

    /// Begins the next service if the link is free.
    pub fn serve(&mut self, now: SimTime) -> Service {
        let (served, counts) = self.parts();
        let mut begins = false;
        if served.current.is_none() {
            counts.stats.on_queue_change(now, served.queue.len());
            begins = served.begin(now);
            if begins {
                counts.stats.on_accepted(served.latest_wait);
            }
        }
        let known_since = served.current.as_ref().map_or(now, |current| current.start);
        let wake = served.next_wake(now).map(|time| (known_since, time));
        counts.add(served.new_counts());
        Service { begins, wake }
    }

    /// Takes the link's service event: false if it is outdated.
    pub fn take_wake(&mut self, now: SimTime) -> bool {
        let (served, _) = self.parts();
        let is_due = served.wake == now;
        if is_due {
            served.wake = SimTime::NEVER;
        }
        is_due
    }

    /// The rate at which the packet in service leaves: that of the link, unless it changes.
    pub fn rate_of_service(&self) -> Bandwidth {
        let served = self.link.rest.served.as_ref();
        let current = served.filter(|served| served.rate.changes()).and_then(|served| served.current);
        let Some(InService { queued, start, end }) = current else { return self.link.wire.rate };
        let bit_ns = u128::from(queued.octets) * 8_000_000_000;
        bit_ns.checked_div(u128::from((end - start).0)).map_or(self.link.wire.rate, |rate| Bandwidth(rate as u64))
    }

    /// Place of the telemetry of the packet in service.
    pub fn telemetry_mut(&mut self) -> Option<&mut TelemetryId> {
        self.parts().0.current.as_mut().map(|current| &mut current.queued.packet.telemetry)
    }

    /// Waiting time of the packet in service.
    pub fn waited(&mut self) -> SimDuration {
        self.parts().0.latest_wait
    }

    /// The packet in service.
    pub fn in_service(&self) -> Option<&Packet> {
        Some(&self.link.rest.served.as_ref()?.current.as_ref()?.queued.packet)
    }
}

#[cfg(test)]
mod tests;
