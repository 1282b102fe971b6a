//! The handling of an ACK (RFC 9002 appendix A.7).

use ackclock_cc::{AckEvent, CongestionCause, CongestionController, DeliveryReport, EchoEvent, Growth};
use ackclock_units::{Bytes, SimDuration, SimTime};
use ackclock_wire::quic::{AckRange, QuicFrames};

use super::{Limit, Sender};
use crate::sent_log::{Fate, SentPacket};

/// An ACK frame as received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncomingAck<'a> {
    pub(crate) first: AckRange,
    pub(crate) further: &'a [AckRange],
    pub(crate) delay: SimDuration,
    /// Packets that have arrived with a CE mark, if the frame counts them.
    pub(crate) ce_count: Option<u64>,
}

/// Effect of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckOutcome {
    pub(super) prior_flight: u64,
    pub(super) delivered: u64,
    pub(super) newly_lost: u64,
    pub(super) marked: u64,
    /// The newest packet that was in flight.
    newest: Option<SentPacket>,
    /// Departure time of the largest packet that the ACK covers, if that is newly acknowledged.
    largest_sent: Option<SimTime>,
}

impl Sender {
    /// Takes an ACK. Returns the largest number that the peer knows to have arrived here, if that is new.
    pub(crate) fn on_ack(&mut self, now: SimTime, ack: &IncomingAck<'_>) -> Option<u64> {
        let place = self.reported();
        let mut outcome = AckOutcome { prior_flight: self.log.in_flight(), ..AckOutcome::default() };
        let mut newly = std::mem::take(&mut self.scratch);
        newly.clear();
        for range in [ack.first].iter().chain(ack.further) {
            self.log.acknowledge(*range, &mut newly);
        }
        let answered = self.take_delivered(now, &newly, &mut outcome);
        self.scratch = newly;
        if outcome.newest.is_some() {
            // RFC 9002 section 5.1: of the largest, which may itself ask for no ACK, if one that does is news.
            if let Some(sent) = outcome.largest_sent {
                self.sample_rtt(now, sent, ack.delay);
            }
            self.pto_count = 0;
            self.probes = 0;
        }
        // RFC 9002 appendix A.7 reads marks before it detects losses, and answers them then; here the losses of the same ACK come first.
        let marked = self.count_marks(ack, &mut outcome);
        outcome.newly_lost = self.detect_losses(now);
        if marked > 0 {
            self.answer_marks(now, marked, &outcome);
        }
        self.note_recovery(now, &outcome);
        if outcome.prior_flight > 0 && (outcome.delivered > 0 || outcome.newly_lost > 0) {
            self.notify_controller(now, &outcome);
        }
        if self.log.in_flight() == 0 && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        self.log.forget(SimTime(now.0.saturating_sub(3 * self.pto().0)));
        if self.events.is_some() {
            self.report_ack(now, place, &outcome);
        }
        answered
    }

    fn take_delivered(&mut self, now: SimTime, newly: &[u64], outcome: &mut AckOutcome) -> Option<u64> {
        let mut answered = None;
        for &number in newly {
            let packet = self.log.deliver(number);
            if Some(number) == self.log.largest_acked() {
                outcome.largest_sent = Some(packet.at);
            }
            answered = answered.max(packet.acked_up_to);
            if let Some(range) = packet.stream {
                self.stream.on_acknowledged(range, packet.frames.has(QuicFrames::FIN));
            }
            if packet.frames.has(QuicFrames::CRYPTO) {
                (self.crypto_arrived, self.control.crypto) = (true, false);
            }
            match packet.fate {
                Fate::InFlight => {
                    outcome.delivered += u64::from(packet.size);
                    self.report_delivered(now, &packet);
                    if outcome.newest.is_none_or(|newest| newest.position < packet.position) {
                        outcome.newest = Some(packet);
                    }
                }
                // It was late, not lost.
                Fate::Lost => self.counters.reorderings += 1,
                Fate::Unanswered | Fate::Delivered => {}
            }
        }
        self.counters.delivered += outcome.delivered;
        answered
    }

    fn report_delivered(&mut self, now: SimTime, packet: &SentPacket) {
        if let Some(report) =
            self.rates.as_mut().and_then(|rates| rates.on_delivered(packet.span(), packet.span().len(), now))
        {
            self.controller.on_delivered(&report);
        }
    }

    /// Takes an RTT sample; the delay counts up to the peer's promise (RFC 9002 section 5.3).
    fn sample_rtt(&mut self, now: SimTime, sent: SimTime, delay: SimDuration) {
        let latest = now.saturating_since(sent);
        self.rtt.on_sample(now, latest, delay.min(self.peer.max_ack_delay));
        self.rtt_sample = Some(latest);
    }

    /// Detects losses (RFC 9002 section 6.1); returns the lost octets.
    pub(super) fn detect_losses(&mut self, now: SimTime) -> u64 {
        let mut lost = std::mem::take(&mut self.scratch);
        lost.clear();
        let delay = self.rtt.loss_delay(self.config.time_threshold);
        let threshold = u64::from(self.config.packet_threshold);
        self.loss_time = self.log.detect_losses(now, threshold, delay, &mut lost);
        let octets = lost.iter().map(|&number| self.on_lost(now, number)).sum();
        if let Some(&newest) = lost.last() {
            self.note_lost(octets);
            self.on_losses(now, &lost, newest, octets);
        }
        self.scratch = lost;
        octets
    }

