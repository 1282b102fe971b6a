//! Controllers that decide after events: frozen policies. A run without one skips this code.

use ackclock_cc::ControllerConfig;
use ackclock_net::{Packet, Payload};
use ackclock_units::interrupt::check;

use super::Simulation;
use crate::config::SimulationConfig;
use crate::event_queue::Event;

/// True if a controller of the scenario may decide.
pub(super) fn has_deciders(config: &SimulationConfig) -> bool {
    let short_flows = config.traffic.arrivals.iter().map(|arrivals| &arrivals.flow);
    let flows = config.flows.iter().chain(short_flows).map(|flow| &flow.controller);
    let of_groups = config.traffic.arrivals.iter().flat_map(|arrivals| &arrivals.splits);
    let sides = config.splits.iter().chain(of_groups).flat_map(|split| [&split.near.controller, &split.far.controller]);
    flows.chain(sides).any(ControllerConfig::decides)
}

impl Simulation {
    /// Takes a decision that the event has made due, and sends the segments that it permits.
    pub(super) fn decide_after(&mut self, event: Event, packet: &Packet) {
        let end = match event {
            Event::Link(_) if !matches!(packet.payload, Payload::Udp(_)) => packet.to,
            Event::Timer(end) => end,
            _ => return,
        };
        if self.hosts.view(end).is_decision_due() {
            check(); // a large policy takes milliseconds
            self.hosts.either(end, |tcp, now, out| tcp.decide(now, out), |quic, now, out| quic.decide(now, out));
            self.hosts.arm_timer(end);
        }
    }
}
