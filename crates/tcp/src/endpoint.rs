//! One end of a connection: the state machine of RFC 9293 around a sending and a receiving half.
//!
//! The endpoint does no I/O. Its owner hands it segments, calls and the time; segments to send go to an [`Output`].
//! Between calls the owner wakes it at [`Endpoint::deadline`].

mod handshake;

use ackclock_cc::{CongestionController, Controller, ControllerConfig, RttStats, SegmentTimestamps};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::{Flags, SackBlock, SackBlocks, Segment, Seq, Timestamps};

use crate::clock::TimestampClock;
use crate::config::{LossRecovery, TcpConfig};
use crate::ecn::EcnReceiver;
use crate::episode::Episode;
use crate::info::{TcpInfo, tcp_info};
use crate::receiver::{Arrival, Reading, Receiver};
use crate::sender::{DataSegment, IncomingAck, SackReport, Sender, SenderCounters};

/// Octets of the timestamps option with its padding; the MSS option counts them as payload (RFC 6691).
const TIMESTAMPS_LEN: u32 = 12;

/// Where segments go.
pub trait Output {
    /// Sends a segment.
    fn send(&mut self, segment: Segment);
}

impl Output for Vec<Segment> {
    fn send(&mut self, segment: Segment) {
        self.push(segment);
    }
}

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection, or it was reset or given up.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received, SYN-ACK sent.
    SynReceived,
    /// Open.
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
    TimeWait,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The peer refused it.
    Refused,
    /// The peer reset it.
    Reset,
    /// The peer did not answer.
    TimedOut,
}

/// What an application may change of a connection at work.
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
    /// Give up when data has been unacknowledged for so long (`TCP_USER_TIMEOUT`).
    UserTimeout(Option<SimDuration>),
    /// `SO_SNDBUF`, as it bounds payload.
    SendBuffer(Bytes),
    /// `SO_RCVBUF`, as it bounds the advertised window. Before the connection opens.
    ReceiveBuffer(Bytes),
    /// `TCP_MAXSEG`, without options. Before the connection opens.
    MaxSegment(u32),
    /// `TCP_CONGESTION`: from the present window on.
    Congestion(ControllerConfig),
    /// Pace (`SO_MAX_PACING_RATE` has this effect).
    Pacing,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Open,
}

/// What both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Negotiated {
    timestamps: bool,
    sack: bool,
    scaling: bool,
    /// Shift of the windows that the peer advertises.
    snd_scale: u8,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What is not looked at for every segment.
    config: Box<TcpConfig>,
    controller: ControllerConfig,
    initial_sequence: u32,
    paws: bool,
    /// What our SYN says of the segments that we take.
    offered_mss: u32,
    progress: Progress,
    negotiated: Negotiated,
    sender: Sender,
    receiver: Receiver,
    clock: TimestampClock,
    ecn: EcnReceiver,
    /// ECN flags of our SYN-ACK.
    handshake_ecn: Flags,
    /// SYNs (or SYN-ACKs) sent again.
    syn_retries: u32,
    error: Option<ConnectionError>,
    /// The peer's FIN came before ours was written.
    peer_closed_first: bool,
    /// The application will read no more: data that arrives draws a reset.
    refuses_data: bool,
    /// The SACK blocks of the latest ACK that had any.
    last_sack: [SackBlock; 4],
}

impl Endpoint {
    /// A closed endpoint.
    pub fn new(config: &TcpConfig, controller: &ControllerConfig, reading: impl Into<Reading>) -> Self {
        let mss = Bytes(u64::from(config.mss));
        let working = Controller::new(controller, mss, config.initial_window, config.initial_ssthresh);
        Self {
            config: Box::new(*config),
            controller: controller.clone(),
            initial_sequence: config.initial_sequence,
            paws: config.paws,
            offered_mss: offered_mss(config),
            progress: Progress::Closed,
            negotiated: Negotiated::default(),
            sender: Sender::new(config, working),
            receiver: Receiver::new(config, reading.into()),
            clock: TimestampClock::new(config.clock),
            ecn: EcnReceiver::default(),
            handshake_ecn: Flags::default(),
            syn_retries: 0,
            error: None,
            peer_closed_first: false,
            refuses_data: false,
            last_sack: [SackBlock::default(); 4],
        }
    }

