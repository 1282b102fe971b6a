//! A link: what waits for it, what is being clocked onto it, what travels along it.
//!
//! A first-in first-out link of fixed rate is a virtual clock ([`ClockedLink`]); any other link is served packet by packet
//! ([`ServedLink`]). What they have in common is here: the ring of the packets that will come out at the far end, and the counts.

mod clocked;
mod ledger;
pub(crate) mod served;

use std::collections::VecDeque;

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::config::{LinkConfig, QueueConfig};
use crate::link_stats::LinkStats;
use crate::packet::Packet;

use self::clocked::Clocked;
use self::ledger::Ledger;
use self::served::Served;

pub use clocked::{ClockedLink, Passage};
pub use served::{ServedLink, Service};

/// A packet that will come out at the far end.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    arrival: SimTime,
    packet: Packet,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Link {
    kind: Kind,
    common: Common,
}

/// What every link has.
#[derive(Clone, Debug)]
struct Common {
    delay: SimDuration,
    framing: u64,
    rate: Bandwidth,
    /// What is to come out at the far end.
    transit: VecDeque<InTransit>,
    total_drops: u64,
    total_marks: u64,
    stats: LinkStats,
    ledger: Ledger,
}

/// How packets get onto the wire.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a clock is looked at with every packet: no way round by a box")]
enum Kind {
    /// By a virtual clock: the passage of a packet is known when it arrives.
    Clocked(Clocked),
    /// One by one, when the link is free and its queue hands one out.
    Served(Box<Served>),
}

