//! Controllers with decisions in user space: the kernel reports every ACK, and applies the decisions. Either the window
//! and the rate are decided here ([`Agent::new`]), or the kernel's own CUBIC has them and gets a factor from here
//! ([`Agent::correcting`]).

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBufferBuilder};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::error::Error;
use crate::{machine, object, system};

const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.bpf.o"));
/// Connections that have decisions of their own at a time; as in `programs/led.h`.
const SLOTS: u32 = 4096;
const CORRECTED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/corrected.bpf.o"));
/// The controller whose window is decided here, as sockets take it.
pub const NAME: &str = "ackclock_agent";
/// The kernel's CUBIC with a factor from here, as sockets take it.
pub const CORRECTED_NAME: &str = "cubic_corrected";

macro_rules! observation {
    ($($(#[$meaning:meta])* $field:ident: $type:ident,)*) => {
        /// State of a connection with this controller at an ACK; the names of counts are the kernel's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Observation {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl Observation {
            /// Out of `struct observation` of `programs/led.h`; `None` if it is of another length.
            fn read(mut octets: &[u8]) -> Option<Self> {
                $(
                    let (word, rest) = octets.split_first_chunk()?;
                    let $field = $type::from_ne_bytes(*word);
                    octets = rest;
                )*
                octets.is_empty().then_some(Self { $($field,)* })
            }
        }
    };
}

observation! {
    /// Time by the machine's monotonic clock, ns.
    time_ns: u64,
    /// Pacing rate, octets a second.
    pacing_rate: u64,
    /// The connection's number since the agent was registered, by which it is decided for.
    flow: u32,
    /// Port of this end.
    local_port: u32,
    /// Congestion window, segments.
    cwnd: u32,
    /// Segments; 2^31 - 1 while it is arbitrarily high.
    ssthresh: u32,
    /// Smoothed round trip, microseconds.
    srtt_us: u32,
    /// Least round trip, microseconds.
    min_rtt_us: u32,
    /// The round trip that the ACK shows, us; 0 if none.
    rtt_us: u32,
    /// Number of segments in flight.
    inflight: u32,
    /// Segments that the ACK delivers.
    acked: u32,
    /// Segments that it lets the kernel take for lost.
    lost: u32,
    /// The kernel's congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss.
    state: u32,
    /// Segments delivered in the sample of the delivery rate.
    delivered: u32,
    /// The time of that sample, us.
    interval_us: u32,
    /// Largest segment, octets.
    mss: u32,
    /// The number of the last decision that came to the kernel's notice.
    decision: u32,
    /// 1 while decisions are in force, 0 while the kernel's CUBIC has the window.
    is_led: u32,
}

/// Decision for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Segments. Zero, and more than sixteen times the window and 64, are taken for a mistake: CUBIC has the window then.
    pub cwnd: u32,
    /// Octets a second; 0 leaves it to the window and the round trip.
    pub pacing_rate: u64,
    /// Losses do not reduce the window: a later decision answers them.
    pub owns_losses: bool,
}

impl Decision {
    /// Decision for `cubic_corrected`: the window is multiplied by `factor` once, from 1/4 to 4; any other is refused,
    /// and changes nothing.
    pub fn times(factor: f64) -> Self {
        Self { cwnd: (factor * 65_536.0) as u32, ..Self::default() }
    }
}

/// Counts since the agent was registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// ACKs of connections that have the controller.
    pub acks: u64,
    /// Reports for which the ring had no room.
    pub missed: u64,
    /// Decisions that came into force.
    pub in_force: u64,
    /// Decisions that were refused.
    pub absurd: u64,
    /// Number of times that CUBIC took over from decisions.
    pub fallbacks: u64,
    /// Total time from decisions to the ACK that applies them, ns.
    pub waited_ns: u64,
    /// Number of connections.
    pub flows: u64,
}

/// A controller that is decided for here, registered for as long as this lives. Connections that have it go on with the kernel's CUBIC
/// after that.
#[derive(Debug)]
pub struct Agent {
    object: Object,
    name: &'static str,
    _link: Link,
}

