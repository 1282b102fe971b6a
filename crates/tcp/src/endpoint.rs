//! One end of a connection: the state machine of RFC 9293 around a sending and a receiving half.
//!
//! The endpoint does no I/O. Its owner hands it segments, calls and the time; segments to send go to an [`Output`].
//! Between calls the owner wakes it at [`Endpoint::deadline`].

mod accessors;
mod application;
mod arrival;
mod departure;
mod handshake;
mod invariants;
mod opening;

use std::sync::Arc;

use ackclock_cc::{CongestionController as _, Controller, ControllerConfig, ExternalController, SharedAgents};
use ackclock_events::{Event, EventKinds};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Flags, SackBlock, Segment};

use crate::config::TcpConfig;
use crate::ecn::EcnReceiver;
use crate::receiver::{Reading, Receiver};
use crate::sender::Sender;

/// Octets of the timestamps option with its padding; the MSS option counts them as payload (RFC 6691).
const TIMESTAMPS_LEN: u32 = 12;

/// Destination of an endpoint's segments: a network, or a `Vec` in a test.
pub trait Output {
    /// Takes a segment that leaves now.
    fn send(&mut self, segment: &Segment);

    /// Time at which the segment taken last leaves the host: time zero if at once, [`SimTime::NEVER`] if the endpoint
    /// will be notified ([`Endpoint::on_left`]).
    fn leaves_at(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Takes what has happened since the last call, where somebody watches ([`Endpoint::watch`]); in the order in which it did,
    /// and before what follows is sent.
    fn tell(&mut self, events: &mut Vec<Event>) {
        events.clear();
    }
}

impl Output for Vec<Segment> {
    fn send(&mut self, segment: &Segment) {
        self.push(*segment);
    }
}

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection, or it was reset or given up.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN was sent and is not answered.
    SynSent,
    /// SYN received, SYN-ACK sent.
    SynReceived,
    /// The connection is open both ways.
    Established,
    /// FIN sent, not acknowledged; the peer still sends.
    FinWait1,
    /// FIN acknowledged; the peer still sends.
    FinWait2,
    /// The peer has closed; we may still send.
    CloseWait,
    /// Both have closed; our FIN is not acknowledged.
    Closing,
    /// The peer closed first, then we; our FIN is not acknowledged.
    LastAck,
    /// All done (the 2 MSL of waiting are the owner's).
    //= rfc9293-3.6.1-time-wait
    TimeWait,
}

/// Error that ended a connection early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The peer refused it.
    Refused,
    /// The peer reset it.
    Reset,
    /// The peer did not answer.
    TimedOut,
}

/// Option that an application may change on an open connection.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketOption {
    /// Send small segments at once (`TCP_NODELAY`).
    NoDelay(bool),
    /// Send no small segment (`TCP_CORK`).
    Cork(bool),
    /// Do not delay ACKs for a while, or do (`TCP_QUICKACK`).
    QuickAck(bool),
    /// Octets not yet sent above which the application should not write (`TCP_NOTSENT_LOWAT`).
    NotSentLowat(Option<Bytes>),
    /// Time without acknowledgement after which the connection is given up (`TCP_USER_TIMEOUT`).
    UserTimeout(Option<SimDuration>),
    /// `SO_SNDBUF`, as it bounds payload.
    SendBuffer(Bytes),
    /// `SO_RCVBUF`, as it bounds the advertised window. Before the connection opens.
    ReceiveBuffer(Bytes),
    /// `TCP_MAXSEG`, without options. Before the connection opens.
    MaxSegment(u32),
    /// `TCP_CONGESTION`: from the present window on.
    Congestion(ControllerConfig),
    /// Pace, and no faster than this (`SO_MAX_PACING_RATE`).
    Pacing(Bandwidth),
}

/// State of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    Closed,
    Listen,
    /// Listening, and the application answers.
    DeferredAccept,
    SynSent,
    SynReceived,
    Open,
}

/// Features that both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Negotiated {
    timestamps: bool,
    sack: bool,
    scaling: bool,
    /// The sender says for how many segments it wants an ACK.
    ack_control: bool,
    /// Shift of the windows that the peer advertises.
    snd_scale: u8,
}

