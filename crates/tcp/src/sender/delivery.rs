//! The sender's work for controllers that request more than the common events.

use ackclock_cc::{CongestionController, DeliveryReport, Repair};
use ackclock_units::SimTime;

use super::Sender;
use crate::controller_feed::DeliveryRate;
use crate::recovery::Phase;

impl Sender {
    /// The controller is settled, or another takes over.
    pub(super) fn settle_requirements(&mut self) {
        let demands = self.controller.demands();
        self.board.keep_newly_lost(demands.samples);
        self.feed.settle(demands, self.config.app_limited_from);
        self.settle_fast_path();
    }

    /// See [`crate::Endpoint::measure_delivery`].
    pub(crate) fn measure_delivery(&mut self) {
        self.feed.measure();
    }

    pub(crate) fn delivery_rate(&self) -> Option<DeliveryRate> {
        self.feed.delivery_rate()
    }

    pub(super) fn controller_deadline(&self) -> SimTime {
        if self.feed.has_timer() { self.controller.deadline() } else { SimTime::NEVER }
    }

    pub(super) fn run_controller_timer(&mut self, now: SimTime) {
        if now >= self.controller_deadline() {
            self.controller.on_timer(now);
            self.note_pacing();
        }
    }

    /// Reports each segment that has been found lost to the controller.
    pub(super) fn report_lost(&mut self, now: SimTime) {
        self.feed.report_lost(now, &mut self.board, &mut self.controller);
    }

    pub(super) fn delivery_report(&mut self) -> Option<DeliveryReport> {
        if !self.feed.is_on() {
            return None;
        }
        let repair = match self.recovery.phase() {
            Phase::Open | Phase::Cwr { .. } => Repair::None,
            Phase::Fast(_) => Repair::Fast,
            Phase::Loss(_) => Repair::Timeout,
        };
        let report =
            self.feed.delivery_report(self.rto.stats().min_rtt, &self.board, repair, self.recovery.has_sack())?;
        Some(DeliveryReport { next_departure: self.pacer.next(), ..report })
    }
}
