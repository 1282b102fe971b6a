//! An ACK arrives, or a timer fires: detect loss, move through recovery, tell the controller.

use ackclock_cc::{AckEvent, CongestionCause, CongestionController, SegmentTimestamps};
use ackclock_units::{Bytes, SimDuration, SimTime};

use super::{Limit, Sender};
use crate::config::LossRecovery;
use crate::prr::{Prr, PrrAck};
use crate::recovery::{FastRecovery, Phase, RecoveryWindow};

/// The acknowledging part of a segment, in offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncomingAck<'a> {
    /// Cumulative acknowledgement.
    pub(crate) ack: u64,
    /// Advertised window, scaled.
    pub(crate) window: u64,
    /// Where the segment itself lies in the peer's stream, for SND.WL1.
    pub(crate) seq: u64,
    /// The segment carries payload, SYN or FIN, so it is no duplicate ACK.
    pub(crate) occupies: bool,
    /// SACK blocks, `[start, end)`.
    pub(crate) sack: &'a [(u64, u64)],
    pub(crate) timestamps: Option<SegmentTimestamps>,
    /// When the data echoed by TSecr left, by our timestamp clock.
    pub(crate) echoed_send_time: Option<SimTime>,
}

/// What an ACK did to the scoreboard.
struct Progress {
    prior_flight: u64,
    delivered: u64,
    advanced: bool,
    is_duplicate: bool,
    newly_sacked: u64,
    /// It arrived during fast recovery.
    in_recovery: bool,
}

