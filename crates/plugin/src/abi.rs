//! What crosses the boundary: types laid out as C lays them out, and a table of functions.
//!
//! Both sides may come from different compilers, and in time from different releases: [`VERSION`] names the form of
//! everything here, and a host refuses a plug-in of another. Each side frees what it has made. Texts are UTF-8, what is
//! declared of parts crosses as JSON, and `u64::MAX` stands for no value. No function unwinds: one that has panicked says
//! so ([`Status`]), and [`Table::take_panic`] tells the message.

use std::ffi::c_void;

use ackclock_cc::{
    AckEvent, CongestionCause, CongestionEvent, DeliveryReport, EarlyExit, ExitSign, RateSample, Repair, RestartCause,
    RestartEvent, RttStats, SegmentReport, SegmentTimestamps, SendEvent, Start,
};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

/// The form of everything in this module.
pub const VERSION: u32 = 2;

/// No value.
pub const NONE: u64 = u64::MAX;

/// The name of the function that a plug-in exports: it takes nothing and returns a `*const Table`.
pub const ENTRY: &str = "ackclock_plugin";

/// A text, or some JSON, that the caller keeps alive during the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its first octet.
    pub data: *const u8,
    /// How many octets.
    pub len: usize,
}

/// Where a callee leaves a text for its caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    /// Handed to `write`.
    pub context: *mut c_void,
    /// Takes the text over; called at most once.
    pub write: extern "C" fn(context: *mut c_void, text: Text),
}

/// How a call went.
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
    /// [`VERSION`]; the only field that is looked at before it is known to fit.
    pub version: u32,
    /// Tells of the parts, as a list of JSON: `kind`, `about`, `fields`, `stack`.
    pub describe: extern "C" fn(out: Sink) -> Status,
    /// A written value of a field in the form in which its type writes it: `Done`, or `Nothing` with what is wrong.
    pub canonical: extern "C" fn(part: u32, field: u32, raw: Text, out: Sink) -> Status,
    /// What a table comes to in a context, and the mistakes as a list of JSON: a configuration, to be freed.
    pub read: extern "C" fn(part: u32, table: Text, context: Text, mistakes: Sink) -> *mut c_void,
    /// Frees a configuration.
    pub drop_config: extern "C" fn(config: *mut c_void),
    /// Tells what the last panic of this thread said.
    pub take_panic: extern "C" fn(out: Sink),
    /// Controllers.
    pub controller: ControllerTable,
    /// Queues.
    pub queue: QueueTable,
    /// Effects of links.
    pub effect: EffectTable,
    /// Sources of traffic.
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
    /// Frees it.
    pub drop: extern "C" fn(*mut ControllerHead),
    /// `on_ack`.
    pub on_ack: extern "C" fn(*mut ControllerHead, *const AckC) -> Status,
    /// `on_congestion`.
    pub on_congestion: extern "C" fn(*mut ControllerHead, *const CongestionC) -> Status,
    /// `on_spurious`.
    pub on_spurious: extern "C" fn(*mut ControllerHead, now: u64) -> Status,
    /// `on_restart`.
    pub on_restart: extern "C" fn(*mut ControllerHead, *const RestartC) -> Status,
    /// `on_send`.
    pub on_send: extern "C" fn(*mut ControllerHead, *const SendC) -> Status,
    /// `on_delivered`.
    pub on_delivered: extern "C" fn(*mut ControllerHead, *const SegmentC) -> Status,
    /// `on_lost`.
    pub on_lost: extern "C" fn(*mut ControllerHead, *const SegmentC) -> Status,
    /// `on_timer`.
    pub on_timer: extern "C" fn(*mut ControllerHead, now: u64) -> Status,
    /// What only those who watch a run ask for.
    pub watched: extern "C" fn(*const ControllerHead, *mut WatchedC) -> Status,
    /// `inspect`.
    pub inspect: extern "C" fn(*const ControllerHead, context: *mut c_void, InspectC) -> Status,
}

/// Told of each internal of a part.
pub type InspectC = extern "C" fn(context: *mut c_void, name: Text, value: f64);

