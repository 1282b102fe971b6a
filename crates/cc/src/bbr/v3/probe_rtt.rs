//! The least round trip, and the pauses in which it is measured anew.
//!
//! Source: draft-ietf-ccwg-bbr, "`ProbeRTT` Logic".

use ackclock_units::{SimDuration, SimTime};

use super::probe_bw::Feedback;
use super::{Bbr3, State};
use crate::delivery::DeliveryReport;
use crate::event::AckEvent;

/// State of the measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    pub(super) min_rtt: Option<SimDuration>,
    measured_at: SimTime,
    /// `probe_rtt_cwnd`.
    pub(super) cwnd: u64,
    /// `probe_rtt_done_stamp`, `probe_rtt_round_done`.
    until: Option<SimTime>,
    round_done: bool,
}

impl ProbeRtt {
    pub(super) fn new(initial_window: u64) -> Self {
        let measured_at = SimTime::ZERO;
        Self { min_rtt: None, measured_at, cwnd: initial_window, until: None, round_done: false }
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`. Returns true if what was known had expired.
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) -> bool {
        let probe = &self.probe_rtt;
        let expired = probe.min_rtt.is_some() && ack.now > probe.measured_at + self.config.probe_rtt_interval;
        if expired && self.state != State::ProbeRtt {
            // SaveProbeRTTCwnd, from the round trip before a sample with a queue in it takes its place
            self.probe_rtt.cwnd = self.bdp(0.5).max(self.min_pipe());
        }
        let probe = &mut self.probe_rtt;
        if let Some(rtt) = ack.rtt_sample
            && (expired || probe.min_rtt.is_none_or(|least| rtt < least))
        {
            (probe.min_rtt, probe.measured_at) = (Some(rtt), ack.now);
        }
        expired
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport, expired: bool) {
        if self.state != State::ProbeRtt && expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.until = None;
            self.probe_bw.feedback = Feedback::Stopping;
            self.rounds.restart(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now, delivery);
        }
        if delivery.sample.is_some() {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport) {
        let probe = &mut self.probe_rtt;
        if probe.until.is_some() {
            probe.round_done |= self.rounds.starts;
            if probe.round_done {
                self.check_probe_rtt_done(now);
            }
        } else if delivery.inflight.0 <= probe.cwnd {
            probe.until = Some(now + self.config.probe_rtt_duration);
            probe.round_done = false;
            self.rounds.restart(self.delivered);
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, now: SimTime) {
        if self.probe_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt.measured_at = now;
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_pipe.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
