//! Reports of the sender's events to observers. Without an observer there is no log, and none of this runs.

use ackclock_cc::CongestionController;
use ackclock_events::{AckArrived, Event, LossDetection, ProbeKind, RecoveryCause, SegmentSent, SlowStartExit};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use super::ack::AckOutcome;
use crate::sent_log::SentPacket;

impl Sender {
    fn report(&mut self, event: impl FnOnce(&Self) -> Event) {
        if self.events.is_none() {
            return;
        }
        let event = event(self);
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    /// Number of events kept.
    pub(super) fn reported(&self) -> usize {
        self.events.as_ref().map_or(0, |events| events.len())
    }

    #[cold]
    pub(super) fn report_sent(&mut self, packet: &SentPacket, is_retransmission: bool) {
        let Some(range) = packet.stream.filter(|range| range.end > range.start) else { return };
        self.report(|sender| {
            let (size, flight_size) = (Bytes(range.len()), Bytes(sender.log.in_flight()));
            Event::SegmentSent(SegmentSent { offset: range.start, size, is_retransmission, flight_size })
        });
    }

    /// Takes note of octets that were marked lost, and counted.
    pub(super) fn note_lost(&mut self, octets: u64) {
        self.counters.lost_octets += octets;
        self.report(|_| Event::MarkedLost { lost: Bytes(octets), by: LossDetection::Acks });
    }

    pub(super) fn report_probe_timeout(&mut self) {
        self.report(|sender| Event::TimedOut { in_a_row: sender.pto_count, rto: sender.pto() });
        self.report(|_| Event::ProbeSent { kind: ProbeKind::TailLoss });
    }

    pub(super) fn report_recovery(&mut self, cause: RecoveryCause, cwnd_before: Bytes) {
        self.report(|sender| Event::RecoveryEntered {
            cause,
            until: sender.log.position(),
            cwnd_before,
            cwnd: sender.controller.cwnd(),
            ssthresh: sender.controller.ssthresh(),
        });
        let exit = if cause == RecoveryCause::Ecn { SlowStartExit::Ecn } else { SlowStartExit::Loss };
        if let Some(events) = &mut self.events {
            events.on_congestion(&self.controller, exit);
        }
    }

    pub(super) fn report_recovery_left(&mut self) {
        self.report(|sender| Event::RecoveryLeft { cwnd: sender.controller.cwnd() });
    }

    #[cold]
    pub(super) fn report_ack(&mut self, now: SimTime, place: usize, outcome: &AckOutcome) {
        let (rtt, has_sample) = (self.rtt.stats(), self.rtt.first_sample().is_some());
        let event = Event::AckArrived(AckArrived {
            newly_delivered: Bytes(outcome.delivered),
            acknowledged: self.stream.acknowledged(),
            sacked: [(0, 0); 4],
            cwnd: self.controller.cwnd(),
            ssthresh: self.controller.ssthresh(),
            flight_size: Bytes(self.log.in_flight()),
            rtt_sample: self.rtt_sample,
            srtt: has_sample.then_some(rtt.srtt),
            rttvar: has_sample.then_some(rtt.rttvar),
            rto: self.pto(),
            pacing_rate: self.pacing_rate(),
        });
        if let Some(events) = &mut self.events {
            if outcome.prior_flight > 0 {
                events.insert(place, event);
            }
            events.record_controller(now, &self.controller);
        }
    }
}
