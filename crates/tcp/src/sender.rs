//! The sending half: puts its pieces in sequence and owns none of their rules.
//!
//! `opening` is the handshake, `ack` takes in what an ACK says (`plain` what most say), `recover` moves through loss recovery,
//! `loss` through what follows a timeout, `timers` says what is due, `transmit` decides what leaves, at a rate that `pace`
//! knows. `episodes` tells the controller of congestion. The rules live in files of their own:
//! scoreboard, loss detection by time, PRR, undo, probes, ECN, pacing, bursts, use of the window, small segments.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 and the files it composes. Departures: a zero-window probe is an empty
//! segment one octet below `snd_una`, as Linux sends it, and not one octet of new data; it draws the same ACK.

mod ack;
mod ack_congestion;
mod episodes;
mod invariants;
mod loss;
mod model;
mod opening;
mod pace;
mod peer_window;
mod plain;
mod recover;
mod timers;
mod transmit;

use std::sync::Arc;

use ackclock_cc::{CongestionController, Controller, Demands, RttStats};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::ack_control::AckControl;
use crate::bursts::Bursts;
use crate::clock::TimestampClock;
use crate::config::{LossDetection, LossRecovery, Nagle, TcpConfig};
use crate::ecn::EcnSender;
use crate::endpoint::SocketOption;
use crate::episode::Episode;
use crate::info::RecoveryState;
use crate::nagle::SmallSegments;
use crate::pacing::Pacer;
use crate::rack::Rack;
use crate::rate_sample::RateSampler;
use crate::recovery::Phase;
use crate::rto::RtoTimer;
use crate::scoreboard::Scoreboard;
use crate::tlp::Tlp;
use crate::undo::Undo;
use crate::usage::Usage;

pub(crate) use ack::{IncomingAck, SackReport};
use peer_window::PeerWindow;
use timers::Timer;
pub(crate) use transmit::{DataSegment, Limit};

/// Counts over the life of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Payload octets sent, retransmissions included.
    pub sent_octets: u64,
    /// Segments with payload sent, retransmissions included.
    pub sent_segments: u64,
    /// Segments with payload sent again.
    pub retransmitted_segments: u64,
    /// Payload octets sent again.
    pub retransmitted_octets: u64,
    /// Octets that were taken for lost.
    pub lost_octets: u64,
    /// Delivered, cumulatively or selectively, as windows count.
    pub delivered: u64,
    /// Of these, marked by the network.
    pub delivered_ce: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries (Tahoe: fast retransmits).
    pub fast_recoveries: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Episodes undone.
    pub undone: u64,
    /// Duplicates that the receiver reported.
    pub dsacks: u64,
    /// Times that reordering was seen.
    pub reorderings: u64,
}

/// The sending half of an endpoint. Offset 0 is the SYN, data begins at 1, the FIN comes last.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) board: Scoreboard,
    pub(crate) controller: Controller,
    pub(crate) rto: RtoTimer,
    pub(crate) counters: SenderCounters,
    pub(crate) ecn: EcnSender,
    pub(crate) pacer: Pacer,
    pub(crate) small: SmallSegments,
    pub(crate) peer: PeerWindow,
    clock: TimestampClock,
    phase: Phase,
    rack: Option<Rack>,
    tlp: Tlp,
    undo: Undo,
    bursts: Bursts,
    usage: Usage,
    demands: Demands,
    /// Where both ends agreed to it.
    pub(crate) ack_control: Option<Box<AckControl>>,
    /// For a controller that wants samples.
    rates: Option<Box<RateSampler>>,
    /// What is not looked at for every segment.
    config: Arc<TcpConfig>,
    notsent_lowat: Option<Bytes>,
    user_timeout: Option<SimDuration>,
    /// As the handshake settled it.
    initial_window: Bytes,
    mss: u64,
    /// Bounds what is outstanding, unless it follows the window.
    send_buffer: u64,
    tunes_send_buffer: bool,
    /// No mechanism looks at every ACK: the plain ones need little.
    is_plain_stack: bool,
    /// `dup_thresh` has been raised.
    sees_reordering: bool,
    loss_recovery: LossRecovery,
    /// The peer reports SACK, or duplicate ACKs are counted as if it did.
    emulates_sack: bool,
    /// Segments SACKed above, or duplicate ACKs, that mean a loss; grows with the reordering seen.
    dup_thresh: u32,
    dup_acks: u32,
    /// `FlightSize` when the first of them came.
    flight_before_dup_acks: u64,
    /// No fast retransmit for duplicate ACKs of data below this (RFC 6582 section 3.2 step 2, RFC 6675 section 5.1).
    no_recovery_below: u64,
    /// The offset after the data that the application has written.
    written_end: u64,
    /// Ends of writes not yet acknowledged: the segments that reach them carry PSH.
    pushes: std::collections::VecDeque<u64>,
    /// The application has closed: the FIN follows `written_end`.
    closed: bool,
    timer: Timer,
    /// When the retransmission timer was last restarted, whatever it runs for now.
    timeout_from: SimTime,
    /// Segments are spread over the round trip.
    is_paced: bool,
    /// A tail loss probe is due.
    wants_probe: bool,
    /// Probes of a closed window sent in a row, and of these those not answered.
    probes: u32,
    unanswered_probes: u32,
    /// The override timeout of silly-window avoidance is over.
    send_small: bool,
    /// Timeouts in a row without progress, and since when there has been none.
    timeouts_in_a_row: u32,
    stalled_since: Option<SimTime>,
    /// What ended the last attempt to send.
    limited_by: Limit,
    round: u64,
    round_end: u64,
    idle_since: Option<SimTime>,
    last_sent: SimTime,
    latest_rtt_sample: Option<SimDuration>,
    /// Given up after too many timeouts.
    aborted: bool,
    pub(crate) episode: Option<Episode>,
    pub(crate) finished_episodes: Vec<Episode>,
}

