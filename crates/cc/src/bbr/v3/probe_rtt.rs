//! The minimum RTT, and the pauses that measure it anew.
//!
//! Source: draft-ietf-ccwg-bbr, "`ProbeRTT` Logic".

use ackclock_units::{SimDuration, SimTime};

use super::probe_bw::Feedback;
use super::{Bbr3, State};
use crate::delivery::DeliveryReport;
use crate::event::AckEvent;

/// The lifetime of the minimum RTT: two usual intervals, so that a pause still has the last one's result
/// (`MinRTTFilterLen`).
const MIN_RTT_FILTER: SimDuration = SimDuration::from_secs(10);

/// The state of the RTT measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// The minimum RTT and its time (`min_rtt`, `min_rtt_stamp`).
    pub(super) min_rtt: Option<SimDuration>,
    min_rtt_at: SimTime,
    /// The least RTT since the last pause and its time, which schedule the next pause (`probe_rtt_min_delay`,
    /// `probe_rtt_min_stamp`).
    recent: Option<SimDuration>,
    recent_at: SimTime,
    /// The end of a pause by time and by rounds (`probe_rtt_done_stamp`, `probe_rtt_round_done`).
    until: Option<SimTime>,
    round_done: bool,
}

impl ProbeRtt {
    fn on_sample(&mut self, now: SimTime, rtt: SimDuration, expired: bool) {
        if expired || self.recent.is_none_or(|least| rtt < least) {
            (self.recent, self.recent_at) = (Some(rtt), now);
        }
    }
}

impl Bbr3 {
    /// Updates the minimum RTT; returns true if a pause is due (`UpdateMinRTT`).
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) -> bool {
        let probe = &mut self.probe_rtt;
        let expired = probe.recent.is_some() && ack.now > probe.recent_at + self.config.probe_rtt_interval;
        if let Some(rtt) = ack.rtt_sample {
            probe.on_sample(ack.now, rtt, expired);
        }
        if probe.min_rtt.is_none() || probe.recent < probe.min_rtt || ack.now > probe.min_rtt_at + MIN_RTT_FILTER {
            (probe.min_rtt, probe.min_rtt_at) = (probe.recent, probe.recent_at);
        }
        expired
    }

    /// The window during a pause, octets (`ProbeRTTCwnd`).
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(0.5).max(self.min_pipe())
    }

    /// Enters and leaves `ProbeRTT` (`CheckProbeRTT`).
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

    /// Times a pause (`HandleProbeRTT`).
    fn handle_probe_rtt(&mut self, now: SimTime, delivery: &DeliveryReport) {
        let enough = self.probe_rtt_cwnd();
        let probe = &mut self.probe_rtt;
        if probe.until.is_some() {
            probe.round_done |= self.rounds.starts;
            if probe.round_done {
                self.check_probe_rtt_done(now);
            }
        } else if delivery.inflight.0 <= enough {
            probe.until = Some(now + self.config.probe_rtt_duration);
            probe.round_done = false;
            self.rounds.restart(self.delivered);
        }
    }

    /// Ends a pause when it is over (`CheckProbeRTTDone`, `ExitProbeRTT`).
    pub(super) fn check_probe_rtt_done(&mut self, now: SimTime) {
        if self.probe_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt.recent_at = now;
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
