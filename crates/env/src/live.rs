//! An agent on a real connection: decisions come from outside, and become the window of a socket.
//!
//! Departures from a simulated flow: those of `kernel_sender`; the flow's own controller is that of this project, and has no samples of
//! the delivery rate, so that it can be none that models the path.

use std::sync::Arc;

use ackclock_agent::{Agent, AgentConfig, Move, Observation};
use ackclock_cc::{CongestionController, Controller};
use ackclock_scenario::Scenario;
use ackclock_units::{Bandwidth, Bytes, SimTime};

use crate::environment::bound_flow;
use crate::error::EnvironmentError;
use crate::kernel_sender::{KernelAck, KernelSender};

/// An agent on a real connection, from its first ACK on.
#[derive(Clone, Debug)]
pub struct LiveFlow {
    sender: KernelSender<Agent>,
}

impl LiveFlow {
    /// An agent on the flow of this name, whose own controller is the scenario's.
    pub fn new(scenario: &Scenario, flow: &str, config: AgentConfig) -> Result<Self, EnvironmentError> {
        let flow = &scenario.config().flows[bound_flow(scenario, flow)?.index()];
        let mss = Bytes(u64::from(flow.sender.mss));
        let own = Controller::new(&flow.controller, mss, flow.sender.initial_window, flow.sender.initial_ssthresh);
        Ok(Self { sender: KernelSender::new(Agent::new(&Arc::new(config), own, mss), mss) })
    }

    /// Processes an ACK. Returns true if a decision is due.
    pub fn on_ack(&mut self, ack: &KernelAck) -> bool {
        let in_slow_start = !self.sender.controller.is_in_charge();
        self.sender.on_ack(ack, in_slow_start);
        self.sender.controller.is_waiting()
    }

    /// The reward for the time since the last action.
    pub fn reward(&mut self) -> f64 {
        self.sender.controller.reward(self.now())
    }

    /// Writes the observation, with the length that the configuration gives.
    pub fn observe(&mut self, out: &mut [f32]) {
        let now = self.now();
        self.sender.controller.observe(now, out);
    }

    /// The value of an observation now, in its unit.
    pub fn read(&self, observation: &Observation) -> f64 {
        observation.value(&self.sender.controller.view(self.now()))
    }

    /// Applies an action.
    pub fn act(&mut self, action: impl Into<Move>) {
        let now = self.now();
        self.sender.controller.act(now, action);
    }

    /// The connection's new window, in segments, and its rate if the agent sets one.
    pub fn steering(&self) -> (u32, Option<Bandwidth>) {
        (self.sender.window(), self.sender.controller.pacing_rate())
    }

    /// The configuration of the agent.
    pub fn config(&self) -> &AgentConfig {
        self.sender.controller.config()
    }

    /// The time since the first ACK.
    pub fn now(&self) -> SimTime {
        self.sender.now()
    }
}
