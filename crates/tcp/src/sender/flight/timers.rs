//! The sender's timer: when it runs, and the actions when it fires.

use ackclock_events::{Event, ProbeKind};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::Flight;
use crate::config::UserTimeoutFrom;
use crate::loss_recovery::Detected;
use crate::prr::PrrAck;
use crate::retransmit_timer::Purpose;
use crate::sender::ack::AckOutcome;
use crate::tlp::Tlp;

impl Flight {
    /// Sets the timer after an ACK.
    pub(in crate::sender) fn set_timer(&mut self, now: SimTime, outcome: &AckOutcome) {
        if self.board.is_empty() {
            //= rfc6298-5.2-stop
            if outcome.advanced {
                self.timer.stop();
                self.idle_since = Some(now);
            }
        } else if outcome.restarts_timer && !self.recovery.keeps_timer_on_partial_ack() {
            self.timer.restart_at(now);
            if !self.schedule_probe(now, now) {
                self.rearm_timeout(now);
            }
        }
    }

    /// New data left: the timer runs, and the probe is put off.
    pub(in crate::sender) fn on_sent_data(&mut self, now: SimTime, was_empty: bool) {
        if was_empty {
            self.timer.restart_at(now);
        }
        let has_other = self.persist.is_running() || self.timer.purpose() == Purpose::Probe;
        if was_empty || self.timer.is_off() || has_other {
            self.persist.stop();
            self.rearm_timeout(now);
        }
        if self.tlp.is_enabled() {
            self.schedule_probe(now, self.timer.counts_from(now, self.first_sent(), &self.rto));
        }
    }

    /// Departure time of the oldest outstanding segment, or of its latest retransmission.
    pub(in crate::sender) fn first_sent(&self) -> Option<SimTime> {
        self.board.first().map(|first| first.at)
    }

    pub(in crate::sender) fn rearm_timeout(&mut self, now: SimTime) {
        self.timer.rearm(now, self.first_sent(), &self.rto);
    }

    /// The timer runs anew, whatever it ran for.
    pub(in crate::sender) fn start_timeout(&mut self, now: SimTime) {
        self.timer.stop();
        self.rearm_timeout(now);
    }

    /// RFC 8985 section 7.2: arms the probe timer, unless in recovery or while something is SACKed, which loss detection
    /// sees to (`tlp_amid_sacks`). The timeout, counted from `timeout_from`, comes first if it is due earlier.
    fn schedule_probe(&mut self, now: SimTime, timeout_from: SimTime) -> bool {
        if !self.tlp.is_enabled() || !self.recovery.phase().is_open() || self.board.is_empty() {
            return false;
        }
        //= rfc8985-7.2-not-in-recovery
        if self.board.sacked() > 0 && (self.recovery.is_idle() || !self.config.tlp_amid_sacks) {
            return false;
        }
        let srtt = self.rto.has_sample().then(|| self.rto.stats().srtt);
        let (delayed_ack, slack) = (self.config.tlp_max_ack_delay, self.config.rack_tlp_slack);
        let probe = Tlp::timeout(srtt, self.board.count(), delayed_ack, slack);
        let timeout = (timeout_from + self.rto.rto()).saturating_since(now);
        //= rfc8985-7.2-not-after-timeout
        self.timer.wait_for_probe(now, if timeout.is_zero() { probe } else { timeout.min(probe) });
        true
    }

    /// The timer has fired for something outstanding. Returns true if that is repaired after a timeout.
    pub(in crate::sender) fn on_timer(&mut self, now: SimTime) -> bool {
        if self.board.is_empty() {
            self.timer.stop();
            return false;
        }
        match self.timer.purpose() {
            Purpose::Retransmission => return self.on_retransmission_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
            Purpose::Probe => self.tlp.on_timer(),
        }
        false
    }

    /// The peer's window is still closed. Returns true if a probe is to be sent; the next one follows after `interval`.
    pub(in crate::sender) fn probe_closed_window(&mut self, now: SimTime, interval: SimDuration) -> bool {
        self.timer.stall_since(now);
        if !self.persist.on_probe() || self.timer.is_past_user_timeout(now) {
            self.timer.give_up();
            return false;
        }
        self.timer.start_within_user_timeout(now, interval);
        self.congestion.report(|_| Event::ProbeSent { kind: ProbeKind::ZeroWindow });
        true
    }

    /// Nothing is outstanding and the peer's window is closed: probe it (RFC 9293 section 3.8.6.1).
    pub(in crate::sender) fn arm_persist(&mut self, now: SimTime) {
        if self.board.is_empty() && self.timer.is_off() {
            self.persist.start();
            self.timer.start(now, self.rto.rto());
        }
    }

    /// The peer answers, but its window is still closed: the next probe waits its time from now.
    pub(in crate::sender) fn on_probe_answered(&mut self, now: SimTime) {
        let interval = self.persist.interval_after_answer(self.rto.rto());
        self.timer.start_within_user_timeout(now, interval);
    }

    fn on_retransmission_timeout(&mut self, now: SimTime) -> bool {
        if self.config.user_timeout_from == UserTimeoutFrom::Transmission
            && let Some(first_sent) = self.first_sent()
        {
            self.timer.stall_since(first_sent);
        }
        self.counters.timeouts += 1;
        let reported = self.congestion.reported();
        let goes_on = self.timer.on_timeout(now);
        if goes_on {
            self.enter_loss(now);
            //= rfc6298-5.6-start-again
            self.rto.back_off();
            self.timer.start_within_user_timeout(now, self.rto.rto());
        }
        let (in_a_row, rto) = (self.timer.timeouts_in_a_row(), self.rto.rto());
        self.congestion.report_at(reported, |_| Event::TimedOut { in_a_row, rto });
        goes_on
    }

    fn answer_losses_of_timer(&mut self, now: SimTime, found: Detected) {
        let mut outcome = AckOutcome { newly_lost: found.newly_lost, ..AckOutcome::default() };
        if !self.recovery.phase().is_fast_recovery() {
            // After a timeout, too (Linux): what that did not take for lost left later, and is lost by itself.
            self.timer.stop();
            if !self.recovery.phase().is_open() {
                self.recovery.leave();
            }
            self.enter_recovery(now, &mut outcome);
        } else if self.is_second_sign(found.lost_retransmission) {
            self.answer_second_sign(now, &outcome);
        } else {
            return self.note_lost(found.newly_lost);
        }
        let (mss, pipe) = (self.board.mss(), self.board.pipe());
        self.recovery.on_prr_ack(PrrAck { delivered: mss, pipe, is_safe: false, mss });
    }

    /// RFC 8985 section 6.2, step 5: what is outstanding has until `at` to arrive.
    pub(super) fn wait_for_reordering(&mut self, now: SimTime, at: SimTime) {
        let wait = at.saturating_since(now) + self.config.rack_tlp_slack;
        self.timer.wait_for_reordering(now, wait);
    }

    /// RFC 8985 section 6.2, step 5: what has not arrived by now is lost.
    fn on_reordering_timeout(&mut self, now: SimTime) {
        //= rfc8985-6.2-reordering-timer
        let found = self.recovery.detect_by_time(now, &mut self.board, &self.rto.stats());
        if found.newly_lost > 0 {
            self.congestion.lost_by_timer += Bytes(found.newly_lost);
            self.congestion.report_lost(now, &mut self.board);
            self.answer_losses_of_timer(now, found);
        }
        match found.wait_until {
            Some(at) => self.wait_for_reordering(now, at),
            None if self.timer.waits_for_reordering() => self.rearm_timeout(now),
            None => {}
        }
    }
}
