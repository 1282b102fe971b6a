//! One simulation with agents: from decision to decision.

use std::sync::Arc;

use ackclock_agent::{Agent, AgentConfig, Observation};
use ackclock_cc::{CongestionController, Controller, ControllerConfig, ExternalConfig};
use ackclock_scenario::Scenario;
use ackclock_sim::{Outcome, Simulation, SimulationConfig};
use ackclock_units::SimTime;

use crate::error::EnvironmentError;

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Nothing more can happen to an agent's flow: every such flow has delivered all it had, or was given up.
    pub terminated: bool,
    /// The scenario's time is over.
    pub truncated: bool,
}

impl Step {
    /// True if the episode is over.
    pub fn is_last(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// A scenario with agents on some of its flows. A copy goes on alike.
#[derive(Clone, Debug)]
pub struct Environment {
    scenario: Arc<Scenario>,
    seats: Arc<[Seat]>,
    simulation: Simulation,
}

/// An agent's place.
#[derive(Clone, Debug)]
struct Seat {
    flow: usize,
    config: Arc<AgentConfig>,
}

impl Environment {
    /// Agents on the flows of these names. The first episode is that of the scenario's own seed.
    pub fn new(scenario: Scenario, agents: Vec<(String, AgentConfig)>) -> Result<Self, EnvironmentError> {
        let flows = &scenario.config().flows;
        let mut seats: Vec<Seat> = Vec::new();
        for (name, config) in agents {
            let Some(flow) = flows.iter().position(|flow| flow.name == name) else {
                let known = flows.iter().map(|flow| flow.name.clone()).collect();
                return Err(EnvironmentError::UnknownFlow { name, known });
            };
            if seats.iter().any(|seat| seat.flow == flow) {
                return Err(EnvironmentError::TwoAgents { name });
            }
            seats.push(Seat { flow, config: Arc::new(config) });
        }
        if seats.is_empty() {
            return Err(EnvironmentError::NoAgents);
        }
        let simulation = simulate(&scenario, &seats);
        Ok(Self { scenario: Arc::new(scenario), seats: seats.into(), simulation })
    }

    /// How many agents there are.
    pub fn agents(&self) -> usize {
        self.seats.len()
    }

    /// How an agent is set up.
    pub fn config(&self, agent: usize) -> &AgentConfig {
        &self.seats[agent].config
    }

    /// Begins an episode and runs to its first decision.
    pub fn reset(&mut self, seed: u64) -> Step {
        self.simulation = simulate(&self.scenario.with_seed(seed), &self.seats);
        self.run()
    }

    /// Takes an action for each agent, and runs to the next decision: the first moment at which every agent in charge of
    /// its window waits for one. An agent whose time has not come is not asked, and its action changes nothing.
    pub fn step(&mut self, actions: &[f64]) -> Step {
        let now = self.simulation.now();
        for (seat, action) in self.seats.iter().zip(actions) {
            let agent = agent(&mut self.simulation, seat.flow);
            if agent.is_waiting() {
                agent.act(now, *action);
                self.simulation.resume(seat.flow);
            }
        }
        self.run()
    }

    /// An agent's reward for what has happened since its last action. Ask before [`Self::observe`].
    pub fn reward(&mut self, agent: usize) -> f64 {
        let now = self.simulation.now();
        self.agent(agent).reward(now)
    }

    /// An agent's observation, as many numbers as its configuration says.
    pub fn observe(&mut self, agent: usize, out: &mut [f32]) {
        let now = self.simulation.now();
        self.agent(agent).observe(now, out);
    }

    /// The value of an observation now, in its unit.
    pub fn read(&mut self, agent: usize, observation: &Observation) -> f64 {
        let now = self.simulation.now();
        observation.value(&self.agent(agent).view(now))
    }

    /// True if a decision of the agent is due.
    pub fn is_waiting(&self, agent: usize) -> bool {
        wants_to_stop(&self.simulation, self.seats[agent].flow)
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.simulation.now()
    }

    /// The simulation, to look at.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// The scenario as it was given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The place of an agent's flow in the scenario.
    pub fn flow(&self, agent: usize) -> usize {
        self.seats[agent].flow
    }

    /// The results up to now.
    pub fn outcome(&self) -> Outcome {
        self.simulation.clone().stop()
    }

    fn agent(&mut self, place: usize) -> &mut Agent {
        agent(&mut self.simulation, self.seats[place].flow)
    }

    fn run(&mut self) -> Step {
        let end = SimTime(self.scenario.config().duration.0);
        let stopped = if let [seat] = &*self.seats {
            let flow = seat.flow;
            self.simulation.run_until_or(end, |simulation| needs_care(simulation, flow))
        } else {
            self.run_until_all_wait(end)
        };
        let terminated = self.seats.iter().all(|seat| self.simulation.is_over(seat.flow));
        Step { terminated, truncated: !terminated && !stopped }
    }

    /// Until every agent in charge of its window waits, and at least one does. Returns false if that never comes.
    fn run_until_all_wait(&mut self, end: SimTime) -> bool {
        loop {
            let flows = self.seats.iter().map(|seat| seat.flow);
            let pending: Vec<usize> = flows.filter(|flow| !needs_care(&self.simulation, *flow)).collect();
            let is_any_waiting = self.seats.iter().any(|seat| wants_to_stop(&self.simulation, seat.flow));
            let is_any_deciding = pending.iter().any(|flow| agent(&mut self.simulation, *flow).is_in_charge());
            if pending.is_empty() || (is_any_waiting && !is_any_deciding) {
                return true;
            }
            if !self.simulation.run_until_or(end, |simulation| pending.iter().any(|flow| needs_care(simulation, *flow)))
            {
                return false;
            }
        }
    }
}

fn wants_to_stop(simulation: &Simulation, flow: usize) -> bool {
    simulation.sender(flow).controller().wants_to_stop()
}

/// True if a flow's agent is to be asked, or never again.
fn needs_care(simulation: &Simulation, flow: usize) -> bool {
    wants_to_stop(simulation, flow) || simulation.is_over(flow)
}

/// The simulation of a scenario in which agents take the place of controllers, which they have inside.
fn simulate(scenario: &Scenario, seats: &[Seat]) -> Simulation {
    let mut config: SimulationConfig = scenario.config().clone();
    // Series would grow with every event of an episode, and nobody asks for them.
    (config.trace.flows, config.trace.links, config.trace.internals) = (Vec::new(), Vec::new(), Vec::new());
    for seat in seats {
        let flow = &mut config.flows[seat.flow];
        let own = flow.controller.clone();
        let agent = Arc::clone(&seat.config);
        flow.controller = ControllerConfig::External(ExternalConfig::new("agent", move |start| {
            let own = Controller::new(&own, start.mss, start.initial_window, start.initial_ssthresh);
            Agent::new(&agent, own, start.mss)
        }));
        flow.controller_name = format!("agent on {}", flow.controller_name);
    }
    Simulation::new(&config)
}

fn agent(simulation: &mut Simulation, flow: usize) -> &mut Agent {
    let external = simulation.external_controller(flow).expect("every seat's controller is an agent");
    external.as_any_mut().downcast_mut().expect("every seat's controller is an agent")
}
