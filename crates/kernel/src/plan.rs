//! Plan of a scenario's hosts in the kernel's terms: parameters of a namespace, options of sockets, names of
//! controllers.
//!
//! The measure is the profile `linux-6.x`, which describes the kernel as it comes: a switch that is as there needs nothing, one that the
//! kernel has too is set, and any other is refused with its reason, as the run would be of another scenario.
//!
//! Source: Documentation/networking/ip-sysctl.rst and tcp(7), as far as the names of parameters go; their effect was checked by reading
//! them back.

#[cfg_attr(not(feature = "bpf"), path = "plan/no_loads.rs")]
mod loads;
mod refusals;
mod switches;

use std::collections::BTreeSet;
use std::fmt;

use ackclock_sim::{FlowConfig, SimulationConfig};

use crate::clock::is_virtual;

pub use loads::Loads;
pub use switches::{HostPlan, SocketOptions};

/// A feature that the kernel lacks, and its place in the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Path in the scenario: `flow[0].tcp.rto`.
    pub place: String,
    /// The requested feature, and the reason for which the kernel lacks it.
    pub reason: String,
    /// Instruction what to do.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  remedy: {}", self.place, self.reason, self.remedy)
    }
}

/// Everything that is set before a run.
#[derive(Debug)]
pub struct Plan {
    /// Parameters of the namespaces, of openers and of acceptors.
    pub sides: [HostPlan; 2],
    /// Plan of each flow, in the scenario's order, and then of each group of short flows.
    pub flows: Vec<FlowPlan>,
    /// The largest IP packet.
    pub mtu: u16,
    /// Controllers that are registered for the run.
    pub loads: Loads,
}

/// Controllers and socket options of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// The kernel's name of its controller.
    pub controller: String,
    /// Controller of the accepting end, if it is a different one.
    pub acceptors: Option<String>,
    /// Options of the socket that opens the connection.
    pub opener: SocketOptions,
    /// Options of the socket that accepts it.
    pub acceptor: SocketOptions,
}

/// A flow by its name, and the controller that who opens its connection is to have, as the kernel names it.
pub type Choice = (String, String);

impl Plan {
    /// Controllers in the place of the scenario's; who accepts the connections has the kernel's CUBIC then. `available` are the kernel's.
    pub fn choose(
        &mut self,
        config: &SimulationConfig,
        choices: &[Choice],
        available: &[String],
    ) -> Result<(), Vec<Refusal>> {
        for (name, controller) in choices {
            if !available.contains(controller) {
                let reason = format!("this kernel has no controller {controller:?}; it has {}", available.join(", "));
                let remedy = "choose one of these".to_owned();
                return Err(vec![Refusal { place: format!("flow {name:?}"), reason, remedy }]);
            }
            let place = config.flows.iter().position(|flow| flow.name == *name && flow.quic.is_none());
            let Some(place) = place else {
                let reason = format!("unknown TCP flow {name:?} for the controller {controller:?}");
                let remedy = "name one of the scenario's flows".to_owned();
                return Err(vec![Refusal { place: "flow".to_owned(), reason, remedy }]);
            };
            self.flows[place].controller.clone_from(controller);
            self.flows[place].acceptors = Some("cubic".to_owned());
        }
        Ok(())
    }

    /// Plan for the scenario, or everything in it that the kernel cannot do. `available` are the kernel's controllers.
    /// If the kernel `asks`, policies decide on its host.
    pub fn new(config: &SimulationConfig, available: &[String], asks: bool) -> Result<Self, Vec<Refusal>> {
        let mut refusals = refusals::of_scenario(config);
        let mut sides = [None, None];
        let (mut flows, mut loads) = (Vec::new(), Loads::default());
        // A flow of another transport has no switches of TCP.
        for (place, flow) in self::flows(config).filter(|(_, flow)| flow.quic.is_none()) {
            let own = refusals::controller(flow, &place, available);
            let controller = own.or_else(|refusal| {
                let asking = asking(flow, &place, asks);
                asking.or_else(|| loads.controller(flow, &place)).unwrap_or(Err(refusal))
            });
            let controller = controller.unwrap_or_else(|refusal| {
                refusals.push(refusal);
                String::new()
            });
            let mut options = [None, None];
            for (side, tcp) in [&flow.sender, &flow.receiver].into_iter().enumerate() {
                let (host, socket) = switches::plan(tcp, &flow.controller_name, &place, &mut refusals);
                options[side] = Some(socket);
                match &sides[side] {
                    None => sides[side] = Some(host),
                    Some(known) if *known == host => {}
                    Some(known) => refusals.push(known.differs(&host, &place)),
                }
            }
            let [Some(opener), Some(acceptor)] = options else { unreachable!("both were just set") };
            flows.push(FlowPlan { controller, acceptors: None, opener, acceptor });
        }
        let mut places = BTreeSet::new();
        refusals.retain(|refusal| places.insert((refusal.place.clone(), refusal.reason.clone())));
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let mtu = switches::mtu(config);
        let mut sides = sides.map(|side| side.unwrap_or_else(HostPlan::of_the_profile));
        if !config.traffic.arrivals.is_empty() {
            // A port of a short flow may be used again a second after it, not a minute.
            sides[0].parameters.insert("net.ipv4.tcp_tw_reuse", "1".to_owned());
        }
        Ok(Self { sides, flows, mtu, loads })
    }
}

/// Name of a trained policy in scenarios.
const POLICY: &str = "policy";
/// The controller of a kernel in virtual time that asks the host for decisions.
const ASKING: &str = "ackclock_agent";

/// The kernel's controller of a flow whose policy decides on the host; `None` if the flow has none that does.
fn asking(flow: &FlowConfig, place: &str, asks: bool) -> Option<Result<String, Refusal>> {
    match (flow.controller_name.as_str(), asks) {
        (POLICY, true) => Some(Ok(ASKING.to_owned())),
        (POLICY, false) if is_virtual() => Some(Err(refusals::refusal(
            format!("{place}.controller"),
            "this kernel was built before a policy could decide for its connections",
            "build it anew: ackclock linux build SERIES --force",
        ))),
        _ => None,
    }
}

/// Flows and groups of short flows, each with its place.
fn flows(config: &SimulationConfig) -> impl Iterator<Item = (String, &FlowConfig)> {
    let flows = config.flows.iter().enumerate().map(|(index, flow)| (format!("flow[{index}]"), flow));
    let groups = config.traffic.arrivals.iter().map(|group| &group.flow);
    flows.chain(groups.map(|flow| (format!("flow {:?}", flow.name), flow)))
}

#[cfg(test)]
mod tests;
