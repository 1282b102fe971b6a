//! What a sender keeps only for controllers that ask for more than every one gets: samples of the delivery rate, reports of
//! segments, a timer.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation, through [`crate::rate_sample`]. Departures: none.

use ackclock_cc::{CongestionController, Controller, DeliveryReport, Demands, Repair, SegmentReport};
use ackclock_units::{Bytes, SimDuration, SimTime};

use crate::config::AppLimitedFrom;
use crate::ranges::Range;
use crate::rate_sample::RateSampler;
use crate::scoreboard::Scoreboard;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControllerFeed {
    demands: Demands,
    rates: Option<Box<RateSampler>>,
}

impl ControllerFeed {
    /// The controller is settled, or another takes over.
    pub(crate) fn settle(&mut self, demands: Demands, app_limited_from: AppLimitedFrom) {
        self.demands = demands;
        if !demands.samples {
            self.rates = None;
        } else if self.rates.is_none() {
            self.rates = Some(Box::new(RateSampler::new(app_limited_from)));
        }
    }

    /// Samples, reports and the timer are wanted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.rates.is_some()
    }

    /// Marks begin no episode.
    pub(crate) fn takes_marks(&self) -> bool {
        self.demands.marks
    }

    /// The controller's window bounds sending in fast recovery too.
    pub(crate) fn bounds_recovery(&self) -> bool {
        self.demands.recovery_window
    }

    /// A segment has just left.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: SimTime, range: Range, board: &Scoreboard, is_retransmission: bool) {
        if let Some(rates) = &mut self.rates {
            let weight = board.weight(range.len());
            rates.on_sent(now, range, board.pipe().max(weight), weight, is_retransmission);
        }
    }

    /// The receiver has the segment at `range`.
    #[inline]
    pub(crate) fn on_delivered(&mut self, range: Range, now: SimTime) -> Option<SegmentReport> {
        self.rates.as_mut()?.on_delivered(range, now)
    }

    /// The receiver got so many octets once more, which counts as delivered.
    pub(crate) fn on_duplicate(&mut self, now: SimTime, octets: u64) {
        if let Some(rates) = &mut self.rates {
            rates.on_duplicate(now, octets);
        }
    }

    /// draft-cheng-iccrg-delivery-rate-estimation section 3.4: nothing to send, room in the window, and nothing lost that
    /// waits to be retransmitted.
    #[inline]
    pub(crate) fn on_nothing_to_send(&mut self, board: &Scoreboard, window: impl FnOnce() -> u64) {
        if let Some(rates) = &mut self.rates {
            let pipe = board.pipe();
            if pipe < window() && board.lost() <= board.retransmitted() {
                rates.on_application_limited(pipe);
            }
        }
    }

    /// After an ACK: the controller may hold back on purpose, as BBR does to measure the round trip.
    #[inline]
    pub(crate) fn on_told(&mut self, controller: &Controller, board: &Scoreboard) {
        if let Some(rates) = &mut self.rates
            && controller.limits_itself()
        {
            rates.on_application_limited(board.pipe());
        }
    }

    /// Tells the controller of each segment that has been found lost.
    #[inline]
    pub(crate) fn report_lost(&mut self, now: SimTime, board: &mut Scoreboard, controller: &mut Controller) {
        let Some(rates) = &mut self.rates else { return };
        for range in board.take_newly_lost() {
            if let Some(report) = rates.on_lost(range, now) {
                controller.on_lost(&report);
            }
        }
    }

    /// What an ACK says of delivery, now that losses have been found.
    #[inline]
    pub(crate) fn delivery_report(
        &mut self,
        min_rtt: SimDuration,
        board: &Scoreboard,
        repair: Repair,
        has_sack: bool,
    ) -> Option<DeliveryReport> {
        let rates = self.rates.as_mut()?;
        let sample = rates.take_sample(min_rtt, board.una());
        Some(DeliveryReport {
            delivered: Bytes(rates.delivered()),
            lost: Bytes(rates.lost()),
            inflight: Bytes(board.pipe()),
            repair,
            has_sack,
            next_departure: SimTime::ZERO,
            sample,
        })
    }
}
