//! Fairness between hosts: a host's flows share what one flow of another host would get.

use std::sync::Arc;

use ackclock_declare::words;

use crate::ids::EndpointId;
use crate::packet::Packet;

words! {
    /// Between whom CAKE is fair.
    #[derive(Default)]
    pub enum Isolation {
        /// Flows, wherever they come from.
        "flows" = Flows,
        /// Sending hosts, then flows.
        "dual_srchost" = DualSource,
        /// Receiving hosts, then flows.
        "dual_dsthost" = DualDestination,
        /// Both kinds of hosts at once, then flows.
        #[default]
        "triple" = Triple,
    }
}

/// The host of each endpoint; an endpoint beyond the table is a host of its own.
pub type HostTable = Arc<[u32]>;

/// How many flows each host has waiting.
#[derive(Clone, Debug)]
pub(super) struct HostLoads {
    table: HostTable,
    isolation: Isolation,
    source: Vec<u32>,
    destination: Vec<u32>,
}

/// The hosts at a flow's ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostPair {
    source: u32,
    destination: u32,
}

impl HostLoads {
    pub(super) fn new(table: HostTable, isolation: Isolation) -> Self {
        Self { table, isolation, source: Vec::new(), destination: Vec::new() }
    }

    pub(super) fn pair(&self, packet: &Packet) -> HostPair {
        let host = |end: EndpointId| self.table.get(end.index()).copied().unwrap_or(end.number());
        HostPair { source: host(packet.to.peer()), destination: host(packet.to) }
    }

    /// A flow between these hosts has something to send.
    pub(super) fn on_busy(&mut self, pair: HostPair) {
        for (loads, host) in [(&mut self.source, pair.source), (&mut self.destination, pair.destination)] {
            if loads.len() <= host as usize {
                loads.resize(host as usize + 1, 0);
            }
            loads[host as usize] += 1;
        }
    }

    /// It has nothing to send any more.
    pub(super) fn on_idle(&mut self, pair: HostPair) {
        self.source[pair.source as usize] -= 1;
        self.destination[pair.destination as usize] -= 1;
    }

    /// Flows that share the turn of one: the quantum is divided by this.
    pub(super) fn sharing(&self, pair: HostPair) -> u64 {
        let load = |loads: &[u32], host: u32| u64::from(loads.get(host as usize).copied().unwrap_or(0)).max(1);
        match self.isolation {
            Isolation::Flows => 1,
            Isolation::DualSource => load(&self.source, pair.source),
            Isolation::DualDestination => load(&self.destination, pair.destination),
            Isolation::Triple => load(&self.source, pair.source).max(load(&self.destination, pair.destination)),
        }
    }
}
