//! The types and functions across the boundary: types in the layout of C, and a table of functions.
//!
//! Both sides may come from different compilers, and in time from different releases: [`VERSION`] names the form of
//! everything here, and a host refuses a plug-in of another. Each side frees what it has made. Texts are UTF-8,
//! declarations of parts cross as JSON, and `u64::MAX` stands for no value. No function unwinds: one that has panicked
//! reports it ([`Status`]), and [`Table::take_panic`] writes the message.

mod events;

use std::ffi::c_void;

#[cfg(feature = "host")]
use ackclock_units::Bandwidth;
pub use events::{AckC, CongestionC, DeliveryC, RestartC, SegmentC, SendC, StartC};

/// The form of everything in this module.
pub const VERSION: u32 = 9;

/// Number that stands for an absent value.
pub const NONE: u64 = u64::MAX;

/// The name of the function that a plug-in exports: it takes nothing and returns a `*const Table`.
pub const ENTRY: &str = "ackclock_plugin";

/// A text, or some JSON, that the caller keeps alive during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Address of its first octet.
    pub data: *const u8,
    /// The length in octets.
    pub len: usize,
}

/// Receiver of a text that a callee returns to its caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    /// Context that `write` receives.
    pub context: *mut c_void,
    /// Takes the text over; called at most once.
    pub write: extern "C" fn(context: *mut c_void, text: Text),
}

/// The result of a call.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success; in a search, the item was found.
    Done = 0,
    /// Success without a result.
    Nothing = 1,
    /// The call panicked; the part is not called again except to be freed.
    Panicked = 2,
}

/// The contents of a plug-in.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// The form of the table ([`VERSION`]), the only field that is read before the form is known.
    pub version: u32,
    /// Describes the parts, as a list of JSON: `kind`, `about`, `fields`, `stack`.
    pub describe: extern "C" fn(out: Sink) -> Status,
    /// Writes a field's value in the form of its type: `Done`, or `Nothing` with the mistake.
    pub canonical: extern "C" fn(part: u32, field: u32, raw: Text, out: Sink) -> Status,
    /// Reads a table in a context, and writes the mistakes as a list of JSON. Returns a configuration, which must be
    /// freed.
    pub read: extern "C" fn(part: u32, table: Text, context: Text, mistakes: Sink) -> *mut c_void,
    /// Frees a configuration that `read` returned.
    pub drop_config: extern "C" fn(config: *mut c_void),
    /// Writes the message of this thread's last panic.
    pub take_panic: extern "C" fn(out: Sink),
    /// The calls of controllers.
    pub controller: ControllerTable,
    /// The calls of queues.
    pub queue: QueueTable,
    /// Functions of effects of links.
    pub effect: EffectTable,
    /// Functions of sources of traffic.
    pub source: SourceTable,
    /// The calls of agents' observations and rewards.
    pub agent: AgentTable,
}

/// The calls of controllers. Each but `make` takes the result of `make` or `clone`.
#[repr(C)]
#[derive(Debug)]
pub struct ControllerTable {
    /// A controller, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const StartC) -> *mut ControllerHead,
    /// A clone with the same state, or null if that panicked.
    pub clone: extern "C" fn(*const ControllerHead) -> *mut ControllerHead,
    /// Frees the controller again.
    pub drop: extern "C" fn(*mut ControllerHead),
    /// Handles the event `on_feedback`; `Nothing` declines ECN.
    pub on_feedback: extern "C" fn(*mut ControllerHead, counted: bool) -> Status,
    /// Handles the event `on_ack`.
    pub on_ack: extern "C" fn(*mut ControllerHead, *const AckC) -> Status,
    /// Handles the event `on_congestion`.
    pub on_congestion: extern "C" fn(*mut ControllerHead, *const CongestionC) -> Status,
    /// Handles the event `on_spurious`.
    pub on_spurious: extern "C" fn(*mut ControllerHead, now: u64) -> Status,
    /// Handles the event `on_restart`.
    pub on_restart: extern "C" fn(*mut ControllerHead, *const RestartC) -> Status,
    /// Handles the event `on_send`.
    pub on_send: extern "C" fn(*mut ControllerHead, *const SendC) -> Status,
    /// Handles the event `on_delivered`.
    pub on_delivered: extern "C" fn(*mut ControllerHead, *const SegmentC) -> Status,
    /// Handles the event `on_lost`.
    pub on_lost: extern "C" fn(*mut ControllerHead, *const SegmentC) -> Status,
    /// Handles the event `on_timer`.
    pub on_timer: extern "C" fn(*mut ControllerHead, now: u64) -> Status,
    /// Writes the values that only observers of a run need.
    pub watched: extern "C" fn(*const ControllerHead, *mut WatchedC) -> Status,
    /// Calls back with each internal value.
    pub inspect: extern "C" fn(*const ControllerHead, context: *mut c_void, InspectC) -> Status,
}

