//! The controller that a frozen policy acts through: an [`Agent`] that gets its actions immediately.
//!
//! Source: none. Departures: none from the environment: a decision comes after the segments that its ACK permits by
//! itself. Segments that the action permits leave at the same instant, as with an external program.

use std::sync::Arc;

use ackclock_cc::{
    AckEvent, BurstRule, CongestionController, CongestionEvent, Controller, Demands, EarlyExit, HandshakeEvent,
    HopRecord, RestartEvent, SegmentReport, SendEvent,
};
use ackclock_units::{Bandwidth, Bytes, SimTime};

use super::Policy;
use super::network::Work;
use super::quantised::{Memory, Sight};
use crate::agent::Agent;

/// The controller that a frozen [`Policy`] acts through: an [`Agent`] that gets its actions immediately. A decision
/// comes after the segments that its ACK permits by itself. Segments that the action permits leave at the same instant,
/// as with an external program.
#[derive(Clone, Debug)]
pub struct PolicyController {
    agent: Agent,
    policy: Arc<Policy>,
    observation: Vec<f32>,
    work: Work,
    action: f64,
    decisions: u64,
    /// The largest delivery rate that an integer policy has seen, bit/s.
    max_delivery_rate: u64,
    /// The memory of an integer policy.
    memory: Memory,
}

impl PolicyController {
    /// A policy in place of `own`, the controller of slow start and losses, for segments of `mss`.
    pub fn new(policy: &Arc<Policy>, own: Controller, mss: Bytes) -> Self {
        Self {
            agent: Agent::new(policy.config(), own, mss),
            policy: Arc::clone(policy),
            observation: vec![0.0; policy.config().observation_len()],
            work: Work::new(),
            action: f64::NAN,
            decisions: 0,
            max_delivery_rate: 0,
            memory: Memory::default(),
        }
    }

    /// The integer form of the policy, if it has one, as the kernel's program takes it:
    /// [`Image::octets`](super::quantised::Image::octets).
    pub fn whole_numbers(&self) -> Option<Vec<u8>> {
        self.policy.quantised.as_ref().map(|quantised| quantised.image().octets())
    }
}

impl CongestionController for PolicyController {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.agent.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.agent.on_congestion(event);
    }
    fn on_spurious(&mut self, now: SimTime) {
        self.agent.on_spurious(now);
    }
    fn on_send(&mut self, sent: &SendEvent) {
        self.agent.on_send(sent);
    }
    fn cwnd(&self) -> Bytes {
        self.agent.cwnd()
    }
    fn on_restart(&mut self, restart: &RestartEvent) {
        self.agent.on_restart(restart);
    }
    fn ssthresh(&self) -> Option<Bytes> {
        self.agent.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Bandwidth> {
        self.agent.pacing_rate()
    }
    fn burst_rule(&self) -> BurstRule {
        self.agent.burst_rule()
    }
    fn send_buffer_windows(&self) -> u64 {
        self.agent.send_buffer_windows()
    }
    fn on_recovery_end(&mut self, now: SimTime) {
        self.agent.on_recovery_end(now);
    }
    fn demands(&self) -> Demands {
        self.agent.demands()
    }
    fn keeps_window_on_send(&self) -> bool {
        self.agent.keeps_window_on_send()
    }
    fn on_feedback(&mut self, counted: bool) -> bool {
        self.agent.on_feedback(counted)
    }
    fn on_handshake(&mut self, handshake: &HandshakeEvent) {
        self.agent.on_handshake(handshake);
    }
    fn on_telemetry(&mut self, hops: &[HopRecord]) {
        self.agent.on_telemetry(hops);
    }
    fn on_delivered(&mut self, segment: &SegmentReport) {
        self.agent.on_delivered(segment);
    }
    fn on_lost(&mut self, segment: &SegmentReport) {
        self.agent.on_lost(segment);
    }
    fn deadline(&self) -> SimTime {
        self.agent.deadline()
    }
    fn on_timer(&mut self, now: SimTime) {
        self.agent.on_timer(now);
    }
    fn limits_itself(&self) -> bool {
        self.agent.limits_itself()
    }
    fn state(&self) -> &'static str {
        self.agent.state()
    }
    fn is_in_slow_start(&self) -> bool {
        self.agent.is_in_slow_start()
    }
    fn early_exit(&self) -> Option<EarlyExit> {
        self.agent.early_exit()
    }
    fn is_decision_due(&self) -> bool {
        self.agent.is_waiting()
    }

    fn decide(&mut self, now: SimTime) {
        self.agent.observe(now, &mut self.observation);
        self.action = if self.policy.quantised.is_some() {
            let sight = Sight::of(&self.agent.view(now), self.max_delivery_rate);
            self.max_delivery_rate = sight.max_delivery_rate;
            self.policy.whole_action(&sight, &mut self.memory)
        } else {
            self.policy.action(&self.observation, &mut self.work)
        };
        self.decisions += 1;
        self.agent.act(now, self.action);
    }

    fn inspect(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.agent.inspect(record);
        record("action", self.action);
        record("decisions", self.decisions as f64);
    }
}
