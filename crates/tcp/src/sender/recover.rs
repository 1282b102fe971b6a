//! Moves through loss recovery: what an ACK begins, continues, ends or undoes.

use ackclock_cc::{CongestionCause, CongestionController};
use ackclock_units::{SimDuration, SimTime};

use super::ack::{IncomingAck, Progress};
use super::{Sender, Timer};
use crate::config::{Counting, DecreaseFrom, LossRecovery};
use crate::prr::{Prr, PrrAck};
use crate::rack::{Evidence, Fate};
use crate::recovery::{FastRecovery, Phase, RecoveryWindow};

impl Sender {
    pub(super) fn recover(&mut self, now: SimTime, ack: &IncomingAck<'_>, progress: &mut Progress) {
        let is_quiet = matches!(self.phase, Phase::Open)
            && !progress.is_duplicate
            && progress.newly_sacked == 0
            && progress.prior_sacked == 0
            && progress.marked == 0
            && ack.sack.dsack_end.is_none();
        if is_quiet {
            return;
        }
        if progress.marked > 0 {
            self.undo.clear(); // a mark is no mistake
            if self.demands.marks {
                self.ecn.on_reduction(); // the controller has its own way with them
            }
        }
        if progress.advanced && self.board.first().is_some_and(crate::scoreboard::Sent::is_sacked) {
            return self.await_reneging(now, progress);
        }
        match self.phase {
            Phase::Open => {}
            Phase::Cwr { .. } => self.leave_cwr(now),
            Phase::Fast(_) => self.in_fast_recovery(now, ack, progress),
            Phase::Loss(_) => self.in_loss(now, ack, progress),
        }
        if self.phase.is_open() {
            self.in_open(now, progress);
        }
        self.reduce(progress);
    }

    /// The receiver seems to have thrown away what it had SACKed (RFC 2018 section 8): unless it proves otherwise soon, the
    /// timer takes all of it for lost.
    fn await_reneging(&mut self, now: SimTime, progress: &mut Progress) {
        const LEAST: SimDuration = SimDuration::from_millis(10);
        let wait = SimDuration(self.rto.stats().srtt.0 / 2).max(LEAST);
        self.timer = Timer::retransmission(now + wait);
        progress.restarts_timer = false;
    }

    fn leave_cwr(&mut self, now: SimTime) {
        if self.phase.ends_at().is_some_and(|end| self.board.una() >= end) {
            self.phase = Phase::Open;
            self.end_episode(now);
        }
    }

    /// Nothing is being repaired: is there anything to repair now, or a mark to answer?
    fn in_open(&mut self, now: SimTime, progress: &mut Progress) {
        if self.board.resent() == 0 {
            self.undo.forget_first();
        }
        if self.emulates_sack {
            if progress.advanced {
                self.board.forget_presumed();
            }
            self.presume_delivered(progress);
        }
        if self.undo.all_were_duplicates() {
            self.undo_episode(now, false);
        }
        if progress.is_duplicate || progress.newly_sacked > 0 || progress.prior_sacked > 0 {
            progress.newly_lost += self.detect_loss(now, progress);
            if self.has_to_recover(progress) {
                return self.enter_recovery(now, progress);
            }
        }
        if progress.marked > 0 && matches!(self.phase, Phase::Open) && !self.demands.marks {
            self.answer_mark(now, progress);
        }
    }

    /// A duplicate ACK stands for a segment that has left the network.
    pub(super) fn presume_delivered(&mut self, progress: &mut Progress) {
        if progress.is_duplicate {
            self.board.presume(self.mss);
            progress.delivered += self.mss;
            self.counters.delivered += self.mss;
        }
    }

    fn has_to_recover(&mut self, progress: &mut Progress) -> bool {
        if self.loss_recovery != LossRecovery::Sack {
            //= rfc6582-3.2-not-twice
            let above = self.board.una() > self.no_recovery_below || self.no_recovery_below == 0;
            //= rfc5681-3.2-third-duplicate
            return progress.is_duplicate && self.dup_acks == self.dup_thresh && above;
        }
        //= rfc6675-5.1-after-timeout
        //= rfc5681-4.3-one-episode
        if self.board.una() < self.no_recovery_below && self.rack.is_none() {
            return false;
        }
        if self.emulates_sack && self.board.sacked() >= u64::from(self.dup_thresh) * self.mss {
            progress.newly_lost += self.board.mark_first_lost();
        //= rfc6675-5-enter
        } else if self.rack.is_none() && !self.emulates_sack && self.dup_acks >= self.dup_thresh {
            progress.newly_lost += self.board.mark_lost_below(self.board.una() + self.mss);
        }
        self.board.lost() > 0
    }

