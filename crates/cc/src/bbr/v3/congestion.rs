//! Updates of the model by losses.
//!
//! Source: draft-ietf-ccwg-bbr, "Updating the Model Upon Packet Loss" and "Upon Detecting a Spurious Loss Recovery".

use super::{Bbr3, State, UNBOUNDED};
use crate::delivery::{DeliveryReport, RateSample, SegmentReport};

/// Delivery signals and losses of the present round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// The greatest rate (bit/s) and volume of a round (`bw_latest`, `inflight_latest`).
    pub(super) bandwidth: u64,
    pub(super) inflight: u64,
    /// The end of the round of losses, and whether it has losses (`loss_round_delivered`, `is_loss_in_round`).
    ends_at: u64,
    has_loss: bool,
    /// The discontiguous ranges lost in the round, and the end of the last one.
    lost_ranges: u32,
    lost_end: u64,
}

impl Latest {
    /// Restarts the signals at the end of a round (`AdvanceLatestDeliverySignals`).
    pub(super) fn restart(&mut self, sample: &RateSample) {
        self.bandwidth = sample.rate().unwrap_or_default().0;
        self.inflight = sample.delivered.0;
    }
}

/// The state before the losses, which a spurious recovery restores.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// True if the state belongs to the present recovery, or to one that begins with these losses.
    pub(super) is_saved: bool,
    pub(super) state: Option<State>,
    bandwidth_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Bbr3 {
    /// Updates the signals from an ACK; returns true if a round of losses ends (`UpdateLatestDeliverySignals`).
    pub(super) fn update_latest_signals(&mut self, delivery: &DeliveryReport) -> bool {
        let Some(sample) = delivery.sample else { return false };
        let latest = &mut self.latest;
        latest.bandwidth = latest.bandwidth.max(sample.rate().unwrap_or_default().0);
        latest.inflight = latest.inflight.max(sample.delivered.0);
        let ends = sample.prior_delivered.0 >= latest.ends_at;
        if ends {
            latest.ends_at = delivery.delivered.0;
        }
        ends
    }

    /// Lowers the bounds at the end of a round with losses; returns its number of lost ranges
    /// (`UpdateCongestionSignals`, without the rate).
    pub(super) fn update_congestion_signals(&mut self, round_ends: bool) -> u32 {
        if !round_ends {
            return 0;
        }
        if self.latest.has_loss && !self.state.accelerates() {
            self.lower_short_term_bounds();
        }
        self.latest.has_loss = false;
        std::mem::take(&mut self.latest.lost_ranges)
    }

    /// Lowers the short-term bounds to the delivered rate and volume, by `Beta` at most (`InitLowerBounds`,
    /// `LossLowerBounds`).
    fn lower_short_term_bounds(&mut self) {
        let beta = |value: u64| (self.config.beta * value as f64) as u64;
        let bandwidth =
            if self.bandwidth_shortterm == UNBOUNDED { self.max_bandwidth } else { self.bandwidth_shortterm };
        let inflight = if self.inflight_shortterm == UNBOUNDED { self.cwnd } else { self.inflight_shortterm };
        (self.bandwidth_shortterm, self.inflight_shortterm) =
            (self.latest.bandwidth.max(beta(bandwidth)), self.latest.inflight.max(beta(inflight)));
    }

    /// Clears the losses of the round (`ResetCongestionSignals`).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.latest.has_loss = false;
        (self.latest.bandwidth, self.latest.inflight) = (0, 0);
    }

    /// Removes the short-term bounds (`ResetShortTermModel`).
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bandwidth_shortterm, self.inflight_shortterm) = (UNBOUNDED, UNBOUNDED);
    }

    /// True if the losses of a flight exceed the threshold (`IsInflightTooHigh`).
    pub(super) fn is_too_high(&self, sample: &RateSample) -> bool {
        let lost = sample.lost.0;
        lost as f64 > sample.tx_in_flight.0 as f64 * self.config.loss_threshold || (lost > 0 && !self.has_sack)
    }

    /// Handles a lost segment (`HandleLostPacket`).
    pub(super) fn on_lost_segment(&mut self, segment: &SegmentReport) {
        self.delivered = segment.delivered.0;
        self.note_loss(segment);
        let sample = RateSample {
            tx_in_flight: segment.tx_in_flight,
            lost: segment.lost,
            is_app_limited: segment.is_app_limited,
            ..RateSample::default()
        };
        if self.probe_bw.takes_samples && self.is_too_high(&sample) {
            self.answer_too_high(segment);
        }
    }

    /// Records a loss of the round (`NoteLoss`).
    fn note_loss(&mut self, segment: &SegmentReport) {
        if !self.latest.has_loss {
            self.latest.ends_at = segment.delivered.0;
            self.save_upon_loss();
        }
        self.latest.has_loss = true;
        self.latest.lost_ranges += u32::from(segment.start != self.latest.lost_end);
        self.latest.lost_end = segment.start + segment.size.0;
    }

    /// Answers a flight that is too large, once for each probe (`HandleInflightTooHigh`).
    fn answer_too_high(&mut self, segment: &SegmentReport) {
        self.probe_bw.was_too_high = true;
        self.probe_bw.takes_samples = false;
        if !segment.is_app_limited {
            let least = (self.target_inflight() as f64 * self.config.beta) as u64;
            self.inflight_longterm = inflight_at_loss(segment, self.config.loss_threshold).max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(segment.now);
        }
    }

    /// Saves the state, once for a recovery, before its losses change anything (`SaveStateUponLoss`).
    pub(super) fn save_upon_loss(&mut self) {
        self.save_cwnd();
        if self.undo.is_saved {
            return;
        }
        self.undo = Undo {
            is_saved: true,
            state: None,
            bandwidth_shortterm: self.bandwidth_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// Restores the state after a spurious recovery (`HandleSpuriousLossDetection`).
    pub(super) fn undo_loss(&mut self) {
        self.restore_cwnd();
        self.latest.has_loss = false;
        self.full_pipe.reset(0);
        self.bandwidth_shortterm = self.bandwidth_shortterm.max(self.undo.bandwidth_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

/// The flight size at which the losses crossed the threshold, within the segment (`InflightAtLoss`).
pub(super) fn inflight_at_loss(segment: &SegmentReport, threshold: f64) -> u64 {
    let size = segment.size.0 as f64;
    let inflight_before = segment.tx_in_flight.0 as f64 - size;
    let lost_before = segment.lost.0 as f64 - size;
    let prefix = (threshold * inflight_before - lost_before) / (1.0 - threshold);
    (inflight_before + prefix).max(0.0) as u64
}
