//! `ProbeBW`, the cycle of most of a long connection: down, cruise, refill, up.
//!
//! Source: draft-ietf-ccwg-bbr, "`ProbeBW` Algorithm Details" and "Time Scale for Bandwidth Probing".

use ackclock_units::{SimDuration, SimTime};

use super::{Bbr3, State, UNBOUNDED};
use crate::delivery::{DeliveryReport, RateSample};
use crate::event::AckEvent;

/// The phase of a probe, as its ACKs show it (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Feedback {
    #[default]
    None,
    Refilling,
    Starting,
    Coming,
    Stopping,
}

/// The state of the `ProbeBW` cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeBw {
    pub(super) feedback: Feedback,
    /// True while ACKs are for segments of a probe (`is_bw_probe_sample`).
    pub(super) takes_samples: bool,
    /// The beginning of the phase and the wait until a probe (`cycle_stamp`, `bw_probe_wait`).
    began: SimTime,
    wait: SimDuration,
    pub(super) rounds_since_up: u64,
    /// The rounds and growth of the up phase (`bw_probe_up_rounds`, `bw_probe_up_acked`, `probe_up_acked_per_inc`).
    up_rounds: u32,
    up_acked: u64,
    pub(super) acked_per_increment: u64,
    /// The result of the last probe (`prev_probe_too_high`, `prev_probe_precautionary`).
    pub(super) was_too_high: bool,
    was_precautionary: bool,
}

impl Bbr3 {
    /// Moves through the phases (`UpdateProbeBWCyclePhase`).
    pub(super) fn update_probe_bw(&mut self, ack: &AckEvent, delivery: &DeliveryReport, sample: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(ack, sample) {
            return;
        }
        let now = ack.now;
        let inflight = delivery.inflight.0;
        let goes_down = self.state == State::Up && self.is_time_to_go_down(inflight, sample);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(inflight) => self.state = State::Cruise,
            State::Refill if self.rounds.starts => {
                self.probe_bw.takes_samples = true;
                self.start_up(sample);
            }
            State::Up if goes_down => {
                self.probe_bw.was_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    /// Adapts the long-term bound; returns true if it has chosen a state (`AdaptLongTermModel`).
    fn adapt_long_term_model(&mut self, ack: &AckEvent, sample: &RateSample) -> bool {
        if self.probe_bw.feedback == Feedback::Starting && self.rounds.starts {
            self.probe_bw.feedback = Feedback::Coming;
        }
        if self.probe_bw.feedback == Feedback::Stopping && self.rounds.starts {
            self.probe_bw.takes_samples = false;
            self.probe_bw.feedback = Feedback::None;
            if self.state.is_probe_bw() {
                self.cycles += u64::from(!sample.is_app_limited); // AdvanceMaxBwFilter
                if self.probe_bw.was_precautionary && !self.probe_bw.was_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.is_too_high(sample) || self.inflight_longterm == UNBOUNDED {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight.0);
        if self.state == State::Up {
            self.probe_longterm_upward(ack.newly_acked.0);
        }
        false
    }

    /// Raises the long-term bound by 1, 2, 4... segments in successive rounds (`ProbeInflightLongtermUpward`).
    fn probe_longterm_upward(&mut self, acked: u64) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        let probe = &mut self.probe_bw;
        probe.up_acked += acked;
        let increments = probe.up_acked / probe.acked_per_increment;
        probe.up_acked %= probe.acked_per_increment;
        self.inflight_longterm += increments * self.mss;
        if self.rounds.starts {
            self.raise_slope();
        }
    }

    /// Doubles the growth of the long-term bound (`RaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self) {
        let growth = 1 << self.probe_bw.up_rounds;
        self.probe_bw.up_rounds = (self.probe_bw.up_rounds + 1).min(30);
        self.probe_bw.acked_per_increment = (self.cwnd / growth).max(self.mss);
    }

    /// Begins the down phase (`StartProbeBW_DOWN`).
    pub(super) fn start_down(&mut self, now: SimTime) {
        self.reset_congestion_signals();
        self.probe_bw.rounds_since_up = u64::from(self.random.chance(0.5)); // PickProbeWait
        self.probe_bw.wait = SimDuration::from_secs_f64(2.0 + self.random.uniform());
        self.probe_bw.began = now;
        self.probe_bw.feedback = Feedback::Stopping;
        self.rounds.restart(self.delivered);
        self.state = State::Down;
    }

    /// Begins the refill phase (`StartProbeBW_REFILL`).
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        (self.probe_bw.up_rounds, self.probe_bw.up_acked) = (0, 0);
        self.probe_bw.was_precautionary = false;
        self.probe_bw.feedback = Feedback::Refilling;
        self.rounds.restart(self.delivered);
        self.state = State::Refill;
    }

    /// Begins the up phase (`StartProbeBW_UP`).
    fn start_up(&mut self, sample: &RateSample) {
        self.probe_bw.feedback = Feedback::Starting;
        self.rounds.restart(self.delivered);
        self.full_pipe.reset(sample.rate().unwrap_or_default().0);
        self.state = State::Up;
        self.raise_slope();
    }

    /// True if a probe for bandwidth is due (`IsTimeToProbeBW`, `IsRenoCoexistenceProbeTime`).
    fn is_time_to_probe(&self, now: SimTime) -> bool {
        const MOST_ROUNDS: u64 = 63;
        let reno_rounds = (self.target_inflight() / self.mss).min(MOST_ROUNDS);
        now > self.probe_bw.began + self.probe_bw.wait || self.probe_bw.rounds_since_up >= reno_rounds
    }

    /// True if the down phase has drained the queue (`IsTimeToCruise`).
    fn is_time_to_cruise(&self, inflight: u64) -> bool {
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.max_bandwidth, 1.0)
    }

    /// True if the up phase has found the limit (`IsTimeToGoDown`).
    fn is_time_to_go_down(&mut self, inflight: u64, sample: &RateSample) -> bool {
        if self.probe_bw.was_too_high && inflight >= self.inflight_longterm {
            self.probe_bw.was_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.full_pipe.reset(sample.rate().unwrap_or_default().0);
            return false;
        }
        self.full_pipe.now
    }
}
