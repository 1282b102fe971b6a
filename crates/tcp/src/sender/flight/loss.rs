//! The retransmission timer expired: slow start over what is lost, unless F-RTO or an undo finds that nothing was.
//!
//! Departures: an ACK that covers all that is outstanding proves a timeout spurious, too, where a segment that was sent once is among
//! it (Linux); RFC 5682 section 3.1 falls back to slow start then.

use ackclock_cc::{CongestionCause, RestartCause};
use ackclock_events::{LossDetection, RecoveryCause};
use ackclock_units::SimTime;

use super::Flight;
use crate::config::TimeoutInRecovery;
use crate::recovery::{Frto, LossPhase, Phase};
use crate::sender::ack::{AckOutcome, IncomingAck};

impl Flight {
    pub(super) fn in_loss(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &mut AckOutcome) {
        let Phase::Loss(mut loss) = *self.recovery.phase() else { return };
        let recovered = self.board.una() >= loss.until;
        if outcome.advanced && self.recovery.undo().is_spurious(ack.echoed_tick()) {
            return self.undo_timeout(now, recovered);
        }
        if loss.frto != Frto::Off {
            //= rfc5682-3.1-second-ack
            if outcome.original_arrived {
                return self.undo_timeout(now, recovered);
            }
            if !recovered {
                loss = self.watch_for_spurious(loss, outcome, ack.sendable_end);
                self.recovery.set_loss_phase(loss);
            }
        }
        if recovered {
            self.recovery.on_success();
            if self.recovery.emulates_sack() && self.board.una() == loss.until {
                return;
            }
            self.leave_recovery();
            return self.congestion.episodes.end(now);
        }
        if self.recovery.emulates_sack() {
            if outcome.advanced {
                self.board.forget_presumed();
            } else if self.board.high_data() > loss.until {
                self.presume_delivered(now, outcome);
            }
        }
        let newly_lost = self.detect_loss(now, outcome);
        outcome.newly_lost += newly_lost;
        if outcome.lost_retransmission.is_some() && self.recovery.has_rack() {
            self.recovery.leave();
            return self.enter_recovery(now, outcome);
        }
        self.note_lost(newly_lost);
    }

    /// RFC 5682 section 3.1: step 2b lets new data out on the first ACK that advances; what comes back for it decides.
    fn watch_for_spurious(&self, loss: LossPhase, outcome: &AckOutcome, sendable_end: u64) -> LossPhase {
        if self.board.high_data() > loss.until {
            //= rfc5682-3.1-second-duplicate
            let is_real = outcome.newly_sacked > 0 || outcome.is_duplicate;
            return LossPhase { frto: if is_real { Frto::Off } else { Frto::Watching }, ..loss };
        }
        //= rfc5682-3.1-duplicate-first
        if !outcome.advanced {
            return loss;
        }
        //= rfc5682-3.1-first-ack
        let frto = if sendable_end > self.board.high_data() { Frto::SendsNew } else { Frto::Off };
        LossPhase { until: self.board.high_data(), frto }
    }

    /// The timeout was spurious: what it took for lost was late.
    fn undo_timeout(&mut self, now: SimTime, recovered: bool) {
        //= rfc4015-3.3-timeout
        self.undo_episode(now, true);
        self.timer.forget_timeouts();
        if !(self.recovery.emulates_sack() && recovered) {
            self.leave_recovery();
            self.congestion.episodes.end(now);
        }
    }

    /// Tahoe: the fast retransmit is followed by slow start over all that is outstanding.
    pub(super) fn enter_tahoe_loss(&mut self, now: SimTime, outcome: &mut AckOutcome) {
        let cwnd_before = self.congestion.cwnd();
        self.counters.fast_recoveries += 1;
        let first = self.board.mark_first_segment_lost();
        outcome.newly_lost += first;
        self.count_lost(first, LossDetection::Acks);
        let flight_size = self.recovery.flight_size_at_loss(self.board.flight_size());
        self.begin_episode(now, CongestionCause::Timeout { repeated: false }, flight_size, first);
        self.board.mark_all_lost(|_| true);
        self.enter_loss_phase(now, Frto::Off);
        self.report_recovery(RecoveryCause::Loss, cwnd_before);
    }

    pub(super) fn enter_loss_phase(&mut self, now: SimTime, frto: Frto) {
        self.tlp.clear();
        self.congestion.validation.renew(now);
        self.recovery.enter_loss(self.board.high_data(), frto);
        // RFC 5681 section 3.1: the loss window is one segment, beside what is still in the network.
        //= rfc5681-3.1-loss-window
        self.congestion.restart_window(now, RestartCause::Timeout, self.board.pipe() + self.board.mss());
    }

    /// RFC 5681 section 3.1, RFC 6298 section 5, RFC 8985 section 6.3: the retransmission timer expired.
    pub(super) fn enter_loss(&mut self, now: SimTime) {
        let (phase, is_idle) = (self.recovery.phase(), self.recovery.is_idle());
        let was_repairing = !phase.is_open();
        //= rfc5681-3.1-repeated-timeout
        let repeated = self.timer.timeouts_in_a_row() > 1 && matches!(phase, Phase::Loss(_));
        // Data that the timer has not resent yet is lost anew, though of the same window (RFC 5681 section 3.1).
        let is_anew = matches!(phase, Phase::Loss(_)) && !repeated;
        let in_one_window = phase.until().is_some_and(|until| self.board.una() < until);
        let (flight_size, cwnd_before) = (self.board.flight_size(), self.congestion.cwnd());
        let newly_lost = self.recovery.mark_timed_out(now, &mut self.board, &self.rto.stats());
        self.count_lost(newly_lost, LossDetection::Timeout);
        self.congestion.report_lost(now, &mut self.board);
        let continues = self.config.timeout_in_recovery == TimeoutInRecovery::SameEpisode;
        let is_same_episode = continues && ((in_one_window && !is_anew) || repeated);
        if !is_same_episode {
            self.begin_episode(now, CongestionCause::Timeout { repeated }, flight_size, newly_lost);
            self.recovery.begin_undo(&self.board, self.tlp.retransmission()); // of one that goes on, every retransmission has to prove spurious
        }
        self.ecn.on_reduction();
        //= rfc5682-3.1-repeated
        let frto = self.config.undo.frto && (!was_repairing || self.timer.timeouts_in_a_row() > 1);
        if is_idle {
            self.recovery.doubt_reordering(&self.board);
        }
        self.enter_loss_phase(now, if frto { Frto::Watching } else { Frto::Off });
        self.report_recovery(RecoveryCause::Timeout, cwnd_before);
    }
}
