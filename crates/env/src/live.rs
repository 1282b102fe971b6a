//! An agent on a real connection: the kernel's reports of ACKs become the events of a sender, and the agent's decisions
//! the window of a socket.
//!
//! Source: the observations of crates/bpf (`struct observation` of src/programs/led.h), which are the kernel's own counts. Departures from a
//! simulated flow: time is the kernel's, and an action counts from the next ACK on; the flow's own controller is that of this project, and
//! an episode takes its part of the window at once, where the kernel would reduce it in proportion; marks and losses are told apart by
//! the kernel's state; what was sent is worked out of what is in flight; there are no samples of the delivery rate for the
//! flow's own controller, so that it can be none that models the path.

use std::sync::Arc;

use ackclock_agent::{Agent, AgentConfig, Move, Observation};
use ackclock_cc::{
    AckEvent, CongestionCause, CongestionController, CongestionEvent, Controller, Growth, RestartCause, RestartEvent,
    RttStats, SendEvent,
};
use ackclock_scenario::Scenario;
use ackclock_units::{Bandwidth, Bytes, SimDuration, SimTime};

use crate::environment::bound_flow;
use crate::error::EnvironmentError;

/// An ACK in the kernel's report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAck {
    /// Time by the machine's monotonic clock, ns.
    pub time_ns: u64,
    /// The kernel's window at that time, segments.
    pub cwnd: u32,
    /// The smoothed round trip, us.
    pub srtt_us: u32,
    /// The least round trip, us.
    pub min_rtt_us: u32,
    /// Round-trip sample of the ACK, us; 0 if none.
    pub rtt_us: u32,
    /// Segments in flight after it.
    pub inflight: u32,
    /// Segments newly delivered.
    pub acked: u32,
    /// Segments newly marked lost.
    pub lost: u32,
    /// The kernel's congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss.
    pub state: u32,
    /// Size of a segment, octets.
    pub mss: u32,
}

const REDUCED: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const MICROSECOND: u64 = 1_000;

/// An agent on a real connection, from its first ACK on.
#[derive(Clone, Debug)]
pub struct LiveFlow {
    agent: Agent,
    mss: u64,
    began_ns: u64,
    now: SimTime,
    rtt: RttStats,
    state: u32,
    inflight: u64,
    round: u64,
    round_ends: SimTime,
}

impl LiveFlow {
    /// An agent on the flow of this name, whose own controller is the scenario's.
    pub fn new(scenario: &Scenario, flow: &str, config: AgentConfig) -> Result<Self, EnvironmentError> {
        let flow = &scenario.config().flows[bound_flow(scenario, flow)?.index()];
        let mss = Bytes(u64::from(flow.sender.mss));
        let own = Controller::new(&flow.controller, mss, flow.sender.initial_window, flow.sender.initial_ssthresh);
        Ok(Self {
            agent: Agent::new(&Arc::new(config), own, mss),
            mss: mss.0,
            began_ns: 0,
            now: SimTime::ZERO,
            rtt: RttStats::default(),
            state: 0,
            inflight: 0,
            round: 0,
            round_ends: SimTime::ZERO,
        })
    }

    /// Processes an ACK. Returns true if a decision is due.
    pub fn on_ack(&mut self, ack: &KernelAck) -> bool {
        if self.began_ns == 0 {
            self.began_ns = ack.time_ns.saturating_sub(1);
        }
        self.now = SimTime(ack.time_ns.saturating_sub(self.began_ns));
        if self.agent.deadline() <= self.now {
            self.agent.on_timer(self.now);
        }
        let us = |us: u32| SimDuration(u64::from(us) * MICROSECOND);
        let sample = (ack.rtt_us > 0).then(|| us(ack.rtt_us));
        let latest = sample.unwrap_or(self.rtt.latest);
        self.rtt = RttStats { latest, srtt: us(ack.srtt_us), rttvar: SimDuration::ZERO, min_rtt: us(ack.min_rtt_us) };
        if self.now >= self.round_ends {
            (self.round, self.round_ends) = (self.round + 1, SimTime(self.now.0 + self.rtt.srtt.0));
        }
        self.send(ack);
        self.settle(ack);
        self.agent.on_ack(&self.event(ack, sample));
        self.agent.is_waiting()
    }

    fn segments(&self, count: impl Into<u64>) -> Bytes {
        Bytes(count.into() * self.mss)
    }

