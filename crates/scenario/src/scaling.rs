//! Finds window scaling that a scenario turns on without effect.

use ackclock_sim::FlowConfig;
use ackclock_tcp::{MAX_UNSCALED_WINDOW, TcpConfig};

use crate::file::{List, TcpTable};
use crate::scenario::Scenario;

impl Scenario {
    /// The first flow for which the scenario itself turns window scaling on without effect: an end does not offer it, or both
    /// windows fit into 16 bits (RFC 7323 section 2). `None` where an appliance splits connections: ends then have other peers.
    pub fn scaling_without_effect(&self) -> Option<&str> {
        let config = self.config();
        let groups = config.traffic.arrivals.iter().map(|group| &group.flow);
        let connections = config.flows.iter().chain(groups).filter(|flow| flow.quic.is_none());
        let mut idle = connections.filter(|flow| self.turns_scaling_on(&flow.name) && is_idle(flow));
        idle.next().filter(|_| config.appliances.is_empty()).map(|flow| flow.name.as_str())
    }

    /// True if a table that applies to this flow, or may apply, turns it on.
    fn turns_scaling_on(&self, name: &str) -> bool {
        let file = self.file();
        let hosts = file.host.iter().flat_map(List::iter).map(|(_, host)| &host.tcp);
        let entry = name.rsplit_once('.').map_or(name, |(entry, _)| entry);
        let is_of =
            |written: &Option<String>| written.as_deref().is_none_or(|written| written == name || written == entry);
        let flows = file.flow.iter().flat_map(List::iter).filter(|(_, flow)| is_of(&flow.name));
        let own = flows.flat_map(|(_, flow)| [&flow.tcp, &flow.sender_tcp, &flow.receiver_tcp]);
        std::iter::once(&file.tcp).chain(hosts).chain(own).flatten().any(turns_it_on)
    }
}

fn turns_it_on(table: &TcpTable) -> bool {
    table.0.get("window_scaling") == Some(&true.into())
}

fn is_idle(flow: &FlowConfig) -> bool {
    let ends: [&TcpConfig; 2] = [&flow.sender, &flow.receiver];
    let is_small = |tcp: &&TcpConfig| {
        tcp.receive_autotuning.map_or(tcp.receive_buffer, |tuning| tuning.max) <= MAX_UNSCALED_WINDOW
    };
    !ends.iter().all(|tcp| tcp.window_scaling) || ends.iter().all(is_small)
}
