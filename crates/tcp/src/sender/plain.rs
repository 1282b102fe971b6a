//! The ACK that most are: it advances, reports nothing else, and nothing is amiss. What [`Sender::on_ack`] does with any
//! ACK comes down to this much for it, on a stack without mechanisms that look at every ACK.

use ackclock_units::SimTime;

use super::ack::{Heard, IncomingAck};
use super::timers::Timer;
use super::{Limit, Sender};
use crate::recovery::Phase;

impl Sender {
    /// Nothing is outstanding, nothing waits to be sent, and nothing is amiss, on a stack as above: the end of a connection
    /// that only receives. [`Self::on_window_at_rest`] is then all that an ACK comes down to.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_plain_stack
            && self.board.is_empty()
            && self.limited_by == Limit::Application
            && self.available() == 0
            && !self.wants_probe
            && self.probes == 0
            && matches!(self.phase, Phase::Open)
            && self.board.is_plain()
            && !self.ecn.is_on()
            && !self.bursts.is_on()
    }

    /// What the peer says of its window while [`Self::is_at_rest`].
    pub(crate) fn on_window_at_rest(&mut self, ack: u64, seq: u64, window: u64) {
        self.latest_rtt_sample = None;
        self.peer.update(seq, ack, window);
        self.unanswered_probes = 0;
    }

    pub(super) fn is_plain_ack(&self, ack: &IncomingAck<'_>) -> bool {
        self.is_plain_stack
            && ack.sack.is_empty()
            && ack.ack > self.board.una()
            && matches!(self.phase, Phase::Open)
            && self.board.is_plain()
            && !self.ecn.is_on()
    }

    pub(super) fn on_plain_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let prior_flight = self.board.flight_size();
        let (delivered, times) = self.board.acknowledge_plain(ack.ack);
        self.note_progress(ack.ack);
        self.dup_acks = 0;
        let sample = match times.newest_resent {
            None => times.newest,
            Some(_) if self.rto.karn() => None,
            Some(resent) => times.newest.max(Some(resent)),
        };
        if let Some(sent_at) = sample.or_else(|| self.echoed_send_time(now, ack)) {
            self.take_sample(sent_at, now);
        }
        self.note_round(ack.ack);
        self.counters.delivered += delivered;
        if delivered > 0 {
            self.tell_controller(now, ack, &Heard { prior_flight, delivered, advanced: true, ..Heard::default() });
        }
        if self.board.is_empty() {
            self.timer = Timer::OFF;
            self.idle_since = Some(now);
        } else {
            self.timer = Timer::retransmission(now + self.rto.rto());
        }
    }
}
