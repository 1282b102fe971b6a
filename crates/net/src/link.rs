//! A link: its queue, its transmitter and the packets on its wire.
//!
//! A first-in first-out link of fixed rate, or of a rate that is known before the run, is a virtual clock ([`ClockedLink`],
//! [`PlannedLink`]); any other link is served packet by packet ([`ServedLink`]). This file holds their common parts: the ring of the packets that will come out at the far
//! end, and the counts.
//!
//! A link's hot fields fit in one cache line of 64 octets: with thousands of links, cache misses dominate the time of a
//! packet. Alike links share their constant properties (`Wire`). The fields for waiting, dropped and marked packets,
//! and for served links, lie elsewhere (`Rest`).

pub mod clocked;
mod counts;
mod ledger;
pub mod planned;
pub mod served;
mod wire;

use std::sync::Arc;

use ackclock_units::{Bandwidth, Bytes, Shared, SimDuration, SimTime};

use crate::clock::LinkClock;
use crate::config::LinkConfig;
use crate::link_stats::{LinkStats, Window};
use crate::packets::UnderWay;
use crate::ring::Ring;

use self::clocked::Waits;
use self::counts::Counts;
use self::planned::Planned;
use self::served::Served;
use self::wire::{Kind, Wire};

#[doc(inline)]
pub use clocked::{ClockedLink, Passage};
#[doc(inline)]
pub use planned::PlannedLink;
#[doc(inline)]
pub use served::{ServedLink, Service};

/// A packet that will come out at the far end.
#[derive(Clone, Copy, Debug, Default)]
struct InTransit {
    arrival: SimTime,
    packet: UnderWay,
}

/// A packet that comes out at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The packet that comes out.
    pub packet: UnderWay,
    /// Time of the next arrival, unless that has an event of its own.
    pub next: Option<SimTime>,
}

/// One direction of a wire between two nodes: the packets that wait for it, are clocked onto it and travel along it
/// ([`mod@crate::link`]).
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Link {
    /// Clock of the link; it stands still for a served link, whose rate has a clock of its own.
    clock: LinkClock,
    /// Packets that will come out at the far end.
    transit: Ring<InTransit>,
    wire: Arc<Wire>,
    rest: Box<Rest>,
}

#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Link>() == 64, "what every packet looks at is one cache line");

/// State of a link beside the fields that every packet needs.
#[derive(Clone, Debug, Default)]
struct Rest {
    counts: Counts,
    /// Number of times that the ring's count of departures began anew.
    turns: u64,
    /// Packets that wait for a clocked link.
    waits: Waits,
    /// State of a link of planned rate.
    planned: Option<Box<Planned>>,
    /// State of a served link.
    served: Option<Box<Served>>,
}

