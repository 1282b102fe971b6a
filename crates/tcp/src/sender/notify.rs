//! Reports of ACKs to the controller.

use ackclock_cc::{AckEvent, CongestionController, Growth};
use ackclock_events::{AckArrived, Event};
use ackclock_units::{Bytes, SimTime};

use super::ack::{AckOutcome, IncomingAck, SackReport};
use super::{Limit, Sender};

impl Sender {
    pub(super) fn notify_controller(&mut self, now: SimTime, ack: &IncomingAck<'_>, outcome: &AckOutcome) {
        // Where the network reorders, waiting for the cumulative ACK would starve the window. The report of a duplicate is
        // no progress.
        let reorders = self.acks.flight.recovery.sees_reordering() && self.acks.flight.config.growth_on_sack;
        let is_new = outcome.advanced || (reorders && outcome.newly_sacked > 0);
        let is_reducing = self.acks.flight.recovery.phase().is_reducing();
        //= rfc3168-6.1.2-no-growth
        let holds = is_reducing || (outcome.was_reducing && !self.acks.flight.config.growth_at_recovery_end);
        let growth = Growth {
            is_due: is_new && !holds,
            is_in_use: self.acks.flight.congestion.may_grow(self.transmitter.limited_by == Limit::Cwnd),
        };
        let lost_before = std::mem::take(&mut self.acks.flight.congestion.lost_by_timer);
        let event = AckEvent {
            now,
            newly_acked: Bytes(outcome.delivered),
            is_cumulative: outcome.advanced,
            newly_lost: Bytes(outcome.newly_lost) + lost_before,
            lost_before,
            newly_ce_marked: Bytes((outcome.marked * self.acks.flight.mss()).min(outcome.delivered)),
            prior_flight_size: Bytes(outcome.prior_flight),
            snd_una: self.acks.flight.board.una(),
            snd_nxt: self.acks.flight.board.high_data(),
            rtt_sample: self.acks.flight.rto.sample_of_ack(),
            rtt: self.acks.flight.rto.fine_stats(),
            timestamps: ack.timestamps,
            is_cwnd_limited: self.transmitter.limited_by == Limit::Cwnd,
            in_recovery: outcome.was_reducing || is_reducing,
            growth,
            reduced_window: outcome.reduced_window.map(Bytes),
            round: self.acks.rounds.count(),
            is_paced: self.transmitter.pacer.is_active(),
            delivery: self.acks.flight.delivery_report(self.transmitter.pacer.next()),
        };
        if growth.is_due {
            self.acks.flight.congestion.validation.renew(now);
        }
        self.acks.flight.congestion.controller.on_ack(&event);
        if event.reduced_window.is_some()
            && let Some(ssthresh) = self.acks.flight.congestion.controller.ssthresh()
        {
            self.acks.flight.recovery.reduce_to(ssthresh.0);
        }
        self.acks.flight.congestion.feed.on_told(&self.acks.flight.congestion.controller, &self.acks.flight.board);
        self.transmitter.note_pacing(&self.acks.flight.congestion.controller);
        if self.transmitter.queue.is_tuned() {
            self.transmitter.queue.tune(self.acks.flight.congestion.cwnd());
        }
    }

    /// Reports an ACK after its effects, at `place`: before the events that it caused.
    #[cold]
    pub(super) fn report_ack(&mut self, now: SimTime, place: usize, sack: &SackReport, outcome: &AckOutcome) {
        if outcome.prior_flight > 0 {
            let (rtt, has_sample) = (self.acks.flight.rto.stats(), self.acks.flight.rto.has_sample());
            let arrived = AckArrived {
                newly_delivered: Bytes(outcome.delivered),
                acknowledged: self.acks.flight.board.una(),
                sacked: sack.padded(),
                cwnd: self.acks.flight.congestion.controller.cwnd(),
                ssthresh: self.acks.flight.congestion.controller.ssthresh(),
                flight_size: Bytes(self.acks.flight.board.flight_size()),
                rtt_sample: self.acks.flight.rto.sample_of_ack(),
                srtt: has_sample.then_some(rtt.srtt),
                rttvar: has_sample.then_some(rtt.rttvar),
                rto: self.acks.flight.rto.rto(),
                pacing_rate: self.transmitter.rate_of_pacing(&self.acks.flight),
            };
            self.acks.flight.congestion.report_at(place, |_| Event::AckArrived(arrived));
        }
        self.acks.flight.congestion.report_controller(now);
    }
}
