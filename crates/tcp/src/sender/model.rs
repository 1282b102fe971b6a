//! What a sender does only for controllers that ask for more than every one gets: samples, reports of segments, a timer.

use ackclock_cc::{CongestionController, DeliveryReport, Repair};
use ackclock_units::{Bytes, SimTime};

use super::Sender;
use crate::config::LossRecovery;
use crate::ranges::Range;
use crate::recovery::Phase;

impl Sender {
    /// The controller is settled, or another takes over.
    pub(super) fn meet_demands(&mut self) {
        self.demands = self.controller.demands();
        self.board.keep_newly_lost(self.demands.samples);
        if !self.demands.samples {
            self.rates = None;
        } else if self.rates.is_none() {
            self.rates = Some(Box::default());
        }
        self.settle_plainness();
    }

    pub(super) fn controller_deadline(&self) -> SimTime {
        if self.rates.is_some() { self.controller.deadline() } else { SimTime::NEVER }
    }

    pub(super) fn run_controller_timer(&mut self, now: SimTime) {
        if now >= self.controller_deadline() {
            self.controller.on_timer(now);
            self.note_pacing();
        }
    }

    /// A segment has just left.
    pub(super) fn note_rate_of(&mut self, now: SimTime, range: Range, is_retransmission: bool) {
        if let Some(rates) = &mut self.rates {
            let weight = self.board.weight(range.len());
            rates.on_sent(now, range, self.board.pipe().max(weight), weight, is_retransmission);
        }
    }

    /// draft-cheng-iccrg-delivery-rate-estimation section 3.4: nothing to send, room in the window, and nothing lost that
    /// waits to be sent again.
    pub(super) fn note_application_limit(&mut self) {
        if let Some(rates) = &mut self.rates {
            let pipe = self.board.pipe();
            if pipe < self.phase.window(self.controller.cwnd().0) && self.board.lost() <= self.board.resent() {
                rates.on_application_limited(pipe);
            }
        }
    }

    /// The controller holds back on purpose, as BBR does to measure the round trip.
    pub(super) fn note_controller_limit(&mut self) {
        if let Some(rates) = &mut self.rates
            && self.controller.limits_itself()
        {
            rates.on_application_limited(self.board.pipe());
        }
    }

    /// Tells the controller of each segment that has been found lost.
    pub(super) fn report_lost(&mut self, now: SimTime) {
        let Some(rates) = &mut self.rates else { return };
        for range in self.board.take_newly_lost() {
            if let Some(report) = rates.on_lost(range, now) {
                self.controller.on_lost(&report);
            }
        }
    }

    /// What an ACK says of delivery, now that losses have been found.
    pub(super) fn delivery_report(&mut self) -> Option<DeliveryReport> {
        let rates = self.rates.as_mut()?;
        let repair = match self.phase {
            Phase::Open | Phase::Cwr { .. } => Repair::None,
            Phase::Fast(_) => Repair::Fast,
            Phase::Loss(_) => Repair::Timeout,
        };
        let sample = rates.take_sample(self.rto.stats().min_rtt, self.board.una());
        Some(DeliveryReport {
            delivered: Bytes(rates.delivered()),
            lost: Bytes(rates.lost()),
            inflight: Bytes(self.board.pipe()),
            repair,
            has_sack: self.loss_recovery == LossRecovery::Sack && !self.emulates_sack,
            sample,
        })
    }
}
