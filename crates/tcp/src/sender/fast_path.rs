//! Fast path for the most common ACKs: one that advances and reports nothing else while nothing is amiss; and, during a
//! repair of loss, one that only reports data behind all that had arrived. It has the effect of [`Sender::on_ack`] for
//! them, on a stack without mechanisms that inspect every ACK.

use ackclock_units::SimTime;
use ackclock_wire::Flags;

use super::ack::{AckOutcome, IncomingAck};
use super::{Limit, Sender};
use crate::recovery::Phase;
use crate::scoreboard::SendTimes;

impl Sender {
    /// Nothing is outstanding, nothing waits to be sent, and nothing is amiss, on a stack as above: the end of a connection
    /// that only receives. [`Self::on_idle_ack`] is then all that an ACK comes down to.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        self.has_fast_path
            && self.flight.board.is_empty()
            && self.transmitter.limited_by == Limit::Application
            && self.transmitter.next_len(&self.flight.board) == 0
            && !self.flight.tlp.is_due()
            && !self.flight.persist.is_running()
            && self.flight.is_quiet()
    }

    /// Takes in the peer's window while [`Self::has_nothing_to_do`], with flags that report no mark.
    pub(crate) fn on_idle_ack(&mut self, ack: u64, seq: u64, window: u64, flags: Flags) {
        self.flight.rto.begin_ack();
        self.transmitter.peer.update(seq, ack, window);
        self.flight.persist.on_answer();
        self.take_silence(flags, 0);
    }

    /// Takes in an ACK that reports no mark ([`EcnSender::is_silent`]); its delivery is counted all the same.
    #[inline]
    pub(crate) fn take_silence(&mut self, flags: Flags, delivered: u64) {
        if self.flight.ecn.is_on() {
            let marked = self.marked_of(flags, delivered);
            debug_assert_eq!(marked, 0, "no mark is told of");
        }
    }

    pub(super) fn takes_fast_path(&self, ack: &IncomingAck<'_>) -> bool {
        self.has_fast_path
            && ack.sack.is_empty()
            && ack.ack > self.flight.board.una()
            && self.flight.is_quiet()
            && self.flight.ecn.is_silent(ack.flags)
    }

    pub(super) fn on_fast_path_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let prior_flight = self.flight.board.flight_size();
        let (delivered, times) = self.acknowledge_in_order(now, ack);
        self.note_progress(ack.ack);
        self.flight.recovery.forget_duplicates();
        self.sample_in_order(now, ack, &times);
        let new_round = self.rounds.on_ack(ack.ack, self.flight.board.high_data());
        self.count_delivered(delivered, new_round);
        self.take_silence(ack.flags, delivered);
        if delivered > 0 {
            let outcome = AckOutcome { prior_flight, delivered, advanced: true, ..AckOutcome::default() };
            self.notify_controller(now, ack, &outcome);
        }
        if self.flight.board.is_empty() {
            self.flight.timer.stop();
            self.flight.idle_since = Some(now);
        } else {
            self.flight.restart_timer(now);
        }
        self.flight.congestion.report_controller(now);
    }

    /// New end of the highest SACKed range, if the ACK reports nothing else, in the midst of a recovery.
    pub(super) fn takes_short_path(&self, ack: &IncomingAck<'_>) -> Option<u64> {
        let may = self.has_fast_path
            && ack.ack == self.flight.board.una()
            && ack.sack.dsack.is_none()
            && matches!(self.flight.recovery.phase(), Phase::Fast(fast) if self.flight.board.una() < fast.until)
            && self.flight.recovery.has_sack()
            && !self.flight.recovery.undo().all_were_duplicates()
            && !self.flight.tlp.is_out()
            && self.flight.ecn.is_silent(ack.flags);
        self.flight.board.lengthens_last(ack.sack.blocks()).filter(|_| may)
    }

    /// Effect of [`Self::on_any_ack`] on such an ACK: nothing is acknowledged, nor does anything begin or end.
    pub(super) fn on_short_path_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>, sacked_to: u64) {
        let prior_flight = self.flight.board.flight_size();
        let reduced_window = self.flight.recovery.phase().reduced_window();
        let (delivered, times) = self.sack_in_order(now, sacked_to);
        self.sample_sacked(now, &times);
        if delivered > 0 {
            self.count_delivered(delivered, false);
        }
        self.take_silence(ack.flags, delivered);
        self.flight.recovery.count_duplicate(delivered > 0, false, prior_flight);
        let restarts_timer = self.sack_restarts_timer(times.oldest);
        let mut outcome = AckOutcome {
            prior_flight,
            delivered,
            newly_sacked: delivered,
            was_reducing: true,
            reduced_window,
            restarts_timer,
            ..AckOutcome::default()
        };
        self.flight.detect_in_recovery(now, &mut outcome);
        self.flight.reduce(&outcome);
        self.flight.congestion.report_lost(now, &mut self.flight.board);
        if delivered > 0 || outcome.newly_lost > 0 {
            self.notify_controller(now, ack, &outcome);
        }
        self.flight.set_timer(now, &outcome);
        self.flight.congestion.report_controller(now);
    }

    fn sack_in_order(&mut self, now: SimTime, to: u64) -> (u64, SendTimes) {
        if self.tells_nobody() {
            return self.flight.board.lengthen_last(to, &mut |_| {});
        }
        let (board, mut told) = self.board_and_told(now);
        board.lengthen_last(to, &mut |sent| told.of(sent, None))
    }

    /// Effect of [`Self::sample_rtt`] on such an ACK; retransmitted segments give no sample when they are SACKed.
    fn sample_sacked(&mut self, now: SimTime, times: &SendTimes) {
        let once = SendTimes { retransmitted: None, ..*times };
        if let Some(sent_at) = self.sample_of(&once).filter(|_| self.flight.rto.samples_sacks()) {
            self.flight.take_sample(now, sent_at, once.newest);
        }
    }

    fn acknowledge_in_order(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> (u64, SendTimes) {
        if self.tells_nobody() {
            return self.flight.board.acknowledge_without_marks(ack.ack, |_| {});
        }
        let echoed = self.echo_of_retransmission(ack);
        let (board, mut told) = self.board_and_told(now);
        board.acknowledge_without_marks(ack.ack, |sent| told.of(sent, echoed))
    }

    /// Updates the counters that depend on round trips.
    fn count_delivered(&mut self, delivered: u64, new_round: bool) {
        if let Some(rack) = self.flight.recovery.rack_mut() {
            rack.adapt(self.rounds.count());
        }
        if self.flight.congestion.validation.is_on() {
            self.flight.congestion.validation.on_acked(delivered, new_round);
        }
        self.flight.counters.delivered += delivered;
    }

    /// Takes an RTT sample where all that the ACK delivers is cumulatively acknowledged.
    fn sample_in_order(&mut self, now: SimTime, ack: &IncomingAck<'_>, times: &SendTimes) {
        if let Some(sent_at) = self.sample_of(times).or_else(|| self.echoed_send_time(now, ack)) {
            self.flight.take_sample(now, sent_at, times.newest);
        }
    }
}
