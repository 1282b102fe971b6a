//! What can be seen of a simulation from outside while it runs.

use ackclock_tcp::Endpoint;
use ackclock_units::{Bytes, SimTime};

use super::{NOTHING, Simulation};
use crate::outcome::EngineCounters;

impl Simulation {
    /// True once the receiver has all that a flow will ever send, or the connection was given up.
    pub fn is_over(&self, flow: usize) -> bool {
        let stream = self.ports[2 * flow].sends;
        let is_complete = stream != NOTHING && self.streams[stream as usize].completion.is_some();
        is_complete || self.sender(flow).is_aborted()
    }

    /// Packets that wait for a link.
    pub fn waiting_packets(&mut self, link: usize) -> usize {
        let link = &mut self.network.links[link];
        link.advance(self.network.now);
        link.waiting()
    }

    /// What the application at the far end of a flow has read.
    pub fn read(&self, flow: usize) -> Bytes {
        self.endpoints[2 * self.config.last_connection(flow) + 1].read(self.network.now)
    }

    /// The time that has been simulated.
    pub fn now(&self) -> SimTime {
        self.network.now
    }

    /// How many connections there are.
    pub fn flows(&self) -> usize {
        self.config.flows.len()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.config.network.links.len()
    }

    /// The sending end of a connection, by its place in the scenario.
    pub fn sender(&self, flow: usize) -> &Endpoint {
        &self.endpoints[2 * flow]
    }

    /// True at the scenario's end.
    pub fn is_finished(&self) -> bool {
        self.network.now >= self.end
    }

    /// What the engine has done so far.
    pub fn counters(&self) -> EngineCounters {
        self.counters
    }
}