impl Sender {
    /// Its controller comes with what the handshake settles.
    pub(crate) fn new(config: &Arc<TcpConfig>) -> Self {
        let mss = u64::from(config.mss);
        Self {
            board: Scoreboard::new(config.counting, mss),
            controller: Controller::unopened(config.initial_window, config.initial_ssthresh),
            rto: RtoTimer::new(config.rto),
            counters: SenderCounters::default(),
            ecn: EcnSender::new(config.ecn),
            pacer: Pacer::new(config.pacing),
            small: SmallSegments::new(config.nagle),
            peer: PeerWindow::default(),
            clock: TimestampClock::new(config.clock),
            phase: Phase::Open,
            rack: (config.loss_detection == LossDetection::Rack).then(Rack::default),
            tlp: Tlp::new(config.tlp),
            undo: Undo::new(config.undo),
            bursts: Bursts::new(config.bursts),
            usage: Usage::new(config.cwnd_validation),
            demands: Demands::default(),
            ack_control: None,
            rates: None,
            config: Arc::clone(config),
            notsent_lowat: config.notsent_lowat,
            user_timeout: config.user_timeout,
            initial_window: config.initial_window,
            mss,
            send_buffer: config.send_autotuning.map_or(config.send_buffer.0, |tuning| tuning.initial.0),
            tunes_send_buffer: config.send_autotuning.is_some(),
            sees_reordering: false,
            is_plain_stack: false,
            loss_recovery: config.loss_recovery,
            emulates_sack: false,
            dup_thresh: config.dup_thresh,
            dup_acks: 0,
            flight_before_dup_acks: 0,
            no_recovery_below: 0,
            written_end: 1,
            pushes: std::collections::VecDeque::new(),
            closed: false,
            timer: Timer::OFF,
            timeout_from: SimTime::ZERO,
            is_paced: config.pacing.enabled,
            wants_probe: false,
            probes: 0,
            unanswered_probes: 0,
            send_small: false,
            timeouts_in_a_row: 0,
            stalled_since: None,
            limited_by: Limit::Application,
            round: 0,
            round_end: 0,
            idle_since: Some(SimTime::ZERO),
            last_sent: SimTime::ZERO,
            latest_rtt_sample: None,
            aborted: false,
            episode: None,
            finished_episodes: Vec::new(),
        }
    }

    /// The application wrote `octets`, with more to come at once or not.
    pub(crate) fn write(&mut self, now: SimTime, octets: u64, more: bool) {
        debug_assert!(!self.closed, "write after close");
        self.restart_after_idle(now);
        let start = self.written_end;
        self.written_end = self.written_end.saturating_add(octets);
        self.small.on_write(self.written_end, more);
        self.note_pushes(start, more);
    }

    /// PSH goes with the end of a write, and in a long one every half of the peer's window (as Linux builds its
    /// bursts). Writes without end are pushed at their end only.
    fn note_pushes(&mut self, start: u64, more: bool) {
        const LONGEST: u64 = 1 << 26;
        // A write that is added to a buffer not yet sent makes the two one, which ends where the second does.
        if self.pushes.back().is_some_and(|end| *end == start && start > self.board.high_data()) {
            self.pushes.pop_back();
        }
        let half = self.peer.largest() / 2;
        let burst = (half.min(65_536) / self.mss).max(1) * self.mss;
        if self.written_end - start <= LONGEST && half > 0 {
            let (mut end, mut pushed) = (start + burst, start);
            while end < self.written_end {
                if end > pushed + half {
                    self.pushes.push_back(end);
                    pushed = end;
                }
                end += burst;
            }
        }
        if !more {
            self.pushes.push_back(self.written_end);
        }
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Octets written and not yet sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.written_end.saturating_sub(self.board.high_data())
    }

