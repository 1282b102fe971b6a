//! Fairness between hosts: a host's flows share what one flow of another host would get.

use std::sync::Arc;

use ackclock_declare::words;

use crate::ids::EndpointId;
use crate::packet::Packet;

words! {
    /// The entities between which CAKE is fair.
    #[derive(Default)]
    pub enum Isolation {
        /// Flows, whatever their hosts.
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

/// The hosts between which packets travel. An unknown end is a host of its own.
#[derive(Clone, Debug)]
pub enum HostTable {
    /// The host of each end, by the end's number.
    Ends(Arc<[u32]>),
    /// The sending and the receiving host of each route, by the hop of its packets.
    Routes(Arc<[[u32; 2]]>),
}

impl Default for HostTable {
    fn default() -> Self {
        Self::Ends(Arc::default())
    }
}

impl HostTable {
    fn pair(&self, packet: &Packet) -> HostPair {
        let host = |hosts: &[u32], end: EndpointId| hosts.get(end.index()).copied().unwrap_or(end.number());
        let ends = [packet.to.peer(), packet.to];
        let [source, destination] = match self {
            Self::Ends(hosts) => ends.map(|end| host(hosts, end)),
            Self::Routes(hosts) => hosts[packet.hop.index()],
        };
        HostPair { source, destination }
    }
}

/// The number of flows with waiting packets of each host.
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
    pub(super) fn new(isolation: Isolation) -> Self {
        Self { table: HostTable::default(), isolation, source: Vec::new(), destination: Vec::new() }
    }

    pub(super) fn set_table(&mut self, table: &HostTable) {
        self.table = table.clone();
    }

    pub(super) fn pair(&self, packet: &Packet) -> HostPair {
        self.table.pair(packet)
    }

    /// Counts a flow between these hosts that has packets to send.
    pub(super) fn on_busy(&mut self, pair: HostPair) {
        for (loads, host) in [(&mut self.source, pair.source), (&mut self.destination, pair.destination)] {
            if loads.len() <= host as usize {
                loads.resize(host as usize + 1, 0);
            }
            loads[host as usize] += 1;
        }
    }

    /// Removes a flow without packets from the counts of its hosts.
    pub(super) fn on_idle(&mut self, pair: HostPair) {
        self.source[pair.source as usize] -= 1;
        self.destination[pair.destination as usize] -= 1;
    }

    /// The number of flows that share the turn of one, by which the quantum is divided.
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
