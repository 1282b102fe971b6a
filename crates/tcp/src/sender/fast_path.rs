//! The ACK that most are: it advances, reports nothing else, and nothing is amiss. What [`Sender::on_ack`] does with any
//! ACK comes down to this much for it, on a stack without mechanisms that look at every ACK.

use ackclock_units::SimTime;

use super::ack::{AckSummary, IncomingAck};
use super::{Limit, Sender};

impl Sender {
    /// Nothing is outstanding, nothing waits to be sent, and nothing is amiss, on a stack as above: the end of a connection
    /// that only receives. [`Self::on_idle_ack`] is then all that an ACK comes down to.
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        self.has_fast_path
            && self.board.is_empty()
            && self.limited_by == Limit::Application
            && self.next_len() == 0
            && !self.tlp.is_due()
            && !self.persist.is_running()
            && self.recovery.is_idle()
            && self.board.has_no_marks()
            && !self.ecn.is_on()
            && !self.bursts.is_on()
    }

    /// What the peer says of its window while [`Self::has_nothing_to_do`].
    pub(crate) fn on_idle_ack(&mut self, ack: u64, seq: u64, window: u64) {
        self.rto.begin_ack();
        self.peer.update(seq, ack, window);
        self.persist.on_answer();
    }

    pub(super) fn takes_fast_path(&self, ack: &IncomingAck<'_>) -> bool {
        self.has_fast_path
            && ack.sack.is_empty()
            && ack.ack > self.board.una()
            && self.recovery.is_idle()
            && self.board.has_no_marks()
            && !self.ecn.is_on()
    }

    pub(super) fn on_fast_path_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let prior_flight = self.board.flight_size();
        let (delivered, times) = self.board.acknowledge_without_marks(ack.ack);
        self.note_progress(ack.ack);
        self.recovery.forget_duplicates();
        let sample = match times.newest_retransmitted {
            None => times.newest,
            Some(_) if self.rto.karn() => None,
            Some(resent) => times.newest.max(Some(resent)),
        };
        if let Some(sent_at) = sample.or_else(|| self.echoed_send_time(now, ack)) {
            self.take_sample(sent_at, now);
        }
        self.rounds.on_ack(ack.ack, self.board.high_data());
        self.counters.delivered += delivered;
        if delivered > 0 {
            self.notify_controller(
                now,
                ack,
                &AckSummary { prior_flight, delivered, advanced: true, ..AckSummary::default() },
            );
        }
        if self.board.is_empty() {
            self.timer.stop();
            self.activity.idle_since = Some(now);
        } else {
            self.timer.start(now + self.rto.rto());
        }
    }
}
