//! The sending half: puts the scoreboard, the RTT estimator, loss recovery and the controller in sequence.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 and the files it composes. Departures: a zero-window probe is an empty
//! segment one octet below `snd_una`, as Linux sends it, and not one octet of new data; it draws the same ACK.

mod ack;
mod transmit;

use ackclock_cc::{CongestionCause, CongestionController, CongestionEvent, Controller, RttStats};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::config::{LossRecovery, TcpConfig};
use crate::episode::{Episode, EpisodeCause};
use crate::recovery::Phase;
use crate::rto::RtoTimer;
use crate::rtt::SendTimes;
use crate::scoreboard::Scoreboard;

pub(crate) use ack::IncomingAck;
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
    /// Octets that were taken for lost.
    pub lost_octets: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries (Tahoe: fast retransmits).
    pub fast_recoveries: u64,
}

/// The sending half of an endpoint. Offset 0 is the SYN, data begins at 1, the FIN comes last.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) board: Scoreboard,
    pub(crate) controller: Controller,
    pub(crate) rto: RtoTimer,
    pub(crate) counters: SenderCounters,
    send_times: SendTimes,
    phase: Phase,
    mss: u64,
    dup_thresh: u32,
    loss_recovery: LossRecovery,
    prr: bool,
    grow_when_not_limited: bool,
    send_buffer: u64,
    max_retries: u32,
    dup_acks: u32,
    /// `FlightSize` when the first of them came.
    flight_before_dup_acks: u64,
    /// No fast retransmit for duplicate ACKs of data below this (RFC 6582 section 3.2 step 2, RFC 6675 section 5.1).
    no_recovery_below: u64,
    /// Window that the peer advertised, scaled, and the offset that it counts from.
    snd_wnd: u64,
    snd_wnd_from: u64,
    /// RFC 9293's SND.WL1 as an offset of the peer's stream.
    window_seq: u64,
    /// The largest window that the peer ever advertised.
    max_snd_wnd: u64,
    /// The offset after the data that the application has written.
    written_end: u64,
    /// The application has closed: the FIN follows `written_end`.
    closed: bool,
    /// Retransmission or persist timer, whichever runs.
    deadline: SimTime,
    /// Probes of a closed window sent in a row.
    probes: u32,
    /// The override timeout of silly-window avoidance is over.
    send_small: bool,
    /// What ended the last attempt to send.
    limited_by: Limit,
    round: u64,
    round_end: u64,
    idle_since: Option<SimTime>,
    latest_rtt_sample: Option<SimDuration>,
    /// Given up after too many timeouts.
    aborted: bool,
    pub(crate) episode: Option<Episode>,
    pub(crate) finished_episodes: Vec<Episode>,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, controller: Controller) -> Self {
        Self {
            board: Scoreboard::default(),
            controller,
            rto: RtoTimer::new(config.rto),
            counters: SenderCounters::default(),
            send_times: SendTimes::default(),
            phase: Phase::Open,
            mss: u64::from(config.mss),
            dup_thresh: config.dup_thresh,
            loss_recovery: config.loss_recovery,
            prr: config.prr,
            grow_when_not_limited: config.grow_when_not_limited,
            send_buffer: config.send_buffer.0,
            max_retries: config.max_retries,
            dup_acks: 0,
            flight_before_dup_acks: 0,
            no_recovery_below: 0,
            snd_wnd: 0,
            snd_wnd_from: 0,
            window_seq: 0,
            max_snd_wnd: 0,
            written_end: 1,
            closed: false,
            deadline: SimTime::NEVER,
            probes: 0,
            send_small: false,
            limited_by: Limit::Application,
            round: 0,
            round_end: 0,
            idle_since: Some(SimTime::ZERO),
            latest_rtt_sample: None,
            aborted: false,
            episode: None,
            finished_episodes: Vec::new(),
        }
    }

    /// Settled at the handshake: the payload of a full segment and whether the peer reports SACK.
    pub(crate) fn set_negotiated(&mut self, mss: u64, sack: bool) {
        self.mss = mss;
        if !sack && self.loss_recovery == LossRecovery::Sack {
            self.loss_recovery = LossRecovery::NewReno;
        }
    }

    /// The SYN left, at `now`; it occupies offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: SimTime) {
        if self.board.high_data() == 0 {
            self.board.on_new_data(1);
            self.send_times.on_new_data(1, now);
        }
        self.deadline = now + self.rto.rto();
    }

    /// The SYN was acknowledged.
    pub(crate) fn on_syn_acknowledged(&mut self, now: SimTime, window: u64, syn_was_retransmitted: bool) {
        let sent_at = self.send_times.on_acknowledged(1, true);
        if self.board.una() == 0 {
            self.board.acknowledge(1);
        }
        if syn_was_retransmitted {
            self.rto.on_syn_timed_out();
        } else if let Some(sent_at) = sent_at {
            self.take_sample(sent_at, now);
        }
        self.snd_wnd = window;
        self.snd_wnd_from = 1;
        self.max_snd_wnd = window;
        self.idle_since = Some(now);
        self.deadline = SimTime::NEVER;
    }

    /// The application wrote `octets`.
    pub(crate) fn write(&mut self, octets: u64) {
        debug_assert!(!self.closed, "write after close");
        self.written_end = self.written_end.saturating_add(octets);
    }

    /// The application will write no more.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Octets written and not yet sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.written_end.saturating_sub(self.board.high_data())
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

    pub(crate) fn deadline(&self) -> SimTime {
        self.deadline
    }

    pub(crate) fn rwnd(&self) -> Bytes {
        Bytes(self.snd_wnd)
    }

    pub(crate) fn rtt_stats(&self) -> RttStats {
        self.rto.stats()
    }

    /// The RTT sample of the last ACK, if it gave one.
    pub(crate) fn latest_rtt_sample(&self) -> Option<SimDuration> {
        self.latest_rtt_sample
    }

    /// The window that bounds sending now: the controller's, or what recovery makes of it.
    pub(crate) fn window(&self) -> u64 {
        self.phase.window(self.controller.cwnd().0)
    }

    /// First offset after everything that may ever be sent as things stand.
    fn stream_end(&self) -> u64 {
        self.written_end + u64::from(self.closed)
    }

    fn take_sample(&mut self, sent_at: SimTime, now: SimTime) {
        self.rto.on_sample(sent_at, now, self.board.una(), self.board.high_data());
        self.latest_rtt_sample = Some(self.rto.stats().latest);
    }

    /// Tells the controller of a congestion episode and records it.
    fn begin_episode(&mut self, now: SimTime, cause: CongestionCause, flight_size: u64, newly_lost: u64) {
        self.end_episode(now);
        let before = (self.controller.cwnd(), self.controller.ssthresh());
        self.controller.on_congestion(&CongestionEvent {
            now,
            cause,
            // Between two recoveries snd_una may lag far behind what has been SACKed, so that FlightSize says nothing
            // of what the network held; cwnd bounds it.
            flight_size: Bytes(flight_size).min(before.0),
            newly_lost: Bytes(newly_lost),
        });
        self.episode = Some(Episode {
            cause: EpisodeCause::from(cause),
            start: now,
            end: None,
            cwnd_before: before.0,
            cwnd_after: self.controller.cwnd(),
            ssthresh_before: before.1,
            ssthresh_after: self.controller.ssthresh(),
            lost: Bytes(newly_lost),
        });
    }

    fn end_episode(&mut self, now: SimTime) {
        if let Some(mut episode) = self.episode.take() {
            episode.end = Some(now);
            self.finished_episodes.push(episode);
        }
    }

    fn note_lost(&mut self, octets: u64) {
        self.counters.lost_octets += octets;
        if let Some(episode) = &mut self.episode {
            episode.lost += Bytes(octets);
        }
    }
}
