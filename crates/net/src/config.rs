//! What a network consists of: checked values, ready to be built.

use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::channel::ChannelConfig;
use crate::ids::NodeId;
use crate::link::Link;
use crate::packet::Packet;
use crate::queue::{CakeConfig, CodelConfig, DualPi2Config, FqCodelConfig, FqPieConfig, PieConfig};
use crate::queue::{DrrConfig, FqConfig, PriorityConfig, RedConfig, SfqConfig, SharedBufferConfig, TbfConfig};

/// Nodes and the one-way links between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkConfig {
    /// Hosts, routers and discarders.
    pub nodes: Vec<NodeConfig>,
    /// One-way links; a full-duplex cable is two of them.
    pub links: Vec<LinkConfig>,
    /// Discarders, referred to by nodes and links.
    pub discarders: Vec<DiscarderConfig>,
}

/// A node. Hosts are the nodes at which flows begin and end; a node that forwards is a router.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeConfig {
    /// As in the scenario.
    pub name: String,
    /// A packet discarder: every packet that this node forwards passes this one first (index into
    /// [`NetworkConfig::discarders`]).
    pub discarder: Option<usize>,
}

/// A one-way link: a queue, serialisation at `rate`, then propagation for `delay`.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// As in the scenario; the second direction of a cable has a name of its own.
    pub name: String,
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Clock rate.
    pub rate: Bandwidth,
    /// Propagation delay.
    pub delay: SimDuration,
    /// Octets that the link layer adds to each IP packet.
    pub framing: Bytes,
    /// What waits for the link.
    pub queue: QueueConfig,
    /// A discarder in front of the queue (index into [`NetworkConfig::discarders`]).
    pub discarder: Option<usize>,
    /// Record every packet that enters the link's wire, for a pcapng file.
    pub capture: bool,
    /// What makes it more than a fixed rate and a fixed delay; `rate` and `delay` are then those that buffers are sized
    /// for.
    pub channel: Option<Box<ChannelConfig>>,
}

impl LinkConfig {
    /// True if the link is served packet by packet; a DropTail queue before a plain wire needs only a clock.
    pub fn is_served(&self) -> bool {
        !matches!(self.queue, QueueConfig::DropTail(_)) || self.channel.is_some()
    }

    /// True if the link's queue has an internal of this name to report.
    pub fn reports(&self, name: &str) -> bool {
        Link::new(self, 0).inspect(name).is_some()
    }
}

impl NetworkConfig {
    /// Everything that names connections by their numbers: rules of discarders and bands of queues.
    pub fn connection_lists(&mut self) -> impl Iterator<Item = &mut Vec<usize>> {
        let rules = self.discarders.iter_mut().flat_map(|discarder| &mut discarder.rules);
        let bands = self.links.iter_mut().filter_map(|link| match &mut link.queue {
            QueueConfig::Priority(config) => Some(&mut config.bands),
            _ => None,
        });
        let of_bands = bands.flatten().filter_map(|band| band.flows.as_mut());
        rules.filter_map(|rule| rule.flows.as_mut()).chain(of_bands)
    }
}

/// A queue discipline with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail(DropTailConfig),
    /// Small packets before all others.
    Sgpq(SgpqConfig),
    /// First in, first out, with a mark for what finds more than a threshold.
    Threshold(ThresholdConfig),
    /// Random Early Detection.
    Red(RedConfig),
    /// A token bucket that shapes.
    Tbf(TbfConfig),
    /// Bands in strict order.
    Priority(PriorityConfig),
    /// Deficit Round Robin.
    Drr(DrrConfig),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig),
    /// Fair queueing, bit by bit.
    Fq(FqConfig),
    /// A queue for every flow in one memory.
    SharedBuffer(SharedBufferConfig),
    /// Controlled delay (RFC 8289).
    Codel(CodelConfig),
    /// Flow queues with CoDel (RFC 8290).
    FqCodel(FqCodelConfig),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieConfig),
    /// Flow queues with PIE.
    FqPie(FqPieConfig),
    /// CAKE.
    Cake(CakeConfig),
    /// Coupled queues for L4S (RFC 9332).
    DualPi2(DualPi2Config),
}

/// Parameters of the queue that marks by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdConfig {
    /// A packet that finds more than this waiting is marked.
    pub threshold: QueueLimit,
    /// How much may wait.
    pub limit: QueueLimit,
}

/// Parameters of DropTail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTailConfig {
    /// How much may wait; the packet in service does not count.
    pub limit: QueueLimit,
}

/// Parameters of the Small Get Priority Queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SgpqConfig {
    /// Packets of at most this many octets of IP go first.
    pub threshold: Bytes,
    /// How many small packets may wait.
    pub small_limit: QueueLimit,
    /// How many of the others may wait.
    pub limit: QueueLimit,
}

/// How much may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Anything.
    Unlimited,
    /// So many packets.
    Packets(u64),
    /// So many octets, framing included.
    Bytes(Bytes),
    /// A packet that would wait longer than this is dropped.
    Time(SimDuration),
}

/// Which packets a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketClass {
    /// All.
    Any,
    /// Packets with data in them.
    Data,
    /// Packets without: ACKs, mostly.
    Acks,
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

/// Which of the packets that a rule looks at it drops. Positions count from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// Those at the given positions.
    Positions(Vec<u64>),
    /// Those from the first to the last position, inclusive.
    Range(u64, u64),
    /// Those at every multiple of k.
    Every(u64),
    /// Each with this probability.
    Probability(f64),
    /// All (within the rule's time window).
    All,
}

/// One rule of a discarder.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscardRule {
    /// Which packets it looks at, and counts.
    pub class: PacketClass,
    /// Only those of these connections ([`Packet::connection`]); `None` is all.
    pub flows: Option<Vec<usize>>,
    /// Only those that pass from this time on.
    pub from: SimTime,
    /// Only those that pass before this time.
    pub until: SimTime,
    /// Which of them are dropped.
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
