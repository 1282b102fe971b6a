//! Topologies, links, queues and discarders as a file says them.

use ackclock_net::PacketClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{kinds, layer, table, words};
use super::{
    AggregateTable, CountOrNames, DelayTable, Duration, Framing, HandoverTable, Jitter, List, Loss, PolicerTable,
    Queue, Rate, RateTable, Reorder, TextOr,
};

kinds! {
    /// Nodes and links; `ackclock topologies` explains each.
    pub(crate) enum Topology {
        /// Two routers; every flow has a host of its own on either side.
        "dumbbell" = Dumbbell(Dumbbell),
        /// Nodes in a row.
        "chain" = Chain(Chain),
        /// Hosts around a hub.
        "star" = Star(Star),
        /// Routers in a row, with a host on each.
        "parking_lot" = ParkingLot(ParkingLot),
        /// Nodes and links one by one.
        "explicit" = Explicit(Explicit),
    }
}

table! {
    /// Two routers; every flow has a host of its own on either side.
    pub(crate) struct Dumbbell {
        /// The links between hosts and routers.
        #[schemars(required)]
        access: LinkTable,
        /// The link between the routers.
        #[schemars(required)]
        bottleneck: LinkTable,
    }
}

table! {
    /// Nodes in a row.
    pub(crate) struct Chain {
        /// Their names, or tables.
        #[schemars(required)]
        nodes: List<TextOr<String, NodeTable>>,
        /// The link between any two neighbours.
        link: LinkTable,
        /// In place of `link`: one for each pair of neighbours.
        links: List<LinkTable>,
    }
}

table! {
    /// Hosts around a hub.
    pub(crate) struct Star {
        /// Its name; "hub" by default.
        hub: String,
        /// How many ("host1", "host2", ...), or the name of each.
        #[schemars(required)]
        hosts: CountOrNames,
        /// The link of each host to the hub.
        #[schemars(required)]
        link: LinkTable,
    }
}

table! {
    /// Routers R1 ... in a row, with a host H1 ... on each.
    pub(crate) struct ParkingLot {
        /// Links between routers.
        #[schemars(required)]
        hops: u64,
        /// The links between routers.
        #[schemars(required)]
        bottleneck: LinkTable,
        /// The links between hosts and routers.
        #[schemars(required)]
        access: LinkTable,
    }
}

table! {
    /// Nodes and links one by one.
    pub(crate) struct Explicit {
        /// The nodes.
        #[schemars(required)]
        node: List<NodeTable>,
        /// The links.
        #[schemars(required)]
        link: List<ExplicitLink>,
    }
}