    /// Reports the segments that left since the last ACK: those in flight beyond the earlier ones.
    fn send(&mut self, ack: &KernelAck) {
        let after = in_flight_before(ack);
        let sent = after.saturating_sub(self.inflight);
        self.inflight = u64::from(ack.inflight);
        if sent > 0 {
            let flight_size = Bytes(after * self.mss);
            self.agent.on_send(&SendEvent {
                now: self.now,
                size: Bytes(sent * self.mss),
                flight_size,
                idle_for: SimDuration::ZERO,
                is_app_limited: false,
            });
        }
    }

    /// Begins a congestion episode if the kernel enters a worse state.
    fn settle(&mut self, ack: &KernelAck) {
        let before = std::mem::replace(&mut self.state, ack.state);
        if ack.state < REDUCED || ack.state <= before {
            return;
        }
        let cause = match ack.state {
            REDUCED => CongestionCause::Ecn,
            LOSS => CongestionCause::Timeout { repeated: false },
            _ => CongestionCause::Loss,
        };
        let inflight = self.segments(ack.inflight);
        let flight_size = self.segments(in_flight_before(ack));
        let event = CongestionEvent {
            now: self.now,
            cause,
            flight_size,
            decrease_from: self.agent.cwnd().min(flight_size),
            newly_lost: self.segments(ack.lost),
            inflight,
        };
        self.agent.on_congestion(&event);
        if event.is_timeout() {
            let window = Bytes(inflight.0 + self.mss);
            self.agent.on_restart(&RestartEvent {
                now: self.now,
                cause: RestartCause::Timeout,
                window,
                ssthresh: None,
            });
        }
    }

    fn event(&self, ack: &KernelAck, rtt_sample: Option<SimDuration>) -> AckEvent {
        let prior = self.segments(in_flight_before(ack));
        // in slow start half of the window in use is enough, as the kernel judges it
        let is_cwnd_limited = if self.agent.is_in_charge() {
            prior.0 + self.mss >= self.agent.cwnd().0
        } else {
            2 * prior.0 >= self.agent.cwnd().0
        };
        let in_recovery = matches!(ack.state, REDUCED | RECOVERY);
        AckEvent {
            now: self.now,
            newly_acked: self.segments(ack.acked),
            is_cumulative: ack.acked > 0,
            newly_lost: self.segments(ack.lost),
            lost_before: Bytes::ZERO,
            newly_ce_marked: Bytes::ZERO,
            prior_flight_size: prior,
            snd_una: 0,
            snd_nxt: self.segments(u64::from(ack.inflight) + u64::from(ack.lost)).0,
            rtt_sample,
            rtt: self.rtt,
            timestamps: None,
            is_cwnd_limited,
            in_recovery,
            growth: Growth::of_facts(ack.acked > 0, is_cwnd_limited, in_recovery),
            reduced_window: None,
            round: self.round,
            is_paced: true,
            delivery: None,
        }
    }

    /// The reward for the time since the last action.
    pub fn reward(&mut self) -> f64 {
        self.agent.reward(self.now)
    }

    /// Writes the observation, with the length that the configuration gives.
    pub fn observe(&mut self, out: &mut [f32]) {
        self.agent.observe(self.now, out);
    }

    /// The value of an observation now, in its unit.
    pub fn read(&self, observation: &Observation) -> f64 {
        observation.value(&self.agent.view(self.now))
    }

    /// Applies an action.
    pub fn act(&mut self, action: impl Into<Move>) {
        self.agent.act(self.now, action);
    }

    /// The connection's new window, in segments, and its rate if the agent sets one.
    pub fn steering(&self) -> (u32, Option<Bandwidth>) {
        let segments = (self.agent.cwnd().0 / self.mss).max(1);
        (u32::try_from(segments).unwrap_or(u32::MAX), self.agent.pacing_rate())
    }

    /// The configuration of the agent.
    pub fn config(&self) -> &AgentConfig {
        self.agent.config()
    }

    /// The time since the first ACK.
    pub fn now(&self) -> SimTime {
        self.now
    }
}

/// The segments in flight before the ACK came, without those that have left since.
fn in_flight_before(ack: &KernelAck) -> u64 {
    u64::from(ack.inflight) + u64::from(ack.acked) + u64::from(ack.lost)
}