impl Agent {
    /// Loads and registers `ackclock_agent`.
    pub fn new() -> Result<Self, Error> {
        machine::check()?;
        machine::at_least((6, 10), "a controller with its own pacing rate")?;
        Self::register(NAME, AGENT)
    }

    /// Loads and registers `cubic_corrected`, for which a decision is [`Decision::times`].
    pub fn correcting() -> Result<Self, Error> {
        machine::check()?;
        Self::register(CORRECTED_NAME, CORRECTED)
    }

    fn register(name: &'static str, compiled: &[u8]) -> Result<Self, Error> {
        if machine::available_controllers().iter().any(|available| available == name) {
            return Err(Error::Registered { name: name.to_owned() });
        }
        let mut loaded = object::load(object::open(name, compiled)?, name)?;
        let link = object::register(&mut loaded, name)?;
        Ok(Self { object: loaded, name, _link: link })
    }

    /// Decides for each ACK that comes within `time`, as soon as it does; `None` leaves what is in force. Each decision counts from
    /// its connection's next ACK on, for three round trips.
    pub fn run(&self, time: Duration, mut decide: impl FnMut(&Observation) -> Option<Decision>) -> Result<(), Error> {
        let (ring, decisions) = (self.map("observations"), self.map("decisions"));
        let mut failure = None;
        let mut builder = RingBufferBuilder::new();
        let added = builder.add(&ring, |octets: &[u8]| {
            let decided = Observation::read(octets).and_then(|seen| Some((seen, decide(&seen)?)));
            if let (None, Some((seen, decision))) = (&failure, decided) {
                failure = put(&decisions, &seen, decision).err();
            }
            // Less than nothing ends the reading.
            -i32::from(failure.is_some())
        });
        added.map_err(|error| Error::kernel("opening the ring of observations", error))?;
        let ring = builder.build().map_err(|error| Error::kernel("opening the ring of observations", error))?;
        let end = std::time::Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            if ring.poll(left.min(Duration::from_millis(50))).is_err() {
                break;
            }
        }
        drop(ring);
        failure.map_or(Ok(()), Err)
    }

    /// Hands the ring of observations, the slots of decisions and the counters to another process, in this order, which maps them
    /// into its memory and decides there. The layouts are those of `programs/led.h`.
    pub fn hand_over(&self, channel: &UnixStream) -> Result<(), Error> {
        let maps = ["observations", "decisions", ".data.counters"].map(|name| self.map(name));
        let descriptors = maps.each_ref().map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let line = [IoSlice::new(self.name.as_bytes())];
        let sent = sendmsg(channel, &line, &mut ancillary, SendFlags::NOSIGNAL);
        sent.map(|_| ()).map_err(|error| Error::kernel("handing the agent's maps over", error))
    }

    fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object.maps().find(|map| map.name() == name).expect("the agent's program has this map")
    }

    /// Counts so far.
    pub fn counters(&self) -> Result<Counters, Error> {
        let octets = object::read(&self.map(".data.counters"))?;
        let mut words = octets.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight octets")));
        let mut next = || words.next().unwrap_or(0);
        Ok(Counters {
            acks: next(),
            missed: next(),
            in_force: next(),
            absurd: next(),
            fallbacks: next(),
            waited_ns: next(),
            flows: next(),
        })
    }
}

/// Writes a decision to the connection's slot; its number is another than the one before.
fn put(decisions: &impl MapCore, seen: &Observation, decision: Decision) -> Result<(), Error> {
    let slot = seen.flow % SLOTS;
    let number = system::monotonic_ns();
    let mut value = Vec::with_capacity(32);
    for word in [number as u32 | 1, seen.flow, decision.cwnd, u32::from(decision.owns_losses)] {
        value.extend(word.to_ne_bytes());
    }
    value.extend(decision.pacing_rate.to_ne_bytes());
    value.extend(number.to_ne_bytes());
    let written = decisions.update(&slot.to_ne_bytes(), &value, MapFlags::ANY);
    written.map_err(|error| Error::kernel("handing a decision to the kernel", error))
}