/// State kept for SYNs and SYN-ACKs.
#[derive(Clone, Debug)]
struct Handshake {
    /// MSS that our SYN offers.
    offered_mss: u32,
    /// ECN flags of our SYN-ACK.
    ecn: Flags,
    /// SYNs (or SYN-ACKs) retransmitted.
    retries: u32,
    /// Time at which the first SYN or SYN-ACK left.
    began: SimTime,
    /// Both ends sent a SYN before either had one.
    is_simultaneous: bool,
    /// A SYN that the application has not answered yet.
    deferred_syn: Option<Box<Segment>>,
}

impl Handshake {
    fn new(config: &TcpConfig) -> Self {
        // The MSS option counts no options, of which timestamps come with every segment (RFC 6691).
        let options = if config.timestamps { TIMESTAMPS_LEN } else { 0 };
        let offered_mss = config.mss + options;
        Self {
            offered_mss,
            ecn: Flags::default(),
            retries: 0,
            began: SimTime::ZERO,
            is_simultaneous: false,
            deferred_syn: None,
        }
    }
}

/// One end of a connection: the state machine of RFC 9293 around a sending and a receiving half.
///
/// It does no I/O. Its owner hands it segments, calls and the time; segments to send go to an [`Output`]. Between calls the
/// owner wakes it at [`Endpoint::deadline`].
//
// What every segment looks at lies in front, here and in the halves, and in the order in which it does: with many
// connections, each cache line more is waited for.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Endpoint {
    phase: ConnectionPhase,
    /// The sending half has been asked, has nothing to do ([`Sender::has_nothing_to_do`]) and awaits no time; what changes that
    /// ends with [`Self::transmit`].
    only_receives: bool,
    /// The application will read no more: data that arrives draws a reset.
    refuses_data: bool,
    /// There is no TIME-WAIT: the peer's FIN came before ours was written, or a reset ended it.
    peer_closed_first: bool,
    paws: bool,
    negotiated: Negotiated,
    initial_sequence: u32,
    ecn: EcnReceiver,
    receiver: Receiver,
    /// The SACK blocks of the latest ACK that had any.
    last_sack: [SackBlock; 4],
    sender: Sender,
    error: Option<ConnectionError>,
    /// Configuration of both halves; what is negotiated or set later is elsewhere.
    config: Arc<TcpConfig>,
    /// Made when the handshake has settled the segment size.
    controller: ControllerConfig,
    handshake: Handshake,
    /// Calls so far, to sample what is checked of them.
    #[cfg(debug_assertions)]
    calls: u32,
}

impl Endpoint {
    /// A closed endpoint. Endpoints of one configuration share it.
    pub fn new(config: impl Into<Arc<TcpConfig>>, controller: &ControllerConfig, reading: impl Into<Reading>) -> Self {
        let config = config.into();
        Self {
            controller: controller.clone(),
            initial_sequence: config.initial_sequence,
            paws: config.paws,
            phase: ConnectionPhase::Closed,
            negotiated: Negotiated::default(),
            sender: Sender::new(&config),
            receiver: Receiver::new(&config, reading.into()),
            ecn: EcnReceiver::default(),
            handshake: Handshake::new(&config),
            error: None,
            peer_closed_first: false,
            refuses_data: false,
            only_receives: false,
            #[cfg(debug_assertions)]
            calls: 0,
            last_sack: [SackBlock::default(); 4],
            config,
        }
    }

    /// Hands events of the sending half to [`Output::tell`] from now on.
    pub fn watch(&mut self, kinds: EventKinds) {
        self.sender.watch(kinds);
    }

    /// Measures the delivery rate from now on, whatever the controller requests ([`TcpInfo::delivery_rate`]); must be
    /// called before the connection opens.
    ///
    /// [`TcpInfo::delivery_rate`]: crate::TcpInfo::delivery_rate
    pub fn measure_delivery(&mut self) {
        self.sender.measure_delivery();
    }

    /// Waits for a connection.
    pub fn listen(&mut self) {
        self.phase = ConnectionPhase::Listen;
    }

    /// Opens the connection: the SYN leaves.
    pub fn connect(&mut self, now: SimTime, out: &mut impl Output) {
        self.phase = ConnectionPhase::SynSent;
        self.send_syn(now, out);
    }

