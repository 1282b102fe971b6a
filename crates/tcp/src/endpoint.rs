//! One end of a connection: the state machine of RFC 9293 around a sending and a receiving half.
//!
//! The endpoint does no I/O. Its owner hands it segments, calls and the time; segments to send go to an [`Output`].
//! Between calls the owner wakes it at [`Endpoint::deadline`].

mod handshake;

use ackclock_cc::{CongestionController, Controller, ControllerConfig, RttStats, SegmentTimestamps};
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};
use ackclock_wire::{Flags, SackBlock, SackBlocks, Segment, Seq, Timestamps};

use crate::config::{LossRecovery, TcpConfig};
use crate::episode::Episode;
use crate::receiver::{Arrival, Receiver};
use crate::sender::{DataSegment, IncomingAck, Sender, SenderCounters};

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
    config: TcpConfig,
    progress: Progress,
    negotiated: Negotiated,
    sender: Sender,
    receiver: Receiver,
    /// SYNs (or SYN-ACKs) sent again.
    syn_retries: u32,
    /// The SACK blocks of the latest ACK that had any.
    last_sack: [SackBlock; 4],
}

impl Endpoint {
    /// A closed endpoint. `read_rate` is how fast its application reads; `None` reads at once.
    pub fn new(config: &TcpConfig, controller: &ControllerConfig, read_rate: Option<Bandwidth>) -> Self {
        let mss = Bytes(u64::from(config.mss));
        let controller = Controller::new(controller, mss, config.initial_window, config.initial_ssthresh);
        Self {
            config: *config,
            progress: Progress::Closed,
            negotiated: Negotiated::default(),
            sender: Sender::new(config, controller),
            receiver: Receiver::new(config, read_rate),
            syn_retries: 0,
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
        self.sender.write(octets.0);
        self.transmit(now, out);
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
            Progress::Closed => {}
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
                self.progress = Progress::Closed;
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

    fn on_segment_open(&mut self, now: SimTime, segment: &Segment, out: &mut impl Output) {
        if segment.flags.has(Flags::RST) {
            if self.receiver.offset_of(segment.seq) == Some(self.receiver.rcv_nxt()) {
                self.progress = Progress::Closed;
            }
            return;
        }
        let Some(start) = self.receiver.offset_of(segment.seq) else {
            self.receiver.request_ack();
            return self.flush_ack(now, out);
        };
        let occupies = segment.sequence_len() > 0;
        if segment.flags.has(Flags::SYN) {
            // Our ACK of the SYN-ACK was lost, or an old SYN came along (RFC 9293 section 3.10.7.4).
            self.receiver.request_ack();
        } else if occupies {
            self.receiver.on_arrival(
                now,
                &Arrival {
                    start,
                    len: u64::from(segment.payload),
                    has_fin: segment.flags.has(Flags::FIN),
                    tsval: segment.timestamps.map(|timestamps| timestamps.value),
                },
            );
        } else if start < self.receiver.rcv_nxt() {
            self.receiver.request_ack(); // a probe: below the window, so it is answered
        }
        if segment.flags.has(Flags::ACK) {
            self.on_ack(now, segment, start, occupies, out);
        }
        self.flush_ack(now, out);
    }

    fn on_ack(&mut self, now: SimTime, segment: &Segment, seq: u64, occupies: bool, out: &mut impl Output) {
        let una = self.sender.board.una();
        let Some(ack) = segment.ack.offset_near(self.config.initial_sequence, una) else { return };
        if ack > self.sender.board.high_data() {
            self.receiver.request_ack(); // acknowledges what was never sent
            return;
        }
        if ack < una {
            return;
        }
        let mut sack = [(0, 0); 4];
        let blocks = if segment.sack.is_empty() { 0 } else { self.read_sack(segment, una, &mut sack) };
        let echo = segment.timestamps.filter(|_| self.negotiated.timestamps);
        let incoming = IncomingAck {
            ack,
            window: u64::from(segment.window) << self.negotiated.snd_scale,
            seq,
            occupies,
            sack: &sack[..blocks],
            timestamps: echo.map(|ts| SegmentTimestamps { tsval: ts.value, tsecr: ts.echo }),
            echoed_send_time: echo.filter(|ts| ts.echo != 0).map(|ts| self.time_of_tick(ts.echo, now)),
        };
        self.sender.on_ack(now, &incoming);
        if ack > una {
            // What lies below is acknowledged, and its numbers may come again 4 GiB later.
            self.last_sack = [SackBlock::default(); 4];
        }
        self.transmit(now, out);
    }

    /// SACK blocks as offsets, without those that only repeat the ACK before and without malformed ones. The older
    /// recoveries know nothing of SACK.
    fn read_sack(&mut self, segment: &Segment, una: u64, into: &mut [(u64, u64); 4]) -> usize {
        if !self.negotiated.sack || self.config.loss_recovery != LossRecovery::Sack {
            return 0;
        }
        let mut count = 0;
        for (block, known) in segment.sack.as_slice().iter().zip(&mut self.last_sack) {
            if block == known {
                continue;
            }
            *known = *block;
            let offset = |seq: Seq| seq.offset_near(self.config.initial_sequence, una);
            if let (Some(start), Some(end)) = (offset(block.start), offset(block.end))
                && start < end
            {
                into[count] = (start, end);
                count += 1;
            }
        }
        count
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
        let flags = if data.fin { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        Segment { payload: data.payload as u32, ..self.header(now, data.start, flags) }
    }

    /// A segment without payload at `offset`, with all that every segment after the SYN carries.
    fn header(&mut self, now: SimTime, offset: u64, flags: Flags) -> Segment {
        let acknowledgement = self.receiver.acknowledgement(now);
        let timestamps =
            self.negotiated.timestamps.then(|| Timestamps { value: self.tick(now), echo: acknowledgement.ts_recent });
        let sack_limit = if timestamps.is_some() { 3 } else { 4 };
        Segment {
            seq: Seq::of_offset(self.config.initial_sequence, offset),
            ack: acknowledgement.ack,
            window: acknowledgement.window,
            flags,
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

    /// The timestamp clock at `now`. It starts at 1, since an echo of zero means none.
    fn tick(&self, now: SimTime) -> u32 {
        (now.0 / self.config.timestamp_granularity.0) as u32 + 1
    }

    /// The latest instant at which the timestamp clock showed `tick` or, at the start of a tick, just began to.
    fn time_of_tick(&self, tick: u32, now: SimTime) -> SimTime {
        let ago = u64::from(self.tick(now).wrapping_sub(tick));
        SimTime(now.0.saturating_sub(ago * self.config.timestamp_granularity.0))
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
                (true, false, true) => State::LastAck,
                (true, true, true) => State::TimeWait,
            },
        }
    }

    /// True if the connection was given up or reset.
    pub fn is_aborted(&self) -> bool {
        self.sender.is_aborted() || (self.progress == Progress::Closed && self.sender.board.high_data() > 0)
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
        self.sender.rwnd()
    }

    /// Octets written and not sent for the first time.
    pub fn unsent(&self) -> Bytes {
        Bytes(self.sender.unsent())
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
