//! The sender's timer: one deadline, for what is due next (RFC 8985 section 8: RTO, reordering and probe share one).

use ackclock_cc::CongestionController;
use ackclock_units::{SimDuration, SimTime};

use super::Sender;
use super::ack::Progress;
use crate::config::UserTimeoutFrom;
use crate::prr::PrrAck;
use crate::recovery::Phase;
use crate::scoreboard::Sent;
use crate::tlp::Tlp;

/// What the timer runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// RFC 6298, and probes of a closed window.
    Retransmission,
    /// Waiting for reordered segments (RFC 8985 section 6.2, step 5).
    Reordering,
    /// A tail loss probe (section 7).
    Probe,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
//= rfc8985-8-one-timer
pub(super) struct Timer {
    pub(super) deadline: SimTime,
    pub(super) purpose: Purpose,
}

impl Timer {
    pub(super) const OFF: Self = Self { deadline: SimTime::NEVER, purpose: Purpose::Retransmission };

    pub(super) fn retransmission(deadline: SimTime) -> Self {
        Self { deadline, purpose: Purpose::Retransmission }
    }

    pub(super) fn reordering(deadline: SimTime) -> Self {
        Self { deadline, purpose: Purpose::Reordering }
    }

    pub(super) fn is_off(&self) -> bool {
        self.deadline == SimTime::NEVER
    }
}

/// The longest wait between probes of a closed window.
const LONGEST_PROBE_INTERVAL: SimDuration = SimDuration::from_secs(60);

impl Sender {
    /// After an ACK.
    pub(super) fn set_timer(&mut self, now: SimTime, progress: &Progress) {
        if self.board.is_empty() {
            //= rfc6298-5.2-stop
            if progress.advanced {
                self.timer = Timer::OFF;
                self.idle_since = Some(now);
            }
        } else if progress.restarts_timer && !self.keeps_timer_on_partial_ack() {
            self.restart_timer(now);
        }
    }

    /// A probe if one is to be sent, the retransmission timeout otherwise.
    fn restart_timer(&mut self, now: SimTime) {
        self.timeout_from = now;
        if !self.schedule_probe(now, now) {
            self.rearm_timeout(now);
        }
    }

    /// RFC 6582: only the first partial ACK restarts the timer.
    fn keeps_timer_on_partial_ack(&self) -> bool {
        //= rfc6582-3.2-first-partial-restarts
        matches!(&self.phase, Phase::Fast(recovery) if recovery.partial_acks >= 2)
    }

    /// A segment left: the timer runs, and the probe is put off.
    pub(super) fn on_sent_data(&mut self, now: SimTime, was_empty: bool) {
        if was_empty {
            self.timeout_from = now;
        }
        if was_empty || self.timer.is_off() || self.probes > 0 || self.timer.purpose == Purpose::Probe {
            self.probes = 0;
            self.rearm_timeout(now);
        }
    }

    /// When the timeout counts from: the last restart of its timer (RFC 6298 section 5), or when the first segment left
    /// (Linux, whose timeout is 200 ms above SRTT at least; one without that floor would be due with the very next ACK).
    pub(super) fn timeout_from(&self, now: SimTime) -> SimTime {
        let first_left = self.board.first().map_or(now, |first| first.at);
        if self.rto.resumes_from_head() { first_left } else { first_left.max(self.timeout_from) }
    }

    /// RFC 6298 section 5.1; a timer that ran for something else counts from where it would have by itself.
    pub(super) fn rearm_timeout(&mut self, now: SimTime) {
        let is_other = matches!(self.timer.purpose, Purpose::Reordering | Purpose::Probe) && !self.timer.is_off();
        let from = if is_other { self.timeout_from(now) } else { now };
        let deadline = (from + self.rto.rto()).max(now + SimDuration(1_000));
        self.timer = Timer::retransmission(self.within_user_timeout(deadline));
    }

    /// RFC 5482: the connection is not given up later than the user wants.
    fn within_user_timeout(&self, deadline: SimTime) -> SimTime {
        match (self.user_timeout, self.stalled_since) {
            (Some(timeout), Some(since)) => deadline.min(since + timeout),
            _ => deadline,
        }
    }

    /// RFC 8985 section 7.2: arms the probe timer, unless in recovery. The timeout, counted from `timeout_from`, comes
    /// first if it is due earlier.
    pub(super) fn schedule_probe(&mut self, now: SimTime, timeout_from: SimTime) -> bool {
        //= rfc8985-7.2-not-in-recovery
        if !self.tlp.is_enabled() || !self.phase.is_open() || self.board.is_empty() {
            return false;
        }
        let (delayed_ack, slack) = (self.config.tlp_max_ack_delay, self.config.rack_tlp_slack);
        let probe = Tlp::timeout(self.srtt(), self.board.count(), delayed_ack, slack);
        let timeout = timeout_from + self.rto.rto();
        //= rfc8985-7.2-not-after-timeout
        let deadline = if timeout > now { timeout.min(now + probe) } else { now + probe };
        self.timer = Timer { deadline, purpose: Purpose::Probe };
        true
    }

