//! Types and functions across the boundary: types in the layout of C, and a table of functions.
//!
//! Both sides may come from different compilers, and in time from different releases: [`VERSION`] names the form of
//! everything here, and a host refuses a plug-in of another. Each side frees what it has made. Texts are UTF-8, what is
//! declared of parts crosses as JSON, and `u64::MAX` stands for no value. No function unwinds: one that has panicked says
//! so ([`Status`]), and [`Table::take_panic`] writes the message.

mod events;

use std::ffi::c_void;

#[cfg(feature = "host")]
use ackclock_units::Bandwidth;
pub use events::{AckC, CongestionC, DeliveryC, RestartC, SegmentC, SendC, StartC};

/// The form of everything in this module.
pub const VERSION: u32 = 7;

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
    /// Length in octets.
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

/// Result of a call.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Well; where something is looked for, it was found.
    Done = 0,
    /// Well, and there was nothing.
    Nothing = 1,
    /// It panicked; the part is not called again but to be freed.
    Panicked = 2,
}

/// Everything that a plug-in offers.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`VERSION`]; the only field that is read before it is known to fit.
    pub version: u32,
    /// Describes the parts, as a list of JSON: `kind`, `about`, `fields`, `stack`.
    pub describe: extern "C" fn(out: Sink) -> Status,
    /// A written value of a field in the form in which its type writes it: `Done`, or `Nothing` with what is wrong.
    pub canonical: extern "C" fn(part: u32, field: u32, raw: Text, out: Sink) -> Status,
    /// Reads a table in a context, and writes the mistakes as a list of JSON. Returns a configuration, which must be
    /// freed.
    pub read: extern "C" fn(part: u32, table: Text, context: Text, mistakes: Sink) -> *mut c_void,
    /// Frees a configuration that `read` returned.
    pub drop_config: extern "C" fn(config: *mut c_void),
    /// Writes the message of this thread's last panic.
    pub take_panic: extern "C" fn(out: Sink),
    /// Functions of controllers.
    pub controller: ControllerTable,
    /// Functions of queues.
    pub queue: QueueTable,
    /// Functions of effects of links.
    pub effect: EffectTable,
    /// Functions of sources of traffic.
    pub source: SourceTable,
    /// Observations and rewards of agents.
    pub agent: AgentTable,
}

/// Calls of controllers. Each but `make` takes what `make` or `clone` returned.
#[repr(C)]
#[derive(Debug)]
pub struct ControllerTable {
    /// A controller, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const StartC) -> *mut ControllerHead,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const ControllerHead) -> *mut ControllerHead,
    /// Frees the controller.
    pub drop: extern "C" fn(*mut ControllerHead),
    /// `on_feedback`: `Nothing` declines ECN.
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
    /// Bits per second, or [`NONE`].
    pub pacing_rate: u64,
    /// Nanoseconds of simulated time, or [`NONE`].
    pub deadline: u64,
    /// It sends less than the path takes, on purpose.
    pub limits_itself: bool,
    /// It wants samples; this and the rest stay as they are.
    pub wants_samples: bool,
    /// Its window bounds sending in recovery.
    pub wants_recovery_window: bool,
    /// It finds marks in the ACKs.
    pub wants_marks: bool,
    /// It wants the timer, whether or not it wants samples.
    pub wants_timer: bool,
    /// A timeout leaves a window of its own.
    pub has_own_loss_window: bool,
    /// It has no answer to marks.
    pub wants_no_ecn: bool,
    /// Its data leaves at once, unpaced.
    pub wants_at_once: bool,
}

/// Values of a controller for observers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WatchedC {
    /// Name of its state; the text stays while the plug-in is loaded.
    pub state: Text,
    /// It looks for what the path takes.
    pub is_in_slow_start: bool,
    /// Time at which a sign of a full path last ended slow start, in nanoseconds, or [`NONE`].
    pub exit_at: u64,
    /// The place of that sign in [`ackclock_cc::ExitSign`].
    pub exit_sign: u8,
}

/// Calls of queues. Each but `make` takes what `make` or `clone` returned.
#[repr(C)]
#[derive(Debug)]
pub struct QueueTable {
    /// A queue, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const PartStartC) -> *mut QueueHead,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const QueueHead) -> *mut QueueHead,
    /// Frees the queue.
    pub drop: extern "C" fn(*mut QueueHead),
    /// Takes an arriving packet (`enqueue`).
    pub enqueue: extern "C" fn(*mut QueueHead, now: u64, *const PacketC) -> Status,
    /// `dequeue`: `Done` and the packet's token, or `Nothing`.
    pub dequeue: extern "C" fn(*mut QueueHead, now: u64, token: *mut u32) -> Status,
    /// `ready_at`: `Done` and the time, or `Nothing`.
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

/// Functions of effects.
#[repr(C)]
#[derive(Debug)]
pub struct EffectTable {
    /// An effect, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const PartStartC) -> *mut c_void,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the effect.
    pub drop: extern "C" fn(*mut c_void),
    /// `on_packet`: `Nothing` if the packet is lost.
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
    /// A copy arrives right behind it.
    pub copied: bool,
}

/// Functions of sources.
#[repr(C)]
#[derive(Debug)]
pub struct SourceTable {
    /// A source, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, seed: u64) -> *mut c_void,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the source.
    pub drop: extern "C" fn(*mut c_void),
    /// Asks for the next action (`next`).
    pub next: extern "C" fn(*mut c_void, now: u64, unsent: u64, supply: *mut SupplyC) -> Status,
}

/// The next action of a source.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SupplyC {
    /// Number of octets to write.
    pub write: u64,
    /// Time at which it goes on, in nanoseconds; with [`NONE`] it closes, or waits for the reader.
    pub at: u64,
    /// True if it closes, with no time.
    pub closes: bool,
}

/// Calls of observations and rewards. Each but `make` takes what `make` or `clone` returned.
#[repr(C)]
#[derive(Debug)]
pub struct AgentTable {
    /// An observation or a reward, as the configuration is of one or the other; null if that panicked.
    pub make: extern "C" fn(config: *const c_void) -> *mut c_void,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees the observation or reward.
    pub drop: extern "C" fn(*mut c_void),
    /// The value at a decision, or what the interval that ends there pays.
    pub number: extern "C" fn(*mut c_void, *const ValuesC, number: *mut f64) -> Status,
}

/// Form of [`ackclock_agent::Values`] across the boundary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValuesC {
    /// Nanoseconds of simulated time.
    pub now: u64,
    /// Context that `read` receives.
    pub context: *const c_void,
    /// The value of the observation with this name; NaN if the host knows none.
    pub read: extern "C" fn(context: *const c_void, name: Text) -> f64,
}

/// A packet with what a queue sees of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketC {
    /// Token by which the host knows it.
    pub token: u32,
    /// Number of the end that it goes to: even for those that opened their connection.
    pub to: u32,
    /// Sequence number; of a datagram its number.
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
    /// A datagram, not a segment.
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

/// A value, or [`NONE`].
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