    fn on_lost(&mut self, now: SimTime, number: u64) -> u64 {
        let packet = *self.log.get(number).expect("it was in flight");
        if let Some(range) = packet.stream {
            self.stream.on_lost(range, packet.frames.has(QuicFrames::FIN));
        }
        self.control.crypto |= packet.frames.has(QuicFrames::CRYPTO) && !self.crypto_arrived;
        self.control.max_data |= packet.frames.has(QuicFrames::MAX_DATA);
        self.control.ack_frequency |= packet.frames.has(QuicFrames::ACK_FREQUENCY);
        if let Some(report) =
            self.rates.as_mut().and_then(|rates| rates.on_lost(packet.span(), packet.span().len(), now))
        {
            self.controller.on_lost(&report);
        }
        u64::from(packet.size)
    }

    /// Takes the marks of an ACK. Returns how many packets more than before have been marked.
    fn count_marks(&mut self, ack: &IncomingAck<'_>, outcome: &mut AckOutcome) -> u64 {
        let Some(count) = ack.ce_count.filter(|_| outcome.newest.is_some()) else { return 0 };
        let marked = count.saturating_sub(self.marked_before);
        self.marked_before = self.marked_before.max(count);
        outcome.marked = (marked * self.config.datagram()).min(outcome.delivered);
        self.counters.delivered_ce += outcome.marked;
        self.controller.on_echo(&EchoEvent {
            snd_una: self.log.settled(),
            snd_nxt: self.log.position(),
            newly_acked: Bytes(outcome.delivered),
            newly_ce_marked: Bytes(outcome.marked),
        });
        marked
    }

    /// Marks are congestion at the departure of the newest packet (RFC 9002 section 7.1).
    fn answer_marks(&mut self, now: SimTime, marked: u64, outcome: &AckOutcome) {
        if let Some(newest) = outcome.newest.filter(|_| !self.controller.demands().marks) {
            self.on_congestion(now, newest.at, CongestionCause::Ecn, 0);
        }
        self.episodes.on_marked(marked, true);
    }

    /// Ends a recovery period when a packet that left during it arrives (RFC 9002 section 7.3.2).
    fn note_recovery(&mut self, now: SimTime, outcome: &AckOutcome) {
        let is_later = |newest: SentPacket| self.recovery_start.is_none_or(|start| newest.at > start);
        if self.is_recovering && outcome.newest.is_some_and(is_later) {
            self.leave_recovery(now);
        }
        if let Some(newest) = outcome.newest
            && !self.stream.has_lost()
        {
            self.repairing.on_delivered(newest.position);
        }
    }

    fn notify_controller(&mut self, now: SimTime, outcome: &AckOutcome) {
        let (settled, sent) = (self.log.settled(), self.log.position());
        self.rounds.on_ack(settled, sent);
        let ack_of_recovery = self.is_recovering
            || outcome.newest.is_some_and(|newest| self.recovery_start.is_some_and(|start| newest.at <= start));
        let rtt = self.rtt.stats();
        // RFC 9002 section 7.8: what the pacer holds back is no sign of a window that is not used.
        let is_cwnd_limited = self.limited_by != Limit::Application;
        let lost_before = std::mem::take(&mut self.lost_by_timer);
        let event = AckEvent {
            now,
            newly_acked: Bytes(outcome.delivered),
            is_cumulative: outcome.delivered > 0,
            newly_lost: Bytes(outcome.newly_lost) + lost_before,
            lost_before,
            newly_ce_marked: Bytes(outcome.marked),
            prior_flight_size: Bytes(outcome.prior_flight),
            snd_una: settled,
            snd_nxt: sent,
            rtt_sample: self.rtt_sample,
            rtt,
            timestamps: None,
            is_cwnd_limited,
            in_recovery: ack_of_recovery,
            growth: Growth::of_facts(outcome.delivered > 0, is_cwnd_limited, ack_of_recovery),
            reduced_window: None,
            round: self.rounds.count(),
            is_paced: self.pacer.is_active(),
            delivery: self.delivery_report(settled, outcome.prior_flight),
        };
        self.controller.on_ack(&event);
        let in_flight = self.log.in_flight();
        if let Some(rates) = self.rates.as_mut().filter(|_| self.controller.limits_itself()) {
            rates.on_application_limited(in_flight);
        }
        if self.rates.is_some() && self.controller.begins_reduction() && !self.is_recovering {
            self.on_congestion(now, now, CongestionCause::Ecn, 0);
        }
        self.note_pacing();
    }

    fn delivery_report(&mut self, settled: u64, prior_flight: u64) -> Option<DeliveryReport> {
        let rates = self.rates.as_mut()?;
        let sample = rates.take_sample(self.rtt.stats().min_rtt, settled);
        Some(DeliveryReport {
            delivered: Bytes(rates.delivered()),
            lost: Bytes(rates.lost()),
            inflight: Bytes(self.log.in_flight()),
            prior_inflight: Bytes(prior_flight),
            repair: self.repairing.what(),
            has_sack: true,
            next_departure: self.pacer.next(),
            sample,
        })
    }
}
