//! Static shortest-path routes.

use std::collections::VecDeque;

use crate::config::{LinkId, NetworkConfig, NodeId};

/// Finds routes in one network.
#[derive(Debug)]
pub struct Router<'a> {
    network: &'a NetworkConfig,
    /// Links that leave each node, in the configuration's order.
    outgoing: Vec<Vec<LinkId>>,
    /// By which link the latest search reached each node, and in which search.
    arrived_by: Vec<(u32, LinkId)>,
    search: u32,
}

impl<'a> Router<'a> {
    /// A router for `network`.
    pub fn new(network: &'a NetworkConfig) -> Self {
        let mut outgoing = vec![Vec::new(); network.nodes.len()];
        for (id, link) in network.links.iter().enumerate() {
            outgoing[link.from].push(id);
        }
        Self { network, outgoing, arrived_by: vec![(0, 0); network.nodes.len()], search: 0 }
    }

    /// The links from one node to another with the fewest hops, or `None` if there is no way. Among equals the link
    /// that comes first in the configuration wins, so routes are the same on every machine.
    pub fn shortest_path(&mut self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        self.search += 1;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                return Some(self.trace_back(from, to));
            }
            for &link in &self.outgoing[node] {
                let next = self.network.links[link].to;
                if next != from && self.arrived_by[next].0 != self.search {
                    self.arrived_by[next] = (self.search, link);
                    queue.push_back(next);
                    if next == to {
                        return Some(self.trace_back(from, to));
                    }
                }
            }
        }
        None
    }

    fn trace_back(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let link = self.arrived_by[node].1;
            path.push(link);
            node = self.network.links[link].from;
        }
        path.reverse();
        path
    }
}

/// One route; make a [`Router`] to find several.
pub fn shortest_path(network: &NetworkConfig, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
    Router::new(network).shortest_path(from, to)
}