    /// Waits for a connection.
    pub fn listen(&mut self) {
        self.progress = Progress::Listen;
    }

    /// Opens the connection.
    pub fn connect(&mut self, now: SimTime, out: &mut impl Output) {
        self.progress = Progress::SynSent;
        self.send_syn(now, out);
    }

    /// The application writes `octets` more; they leave as windows allow.
    pub fn write(&mut self, now: SimTime, octets: Bytes, out: &mut impl Output) {
        self.sender.write(now, octets.0, false);
        self.transmit(now, out);
    }

    /// As [`Self::write`], with more to come at once: a small rest waits for it (`MSG_MORE`).
    pub fn write_more(&mut self, now: SimTime, octets: Bytes, out: &mut impl Output) {
        self.sender.write(now, octets.0, true);
        self.transmit(now, out);
    }

    /// The application reads up to `octets`, if it reads on call. Returns how many it got.
    pub fn read_now(&mut self, now: SimTime, octets: Bytes, out: &mut impl Output) -> Bytes {
        let (taken, opens) = self.receiver.read(now, octets.0);
        if opens {
            self.receiver.request_ack();
            self.flush_ack(now, out);
        }
        Bytes(taken)
    }

    /// The application changes an option.
    pub fn set_option(&mut self, now: SimTime, option: &SocketOption, out: &mut impl Output) {
        match option {
            SocketOption::QuickAck(quick) => self.receiver.acks.set_quick(*quick),
            SocketOption::ReceiveBuffer(size) => {
                self.config.receive_buffer = *size;
                self.config.receive_autotuning = None;
                self.receiver.set_buffer(size.0);
            }
            SocketOption::MaxSegment(mss) => self.offered_mss = self.offered_mss.min(*mss),
            _ => self.sender.set_option(option),
        }
        self.transmit(now, out);
        if self.progress == Progress::Open {
            self.flush_ack(now, out);
        }
    }

    /// The application is gone: it will neither write nor read. Unread data, or data that arrives later, draws a reset
    /// (RFC 9293 section 3.6.1, RFC 2525 section 2.17).
    pub fn close_both(&mut self, now: SimTime, out: &mut impl Output) {
        if self.receiver.unread() > 0 {
            return self.abort(now, out);
        }
        self.refuses_data = true;
        if self.progress == Progress::SynSent || self.progress == Progress::Listen {
            self.progress = Progress::Closed;
        }
        if !self.sender.is_closed() {
            self.close(now, out);
        }
    }

    /// Resets the connection.
    pub fn abort(&mut self, now: SimTime, out: &mut impl Output) {
        if matches!(self.progress, Progress::Open | Progress::SynReceived) {
            let segment = self.header(now, self.sender.board.high_data(), Flags::RST.with(Flags::ACK));
            out.send(segment);
        }
        self.progress = Progress::Closed;
    }

    /// The application will write no more: FIN after the last octet.
    pub fn close(&mut self, now: SimTime, out: &mut impl Output) {
        self.sender.close();
        self.transmit(now, out);
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        match self.progress {
            Progress::Open => self.on_segment_open(now, segment, out),
            Progress::Closed => refuse(segment, out),
            _ => self.on_segment_handshake(now, segment, out),
        }
    }

    /// Time has reached [`Self::deadline`].
    pub fn on_timer(&mut self, now: SimTime, out: &mut impl Output) {
        match self.progress {
            Progress::Closed | Progress::Listen => return,
            Progress::SynSent | Progress::SynReceived => return self.on_syn_timer(now, out),
            Progress::Open => {}
        }
        self.receiver.on_timer(now);
        if now >= self.sender.deadline() {
            if self.sender.on_timer(now) {
                self.send_probe(now, out);
            }
            if self.sender.is_aborted() {
                self.fail(ConnectionError::TimedOut);
                return;
            }
            self.transmit(now, out);
        }
        self.flush_ack(now, out);
    }

    /// When [`Self::on_timer`] wants to be called; [`SimTime::NEVER`] if not at all.
    pub fn deadline(&self) -> SimTime {
        match self.progress {
            Progress::Closed | Progress::Listen => SimTime::NEVER,
            Progress::SynSent | Progress::SynReceived => self.sender.deadline(),
            Progress::Open => self.sender.deadline().min(self.receiver.deadline()),
        }
    }

