//! Moves through loss recovery: what an ACK begins, continues, ends or undoes.

use ackclock_cc::{CongestionCause, CongestionController, RestartCause};
use ackclock_events::{Event, RecoveryCause};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::Flight;
use crate::config::{Counting, DecreaseFrom, LossRecovery, TimeoutInRecovery};
use crate::prr::{Prr, PrrAck};
use crate::rate_halving::RateHalving;
use crate::recovery::{Phase, RecoveryWindow};
use crate::sender::ack::{AckOutcome, IncomingAck};

impl Flight {
    /// Moves on after an ACK.
    pub(in crate::sender) fn recover(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &mut AckOutcome) {
        let is_quiet = self.recovery.is_idle()
            && !outcome.is_duplicate
            && outcome.newly_sacked == 0
            && outcome.prior_sacked == 0
            && self.board.lost() == 0
            && outcome.marked == 0
            && ack.sack.dsack.is_none();
        if is_quiet {
            return;
        }
        if outcome.marked > 0 {
            self.recovery.undo_mut().keep_window();
        }
        if outcome.advanced && self.board.first().is_some_and(crate::scoreboard::Sent::is_sacked) {
            // The receiver seems to have thrown away what it had SACKed (RFC 2018 section 8): unless it proves otherwise soon,
            // the timer takes all of it for lost.
            self.timer.start(now, SimDuration(self.rto.stats().srtt.0 / 2).max(SimDuration::from_millis(10)));
            outcome.restarts_timer = false;
            return;
        }
        let was_open = self.recovery.phase().is_open();
        match self.recovery.phase() {
            Phase::Open => {}
            Phase::Cwr { .. } => self.leave_cwr(now),
            Phase::Fast(_) => self.in_fast_recovery(now, ack, outcome),
            Phase::Loss(_) => self.in_loss(now, ack, outcome),
        }
        if self.recovery.phase().is_open() {
            self.in_open(now, outcome, !was_open);
        }
        self.reduce(outcome);
    }

    fn leave_cwr(&mut self, now: SimTime) {
        if self.recovery.phase().ends_at().is_some_and(|end| self.board.una() >= end) {
            self.congestion.validation.renew(now);
            self.keep_halved_window(now);
            self.leave_recovery();
            self.congestion.episodes.end(now);
        }
    }

    /// Rate halving may end below the controller's window, and stays there.
    fn keep_halved_window(&mut self, now: SimTime) {
        if let Some(halving) = self.recovery.phase().halving() {
            let window = halving.end(self.board.pipe(), self.board.mss());
            if window < self.congestion.controller.cwnd().0 {
                self.congestion.restart_window(now, RestartCause::Unused, window);
            }
        }
    }

    /// Nothing is being repaired, maybe since just now: is there anything to repair, or a mark to answer?
    fn in_open(&mut self, now: SimTime, outcome: &mut AckOutcome, has_just_ended: bool) {
        if self.board.retransmitted() == 0 {
            self.recovery.undo_mut().forget_first();
        }
        if self.recovery.emulates_sack() {
            if outcome.advanced && !outcome.undid_recovery {
                self.board.forget_presumed();
            }
            self.presume_delivered(now, outcome);
        }
        if self.recovery.undo().all_were_duplicates() {
            self.undo_episode(now, false);
        }
        // Segments may be lost that were sent after the recovery began which ends with this ACK.
        let may_have_lost = has_just_ended || self.board.lost() > 0;
        if outcome.is_duplicate || outcome.newly_sacked > 0 || outcome.prior_sacked > 0 || may_have_lost {
            outcome.newly_lost += self.detect_loss(now, outcome);
            let newly_lost = &mut outcome.newly_lost;
            if self.recovery.asks_for_recovery(&mut self.board, outcome.is_duplicate, newly_lost) {
                return self.enter_recovery(now, outcome);
            }
        }
        if outcome.marked > 0 && self.recovery.is_idle() && !outcome.undid_recovery {
            if self.congestion.feed.takes_marks() {
                self.ecn.on_answered(self.board.una(), self.board.high_data());
            } else {
                self.answer_mark(now, outcome);
            }
        }
    }

    /// A duplicate ACK stands for a segment that has left the network.
    pub(super) fn presume_delivered(&mut self, now: SimTime, outcome: &mut AckOutcome) {
        if outcome.is_duplicate {
            let mss = self.board.mss();
            let newly = self.board.presume(mss);
            if newly < mss {
                self.take_for_reordered(0);
            }
            outcome.delivered += newly;
            self.counters.delivered += newly;
            if newly > 0 {
                self.congestion.feed.count(now, newly);
            }
        }
    }

