//! Outstanding segments: the scoreboard, its timers, the repair of losses, and the congestion control that bounds all that.
//!
//! `recovery` moves through loss recovery, `loss` through what follows a timeout, `timers` says what is due.

mod loss;
mod recovery;
mod timers;

use std::sync::Arc;

use ackclock_cc::{
    CongestionCause, CongestionController, CongestionEvent, Controller, ControllerConfig, HandshakeEvent, RestartCause,
    SendEvent,
};
use ackclock_events::{Event, LossDetection, RecoveryCause};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::congestion::Congestion;
use super::{Limit, SenderCounters};
use crate::clock::TimestampClock;
use crate::config::{DecreaseFrom, IdleRestart, TcpConfig};
use crate::cwnd_validation::{WindowInUse, restart_window};
use crate::ecn::EcnSender;
use crate::loss_recovery::Recovery;
use crate::persist_timer::PersistTimer;
use crate::retransmit_timer::RetransmitTimer;
use crate::rto::RtoTimer;
use crate::scoreboard::Scoreboard;
use crate::tlp::Tlp;

/// Outstanding segments, and all that follows from their fate.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Flight {
    pub(crate) timer: RetransmitTimer,
    pub(crate) persist: PersistTimer,
    pub(crate) ecn: EcnSender,
    /// Nothing is outstanding since then.
    pub(super) idle_since: Option<SimTime>,
    pub(super) last_sent: SimTime,
    pub(crate) rto: RtoTimer,
    /// Timestamp clock of the endpoint's segments. Data needs it when it arrives, and the board's first two fields: one cache line.
    pub(crate) clock: TimestampClock,
    pub(crate) board: Scoreboard,
    pub(super) tlp: Tlp,
    pub(crate) recovery: Recovery,
    pub(crate) counters: SenderCounters,
    pub(crate) congestion: Congestion,
    /// Configuration shared with the endpoint; it is not read for every segment.
    pub(super) config: Arc<TcpConfig>,
}

impl Flight {
    pub(super) fn new(config: &Arc<TcpConfig>) -> Self {
        Self {
            timer: RetransmitTimer::new(config),
            persist: PersistTimer::new(config),
            tlp: Tlp::new(config.tlp),
            ecn: EcnSender::new(config.ecn),
            idle_since: Some(SimTime::ZERO),
            last_sent: SimTime::ZERO,
            clock: TimestampClock::new(config.clock),
            rto: RtoTimer::new(config.rto),
            board: Scoreboard::new(config.counting, u64::from(config.mss)),
            congestion: Congestion::new(config),
            recovery: Recovery::new(config),
            counters: SenderCounters::default(),
            config: Arc::clone(config),
        }
    }

    /// Installs a controller, and what it demands of the sender.
    pub(super) fn set_controller(&mut self, controller: Controller) {
        let demands = controller.demands();
        self.board.keep_newly_lost(demands.samples);
        self.congestion.feed.settle(demands, &self.config);
        self.congestion.controller = controller;
    }

    /// Another controller takes over, from the present window on.
    pub(super) fn replace_controller(&mut self, now: SimTime, config: &ControllerConfig) {
        let old = &self.congestion.controller;
        let mut controller = Controller::new(config, Bytes(self.board.mss()), old.cwnd(), old.ssthresh());
        self.ecn.introduce(&mut controller);
        if self.rto.has_sample() {
            let srtt = self.rto.fine_stats().srtt;
            controller.on_handshake(&HandshakeEvent { now, srtt, is_opener: false });
        }
        self.set_controller(controller);
    }

