//! The ACK that most are: it advances, reports nothing else, and nothing is amiss. What [`Sender::on_ack`] does with any
//! ACK comes down to this much for it, on a stack without mechanisms that look at every ACK.

use ackclock_units::SimTime;

use super::ack::{IncomingAck, answers_original};
use super::notify::AckSummary;
use super::{Limit, Sender};
use crate::scoreboard::SendTimes;

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
            && self.is_quiet()
    }

    /// Nothing is lost, SACKed, probed or marked, nor known to be.
    fn is_quiet(&self) -> bool {
        self.recovery.is_idle() && self.board.has_no_marks() && !self.tlp.is_out() && !self.ecn.is_on()
    }

    /// What the peer says of its window while [`Self::has_nothing_to_do`].
    pub(crate) fn on_idle_ack(&mut self, ack: u64, seq: u64, window: u64) {
        self.rto.begin_ack();
        self.peer.update(seq, ack, window);
        self.persist.on_answer();
    }

    pub(super) fn takes_fast_path(&self, ack: &IncomingAck<'_>) -> bool {
        self.has_fast_path && ack.sack.is_empty() && ack.ack > self.board.una() && self.is_quiet()
    }

    pub(super) fn on_fast_path_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) {
        let prior_flight = self.board.flight_size();
        let (delivered, times) = self.acknowledge_in_order(now, ack);
        self.note_progress(ack.ack);
        self.recovery.forget_duplicates();
        self.sample_in_order(now, ack, &times);
        self.count_delivered(ack.ack, delivered);
        if delivered > 0 {
            let summary = AckSummary { prior_flight, delivered, advanced: true, ..AckSummary::default() };
            self.notify_controller(now, ack, &summary);
        }
        if self.board.is_empty() {
            self.timer.stop();
            self.activity.idle_since = Some(now);
        } else {
            self.restart_timer(now);
        }
    }

    fn acknowledge_in_order(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> (u64, SendTimes) {
        let echoed = self.echo_of_retransmission(ack);
        let min_rtt = self.rto.stats().min_rtt;
        let Self { board, recovery, clock, .. } = self;
        match recovery.rack_mut() {
            None => board.acknowledge_without_marks(ack.ack, |_| {}),
            Some(rack) => board.acknowledge_without_marks(ack.ack, |sent| {
                rack.on_delivered(sent, now, min_rtt, answers_original(sent, echoed, clock));
            }),
        }
    }

    /// What keeps account by round trips.
    fn count_delivered(&mut self, una: u64, delivered: u64) {
        let new_round = self.rounds.on_ack(una, self.board.high_data());
        if let Some(rack) = self.recovery.rack_mut() {
            rack.adapt(self.rounds.count());
        }
        if self.validation.is_on() {
            self.validation.on_acked(delivered, new_round);
        }
        self.counters.delivered += delivered;
    }

    /// As [`Self::sample_rtt`].
    fn sample_in_order(&mut self, now: SimTime, ack: &IncomingAck<'_>, times: &SendTimes) {
        let takes_oldest = self.rto.samples_oldest();
        let once = if takes_oldest { times.oldest } else { times.newest };
        let sample = match times.retransmitted {
            None => once,
            Some(_) if self.rto.karn() => None,
            Some((oldest, _)) if takes_oldest => Some(once.map_or(oldest, |once| once.min(oldest))),
            Some((_, newest)) => once.max(Some(newest)),
        };
        if let Some(sent_at) = sample.or_else(|| self.echoed_send_time(now, ack)) {
            self.take_sample(sent_at, now);
            if let Some(newest) = times.newest.filter(|_| takes_oldest) {
                self.rto.note_newest(now.saturating_since(newest));
            }
        }
    }
}