table! {
    /// A node.
    pub(crate) struct NodeTable {
        /// Its name.
        #[schemars(required)]
        name: String,
        /// "discarder" if it has a `discard` list, else "host" or "router" as it is used; "appliance" is a router with one.
        kind: NodeKind,
        /// What it drops of the packets that it forwards.
        discard: List<DiscardRule>,
    }
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeKind {
    Host,
    Router,
    Discarder,
    /// A router with an appliance on it.
    Appliance,
}

layer! {
    /// A link, with its way back.
    pub(crate) struct LinkTable {
        /// Clock rate.
        #[schemars(required)]
        rate: TextOr<Rate, RateTable>,
        /// One-way propagation delay.
        #[schemars(required)]
        delay: TextOr<Duration, DelayTable>,
        /// What the link layer adds to each packet; "none" by default.
        framing: Framing,
        /// What waits for the link.
        queue: Queue,
        /// What is dropped before the queue.
        discard: List<DiscardRule>,
        /// Record the packets for a pcapng file.
        capture: bool,
        /// Nothing arrives before what left earlier, though its delay is shorter; true by default.
        keep_order: bool,
        /// Satellite after satellite.
        handover: HandoverTable,
        /// What is lost on the way.
        loss: Loss,
        /// A random delay besides.
        jitter: Jitter,
        /// What is held back, so that others pass it.
        reorder: Reorder,
        /// Probability that a packet arrives twice; 0 by default.
        duplicate: f64,
        /// Drops what exceeds a rate, before the queue.
        policer: PolicerTable,
        /// Packets travel in bursts.
        aggregate: AggregateTable,
        /// Where the way back differs; discard, capture and what hurts packets are not inherited.
        reverse: HalfLink,
    }
}

layer! {
    /// What differs on a link's way back.
    pub(crate) struct HalfLink {
        /// Clock rate.
        rate: TextOr<Rate, RateTable>,
        /// One-way propagation delay.
        delay: TextOr<Duration, DelayTable>,
        /// What the link layer adds to each packet.
        framing: Framing,
        /// What waits for the link.
        queue: Queue,
        /// What is dropped before the queue.
        discard: List<DiscardRule>,
        /// Record the packets for a pcapng file.
        capture: bool,
        /// Nothing arrives before what left earlier, though its delay is shorter; true by default.
        keep_order: bool,
        /// Satellite after satellite.
        handover: HandoverTable,
        /// What is lost on the way.
        loss: Loss,
        /// A random delay besides.
        jitter: Jitter,
        /// What is held back, so that others pass it.
        reorder: Reorder,
        /// Probability that a packet arrives twice; 0 by default.
        duplicate: f64,
        /// Drops what exceeds a rate, before the queue.
        policer: PolicerTable,
        /// Packets travel in bursts.
        aggregate: AggregateTable,
    }
}

table! {
    /// A link between two named nodes.
    pub(crate) struct ExplicitLink {
        /// Where it begins.
        #[schemars(required)]
        from: String,
        /// Where it ends.
        #[schemars(required)]
        to: String,
        /// False for a link without a way back.
        duplex: bool,
        /// Clock rate.
        #[schemars(required)]
        rate: TextOr<Rate, RateTable>,
        /// One-way propagation delay.
        #[schemars(required)]
        delay: TextOr<Duration, DelayTable>,
        /// What the link layer adds to each packet; "none" by default.
        framing: Framing,
        /// What waits for the link.
        queue: Queue,
        /// What is dropped before the queue.
        discard: List<DiscardRule>,
        /// Record the packets for a pcapng file.
        capture: bool,
        /// Nothing arrives before what left earlier, though its delay is shorter; true by default.
        keep_order: bool,
        /// Satellite after satellite.
        handover: HandoverTable,
        /// What is lost on the way.
        loss: Loss,
        /// A random delay besides.
        jitter: Jitter,
        /// What is held back, so that others pass it.
        reorder: Reorder,
        /// Probability that a packet arrives twice; 0 by default.
        duplicate: f64,
        /// Drops what exceeds a rate, before the queue.
        policer: PolicerTable,
        /// Packets travel in bursts.
        aggregate: AggregateTable,
        /// Where the way back differs; discard, capture and what hurts packets are not inherited.
        reverse: HalfLink,
    }
}

impl ExplicitLink {
    /// The link without its ends.
    pub(crate) fn link(&self) -> LinkTable {
        LinkTable {
            rate: self.rate.clone(),
            delay: self.delay.clone(),
            framing: self.framing,
            queue: self.queue.clone(),
            discard: self.discard.clone(),
            capture: self.capture,
            keep_order: self.keep_order,
            handover: self.handover.clone(),
            loss: self.loss.clone(),
            jitter: self.jitter.clone(),
            reorder: self.reorder.clone(),
            duplicate: self.duplicate,
            policer: self.policer.clone(),
            aggregate: self.aggregate.clone(),
            reverse: self.reverse.clone(),
        }
    }
}

kinds! {
    /// One rule of a discarder: which of the packets it looks at are dropped. Positions count from 1.
    pub(crate) enum DiscardRule {
        /// One packet.
        "nth" = Nth(Nth),
        /// Several packets.
        "list" = List(Positions),
        /// Consecutive packets.
        "range" = Range(PositionRange),
        /// Every k-th packet.
        "every" = Every(Every),
        /// Each packet with a probability.
        "probability" = Probability(Chance),
        /// All packets of a window of time.
        "window" = Window(Window),
    }
}

/// Which packets a rule looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DiscardFilter {
    pub(crate) of: Option<Class>,
    pub(crate) flow: Option<String>,
    pub(crate) from: Option<Duration>,
    pub(crate) until: Option<Duration>,
}

/// A rule's own fields, and those that every rule has.
macro_rules! rule {
    ($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        table! {
            $(#[$meta])*
            pub(crate) struct $name {
                $($(#[$field_meta])* $field: $type,)*
                /// Look at these packets only, and count only these; "any" by default.
                of: Class,
                /// Look at this flow's packets only.
                flow: String,
                /// Look at packets from this time on only.
                from: Duration,
                /// Look at packets before this time only.
                until: Duration,
            }
        }

        impl $name {
            fn filter(&self) -> DiscardFilter {
                DiscardFilter { of: self.of, flow: self.flow.clone(), from: self.from, until: self.until }
            }
        }
    };
}

rule! {
    /// Drops one packet.
    struct Nth {
        /// Its position.
        #[schemars(required)]
        n: u64,
    }
}

rule! {
    /// Drops several packets.
    struct Positions {
        /// Their positions.
        #[schemars(required)]
        positions: List<u64>,
    }
}

rule! {
    /// Drops consecutive packets.
    struct PositionRange {
        /// Position of the first.
        #[schemars(required)]
        first: u64,
        /// Position of the last.
        #[schemars(required)]
        last: u64,
    }
}

rule! {
    /// Drops every k-th packet.
    struct Every {
        /// 1 drops all.
        #[schemars(required)]
        k: u64,
    }
}

rule! {
    /// Drops each packet with a probability.
    struct Chance {
        /// From 0 to 1.
        #[schemars(required)]
        p: f64,
    }
}

rule! {
    /// Drops all packets between `from` and `until`.
    struct Window {}
}

impl DiscardRule {
    pub(crate) fn filter(&self) -> DiscardFilter {
        match self {
            Self::Nth(rule) => rule.filter(),
            Self::List(rule) => rule.filter(),
            Self::Range(rule) => rule.filter(),
            Self::Every(rule) => rule.filter(),
            Self::Probability(rule) => rule.filter(),
            Self::Window(rule) => rule.filter(),
        }
    }
}

words! {
    /// Which packets a rule looks at.
    pub(crate) enum Class for PacketClass {
        "any" = Any,
        "data" = Data,
        "acks" = Acks,
    }
}
