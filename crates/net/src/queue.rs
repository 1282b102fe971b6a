//! Queue disciplines: the order in which packets leave for a link, and the choice of those dropped or marked. One file
//! each.
//!
//! A discipline sees packets, times and its own parameters; it knows nothing of the link. It takes arrivals, and
//! returns the next packet when the link is free, so it can decide at either end, as CoDel and PIE must.
//!
//! Its file describes it completely, including its parameters as a scenario writes them. A new one is such a file, its
//! `mod`, and its line in the list below.

pub mod abc;
pub mod cake;
pub mod codel;
pub mod device;
pub mod drop_tail;
pub mod drr;
pub mod dualpi2;
pub mod external;
mod fifo;
pub mod flow_hash;
mod flow_queues;
mod flow_schedule;
mod flow_set;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
mod limit;
mod longest;
pub mod pie;
pub mod priority;
pub mod red;
mod round_robin;
pub mod sfq;
pub mod sgpq;
pub mod shared_buffer;
mod tally;
pub mod tbf;
#[cfg(test)]
mod testing;
pub mod threshold;

use std::fmt::Debug;
use std::sync::LazyLock;

use ackclock_declare::{About, Declared, Part, Parts, Review};
use ackclock_units::{Bandwidth, SimDuration, SimTime};

use crate::config::LinkConfig;
use crate::own::PartStart;
use crate::packet::Packet;
use crate::rng::RandomStream;

#[doc(inline)]
pub use abc::{Abc, AbcQueueConfig};
#[doc(inline)]
pub use cake::{AckFilter, Cake, CakeConfig, CellFraming, HostTable, Isolation, ShaperConfig};
#[doc(inline)]
pub use codel::{Codel, CodelConfig, CodelParameters, InverseSqrt};
#[doc(inline)]
pub use device::Device;
#[doc(inline)]
pub use drop_tail::{DropTail, DropTailConfig};
#[doc(inline)]
pub use drr::{Drr, DrrConfig};
#[doc(inline)]
pub use dualpi2::{DualPi2, DualPi2Config, DualScheduler};
#[doc(inline)]
pub use external::{ExternalQueue, ExternalQueueConfig};
pub use flow_set::FlowSet;
#[doc(inline)]
pub use fq::{Fq, FqConfig, FqVariant};
#[doc(inline)]
pub use fq_codel::{FqCodel, FqCodelConfig};
#[doc(inline)]
pub use fq_pie::{FqPie, FqPieConfig};
pub use limit::{Limit, QueueLimit, Room};
#[doc(inline)]
pub use pie::{DelayEstimate, Pie, PieConfig, PieParameters};
#[doc(inline)]
pub use priority::{BandConfig, Priority, PriorityConfig};
#[doc(inline)]
pub use red::{Red, RedConfig};
#[doc(inline)]
pub use sfq::{Sfq, SfqConfig};
#[doc(inline)]
pub use sgpq::{Sgpq, SgpqConfig};
#[doc(inline)]
pub use shared_buffer::{SharedBuffer, SharedBufferConfig, Sharing};
pub use tally::{QueueCounters, Tally, Treatment};
#[doc(inline)]
pub use tbf::{Tbf, TbfConfig};
#[doc(inline)]
pub use threshold::{Threshold, ThresholdConfig};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The packet itself.
    pub packet: Packet,
    /// The octets of the packet on the link: those of the IP packet and the link's framing.
    pub octets: u64,
    /// The time of its arrival at the queue.
    pub since: SimTime,
}

/// A queue discipline: the order in which packets leave for a link, and the choice of those dropped or marked.
pub trait QueueDiscipline: Debug + Send {
    /// Takes an arriving packet: keeps it, or drops and counts it or others.
    fn enqueue(&mut self, now: SimTime, arrival: Queued);

    /// Returns the packet to send next, which leaves the queue, when the link is free. `None` if there is none, or none
    /// may leave yet. Also called when the queue is empty, so that a discipline knows since when the link has been
    /// idle.
    fn dequeue(&mut self, now: SimTime) -> Option<Queued>;

    /// The time at which a packet may leave, for a discipline that holds packets back (token bucket); `None` if the
    /// queue is empty.
    fn ready_at(&self, now: SimTime) -> Option<SimTime> {
        (self.len() > 0).then_some(now)
    }

    /// The span over which to measure the link's rate for [`Self::on_rate`]; `None` if the discipline does not use it.
    /// Constant throughout its life.
    fn rate_span(&self) -> Option<SimDuration> {
        None
    }

    /// Takes the link's capacity of the last [`Self::rate_span`], octets/s: called before each [`Self::dequeue`].
    fn on_rate(&mut self, _octets_per_second: f64) {}

    /// The number of waiting packets.
    fn len(&self) -> usize;

    /// True if no packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The waiting octets, framing included.
    fn octets(&self) -> u64;

    /// The numbers of dropped and marked packets: [`Tally::counters`].
    fn counters(&self) -> QueueCounters;

