//! Reports of the sender's events to observers. Without an observer there is no log, and none of this runs.

use ackclock_cc::{CongestionCause, CongestionController};
use ackclock_events::{AckArrived, Event, EventKinds, LossDetection, RecoveryCause, SegmentSent, SlowStartExit};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use super::ack::{AckOutcome, SackReport};
use crate::event_log::EventLog;
use crate::ranges::Range;

impl Sender {
    /// Keeps events of these kinds for [`EventLog::events`] from now on.
    pub(crate) fn watch(&mut self, kinds: EventKinds) {
        self.log = Some(Box::new(EventLog::new(kinds, &self.controller)));
        self.settle_fast_path();
    }

    /// Number of events kept.
    pub(super) fn reported(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.len())
    }

    /// Reports an event.
    #[inline]
    pub(crate) fn report(&mut self, event: impl FnOnce(&Self) -> Event) {
        if self.log.is_none() {
            return;
        }
        let event = event(self);
        if let Some(log) = &mut self.log {
            log.push(event);
        }
    }

    /// Reports an event before those that happened since there were `place` events.
    pub(super) fn report_at(&mut self, place: usize, event: impl FnOnce(&Self) -> Event) {
        if self.log.is_none() {
            return;
        }
        let event = event(self);
        if let Some(log) = &mut self.log {
            log.insert(place, event);
        }
    }

    #[cold]
    pub(super) fn report_sent(&mut self, range: Range, payload: u64, is_retransmission: bool) {
        if payload > 0 {
            self.report(|sender| {
                let flight_size = Bytes(sender.board.flight_size());
                Event::SegmentSent(SegmentSent {
                    offset: range.start,
                    size: Bytes(payload),
                    is_retransmission,
                    flight_size,
                })
            });
        }
    }

    /// Octets were taken for lost, and are counted.
    pub(super) fn count_lost(&mut self, octets: u64, by: LossDetection) {
        self.counters.lost_octets += octets;
        if octets > 0 {
            self.report(|_| Event::MarkedLost { lost: Bytes(octets), by });
        }
    }

    /// Method by which losses are detected while ACKs arrive.
    pub(super) fn detection(&self) -> LossDetection {
        if self.recovery.has_rack() { LossDetection::Time } else { LossDetection::Acks }
    }

    /// A recovery has begun, with a window that was `cwnd_before`.
    pub(super) fn report_recovery(&mut self, cause: RecoveryCause, cwnd_before: u64) {
        self.report(|sender| Event::RecoveryEntered {
            cause,
            until: sender.recovery.phase().ends_at().unwrap_or_else(|| sender.board.high_data()),
            cwnd_before: Bytes(cwnd_before),
            cwnd: sender.controller.cwnd(),
            ssthresh: sender.controller.ssthresh(),
        });
    }

    /// Nothing is to be repaired any more.
    pub(super) fn leave_recovery(&mut self) {
        self.recovery.leave();
        self.report(|sender| Event::RecoveryLeft { cwnd: sender.controller.cwnd() });
    }

    /// Reports that the controller was informed of congestion.
    pub(super) fn report_congestion(&mut self, cause: CongestionCause) {
        let Some(log) = &mut self.log else { return };
        let cause = match cause {
            CongestionCause::Loss => SlowStartExit::Loss,
            CongestionCause::Ecn => SlowStartExit::Ecn,
            CongestionCause::Timeout { .. } => SlowStartExit::Timeout,
        };
        log.on_congestion(&self.controller, cause);
    }

    /// Reports an ACK after its effects, at `place`: before the events that it caused.
    #[cold]
    pub(super) fn report_ack(&mut self, now: SimTime, place: usize, sack: &SackReport, outcome: &AckOutcome) {
        if outcome.prior_flight > 0 {
            self.report_at(place, |sender| {
                let (rtt, has_sample) = (sender.rto.stats(), sender.rto.has_sample());
                Event::AckArrived(AckArrived {
                    newly_delivered: Bytes(outcome.delivered),
                    acknowledged: sender.board.una(),
                    sacked: sack.padded(),
                    cwnd: sender.controller.cwnd(),
                    ssthresh: sender.controller.ssthresh(),
                    flight_size: Bytes(sender.board.flight_size()),
                    rtt_sample: sender.rto.sample_of_ack(),
                    srtt: has_sample.then_some(rtt.srtt),
                    rttvar: has_sample.then_some(rtt.rttvar),
                    rto: sender.rto.rto(),
                    pacing_rate: sender.rate_of_pacing(),
                })
            });
        }
        self.report_controller(now);
    }

    /// The controller may have changed.
    #[inline]
    pub(crate) fn report_controller(&mut self, now: SimTime) {
        if let Some(log) = &mut self.log {
            log.on_told(now, &self.controller);
        }
    }
}
