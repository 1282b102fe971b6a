//! Configuration of a network: checked values, ready to be built.

use ackclock_declare::words;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::channel::ChannelConfig;
use crate::ids::{LinkId, NodeId};
use crate::link::Link;
use crate::packet::Packet;
pub use crate::queue::{DropTailConfig, QueueConfig, QueueLimit, SgpqConfig, ThresholdConfig};
use crate::queue::{Queue, QueueDiscipline, QueuePlace};
use crate::rate::RateConfig;
use crate::schedule::Schedule;

/// Nodes and the one-way links between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkConfig {
    /// Hosts, routers and discarders.
    pub nodes: Vec<NodeConfig>,
    /// One-way links; a full-duplex cable is two of them.
    pub links: Vec<LinkConfig>,
    /// Discarders, referred to by nodes and links.
    pub discarders: Vec<DiscarderConfig>,
    /// Changes of links while they work.
    pub changes: Vec<LinkChange>,
}

/// A change of a link at an instant, as by an operator; `None` leaves a property. The packet being sent ends at its old
/// rate. Waiting packets stay, and the queue applies its new limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    /// Time of the change.
    pub at: SimTime,
    /// The link that changes.
    pub link: LinkId,
    /// Rate at which packets are clocked onto it; nothing leaves at zero.
    pub rate: Option<Bandwidth>,
    /// Propagation delay, one way, of packets whose last bit leaves from then on.
    pub delay: Option<SimDuration>,
    /// Probability that a packet that was sent is lost, in place of any other loss of the link.
    pub loss: Option<f64>,
    /// Limit of its queue.
    pub limit: Option<QueueLimit>,
}

/// A node. Hosts are the nodes at which flows begin and end; a node that forwards is a router.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// Name in the scenario.
    pub name: String,
    /// A packet discarder: every packet that this node forwards passes this one first (index into
    /// [`NetworkConfig::discarders`]).
    pub discarder: Option<usize>,
}

/// A one-way link: a queue, serialisation at `rate`, then propagation for `delay`.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Name in the scenario; the second direction of a cable has a name of its own.
    pub name: String,
    /// The node that sends onto it.
    pub from: NodeId,
    /// The node at its far end.
    pub to: NodeId,
    /// Rate at which packets are clocked onto it.
    pub rate: Bandwidth,
    /// Propagation delay, one way.
    pub delay: SimDuration,
    /// Octets that the link layer adds to each IP packet.
    pub framing: Bytes,
    /// Queue in front of the link.
    pub queue: QueueConfig,
    /// Packets that the device behind the queue takes, beside the one that it sends.
    pub device_queue: Option<u32>,
    /// A discarder in front of the queue (index into [`NetworkConfig::discarders`]).
    pub discarder: Option<usize>,
    /// Record every packet that enters the link's wire, for a pcapng file.
    pub capture: bool,
    /// Write its state into packets with data (in-band telemetry).
    pub telemetry: bool,
    /// Link of which this is the reverse direction, whose file has the packets of both.
    pub way_back_of: Option<LinkId>,
    /// Properties beyond a fixed rate and a fixed delay; `rate` and `delay` are then those that buffers are sized for.
    pub channel: Option<Box<ChannelConfig>>,
}