    fn fail(&mut self, error: ConnectionError) {
        self.error = Some(error);
        self.progress = Progress::Closed;
    }

    fn on_segment_open(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        let Some(start) = self.receiver.offset_of(segment.seq).filter(|start| self.is_acceptable(segment, *start))
        else {
            if !segment.flags.has(Flags::RST) {
                self.receiver.request_ack();
                self.flush_ack(now, out);
            }
            return;
        };
        if segment.flags.has(Flags::RST) {
            return self.on_reset(now, start, out);
        }
        let occupies = segment.sequence_len() > 0;
        if self.refuses_data && segment.payload > 0 && start + u64::from(segment.payload) > self.receiver.rcv_nxt() {
            refuse(segment, out);
            return self.fail(ConnectionError::Reset);
        }
        if self.ecn.on_segment(segment.flags, segment.ecn, segment.payload > 0) {
            self.receiver.request_ack();
        }
        if segment.flags.has(Flags::SYN) {
            // Our ACK of the SYN-ACK was lost, or an old SYN came along (RFC 9293 section 3.10.7.4).
            self.receiver.request_ack();
        } else if occupies {
            self.on_data(now, segment, start);
        } else if start < self.receiver.rcv_nxt() {
            self.receiver.request_ack(); // a probe: below the window, so it is answered
        }
        if segment.flags.has(Flags::ACK) {
            self.on_ack(now, segment, start, occupies, out);
        }
        self.flush_ack(now, out);
    }

    /// RFC 9293 section 3.10.7.4, first check, and PAWS before it (RFC 7323 section 5.3).
    fn is_acceptable(&mut self, segment: &Segment, start: u64) -> bool {
        if let Some(timestamps) = segment.timestamps.filter(|_| self.negotiated.timestamps)
            && !segment.flags.has(Flags::RST)
            && !self.receiver.accepts_timestamp(start, timestamps.value, self.paws)
        {
            return false;
        }
        start <= self.receiver.window_end()
    }

    /// RFC 5961 section 3.2: only a reset at exactly the next octet counts; another draws an ACK.
    fn on_reset(&mut self, now: SimTime, start: u64, out: &mut impl Output) {
        if start == self.receiver.rcv_nxt() {
            self.fail(ConnectionError::Reset);
        } else if start > self.receiver.rcv_nxt() {
            self.receiver.request_ack();
            self.flush_ack(now, out);
        }
    }

    fn on_data(&mut self, now: SimTime, segment: &Segment, start: u64) {
        if self.receiver.is_tuned()
            && let Some(timestamps) = segment.timestamps.filter(|timestamps| timestamps.echo != 0)
        {
            self.receiver.on_rtt(now.saturating_since(self.clock.time_of(timestamps.echo, now)));
        }
        let arrival = Arrival {
            start,
            len: u64::from(segment.payload),
            has_fin: segment.flags.has(Flags::FIN),
            rto: self.sender.rto.rto(),
        };
        self.receiver.on_arrival(now, &arrival);
        if self.receiver.is_finished() {
            if self.sender.is_closed() {
                self.receiver.request_ack(); // both are done: nothing will carry the ACK
            } else {
                self.peer_closed_first = true;
            }
        }
    }

    fn on_ack(&mut self, now: SimTime, segment: &Segment, seq: u64, occupies: bool, out: &mut impl Output) {
        let una = self.sender.board.una();
        let Some(ack) = segment.ack.offset_near(self.initial_sequence, una) else { return };
        if ack > self.sender.board.high_data() {
            self.receiver.request_ack(); // acknowledges what was never sent
            return;
        }
        let is_old = ack < una;
        if is_old && segment.sack.is_empty() {
            return;
        }
        let mut sack = SackReport::default();
        if !segment.sack.is_empty() {
            self.read_sack(segment, una, &mut sack);
        }
        let window = u64::from(segment.window) << self.negotiated.snd_scale;
        let timestamps = segment.timestamps.filter(|_| self.negotiated.timestamps);
        let incoming = IncomingAck {
            ack: ack.max(una),
            window: if is_old { self.sender.peer.size() } else { window },
            seq,
            occupies,
            flags: segment.flags,
            sack: &sack,
            timestamps: timestamps.map(|Timestamps { value, echo }| SegmentTimestamps {
                tsval: value,
                tsecr: echo,
                arrival: self.clock.tick(now),
                tick: self.clock.granularity(),
            }),
        };
        self.sender.on_ack(now, &incoming);
        if ack > una {
            // What lies below is acknowledged, and its numbers may come again 4 GiB later.
            self.last_sack = [SackBlock::default(); 4];
        }
        self.transmit(now, out);
    }