/// What a controller shows, up to date after each call; its own state lies behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerHead {
    /// Octets.
    pub cwnd: u64,
    /// Octets, or [`NONE`].
    pub ssthresh: u64,
    /// Bits per second, or [`NONE`].
    pub pacing_rate: u64,
    /// Nanoseconds of simulated time, or [`NONE`].
    pub deadline: u64,
    /// It sends less than the path takes, on purpose.
    pub limits_itself: bool,
    /// It wants samples; this and the next two stay as they are.
    pub wants_samples: bool,
    /// Its window bounds sending in recovery.
    pub wants_recovery_window: bool,
    /// It finds marks in the ACKs.
    pub wants_marks: bool,
}

/// What a controller tells to who watches it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WatchedC {
    /// What it is doing; the text stays while the plug-in is loaded.
    pub state: Text,
    /// It looks for what the path takes.
    pub is_in_slow_start: bool,
    /// When a sign of a full path ended slow start last, in nanoseconds, or [`NONE`].
    pub exit_at: u64,
    /// The place of that sign in [`ExitSign`].
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
    /// Frees it.
    pub drop: extern "C" fn(*mut QueueHead),
    /// `enqueue`.
    pub enqueue: extern "C" fn(*mut QueueHead, now: u64, *const PacketC) -> Status,
    /// `dequeue`: `Done` and the packet's token, or `Nothing`.
    pub dequeue: extern "C" fn(*mut QueueHead, now: u64, token: *mut u32) -> Status,
    /// `ready_at`: `Done` and the time, or `Nothing`.
    pub ready_at: extern "C" fn(*const QueueHead, now: u64, time: *mut u64) -> Status,
    /// `inspect`.
    pub inspect: extern "C" fn(*const QueueHead, context: *mut c_void, InspectC) -> Status,
}

/// What a queue shows, up to date after each call; its own state lies behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QueueHead {
    /// Packets waiting.
    pub len: u64,
    /// Octets waiting.
    pub octets: u64,
    /// Packets that the last call dropped or marked.
    pub treated: *const TreatedC,
    /// How many they are.
    pub treated_len: usize,
}

/// A packet that was dropped or marked.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreatedC {
    /// As it was handed over with.
    pub token: u32,
    /// True if it was dropped.
    pub is_dropped: bool,
}

/// Calls of effects.
#[repr(C)]
#[derive(Debug)]
pub struct EffectTable {
    /// An effect, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, start: *const PartStartC) -> *mut c_void,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees it.
    pub drop: extern "C" fn(*mut c_void),
    /// `on_packet`: `Nothing` if the packet is lost.
    pub on_packet: extern "C" fn(*mut c_void, now: u64, *const PacketC, fate: *mut FateC) -> Status,
}

/// What becomes of a packet that arrives.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FateC {
    /// Nanoseconds.
    pub jitter: u64,
    /// Nanoseconds.
    pub held: u64,
    /// A copy arrives right behind it.
    pub copied: bool,
}

/// Calls of sources.
#[repr(C)]
#[derive(Debug)]
pub struct SourceTable {
    /// A source, or null if that panicked.
    pub make: extern "C" fn(config: *const c_void, seed: u64) -> *mut c_void,
    /// A copy that goes on alike, or null if that panicked.
    pub clone: extern "C" fn(*const c_void) -> *mut c_void,
    /// Frees it.
    pub drop: extern "C" fn(*mut c_void),
    /// `next`.
    pub next: extern "C" fn(*mut c_void, now: u64, unsent: u64, supply: *mut SupplyC) -> Status,
}

/// What a source does next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SupplyC {
    /// Octets to write.
    pub write: u64,
    /// When it goes on: a time in nanoseconds; with [`NONE`] it closes, or waits for the reader.
    pub at: u64,
    /// With no time: true if it closes.
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
    /// Frees it.
    pub drop: extern "C" fn(*mut c_void),
    /// The value at a decision, or what the interval that ends there pays.
    pub number: extern "C" fn(*mut c_void, *const ValuesC, number: *mut f64) -> Status,
}

/// [`ackclock_agent::Values`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValuesC {
    /// Nanoseconds of simulated time.
    pub now: u64,
    /// Handed to `read`.
    pub context: *const c_void,
    /// The value of the observation with this name; NaN if the host knows none.
    pub read: extern "C" fn(context: *const c_void, name: Text) -> f64,
}

