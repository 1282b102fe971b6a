//! One simulation with agents: from decision to decision.

use std::sync::Arc;

use ackclock_agent::{Agent, AgentConfig, Move, Observation};
use ackclock_cc::{CongestionController, Controller, ControllerConfig, ExternalConfig};
use ackclock_scenario::{Drawn, Scenario};
use ackclock_sim::{FlowId, Outcome, Simulation, SimulationConfig};
use ackclock_units::{Bytes, RandomStream, SimTime};

use crate::error::EnvironmentError;

/// The end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// True if nothing more can happen to an agent's flow: every such flow has delivered all its data, or was given up.
    pub terminated: bool,
    /// True if the scenario's time is over.
    pub truncated: bool,
}

impl Step {
    /// True if the episode is over.
    pub fn is_last(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// A scenario with agents on some of its flows. A copy continues alike.
#[derive(Debug)]
pub struct Environment {
    scenario: Arc<Scenario>,
    bindings: Arc<[AgentBinding]>,
    simulation: Simulation,
    /// The initial state of each agent, until the handshake of its connection is over.
    unopened: Vec<Agent>,
    /// The end of the scenario's time.
    end: SimTime,
    /// The indices of the agents' flows in the simulation, which may differ where the number of flows is drawn.
    flows: Arc<[FlowId]>,
    /// The pending reward of each agent.
    dues: Vec<Due>,
    /// The seed of the episode, and the values that it drew.
    seed: u64,
    drawn: Arc<[Drawn]>,
}

/// The pending reward of an agent.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// No reward: the agent has not acted yet, or has had its last reward.
    Nothing,
    /// The reward for the time since its last action, at its next decision.
    Interval,
    /// Its last reward, settled when its flow was over.
    Last(f64),
}

/// A flow that an agent controls, and the agent's settings.
#[derive(Clone, Debug)]
struct AgentBinding {
    flow: String,
    config: Arc<AgentConfig>,
}

/// The most networks that are drawn for an episode until one is valid: values that are each valid may not fit together.
const DRAWS: usize = 100;

impl Clone for Environment {
    fn clone(&self) -> Self {
        Self {
            scenario: Arc::clone(&self.scenario),
            bindings: Arc::clone(&self.bindings),
            simulation: self.simulation.copy(),
            unopened: self.unopened.clone(),
            end: self.end,
            flows: Arc::clone(&self.flows),
            dues: self.dues.clone(),
            seed: self.seed,
            drawn: Arc::clone(&self.drawn),
        }
    }
}

impl Environment {
    /// An environment with agents on the flows of these names. The first episode has the scenario's own seed.
    pub fn new(scenario: Scenario, agents: Vec<(String, AgentConfig)>) -> Result<Self, EnvironmentError> {
        let mut bindings: Vec<AgentBinding> = Vec::new();
        for (flow, config) in agents {
            if bindings.iter().any(|binding| binding.flow == flow) {
                return Err(EnvironmentError::TwoAgents { name: flow });
            }
            bindings.push(AgentBinding { flow, config: Arc::new(config) });
        }
        if bindings.is_empty() {
            return Err(EnvironmentError::NoAgents);
        }
        let flows = flow_indices(&scenario, &bindings)?;
        let simulation = simulate(&scenario, &bindings, &flows);
        let unopened = unopened(&scenario, &bindings, &flows);
        let end = SimTime(scenario.config().duration.0);
        Ok(Self {
            dues: vec![Due::Nothing; bindings.len()],
            seed: scenario.config().seed,
            drawn: scenario.drawn().into(),
            scenario: Arc::new(scenario),
            bindings: bindings.into(),
            simulation,
            unopened,
            end,
            flows: flows.into(),
        })
    }

    /// The number of agents.
    pub fn agents(&self) -> usize {
        self.bindings.len()
    }

    /// The configuration of an agent.
    pub fn config(&self, agent: usize) -> &AgentConfig {
        &self.bindings[agent].config
    }

    /// Begins an episode and runs to its first decision. The seed draws the scenario's values, and decides all
    /// randomness in the run. Values that do not fit together are drawn again.
    pub fn reset(&mut self, seed: u64) -> Step {
        let mut again = RandomStream::new(seed, "draws");
        let seeds = std::iter::once(seed).chain(std::iter::repeat_with(|| again.bits())).take(DRAWS);
        let with_indices =
            |scenario: Scenario| flow_indices(&scenario, &self.bindings).ok().map(|flows| (scenario, flows));
        let drawn = seeds.filter_map(|seed| self.scenario.draw(seed).ok());
        // If none is right, the values stay those of the file, which were when the environment was made.
        let (scenario, flows) = drawn
            .chain(std::iter::once_with(|| {
                self.scenario.with_seed(seed).unwrap_or_else(|_| Scenario::clone(&self.scenario))
            }))
            .find_map(with_indices)
            .expect("the scenario has the flows that agents are bound to");
        self.simulation = simulate(&scenario, &self.bindings, &flows);
        self.unopened = unopened(&scenario, &self.bindings, &flows);
        self.end = SimTime(scenario.config().duration.0);
        self.flows = flows.into();
        self.dues.fill(Due::Nothing);
        (self.seed, self.drawn) = (seed, scenario.drawn().into());
        self.run()
    }