    /// The window that bounds sending now: the controller's, or what recovery makes of it.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.recovery.window(self.congestion.cwnd())
    }

    /// A round trip of what left at `sent_at`; `newest` is when the newest left of what the ACK delivers and was sent once.
    pub(super) fn take_sample(&mut self, now: SimTime, sent_at: SimTime, newest: Option<SimTime>) {
        self.rto.on_sample(sent_at, now, self.board.una(), self.board.high_data());
        if let Some(newest) = newest.filter(|_| self.rto.samples_oldest()) {
            self.rto.note_newest(newest, now);
        }
    }

    /// Nothing is lost, SACKed or probed, nor known to be, and no mark answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.recovery.is_idle() && self.board.has_no_marks() && !self.tlp.is_out()
    }

    /// Reports a congestion episode to the controller and records it.
    fn begin_episode(&mut self, now: SimTime, cause: CongestionCause, flight_size: u64, newly_lost: u64) {
        self.congestion.report_lost(now, &mut self.board);
        let (cwnd, validation) = (self.congestion.cwnd(), &self.congestion.validation);
        let from = match self.config.decrease_from {
            // What PRR has made of it, where a recovery is held; what duplicate ACKs inflate a window by is no part of it.
            DecreaseFrom::Cwnd => self.recovery.phase().reduced_window().unwrap_or(cwnd),
            // Between two recoveries snd_una may lag far behind what has been SACKed, so that FlightSize says nothing
            // of what the network held; cwnd bounds it.
            DecreaseFrom::FlightSize => validation.decrease_from(flight_size.min(cwnd), cwnd),
        };
        self.congestion.begin_episode(&CongestionEvent {
            now,
            cause,
            flight_size: Bytes(flight_size),
            decrease_from: Bytes(from),
            newly_lost: Bytes(newly_lost),
            inflight: Bytes(self.board.pipe()),
        });
    }

    /// Octets were taken for lost, and are counted.
    fn count_lost(&mut self, octets: u64, by: LossDetection) {
        self.counters.lost_octets += octets;
        if octets > 0 {
            self.congestion.report(|_| Event::MarkedLost { lost: Bytes(octets), by });
        }
    }

    /// Octets of the episode under way were taken for lost, if any.
    #[inline]
    fn note_lost(&mut self, octets: u64) {
        if octets == 0 {
            return;
        }
        self.count_lost(octets, self.recovery.detection());
        self.congestion.episodes.on_lost(octets);
    }

    /// A recovery has begun, with a window that was `cwnd_before`.
    fn report_recovery(&mut self, cause: RecoveryCause, cwnd_before: u64) {
        self.congestion.report(|controller| Event::RecoveryEntered {
            cause,
            until: self.recovery.phase().ends_at().unwrap_or_else(|| self.board.high_data()),
            cwnd_before: Bytes(cwnd_before),
            cwnd: controller.cwnd(),
            ssthresh: controller.ssthresh(),
        });
    }

    /// A segment departs; nothing was outstanding since `idle_since`.
    #[inline]
    pub(super) fn on_departure(&mut self, now: SimTime, payload: u64, idle_since: Option<SimTime>) {
        self.counters.sent_segments += u64::from(payload > 0);
        self.counters.sent_octets += payload;
        self.last_sent = now;
        self.congestion.controller.on_send(&SendEvent {
            now,
            size: Bytes(payload),
            flight_size: Bytes(self.board.flight_size()),
            snd_nxt: self.board.high_data(),
            idle_for: idle_since.map_or(SimDuration::ZERO, |since| now.saturating_since(since)),
            is_app_limited: idle_since.is_some() && self.congestion.feed.is_app_limited(),
        });
    }

    /// Nothing is left to send.
    pub(super) fn on_nothing_to_send(&mut self) {
        let window = || self.recovery.window(self.congestion.controller.cwnd().0);
        self.congestion.feed.on_nothing_to_send(&self.board, window);
    }

    /// Updates window validation and the controller with the use of the window, now that nothing more leaves. An update is
    /// due if new data has left, or if the window keeps some from leaving.
    pub(super) fn account_for_use(&mut self, now: SimTime, limit: Limit) {
        let has_sent = self.congestion.validation.note_new_data(self.board.high_data());
        let is_limited = limit == Limit::Cwnd || self.board.pipe() >= self.window();
        if !has_sent && (limit == Limit::Application || !is_limited) {
            return;
        }
        let (flight_size, cwnd, rto) = (self.board.flight_size(), self.congestion.cwnd(), self.rto.rto());
        let (una, high_data) = (self.board.una(), self.board.high_data());
        self.congestion.validation.on_sent_all(is_limited, flight_size, una, high_data);
        if limit != Limit::Application || !self.recovery.is_idle() || !has_sent {
            return;
        }
        let state = WindowInUse { cwnd, flight_size, rto, in_slow_start: self.congestion.in_slow_start() };
        if let Some(cwnd) = self.congestion.validation.decay(now, state) {
            self.congestion.restart_unused(now, RestartCause::Unused, cwnd, self.board.mss());
        }
    }

    /// RFC 5681 section 4.1, RFC 2861: the first write after an idle time, or the end of one in which the peer's window was closed.
    pub(super) fn restart_after_idle(&mut self, now: SimTime) {
        if !self.board.is_empty() {
            return;
        }
        let idle = now.saturating_since(self.last_sent);
        let (policy, mss, rto) = (self.config.idle_restart, self.board.mss(), self.rto.rto());
        let initial = self.congestion.validation.initial_window();
        let after = |cwnd| restart_window(policy, idle, rto, cwnd, initial).map(|cwnd| cwnd / mss * mss);
        if policy == IdleRestart::Linux
            && let Some(reduced) = self.recovery.prr_window_mut()
        {
            // Behind data that is acknowledged up to the recovery point alone. It ends at ssthresh all the same.
            let Some(cwnd) = after(*reduced) else { return };
            *reduced = cwnd;
            self.congestion.restart_window(now, RestartCause::Idle, self.congestion.cwnd());
            return self.congestion.validation.restart(now);
        }
        let Some(cwnd) = after(self.congestion.cwnd()) else { return };
        if policy == IdleRestart::Linux {
            self.congestion.restart_unused(now, RestartCause::Idle, cwnd, mss);
        } else {
            self.congestion.restart_window(now, RestartCause::Idle, cwnd);
        }
        self.congestion.validation.restart(now);
    }
}
