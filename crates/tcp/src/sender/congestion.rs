//! Congestion control as the sender drives it: the controller and its feed, the validation of its window, and the record of its
//! episodes and events. Without an observer there is no log, and no event is made.

use ackclock_cc::{CongestionCause, CongestionController, CongestionEvent, Controller, RestartCause, RestartEvent};
use ackclock_events::{Event, SlowStartExit};
use ackclock_units::{Bytes, SimTime};

use crate::config::TcpConfig;
use crate::controller_feed::ControllerFeed;
use crate::cwnd_validation::CwndValidator;
use crate::episode::{Episode, EpisodeCause, Episodes};
use crate::event_log::EventLog;
use crate::scoreboard::Scoreboard;

/// The controller with its feed, its window's validation and its record.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Congestion {
    pub(super) validation: CwndValidator,
    /// Octets found lost by the timer of RFC 8985 since the last ACK was reported to the controller.
    pub(super) lost_by_timer: Bytes,
    /// Events for observers.
    pub(crate) log: Option<Box<EventLog>>,
    pub(crate) feed: ControllerFeed,
    pub(crate) controller: Controller,
    pub(crate) episodes: Episodes,
}

impl Congestion {
    /// Its controller comes with what the handshake settles.
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            feed: ControllerFeed::default(),
            controller: Controller::unopened(config.initial_window, config.initial_ssthresh),
            lost_by_timer: Bytes::ZERO,
            validation: CwndValidator::new(config.cwnd_validation, config.initial_window),
            episodes: Episodes::default(),
            log: None,
        }
    }

    /// The controller's window in octets.
    #[inline]
    pub(super) fn cwnd(&self) -> u64 {
        self.controller.cwnd().0
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.controller.ssthresh().is_none_or(|ssthresh| self.controller.cwnd() < ssthresh)
    }

    /// Time at which [`Self::on_timer`] is due.
    pub(super) fn deadline(&self) -> SimTime {
        if self.feed.has_timer() { self.controller.deadline() } else { SimTime::NEVER }
    }

    /// Runs the controller's timer. Returns true if it was due.
    pub(super) fn on_timer(&mut self, now: SimTime) -> bool {
        let is_due = now >= self.deadline();
        if is_due {
            self.controller.on_timer(now);
        }
        is_due
    }

    /// Reports each segment that has been found lost to the controller.
    pub(super) fn report_lost(&mut self, now: SimTime, board: &mut Scoreboard) {
        self.feed.report_lost(now, board, &mut self.controller);
    }

    /// Reports a congestion episode to the controller and records it.
    pub(super) fn begin_episode(&mut self, event: &CongestionEvent) {
        let (cwnd_before, ssthresh_before) = (self.controller.cwnd(), self.controller.ssthresh());
        //= rfc9293-3.8.2-congestion-control
        self.controller.on_congestion(event);
        self.report_congestion(event.cause);
        self.episodes.begin(Episode {
            cause: EpisodeCause::from(event.cause),
            start: event.now,
            end: None,
            cwnd_before,
            cwnd_after: self.controller.cwnd(),
            ssthresh_before,
            ssthresh_after: self.controller.ssthresh(),
            lost: event.newly_lost,
            marked: 0,
            spurious: false,
        });
    }

    /// Takes the last episode back.
    pub(super) fn undo_episode(&mut self, now: SimTime) {
        //= rfc4015-3.2-window
        self.controller.on_spurious(now);
        self.episodes.mark_spurious();
        self.validation.restart(now);
        self.report(|controller| Event::Undone { cwnd: controller.cwnd() });
    }

    /// A window that was not used starts over, and ssthresh keeps three quarters of what it was (RFC 2861, RFC 7661 section
    /// 4.4.3).
    pub(super) fn restart_unused(&mut self, now: SimTime, cause: RestartCause, cwnd: u64, mss: u64) {
        let segments = self.cwnd() / mss;
        let three_quarters = Bytes((segments / 2 + segments / 4) * mss);
        let ssthresh = self.controller.ssthresh().map(|ssthresh| ssthresh.max(three_quarters)); // infinite stays infinite
        self.controller.on_restart(&RestartEvent { now, cause, window: Bytes(cwnd), ssthresh });
    }

    /// The window starts over, and ssthresh stays.
    pub(super) fn restart_window(&mut self, now: SimTime, cause: RestartCause, cwnd: u64) {
        self.controller.on_restart(&RestartEvent { now, cause, window: Bytes(cwnd), ssthresh: None });
    }

    /// Number of events kept.
    pub(super) fn reported(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.len())
    }

    /// Reports an event.
    #[inline]
    pub(crate) fn report(&mut self, event: impl FnOnce(&Controller) -> Event) {
        if let Some(log) = &mut self.log {
            log.push(event(&self.controller));
        }
    }

    /// Reports an event before those that happened since there were `place` events.
    pub(super) fn report_at(&mut self, place: usize, event: impl FnOnce(&Controller) -> Event) {
        if let Some(log) = &mut self.log {
            log.insert(place, event(&self.controller));
        }
    }

    /// Reports that the controller was informed of congestion.
    fn report_congestion(&mut self, cause: CongestionCause) {
        let Some(log) = &mut self.log else { return };
        let cause = match cause {
            CongestionCause::Loss => SlowStartExit::Loss,
            CongestionCause::Ecn => SlowStartExit::Ecn,
            CongestionCause::Timeout { .. } => SlowStartExit::Timeout,
        };
        log.on_congestion(&self.controller, cause);
    }

    /// The controller may have changed.
    #[inline]
    pub(crate) fn report_controller(&mut self, now: SimTime) {
        if let Some(log) = &mut self.log {
            log.record_controller(now, &self.controller);
        }
    }
}
