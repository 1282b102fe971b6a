//! The ACK that most are: it advances, reports nothing else, and nothing is amiss. What [`Sender::on_ack`] does with any
//! ACK comes down to this much for it, on a stack without mechanisms that look at every ACK.

use ackclock_units::SimTime;

use super::ack::{Heard, IncomingAck};
use super::{Limit, Sender};

impl Sender {
    /// Nothing is outstanding, nothing waits to be sent, and nothing is amiss, on a stack as above: the end of a connection
    /// that only receives. [`Self::on_window_at_rest`] is then all that an ACK comes down to.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_plain_stack
            && self.board.is_empty()
            && self.limited_by == Limit::Application
            && self.next_len() == 0
            && !self.tlp.is_due()
            && !self.persist.is_running()
            && self.recovery.is_idle()
            && self.board.is_plain()
            && !self.ecn.is_on()
            && !self.bursts.is_on()
    }

    /// What the peer says of its window while [`Self::is_at_rest`].
    pub(crate) fn on_window_at_rest(&mut self, ack: u64, seq: u64, window: u64) {
        self.rto.begin_ack();
        self.peer.update(seq, ack, window);
        self.persist.on_answer();
    }

    pub(super) fn is_plain_ack(&self, ack: &IncomingAck<'_>) -> bool {
        self.is_plain_stack
            && ack.sack.is_empty()
            && ack.ack > self.board.una()
            && self.recovery.is_idle()
            && self.board.is_plain()
            && !self.ecn.is_on()
    }

    pub(super) fn on_plain_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let prior_flight = self.board.flight_size();
        let (delivered, times) = self.board.acknowledge_plain(ack.ack);
        self.note_progress(ack.ack);
        self.recovery.forget_duplicates();
        let sample = match times.newest_resent {
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
            self.tell_controller(now, ack, &Heard { prior_flight, delivered, advanced: true, ..Heard::default() });
        }
        if self.board.is_empty() {
            self.timer.stop();
            self.activity.idle_since = Some(now);
        } else {
            self.timer.start(now + self.rto.rto());
        }
    }
}