    /// SACK blocks as offsets, without those that only repeat the ACK before and without malformed ones; a first block
    /// that reports a duplicate (RFC 2883 section 4) apart. The older recoveries know nothing of SACK.
    fn read_sack(&mut self, segment: &Segment, una: u64, report: &mut SackReport) {
        if !self.negotiated.sack || self.config.loss_recovery != LossRecovery::Sack {
            return;
        }
        let initial = self.initial_sequence;
        let offsets = |block: &SackBlock| {
            let offset = |seq: Seq| seq.offset_near(initial, una);
            offset(block.start).zip(offset(block.end)).filter(|(start, end)| start < end)
        };
        let mut blocks = segment.sack.as_slice();
        let ack = segment.ack.offset_near(initial, una).unwrap_or(una);
        let duplicate = blocks.first().and_then(offsets).filter(|&(start, end)| {
            let within = |&(outer_start, outer_end): &(u64, u64)| outer_start <= start && end <= outer_end;
            end <= ack || start < ack || blocks.get(1).and_then(offsets).as_ref().is_some_and(within)
        });
        if let Some((_, end)) = duplicate {
            report.dsack_end = Some(end);
            blocks = &blocks[1..];
        }
        for (block, known) in blocks.iter().zip(&mut self.last_sack) {
            if block == known {
                continue;
            }
            *known = *block;
            if let Some((start, end)) = offsets(block) {
                report.push(start, end);
            }
        }
    }

    /// Sends all that may be sent.
    fn transmit(&mut self, now: SimTime, out: &mut impl Output) {
        if self.progress != Progress::Open {
            return;
        }
        while let Some(data) = self.sender.next_segment(now) {
            let segment = self.data_segment(now, data);
            out.send(segment);
        }
    }

    fn data_segment(&mut self, now: SimTime, data: DataSegment) -> Segment {
        self.receiver.acks.on_reply(now);
        let mut segment = self.header(now, data.start, data.flags);
        segment.payload = data.payload;
        segment.ecn = data.ecn;
        segment
    }

    /// A segment without payload at `offset`, with all that every segment after the SYN carries.
    #[inline]
    fn header(&mut self, now: SimTime, offset: u64, flags: Flags) -> Segment {
        let acknowledgement = self.receiver.acknowledgement(now);
        let timestamps = self
            .negotiated
            .timestamps
            .then(|| Timestamps { value: self.clock.tick(now), echo: acknowledgement.ts_recent });
        let sack_limit = if timestamps.is_some() { 3 } else { 4 };
        Segment {
            seq: Seq::of_offset(self.initial_sequence, offset),
            ack: acknowledgement.ack,
            window: acknowledgement.window,
            flags: flags.with(self.ecn.flags()),
            timestamps,
            sack: if self.negotiated.sack { self.receiver.sack_blocks(sack_limit) } else { SackBlocks::default() },
            ..Segment::default()
        }
    }

    fn flush_ack(&mut self, now: SimTime, out: &mut impl Output) {
        if self.receiver.needs_ack() {
            let segment = self.header(now, self.sender.board.high_data(), Flags::ACK);
            out.send(segment);
        }
    }

    fn send_probe(&mut self, now: SimTime, out: &mut impl Output) {
        let segment = self.header(now, self.sender.board.una() - 1, Flags::ACK);
        out.send(segment);
    }

    /// The state by RFC 9293's names.
    pub fn state(&self) -> State {
        match self.progress {
            Progress::Closed => State::Closed,
            Progress::Listen => State::Listen,
            Progress::SynSent => State::SynSent,
            Progress::SynReceived => State::SynReceived,
            Progress::Open => match (self.sender.is_closed(), self.sender.is_finished(), self.receiver.is_finished()) {
                (false, _, false) => State::Established,
                (false, _, true) => State::CloseWait,
                (true, false, false) => State::FinWait1,
                (true, true, false) => State::FinWait2,
                (true, false, true) if self.peer_closed_first => State::LastAck,
                (true, false, true) => State::Closing,
                (true, true, true) if self.peer_closed_first => State::Closed,
                (true, true, true) => State::TimeWait,
            },
        }
    }