/// Function that receives each internal value of a part.
pub type InspectC = extern "C" fn(context: *mut c_void, name: Text, value: f64);

/// Visible state of a controller, updated in each call; its own state lies behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerHead {
    /// Congestion window in octets.
    pub cwnd: u64,
    /// Threshold in octets, or [`NONE`].
    pub ssthresh: u64,
    /// Pacing rate in bit/s, or [`NONE`].
    pub pacing_rate: u64,
    /// Deadline in nanoseconds of simulated time, or [`NONE`].
    pub deadline: u64,
    /// True while it intentionally sends less than the path's capacity.
    pub limits_itself: bool,
    /// True if it demands samples; this and the following fields are constant.
    pub wants_samples: bool,
    /// True if its window bounds sending in recovery.
    pub wants_recovery_window: bool,
    /// True if it reads marks from the ACKs.
    pub wants_marks: bool,
    /// True if it demands the timer, with or without samples.
    pub wants_timer: bool,
    /// True if a timeout leaves a window of its own.
    pub has_own_loss_window: bool,
    /// True if it has no answer to marks.
    pub wants_no_ecn: bool,
    /// True if its data leaves unpaced.
    pub wants_at_once: bool,
}

/// Values of a controller for observers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WatchedC {
    /// Name of its state; the text stays while the plug-in is loaded.
    pub state: Text,
    /// True while it searches for the path's capacity.
    pub is_in_slow_start: bool,
    /// Time of the latest early exit from slow start, in nanoseconds, or [`NONE`].
    pub exit_at: u64,
    /// The place of that exit's sign in [`ackclock_cc::ExitSign`].
    pub exit_sign: u8,
}

/// The calls of queues. Each but `make` takes the result of `make` or `clone`.
#[repr(C)]
#[derive(Debug)]
pub struct QueueTable {
    /// A queue, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const PartStartC) -> *mut QueueHead,
    /// A clone with the same state, or null if that panicked.
    pub clone: extern "C" fn(*const QueueHead) -> *mut QueueHead,
    /// Frees the queue again.
    pub drop: extern "C" fn(*mut QueueHead),
    /// Takes an arriving packet (`enqueue`).
    pub enqueue: extern "C" fn(*mut QueueHead, now: u64, *const PacketC) -> Status,
    /// Takes the next packet (`dequeue`): `Done` and the packet's token, or `Nothing`.
    pub dequeue: extern "C" fn(*mut QueueHead, now: u64, token: *mut u32) -> Status,
    /// The time at which a packet may leave (`ready_at`): `Done` and the time, or `Nothing`.
    pub ready_at: extern "C" fn(*const QueueHead, now: u64, time: *mut u64) -> Status,
    /// Sets the link's rate in bit/s (`set_rate`).
    pub set_rate: extern "C" fn(*mut QueueHead, now: u64, rate: u64) -> Status,
    /// Calls back with each internal value.
    pub inspect: extern "C" fn(*const QueueHead, now: u64, context: *mut c_void, InspectC) -> Status,
}

/// Visible state of a queue, updated in each call; its own state lies behind it. The host knows the waiting packets:
/// those handed over and not returned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QueueHead {
    /// Packets that the last call dropped or marked.
    pub treated: *const TreatedC,
    /// Number of treated packets.
    pub treated_len: usize,
}