    /// Marks what is lost by now. Returns how much that is.
    pub(super) fn detect_loss(&mut self, now: SimTime, progress: &mut Progress) -> u64 {
        if self.loss_recovery != LossRecovery::Sack || self.emulates_sack {
            return 0;
        }
        if self.rack.is_none() {
            return self.board.detect_loss(self.dup_thresh);
        }
        if !self.rack.as_mut().is_some_and(crate::rack::Rack::take_advance) {
            return 0;
        }
        let resent = self.board.resent();
        let (newly_lost, wait_until) = self.detect_by_time(now);
        progress.lost_retransmission |= self.board.resent() < resent;
        if let Some(at) = wait_until {
            self.timer = Timer::reordering(at.max(now) + self.config.rack_tlp_slack);
            progress.restarts_timer = false;
        }
        newly_lost
    }

    /// RFC 8985 section 6.2, step 5. Returns what is newly lost and until when to wait for others.
    pub(super) fn detect_by_time(&mut self, now: SimTime) -> (u64, Option<SimTime>) {
        let Some(rack) = self.rack else { return (0, None) };
        let verdict = rack.verdict(&self.evidence(), now);
        let mut wait_until: Option<SimTime> = None;
        let mut judge = |sent: &crate::scoreboard::Sent| match verdict.of(sent) {
            Fate::Lost => true,
            Fate::LostAt(at) => {
                wait_until = wait_until.max(Some(at));
                false
            }
            Fate::Unknown => false,
        };
        let once = self.board.mark_lost_while(&mut judge);
        //= rfc8985-6.2-lost-retransmission
        let again = self.board.mark_resent_lost_while(&mut judge);
        (once + again, wait_until)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let rtt = self.rto.stats();
        Evidence {
            min_rtt: rtt.min_rtt,
            srtt: rtt.srtt,
            in_recovery: self.phase.is_fast_recovery() || matches!(self.phase, Phase::Loss(_)),
            has_dup_thresh: self.board.sacked() >= u64::from(self.dup_thresh) * self.mss,
        }
    }

    pub(super) fn enter_recovery(&mut self, now: SimTime, progress: &mut Progress) {
        if self.loss_recovery == LossRecovery::Tahoe {
            return self.enter_tahoe_loss(now, progress);
        }
        if self.loss_recovery != LossRecovery::Sack {
            progress.newly_lost += self.board.mark_lost_below(self.board.una() + self.mss);
        }
        self.counters.fast_recoveries += 1;
        self.counters.lost_octets += progress.newly_lost;
        self.begin_undo();
        let until = self.board.high_data();
        self.no_recovery_below = until;
        let window = match self.phase.inherited_window() {
            Some(window) => window, // the mark has been answered already
            None => self.begin_reduction(now, CongestionCause::Loss, progress),
        };
        self.tlp.clear();
        self.phase = Phase::Fast(FastRecovery { until, window, partial_acks: 0, rescued: false });
        // The retransmission deserves a whole timeout; RFC 6298 section 5 leaves this open, stacks restart the timer.
        self.timer = Timer::retransmission(now + self.rto.rto());
        progress.restarts_timer = false;
    }

    /// The timer for reordered segments found a loss.
    pub(super) fn enter_recovery_by_timer(&mut self, now: SimTime, newly_lost: u64) {
        let mut progress = Progress { newly_lost, ..Progress::default() };
        self.enter_recovery(now, &mut progress);
    }

    pub(super) fn begin_undo(&mut self) {
        let resent = (self.board.resent() / self.mss) as u32;
        if resent == 0 {
            self.undo.forget_first();
        }
        self.undo.begin(self.board.una(), resent);
    }

    /// An episode begins: the controller decides, and the window goes down to that as the recovery says.
    fn begin_reduction(&mut self, now: SimTime, cause: CongestionCause, progress: &Progress) -> RecoveryWindow {
        let flight = self.board.flight_size();
        //= rfc5681-3.2-without-limited-transmit
        // Data that duplicate ACKs let out before (limited transmit) does not count (RFC 5681 section 3.2 step 2).
        let flight = if self.dup_acks > 0 { flight.min(self.flight_before_dup_acks) } else { flight };
        let prior_cwnd = self.controller.cwnd().0;
        self.begin_episode(now, cause, flight, progress.newly_lost);
        self.ecn.on_reduction();
        let ssthresh = self.controller.ssthresh().unwrap_or_else(|| self.controller.cwnd()).0;
        match self.loss_recovery {
            _ if self.demands.recovery_window => RecoveryWindow::Ssthresh,
            // A mark may come with nothing in flight (on a window update): no ACK will come to spread the reduction over.
            LossRecovery::Sack if self.config.prr && !self.board.is_empty() => {
                let from = match self.config.decrease_from {
                    //= rfc9937-5-recover-fs
                    // RFC 9937: what was outstanding and not delivered before this ACK.
                    DecreaseFrom::FlightSize => self.board.flight_size() - self.board.sacked() + progress.delivered,
                    DecreaseFrom::Cwnd => prior_cwnd,
                };
                let unit = if self.config.counting == Counting::Segments { self.mss } else { 1 };
                RecoveryWindow::Prr { prr: Prr::new(ssthresh, from, unit), cwnd: self.board.pipe() }
            }
            //= rfc6675-5-halve
            LossRecovery::Sack => RecoveryWindow::Ssthresh,
            _ if cause == CongestionCause::Ecn => RecoveryWindow::Ssthresh,
            //= rfc5681-3.2-inflate-by-three
            // RFC 5681 section 3.2 step 3: ssthresh plus 3*SMSS.
            _ => RecoveryWindow::Inflated(i64::from(self.dup_thresh) * self.mss as i64),
        }
    }

