//! Topologies, links, queues and discarders in a file.

use ackclock_net::{AggregateConfig, ChangingDelay, ChangingRate, HandoverConfig, PolicerConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macros::{kinds, layer, table};
use super::{
    CountOrNames, DiscardRule, Duration, Effect, Fields, Framing, Jitter, List, Loss, Queue, Rate, Reorder, TextOr,
};

kinds! {
    /// Nodes and links; `ackclock list topologies` explains each.
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
        /// The names or tables of the nodes.
        #[schemars(required)]
        nodes: List<TextOr<String, NodeTable>>,
        /// The link between any two neighbours.
        link: LinkTable,
        /// One link for each pair of neighbours, in place of `link`.
        links: List<LinkTable>,
    }
}

table! {
    /// Hosts around a hub.
    pub(crate) struct Star {
        /// The hub's name; "hub" by default.
        hub: String,
        /// The number of hosts ("host1", "host2", ...), or the name of each.
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
        /// Number of links between routers.
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
        /// The nodes of the network.
        #[schemars(required)]
        node: List<NodeTable>,
        /// The links of the network.
        #[schemars(required)]
        link: List<ExplicitLink>,
    }
}

table! {
    /// A node of the network.
    pub(crate) struct NodeTable {
        /// The node's name.
        #[schemars(required)]
        name: String,
        /// The node's role; by default "discarder" with a `discard` list, else "host" or "router" by its use.
        kind: NodeKind,
        /// Rules by which it drops packets that it forwards.
        discard: List<DiscardRule>,
    }
}

/// The role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeKind {
    Host,
    Router,
    Discarder,
    /// A router with an appliance on it.
    Appliance,
}

/// Defines the three tables that describe a link, from the fields that they share.
macro_rules! link_tables {
    ($($(#[$meta:meta])* $field:ident: $type:ty,)+) => {
        layer! {
            /// A link in both directions.
            pub(crate) struct LinkTable {
                /// Clock rate (bandwidth, capacity; ns-3's data rate).
                #[schemars(required)]
                rate: TextOr<Rate, Fields<ChangingRate>>,
                /// One-way propagation delay (latency), half of the RTT.
                #[schemars(required)]
                delay: TextOr<Duration, Fields<ChangingDelay>>,
                /// Octets that the link layer adds to each packet; "none" by default.
                framing: Framing,
                $($(#[$meta])* $field: $type,)+
                /// Fields that differ in the reverse direction; discards and effects on packets are not inherited.
                reverse: HalfLink,
            }
        }

        layer! {
            /// The fields that differ in a link's reverse direction.
            pub(crate) struct HalfLink {
                /// Clock rate (bandwidth, capacity; ns-3's data rate).
                rate: TextOr<Rate, Fields<ChangingRate>>,
                /// One-way propagation delay (latency), half of the RTT.
                delay: TextOr<Duration, Fields<ChangingDelay>>,
                /// Octets that the link layer adds to each packet.
                framing: Framing,
                $($(#[$meta])* $field: $type,)+
            }
        }

        table! {
            /// A link between two named nodes.
            pub(crate) struct ExplicitLink {
                /// The node at which it begins.
                #[schemars(required)]
                from: String,
                /// The node at which it ends.
                #[schemars(required)]
                to: String,
                /// False for a link in one direction; true by default.
                duplex: bool,
                /// Clock rate (bandwidth, capacity; ns-3's data rate).
                #[schemars(required)]
                rate: TextOr<Rate, Fields<ChangingRate>>,
                /// One-way propagation delay (latency), half of the RTT.
                #[schemars(required)]
                delay: TextOr<Duration, Fields<ChangingDelay>>,
                /// Octets that the link layer adds to each packet; "none" by default.
                framing: Framing,
                $($(#[$meta])* $field: $type,)+
                /// Fields that differ in the reverse direction; discards and effects on packets are not inherited.
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
                    $($field: self.$field.clone(),)+
                    reverse: self.reverse.clone(),
                }
            }
        }
    };
}

link_tables! {
    /// Queue discipline of the link (buffer).
    queue: Queue,
    /// Packets in the device behind the queue, beyond the queue discipline's control; none by default.
    device_queue: u32,
    /// Rules that drop packets before the queue.
    discard: List<DiscardRule>,
    /// Record the packets for a pcapng file.
    capture: bool,
    /// Write queue, octets sent, time and rate into data packets, for controllers by telemetry; false by default.
    telemetry: bool,
    /// Keeps the order of packets, even where a later one has a shorter delay; true by default.
    keep_order: bool,
    /// Handovers from one satellite to the next.
    handover: Fields<HandoverConfig>,
    /// Random losses after the packet was sent.
    loss: Loss,
    /// Random delay on top of propagation.
    jitter: Jitter,
    /// Packets that are held back, so that others pass them.
    reorder: Reorder,
    /// Probability that a packet arrives twice; 0 by default.
    duplicate: f64,
    /// A custom effect on packets, on top of the others.
    effect: Effect,
    /// Token bucket before the queue that drops packets beyond a rate.
    policer: Fields<PolicerConfig>,
    /// Aggregation of packets into bursts.
    aggregate: Fields<AggregateConfig>,
}