    /// Takes an action for each agent, and runs to the next decision: the first moment at which every agent in charge of
    /// its window waits for one. The action of an agent that does not wait is ignored.
    pub fn step<M: Into<Move> + Copy>(&mut self, actions: &[M]) -> Step {
        let now = self.simulation.now();
        for ((&flow, action), due) in self.flows.iter().zip(actions).zip(&mut self.dues) {
            if let Some(agent) = agent(&mut self.simulation, flow).filter(|agent| agent.is_waiting()) {
                agent.act(now, *action);
                self.simulation.resume(flow);
                *due = Due::Interval;
            }
        }
        self.run()
    }

    /// An agent's reward for the time since its last action. Call it before [`Self::observe`].
    pub fn reward(&mut self, agent: usize) -> f64 {
        let now = self.simulation.now();
        self.agent(agent).reward(now)
    }

    /// The reward of a step for an agent: an interval is paid once, at the agent's next decision, or at the end of its
    /// flow or of the episode. `None` where none is due: before its first action, between decisions, and after its last
    /// reward.
    pub fn take_due(&mut self, agent: usize, step: Step) -> Option<f64> {
        match self.dues[agent] {
            Due::Nothing => None,
            Due::Last(reward) => {
                self.dues[agent] = Due::Nothing;
                Some(reward)
            }
            Due::Interval if self.is_over(agent) || step.is_last() => {
                self.dues[agent] = Due::Nothing;
                Some(self.reward(agent))
            }
            Due::Interval => self.is_waiting(agent).then(|| self.reward(agent)),
        }
    }

    /// True if nothing more can happen to the agent's flow.
    pub fn is_over(&self, agent: usize) -> bool {
        self.simulation.is_over(self.flows[agent])
    }

    /// The seed of the episode.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The values that were drawn for the episode; empty if the scenario draws none.
    pub fn drawn(&self) -> &[Drawn] {
        &self.drawn
    }

    /// Writes an agent's observation, with the length that its configuration gives.
    pub fn observe(&mut self, agent: usize, out: &mut [f32]) {
        let now = self.simulation.now();
        self.agent(agent).observe(now, out);
    }

    /// The reward of a step ([`Self::take_due`]), zero where none is due; then writes the observation as
    /// [`Self::observe`].
    pub fn reward_and_observe(&mut self, agent: usize, step: Step, out: &mut [f32]) -> f64 {
        let reward = self.take_due(agent, step).unwrap_or(0.0);
        self.observe(agent, out);
        reward
    }

    /// The value of an observation now, in its unit.
    pub fn read(&mut self, agent: usize, observation: &Observation) -> f64 {
        let now = self.simulation.now();
        observation.value(&self.agent(agent).view(now))
    }

    /// True if a decision of the agent is due.
    pub fn is_waiting(&self, agent: usize) -> bool {
        wants_to_stop(&self.simulation, self.flows[agent])
    }

    /// The simulated time.
    pub fn now(&self) -> SimTime {
        self.simulation.now()
    }

    /// The simulation, for inspection.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// The scenario as it was given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The position of an agent's flow in the scenario.
    pub fn flow(&self, agent: usize) -> FlowId {
        self.flows[agent]
    }

    /// The results so far.
    pub fn outcome(&self) -> Outcome {
        self.simulation.copy().stop()
    }

    fn agent(&mut self, place: usize) -> &mut Agent {
        agent(&mut self.simulation, self.flows[place]).unwrap_or(&mut self.unopened[place])
    }

    fn run(&mut self) -> Step {
        let stopped = if let [flow] = *self.flows {
            self.simulation.run_until_or(self.end, |simulation| needs_care(simulation, flow))
        } else {
            self.run_until_all_wait()
        };
        let terminated = self.flows.iter().all(|flow| self.simulation.is_over(*flow));
        Step { terminated, truncated: !terminated && !stopped }
    }