    /// Octets written that were cumulatively acknowledged; the SYN and the FIN do not count.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.board.una().min(self.written_end).saturating_sub(1)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Everything, the FIN included, is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed && self.board.una() > self.written_end
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// When [`Self::on_timer`] has something to do.
    pub(crate) fn deadline(&self) -> SimTime {
        self.timer.deadline.min(self.pacing_deadline()).min(self.controller_deadline())
    }

    /// Segments wait for the pacer until then.
    fn pacing_deadline(&self) -> SimTime {
        if self.limited_by == Limit::Pacing { self.pacer.next() } else { SimTime::NEVER }
    }

    pub(crate) fn rtt_stats(&self) -> RttStats {
        self.rto.stats()
    }

    /// The RTT sample of the last ACK, if it gave one.
    pub(crate) fn latest_rtt_sample(&self) -> Option<SimDuration> {
        self.latest_rtt_sample
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    pub(crate) fn dup_thresh(&self) -> u32 {
        self.dup_thresh
    }

    pub(crate) fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    pub(crate) fn unanswered_probes(&self) -> u32 {
        self.unanswered_probes
    }

    /// Linux's name for where loss recovery stands.
    pub(crate) fn recovery_state(&self) -> RecoveryState {
        match self.phase {
            Phase::Cwr { .. } => RecoveryState::Cwr,
            Phase::Fast(_) => RecoveryState::Recovery,
            Phase::Loss(_) => RecoveryState::Loss,
            Phase::Open if self.is_in_disorder() => RecoveryState::Disorder,
            Phase::Open => RecoveryState::Open,
        }
    }

    /// Something is SACKed, lost or sent again; a probe by itself is no disorder.
    fn is_in_disorder(&self) -> bool {
        self.board.sacked() + self.board.lost() > 0 || (self.board.resent() > 0 && !self.tlp.is_out())
    }

    /// Octets that the application may still write.
    pub(crate) fn writable(&self) -> u64 {
        let used = self.written_end.saturating_sub(self.board.una().max(1));
        let is_below_mark = self.notsent_lowat.is_none_or(|lowat| self.unsent() < lowat.0);
        if is_below_mark { self.send_buffer.saturating_sub(used) } else { 0 }
    }

    pub(crate) fn set_option(&mut self, option: &SocketOption) {
        match option {
            SocketOption::NoDelay(true) => {
                self.small.set_rule(Nagle::Off);
                self.small.push(self.written_end);
            }
            SocketOption::NoDelay(false) if self.config.nagle == Nagle::Off => self.small.set_rule(Nagle::Minshall),
            SocketOption::NoDelay(false) => self.small.set_rule(self.config.nagle),
            SocketOption::Cork(corked) => self.small.set_corked(*corked),
            SocketOption::NotSentLowat(lowat) => self.notsent_lowat = *lowat,
            SocketOption::UserTimeout(timeout) => self.user_timeout = *timeout,
            SocketOption::SendBuffer(size) => (self.send_buffer, self.tunes_send_buffer) = (size.0, false),
            SocketOption::Pacing => {
                self.pacer.turn_on();
                self.note_pacing();
            }
            SocketOption::Congestion(config) => {
                let (cwnd, ssthresh) = (self.controller.cwnd(), self.controller.ssthresh());
                self.controller = Controller::new(config, Bytes(self.mss), cwnd, ssthresh);
                self.meet_demands();
            }
            SocketOption::QuickAck(_) | SocketOption::ReceiveBuffer(_) | SocketOption::MaxSegment(_) => {}
        }
    }

    /// The window that bounds sending now: the controller's, or what recovery makes of it.
    pub(crate) fn window(&self) -> u64 {
        self.phase.window(self.controller.cwnd().0)
    }

    /// First offset after everything that may ever be sent as things stand.
    fn stream_end(&self) -> u64 {
        self.written_end + u64::from(self.closed)
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.controller.ssthresh().is_none_or(|ssthresh| self.controller.cwnd() < ssthresh)
    }

    fn take_sample(&mut self, sent_at: SimTime, now: SimTime) {
        self.rto.on_sample(sent_at, now, self.board.una(), self.board.high_data());
        self.latest_rtt_sample = Some(self.rto.stats().latest);
    }
}