    /// More duplicate ACKs came than segments may have left the network: all that was outstanding, with what the last ACK covers, may come
    /// in any order (Linux).
    pub(in crate::sender) fn take_for_reordered(&mut self, acked: u64) {
        self.recovery.set_reordering(self.board.count() as u32 + acked.div_ceil(self.board.mss()) as u32);
        self.counters.reorderings += 1;
    }

    /// Marks what is lost by now. Returns how much that is.
    pub(super) fn detect_loss(&mut self, now: SimTime, outcome: &mut AckOutcome) -> u64 {
        let found = self.recovery.detect_loss(now, &mut self.board, &self.rto.stats());
        outcome.lost_retransmission = outcome.lost_retransmission.max(found.lost_retransmission);
        if let Some(at) = found.wait_until {
            self.wait_for_reordering(now, at);
            outcome.restarts_timer = false;
        }
        found.newly_lost
    }

    pub(super) fn enter_recovery(&mut self, now: SimTime, outcome: &mut AckOutcome) {
        if self.recovery.method() == LossRecovery::Tahoe {
            return self.enter_tahoe_loss(now, outcome);
        }
        if self.recovery.method() != LossRecovery::Sack {
            outcome.newly_lost += self.board.mark_first_segment_lost();
        }
        let cwnd_before = self.congestion.cwnd();
        self.counters.fast_recoveries += 1;
        self.count_lost(outcome.newly_lost, self.recovery.detection());
        let answered = self.answered_by_mark();
        self.recovery.begin_undo(&self.board, self.tlp.retransmission());
        if answered.is_some() || outcome.marked > 0 {
            self.recovery.undo_mut().keep_window();
        }
        let window = match self.recovery.phase().inherited_window().filter(|_| answered.is_some()) {
            // A mark has been answered already: duplicate ACKs inflate the window that it left.
            Some(RecoveryWindow::Ssthresh) => self.window_without_prr(CongestionCause::Loss),
            Some(window) => window,
            None => self.begin_reduction(now, CongestionCause::Loss, outcome),
        };
        let is_sack = self.recovery.method() == LossRecovery::Sack;
        let until = answered.filter(|_| is_sack).unwrap_or_else(|| self.board.high_data());
        self.recovery.enter_fast(until, window);
        if answered.is_some() {
            self.report_loss_in_answer(now);
        }
        self.report_recovery(RecoveryCause::Loss, cwnd_before);
        // The retransmission deserves a whole timeout; RFC 6298 section 5 leaves this open, stacks restart the timer.
        if !self.timer.waits_for_reordering() {
            self.timer.start(now, self.rto.rto());
        }
        outcome.restarts_timer = false;
    }

    /// Reports a loss whose window has been reduced for a mark already: the controller may want a smaller one.
    fn report_loss_in_answer(&mut self, now: SimTime) {
        let window = self.recovery.phase().reduced_window().unwrap_or(self.congestion.cwnd());
        self.congestion.report_lost(now, &mut self.board);
        self.congestion.controller.on_loss_in_answer(Bytes(window));
        if let Some(ssthresh) = self.congestion.controller.ssthresh() {
            self.recovery.reduce_to(ssthresh.0);
        }
    }

    /// The end of the window of data that the answer to a mark stands for. What is lost behind it is a sign of its own (RFC 3168 section
    /// 6.1.2); with SACK the next ACK finds that of the first segment behind it (Linux).
    fn answered_by_mark(&self) -> Option<u64> {
        let is_mark = matches!(self.recovery.phase(), Phase::Cwr { .. });
        let is_sack = self.recovery.has_sack();
        self.recovery.phase().until().filter(|until| is_mark && (is_sack || self.board.una() < *until))
    }

    /// An episode begins: the controller decides, and the window goes down to that as the recovery says.
    fn begin_reduction(&mut self, now: SimTime, cause: CongestionCause, outcome: &AckOutcome) -> RecoveryWindow {
        self.congestion.report_lost(now, &mut self.board);
        if self.recovery.phase().is_open() {
            self.congestion.controller.on_recovery_end(now); // the ACK may have ended one
        }
        let flight_size = self.recovery.flight_size_at_loss(self.board.flight_size());
        let prior_cwnd = self.congestion.cwnd();
        self.begin_episode(now, cause, flight_size, outcome.newly_lost);
        self.ecn.on_reduction();
        self.tlp.clear(); // what a probe repaired of this window is answered
        let ssthresh = self.congestion.controller.ssthresh().unwrap_or_else(|| self.congestion.controller.cwnd()).0;
        match self.recovery.method() {
            _ if self.congestion.feed.bounds_recovery() => RecoveryWindow::Ssthresh,
            LossRecovery::Sack if self.config.rate_halving => {
                RecoveryWindow::Halving(RateHalving::new(prior_cwnd, ssthresh))
            }
            LossRecovery::Sack if self.config.prr => {
                let from = match self.config.decrease_from {
                    //= rfc9937-5-recover-fs
                    // RFC 9937: what was outstanding and not delivered before this ACK.
                    DecreaseFrom::FlightSize => self.board.flight_size() - self.board.sacked() + outcome.delivered,
                    DecreaseFrom::Cwnd => prior_cwnd,
                };
                let unit = if self.config.counting == Counting::Segments { self.board.mss() } else { 1 };
                RecoveryWindow::Prr { prr: Prr::new(ssthresh, from, unit), cwnd: prior_cwnd }
            }
            _ => self.window_without_prr(cause),
        }
    }