impl Sender {
    /// Takes an acceptable ACK: `snd_una <= ack <= snd_max`.
    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        self.latest_rtt_sample = None;
        let progress = self.update_scoreboard(now, ack);
        self.update_window(ack);
        let newly_lost = self.repair(now, &progress);
        if progress.delivered > 0 || newly_lost > 0 {
            self.tell_controller(now, ack, &progress, newly_lost);
        }
        if progress.advanced {
            let outstanding = self.board.flight_size() > 0;
            let keep = self.keeps_timer_on_partial_ack();
            if !outstanding {
                self.deadline = SimTime::NEVER;
                self.idle_since = Some(now);
            } else if !keep {
                self.deadline = now + self.rto.rto(); // RFC 6298 section 5.3
            }
        }
    }

    fn update_scoreboard(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> Progress {
        let prior_flight = self.board.flight_size();
        let same_window = self.snd_wnd == ack.window;
        let newly_sacked = ack.sack.iter().map(|&(start, end)| self.board.sack(start, end)).sum();
        let advanced = ack.ack > self.board.una();
        let mut delivered = newly_sacked;
        if advanced {
            delivered += self.board.acknowledge(ack.ack);
            self.sample_rtt(now, ack);
            self.rto.on_new_ack();
            if ack.ack >= self.round_end {
                self.round += 1;
                self.round_end = self.board.high_data();
            }
        }
        // RFC 5681 section 2, definition of a duplicate ACK; RFC 6675 counts those with new SACK information.
        let is_duplicate = !advanced
            && prior_flight > 0
            && if self.loss_recovery == LossRecovery::Sack {
                newly_sacked > 0
            } else {
                !ack.occupies && same_window && ack.ack == self.board.una()
            };
        if is_duplicate && self.dup_acks == 0 {
            self.flight_before_dup_acks = prior_flight;
        }
        self.dup_acks = if advanced { 0 } else { self.dup_acks + u32::from(is_duplicate) };
        let in_recovery = self.phase.is_fast_recovery();
        Progress { prior_flight, delivered, advanced, is_duplicate, newly_sacked, in_recovery }
    }

    fn sample_rtt(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let timed = self.send_times.on_acknowledged(ack.ack, self.rto.karn());
        // Where Karn's rule forbids, the timestamp echo still tells (RFC 7323 section 4.1), to the tick.
        if let Some(sent_at) = timed.or(ack.echoed_send_time) {
            self.take_sample(sent_at, now);
        }
    }

    /// RFC 9293 section 3.10.7.4: SND.WND, SND.WL1, SND.WL2.
    fn update_window(&mut self, ack: &IncomingAck<'_>) {
        if ack.seq < self.window_seq || (ack.seq == self.window_seq && ack.ack < self.snd_wnd_from) {
            return;
        }
        self.snd_wnd = ack.window;
        self.snd_wnd_from = ack.ack;
        self.window_seq = ack.seq;
        self.max_snd_wnd = self.max_snd_wnd.max(ack.window);
        if self.probes > 0 && ack.window > 0 {
            self.probes = 0;
            self.deadline = SimTime::NEVER;
        }
    }

    /// Moves through recovery and detects loss. Returns the octets newly lost.
    fn repair(&mut self, now: SimTime, progress: &Progress) -> u64 {
        let was_open = self.phase.is_open();
        if progress.advanced
            && let Some(end) = self.phase.ends_at()
        {
            let una = self.board.una();
            if una >= end || (self.phase.is_fast_recovery() && self.loss_recovery == LossRecovery::Reno) {
                self.phase = Phase::Open;
                self.end_episode(now);
            } else {
                self.on_partial_ack(progress);
            }
        }
        if was_open && !progress.is_duplicate && progress.newly_sacked == 0 {
            return 0;
        }
        match self.loss_recovery {
            LossRecovery::Sack => self.repair_by_sack(now, progress),
            _ => self.repair_by_dup_acks(now, progress),
        }
    }

    fn repair_by_sack(&mut self, now: SimTime, progress: &Progress) -> u64 {
        let mut newly_lost = self.board.detect_loss(self.dup_thresh, self.mss);
        if self.phase.is_open() && self.board.una() >= self.no_recovery_below {
            if self.dup_acks >= self.dup_thresh {
                newly_lost += self.board.mark_lost_below(self.board.una() + self.mss);
            }
            if self.board.lost() > 0 {
                self.enter_fast_recovery(now, newly_lost, progress);
                return newly_lost;
            }
        }
        self.note_lost(newly_lost);
        let ack = PrrAck {
            delivered: progress.delivered,
            pipe: self.board.pipe(),
            is_safe: progress.advanced && newly_lost == 0,
            mss: self.mss,
        };
        self.phase.on_prr_ack(ack);
        newly_lost
    }

    fn repair_by_dup_acks(&mut self, now: SimTime, progress: &Progress) -> u64 {
        if !progress.is_duplicate {
            return 0;
        }
        if self.phase.is_fast_recovery() {
            self.phase.inflate(self.mss as i64); // RFC 5681 section 3.2 step 4
            return 0;
        }
        let above = self.board.una() > self.no_recovery_below || self.no_recovery_below == 0;
        if self.dup_acks != self.dup_thresh || !self.phase.is_open() || !above {
            return 0;
        }
        if self.loss_recovery == LossRecovery::Tahoe {
            return self.enter_tahoe_loss(now);
        }
        let newly_lost = self.board.mark_lost_below(self.board.una() + self.mss);
        self.enter_fast_recovery(now, newly_lost, progress);
        newly_lost
    }

    fn enter_fast_recovery(&mut self, now: SimTime, newly_lost: u64, progress: &Progress) {
        self.counters.fast_recoveries += 1;
        self.counters.lost_octets += newly_lost;
        // RFC 9937: what was outstanding and not delivered before this ACK.
        let recover_fs = self.board.flight_size() - self.board.sacked() + progress.delivered;
        // Data that duplicate ACKs let out before (limited transmit) does not count (RFC 5681 section 3.2 step 2).
        let flight = self.board.flight_size();
        let flight = if self.dup_acks > 0 { flight.min(self.flight_before_dup_acks) } else { flight };
        self.begin_episode(now, CongestionCause::Loss, flight, newly_lost);
        let ssthresh = self.controller.ssthresh().unwrap_or_else(|| self.controller.cwnd()).0;
        let window = match self.loss_recovery {
            LossRecovery::Sack if self.prr => {
                let mut prr = Prr::new(ssthresh, recover_fs);
                let ack =
                    PrrAck { delivered: progress.delivered, pipe: self.board.pipe(), is_safe: false, mss: self.mss };
                let cwnd = prr.on_ack(ack);
                RecoveryWindow::Prr { prr, cwnd }
            }
            LossRecovery::Sack => RecoveryWindow::Ssthresh,
            // RFC 5681 section 3.2 step 3: ssthresh plus 3*SMSS.
            _ => RecoveryWindow::Inflated(i64::from(self.dup_thresh) * self.mss as i64),
        };
        let until = self.board.high_data();
        self.no_recovery_below = until;
        // The retransmission deserves a whole timeout; RFC 6298 section 5 leaves this open, stacks restart the timer.
        self.deadline = now + self.rto.rto();
        self.phase = Phase::Fast(FastRecovery { until, window, partial_acks: 0, rescued: false });
    }

    /// Tahoe: the fast retransmit is followed by slow start over all that is outstanding.
    fn enter_tahoe_loss(&mut self, now: SimTime) -> u64 {
        self.counters.fast_recoveries += 1;
        let first = self.board.mark_lost_below(self.board.una() + self.mss);
        self.counters.lost_octets += first;
        self.begin_episode(now, CongestionCause::Timeout { repeated: false }, self.flight_before_dup_acks, first);
        self.board.mark_all_lost();
        self.enter_loss_phase();
        first
    }

    fn enter_loss_phase(&mut self) {
        let until = self.board.high_data();
        self.no_recovery_below = until;
        self.dup_acks = 0;
        self.phase = Phase::Loss { until };
    }

    /// RFC 6582 section 3.2 step 3: the next hole is lost too; deflate by what was acknowledged.
    fn on_partial_ack(&mut self, progress: &Progress) {
        let mss = self.mss;
        if self.loss_recovery == LossRecovery::NewReno
            && let Phase::Fast(recovery) = &mut self.phase
        {
            recovery.partial_acks += 1;
            let newly_lost = self.board.mark_lost_below(self.board.una() + mss);
            let back = if progress.delivered >= mss { mss as i64 } else { 0 };
            self.phase.inflate(back - progress.delivered as i64);
            self.note_lost(newly_lost);
        }
    }

    /// RFC 6582: only the first partial ACK restarts the timer.
    fn keeps_timer_on_partial_ack(&self) -> bool {
        matches!(&self.phase, Phase::Fast(FastRecovery { partial_acks: 2.., .. }))
    }

    fn tell_controller(&mut self, now: SimTime, ack: &IncomingAck<'_>, progress: &Progress, newly_lost: u64) {
        let event = AckEvent {
            now,
            newly_acked: Bytes(progress.delivered),
            is_cumulative: progress.advanced,
            newly_lost: Bytes(newly_lost),
            prior_flight_size: Bytes(progress.prior_flight),
            rtt_sample: self.latest_rtt_sample,
            rtt: self.rto.stats(),
            timestamps: ack.timestamps,
            is_cwnd_limited: self.limited_by == Limit::Cwnd || self.grow_when_not_limited,
            in_recovery: progress.in_recovery || self.phase.is_fast_recovery(),
            round: self.round,
            is_paced: false,
        };
        self.controller.on_ack(&event);
    }

    /// The retransmission or persist timer fired. Returns true if a zero-window probe is to be sent; whatever else is
    /// due comes out of [`Sender::next_segment`].
    pub(crate) fn on_timer(&mut self, now: SimTime) -> bool {
        if self.probes > 0 {
            return self.on_persist_timer(now);
        }
        if self.board.flight_size() == 0 {
            self.deadline = SimTime::NEVER;
            return false;
        }
        self.on_retransmission_timeout(now);
        false
    }

    fn on_persist_timer(&mut self, now: SimTime) -> bool {
        let shift = self.probes.min(16);
        self.probes += 1;
        if self.usable_window() > 0 {
            // RFC 9293 section 3.8.6.2.1 (4): what fits goes, however little, when the override timeout is over.
            self.send_small = true;
            return false;
        }
        let interval = SimDuration(self.rto.rto().0 << shift);
        self.deadline = now + interval.min(SimDuration::from_secs(60));
        true
    }

    /// RFC 6298 section 5.4 to 5.6, RFC 5681 section 3.1.
    fn on_retransmission_timeout(&mut self, now: SimTime) {
        self.counters.timeouts += 1;
        if self.rto.backoff() >= self.max_retries {
            self.aborted = true;
            self.deadline = SimTime::NEVER;
            return;
        }
        let repeated = self.rto.backoff() > 0 && matches!(self.phase, Phase::Loss { .. });
        self.rto.back_off();
        let newly_lost = self.board.mark_all_lost();
        self.counters.lost_octets += newly_lost;
        let flight = self.board.flight_size();
        self.begin_episode(now, CongestionCause::Timeout { repeated }, flight, newly_lost);
        self.enter_loss_phase();
        self.deadline = now + self.rto.rto();
    }
}
