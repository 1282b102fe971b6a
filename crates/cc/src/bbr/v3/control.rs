//! Control parameters: the pacing rate and the window that follow from the model.
//!
//! Source: draft-ietf-ccwg-bbr, "Updating Control Parameters", with the table of gains there.

use ackclock_units::SimDuration;

use super::super::{bdp, quantum};
use super::{Bbr3, MIN_PIPE, State, UNBOUNDED};
use crate::delivery::{DeliveryReport, Repair};
use crate::event::AckEvent;

/// The paced share of the rate, one percent less than all (`PacingMarginPercent`).
const PACED: f64 = 0.99;

impl Bbr3 {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.config.startup_gain,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    /// Sets the pacing rate (`SetPacingRateWithGain`).
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = (gain * self.bandwidth as f64 * PACED) as u64;
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    pub(super) fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    /// The bandwidth-delay product of the estimated rate times a gain, octets (`BDPMultiple`).
    pub(super) fn bdp(&self, gain: f64) -> u64 {
        self.bdp_of(self.bandwidth, gain)
    }

    fn bdp_of(&self, rate: u64, gain: f64) -> u64 {
        self.probe_rtt.min_rtt.map_or(self.initial_window, |rtt| bdp(rate, rtt, gain))
    }

    /// The flight size to aim at, octets (`TargetInflight`).
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(1.0).min(self.cwnd)
    }

    /// The window for a rate and a gain, octets (`Inflight`).
    pub(super) fn inflight(&self, rate: u64, gain: f64) -> u64 {
        self.with_budget(self.bdp_of(rate, gain))
    }

    /// Adds the allowance for offload at both ends (`QuantizationBudget`).
    fn with_budget(&self, inflight: u64) -> u64 {
        let send_quantum = quantum(self.pacing_rate, SimDuration::from_millis(1), 2 * self.mss, 65_536);
        let up = if self.state == State::Up { 2 * self.mss } else { 0 };
        inflight.max(3 * send_quantum).max(self.min_pipe()) + up
    }

    /// The long-term bound less the headroom, octets (`InflightWithHeadroom`).
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((self.config.headroom * self.inflight_longterm as f64) as u64).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe())
    }

    /// Sets the window on an ACK (`SetCwnd`).
    pub(super) fn set_window(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let most = self.with_budget(self.bdp(self.cwnd_gain()) + self.aggregation.extra);
        let acked = ack.newly_acked.0;
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(most);
        } else if self.cwnd < most || delivery.delivered.0 < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.window_cap());
    }

    /// The model's bound of the window, octets (`BoundCwndForModel`).
    fn window_cap(&self) -> u64 {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        cap.min(self.inflight_shortterm).max(self.min_pipe())
    }

    /// Saves the window before a recovery (`SaveCwnd`).
    pub(super) fn save_cwnd(&mut self) {
        let is_plain = self.repair == Repair::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_plain { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Restores the window after a recovery (`RestoreCwnd`).
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