    /// The controller's window, inflated by duplicate ACKs where they are the only sign of loss.
    fn window_without_prr(&self, cause: CongestionCause) -> RecoveryWindow {
        //= rfc6675-5-halve
        let is_inflated = self.recovery.method() != LossRecovery::Sack && !self.congestion.feed.bounds_recovery();
        if !is_inflated || cause == CongestionCause::Ecn {
            return RecoveryWindow::Ssthresh;
        }
        //= rfc5681-3.2-inflate-by-three
        // RFC 5681 section 3.2 step 3: ssthresh plus 3*SMSS.
        RecoveryWindow::Inflated(i64::from(self.recovery.dup_thresh()) * self.board.mss() as i64)
    }

    /// The window of a reduction under way, after this ACK.
    pub(in crate::sender) fn reduce(&mut self, outcome: &AckOutcome) {
        self.recovery.on_prr_ack(PrrAck {
            delivered: outcome.delivered,
            pipe: self.board.pipe(),
            is_safe: outcome.advanced && outcome.newly_lost == 0,
            mss: self.board.mss(),
        });
    }

    /// RFC 3168 section 6.1.2: a mark is answered as a loss, once for each window; so is a segment that the host refuses.
    pub(in crate::sender) fn answer_mark(&mut self, now: SimTime, outcome: &AckOutcome) {
        let cwnd_before = self.congestion.cwnd();
        self.recovery.undo_mut().forbid();
        //= rfc3168-6.1.2-once-a-window
        let window = self.begin_reduction(now, CongestionCause::Ecn, outcome);
        //= rfc3168-6.1.2-window-of-one
        self.recovery.enter_cwr(self.board.high_data(), window);
        self.report_recovery(RecoveryCause::Ecn, cwnd_before);
    }

    /// The controller reduces the window of its own accord: as for a mark, but while something is repaired an undo only keeps the window
    /// (Linux: `tcp_enter_cwr`).
    pub(in crate::sender) fn answer_controller(&mut self, now: SimTime, outcome: &AckOutcome) {
        if self.recovery.is_idle() {
            self.answer_mark(now, outcome);
        } else {
            self.recovery.undo_mut().keep_window();
        }
    }

    /// RFC 8985 section 7.4.2: a probe repaired a loss that no recovery has answered.
    pub(in crate::sender) fn answer_loss_repaired_by_probe(&mut self, now: SimTime) {
        // A mark that is answered still was of the window before: its answer ends with this ACK.
        if self.recovery.phase().is_open() {
            self.begin_episode(now, CongestionCause::Loss, self.board.flight_size(), self.board.mss());
            //= rfc3168-6.1.2-cwr
            self.ecn.on_reduction();
            self.congestion.episodes.end(now);
        }
    }

    fn in_fast_recovery(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &mut AckOutcome) {
        let Phase::Fast(recovery) = *self.recovery.phase() else { return };
        let una = self.board.una();
        let is_reno = self.recovery.method() == LossRecovery::Reno;
        // Without SACK, duplicate ACKs of the retransmissions may follow: wait for more (RFC 6582 section 3.2, Linux).
        let is_held = self.recovery.emulates_sack() && una == recovery.until;
        if is_held {
            self.board.forget_presumed();
        }
        //= rfc6675-5-recovery-point
        let is_over = una >= recovery.until && (outcome.advanced || self.recovery.has_sack());
        if is_over || (outcome.advanced && is_reno) {
            if self.recovery.undo().is_spurious(ack.echoed_tick()) {
                self.undo_episode(now, false);
            } else {
                self.recovery.on_success();
                self.keep_halved_window(now);
            }
            if is_held {
                return;
            }
            //= rfc6582-3.2-full-ack
            self.board.forget_presumed();
            self.congestion.validation.renew(now);
            self.leave_recovery();
            return self.congestion.episodes.end(now);
        }
        if is_held {
            return;
        }
        if outcome.advanced {
            if self.undo_partial(now, ack, outcome) {
                return;
            }
            self.on_partial_ack(outcome);
        } else if self.recovery.emulates_sack() {
            self.presume_delivered(now, outcome);
        }
        if self.recovery.undo().all_were_duplicates() {
            self.undo_episode(now, false);
            self.leave_recovery();
            outcome.undid_recovery = true;
            return;
        }
        if self.recovery.method() == LossRecovery::Sack {
            self.detect_in_recovery(now, outcome);
        } else if outcome.is_duplicate {
            //= rfc5681-3.2-inflate-by-each
            self.recovery.inflate(self.board.mss()); // RFC 5681 section 3.2 step 4
        }
    }

