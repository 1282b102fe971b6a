//! The window: a multiple of the bandwidth-delay product, with allowances for offload and ACK aggregation.
//!
//! Source: Linux's `bbr_set_cwnd` and what it calls, by their behaviour.

use ackclock_units::SimTime;

use super::arithmetic::{GAIN_UNIT, delivered_in, microseconds, path_full};
use super::{LinuxBbr, Mode};
use crate::delivery::{DeliveryReport, Repair};
use crate::event::AckEvent;

/// The least window, segments (`bbr_cwnd_min_target`).
pub(super) const LEAST: u64 = 4;
/// The window before the first RTT sample, segments (`TCP_INIT_CWND`).
const UNKNOWN: u64 = 10;
/// The handshake counts as a segment delivered.
const HANDSHAKE: u64 = 1;
/// The longest burst, octets (`GSO_LEGACY_MAX_SIZE` less the room for headers), and its segments.
const LONGEST_BURST: u64 = 65_536 - 1 - 320;
const MOST_SEGMENTS: u64 = 127;

impl LinuxBbr {
    /// The segments of a burst: a millisecond of the pacing rate (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self) -> u64 {
        let octets = (self.pacing_rate / 1_024).min(LONGEST_BURST);
        let least = if self.pacing_rate < 1_200_000 / 8 { 1 } else { 2 };
        (octets / self.segments.0).max(least).min(MOST_SEGMENTS)
    }

    fn path_full(&self, rate: u64, gain: u64) -> u64 {
        self.min_rtt.map_or(UNKNOWN, |rtt| path_full(rate, rtt, gain))
    }

    /// Rounds a window up: three bursts for the hosts, an even number, and two more while probing
    /// (`bbr_quantization_budget`).
    pub(super) fn with_budget(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.burst()).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    /// The window for a rate and a gain, segments (`bbr_inflight`).
    pub(super) fn inflight(&self, rate: u64, gain: u64) -> u64 {
        self.with_budget(self.path_full(rate, gain))
    }

    /// The segments in the network when the next one leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_network_at_departure(&self, inflight: u64, now: SimTime, delivery: &DeliveryReport) -> u64 {
        let waits = microseconds(delivery.next_departure.saturating_since(now));
        let burst = if self.pacing_gain > GAIN_UNIT { self.burst() } else { 0 };
        (inflight + burst).saturating_sub(delivered_in(self.rate(), waits))
    }

    /// Sets the window on an ACK (`bbr_set_cwnd`).
    pub(super) fn set_window(&mut self, ack: &AckEvent, delivery: &DeliveryReport) {
        let acked = self.segments.of(ack.newly_acked.0);
        if acked > 0 && !self.conserve_or_restore(ack, delivery, acked) {
            self.approach_target(acked, delivery);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST);
        }
    }

    fn approach_target(&mut self, acked: u64, delivery: &DeliveryReport) {
        let rate = self.rate();
        let extra = if self.full_bandwidth_reached { self.aggregation.allowance(rate) } else { 0 };
        let target = self.with_budget(self.path_full(rate, self.cwnd_gain) + extra);
        if self.full_bandwidth_reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || self.segments.of(delivery.delivered.0) + HANDSHAKE < UNKNOWN {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(LEAST);
    }

    /// Conserves packets in the first round of a recovery: one leaves for each delivered
    /// (`bbr_set_cwnd_to_recover_or_restore`). Returns true while that lasts.
    fn conserve_or_restore(&mut self, ack: &AckEvent, delivery: &DeliveryReport, acked: u64) -> bool {
        let held = self.segments.of(delivery.inflight.0) + acked;
        self.cwnd = self.cwnd.saturating_sub(self.segments.of(ack.lost_now().0)).max(1);
        if delivery.repair == Repair::Fast && self.repair != Repair::Fast {
            self.conserves = true;
            self.rounds.ends_at = delivery.delivered.0;
            self.cwnd = held;
        } else if delivery.repair == Repair::None && self.repair != Repair::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.repair = delivery.repair;
        if self.conserves {
            self.cwnd = self.cwnd.max(held);
        }
        self.conserves
    }

    /// Saves the window before a recovery (`bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self) {
        let is_plain = self.repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_plain { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }
}
