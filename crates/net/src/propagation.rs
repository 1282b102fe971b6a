//! Propagation: the fate of a packet from the end of its service to the far end of the link. It is gathered into a
//! burst, delayed, lost, copied.
//!
//! The order is: loss; the wait for a burst; propagation and jitter, in order if order is kept; holding back.

mod aggregate;

use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::channel::ChannelConfig;
use crate::impairment::{Fate, Impairments};
use crate::packet::Packet;
use crate::schedule::Schedule;

use self::aggregate::{Aggregator, Held};

pub use aggregate::AggregateConfig;

/// The wire of a link with a channel.
#[derive(Clone, Debug)]
pub(crate) struct Propagation {
    delay: Schedule<SimDuration>,
    keeps_order: bool,
    impairments: Impairments,
    aggregator: Option<Aggregator>,
    /// The last arrival so far of a packet that was not held back.
    latest: SimTime,
    released: Vec<Held>,
    /// Packets that left and were not lost.
    departed: u64,
    /// Name and seed of the link's random streams.
    stream: (Box<str>, u64),
}

/// A packet that will arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) time: SimTime,
    pub(crate) packet: Packet,
    /// Number of packets that left before it; `None` for a copy.
    pub(crate) place: Option<u64>,
}

impl Propagation {
    /// The wire of the link `name`, with its rate.
    pub(crate) fn new(config: &ChannelConfig, name: &str, rate: Bandwidth, seed: u64) -> Self {
        Self {
            delay: config.delay.clone(),
            keeps_order: config.keeps_order,
            impairments: Impairments::new(&config.impairments, name, rate, seed),
            aggregator: config.aggregate.map(Aggregator::new),
            latest: SimTime::ZERO,
            released: Vec::new(),
            departed: 0,
            stream: (name.into(), seed),
        }
    }

    /// Takes a packet of `octets` octets whose last bit left at `now`. Adds the arrivals that are now certain to
    /// `arrivals`; returns false if the packet is lost.
    pub(crate) fn depart(&mut self, now: SimTime, packet: &Packet, octets: u64, arrivals: &mut Vec<Arrival>) -> bool {
        let Fate::Arrives { jitter, held, copied } = self.impairments.depart(now, packet, octets) else { return false };
        let packet = Held { packet: *packet, jitter, extra: held, copied, place: self.departed };
        self.departed += 1;
        match &mut self.aggregator {
            Some(aggregator) if aggregator.gathers(&packet.packet) => {
                aggregator.gather(now, packet);
                self.release(now, arrivals);
            }
            _ => self.travel(now, &packet, arrivals),
        }
        true
    }

    /// Changes the delay from `now` on.
    pub(crate) fn change_delay(&mut self, now: SimTime, delay: SimDuration) {
        self.delay.push(now, delay);
    }

    /// Changes the loss from now on; see [`Impairments::lose`].
    pub(crate) fn change_loss(&mut self, p: f64) {
        let (name, seed) = &self.stream;
        self.impairments.lose(p, name, *seed);
    }

    /// Packets that wait for their burst to be complete.
    pub(crate) fn gathering(&self) -> usize {
        self.aggregator.as_ref().map_or(0, Aggregator::len)
    }

    /// Latest time at which the packets that wait for their burst to be complete travel on.
    pub(crate) fn release_at(&self) -> SimTime {
        self.aggregator.as_ref().map_or(SimTime::NEVER, Aggregator::release_at)
    }

    /// Sends the burst on its way if it is due at `now`.
    pub(crate) fn release(&mut self, now: SimTime, arrivals: &mut Vec<Arrival>) {
        let Some(aggregator) = self.aggregator.as_mut().filter(|aggregator| aggregator.release_at() <= now) else {
            return;
        };
        let mut burst = aggregator.take(std::mem::take(&mut self.released));
        for packet in burst.drain(..) {
            self.travel(now, &packet, arrivals);
        }
        self.released = burst;
    }

    fn travel(&mut self, now: SimTime, held: &Held, arrivals: &mut Vec<Arrival>) {
        let mut time = now + self.delay.at(now).0 + held.jitter;
        if self.keeps_order {
            time = time.max(self.latest);
        }
        self.latest = self.latest.max(time);
        time += held.extra;
        arrivals.push(Arrival { time, packet: held.packet, place: Some(held.place) });
        if held.copied {
            arrivals.push(Arrival { time, packet: held.packet, place: None });
        }
    }
}

#[cfg(test)]
mod tests;
