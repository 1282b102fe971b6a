//! Controllers that decide after events: frozen policies. Without one, nothing here is ever asked.

use ackclock_cc::ControllerConfig;
use ackclock_net::Packet;

use super::Simulation;
use crate::config::SimulationConfig;
use crate::event_queue::Event;

/// True if a controller of the scenario's may decide.
pub(super) fn has_deciders(config: &SimulationConfig) -> bool {
    let short_flows = config.traffic.arrivals.iter().map(|arrivals| &arrivals.flow);
    let flows = config.flows.iter().chain(short_flows).map(|flow| &flow.controller);
    let of_groups = config.traffic.arrivals.iter().flat_map(|arrivals| &arrivals.splits);
    let sides = config.splits.iter().chain(of_groups).flat_map(|split| [&split.near.controller, &split.far.controller]);
    flows.chain(sides).any(ControllerConfig::decides)
}

impl Simulation {
    /// The event at hand is over. If it made a decision due, that is taken now, and what it lets go leaves at once.
    pub(super) fn decide_after(&mut self, event: Event, packet: &Packet) {
        let endpoint = match event {
            Event::Link(_) => packet.endpoint as usize,
            Event::Timer(endpoint) => endpoint as usize,
            _ => return,
        };
        if !self.endpoints.get(endpoint).is_some_and(ackclock_tcp::Endpoint::is_decision_due) {
            return;
        }
        if endpoint >= self.traffic.first_endpoint as usize {
            self.with_short_port(endpoint, |endpoint, now, port| endpoint.decide(now, port));
        } else {
            self.with_port(endpoint, |endpoint, now, port| endpoint.decide(now, port));
        }
        self.arm_timer(endpoint);
    }
}