    /// The tally, which records each packet that is dropped or marked.
    fn tally(&mut self) -> &mut Tally;

    /// Sets the rate of the link, above zero: called before the first packet, and after each change. Every value that a
    /// discipline derives from the rate follows from this call alone.
    fn set_rate(&mut self, now: SimTime, rate: Bandwidth);

    /// Sets the hosts of all packets: called before the first packet, where they are known.
    fn set_hosts(&mut self, _hosts: &HostTable) {}

    /// The room for waiting packets, of a discipline whose room can change.
    fn room(&mut self) -> Option<&mut Room> {
        None
    }

    /// Reports named internals (`"drop_probability"`, `"average_packets"`) at `now` to `record`.
    fn inspect(&self, _now: SimTime, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// The accessors of a discipline, whose field `tally` counts the dropped and marked packets. `packets` names the field
/// that holds the waiting ones; `packets, octets` are fields that count them. `room` is a field too: the room that can
/// change.
#[macro_export]
macro_rules! accounts {
    () => {
        fn counters(&self) -> $crate::queue::QueueCounters {
            self.tally.counters()
        }

        fn tally(&mut self) -> &mut $crate::queue::Tally {
            &mut self.tally
        }
    };
    ($packets:ident) => {
        fn len(&self) -> usize {
            self.$packets.len()
        }

        fn octets(&self) -> u64 {
            self.$packets.octets()
        }

        $crate::accounts!();
    };
    ($packets:ident, room) => {
        $crate::accounts!($packets);

        fn room(&mut self) -> Option<&mut $crate::queue::Room> {
            Some(&mut self.room)
        }
    };
    ($packets:ident, $octets:ident) => {
        fn len(&self) -> usize {
            self.$packets
        }

        fn octets(&self) -> u64 {
            self.$octets
        }

        $crate::accounts!();
    };
}

/// The place of a queue: values that a discipline may need beside its parameters.
#[derive(Clone, Copy, Debug)]
pub struct QueuePlace<'a> {
    /// The name of the link.
    pub link: &'a str,
    /// The seed of the run, from which the queue derives its random streams.
    pub seed: u64,
}

impl QueuePlace<'_> {
    /// The random stream of this queue.
    pub fn random(&self) -> RandomStream {
        RandomStream::new(self.seed, &format!("{}.queue", self.link))
    }

    /// The initial values of an external discipline.
    fn start(&self, rate: Bandwidth) -> PartStart {
        PartStart { rate, seed: self.random().bits() }
    }
}

/// The parameters of a discipline, and its entry in every catalogue.
pub(crate) trait Parameters: Declared {
    /// The catalogue entry: name and prose.
    const ABOUT: About;

    /// The limits of waiting packets, each with its field: a packet must fit.
    fn limits(&self) -> Vec<(String, QueueLimit)>;