/// A link by its kind, to be worked with.
#[derive(Debug)]
pub enum LinkKind<'a> {
    /// See [`ClockedLink`].
    Clocked(ClockedLink<'a>),
    /// See [`ServedLink`].
    Served(ServedLink<'a>),
}

impl Link {
    /// An idle link; random numbers, where the queue or the wire draws any, are of the seed's streams of its name.
    pub fn new(config: &LinkConfig, seed: u64) -> Self {
        let kind = match &config.queue {
            QueueConfig::DropTail(queue) if !config.is_served() => {
                Kind::Clocked(Clocked::new(config.rate, queue.limit))
            }
            _ => Kind::Served(Box::new(Served::new(config, seed))),
        };
        Self { kind, common: Common::new(config) }
    }

    /// The link as what it is.
    #[inline]
    pub fn kind(&mut self) -> LinkKind<'_> {
        let common = &mut self.common;
        match &mut self.kind {
            Kind::Clocked(clocked) => LinkKind::Clocked(ClockedLink { common, clocked }),
            Kind::Served(served) => LinkKind::Served(ServedLink { common, served }),
        }
    }

    /// The link, if it is a virtual clock.
    pub fn clocked(&mut self) -> Option<ClockedLink<'_>> {
        if let LinkKind::Clocked(link) = self.kind() { Some(link) } else { None }
    }

    /// The link, if it is served packet by packet.
    pub fn served(&mut self) -> Option<ServedLink<'_>> {
        if let LinkKind::Served(link) = self.kind() { Some(link) } else { None }
    }

    /// True if it is served packet by packet.
    pub fn is_served(&self) -> bool {
        matches!(self.kind, Kind::Served(_))
    }

    /// The first packet arrives at the far end, in `arrived`: copied once, as copies of copies make the processor wait.
    /// Returns when the next one arrives, unless that has an event of its own.
    pub fn deliver(&mut self, arrived: &mut Packet) -> Option<SimTime> {
        let common = &mut self.common;
        let first = common.transit.front().expect("a link's event means that a packet is under way");
        *arrived = first.packet;
        let octets = u64::from(first.packet.size) + common.framing;
        common.transit.pop_front();
        common.on_delivered(octets);
        match &mut self.kind {
            Kind::Clocked(clocked) => clocked.on_delivered(octets),
            Kind::Served(served) => {
                served.on_delivered(&mut common.stats);
                if served.is_overtaking() {
                    return None;
                }
            }
        }
        common.transit.front().map(|next| next.arrival)
    }

    /// Brings the counts up to `now`.
    pub fn advance(&mut self, now: SimTime) {
        if let LinkKind::Clocked(mut link) = self.kind() {
            link.advance(now);
        }
    }

    /// Packets waiting, as of the last call that moved time.
    pub fn waiting(&self) -> usize {
        match &self.kind {
            Kind::Clocked(clocked) => clocked.waiting(),
            Kind::Served(served) => served.waiting(),
        }
    }

    /// Octets waiting, framing included.
    pub fn waiting_octets(&self) -> Bytes {
        Bytes(match &self.kind {
            Kind::Clocked(clocked) => clocked.waiting_octets(),
            Kind::Served(served) => served.waiting_octets(),
        })
    }

    /// The wait at the link: on a served link that of the packet that entered service last, nothing if none waits;
    /// otherwise that of a packet that would arrive now.
    pub fn current_wait(&self, now: SimTime) -> SimDuration {
        match &self.kind {
            Kind::Clocked(clocked) => clocked.wait(now),
            Kind::Served(served) => served.wait(),
        }
    }

    /// A packet was dropped by a discarder in front of the link.
    pub fn on_discarded(&mut self) {
        self.common.on_dropped();
    }

    /// Time for which the link has been sending, up to `now`; on a link that packets enter ahead of time, what it took
    /// to send those that have arrived.
    pub fn busy_time(&self, now: SimTime) -> SimDuration {
        match &self.kind {
            Kind::Clocked(clocked) => clocked.busy_time(now),
            Kind::Served(served) => served.busy_time(now),
        }
    }

    /// Octets that a served link has sent up to `now`.
    pub fn served_octets(&self, now: SimTime) -> Option<u64> {
        if let Kind::Served(served) = &self.kind { Some(served.carried(now)) } else { None }
    }

    /// What the discipline calls `name`, if it has such a thing.
    pub fn inspect(&self, name: &str) -> Option<f64> {
        if let Kind::Served(served) = &self.kind { served.inspect(name) } else { None }
    }

    /// Begins the measurement window: averages from here on.
    pub fn begin_measurement(&mut self, now: SimTime) {
        self.advance(now);
        if let Kind::Served(served) = &mut self.kind {
            served.begin_measurement(now);
        }
        let busy = self.busy_time(now);
        self.common.stats.restart(now, busy);
    }

    /// Ends the measurement window and returns what was measured.
    pub fn end_measurement(&mut self, now: SimTime) -> LinkStats {
        self.advance(now);
        let mut stats = self.common.stats.clone();
        let used = match &self.kind {
            Kind::Clocked(_) => None,
            Kind::Served(served) => served.used(stats.window_start(), now),
        };
        stats.finish(now, self.waiting(), self.busy_time(now), used);
        stats
    }

    /// Packets dropped since the beginning of the run.
    pub fn total_drops(&self) -> u64 {
        self.common.total_drops
    }

    /// Packets marked since the beginning of the run.
    pub fn total_marks(&self) -> u64 {
        self.common.total_marks
    }

    /// Clock rate.
    pub fn rate(&self) -> Bandwidth {
        self.common.rate
    }

    /// In builds with assertions, checks what holds between any two calls: no packet is made or lost without being counted, and
    /// no link sends faster than its rate.
    #[inline]
    pub fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            let held = self.held_packets();
            self.common.ledger.check_packets(held);
            match &self.kind {
                Kind::Clocked(clocked) => clocked.check_rate(),
                Kind::Served(served) => served.check_rate(),
            }
        }
    }

    /// As [`Self::check_invariants`], with what would be too slow to check at every call: every octet is counted, and those that
    /// a link of changing rate has sent are no more than it could have sent until `now`.
    pub fn check_at_end(&self, now: SimTime) {
        self.check_invariants();
        if cfg!(debug_assertions) {
            let transit = self.common.transit.iter();
            let in_transit: u64 = transit.map(|on_way| u64::from(on_way.packet.size) + self.common.framing).sum();
            let (held, drops) = match &self.kind {
                Kind::Clocked(clocked) => (clocked.passed_on_octets(), false),
                Kind::Served(served) => (served.held_octets(), served.hides_octets()),
            };
            self.common.ledger.check_octets(in_transit + held, drops);
            if let Kind::Served(served) = &self.kind {
                served.check_capacity(now);
            }
        }
    }

    /// Packets that have come and are neither delivered nor dropped nor lost. Those that travel on in the ring of a later link
    /// are under way on this one, too.
    fn held_packets(&self) -> usize {
        let transit = self.common.transit.len();
        transit
            + match &self.kind {
                Kind::Clocked(clocked) => clocked.passed_on(),
                Kind::Served(served) => served.held_packets(),
            }
    }

    /// Packets that are nowhere else than here.
    pub fn own_packets(&self) -> usize {
        match &self.kind {
            Kind::Clocked(_) => self.common.transit.len(),
            Kind::Served(_) => self.held_packets(),
        }
    }

    /// Packets that it lost after it had sent them, less the copies that it made, since the beginning of the run; zero where
    /// assertions are not checked.
    pub fn net_losses(&self) -> i64 {
        self.common.ledger.net_losses()
    }
}

impl Common {
    fn new(config: &LinkConfig) -> Self {
        Self {
            delay: config.delay,
            framing: config.framing.0,
            rate: config.rate,
            transit: VecDeque::new(),
            total_drops: 0,
            total_marks: 0,
            stats: LinkStats::default(),
            ledger: Ledger::default(),
        }
    }

    /// Puts a packet on the way, behind all others. Returns true if it is the only one, so that its arrival is the link's next
    /// event.
    fn carry(&mut self, arrival: SimTime, packet: &Packet) -> bool {
        debug_assert!(
            self.transit.back().is_none_or(|last| last.arrival <= arrival),
            "a packet overtakes on a link that keeps order"
        );
        self.transit.push_back(InTransit { arrival, packet: *packet });
        self.transit.len() == 1
    }

    fn on_delivered(&mut self, octets: u64) {
        self.stats.on_delivered();
        self.ledger.on_delivered(octets);
    }

    fn on_dropped(&mut self) {
        self.total_drops += 1;
        self.stats.on_drop();
    }
}

#[cfg(test)]
mod tests;
