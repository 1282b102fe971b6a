//! The network: nodes, links with their queues, discarders, routes.
//!
//! A [`NetworkConfig`] says what there is. A [`Link`] takes packets into its [queue](queue::QueueDiscipline), clocks them onto
//! its wire, loses, delays or copies them as its [`ChannelConfig`] says, and hands them out at the far end. It acts only when
//! it is called; the loop that moves time is in `ackclock_sim`. Each discipline of [`mod@queue`], each of [`impairment`] and of
//! [`rate`] has a page with its source and its departures.
//!
//! ```
//! use ackclock_net::queue::{Queue, QueueDiscipline, QueuePlace, Queued};
//! use ackclock_net::{DropTailConfig, Packet, QueueConfig, QueueLimit};
//! use ackclock_units::{Bandwidth, SimTime};
//!
//! let config = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(2) });
//! let place = QueuePlace { link: "bottleneck", seed: 1 };
//! let mut queue = Queue::new(&config, &place, Bandwidth(10_000_000));
//! for _ in 0..3 {
//!     let packet = Packet { size: 1_500, ..Packet::default() };
//!     queue.enqueue(SimTime::ZERO, Queued { packet, octets: 1_500, since: SimTime::ZERO });
//! }
//! assert_eq!((queue.len(), queue.octets(), queue.counters().drops), (2, 3_000, 1));
//! ```

mod channel;
mod clock;
mod config;
pub mod discarder;
mod effects;
mod ids;
pub mod impairment;
pub mod link;
mod link_stats;
mod own;
mod packet;
mod packets;
mod propagation;
pub mod queue;
pub mod rate;
mod ring;
mod rng;
mod route;
mod schedule;

pub use channel::ChannelConfig;
pub use config::{
    DiscardRule, DiscarderConfig, DropTailConfig, LinkChange, LinkConfig, NetworkConfig, NodeConfig, PacketClass,
    QueueConfig, QueueLimit, Selection, SgpqConfig, ThresholdConfig,
};
#[doc(inline)]
pub use discarder::{Discarder, NamedRule, discard_rules};
pub use effects::{MAX_DELAY, MAX_RATE, effects};
pub use ids::{ConnectionIndex, Direction, EndpointId, Generation, HopIndex, LinkId, NodeId, TelemetryId};
#[doc(inline)]
pub use impairment::{
    BitErrors, BurstLoss, ExponentialJitter, Fate, GilbertElliott, ImpairmentConfig, Impairments, Jitter, LossConfig,
    LossProcess, NormalJitter, Policer, PolicerConfig, RandomLoss, Reorder, ReorderEvery, ReorderProbability,
    UniformJitter, jitters, losses, reorders,
};
#[doc(inline)]
pub use link::{ClockedLink, Delivery, Link, LinkKind, Passage, PlannedLink, ServedLink, Service};
pub use link_stats::LinkStats;
pub use own::{ExternalEffect, ExternalEffectConfig, LinkEffect, PartStart, own_effects};
pub use packet::{Datagram, Packet, Payload, UDP_HEADER};
pub use packets::{PacketId, Packets, UnderWay};
pub use propagation::AggregateConfig;
#[doc(inline)]
pub use rate::{
    ChangingRate, HandoverConfig, Outage, RateConfig, RateProcess, RateStep, Trace, TraceError, TraceReader,
};
pub use rng::RandomStream;
pub use route::{Router, shortest_path};
pub use schedule::{ChangingDelay, DelayStep, Schedule};