/// A link by its kind, for calls of that kind.
#[derive(Debug)]
pub enum LinkKind<'a> {
    /// A link of fixed rate in first-in first-out order.
    Clocked(ClockedLink<'a>),
    /// A link in first-in first-out order whose changing rate is known before the run.
    Planned(PlannedLink<'a>),
    /// A link that is served packet by packet.
    Served(ServedLink<'a>),
}

impl Link {
    /// An idle link. Random numbers of its queue and wire come from streams of the seed and its name.
    pub fn new(config: &LinkConfig, seed: u64) -> Self {
        Self::on(Arc::new(Wire::new(config)), config, seed)
    }

    /// An idle link that is served packet by packet, whatever its configuration would allow.
    pub fn packet_by_packet(config: &LinkConfig, seed: u64) -> Self {
        Self::on(Arc::new(Wire { kind: Kind::Served, ..Wire::new(config) }), config, seed)
    }

    /// Idle links, where alike ones share their constant properties.
    pub fn all(configs: &[LinkConfig], seed: u64) -> Vec<Self> {
        let mut wires = Shared::default();
        configs.iter().map(|config| Self::on(wires.get(&Wire::new(config)), config, seed)).collect()
    }

    fn on(wire: Arc<Wire>, config: &LinkConfig, seed: u64) -> Self {
        let served = (wire.kind == Kind::Served).then(|| Box::new(Served::new(config, seed)));
        let planned = (wire.kind == Kind::Planned).then(|| Box::new(Planned::new(config)));
        let clock = if served.is_some() { LinkClock::stopped() } else { LinkClock::default() };
        let rest = Box::new(Rest { planned, served, ..Rest::default() });
        Self { clock, transit: Ring::default(), wire, rest }
    }

    /// The link as its kind.
    #[inline]
    pub fn kind(&mut self) -> LinkKind<'_> {
        match self.wire.kind {
            Kind::Clocked => LinkKind::Clocked(ClockedLink { link: self }),
            Kind::Planned => LinkKind::Planned(PlannedLink { link: self }),
            Kind::Served => LinkKind::Served(ServedLink { link: self }),
        }
    }

    /// The link, if it is a virtual clock.
    #[inline]
    pub fn clocked(&mut self) -> Option<ClockedLink<'_>> {
        (self.wire.kind == Kind::Clocked).then_some(ClockedLink { link: self })
    }

    /// The link, if it is served packet by packet.
    pub fn served(&mut self) -> Option<ServedLink<'_>> {
        self.is_served().then_some(ServedLink { link: self })
    }

    /// True if its rate changes as is known before the run.
    pub fn is_planned(&self) -> bool {
        self.wire.kind == Kind::Planned
    }

    /// True if it is known when a packet arrives at the far end before it is under way there: nothing on the wire delays it or
    /// loses it.
    pub fn knows_arrivals(&self) -> bool {
        self.rest.served.as_ref().is_none_or(|served| served.has_plain_wire())
    }

    /// True if it is served packet by packet.
    pub fn is_served(&self) -> bool {
        self.wire.kind == Kind::Served
    }

    /// The first packet arrives at the far end.
    #[inline]
    pub fn deliver(&mut self) -> Delivery {
        let InTransit { packet, .. } = *self.transit.front().expect("a link's event means that a packet is under way");
        self.transit.drop_front();
        if self.transit.left() == 0 {
            self.rest.turns += 1;
        }
        self.rest.counts.ledger.on_delivered(u64::from(packet.size) + self.wire.framing);
        let next = if self.wire.kind == Kind::Clocked { self.next_arrival() } else { self.next_delivery() };
        Delivery { packet, next }
    }

    /// The packet that arrives at the far end next, if that is known.
    #[inline]
    pub fn first(&self) -> Option<UnderWay> {
        self.transit.front().map(|on_way| on_way.packet)
    }

    /// The packet that arrives at the far end after the next one, if that is known.
    #[inline]
    pub fn second(&self) -> Option<UnderWay> {
        self.transit.second().map(|on_way| on_way.packet)
    }

    fn next_delivery(&mut self) -> Option<SimTime> {
        let Rest { served, counts, .. } = &mut *self.rest;
        let is_overtaking = served.as_mut().is_some_and(|served| {
            served.on_delivered(&mut counts.stats);
            served.is_overtaking()
        });
        if is_overtaking { None } else { self.next_arrival().filter(|arrival| *arrival < SimTime::NEVER) }
    }

    #[inline]
    fn next_arrival(&self) -> Option<SimTime> {
        self.transit.front().map(|next| next.arrival)
    }

    /// Packets waiting, as of the last call that moved time.
    pub fn waiting(&self) -> usize {
        match &*self.rest {
            Rest { served: Some(served), .. } => served.waiting(),
            Rest { planned: Some(planned), .. } => planned.waiting(),
            rest => rest.waits.waiting(),
        }
    }

    /// Octets waiting, framing included.
    pub fn waiting_octets(&self) -> Bytes {
        Bytes(match &*self.rest {
            Rest { served: Some(served), .. } => served.waiting_octets(),
            Rest { planned: Some(planned), .. } => planned.waiting_octets(),
            rest => rest.waits.waiting_octets(),
        })
    }

    /// The wait of the packet that entered service last, nothing if none waits; as of the last call that moved time.
    pub fn current_wait(&self) -> SimDuration {
        match &*self.rest {
            Rest { served: Some(served), .. } => served.wait(),
            Rest { planned: Some(planned), .. } => planned.wait(),
            rest => rest.waits.latest_wait(|octets| self.wire.pace.rounded_up(octets)),
        }
    }

    /// A packet was dropped by a discarder in front of the link.
    pub fn on_discarded(&mut self) {
        self.rest.counts.on_dropped();
    }

    /// Time at which the link will have sent all packets so far; the end of time for a served link, which does not
    /// know.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        self.clock.free_at()
    }

    /// Time for which the link has been sending, up to `now`.
    pub fn busy_time(&self, now: SimTime) -> SimDuration {
        match &*self.rest {
            Rest { served: Some(served), .. } => served.busy_time(now),
            Rest { planned: Some(planned), .. } => planned.busy_time(now),
            _ => self.clocked_busy_time(now),
        }
    }

    /// Octets that a link that does not send at its fixed rate has sent up to `now`.
    pub fn sent_octets(&self, now: SimTime) -> Option<u64> {
        match &*self.rest {
            Rest { served: Some(served), .. } => Some(served.carried(now)),
            Rest { planned: Some(planned), .. } => Some(planned.carried(now)),
            _ => None,
        }
    }

    /// The internal that the discipline calls `name`, if it has one, at `now`.
    pub fn inspect(&self, now: SimTime, name: &str) -> Option<f64> {
        self.rest.served.as_ref()?.inspect(now, name)
    }

    /// Begins the measurement window before the events at `now`: averages start here.
    pub fn begin_measurement(&mut self, now: SimTime) {
        let before = just_before(now);
        self.advance(before);
        if let Some(served) = &mut self.rest.served {
            served.begin_measurement(now);
        }
        if let Some(planned) = &mut self.rest.planned {
            planned.begin_measurement(now);
        }
        let window = self.window(now, before);
        self.rest.counts.stats.restart(window);
    }

    /// Ends the measurement window after the events at `now`, the end of the run, and returns the measurements.
    pub fn end_measurement(&mut self, now: SimTime) -> LinkStats {
        self.end_behind(now, now)
    }

    /// Ends the measurement window before the events at `now`, and returns the measurements.
    pub fn end_measurement_before(&mut self, now: SimTime) -> LinkStats {
        self.end_behind(now, just_before(now))
    }

    /// Ends the window at `now`; it includes the events up to `last`.
    fn end_behind(&mut self, now: SimTime, last: SimTime) -> LinkStats {
        self.advance(last);
        let mut stats = std::mem::take(&mut self.rest.counts.stats);
        let used = match &*self.rest {
            Rest { served: Some(served), .. } => served.used(stats.window_start(), now),
            Rest { planned: Some(planned), .. } => planned.used(stats.window_start(), now),
            _ => None,
        };
        stats.finish(self.window(now, last), self.waiting(), used);
        stats
    }

    /// The counts of a link at `now`, of events up to `last`, to which it has been advanced.
    fn window(&self, now: SimTime, last: SimTime) -> Window {
        let delivered = (self.rest.turns << 32 | u64::from(self.transit.left())) + self.rest.waits.passed();
        let begun =
            (self.wire.kind == Kind::Clocked).then(|| delivered + (self.held_packets() - self.not_begun(last)) as u64);
        Window { at: now, busy: self.busy_time(now), delivered, begun }
    }

    /// Packets dropped since the beginning of the run.
    pub fn total_drops(&self) -> u64 {
        self.rest.counts.total_drops
    }

    /// Packets marked since the beginning of the run.
    pub fn total_marks(&self) -> u64 {
        self.rest.counts.total_marks
    }

    /// The rate of the link; of one whose rate changes, the rate for which buffers are sized.
    pub fn rate(&self) -> Bandwidth {
        self.wire.rate
    }

    /// In builds with assertions, checks the invariants between any two calls: no packet is made or lost without being
    /// counted, and no link sends faster than its rate.
    #[inline]
    pub fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            self.rest.counts.ledger.check_packets(self.held_packets());
            match &self.rest.served {
                None => self.clock.check_pace(self.wire.pace), // of a planned rate it has counted nothing
                Some(served) => served.check_rate(),
            }
        }
    }

    /// Checks like [`Self::check_invariants`] what would be too slow at every call: every octet is counted, and a link
    /// of changing rate has sent no more than its capacity until `now`.
    pub fn check_at_end(&self, now: SimTime) {
        self.check_invariants();
        if cfg!(debug_assertions) {
            let transit = self.transit.iter();
            let in_transit: u64 = transit.map(|on_way| u64::from(on_way.packet.size) + self.wire.framing).sum();
            let (held, drops) = match &self.rest.served {
                None => (0, false),
                Some(served) => (served.held_octets(), served.hides_octets()),
            };
            let elsewhere = self.rest.waits.passed_on_octets() + self.rest.waits.to_drop_octets();
            self.rest.counts.ledger.check_octets(in_transit + elsewhere + held, drops);
            if let Some(served) = &self.rest.served {
                served.check_capacity(now);
            }
            if let Some(planned) = &self.rest.planned {
                planned.check_capacity(now);
            }
        }
    }

    /// Packets that have come and are neither delivered nor dropped nor lost. Those in the ring of a later link count
    /// on this one, too.
    fn held_packets(&self) -> usize {
        self.own_packets() + self.rest.waits.passed_on()
    }

    /// Packets that will come out at the far end.
    pub fn in_transit(&self) -> usize {
        self.transit.len()
    }

    /// Packets that only this link holds.
    pub fn own_packets(&self) -> usize {
        let held = self.rest.served.as_ref().map_or(0, |served| served.held_packets());
        self.transit.len() + held + self.rest.waits.to_drop()
    }

    /// Packets lost after they were sent, less the copies made, since the beginning of the run; zero in builds without
    /// assertions.
    pub fn net_losses(&self) -> i64 {
        self.rest.counts.ledger.net_losses()
    }

    /// Takes a packet that another copy of this link has passed on, and that comes out at the far end here. That copy
    /// counts its earlier fate. Returns true if it is the only one.
    pub fn receive(&mut self, arrival: SimTime, packet: UnderWay) -> bool {
        self.rest.counts.ledger.on_came(u64::from(packet.size) + self.wire.framing);
        self.put_behind(arrival, packet)
    }

    /// Puts an admitted packet on the way, on a link that keeps order. Returns true if its arrival is the link's next event.
    #[inline]
    pub fn carry(&mut self, arrival: SimTime, packet: UnderWay) -> bool {
        self.put_behind(arrival, packet)
    }

    /// Puts a packet on the way, behind all others. Returns true if it is the only one, so that its arrival is the link's next
    /// event.
    #[inline]
    fn put_behind(&mut self, arrival: SimTime, packet: UnderWay) -> bool {
        debug_assert!(
            self.transit.back().is_none_or(|last| last.arrival <= arrival),
            "a packet overtakes on a link that keeps order"
        );
        self.transit.push_back(InTransit { arrival, packet });
        self.transit.len() == 1
    }
}

/// The last instant before `now`.
fn just_before(now: SimTime) -> SimTime {
    SimTime(now.0.saturating_sub(1))
}

/// The served part of the link.
fn served_of(served: &mut Option<Box<Served>>) -> &mut Served {
    served.as_mut().expect("the link is served packet by packet")
}

#[cfg(test)]
mod tests;