/// A packet with what a queue sees of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketC {
    /// What the host knows it by.
    pub token: u32,
    /// Number of the end that it goes to: even for those that opened their connection.
    pub to: u32,
    /// Sequence number; of a datagram its number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgment: u32,
    /// Payload in octets.
    pub payload: u32,
    /// Octets of the IP packet.
    pub size: u32,
    /// TCP's flags.
    pub flags: u16,
    /// The ECN field.
    pub ecn: u8,
    /// A datagram, not a segment.
    pub is_datagram: bool,
    /// What it takes of the link, framing included.
    pub octets: u64,
    /// When it arrived, in nanoseconds.
    pub since: u64,
}

/// [`ackclock_net::PartStart`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PartStartC {
    /// Bits per second.
    pub rate: u64,
    /// Of the part's random stream.
    pub seed: u64,
}

/// [`Start`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StartC {
    /// Octets.
    pub mss: u64,
    /// Octets.
    pub initial_window: u64,
    /// Octets, or [`NONE`].
    pub initial_ssthresh: u64,
    /// Of the controller's random stream.
    pub seed: u64,
}

/// [`AckEvent`]; octets and nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
#[allow(clippy::struct_excessive_bools, reason = "as many as the event has")]
pub struct AckC {
    pub now: u64,
    pub newly_acked: u64,
    pub newly_lost: u64,
    pub newly_ce_marked: u64,
    pub prior_flight_size: u64,
    /// Or [`NONE`].
    pub rtt_sample: u64,
    pub rtt_latest: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub min_rtt: u64,
    pub round: u64,
    pub tick: u64,
    pub tsval: u32,
    pub tsecr: u32,
    pub arrival: u32,
    pub has_timestamps: bool,
    pub is_cumulative: bool,
    pub is_cwnd_limited: bool,
    pub in_recovery: bool,
    pub is_paced: bool,
    /// Null without.
    pub delivery: *const DeliveryC,
}

/// [`DeliveryReport`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "fields are those of the report")]
pub struct DeliveryC {
    pub delivered: u64,
    pub lost: u64,
    pub inflight: u64,
    /// 0 nothing, 1 fast recovery, 2 a timeout.
    pub repair: u8,
    pub has_sack: bool,
    pub has_sample: bool,
    pub is_app_limited: bool,
    pub sample_delivered: u64,
    pub interval: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub sample_lost: u64,
}

/// [`CongestionEvent`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct CongestionC {
    pub now: u64,
    pub flight_size: u64,
    pub newly_lost: u64,
    pub inflight: u64,
    /// 0 loss, 1 ECN, 2 a timeout, 3 a repeated timeout.
    pub cause: u8,
}

/// [`RestartEvent`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct RestartC {
    pub now: u64,
    pub window: u64,
    /// Or [`NONE`].
    pub ssthresh: u64,
    /// The place in [`RestartCause`].
    pub cause: u8,
}

/// [`SendEvent`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the event")]
pub struct SendC {
    pub now: u64,
    pub size: u64,
    pub flight_size: u64,
    pub idle_for: u64,
}

/// [`SegmentReport`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the report")]
pub struct SegmentC {
    pub now: u64,
    pub sent_at: u64,
    pub start: u64,
    pub size: u64,
    pub delivered: u64,
    pub prior_delivered: u64,
    pub tx_in_flight: u64,
    pub lost: u64,
    pub is_app_limited: bool,
    pub is_retransmission: bool,
}

/// A value, or [`NONE`].
pub(crate) fn or_none(value: Option<u64>) -> u64 {
    value.unwrap_or(NONE)
}