    /// Detects losses during fast recovery: they belong to the current episode, or are a second sign.
    pub(in crate::sender) fn detect_in_recovery(&mut self, now: SimTime, outcome: &mut AckOutcome) {
        let newly_lost = self.detect_loss(now, outcome);
        outcome.newly_lost += newly_lost;
        if self.is_second_sign(outcome.lost_retransmission) {
            self.answer_second_sign(now, outcome);
        } else {
            self.note_lost(newly_lost);
        }
    }

    /// The window goes down again, while the recovery and its timer go on.
    pub(super) fn answer_second_sign(&mut self, now: SimTime, outcome: &AckOutcome) {
        let Some(until) = self.recovery.phase().ends_at() else { return };
        self.count_lost(outcome.newly_lost, self.recovery.detection());
        self.recovery.undo_mut().clear(); // what was lost twice was not late
        let window = self.begin_reduction(now, CongestionCause::Loss, outcome);
        self.recovery.enter_fast(until, window);
    }

    /// RFC 5681 section 4.3: the loss of a retransmission is a second sign of congestion. Those that left before the last sign was
    /// answered were part of it.
    pub(super) fn is_second_sign(&self, lost_retransmission: Option<SimTime>) -> bool {
        //= rfc5681-4.3-lost-retransmission
        let began = self.congestion.episodes.current().map(|episode| episode.start);
        self.config.timeout_in_recovery == TimeoutInRecovery::NewEpisode
            && self.recovery.phase().is_fast_recovery()
            && lost_retransmission.zip(began).is_some_and(|(left, began)| left >= began)
    }

    /// Eifel on a partial ACK: the original has arrived, so all was only late. Waits while retransmissions are out, so
    /// that nothing more is sent for them.
    fn undo_partial(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &mut AckOutcome) -> bool {
        let undo = self.recovery.undo();
        if !undo.is_possible() || !undo.answers_original(ack.echoed_tick()) {
            return false;
        }
        self.adapt_to_reordering(outcome.prior_una); // what was awaited has come behind what left later (Linux)
        if self.board.retransmitted() == 0 {
            self.undo_episode(now, true);
            self.leave_recovery();
            outcome.undid_recovery = true;
        }
        true
    }

    /// RFC 6582 section 3.2 step 3: the next hole is lost too; deflate by what was acknowledged.
    fn on_partial_ack(&mut self, outcome: &mut AckOutcome) {
        if self.recovery.emulates_sack() {
            let newly_lost = self.board.mark_first_lost();
            self.note_lost(newly_lost);
            outcome.newly_lost += newly_lost;
        } else if self.recovery.method() == LossRecovery::NewReno {
            let newly_lost = self.board.mark_first_segment_lost();
            self.recovery.on_partial_ack(outcome.delivered, self.congestion.controller.cwnd().0, self.board.mss());
            self.note_lost(newly_lost);
            outcome.newly_lost += newly_lost;
        }
    }

    /// Takes the last episode back; with `unmark`, what was taken for lost is in the network again.
    pub(super) fn undo_episode(&mut self, now: SimTime, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        self.counters.undone += 1;
        if self.recovery.undo().keeps_window() {
            self.keep_reduced_window(now);
        } else {
            self.ecn.withdraw();
            self.congestion.undo_episode(now);
        }
        self.recovery.on_undo();
    }

    /// The reduction ends where it has got to, which may be above ssthresh or below it.
    fn keep_reduced_window(&mut self, now: SimTime) {
        if let Some(window) = self.recovery.phase().reduced_window() {
            self.congestion.restart_window(now, RestartCause::Unused, window);
        }
        self.congestion.episodes.end(now);
    }

    /// Adapts to reordering: the segment at `low` arrived after later ones, and was not retransmitted.
    pub(in crate::sender) fn adapt_to_reordering(&mut self, low: u64) {
        // Where nothing is SACKed any more, the ACK has passed all that had been.
        let high = self.board.high_sacked().unwrap_or_else(|| self.board.una());
        self.recovery.adapt_to_reordering((high - low).div_ceil(self.board.mss()) as u32);
        self.counters.reorderings += 1;
    }

    /// Nothing is to be repaired any more.
    pub(super) fn leave_recovery(&mut self) {
        self.recovery.leave();
        self.congestion.report(|controller| Event::RecoveryLeft { cwnd: controller.cwnd() });
    }
}