    /// Reports values that contradict each other, each in its own range.
    fn review(&self, _review: &mut Review<'_>) {}
}

fn part_of<K: Parameters>(into: fn(K) -> QueueConfig) -> Part<QueueConfig> {
    Part::new(K::ABOUT, (), &[], |_| (), into)
}

/// The checks of every discipline's values: `check super::review;` in its declaration.
fn review<K: Parameters>(config: &K, review: &mut Review<'_>) {
    let largest = review.context.crossing().map(|crossing| crossing.largest_packet);
    for (field, limit) in config.limits() {
        if let Some(message) = largest.and_then(|largest| limit.lacks_room_for(largest)) {
            review.report(field, message, "use at least \"1 packet\"");
        }
    }
    config.review(review);
}

/// The disciplines with their parameters: enums of both, and calls without a table of functions.
macro_rules! disciplines {
    ($($(#[$meta:meta])* $name:ident($module:ident::$config:ident),)*) => {
        /// A queue discipline with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum QueueConfig {
            $($(#[$meta])* $name($module::$config),)*
            /// A discipline that is external to this crate.
            External(ExternalQueueConfig),
        }

        impl QueueConfig {
            /// The limit of a discipline that has one limit for all its packets.
            pub fn limit(&self) -> Option<QueueLimit> {
                let limits = match self {
                    $(Self::$name(config) => config.limits(),)*
                    Self::External(_) => return None,
                };
                limits.into_iter().find(|(field, _)| field == "limit").map(|(_, limit)| limit)
            }
        }

        /// A queue of any discipline.
        #[derive(Clone, Debug)]
        pub enum Queue {
            $($(#[$meta])* $name(Box<$module::$name>),)*
            /// An external discipline, or any discipline with a device that takes packets from it.
            External(Box<dyn ExternalQueue>),
        }

        impl Queue {
            /// An empty queue of a link with this rate.
            pub fn new(config: &QueueConfig, place: &QueuePlace<'_>, rate: Bandwidth) -> Self {
                let mut queue = match config {
                    $(QueueConfig::$name(config) => Self::$name(Box::new($module::$name::new(config, place))),)*
                    QueueConfig::External(config) => Self::External(config.make(&place.start(rate))),
                };
                queue.set_rate(SimTime::ZERO, rate);
                queue
            }
        }

        static QUEUES: LazyLock<Parts<QueueConfig>> =
            LazyLock::new(|| Parts::new(vec![$(part_of(QueueConfig::$name)),*]));

        dispatch! { $($name)* External }
    };
}

impl Queue {
    /// The queue of a link, with the device that takes packets from it, if it has one.
    pub fn of(link: &LinkConfig, place: &QueuePlace<'_>) -> Self {
        let discipline = Self::new(&link.queue, place, link.rate);
        match link.device_queue {
            // A variant of its own would make the calls below recursive, and they would not be inlined into a link's.
            Some(limit) => Self::External(Box::new(Device::new(discipline, limit))),
            None => discipline,
        }
    }
}

macro_rules! dispatch {
    ($($name:ident)*) => {
        // A method that a discipline has and this one forgets would have the trait's default for each.
        #[deny(clippy::missing_trait_methods)]
        impl QueueDiscipline for Queue {
            fn enqueue(&mut self, now: SimTime, arrival: Queued) {
                match self { $(Self::$name(queue) => queue.enqueue(now, arrival),)* }
            }
            fn dequeue(&mut self, now: SimTime) -> Option<Queued> {
                match self { $(Self::$name(queue) => queue.dequeue(now),)* }
            }
            fn ready_at(&self, now: SimTime) -> Option<SimTime> {
                match self { $(Self::$name(queue) => queue.ready_at(now),)* }
            }
            fn rate_span(&self) -> Option<SimDuration> {
                match self { $(Self::$name(queue) => queue.rate_span(),)* }
            }
            fn on_rate(&mut self, octets_per_second: f64) {
                match self { $(Self::$name(queue) => queue.on_rate(octets_per_second),)* }
            }
            fn len(&self) -> usize {
                match self { $(Self::$name(queue) => queue.len(),)* }
            }
            fn is_empty(&self) -> bool {
                match self { $(Self::$name(queue) => queue.is_empty(),)* }
            }
            fn octets(&self) -> u64 {
                match self { $(Self::$name(queue) => queue.octets(),)* }
            }
            fn counters(&self) -> QueueCounters {
                match self { $(Self::$name(queue) => queue.counters(),)* }
            }
            fn tally(&mut self) -> &mut Tally {
                match self { $(Self::$name(queue) => queue.tally(),)* }
            }
            fn room(&mut self) -> Option<&mut Room> {
                match self { $(Self::$name(queue) => queue.room(),)* }
            }
            fn set_rate(&mut self, now: SimTime, rate: Bandwidth) {
                match self { $(Self::$name(queue) => queue.set_rate(now, rate),)* }
            }
            fn set_hosts(&mut self, hosts: &HostTable) {
                match self { $(Self::$name(queue) => queue.set_hosts(hosts),)* }
            }
            fn inspect(&self, now: SimTime, record: &mut dyn FnMut(&'static str, f64)) {
                match self { $(Self::$name(queue) => queue.inspect(now, record),)* }
            }
        }
    };
}

disciplines! {
    /// First in, first out.
    DropTail(drop_tail::DropTailConfig),
    /// Strict priority of small packets.
    Sgpq(sgpq::SgpqConfig),
    /// Marks at an arrival above a length.
    Threshold(threshold::ThresholdConfig),
    /// Early drops or marks by the average queue length.
    Red(red::RedConfig),
    /// A token bucket that holds packets back to a rate.
    Tbf(tbf::TbfConfig),
    /// Bands in strict priority.
    Priority(priority::PriorityConfig),
    /// Round robin by octets.
    Drr(drr::DrrConfig),
    /// Round robin over queues that a hash chooses.
    Sfq(sfq::SfqConfig),
    /// Fair queueing by finish numbers.
    Fq(fq::FqConfig),
    /// A memory that the queues of all flows share.
    SharedBuffer(shared_buffer::SharedBufferConfig),
    /// Drops at the head after an interval of waits above a target.
    Codel(codel::CodelConfig),
    /// Round robin over flow queues, each under CoDel.
    FqCodel(fq_codel::FqCodelConfig),
    /// Drops at arrival by a PI controller of the delay.
    Pie(pie::PieConfig),
    /// Round robin over flow queues, each under PIE.
    FqPie(fq_pie::FqPieConfig),
    /// Fairness between hosts and flows, with a shaper and an ACK filter.
    Cake(cake::CakeConfig),
    /// Coupled queues for L4S and for classic packets.
    DualPi2(dualpi2::DualPi2Config),
    /// Accelerate and brake, for ABC.
    Abc(abc::AbcQueueConfig),
}

/// The discipline of a link that names none.
pub const DEFAULT_QUEUE: &str = "drop_tail";

/// Every discipline that a scenario can name, with its declaration.
pub fn queues() -> &'static Parts<QueueConfig> {
    &QUEUES
}

#[cfg(test)]
pub(crate) mod tests;