impl LinkConfig {
    /// A link that only serialises and propagates, behind a queue without a limit.
    pub fn plain(name: &str, (from, to): (NodeId, NodeId), rate: Bandwidth, delay: SimDuration) -> Self {
        Self {
            name: name.to_owned(),
            from,
            to,
            rate,
            delay,
            framing: Bytes::ZERO,
            queue: QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Unlimited }),
            device_queue: None,
            discarder: None,
            capture: false,
            telemetry: false,
            way_back_of: None,
            channel: None,
        }
    }

    /// True if the link is served packet by packet. A DropTail queue before a plain wire needs only a clock, unless it
    /// writes telemetry.
    pub fn is_served(&self) -> bool {
        !matches!(self.queue, QueueConfig::DropTail(_))
            || self.device_queue.is_some()
            || self.channel.is_some()
            || self.telemetry
    }

    /// True if the times of all its packets follow from its rate, which is known before the run: a DropTail queue, and a rate that only a
    /// trace or outages change.
    pub fn is_planned(&self) -> bool {
        let is_fifo = matches!(self.queue, QueueConfig::DropTail(_));
        is_fifo
            && self.device_queue.is_none()
            && !self.telemetry
            && self.channel.as_ref().is_some_and(|channel| channel.only_changes_rate() && !channel.is_plain())
            && !self.takes_changes()
    }

    /// True if the link can be changed during a run: it is served, and its rate has steps.
    pub fn takes_changes(&self) -> bool {
        self.channel.as_deref().is_some_and(|channel| matches!(channel.rate, RateConfig::Schedule(_)))
    }

    /// Allows changes of the link during a run.
    pub fn expect_changes(&mut self) {
        let plain = || Box::new(ChannelConfig::constant(self.rate, self.delay));
        let channel = self.channel.get_or_insert_with(plain);
        if let RateConfig::Constant(rate) = channel.rate {
            channel.rate = RateConfig::Schedule(Schedule::constant(rate));
        }
    }

    /// True if the limit of its queue can be changed.
    pub fn takes_limit(&self) -> bool {
        let place = QueuePlace { link: &self.name, seed: 0 };
        Queue::of(self, &place).room().is_some()
    }

    /// True if its queue or its effect on packets is external to this crate.
    pub fn has_external(&self) -> bool {
        let has_effect = |channel: &ChannelConfig| channel.impairments.effect.is_some();
        matches!(self.queue, QueueConfig::External(_)) || self.channel.as_deref().is_some_and(has_effect)
    }

    /// True if the link's queue reports an internal of this name.
    pub fn reports(&self, name: &str) -> bool {
        Link::new(self, 0).inspect(SimTime::ZERO, name).is_some()
    }
}

impl NetworkConfig {
    /// Every list of connections by their numbers: in rules of discarders and bands of queues.
    pub fn connection_lists(&mut self) -> impl Iterator<Item = &mut Vec<usize>> {
        let rules = self.discarders.iter_mut().flat_map(|discarder| &mut discarder.rules);
        let bands = self.links.iter_mut().filter_map(|link| match &mut link.queue {
            QueueConfig::Priority(config) => Some(&mut config.bands),
            _ => None,
        });
        let of_bands = bands.flatten().filter_map(|band| Some(&mut band.flows.as_mut()?.0));
        rules.filter_map(|rule| rule.flows.as_mut()).chain(of_bands)
    }
}

words! {
    /// Class of packets to which a rule applies.
    pub enum PacketClass {
        /// Any packet at all.
        "any" = Any,
        /// Packets with data in them.
        "data" = Data,
        /// Packets without data: mostly ACKs.
        "acks" = Acks,
    }
}

impl PacketClass {
    /// True if the packet is of this class.
    pub fn has(self, packet: &Packet) -> bool {
        match self {
            Self::Any => true,
            Self::Data => packet.has_data(),
            Self::Acks => !packet.has_data(),
        }
    }
}

/// Selection of the packets that a rule drops, among those to which it applies. Positions count from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// The packets at the given positions.
    Positions(Vec<u64>),
    /// The packets from the first to the last position, inclusive.
    Range(u64, u64),
    /// The packets at every multiple of k.
    Every(u64),
    /// Each packet with this probability.
    Probability(f64),
    /// All packets (within the rule's time window).
    All,
}

/// One rule of a discarder.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscardRule {
    /// Class of packets to which the rule applies, and which it counts.
    pub class: PacketClass,
    /// Connections to which the rule applies ([`Packet::connection`]); `None` is all.
    pub flows: Option<Vec<usize>>,
    /// Time from which the rule applies.
    pub from: SimTime,
    /// Time until which the rule applies, exclusive.
    pub until: SimTime,
    /// Selection of the packets to drop.
    pub selection: Selection,
}

/// A packet discarder: a packet that any rule selects is dropped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiscarderConfig {
    /// Its name, which also names its random stream.
    pub name: String,
    /// Every rule sees every packet.
    pub rules: Vec<DiscardRule>,
}
