//! A link that is served packet by packet: any discipline, a rate that may change, a flight that may hurt.
//!
//! A packet that arrives is offered to the queue. When the link is free and the queue hands out a packet, that packet is
//! in service until the rate process says that its last bit has left; then its flight decides what becomes of it, and it
//! travels on in the link's ring as packets of any link do. The link has one event for its service (the end of it, or
//! the time at which a packet that is held back, or a burst that gathers, may leave) beside the one for the first arrival at its far end.
//!
//! A packet whose service ends at some instant has left for one that arrives at that instant.

use std::collections::VecDeque;

use ackclock_units::{SimDuration, SimTime};

use super::{InTransit, Link};
use crate::channel::ChannelConfig;
use crate::config::LinkConfig;
use crate::flight::{Arrival, Flight};
use crate::impairment::Policer;
use crate::packet::Packet;
use crate::queue::{Queue, QueueCounters, QueueDiscipline, QueuePlace, Queued};
use crate::rate::RateProcess;

/// What a served link has beside what every link has.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    queue: Queue,
    rate: RateProcess,
    policer: Option<Policer>,
    /// `None` on a plain link, on which nothing but its delay becomes of a packet.
    flight: Option<Flight>,
    /// What is about to travel on.
    arrivals: Vec<Arrival>,
    /// On a link on which packets overtake, of each that travels, in the order of arrival: how many left before it.
    places: VecDeque<Option<u64>>,
    /// As many had left before the last to arrive in order, and it (`NextExp` of RFC 4737 section 3.3).
    next_place: u64,
    /// Octets sent until the measurement window began.
    carried_before: u64,
    current: Option<InService>,
    /// When the pending service event fires; [`SimTime::NEVER`] if none is.
    wake: SimTime,
    /// What of the queue's counts is in the link's.
    counted: QueueCounters,
    /// Octets and sending time of the packets whose service has ended.
    carried: u64,
    sent: SimDuration,
    /// Wait of the packet that entered service last.
    latest_wait: SimDuration,
}

/// The packet in service.
#[derive(Clone, Copy, Debug)]
struct InService {
    queued: Queued,
    start: SimTime,
    end: SimTime,
}

/// What came of serving a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// A packet entered service: [`Link::in_service`].
    pub begins: bool,
    /// The link is to be served again at this time, and no event for it is pending.
    pub wake: Option<SimTime>,
}

impl Served {
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        let plain = || Box::new(ChannelConfig::constant(config.rate, config.delay));
        let channel = config.channel.clone().unwrap_or_else(plain);
        let place = QueuePlace { link: &config.name, rate: config.rate, seed };
        Self {
            queue: Queue::new(&config.queue, &place),
            rate: RateProcess::new(&channel.rate, channel.outage),
            policer: channel.policer.map(Policer::new),
            flight: config.channel.is_some().then(|| Flight::new(&channel, &config.name, seed)),
            arrivals: Vec::new(),
            places: VecDeque::new(),
            next_place: 0,
            carried_before: 0,
            current: None,
            wake: SimTime::NEVER,
            counted: QueueCounters::default(),
            carried: 0,
            sent: SimDuration::ZERO,
            latest_wait: SimDuration::ZERO,
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn waiting_octets(&self) -> u64 {
        self.queue.octets()
    }

    pub(crate) fn busy_time(&self, now: SimTime) -> SimDuration {
        self.sent + self.current.map_or(SimDuration::ZERO, |current| now.min(current.end) - current.start)
    }

    /// Octets sent up to `now`, of the packet in service its part.
    fn carried(&self, now: SimTime) -> u64 {
        let part = |current: InService| {
            let (elapsed, whole) = (now.min(current.end) - current.start, current.end - current.start);
            let product = u128::from(current.queued.octets) * u128::from(elapsed.0);
            product.checked_div(u128::from(whole.0)).map_or(0, |octets| octets as u64)
        };
        self.carried + self.current.map_or(0, part)
    }

    /// The measurement window begins.
    pub(crate) fn begin_measurement(&mut self, now: SimTime) {
        self.carried_before = self.carried(now);
    }

    /// What share of the octets that it could have sent since `from` a link of changing rate has sent; `None` if its
    /// rate does not change.
    pub(crate) fn used(&self, from: SimTime, now: SimTime) -> Option<f64> {
        let capacity = self.rate.capacity(from, now)?;
        let sent = (self.carried(now) - self.carried_before) as f64;
        Some(if capacity > 0.0 { sent / capacity } else { 0.0 })
    }

    /// The packet whose last bit has left by `now`.
    fn finish(&mut self, now: SimTime) -> Option<Queued> {
        let done = self.current.take_if(|current| current.end <= now)?;
        self.sent += done.end - done.start;
        self.carried += done.queued.octets;
        Some(done.queued)
    }

    /// The next packet enters service if it can; the link is free.
    fn begin(&mut self, now: SimTime) -> bool {
        if !self.queue.is_empty() && self.rate.service_start(now) > now {
            return false;
        }
        let Some(queued) = self.queue.dequeue(now) else { return false };
        let end = self.rate.service_end(now, queued.octets);
        self.latest_wait = now - queued.since;
        self.current = Some(InService { queued, start: now, end });
        true
    }

    /// When something is to be done next, if no event is pending for it.
    fn next_wake(&mut self, now: SimTime) -> Option<SimTime> {
        let service = match &self.current {
            Some(current) => current.end,
            None => self.next_start(now),
        };
        let next = self.flight.as_ref().map_or(service, |flight| service.min(flight.release_at()));
        if next == self.wake {
            return None;
        }
        self.wake = next;
        (next < SimTime::NEVER).then_some(next)
    }

    /// When a free link may begin its next service.
    fn next_start(&mut self, now: SimTime) -> SimTime {
        match self.queue.ready_at(now) {
            None => SimTime::NEVER,
            Some(ready) if ready > now => ready,
            Some(_) => self.rate.service_start(now).max(SimTime(now.0 + 1)),
        }
    }

    /// What the queue dropped and marked since the last call.
    fn news(&mut self) -> QueueCounters {
        let now = self.queue.counters();
        let before = std::mem::replace(&mut self.counted, now);
        QueueCounters { drops: now.drops - before.drops, marks: now.marks - before.marks }
    }
}

const NOT_SERVED: &str = "only a served link is asked to serve";

impl Link {
    /// True if the link is served packet by packet, by [`Link::offer`], [`Link::depart`] and [`Link::serve`].
    pub fn is_served(&self) -> bool {
        self.served.is_some()
    }