    /// The timer has fired. Returns true if a zero-window probe is to be sent; whatever else is due comes out of
    /// [`Sender::next_segment`].
    pub(crate) fn on_timer(&mut self, now: SimTime) -> bool {
        self.run_controller_timer(now);
        if now < self.timer.deadline {
            return false; // the pacer's turn
        }
        if self.probes > 0 {
            return self.on_persist_timer(now);
        }
        if self.board.is_empty() {
            self.timer = Timer::OFF;
            return false;
        }
        match self.timer.purpose {
            Purpose::Retransmission => self.on_retransmission_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
            Purpose::Probe => self.wants_probe = true,
        }
        false
    }

    fn on_persist_timer(&mut self, now: SimTime) -> bool {
        //= rfc9293-3.8.6.1-probe-back-off
        //= rfc9293-3.8.6.1-probe-closed-window
        let shift = self.probes.min(16);
        self.probes += 1;
        if self.usable_window() > 0 {
            // RFC 9293 section 3.8.6.2.1 (4): what fits goes, however little, when the override timeout is over.
            //= rfc9293-3.8.6.2.1-override-timeout
            self.send_small = true;
            return false;
        }
        self.stalled_since.get_or_insert(now);
        self.unanswered_probes += 1;
        if self.is_out_of_patience(now) || self.unanswered_probes > self.config.max_retries {
            self.give_up();
            return false;
        }
        let interval = SimDuration(self.rto.rto().0 << shift).min(self.longest_probe_interval());
        self.timer = Timer::retransmission(self.within_user_timeout(now + interval));
        true
    }

    /// The peer answers, but its window is still closed: the next probe waits its time from now.
    pub(super) fn on_probe_answered(&mut self, now: SimTime) {
        let interval = SimDuration(self.rto.rto().0 << (self.probes - 1).min(16)).min(self.longest_probe_interval());
        self.timer = Timer::retransmission(self.within_user_timeout(now + interval));
    }

    fn longest_probe_interval(&self) -> SimDuration {
        LONGEST_PROBE_INTERVAL.max(self.config.rto.max)
    }

    fn is_out_of_patience(&self, now: SimTime) -> bool {
        match (self.user_timeout, self.stalled_since) {
            (Some(timeout), Some(since)) => now >= since + timeout,
            _ => false,
        }
    }

    fn give_up(&mut self) {
        self.aborted = true;
        self.timer = Timer::OFF;
    }

    fn on_retransmission_timeout(&mut self, now: SimTime) {
        if self.config.user_timeout_from == UserTimeoutFrom::Transmission {
            self.stalled_since = self.stalled_since.or(self.board.first().map(|first: &Sent| first.at));
        }
        let out_of_retries = self.user_timeout.is_none() && self.timeouts_in_a_row >= self.config.max_retries;
        self.counters.timeouts += 1;
        if out_of_retries || self.is_out_of_patience(now) {
            return self.give_up();
        }
        self.timeouts_in_a_row += 1;
        if let Some(control) = &mut self.ack_control {
            control.on_timeout();
        }
        self.enter_loss(now);
        //= rfc6298-5.6-start-again
        self.rto.back_off();
        self.timer = Timer::retransmission(self.within_user_timeout(now + self.rto.rto()));
    }

    /// RFC 8985 section 6.2, step 5: what has not arrived by now is lost.
    fn on_reordering_timeout(&mut self, now: SimTime) {
        //= rfc8985-6.2-reordering-timer
        self.timer = Timer::OFF;
        let (newly_lost, wait_until) = self.detect_by_time(now);
        if newly_lost > 0 {
            self.report_lost(now);
            if self.phase.is_open() {
                self.enter_recovery_by_timer(now, newly_lost);
            } else {
                self.note_lost(newly_lost);
            }
            self.phase.on_prr_ack(PrrAck {
                delivered: self.mss,
                pipe: self.board.pipe(),
                is_safe: false,
                mss: self.mss,
            });
        }
        match wait_until {
            Some(at) if self.timer.is_off() => {
                self.timer = Timer::reordering(at.max(now) + self.config.rack_tlp_slack);
            }
            _ if self.timer.is_off() => self.rearm_timeout(now),
            _ => {}
        }
    }

    /// True if the controller's window has room for what it says.
    pub(super) fn cwnd(&self) -> u64 {
        self.controller.cwnd().0
    }
}
