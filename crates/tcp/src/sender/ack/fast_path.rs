//! The fast path of plain ACKs, which advance and report nothing else while nothing is amiss; and the short path of those that only
//! report data behind all that had arrived, while a loss is repaired. Either has the effect of the slow path for such an ACK, on a
//! stack without mechanisms that inspect every ACK.

use ackclock_units::SimTime;

use super::{AckOutcome, AckProcessor, IncomingAck};
use crate::recovery::Phase;
use crate::scoreboard::SendTimes;

impl AckProcessor {
    /// Nothing is outstanding, and nothing is amiss, on a stack as above.
    pub(in crate::sender) fn is_idle(&self) -> bool {
        let flight = &self.flight;
        self.has_fast_path
            && flight.board.is_empty()
            && !flight.tlp.is_due()
            && !flight.persist.is_running()
            && flight.is_quiet()
    }

    pub(super) fn takes_fast_path(&self, ack: &IncomingAck<'_>) -> bool {
        self.has_fast_path
            && ack.sack.is_empty()
            && ack.ack > self.flight.board.una()
            && self.flight.is_quiet()
            && self.flight.ecn.is_silent(ack.flags)
    }

    pub(super) fn on_plain_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> AckOutcome {
        let (prior_flight_size, prior_pipe) = (self.flight.board.flight_size(), self.flight.board.pipe());
        let (delivered, times) = self.acknowledge_in_order(now, ack);
        self.flight.timer.on_progress();
        self.flight.rto.on_new_ack();
        self.flight.recovery.forget_duplicates();
        self.sample_rtt(now, ack.echoed_tick(), &times, None);
        let new_round = self.rounds.on_ack(ack.ack, self.flight.board.high_data());
        self.count_delivered(now, delivered, new_round, true);
        self.take_silence(ack.flags, delivered);
        let outcome = AckOutcome { prior_flight_size, prior_pipe, delivered, ..AckOutcome::default() };
        AckOutcome { advanced: true, restarts_timer: true, ..outcome }
    }

    /// New end of the highest SACKed range, if the ACK reports nothing else, in the midst of a recovery.
    pub(super) fn takes_sack_fast_path(&self, ack: &IncomingAck<'_>) -> Option<u64> {
        let Self { flight, .. } = self;
        let may = self.has_fast_path
            && ack.ack == flight.board.una()
            && ack.sack.dsack.is_none()
            && matches!(flight.recovery.phase(), Phase::Fast(fast) if flight.board.una() < fast.until)
            && flight.recovery.has_sack()
            && !flight.recovery.undo().all_were_duplicates()
            && !flight.tlp.is_out()
            && flight.ecn.is_silent(ack.flags);
        flight.board.lengthens_last(ack.sack.blocks()).filter(|_| may)
    }

    /// Nothing is acknowledged by such an ACK, nor does anything begin or end.
    pub(super) fn on_lengthened_sack(&mut self, now: SimTime, ack: &IncomingAck<'_>, sacked_to: u64) -> AckOutcome {
        let (prior_flight_size, prior_pipe) = (self.flight.board.flight_size(), self.flight.board.pipe());
        let reduced_window = self.flight.recovery.phase().reduced_window();
        let (delivered, times) = self.sack_in_order(now, sacked_to);
        // Retransmitted segments give no sample when they are SACKed.
        let once = SendTimes { retransmitted: None, ..times };
        self.sample_rtt(now, None, &SendTimes::default(), Some(&once));
        self.count_delivered(now, delivered, false, delivered > 0);
        self.take_silence(ack.flags, delivered);
        self.flight.recovery.count_duplicate(delivered > 0, false, prior_flight_size);
        let restarts_timer = self.sack_restarts_timer(times.oldest);
        let mut outcome = AckOutcome {
            prior_flight_size,
            prior_pipe,
            delivered,
            newly_sacked: delivered,
            was_reducing: true,
            reduced_window,
            restarts_timer,
            ..AckOutcome::default()
        };
        self.flight.detect_in_recovery(now, &mut outcome);
        self.flight.reduce(&outcome);
        outcome
    }

    fn sack_in_order(&mut self, now: SimTime, to: u64) -> (u64, SendTimes) {
        if self.has_no_observers() {
            return self.flight.board.lengthen_last(to, &mut |_| {});
        }
        let (board, mut observers) = self.board_and_observers(now);
        board.lengthen_last(to, &mut |sent| observers.on_delivered(sent, None))
    }

    fn acknowledge_in_order(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> (u64, SendTimes) {
        if self.has_no_observers() {
            return self.flight.board.acknowledge_without_marks(ack.ack, |_| {});
        }
        let echoed = self.echo_of_retransmission(ack);
        let (board, mut observers) = self.board_and_observers(now);
        board.acknowledge_without_marks(ack.ack, |sent| observers.on_delivered(sent, echoed))
    }
}