    /// The window of a reduction under way, after this ACK.
    fn reduce(&mut self, progress: &Progress) {
        self.phase.on_prr_ack(PrrAck {
            delivered: progress.delivered,
            pipe: self.board.pipe(),
            is_safe: progress.advanced && progress.newly_lost == 0,
            mss: self.mss,
        });
    }

    /// RFC 3168 section 6.1.2: a mark is answered as a loss, once for each window.
    fn answer_mark(&mut self, now: SimTime, progress: &Progress) {
        //= rfc3168-6.1.2-once-a-window
        let window = self.begin_reduction(now, CongestionCause::Ecn, progress);
        //= rfc3168-6.1.2-window-of-one
        self.phase = Phase::Cwr { until: self.board.high_data(), window };
    }

    /// RFC 8985 section 7.4.2: a probe repaired a loss that no recovery has answered.
    pub(super) fn answer_repaired_loss(&mut self, now: SimTime) {
        if matches!(self.phase, Phase::Open) {
            self.begin_episode(now, CongestionCause::Loss, self.board.flight_size(), self.mss);
            self.end_episode(now);
        }
    }

    fn in_fast_recovery(&mut self, now: SimTime, ack: &IncomingAck<'_>, progress: &mut Progress) {
        let Phase::Fast(recovery) = self.phase else { return };
        let una = self.board.una();
        let is_reno = self.loss_recovery == LossRecovery::Reno;
        //= rfc6675-5-recovery-point
        if progress.advanced && (una >= recovery.until || is_reno) {
            if self.undo.is_spurious(ack.echoed_tick()) {
                self.undo_episode(now, false);
            } else if let Some(rack) = &mut self.rack {
                rack.on_recovery_end();
            }
            // Without SACK, duplicate ACKs of the retransmissions may follow: wait for more (RFC 6582 section 3.2).
            if self.emulates_sack && una == recovery.until && !self.board.is_empty() {
                return;
            }
            //= rfc6582-3.2-full-ack
            self.board.forget_presumed();
            self.phase = Phase::Open;
            return self.end_episode(now);
        }
        if progress.advanced {
            if self.undo_partial(now, ack) {
                return;
            }
            self.on_partial_ack(progress);
        } else if self.emulates_sack {
            self.presume_delivered(progress);
        }
        if self.undo.all_were_duplicates() {
            self.undo_episode(now, false);
            self.phase = Phase::Open;
            return;
        }
        if self.loss_recovery == LossRecovery::Sack {
            let newly_lost = self.detect_loss(now, progress);
            self.note_lost(newly_lost);
            progress.newly_lost += newly_lost;
        } else if progress.is_duplicate {
            //= rfc5681-3.2-inflate-by-each
            self.phase.inflate(self.mss as i64); // RFC 5681 section 3.2 step 4
        }
    }

    /// Eifel on a partial ACK: the original has arrived, so all was only late. Waits while retransmissions are out, so
    /// that nothing more is sent for them.
    fn undo_partial(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> bool {
        if !self.undo.is_possible() || !self.undo.answers_original(ack.echoed_tick()) {
            return false;
        }
        if self.board.resent() == 0 {
            self.undo_episode(now, true);
            self.phase = Phase::Open;
        }
        true
    }

    /// RFC 6582 section 3.2 step 3: the next hole is lost too; deflate by what was acknowledged.
    fn on_partial_ack(&mut self, progress: &mut Progress) {
        if self.emulates_sack {
            let newly_lost = self.board.mark_first_lost();
            self.note_lost(newly_lost);
            progress.newly_lost += newly_lost;
        } else if self.loss_recovery == LossRecovery::NewReno
            && let Phase::Fast(recovery) = &mut self.phase
        {
            //= rfc6582-3.2-partial-ack
            recovery.partial_acks += 1;
            let newly_lost = self.board.mark_lost_below(self.board.una() + self.mss);
            self.phase.deflate(progress.delivered, self.controller.cwnd().0, self.mss);
            self.note_lost(newly_lost);
            progress.newly_lost += newly_lost;
        }
    }

    /// Takes the last episode back; with `unmark`, what was taken for lost is in the network again.
    pub(super) fn undo_episode(&mut self, now: SimTime, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        self.counters.undone += 1;
        //= rfc4015-3.2-window
        self.controller.on_spurious(now);
        self.ecn.withdraw();
        self.undo.clear();
        if let Some(episode) = self.episode.as_mut().or(self.finished_episodes.last_mut()) {
            episode.spurious = true;
        }
        if let Some(rack) = &mut self.rack {
            rack.on_undo();
        }
        self.usage.restart(now);
    }
}