/// A packet that was dropped or marked.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreatedC {
    /// Token with which it was handed over.
    pub token: u32,
    /// True if it was dropped.
    pub is_dropped: bool,
}

/// The calls of effects.
#[repr(C)]
#[derive(Debug)]
pub struct EffectTable {
    /// An effect, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const PartStartC) -> *mut c_void,
    /// A clone with the same state, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the effect again.
    pub drop: extern "C" fn(*mut c_void),
    /// Takes a packet that was sent (`on_packet`): `Nothing` if it is lost.
    pub on_packet: extern "C" fn(*mut c_void, now: u64, *const PacketC, fate: *mut FateC) -> Status,
}

/// Fate of a packet that arrives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FateC {
    /// Extra delay in nanoseconds.
    pub jitter: u64,
    /// Time for which it is held, in nanoseconds.
    pub held: u64,
    /// True if a copy arrives right behind it.
    pub copied: bool,
}

/// The calls of sources.
#[repr(C)]
#[derive(Debug)]
pub struct SourceTable {
    /// A source, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, seed: u64) -> *mut c_void,
    /// A clone with the same state, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the source again.
    pub drop: extern "C" fn(*mut c_void),
    /// Returns the next action (`next`).
    pub next: extern "C" fn(*mut c_void, now: u64, unsent: u64, supply: *mut SupplyC) -> Status,
}

/// The next action of a source.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SupplyC {
    /// Number of octets to write.
    pub write: u64,
    /// Time at which the source goes on, in nanoseconds; with [`NONE`] it closes, or waits for the reader.
    pub at: u64,
    /// True if the source closes, without a time.
    pub closes: bool,
}

/// The calls of observations and rewards. Each but `make` takes the result of `make` or `clone`.
#[repr(C)]
#[derive(Debug)]
pub struct AgentTable {
    /// An observation or a reward, by its configuration; null if that panicked.
    pub make: extern "C" fn(config: *const c_void) -> *mut c_void,
    /// A clone with the same state, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the observation or reward.
    pub drop: extern "C" fn(*mut c_void),
    /// The value at a decision, or the reward of the interval that ends there.
    pub number: extern "C" fn(*mut c_void, *const ValuesC, number: *mut f64) -> Status,
}

/// The form of [`ackclock_agent::Values`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValuesC {
    /// Simulated time in nanoseconds.
    pub now: u64,
    /// Context that `read` receives.
    pub context: *const c_void,
    /// The value of the observation with this name; NaN if the host knows none.
    pub read: extern "C" fn(context: *const c_void, name: Text) -> f64,
}

/// A packet with the fields that a queue sees.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketC {
    /// The packet's token for the host.
    pub token: u32,
    /// Number of the destination end: even for ends that opened their connection.
    pub to: u32,
    /// Sequence number of the segment, or number of the datagram.
    pub sequence: u32,
    /// Acknowledgement number of the segment.
    pub acknowledgment: u32,
    /// Payload of the packet, octets.
    pub payload: u32,
    /// Octets of the IP packet.
    pub size: u32,
    /// Flags of the TCP header.
    pub flags: u16,
    /// ECN field of the IP header.
    pub ecn: u8,
    /// True for a datagram, false for a segment.
    pub is_datagram: bool,
    /// Octets on the link, framing included.
    pub octets: u64,
    /// Time of arrival, in nanoseconds.
    pub since: u64,
}

/// Form of [`ackclock_net::PartStart`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PartStartC {
    /// Rate of the link in bit/s.
    pub rate: u64,
    /// Seed of the part's random stream.
    pub seed: u64,
}

/// The value, or [`NONE`].
pub(crate) fn or_none(value: Option<u64>) -> u64 {
    value.unwrap_or(NONE)
}

/// A value, unless it is [`NONE`].
pub(crate) fn known(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

/// A rate, unless it is [`NONE`].
#[cfg(feature = "host")]
pub(crate) fn known_rate(value: u64) -> Option<Bandwidth> {
    known(value).map(Bandwidth)
}