    /// Runs until every agent in charge of its window waits, and at least one does. Returns false if that never comes.
    fn run_until_all_wait(&mut self) -> bool {
        loop {
            self.settle_over();
            let flows = self.flows.iter().copied();
            let pending: Vec<FlowId> = flows.filter(|flow| !needs_care(&self.simulation, *flow)).collect();
            let is_any_waiting = self.flows.iter().any(|flow| wants_to_stop(&self.simulation, *flow));
            let mut decides =
                |flow: &FlowId| agent(&mut self.simulation, *flow).is_some_and(|agent| agent.is_in_charge());
            let is_any_deciding = pending.iter().any(&mut decides);
            if pending.is_empty() || (is_any_waiting && !is_any_deciding) {
                return true;
            }
            let is_one_due = |simulation: &Simulation| pending.iter().any(|flow| needs_care(simulation, *flow));
            if !self.simulation.run_until_or(self.end, is_one_due) {
                return false;
            }
        }
    }

    /// Settles the last reward of agents whose flows are over, which does not depend on how long others continue.
    fn settle_over(&mut self) {
        for agent in 0..self.dues.len() {
            if matches!(self.dues[agent], Due::Interval) && self.is_over(agent) {
                self.dues[agent] = Due::Last(self.reward(agent));
            }
        }
    }
}

fn wants_to_stop(simulation: &Simulation, flow: FlowId) -> bool {
    simulation.controller(flow).wants_to_stop()
}

/// True if a flow's agent waits for a decision, or will never wait again.
fn needs_care(simulation: &Simulation, flow: FlowId) -> bool {
    wants_to_stop(simulation, flow) || simulation.is_over(flow)
}

/// The indices of the agents' flows. Each exists, and its own controller leaves the decisions to the agent.
fn flow_indices(scenario: &Scenario, bindings: &[AgentBinding]) -> Result<Vec<FlowId>, EnvironmentError> {
    bindings.iter().map(|binding| bound_flow(scenario, &binding.flow)).collect()
}

/// The flow of this name, if an agent can be bound to it.
pub(crate) fn bound_flow(scenario: &Scenario, name: &str) -> Result<FlowId, EnvironmentError> {
    let flows = &scenario.config().flows;
    let Some(place) = flows.iter().position(|flow| flow.name == name) else {
        let known = flows.iter().map(|flow| flow.name.clone()).collect();
        return Err(EnvironmentError::UnknownFlow { name: name.to_owned(), known });
    };
    let flow = &flows[place];
    if flow.controller.is_frozen() {
        let (name, controller) = (name.to_owned(), flow.controller_name.clone());
        return Err(EnvironmentError::PolicyFlow { name, controller });
    }
    EnvironmentError::of_shared_agent(flow)?;
    Ok(FlowId::new(place))
}

/// The simulation of a scenario in which agents take the place of controllers, which they contain.
fn simulate(scenario: &Scenario, bindings: &[AgentBinding], flows: &[FlowId]) -> Simulation {
    let mut config: SimulationConfig = scenario.config().clone();
    // Series would grow with every event of an episode, and nobody asks for them.
    (config.trace.flows, config.trace.links, config.trace.internals) = (Vec::new(), Vec::new(), Vec::new());
    for (binding, flow) in bindings.iter().zip(flows) {
        let flow = &mut config.flows[flow.index()];
        let own = flow.controller.clone();
        let agent = Arc::clone(&binding.config);
        flow.controller = ControllerConfig::External(ExternalConfig::new("agent", move |start| {
            let own = Controller::new(&own, start.mss, start.initial_window, start.initial_ssthresh);
            Agent::new(&agent, own, start.mss)
        }));
        flow.controller_name = format!("agent on {}", flow.controller_name);
    }
    Simulation::new(&config)
}

/// The agents at their beginning, by their configuration: the handshake may negotiate another segment size.
fn unopened(scenario: &Scenario, bindings: &[AgentBinding], flows: &[FlowId]) -> Vec<Agent> {
    let agent = |(binding, flow): (&AgentBinding, &FlowId)| {
        let flow = &scenario.config().flows[flow.index()];
        let (mss, tcp) = (Bytes(u64::from(flow.sender.mss)), &flow.sender);
        let own = Controller::new(&flow.controller, mss, tcp.initial_window, tcp.initial_ssthresh);
        Agent::new(&binding.config, own, mss)
    };
    bindings.iter().zip(flows).map(agent).collect()
}

/// The agent of a flow; `None` before its connection's handshake is over.
fn agent(simulation: &mut Simulation, flow: FlowId) -> Option<&mut Agent> {
    let external = simulation.external_controller(flow)?;
    Some(external.as_any_mut().downcast_mut().expect("every bound flow's controller is an agent"))
}
