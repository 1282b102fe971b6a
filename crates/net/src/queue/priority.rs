//! Strict priority: bands of packets; a band is served while nothing waits in those before it.
//!
//! Source: head-of-line priority without preemption (Cobham 1954), as in every router with priority queues.
//!
//! Departures: none; a band that is always busy starves those after it.

use ackclock_declare::{About, Review, declare, required, unset};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::fifo::{Fifo, Head};
use super::limit::{QueueLimit, of_link};
use super::{FlowSet, Parameters, QueueDiscipline, QueuePlace, Queued, Room, Tally};
use crate::config::PacketClass;
use crate::packet::Packet;

declare! {
    /// The parameters of [`Priority`].
    #[derive(Eq)]
    pub struct PriorityConfig {
        /// Bands, the most urgent first; a packet goes into the first that takes it, else into the last.
        bands: Vec<BandConfig> = required(vec![
            BandConfig { class: PacketClass::Acks, ..BandConfig::default() },
            BandConfig::default(),
        ])
        .must_be("a list of 1 to 64 tables of of, flows, max_size and limit", |bands| (1..=64).contains(&bands.len())),
    }
    check super::review;
}

declare! {
    /// The packets of a band.
    #[derive(Eq)]
    pub struct BandConfig {
        /// Class of packets that the band takes.
        class as "of": PacketClass = PacketClass::Any,
        /// Flows, or groups of flows, that the band takes.
        flows: Option<FlowSet> = unset("every flow"),
        /// Largest size of packets that the band takes, in octets of IP, without framing.
        largest as "max_size": Option<Bytes> = unset("any size").at_least(Bytes(1)),
        /// Largest backlog of the band.
        limit: QueueLimit = of_link(),
    }
}

impl Parameters for PriorityConfig {
    const ABOUT: About = About {
        name: "priority",
        aliases: &[],
        summary: "bands of packets, each served while nothing waits in those before it, without preemption",
        source: "head-of-line priority (Cobham 1954)",
        departures: "none; a band that is always busy starves those after it",
    };

    fn limits(&self) -> Vec<(String, QueueLimit)> {
        self.bands.iter().enumerate().map(|(index, band)| (format!("bands[{index}].limit"), band.limit)).collect()
    }

    fn review(&self, review: &mut Review<'_>) {
        let Some((last, others)) = self.bands.split_last() else { return };
        if !last.takes_all() {
            let message = "takes every packet that no band before it does, whatever it names";
            let remedy = "remove its of, flows and max_size, or add a last band without conditions";
            review.report(format!("bands[{}]", others.len()), message, remedy);
        }
    }
}

impl BandConfig {
    fn takes_all(&self) -> bool {
        self.class == PacketClass::Any && self.flows.is_none() && self.largest.is_none()
    }

    fn takes(&self, packet: &Packet) -> bool {
        self.class.has(packet)
            && self.flows.as_ref().is_none_or(|flows| flows.0.contains(&packet.connection().index()))
            && self.largest.is_none_or(|largest| packet.size() <= largest)
    }
}

/// Bands in strict order: each is served while those before it are empty. Source and departures:
/// [`mod@crate::queue::priority`].
#[derive(Clone, Debug)]
pub struct Priority {
    bands: Vec<Band>,
    packets: usize,
    octets: u64,
    tally: Tally,
}

#[derive(Clone, Debug)]
struct Band {
    config: BandConfig,
    room: Room,
    packets: Fifo,
}

impl Priority {
    /// Empty bands with these parameters.
    pub fn new(config: &PriorityConfig, _place: &QueuePlace<'_>) -> Self {
        let band = |config: &BandConfig| Band {
            config: config.clone(),
            room: Room::new(config.limit),
            packets: Fifo::default(),
        };
        Self { bands: config.bands.iter().map(band).collect(), packets: 0, octets: 0, tally: Tally::default() }
    }
}

impl QueueDiscipline for Priority {
    fn enqueue(&mut self, _now: SimTime, arrival: Queued) {
        let last = self.bands.len() - 1;
        let place = self.bands.iter().position(|band| band.config.takes(&arrival.packet)).unwrap_or(last);
        let band = &mut self.bands[place];
        if band.room.takes(band.packets.len(), band.packets.octets(), arrival.octets) {
            band.packets.push(arrival);
            self.packets += 1;
            self.octets += arrival.octets;
        } else {
            self.tally.drop(&arrival.packet);
        }
    }

    fn dequeue(&mut self, _now: SimTime) -> Option<Queued> {
        let band = self.bands.iter_mut().find(|band| band.packets.len() > 0)?;
        let first = band.packets.pop()?;
        self.packets -= 1;
        self.octets -= first.octets;
        Some(first)
    }

    fn set_rate(&mut self, _now: SimTime, rate: Bandwidth) {
        for band in &mut self.bands {
            band.room.set_rate(rate);
        }
    }

    crate::accounts!(packets, octets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::receiver;
    use ackclock_wire::Segment;

    #[test]
    fn bands_take_what_they_say_and_go_in_order() {
        let band = |class, flows, limit| BandConfig { class, flows, largest: None, limit };
        let config = PriorityConfig {
            bands: vec![
                band(PacketClass::Acks, None, QueueLimit::Unlimited),
                band(PacketClass::Any, Some(FlowSet(vec![7])), QueueLimit::Packets(1)),
                band(PacketClass::Any, Some(FlowSet(vec![1])), QueueLimit::Unlimited), // and whatever no other takes
            ],
        };
        let mut queue = Priority::new(&config, &QueuePlace { link: "test", seed: 1 });
        // (flow, payload): flow 3 fits no band, the second of flow 7 has no room
        for (flow, payload) in [(3, 1_000), (1, 500), (7, 700), (7, 701), (3, 0)] {
            let packet = Packet::tcp(Segment { payload, ..Segment::default() }, receiver(flow));
            queue.enqueue(SimTime::ZERO, Queued { packet, octets: u64::from(packet.size), since: SimTime::ZERO });
        }
        assert_eq!((queue.len(), queue.counters().drops), (4, 1));
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue(SimTime::ZERO)).map(|q| q.packet.size - 40).collect();
        assert_eq!(order, [0, 700, 1_000, 500]);
        assert_eq!(queue.octets(), 0);
    }
}