/// A value, unless it is [`NONE`].
pub(crate) fn known(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

impl From<&Start> for StartC {
    fn from(start: &Start) -> Self {
        Self {
            mss: start.mss.0,
            initial_window: start.initial_window.0,
            initial_ssthresh: or_none(start.initial_ssthresh.map(|bytes| bytes.0)),
            seed: start.seed,
        }
    }
}

impl From<&StartC> for Start {
    fn from(start: &StartC) -> Self {
        Self {
            mss: Bytes(start.mss),
            initial_window: Bytes(start.initial_window),
            initial_ssthresh: known(start.initial_ssthresh).map(Bytes),
            seed: start.seed,
        }
    }
}

impl AckC {
    /// Points to `delivery`.
    #[inline]
    pub(crate) fn new(ack: &AckEvent, delivery: Option<&DeliveryC>) -> Self {
        let timestamps =
            ack.timestamps.unwrap_or(SegmentTimestamps { tsval: 0, tsecr: 0, arrival: 0, tick: SimDuration::ZERO });
        Self {
            now: ack.now.0,
            newly_acked: ack.newly_acked.0,
            newly_lost: ack.newly_lost.0,
            newly_ce_marked: ack.newly_ce_marked.0,
            prior_flight_size: ack.prior_flight_size.0,
            rtt_sample: or_none(ack.rtt_sample.map(|sample| sample.0)),
            rtt_latest: ack.rtt.latest.0,
            srtt: ack.rtt.srtt.0,
            rttvar: ack.rtt.rttvar.0,
            min_rtt: ack.rtt.min_rtt.0,
            round: ack.round,
            tick: timestamps.tick.0,
            tsval: timestamps.tsval,
            tsecr: timestamps.tsecr,
            arrival: timestamps.arrival,
            has_timestamps: ack.timestamps.is_some(),
            is_cumulative: ack.is_cumulative,
            is_cwnd_limited: ack.is_cwnd_limited,
            in_recovery: ack.in_recovery,
            is_paced: ack.is_paced,
            delivery: delivery.map_or(std::ptr::null(), std::ptr::from_ref),
        }
    }

    /// With what `delivery` points to.
    #[inline]
    pub(crate) fn event(&self, delivery: Option<&DeliveryC>) -> AckEvent {
        let ack = self;
        AckEvent {
            now: SimTime(ack.now),
            newly_acked: Bytes(ack.newly_acked),
            is_cumulative: ack.is_cumulative,
            newly_lost: Bytes(ack.newly_lost),
            newly_ce_marked: Bytes(ack.newly_ce_marked),
            prior_flight_size: Bytes(ack.prior_flight_size),
            rtt_sample: known(ack.rtt_sample).map(SimDuration),
            rtt: RttStats {
                latest: SimDuration(ack.rtt_latest),
                srtt: SimDuration(ack.srtt),
                rttvar: SimDuration(ack.rttvar),
                min_rtt: SimDuration(ack.min_rtt),
            },
            timestamps: ack.has_timestamps.then_some(SegmentTimestamps {
                tsval: ack.tsval,
                tsecr: ack.tsecr,
                arrival: ack.arrival,
                tick: SimDuration(ack.tick),
            }),
            is_cwnd_limited: ack.is_cwnd_limited,
            in_recovery: ack.in_recovery,
            round: ack.round,
            is_paced: ack.is_paced,
            delivery: delivery.map(DeliveryReport::from),
        }
    }
}

impl From<&DeliveryReport> for DeliveryC {
    fn from(report: &DeliveryReport) -> Self {
        let sample = report.sample.unwrap_or_default();
        Self {
            delivered: report.delivered.0,
            lost: report.lost.0,
            inflight: report.inflight.0,
            repair: report.repair as u8,
            has_sack: report.has_sack,
            has_sample: report.sample.is_some(),
            is_app_limited: sample.is_app_limited,
            sample_delivered: sample.delivered.0,
            interval: sample.interval.0,
            prior_delivered: sample.prior_delivered.0,
            tx_in_flight: sample.tx_in_flight.0,
            sample_lost: sample.lost.0,
        }
    }
}

impl From<&DeliveryC> for DeliveryReport {
    fn from(report: &DeliveryC) -> Self {
        Self {
            delivered: Bytes(report.delivered),
            lost: Bytes(report.lost),
            inflight: Bytes(report.inflight),
            repair: [Repair::None, Repair::Fast, Repair::Timeout][usize::from(report.repair).min(2)],
            has_sack: report.has_sack,
            sample: report.has_sample.then_some(RateSample {
                delivered: Bytes(report.sample_delivered),
                interval: SimDuration(report.interval),
                prior_delivered: Bytes(report.prior_delivered),
                is_app_limited: report.is_app_limited,
                tx_in_flight: Bytes(report.tx_in_flight),
                lost: Bytes(report.sample_lost),
            }),
        }
    }
}

impl From<&CongestionEvent> for CongestionC {
    fn from(event: &CongestionEvent) -> Self {
        let cause = match event.cause {
            CongestionCause::Loss => 0,
            CongestionCause::Ecn => 1,
            CongestionCause::Timeout { repeated: false } => 2,
            CongestionCause::Timeout { repeated: true } => 3,
        };
        Self {
            now: event.now.0,
            flight_size: event.flight_size.0,
            newly_lost: event.newly_lost.0,
            inflight: event.inflight.0,
            cause,
        }
    }
}

impl From<&CongestionC> for CongestionEvent {
    fn from(event: &CongestionC) -> Self {
        let cause = match event.cause {
            0 => CongestionCause::Loss,
            1 => CongestionCause::Ecn,
            cause => CongestionCause::Timeout { repeated: cause == 3 },
        };
        Self {
            now: SimTime(event.now),
            cause,
            flight_size: Bytes(event.flight_size),
            newly_lost: Bytes(event.newly_lost),
            inflight: Bytes(event.inflight),
        }
    }
}

/// In the order of their numbers.
const RESTARTS: [RestartCause; 5] =
    [RestartCause::SynLost, RestartCause::Timeout, RestartCause::Idle, RestartCause::Unused, RestartCause::Outer];

impl From<&RestartEvent> for RestartC {
    fn from(restart: &RestartEvent) -> Self {
        Self {
            now: restart.now.0,
            window: restart.window.0,
            ssthresh: or_none(restart.ssthresh.map(|bytes| bytes.0)),
            cause: restart.cause as u8,
        }
    }
}

impl From<&RestartC> for RestartEvent {
    fn from(restart: &RestartC) -> Self {
        Self {
            now: SimTime(restart.now),
            cause: RESTARTS[usize::from(restart.cause).min(RESTARTS.len() - 1)],
            window: Bytes(restart.window),
            ssthresh: known(restart.ssthresh).map(Bytes),
        }
    }
}

/// In the order of their numbers.
const SIGNS: [ExitSign; 2] = [ExitSign::Delay, ExitSign::AckTrain];

impl WatchedC {
    pub(crate) fn exit_of(exit: Option<EarlyExit>) -> (u64, u8) {
        exit.map_or((NONE, 0), |exit| (exit.at.0, exit.sign as u8))
    }

    pub(crate) fn exit(&self) -> Option<EarlyExit> {
        let sign = SIGNS[usize::from(self.exit_sign).min(SIGNS.len() - 1)];
        known(self.exit_at).map(|at| EarlyExit { at: SimTime(at), sign })
    }
}

impl From<&SendEvent> for SendC {
    #[inline]
    fn from(sent: &SendEvent) -> Self {
        let SendEvent { now, size, flight_size, idle_for } = *sent;
        Self { now: now.0, size: size.0, flight_size: flight_size.0, idle_for: idle_for.0 }
    }
}

impl From<&SendC> for SendEvent {
    #[inline]
    fn from(sent: &SendC) -> Self {
        Self {
            now: SimTime(sent.now),
            size: Bytes(sent.size),
            flight_size: Bytes(sent.flight_size),
            idle_for: SimDuration(sent.idle_for),
        }
    }
}

impl From<&SegmentReport> for SegmentC {
    #[inline]
    fn from(segment: &SegmentReport) -> Self {
        Self {
            now: segment.now.0,
            sent_at: segment.sent_at.0,
            start: segment.start,
            size: segment.size.0,
            delivered: segment.delivered.0,
            prior_delivered: segment.prior_delivered.0,
            tx_in_flight: segment.tx_in_flight.0,
            lost: segment.lost.0,
            is_app_limited: segment.is_app_limited,
            is_retransmission: segment.is_retransmission,
        }
    }
}

impl From<&SegmentC> for SegmentReport {
    #[inline]
    fn from(segment: &SegmentC) -> Self {
        Self {
            now: SimTime(segment.now),
            sent_at: SimTime(segment.sent_at),
            start: segment.start,
            size: Bytes(segment.size),
            delivered: Bytes(segment.delivered),
            prior_delivered: Bytes(segment.prior_delivered),
            tx_in_flight: Bytes(segment.tx_in_flight),
            lost: Bytes(segment.lost),
            is_app_limited: segment.is_app_limited,
            is_retransmission: segment.is_retransmission,
        }
    }
}

/// A rate, unless it is [`NONE`].
pub(crate) fn known_rate(value: u64) -> Option<Bandwidth> {
    known(value).map(Bandwidth)
}
