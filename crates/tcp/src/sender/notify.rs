//! Reports of ACKs to the controller.

use ackclock_cc::{AckEvent, CongestionController, Growth};
use ackclock_units::{Bytes, SimTime};

use super::ack::{AckOutcome, IncomingAck};
use super::{Limit, Sender};

impl Sender {
    pub(super) fn notify_controller(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &AckOutcome) {
        // Where the network reorders, waiting for the cumulative ACK would starve the window. The report of a duplicate is
        // no progress.
        let reorders = self.recovery.sees_reordering() && self.config.growth_on_sack;
        let is_new = outcome.advanced || (reorders && outcome.newly_sacked > 0);
        let is_reducing = self.recovery.phase().is_reducing();
        //= rfc3168-6.1.2-no-growth
        let holds = is_reducing || (outcome.was_reducing && !self.config.growth_at_recovery_end);
        let growth = Growth { is_due: is_new && !holds, is_in_use: self.may_grow() };
        let lost_before = std::mem::take(&mut self.lost_by_timer);
        let event = AckEvent {
            now,
            newly_acked: Bytes(outcome.delivered),
            is_cumulative: outcome.advanced,
            newly_lost: Bytes(outcome.newly_lost) + lost_before,
            lost_before,
            newly_ce_marked: Bytes((outcome.marked * self.mss()).min(outcome.delivered)),
            prior_flight_size: Bytes(outcome.prior_flight),
            snd_una: self.board.una(),
            snd_nxt: self.board.high_data(),
            rtt_sample: self.rto.sample_of_ack(),
            rtt: self.rto.fine_stats(),
            timestamps: ack.timestamps,
            is_cwnd_limited: self.limited_by == Limit::Cwnd,
            in_recovery: outcome.was_reducing || is_reducing,
            growth,
            reduced_window: outcome.reduced_window.map(Bytes),
            round: self.rounds.count(),
            is_paced: self.pacer.is_active(),
            delivery: self.delivery_report(),
        };
        if growth.is_due {
            self.validation.renew(now);
        }
        self.controller.on_ack(&event);
        if event.reduced_window.is_some()
            && let Some(ssthresh) = self.controller.ssthresh()
        {
            self.recovery.reduce_to(ssthresh.0);
        }
        self.feed.on_told(&self.controller, &self.board);
        self.note_pacing();
        if self.queue.is_tuned() {
            self.queue.tune(self.cwnd());
        }
    }

    fn may_grow(&self) -> bool {
        let limited_now = self.limited_by == Limit::Cwnd;
        if self.validation.is_on() {
            self.validation.permits_growth(limited_now, || self.cwnd(), || self.in_slow_start())
        } else {
            limited_now || self.validation.always_grows()
        }
    }
}
