//! Errors in creating an environment.

use std::fmt;

use ackclock_sim::FlowConfig;

/// An error in creating an environment; the text says what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentError {
    /// No flow has an agent.
    NoAgents,
    /// A flow of this name is not in the scenario.
    UnknownFlow {
        /// The given name.
        name: String,
        /// The known flows.
        known: Vec<String>,
    },
    /// A frozen policy moves the window of an agent's flow.
    PolicyFlow {
        /// The name of the flow.
        name: String,
        /// The name of its controller in results.
        controller: String,
    },
    /// The controller of an agent's flow shares its own agent with other flows.
    SharedAgentFlow {
        /// The name of the flow.
        name: String,
        /// The name of that agent.
        agent: String,
    },
    /// A flow has two agents.
    TwoAgents {
        /// The name of the flow.
        name: String,
    },
    /// An agent's numbers do not fit into one table with the others' (vector form only).
    NotOneAgent {
        /// The number of agents.
        agents: usize,
    },
    /// The vector has no environments.
    NoEnvironments,
    /// The threads cannot be started.
    Threads {
        /// The system's message.
        reason: String,
    },
}

impl EnvironmentError {
    /// Rejects a flow whose own controller shares an agent with others, and has no place for another agent.
    pub(crate) fn of_shared_agent(flow: &FlowConfig) -> Result<(), Self> {
        let refuse = |agent: &str| Err(Self::SharedAgentFlow { name: flow.name.clone(), agent: agent.to_owned() });
        flow.controller.shared_agent().map_or(Ok(()), refuse)
    }
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAgents => f.write_str("no flow has an agent; name at least one flow"),
            Self::UnknownFlow { name, known } => {
                write!(f, "unknown flow {name:?} for an agent; known: {}", known.join(", "))
            }
            Self::PolicyFlow { name, controller } => write!(
                f,
                "the agent's flow {name:?} has the controller {controller:?}, which decides by itself, and a window has one that \
                 decides; give that flow a controller for slow start and losses, such as controller = \"cubic\", or let the \
                 agent have another flow"
            ),
            Self::SharedAgentFlow { name, agent } => write!(
                f,
                "the agent's flow {name:?} has a controller whose own agent, {agent:?}, others may have in common with it, and a \
                 window has one that decides; remove agent = {agent:?} there, or let the agent have another flow"
            ),
            Self::TwoAgents { name } => write!(f, "the flow {name:?} is named twice; it can have one agent"),
            Self::NotOneAgent { agents } => write!(
                f,
                "the vector form takes one agent in each environment, not {agents}; use the parallel environment for several"
            ),
            Self::NoEnvironments => f.write_str("num_envs = 0; give at least 1"),
            Self::Threads { reason } => write!(f, "the threads could not be started: {reason}"),
        }
    }
}

impl std::error::Error for EnvironmentError {}