    /// A segment arrived from the peer. What it calls for goes to `out`.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        match self.phase {
            ConnectionPhase::Open if self.peer_closed_first && self.is_over() => refuse(segment, out),
            ConnectionPhase::Open => self.on_segment_open(now, segment, out),
            ConnectionPhase::Closed => refuse(segment, out),
            _ => self.on_segment_handshake(now, segment, out),
        }
        self.check();
    }

    /// Time has reached [`Self::deadline`]: retransmissions, probes, delayed ACKs and paced segments that are due.
    pub fn on_timer(&mut self, now: SimTime, out: &mut impl Output) {
        self.run_timers(now, out);
        self.check();
        self.check_timers(now);
    }

    fn run_timers(&mut self, now: SimTime, out: &mut impl Output) {
        match self.phase {
            ConnectionPhase::Closed | ConnectionPhase::Listen | ConnectionPhase::DeferredAccept => return,
            ConnectionPhase::SynSent | ConnectionPhase::SynReceived => return self.on_syn_timer(now, out),
            ConnectionPhase::Open => {}
        }
        self.receiver.on_timer(now);
        if now >= self.sender.deadline() {
            if self.sender.on_timer(now) {
                self.send_probe(now, out);
            }
            if self.sender.flight().timer.gave_up() {
                self.tell_watcher(now, out);
                self.fail(now, ConnectionError::TimedOut);
                return;
            }
            self.transmit(now, out);
        }
        self.flush_ack(now, out);
    }

    /// Time at which [`Self::on_timer`] is due; [`SimTime::NEVER`] if never.
    #[inline]
    pub fn deadline(&self) -> SimTime {
        match self.phase {
            ConnectionPhase::Open if self.only_receives => self.receiver.deadline(),
            ConnectionPhase::Open => self.sender.deadline().min(self.receiver.deadline()),
            // The controller's timer and the pacer's do not run before data may be sent.
            ConnectionPhase::SynSent | ConnectionPhase::SynReceived => self.sender.flight().timer.deadline(),
            ConnectionPhase::Closed | ConnectionPhase::Listen | ConnectionPhase::DeferredAccept => SimTime::NEVER,
        }
    }

    /// An agent that its controller has in common with others is from now on the one of the same name among these.
    pub fn join(&mut self, agents: &mut SharedAgents) {
        self.controller.join(agents);
        self.sender.controller_mut().join(agents);
    }

    /// The controller from outside, if it is one; there is none before the handshake is over.
    pub fn external_controller(&mut self) -> Option<&mut dyn ExternalController> {
        match self.sender.controller_mut() {
            Controller::External(external) => Some(external.as_mut()),
            _ => None,
        }
    }

    /// True if the controller is to decide: see [`Self::decide`].
    pub fn is_decision_due(&self) -> bool {
        self.sender.flight().congestion.controller.is_decision_due()
    }

    /// The controller decides; what that lets go is sent.
    pub fn decide(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.controller_mut().decide(now);
        self.resume(now, out);
    }

    /// A controller's window or rate has been changed from outside: sends what it lets go.
    pub fn resume(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.note_pacing();
        self.transmit(now, out);
        self.check();
    }

    /// Both directions are closed, and both ends know: TIME-WAIT, or CLOSED where the peer closed first.
    fn is_over(&self) -> bool {
        self.sender.is_finished() && self.receiver.is_finished()
    }

    /// True if a SYN that arrives in TIME-WAIT opens a connection anew, which is the owner's to make (RFC 9293 section 3.6.1, MAY-2):
    /// its sequence number, or its timestamp, lies beyond all that the old one had.
    //= rfc9293-3.6.1-reopen
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        let is_syn = segment.flags.has(Flags::SYN) && !segment.flags.has_any(Flags::ACK.with(Flags::RST));
        is_syn && self.state() == State::TimeWait && self.receiver.is_beyond(segment.seq, segment.timestamps)
    }

    fn fail(&mut self, now: SimTime, error: ConnectionError) {
        self.sender.transmitter.times.end(now);
        self.error = Some(error);
        self.phase = ConnectionPhase::Closed;
    }
}

/// Answers a segment that no connection takes (RFC 9293 section 3.10.7.1).
#[cold]
fn refuse(segment: &Segment, out: &mut impl Output) {
    //= rfc9293-3.5.2-no-connection
    if segment.flags.has(Flags::RST) {
        return;
    }
    let reset = if segment.flags.has(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
    } else {
        let ack = segment.seq.advanced_by(segment.sequence_len());
        Segment { ack, flags: Flags::RST.with(Flags::ACK), ..Segment::default() }
    };
    out.send(&reset);
}
