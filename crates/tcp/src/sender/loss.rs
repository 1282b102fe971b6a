//! The retransmission timer expired: slow start over what is lost, unless F-RTO or an undo finds that nothing was.

use ackclock_cc::{CongestionCause, RestartCause};
use ackclock_units::SimTime;

use super::Sender;
use super::ack::{IncomingAck, Progress};
use crate::config::TimeoutInRecovery;
use crate::recovery::{Frto, LossPhase, Phase};

impl Sender {
    pub(super) fn in_loss(&mut self, now: SimTime, ack: &IncomingAck<'_>, progress: &mut Progress) {
        let Phase::Loss(mut loss) = self.phase else { return };
        let recovered = self.board.una() >= loss.until;
        if progress.advanced && self.undo.is_spurious(ack.echoed_tick()) {
            return self.undo_timeout(now, recovered);
        }
        if loss.frto != Frto::Off && !recovered {
            //= rfc5682-3.1-second-ack
            if progress.original_arrived {
                return self.undo_timeout(now, recovered);
            }
            loss = self.watch_for_spurious(loss, progress);
            self.phase = Phase::Loss(loss);
        }
        if recovered {
            if let Some(rack) = &mut self.rack {
                rack.on_recovery_end();
            }
            if self.emulates_sack && self.board.una() == loss.until && !self.board.is_empty() {
                return;
            }
            self.phase = Phase::Open;
            return self.end_episode(now);
        }
        if self.emulates_sack {
            if progress.advanced {
                self.board.forget_presumed();
            } else if self.board.high_data() > loss.until {
                self.presume_delivered(progress);
            }
        }
        let newly_lost = self.detect_loss(now, progress);
        self.note_lost(newly_lost);
        progress.newly_lost += newly_lost;
        if progress.lost_retransmission && self.rack.is_some() {
            self.phase = Phase::Open;
            self.enter_recovery(now, progress);
        }
    }

    /// RFC 5682 section 3.1: step 2b lets new data out on the first ACK that advances; what comes back for it decides.
    fn watch_for_spurious(&mut self, loss: LossPhase, progress: &Progress) -> LossPhase {
        if self.board.high_data() > loss.until {
            //= rfc5682-3.1-second-duplicate
            let is_real = progress.newly_sacked > 0 || progress.is_duplicate;
            return LossPhase { frto: if is_real { Frto::Off } else { Frto::Watching }, ..loss };
        }
        //= rfc5682-3.1-duplicate-first
        if !progress.advanced {
            return loss;
        }
        let has_new = self.unsent() > 0 && self.peer.end() > self.board.high_data();
        //= rfc5682-3.1-first-ack
        let frto = if has_new { Frto::SendsNew } else { Frto::Off };
        LossPhase { until: self.board.high_data(), frto }
    }

    /// The timeout was spurious: what it took for lost was late.
    fn undo_timeout(&mut self, now: SimTime, recovered: bool) {
        //= rfc4015-3.3-timeout
        self.undo_episode(now, true);
        self.timeouts_in_a_row = 0;
        if !(self.emulates_sack && recovered && !self.board.is_empty()) {
            self.phase = Phase::Open;
            self.end_episode(now);
        }
    }

    /// Tahoe: the fast retransmit is followed by slow start over all that is outstanding.
    pub(super) fn enter_tahoe_loss(&mut self, now: SimTime, progress: &mut Progress) {
        self.counters.fast_recoveries += 1;
        let first = self.board.mark_lost_below(self.board.una() + self.mss);
        progress.newly_lost += first;
        self.counters.lost_octets += first;
        self.begin_episode(now, CongestionCause::Timeout { repeated: false }, self.flight_before_dup_acks, first);
        self.board.mark_all_lost(|_| true);
        self.enter_loss_phase(now, Frto::Off);
    }

    pub(super) fn enter_loss_phase(&mut self, now: SimTime, frto: Frto) {
        let until = self.board.high_data();
        //= rfc6582-3.2-timeout
        self.no_recovery_below = until;
        self.dup_acks = 0;
        self.tlp.clear();
        self.phase = Phase::Loss(LossPhase { until, frto });
        // RFC 5681 section 3.1: the loss window is one segment, beside what is still in the network.
        self.restart_window(now, RestartCause::Timeout, self.board.pipe() + self.mss);
    }

    /// RFC 5681 section 3.1, RFC 6298 section 5, RFC 8985 section 6.3: the retransmission timer expired.
    pub(super) fn enter_loss(&mut self, now: SimTime) {
        let was_repairing = !self.phase.is_open();
        //= rfc5681-3.1-repeated-timeout
        let repeated = self.timeouts_in_a_row > 1 && matches!(self.phase, Phase::Loss(_));
        let in_one_window = was_repairing && self.phase.ends_at().is_some_and(|end| self.board.una() < end);
        let flight = self.board.flight_size();
        let newly_lost = self.mark_timed_out(now);
        self.counters.lost_octets += newly_lost;
        self.report_lost(now);
        let continues = self.config.timeout_in_recovery == TimeoutInRecovery::SameEpisode;
        let is_same_episode = continues && (in_one_window || repeated);
        if !is_same_episode {
            self.begin_episode(now, CongestionCause::Timeout { repeated }, flight, newly_lost);
        }
        self.begin_undo();
        self.ecn.on_reduction();
        //= rfc5682-3.1-repeated
        let frto = self.config.undo.frto && (!was_repairing || self.timeouts_in_a_row > 1);
        if self.dup_thresh > self.config.dup_thresh && !was_repairing {
            // A timeout amid many SACKs: the reordering was over-estimated.
            self.dup_thresh = self.config.dup_thresh;
            self.sees_reordering = false;
        }
        self.enter_loss_phase(now, if frto { Frto::Watching } else { Frto::Off });
    }

    fn mark_timed_out(&mut self, now: SimTime) -> u64 {
        //= rfc2018-5-timeout-forgets
        if self.board.first().is_some_and(crate::scoreboard::Sent::is_sacked) {
            self.board.forget_sacks(); // RFC 2018 section 8: the receiver has thrown them away
            return self.board.mark_all_lost(|_| true);
        }
        match self.rack {
            None => self.board.mark_all_lost(|_| true),
            Some(rack) => {
                let patience = rack.patience(&self.evidence());
                //= rfc8985-6.3-timeout
                self.board.mark_all_lost(|sent| sent.at + patience <= now)
            }
        }
    }
}