    /// True if the connection was given up or reset.
    pub fn is_aborted(&self) -> bool {
        self.error.is_some() || (self.progress == Progress::Closed && self.sender.board.high_data() > 0)
    }

    /// The congestion window in force: the controller's, or during recovery what the recovery leaves of it.
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.sender.window())
    }

    /// The controller, for its ssthresh and internals.
    pub fn controller(&self) -> &impl CongestionController {
        &self.sender.controller
    }

    /// Sent and not cumulatively acknowledged.
    pub fn flight_size(&self) -> Bytes {
        Bytes(self.sender.board.flight_size())
    }

    /// RFC 6675's estimate of what is in the network.
    pub fn pipe(&self) -> Bytes {
        Bytes(self.sender.board.pipe())
    }

    /// RTT estimates.
    pub fn rtt(&self) -> RttStats {
        self.sender.rtt_stats()
    }

    /// True once there was an RTT sample.
    pub fn has_rtt_sample(&self) -> bool {
        self.sender.rto.has_sample()
    }

    /// The RTT sample that the last ACK gave, if it gave one.
    pub fn latest_rtt_sample(&self) -> Option<SimDuration> {
        self.sender.latest_rtt_sample()
    }

    /// The retransmission timeout with its back-off.
    pub fn rto(&self) -> SimDuration {
        self.sender.rto.rto()
    }

    /// The window that the peer advertises, scaled.
    pub fn rwnd(&self) -> Bytes {
        Bytes(self.sender.peer.size())
    }

    /// Octets written and not sent for the first time.
    pub fn unsent(&self) -> Bytes {
        Bytes(self.sender.unsent())
    }

    /// Octets that the application may write now without exceeding the send buffer or `TCP_NOTSENT_LOWAT`.
    pub fn writable(&self) -> Bytes {
        Bytes(self.sender.writable())
    }

    /// Octets in order that the application, reading on call, has not read.
    pub fn unread(&self) -> Bytes {
        Bytes(self.receiver.unread())
    }

    /// True once all that the peer will ever send has arrived.
    pub fn is_peer_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Why the connection ended, if it did before its time.
    pub fn error(&self) -> Option<ConnectionError> {
        self.error
    }

    /// What the endpoint tells of itself.
    pub fn tcp_info(&self, now: SimTime) -> TcpInfo {
        tcp_info(self.state(), &self.sender, &self.receiver, now)
    }

    /// Counts of the sending half.
    pub fn counters(&self) -> SenderCounters {
        self.sender.counters
    }

    /// Payload that has arrived in order.
    pub fn received(&self) -> Bytes {
        Bytes(self.receiver.payload_octets())
    }

    /// Payload that the application has read at `now`.
    pub fn read(&self, now: SimTime) -> Bytes {
        Bytes(self.receiver.read_octets(now))
    }

    /// When the application will have read `octets` in all; `None` while they have not all arrived.
    pub fn time_of_read(&mut self, octets: Bytes, now: SimTime) -> Option<SimTime> {
        self.receiver.time_of_read(octets.0, now)
    }

    /// Payload of a full segment, as negotiated.
    pub fn mss(&self) -> u32 {
        self.config.mss
    }

    /// Episodes that have ended since the last call.
    pub fn take_episodes(&mut self) -> Vec<Episode> {
        std::mem::take(&mut self.sender.finished_episodes)
    }

    /// The episode under way, if there is one.
    pub fn current_episode(&self) -> Option<Episode> {
        self.sender.episode
    }
}

/// The MSS option counts no options, of which timestamps come with every segment (RFC 6691).
fn offered_mss(config: &TcpConfig) -> u32 {
    config.mss + if config.timestamps { TIMESTAMPS_LEN } else { 0 }
}

/// Answers a segment that no connection takes (RFC 9293 section 3.10.7.1).
fn refuse(segment: &Segment, out: &mut impl Output) {
    if segment.flags.has(Flags::RST) {
        return;
    }
    let reset = if segment.flags.has(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
    } else {
        let ack = segment.seq.advanced_by(segment.sequence_len());
        Segment { ack, flags: Flags::RST.with(Flags::ACK), ..Segment::default() }
    };
    out.send(reset);
}