    /// A packet arrives at the near end. What ends at `now` must have departed; [`Link::serve`] is to follow.
    pub fn offer(&mut self, now: SimTime, packet: &Packet) {
        let served = self.served.as_deref_mut().expect(NOT_SERVED);
        if served.policer.as_mut().is_some_and(|policer| !policer.admits(now, u64::from(packet.size))) {
            self.on_discarded();
            return;
        }
        let octets = u64::from(packet.size) + self.framing;
        self.stats.on_queue_change(now, served.queue.len());
        served.queue.enqueue(now, Queued { packet: *packet, octets, since: now });
        self.count_news();
    }

    /// What leaves the link at `now` travels on; `schedule` is told of the arrivals that need an event.
    pub fn depart(&mut self, now: SimTime, mut schedule: impl FnMut(SimTime)) {
        let served = self.served.as_deref_mut().expect(NOT_SERVED);
        let sent = served.finish(now);
        let Some(flight) = &mut served.flight else {
            let Some(sent) = sent else { return };
            if self.carry(now + self.delay, &sent.packet) {
                schedule(now + self.delay);
            }
            return;
        };
        let mut arrivals = std::mem::take(&mut served.arrivals);
        if let Some(sent) = sent
            && !flight.depart(now, &sent.packet, sent.octets, &mut arrivals)
        {
            self.stats.on_lost();
        }
        flight.release(now, &mut arrivals);
        for arrival in &arrivals {
            self.carry_on(arrival, &mut schedule);
        }
        arrivals.clear();
        self.served.as_deref_mut().expect(NOT_SERVED).arrivals = arrivals;
    }

    fn carry_on(&mut self, arrival: &Arrival, schedule: &mut impl FnMut(SimTime)) {
        if arrival.place.is_none() {
            self.stats.on_duplicated();
        }
        if !self.overtaking {
            if self.carry(arrival.time, &arrival.packet) {
                schedule(arrival.time);
            }
            return;
        }
        let position = self.transit.partition_point(|other| other.arrival <= arrival.time);
        self.transit.insert(position, InTransit { arrival: arrival.time, packet: arrival.packet });
        self.served.as_deref_mut().expect(NOT_SERVED).places.insert(position, arrival.place);
        schedule(arrival.time);
    }

    /// The first packet has arrived on a link on which packets overtake.
    pub(super) fn count_order(&mut self) {
        let served = self.served.as_deref_mut().expect(NOT_SERVED);
        let Some(place) = served.places.pop_front().flatten() else { return };
        if place < served.next_place {
            self.stats.on_reordered();
        } else {
            served.next_place = place + 1;
        }
    }

    /// Begins the next service if the link is free.
    pub fn serve(&mut self, now: SimTime) -> Service {
        let served = self.served.as_deref_mut().expect(NOT_SERVED);
        let mut begins = false;
        if served.current.is_none() {
            self.stats.on_queue_change(now, served.queue.len());
            begins = served.begin(now);
            if begins {
                self.stats.on_accepted(served.latest_wait);
            }
        }
        let wake = served.next_wake(now);
        self.count_news();
        Service { begins, wake }
    }

    /// The link's service event fires: false if it is out of date.
    pub fn is_due(&mut self, now: SimTime) -> bool {
        let served = self.served.as_deref_mut().expect(NOT_SERVED);
        let due = served.wake == now;
        if due {
            served.wake = SimTime::NEVER;
        }
        due
    }

    /// The packet in service on a served link.
    pub fn in_service(&self) -> Option<&Packet> {
        Some(&self.served.as_deref()?.current.as_ref()?.queued.packet)
    }

    /// Octets that a served link has sent up to `now`.
    pub fn served_octets(&self, now: SimTime) -> Option<u64> {
        self.served.as_deref().map(|served| served.carried(now))
    }

    /// The wait at the link: on a served link that of the packet that entered service last, nothing if none waits;
    /// otherwise that of a packet that would arrive now.
    pub fn current_wait(&self, now: SimTime) -> SimDuration {
        match self.served.as_deref() {
            Some(served) if served.queue.is_empty() => SimDuration::ZERO,
            Some(served) => served.latest_wait,
            None => self.clock.free_at().saturating_since(now),
        }
    }

    /// What the discipline calls `name`, if it has such a thing.
    pub fn inspect(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.served.as_deref()?.queue.inspect(&mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
        found
    }

    fn count_news(&mut self) {
        let news = self.served.as_deref_mut().expect(NOT_SERVED).news();
        if news == QueueCounters::default() {
            return;
        }
        self.total_marks += news.marks;
        self.stats.on_marks(news.marks);
        for _ in 0..news.drops {
            self.on_discarded();
        }
    }
}

#[cfg(test)]
mod tests;
